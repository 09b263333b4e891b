//! One request: its head to the core, its body if the core wants it, its answer back.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode, http::request};
use switchboard_core::http::refusal::{Form, Invalid, Refusal};
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request, known_header};
use switchboard_core::seed::Seed;
use tokio::sync::oneshot;

use super::{pages, store, stream};
use crate::host::{Host, Verdict};
use crate::limiter::Told;
use crate::room::{Holder, UsedUp};

/// The body of an answer.
pub type Out = BoxBody<Bytes, std::io::Error>;

/// Until a small body must be there.
pub const BODY: Duration = Duration::from_secs(15);
/// The slowest a larger one may come, bytes a second.
pub const BODY_RATE: u64 = 32 << 10;
/// Bodies of more than this need a place among the uploads.
const LARGE_BYTES: usize = 1 << 20;
/// How much of a refused body is read so that its sender sees the answer.
const DRAIN_BYTES: usize = 64 << 20;
const DRAIN: Duration = Duration::from_secs(10);

/// Answers a request.
pub async fn answer(
    host: Arc<Host>,
    incoming: hyper::Request<Incoming>,
    peer: IpAddr,
    door: Door,
) -> Result<Response<Out>, Infallible> {
    let (head, body) = incoming.into_parts();
    if store::is_for(&host, &head, door) {
        return Ok(store::answer(&host, &head, body).await);
    }
    let request = request_of(&head, &body, peer, door);
    Ok(carry(&host, request, Coming::from(body), Told::default()).await)
}

/// Carries out a request whose head is read.
pub async fn carry(host: &Arc<Host>, request: Request, body: Coming, told: Told) -> Response<Out> {
    let began = Instant::now();
    let (method, target) = (request.method, request.target.clone());
    let operation = host.service.operation(method, &target);
    let reply = match host.clock.seed() {
        Ok(seed) if method.is_write() => write(host, request, body, told, seed).await,
        Ok(seed) => {
            let request = Request { body: Body::None, ..request };
            let reply = host.read(&request, &told, seed).await;
            if let Content::Stream(begin) = reply.content {
                return stream::response(host, Reply { content: Content::Empty, ..reply }, begin, request, told);
            }
            reply
        }
        Err(error) => {
            tracing::error!(%error, "there is no randomness");
            switchboard_core::http::refusal::server_error("")
        }
    };
    host.metrics.answered(operation, reply.status, began.elapsed());
    log(operation, method, &reply, began);
    pages::response(host, reply, operation, &target)
}

/// The body of a request, of which some may have been read for something else.
pub struct Coming {
    first: Bytes,
    rest: Incoming,
}

impl From<Incoming> for Coming {
    fn from(rest: Incoming) -> Self {
        Self { first: Bytes::new(), rest }
    }
}

impl Coming {
    /// Takes exactly so many bytes off its front; none where it has fewer.
    pub async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut taken = Vec::new();
        while taken.len() < count {
            let mut data = self.next().await?.ok()?;
            taken.extend_from_slice(&data.split_to(data.len().min(count - taken.len())));
            self.first = data;
        }
        Some(taken)
    }

    /// The next bytes; an error where it breaks off.
    pub async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        if !self.first.is_empty() {
            return Some(Ok(std::mem::take(&mut self.first)));
        }
        loop {
            match self.rest.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn log(operation: &str, method: Method, reply: &Reply, began: Instant) {
    let id = reply.headers.iter().find(|(name, _)| *name == "x-request-id").map_or("", |(_, id)| id.as_str());
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::info!(target: "switchboard::request", request_id = id, operation, method = method.name(), status = reply.status, micros, "answered");
}

fn request_of(head: &request::Parts, body: &Incoming, peer: IpAddr, door: Door) -> Request {
    let target = head.uri.path_and_query().map_or_else(|| head.uri.path(), |target| target.as_str());
    let mut headers = headers(&head.headers);
    if let Some(host) = head.uri.host().filter(|_| !head.headers.contains_key("host")) {
        // HTTP/2 carries the host in its target.
        let port = head.uri.port().map_or(String::new(), |port| format!(":{port}"));
        headers.push(("host", format!("{host}{port}").into_bytes()));
    }
    let body = if body.is_end_stream() { Body::None } else { Body::Pending };
    Request {
        method: Method::parse(head.method.as_str()),
        target: target.to_owned(),
        headers,
        body,
        peer: Some(peer),
        door,
    }
}

fn headers(map: &HeaderMap) -> Vec<(&'static str, Vec<u8>)> {
    let mut headers = Vec::with_capacity(8);
    for (name, value) in map {
        if let Some(known) = known_header(name.as_str()) {
            headers.push((known, value.as_bytes().to_vec()));
        }
    }
    headers
}

async fn write(host: &Arc<Host>, request: Request, body: Coming, told: Told, seed: Seed) -> Reply {
    let sent = request.body == Body::Pending;
    let mut room = None;
    let body = match host.judge(&request, &told, seed) {
        Verdict::Refused(reply) => {
            if sent {
                // A connection that closes on unread bytes may take the answer with it.
                let _ = tokio::time::timeout(DRAIN, drain(body)).await;
            }
            return reply;
        }
        Verdict::Read(max) if sent => {
            if max > LARGE_BYTES && request.content_length().is_none_or(|length| length > LARGE_BYTES) {
                let turn = tokio::time::timeout(BODY, host.rooms.uploads.take(Holder::of(told.account()))).await;
                match turn.unwrap_or(Err(UsedUp::All)) {
                    Ok(place) => room = Some(place),
                    Err(full) => return Refusal::from(full).reply(Form::Message, Invalid::First),
                }
            }
            let length = request.content_length().unwrap_or(max).min(max) as u64;
            let limit = BODY + Duration::from_secs(length / BODY_RATE);
            tokio::time::timeout(limit, read(body, max)).await.unwrap_or(Body::Cut)
        }
        Verdict::Read(_) | Verdict::Write => Body::None,
    };
    let host = Arc::clone(host);
    // The work goes on if the caller goes away: what was begun is finished.
    let (wanted, gone) = oneshot::channel();
    let done = tokio::spawn(async move { host.write(Request { body, ..request }, told, seed, gone).await }).await;
    drop((wanted, room));
    done.unwrap_or_else(|_| switchboard_core::http::refusal::server_error(""))
}

/// Reads a body of at most `max` bytes.
pub async fn read(mut body: Coming, max: usize) -> Body {
    let mut bytes = Vec::new();
    while let Some(data) = body.next().await {
        let Ok(data) = data else { return Body::Cut };
        if bytes.len() + data.len() > max {
            let _ = tokio::time::timeout(DRAIN, drain(body)).await;
            return Body::TooLarge;
        }
        bytes.extend_from_slice(&data);
    }
    Body::Full(bytes)
}

async fn drain(mut body: Coming) {
    let mut left = DRAIN_BYTES;
    while let Some(Ok(data)) = body.next().await {
        left = left.saturating_sub(data.len());
        if left == 0 {
            break;
        }
    }
}

/// The answer for hyper.
pub fn response(reply: Reply, body: Option<(&'static str, Out)>) -> Response<Out> {
    let (media, body) = match (reply.content, body) {
        (_, Some((media, body))) => (Some(media), body),
        (Content::Json(bytes), None) => (Some("application/json"), full(bytes)),
        (Content::Empty | Content::Host(_) | Content::Stream(_), None) => (None, full(Vec::new())),
    };
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(reply.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    if let Some(media) = media {
        headers.insert("content-type", HeaderValue::from_static(media));
    }
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    for (name, value) in reply.headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    response
}

/// Bytes as a body.
pub fn full(bytes: impl Into<Bytes>) -> Out {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed()
}
