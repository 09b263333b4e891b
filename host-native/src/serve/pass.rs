//! Passes requests on to the node that serves, and its answers back, both as they come.
//!
//! Between nodes a request says in headers what its client cannot be asked for again: its address, and the door it came
//! through. A secret of the store, which only nodes can read, shows that a node says so.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request;
use hyper::{Method, Request, Response, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::request::Door;
use tokio::time::Instant;

use super::front::{Front, account_in};
use super::incoming::Coming;
use super::response::{ResponseBody, full, response};
use super::routes::{Destination, Serving};
use super::seats::Unfinished;
use crate::edge::EdgeToken;
use crate::room::Held;
use crate::sparse::Sparse;

/// How long a node may take for its part of what is asked of all: the others wait for it.
const PART_PATIENCE: Duration = Duration::from_secs(3);
/// How long a request waits for a node that serves: longer than it takes to notice that one died, and to take over.
const PATIENCE: Duration = Duration::from_secs(12);
/// How long a node that serves no more may take to answer what it was passed.
const GRACE: Duration = Duration::from_secs(3);
/// Pause before another try.
const AGAIN: Duration = Duration::from_millis(50);
/// How long a connection to a node may take.
const CONNECT: Duration = Duration::from_secs(1);
/// How long an unused connection is kept: shorter than the other node keeps it.
const UNUSED: Duration = Duration::from_secs(10);
/// Unused connections that are kept.
const UNUSED_MAX: usize = 64;
/// After this long without an answer of the far system a connection is probed, and given up.
const PROBE: Duration = Duration::from_secs(5);
/// Most nodes that pass one request on at once; each one more pauses first.
const HOPS_SWIFT: u8 = 2;
/// Most nodes that pass one request on.
const HOPS_MAX: u8 = 64;

static UNKNOWN: Sparse = Sparse::new();
const METRICS: &str = "/metrics";
const SECRET: HeaderName = HeaderName::from_static("switchboard-node");
const CLIENT: HeaderName = HeaderName::from_static("switchboard-client");
const DOOR: HeaderName = HeaderName::from_static("switchboard-door");
const HOPS: HeaderName = HeaderName::from_static("switchboard-hops");
const PART: HeaderName = HeaderName::from_static("switchboard-part");
/// Headers of one connection alone (RFC 9110 section 7.6.1), and one that this side has answered.
const OF_A_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
    "expect",
];

/// Connections to other nodes, and what they are shown.
pub struct NodeLink {
    client: Client<HttpConnector, Source>,
    secret: HeaderValue,
    token: EdgeToken,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The address of its client.
    pub client: IpAddr,
    /// The door that its client chose.
    pub door: Door,
    /// Nodes that have passed it on.
    pub hops: u8,
    /// Whether a node asks it of this one's accounts alone.
    pub is_part: bool,
}

/// A request whose head is read, on its way to whoever carries it out.
pub struct Dispatched {
    pub head: request::Parts,
    pub body: Unsent,
    pub origin: Origin,
    /// The account whose rows it wants, if that is known.
    pub account: Option<u32>,
    /// How often it came to a writer that has not these rows.
    pub handed: u8,
}

/// The body of a request, of which nothing was sent.
pub enum Unsent {
    /// It comes yet; the mark says that its request is unfinished, if it is.
    Coming(Incoming, Option<Unfinished>),
    /// It was read; empty if there is none.
    Read(Bytes),
}

impl Unsent {
    /// Returns it as a body to be read.
    pub fn coming(self) -> Coming {
        match self {
            Self::Coming(body, unfinished) => Coming::new(body, unfinished),
            Self::Read(bytes) => Coming::read(bytes),
        }
    }
}

/// What became of a request.
pub enum PassedOn {
    /// It was answered.
    Answered(Response<ResponseBody>),
    /// It is to be carried out here, where a host has begun to serve.
    Here(Box<Dispatched>),
}

impl NodeLink {
    /// Shows other nodes this secret, at least 32 characters.
    pub fn new(secret: &str) -> Result<Self, String> {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        connector.set_keepalive(Some(PROBE));
        connector.set_keepalive_interval(Some(Duration::from_secs(1)));
        connector.set_keepalive_retries(Some(3));
        connector.set_tcp_user_timeout(Some(PROBE));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(UNUSED)
            .pool_max_idle_per_host(UNUSED_MAX)
            .build(connector);
        let mut shown = HeaderValue::from_str(&format!("Bearer {secret}")).map_err(|error| error.to_string())?;
        shown.set_sensitive(true);
        Ok(Self { client, secret: shown, token: EdgeToken::new(secret)? })
    }

    /// Returns what another node says of a request, if it is one.
    pub fn origin(&self, headers: &HeaderMap) -> Option<Origin> {
        let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        if !self.token.fits(headers.get(&SECRET)?.as_bytes()) {
            return None;
        }
        let door = if text(&DOOR)? == "admin" { Door::Admin } else { Door::Main };
        let (client, hops) = (text(&CLIENT)?.parse().ok()?, text(&HOPS)?.parse().ok()?);
        Some(Origin { client, door, hops, is_part: headers.contains_key(&PART) })
    }

    fn request(&self, head: &request::Parts, to: &str, origin: Origin, body: Source) -> Option<Request<Source>> {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let uri = Uri::try_from(format!("http://{to}{path}")).ok()?;
        let mut request = Request::new(body);
        (*request.method_mut(), *request.uri_mut()) = (head.method.clone(), uri);
        let headers = request.headers_mut();
        *headers = lasting(&head.headers);
        if let Some(authority) = head.uri.authority().filter(|_| !headers.contains_key(HOST)) {
            headers.insert(HOST, HeaderValue::from_str(authority.as_str()).ok()?);
        }
        headers.insert(SECRET, self.secret.clone());
        headers.insert(CLIENT, HeaderValue::from_str(&origin.client.to_string()).ok()?);
        headers.insert(DOOR, HeaderValue::from_static(if origin.door == Door::Admin { "admin" } else { "main" }));
        headers.insert(HOPS, HeaderValue::from(u16::from(origin.hops) + 1));
        headers.remove(PART);
        if origin.is_part {
            headers.insert(PART, HeaderValue::from_static("own"));
        }
        Some(request)
    }

    /// Asks a node for something of its own; `None` if it does not answer so.
    pub async fn ask(&self, node: &str, target: &str) -> Option<Bytes> {
        let head = Request::get(target).body(()).ok()?.into_parts().0;
        let origin = Origin { client: IpAddr::from([0, 0, 0, 0]), door: Door::Main, hops: 0, is_part: false };
        let request = self.request(&head, node, origin, Source::of(Unsent::Read(Bytes::new())))?;
        let answer = self.client.request(request).await.ok().filter(|answer| answer.status().is_success())?;
        Some(answer.into_body().collect().await.ok()?.to_bytes())
    }
}

/// Asks a node for its part of a request; `None` if it does not answer, or not to the end.
pub async fn part(
    front: &Front,
    head: &request::Parts,
    node: &str,
    origin: Origin,
    body: Bytes,
) -> Option<Response<ResponseBody>> {
    let passing = front.passing.as_ref()?;
    let held = front.rooms.passed.take(front.holder(origin.client)).await.ok()?;
    let origin = Origin { is_part: true, ..origin };
    // What is asked of one of them may be less than the whole.
    let length = HeaderValue::from(body.len());
    let mut request = passing.request(head, node, origin, Source::of(Unsent::Read(body)))?;
    request.headers_mut().insert(CONTENT_LENGTH, length);
    let answered = async {
        let (head, body) = passing.client.request(request).await.ok()?.into_parts();
        Some((head, body.collect().await.ok()?.to_bytes()))
    };
    let (head, body) = tokio::time::timeout(PART_PATIENCE, answered).await.ok()??;
    drop(held);
    let mut response = Response::new(full(body));
    (*response.status_mut(), *response.headers_mut()) = (head.status, lasting(&head.headers));
    Some(response)
}

/// Returns the headers that are for the other end, without those of the connection.
fn lasting(headers: &HeaderMap) -> HeaderMap {
    let mut lasting = headers.clone();
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in named.flat_map(|names| names.split(',')).map(str::trim).chain(OF_A_CONNECTION) {
        lasting.remove(name);
    }
    lasting
}

/// Passes a request on to the node that serves; waits for one if none does. What may have been carried out when a node
/// died is answered 503, unless it only reads.
pub async fn carry(front: &Arc<Front>, Dispatched { head, body, origin, account, handed }: Dispatched) -> PassedOn {
    let Some(passing) = front.passing.as_ref().filter(|_| origin.hops < HOPS_MAX) else {
        return PassedOn::Answered(refused(&head, Refusal::Unavailable));
    };
    let held = match front.rooms.passed.take(front.holder(origin.client)).await {
        Ok(held) => held,
        Err(full) => return PassedOn::Answered(refused(&head, full.into())),
    };
    let until = Instant::now() + PATIENCE;
    let mut is_slow = origin.hops < HOPS_SWIFT;
    let account = account.or_else(|| account_in(&head));
    let (mut destination, source) = (front.to(account), Source::of(body));
    while let Some(now) = tokio::time::timeout_at(until, destination.somebody()).await.ok().flatten() {
        let Serving::There(to) = now else {
            let Some(body) = source.take() else { break };
            return PassedOn::Here(Box::new(Dispatched { head, body, origin, account, handed }));
        };
        if !std::mem::replace(&mut is_slow, true) {
            // Nodes that pass it to and fro do not know yet who has taken over: all of them soon will.
            tokio::time::sleep(AGAIN).await;
            continue;
        }
        let Some(request) = passing.request(&head, &to, origin, source.again()) else { break };
        match attempt(passing, request, &source, (&mut destination, &to)).await {
            // The other node has seen that the operator asks; each node has figures of its own.
            Attempt::Answered(answer) if head.uri.path() == METRICS && answer.status().is_success() => {
                front.tell_stored().await;
                return PassedOn::Answered(own_metrics(front, &answer));
            }
            Attempt::Answered(answer) => return PassedOn::Answered(passed_back(answer, held, destination, to)),
            Attempt::Again => tokio::time::sleep(AGAIN).await,
            Attempt::Unknown => break,
        }
    }
    PassedOn::Answered(refused(&head, Refusal::Unavailable))
}

/// What an attempt to pass a request on came to.
enum Attempt {
    Answered(Response<Incoming>),
    /// Nothing has come of it.
    Again,
    /// It may have been carried out.
    Unknown,
}

async fn attempt(
    passing: &NodeLink,
    request: Request<Source>,
    source: &Source,
    (destination, to): (&mut Destination, &str),
) -> Attempt {
    // A read may be asked for again; a body that was begun cannot be sent again.
    let reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    let left = async {
        destination.left(to).await;
        // It may have the answer, or pass the request on itself; or it stands still, and says nothing any more.
        tokio::time::sleep(if reads { Duration::ZERO } else { GRACE }).await;
    };
    let answer = tokio::select! {
        answer = passing.client.request(request) => answer,
        () = left => return if reads { Attempt::Again } else { Attempt::Unknown },
    };
    match answer {
        Ok(answer) => Attempt::Answered(answer),
        Err(error) if source.is_whole() && (reads || error.is_connect()) => Attempt::Again,
        Err(error) => {
            if let Some(more) = UNKNOWN.more() {
                tracing::warn!(%error, node = to, more, "what became of a request passed on is not known");
            }
            Attempt::Unknown
        }
    }
}

pub fn refused(head: &request::Parts, refusal: Refusal) -> Response<ResponseBody> {
    response(refusal.reply_to(head.uri.path()), None)
}

fn own_metrics(front: &Front, answer: &Response<Incoming>) -> Response<ResponseBody> {
    let mut headers = lasting(answer.headers());
    headers.remove(CONTENT_LENGTH);
    let mut response = Response::new(full(front.metrics.text(0, false)));
    *response.headers_mut() = headers;
    response
}

fn passed_back(
    answer: Response<Incoming>,
    held: Held,
    mut destination: Destination,
    to: Arc<str>,
) -> Response<ResponseBody> {
    let (head, body) = answer.into_parts();
    let cut = async move { destination.left(&to).await };
    let body = Answer { body, cut: Box::pin(cut), _held: held };
    let mut response = Response::new(body.boxed());
    (*response.status_mut(), *response.headers_mut()) = (head.status, lasting(&head.headers));
    response
}

/// The body of a request, which is taken when the first of it is sent.
struct Source {
    whole: Arc<Mutex<Option<Unsent>>>,
    taken: Option<Unsent>,
    is_empty: bool,
    size: SizeHint,
}

impl Source {
    fn of(body: Unsent) -> Self {
        let (body, is_empty, size) = match body {
            Unsent::Coming(body, unfinished) => {
                let (is_empty, size) = (body.is_end_stream(), body.size_hint());
                // Without a body the service is waited for at once.
                (Unsent::Coming(body, unfinished.filter(|_| !is_empty)), is_empty, size)
            }
            Unsent::Read(bytes) => {
                let size = SizeHint::with_exact(bytes.len() as u64);
                (Unsent::Read(bytes.clone()), bytes.is_empty(), size)
            }
        };
        Self { whole: Arc::new(Mutex::new(Some(body))), taken: None, is_empty, size }
    }

    /// Returns the same body for another try.
    fn again(&self) -> Self {
        Self { whole: Arc::clone(&self.whole), taken: None, is_empty: self.is_empty, size: self.size }
    }

    /// Returns whether nothing of it was sent.
    fn is_whole(&self) -> bool {
        self.is_empty || self.whole.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes what was not sent; what was read can be taken again.
    fn take(&self) -> Option<Unsent> {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        match &*whole {
            Some(Unsent::Read(bytes)) => Some(Unsent::Read(bytes.clone())),
            _ => whole.take(),
        }
    }
}

impl Body for Source {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        if self.is_empty {
            return Poll::Ready(None);
        }
        if self.taken.is_none() {
            self.taken = self.take();
        }
        let frame = match self.taken.as_mut() {
            Some(Unsent::Coming(body, _)) => std::task::ready!(Pin::new(body).poll_frame(context)),
            Some(Unsent::Read(bytes)) => {
                let data = std::mem::take(bytes);
                self.is_empty = true;
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            None => return Poll::Ready(None),
        };
        if frame.is_none() {
            // The request is whole: from now on the service is waited for.
            self.is_empty = true;
            self.taken = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty
    }

    fn size_hint(&self) -> SizeHint {
        self.size
    }
}

/// The body of an answer; it breaks off when another node serves than the one that gives it.
struct Answer {
    body: Incoming,
    cut: Pin<Box<dyn Future<Output = ()> + Send + Sync>>,
    _held: Held,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if polled.is_pending() && self.cut.as_mut().poll(context).is_ready() {
            return Poll::Ready(Some(Err(std::io::Error::other("the node that answered serves no more"))));
        }
        polled.map(|frame| frame.map(|frame| frame.map_err(std::io::Error::other)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "a-secret-of-at-least-thirty-two-characters";

    fn head(headers: &[(&'static str, &'static str)]) -> request::Parts {
        let mut request = Request::builder().uri("/api/user/me?x=1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    fn empty() -> Source {
        Source { whole: Arc::default(), taken: None, is_empty: true, size: SizeHint::with_exact(0) }
    }

    #[test]
    fn a_node_says_whose_request_it_passes_on_and_clients_cannot() {
        let passing = NodeLink::new(TOKEN).expect("it is long enough");
        let origin = Origin { client: IpAddr::from([192, 0, 2, 7]), door: Door::Admin, hops: 1, is_part: false };
        let forged = [("switchboard-client", "198.51.100.1"), ("switchboard-hops", "0"), ("host", "calls.example")];
        let request = passing.request(&head(&forged), "127.0.0.1:9", origin, empty()).expect("a request");
        assert_eq!(request.uri(), "http://127.0.0.1:9/api/user/me?x=1");
        assert_eq!(request.headers()["host"], "calls.example");
        assert_eq!(passing.origin(request.headers()), Some(Origin { hops: 2, ..origin }));
        assert_eq!(passing.origin(&head(&forged).headers), None);
        let other = NodeLink::new(&TOKEN.replace("secret", "riddle")).expect("it is long enough");
        assert_eq!(other.origin(request.headers()), None);
        assert!(NodeLink::new("short").is_err());
    }

    #[test]
    fn what_is_for_one_connection_stays_there() {
        let kept = lasting(
            &head(&[
                ("connection", "close, X-Own"),
                ("x-own", "1"),
                ("te", "trailers"),
                ("transfer-encoding", "chunked"),
                ("expect", "100-continue"),
                ("authorization", "Bearer key"),
                ("content-length", "3"),
            ])
            .headers,
        );
        let mut names: Vec<_> = kept.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "content-length"]);
    }
}
