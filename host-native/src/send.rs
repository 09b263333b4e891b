//! [`SendExecutor`] performs the sends of steps: HTTP requests, slow pure work on a thread of its own, and files read in a
//! process of their own.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::body::Bytes;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Method, Response, StatusCode, Url};
use switchboard_core::http::stream;
use switchboard_core::limits::REDIRECTS_MAX;
use switchboard_core::outside::{Answer, Egress, HttpIn, HttpOut, Redirects, SendError, Work, named};
use switchboard_core::record::Secret;
use switchboard_core::work;

use crate::apart::{apart, give_way};
use crate::extract::child::Extractor;
use crate::follow::{Follower, Pieces};
use crate::metrics::Metrics;
use crate::names::{LimitedResolver, NoRoom, held_by};
use crate::room::{Held, Holder, Room};
use crate::rooms::Rooms;
use crate::vault::Vault;
use switchboard_core::egress::Filter;

/// Where requests to the outside go.
pub enum Outside {
    /// The real network; requests for users only where this filter allows.
    World(Filter),
    /// The real network with this resolver, for tests of the filter.
    Named(Filter, Arc<dyn Resolve>),
    /// A function that answers instead, for tests that compare hosts.
    Script(Script),
}

type Script = Box<dyn Fn(&Work) -> Answer + Send + Sync>;

/// Performs sends, each in the room of its kind.
pub struct SendExecutor {
    script: Option<Script>,
    users: Way,
    operator: Way,
    models: Way,
    filter: Filter,
    hashes: Arc<Room>,
    extractor: Extractor,
    vault: Option<Arc<Vault>>,
    metrics: Arc<Metrics>,
}

/// Client and rooms for one kind of request. The operator's requests have their own, so that slow addresses and names of
/// users do not hold them up; and models, so that one which thinks for long holds up nothing else.
struct Way {
    client: Client,
    room: Arc<Room>,
    /// Counts bytes of requests and answers; `None` where few answers are small enough not to be counted.
    bytes: Option<Arc<Room>>,
}

/// Who hears the answer to a send beside the core, and what answers hold of the budgets until their exchange is over.
#[derive(Default)]
pub struct Hearing<'f> {
    /// Hears a model's streamed answer as it comes.
    pub follower: Option<&'f Follower>,
    /// Bytes of the answers so far.
    pub held: Vec<Held>,
}

/// Resolver that passes a name only if the filter allows every address of it; the client connects to exactly these
/// addresses.
struct Guard {
    filter: Filter,
    names: Arc<dyn Resolve>,
}

/// Error for a name with an address that the filter does not allow.
#[derive(Debug)]
struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the name leads to an address that may not be reached")
    }
}

impl Error for Closed {}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let (filter, found) = (self.filter.clone(), self.names.resolve(name));
        Box::pin(async move {
            let found: Vec<SocketAddr> = found.await?.collect();
            let open = !found.is_empty() && found.iter().all(|address| filter.allows(address.ip()));
            if open { Ok(Box::new(found.into_iter()) as Addrs) } else { Err(Closed.into()) }
        })
    }
}

impl SendExecutor {
    /// Creates the clients for users and for the operator; fails if TLS cannot be set up.
    pub fn new(
        outside: Outside,
        extractor: Extractor,
        vault: Option<Arc<Vault>>,
        metrics: Arc<Metrics>,
        rooms: &Rooms,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let system: Arc<dyn Resolve> = Arc::new(LimitedResolver::new(Arc::clone(&rooms.lookups)));
        let (filter, names, script) = match outside {
            Outside::World(filter) => (filter, system, None),
            Outside::Named(filter, names) => (filter, names, None),
            Outside::Script(script) => (Filter::new(Vec::new()), system, Some(script)),
        };
        let users = client()?.dns_resolver(Arc::new(Guard { filter: filter.clone(), names }));
        let operator = client()?.dns_resolver(Arc::new(LimitedResolver::new(Arc::clone(&rooms.operator_lookups))));
        let (users, operator) = (users.build()?, operator.build()?);
        let models = (Arc::clone(&rooms.model_requests), Some(Arc::clone(&rooms.model_bytes)));
        Ok(Self {
            script,
            users: Way { client: users, room: Arc::clone(&rooms.user_requests), bytes: None },
            operator: Way { client: operator.clone(), room: Arc::clone(&rooms.operator_requests), bytes: None },
            models: Way { client: operator, room: models.0, bytes: models.1 },
            filter,
            hashes: Arc::clone(&rooms.hashes),
            extractor,
            vault,
            metrics,
        })
    }

    /// Logs which locks the processes that read files lack on this kernel.
    pub async fn tell_of_locks(&self) {
        self.extractor.tell_of_locks().await;
    }

    /// Performs one send and returns its answer; its place counts against `holder`.
    pub async fn perform(&self, work: Work, holder: Holder) -> Answer {
        self.perform_for(work, holder, &mut Hearing::default()).await
    }

    /// Performs one send of an exchange.
    pub async fn perform_for(&self, work: Work, holder: Holder, hearing: &mut Hearing<'_>) -> Answer {
        if let Some(script) = &self.script
            && matches!(work, Work::Http(_) | Work::Extract { .. })
        {
            return script(&work);
        }
        match work {
            Work::Http(request) => self.http(request, holder, hearing).await.unwrap_or_else(Answer::Failed),
            Work::Extract { form, bytes } => self.extractor.extract(form, bytes, holder).await,
            Work::DeleteObject(name) => self.delete(name, holder).await.unwrap_or_else(Answer::Failed),
            work => self.hash(work, holder).await.unwrap_or_else(Answer::Failed),
        }
    }

    async fn delete(&self, name: String, holder: Holder) -> Result<Answer, SendError> {
        let vault = self.vault.as_ref().ok_or(SendError::Unreachable)?;
        let _place = self.operator.room.take(holder).await?;
        vault.delete(&name).await?;
        Ok(Answer::ObjectDeleted(name))
    }

    async fn hash(&self, work: Work, holder: Holder) -> Result<Answer, SendError> {
        let place = self.hashes.take(holder).await?;
        let done = apart("hash", place, move || {
            give_way();
            work::perform(&work)
        })
        .await;
        done.flatten().ok_or(SendError::Unreachable)
    }

    async fn http(&self, request: HttpOut, holder: Holder, hearing: &mut Hearing<'_>) -> Result<Answer, SendError> {
        let way = self.way(request.egress);
        let _place = way.room.take(holder).await?;
        let model = (request.egress == Egress::Model).then(|| named(&request.url));
        let asked = request.body.len() as u64;
        let mut held = way.bytes.as_ref().map(|room| room.try_take(holder, asked)).transpose()?;
        self.metrics.sent();
        let limit = Duration::from_millis(request.timeout_ms);
        let exchange = held_by(holder, self.exchange(request, hearing.follower, held.as_mut()));
        let answer = tokio::time::timeout(limit, exchange).await.unwrap_or(Err(SendError::TimedOut));
        if let Some(url) = model {
            tell_of_model(&url, &answer);
        }
        if let (Ok(Answer::Http(answer)), Some(mut held)) = (&answer, held) {
            held.shrink_to(answer.body.len() as u64);
            hearing.held.push(held);
        }
        answer
    }

    fn way(&self, egress: Egress) -> &Way {
        match egress {
            Egress::User => &self.users,
            Egress::Operator => &self.operator,
            Egress::Model => &self.models,
        }
    }

    async fn exchange(
        &self,
        mut request: HttpOut,
        follower: Option<&Follower>,
        held: Option<&mut Held>,
    ) -> Result<Answer, SendError> {
        let began = Instant::now();
        let mut url = Url::parse(&request.url).map_err(|_| SendError::Refused)?;
        let mut method = Method::from_bytes(request.method.as_bytes()).map_err(|_| SendError::Refused)?;
        let mut body = Bytes::from(std::mem::take(&mut request.body));
        let mut hops = 0;
        let mut reply = loop {
            let reply = self.one(&request, method.clone(), url.clone(), body.clone()).await?;
            let Some(next) = followed(&request, &url, &reply).filter(|_| hops < REDIRECTS_MAX) else { break reply };
            if reply.status() == StatusCode::SEE_OTHER && method != Method::HEAD {
                (method, body) = (Method::GET, Bytes::new());
            }
            (url, hops) = (next, hops + 1);
        };
        let status = reply.status().as_u16();
        let headers = headers(reply.headers());
        let is_answer = status == 200 && is_streamed(&request);
        let mut pieces = follower.filter(|_| is_answer).map(Follower::pieces);
        let (body, cut) = read(&mut reply, request.reply_bytes_max, pieces.as_mut(), held).await?;
        let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Answer::Http(HttpIn { status, headers, body, cut, duration_ms }))
    }

    async fn one(&self, request: &HttpOut, method: Method, url: Url, body: Bytes) -> Result<Response, SendError> {
        if request.egress == Egress::User {
            self.admit(&url)?;
        }
        let mut sent = self.way(request.egress).client.request(method, url).body(body);
        for (name, value) in &request.headers {
            sent = sent.header(name, &value.0);
        }
        sent.send().await.map_err(reason)
    }

    /// Checks the scheme and a literal address, which never reaches the resolver and its guard.
    fn admit(&self, url: &Url) -> Result<(), SendError> {
        let host = url.host_str().ok_or(SendError::Refused)?;
        let literal = host.trim_matches(['[', ']']).parse().ok();
        let open =
            ["http", "https"].contains(&url.scheme()) && literal.is_none_or(|address| self.filter.allows(address));
        if open { Ok(()) } else { Err(SendError::Refused) }
    }
}

/// Returns whether a request asks a model of the operator's for an answer in pieces.
fn is_streamed(request: &HttpOut) -> bool {
    let wants = |(name, value): &(String, Secret)| name.eq_ignore_ascii_case("accept") && value.0 == stream::MEDIA;
    request.egress == Egress::Model && request.headers.iter().any(wants)
}

/// Reads a reply's body up to `bytes_max`, as far as `held` can grow with it; returns whether it was cut.
async fn read(
    reply: &mut Response,
    bytes_max: usize,
    mut pieces: Option<&mut Pieces<'_>>,
    mut held: Option<&mut Held>,
) -> Result<(Vec<u8>, bool), SendError> {
    let mut body = Vec::new();
    loop {
        let chunk = match pieces.as_deref_mut() {
            Some(pieces) => pieces.while_passing(reply.chunk()).await,
            None => reply.chunk().await,
        };
        let Some(chunk) = chunk.map_err(reason)? else { break };
        if let Some(held) = held.as_deref_mut() {
            held.grow(chunk.len() as u64)?;
        }
        if let Some(pieces) = pieces.as_deref_mut() {
            pieces.hear(&chunk);
        }
        let room = bytes_max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, true));
        }
    }
    Ok((body, false))
}

/// Returns the target of a redirect if the request follows it (docs/api.md, Requests outside).
fn followed(request: &HttpOut, from: &Url, reply: &Response) -> Option<Url> {
    if !reply.status().is_redirection() {
        return None;
    }
    let to = from.join(reply.headers().get("location")?.to_str().ok()?).ok()?;
    match request.redirects {
        Redirects::None => None,
        Redirects::SameOrigin => (to.origin() == from.origin()).then_some(to),
        Redirects::Any => ["http", "https"].contains(&to.scheme()).then_some(to),
    }
}

/// Converts headers whose values are text; repeated ones are joined with commas.
fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::with_capacity(map.len());
    for (name, value) in map {
        let Ok(value) = value.to_str() else { continue };
        match headers.iter_mut().find(|(known, _)| known == name.as_str()) {
            Some((_, list)) => {
                list.push_str(", ");
                list.push_str(value);
            }
            None => headers.push((name.as_str().to_owned(), value.to_owned())),
        }
    }
    headers
}

/// Logs that a model gave no answer, for the operator, who chose it. What the endpoint says about it may show keys.
fn tell_of_model(url: &str, answer: &Result<Answer, SendError>) {
    match answer {
        Ok(Answer::Http(answer)) if answer.status != 200 => {
            tracing::warn!(url, status = answer.status, "a model refused to answer");
        }
        Err(error) => tracing::warn!(url, ?error, "a model gave no answer"),
        Ok(_) => {}
    }
}

/// Maps a client error to a reason, and logs it without its URL: queries carry keys.
fn reason(error: reqwest::Error) -> SendError {
    let error = error.without_url();
    let reason = match &error {
        error if error.is_timeout() => SendError::TimedOut,
        error if below::<Closed>(error).is_some() => SendError::Refused,
        error => below::<NoRoom>(error).map_or(SendError::Unreachable, SendError::from),
    };
    tracing::debug!(error = &error as &dyn Error, "a send failed");
    reason
}

/// Finds an error of type `T` among the sources of a client error.
fn below<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    std::iter::successors(error.source(), |&error| error.source()).find_map(|error| error.downcast_ref())
}

/// Returns a client builder with this program's TLS: public roots, no redirects, and no proxy from the environment,
/// which would resolve names out of the filter's sight.
pub fn client() -> Result<ClientBuilder, rustls::Error> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let tls = versions.with_root_certificates(roots).with_no_client_auth();
    Ok(Client::builder().tls_backend_preconfigured(tls).redirect(Policy::none()).no_proxy().pool_max_idle_per_host(8))
}
