//! One request: its head to the core, its body if the core wants it, its answer back.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode, Version, http::request};
use switchboard_core::http::refusal::{Form, Invalid, Refusal};
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request, known_header};
use switchboard_core::seed::Seed;
use tokio::sync::oneshot;

use super::incoming::{Coming, Intake};
use super::seats::Unfinished;
use super::{list, pages, store, stream};
use crate::host::{Host, Verdict};
use crate::limiter::Told;
use crate::room::{Held, Holder, UsedUp};

/// The body of an answer.
pub type Out = BoxBody<Bytes, std::io::Error>;

/// Heads up to this size are not counted among the bodies.
const HEAD_BYTES: u64 = 4 << 10;
/// Answers up to this size are not counted.
const ANSWER_BYTES: usize = 64 << 10;

/// Answers a request.
pub async fn answer(
    host: Arc<Host>,
    incoming: hyper::Request<Incoming>,
    peer: IpAddr,
    door: Door,
    unfinished: Unfinished,
) -> Result<Response<Out>, Infallible> {
    let (head, body) = incoming.into_parts();
    if head.version == Version::HTTP_11 && head.headers.get_all("host").iter().count() != 1 {
        // RFC 9112 section 3.2.
        let refusal = Refusal::BadRequest("A request over HTTP/1.1 must have one Host header.".into());
        return Ok(response(refusal.reply(Form::Message, Invalid::First), None));
    }
    if store::is_for(&host, &head, door) {
        return Ok(store::answer(&host, &head, Coming::new(body, unfinished)).await);
    }
    let request = request_of(&head, &body, peer, door);
    Ok(carry(&host, request, Coming::new(body, unfinished), Told::default()).await)
}

/// Carries out a request whose head is read.
pub async fn carry(host: &Arc<Host>, request: Request, body: Coming, told: Told) -> Response<Out> {
    let began = Instant::now();
    let (method, target) = (request.method, request.target.clone());
    let operation = host.service.operation(method, &target);
    let (reply, held) = match host.clock.seed() {
        Ok(seed) if method.is_write() => write(host, request, body, told, seed).await,
        Ok(seed) => {
            drop(body);
            let request = Request { body: Body::None, ..request };
            let mut reply = host.read(&request, &told, seed).await;
            match std::mem::replace(&mut reply.content, Content::Empty) {
                Content::Stream(begin) => return stream::response(host, reply, begin, request, told),
                Content::Piece(begin) => {
                    log(host, operation, method, &reply, began);
                    return list::response(host, reply, begin, request, told);
                }
                content => counted(host, Reply { content, ..reply }, || host.holder(&request, &told), false),
            }
        }
        Err(error) => {
            tracing::error!(%error, "there is no randomness");
            (switchboard_core::http::refusal::server_error(""), None)
        }
    };
    log(host, operation, method, &reply, began);
    pages::response(host, reply, held, operation, &target)
}

fn log(host: &Host, operation: &'static str, method: Method, reply: &Reply, began: Instant) {
    host.metrics.answered(operation, reply.status, began.elapsed());
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

async fn write(host: &Arc<Host>, request: Request, body: Coming, told: Told, seed: Seed) -> (Reply, Option<Held>) {
    let sent = request.body == Body::Pending;
    let max = match host.judge(&request, &told, seed) {
        Verdict::Refused(reply) => {
            if sent {
                body.drain().await;
            }
            return (reply, None);
        }
        Verdict::Read(max) if sent => max,
        Verdict::Read(_) | Verdict::Write => 0,
    };
    let holder = host.holder(&request, &told);
    let (body, held) = match intake(host, holder, &request, body, max).await {
        Ok(read) => read,
        Err(full) => return (Refusal::from(full).reply(Form::Message, Invalid::First), None),
    };
    let host = Arc::clone(host);
    // The work goes on if the caller goes away: what was begun is finished.
    let (wanted, gone) = oneshot::channel();
    let work = async move {
        let reply = host.write(Request { body, ..request }, told, seed, gone).await;
        drop(held);
        counted(&host, reply, || holder, true)
    };
    let done = tokio::spawn(work).await;
    drop(wanted);
    done.unwrap_or_else(|_| (switchboard_core::http::refusal::server_error(""), None))
}

/// The body, where one of at most `max` bytes is wanted, and what it holds until the request is answered.
async fn intake(
    host: &Host,
    holder: Holder,
    request: &Request,
    body: Coming,
    max: usize,
) -> Result<(Body, Held), UsedUp> {
    let mut intake = Intake::new(&host.rooms, holder, head_bytes(request))?;
    let body = if max > 0 { intake.read(body, max).await? } else { Body::None };
    Ok((body, intake.done()))
}

/// What the head of a request takes of the budget.
fn head_bytes(request: &Request) -> u64 {
    let headers: usize = request.headers.iter().map(|(_, value)| value.len()).sum();
    Some((request.target.len() + headers) as u64).filter(|bytes| *bytes > HEAD_BYTES).unwrap_or(0)
}

/// Counts a large answer until its client has taken it. One that only shows what is stored is refused where there is
/// no room; that something was done is always told.
fn counted(host: &Host, reply: Reply, holder: impl FnOnce() -> Holder, is_write: bool) -> (Reply, Option<Held>) {
    let amount = match &reply.content {
        Content::Json(bytes) if bytes.len() > ANSWER_BYTES => bytes.len() as u64,
        _ => return (reply, None),
    };
    let holder = holder();
    match host.rooms.answers.try_take(holder, amount) {
        Ok(held) => (reply, Some(held)),
        Err(_) if is_write => (reply, Some(host.rooms.answers.overdraw(holder, amount))),
        Err(full) => (Refusal::from(full).reply(Form::Message, Invalid::First), None),
    }
}

/// Bytes that count among the answers until the last of them is taken.
pub struct Counted {
    bytes: Vec<u8>,
    _held: Held,
}

impl Counted {
    /// These bytes, which hold so much.
    pub fn new(bytes: Vec<u8>, held: Held) -> Self {
        Self { bytes, _held: held }
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The answer for hyper.
pub fn response(reply: Reply, body: Option<(&'static str, Out)>) -> Response<Out> {
    let (media, body) = match (reply.content, body) {
        (_, Some((media, body))) => (Some(media), body),
        (Content::Json(bytes), None) => (Some("application/json"), full(bytes)),
        (Content::Empty | Content::Host(_) | Content::Stream(_) | Content::Piece(_), None) => (None, full(Vec::new())),
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
