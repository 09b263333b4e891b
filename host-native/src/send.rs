//! What a step asked to be done outside: HTTP requests, and slow pure work on a thread of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, Url};
use switchboard_core::output::{Answer, Egress, HttpIn, HttpOut, SendError, Work};
use switchboard_core::work;
use tokio::sync::Semaphore;

use crate::egress::Filter;
use crate::metrics::Metrics;

/// Requests under way at once.
const SENDS_MAX: usize = 256;
/// Password hashes under way at once: each takes 19 MiB.
const HASHES_MAX: usize = 4;

/// Does what steps ask for.
pub struct Sender {
    users: Client,
    operator: Client,
    filter: Filter,
    sends: Semaphore,
    hashes: Semaphore,
    metrics: Arc<Metrics>,
}

/// Resolves a name and lets it through only if every address of it is open.
struct Guard(Filter);

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let filter = self.0.clone();
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.is_empty() || !found.iter().all(|address| filter.allows(address.ip())) {
                return Err("the name leads to an address that may not be reached".into());
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

impl Sender {
    /// A sender whose requests for users stay within the filter.
    pub fn new(filter: Filter, metrics: Arc<Metrics>) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let users = client()?.dns_resolver(Arc::new(Guard(filter.clone()))).build()?;
        let operator = client()?.build()?;
        Ok(Self {
            users,
            operator,
            filter,
            sends: Semaphore::new(SENDS_MAX),
            hashes: Semaphore::new(HASHES_MAX),
            metrics,
        })
    }

    /// Does one thing and says what came of it.
    pub async fn perform(&self, work: Work) -> Answer {
        match work {
            Work::Http(request) => self.http(request).await.unwrap_or_else(Answer::Failed),
            work => self.hash(work).await,
        }
    }

    async fn hash(&self, work: Work) -> Answer {
        let Ok(_permit) = self.hashes.acquire().await else { return Answer::Failed(SendError::Unreachable) };
        let done = tokio::task::spawn_blocking(move || work::perform(&work)).await;
        done.ok().flatten().unwrap_or(Answer::Failed(SendError::Unreachable))
    }

    async fn http(&self, request: HttpOut) -> Result<Answer, SendError> {
        let _permit = self.sends.acquire().await.map_err(|_| SendError::Unreachable)?;
        self.metrics.sent();
        let limit = Duration::from_millis(request.timeout_ms);
        tokio::time::timeout(limit, self.exchange(request)).await.unwrap_or(Err(SendError::TimedOut))
    }

    async fn exchange(&self, request: HttpOut) -> Result<Answer, SendError> {
        let url = Url::parse(&request.url).map_err(|_| SendError::Refused)?;
        let client = match request.egress {
            Egress::Operator => &self.operator,
            Egress::User => {
                self.judge(&url)?;
                &self.users
            }
        };
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|_| SendError::Refused)?;
        let mut sent = client.request(method, url).body(request.body);
        for (name, value) in &request.headers {
            sent = sent.header(name, &value.0);
        }
        let mut reply = sent.send().await.map_err(|error| reason(&error))?;
        let status = reply.status().as_u16();
        let retry_after = reply.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
        let mut body = Vec::new();
        while let Some(chunk) = reply.chunk().await.map_err(|error| reason(&error))? {
            if body.len() + chunk.len() > request.reply_bytes_max {
                return Err(SendError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer::Http(HttpIn { status, body, retry_after }))
    }

    /// A literal address never meets the resolver: it is judged here.
    fn judge(&self, url: &Url) -> Result<(), SendError> {
        let host = url.host_str().ok_or(SendError::Refused)?;
        let literal = host.trim_matches(['[', ']']).parse().ok();
        let open =
            ["http", "https"].contains(&url.scheme()) && literal.is_none_or(|address| self.filter.allows(address));
        if open { Ok(()) } else { Err(SendError::Refused) }
    }
}

fn reason(error: &reqwest::Error) -> SendError {
    tracing::debug!(%error, "a send failed");
    if error.is_timeout() { SendError::TimedOut } else { SendError::Unreachable }
}

/// A client with this program's TLS: public roots, no redirects, and no proxy from the environment, which
/// would resolve names out of the filter's sight.
pub fn client() -> Result<ClientBuilder, rustls::Error> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let tls = versions.with_root_certificates(roots).with_no_client_auth();
    Ok(Client::builder().tls_backend_preconfigured(tls).redirect(Policy::none()).no_proxy().pool_max_idle_per_host(8))
}
