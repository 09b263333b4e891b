//! One request: passes its head to the core, its body if the core wants it, and the answer back.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use hyper::body::{Body as _, Bytes};
use hyper::header::HeaderMap;
use hyper::{Response, http::request};
use switchboard_core::http::refusal::{Refusal, server_error};
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request, known_header};
use switchboard_core::seed::Seed;
use tokio::sync::oneshot;

use super::files::FileRequest;
use super::followed::{self, Followed};
use super::front::Front;
use super::incoming::{Coming, Intake};
use super::pass::Unsent;
use super::place::Place;
use super::response::{ResponseBody, response};
use super::{list, object, pages, stream, upload};
use crate::host::{Elsewhere, Host, Verdict};
use crate::limiter::RateDecisions;
use crate::room::{Held, Holder, UsedUp};

/// Heads up to this size, in bytes, are not counted among the bodies.
const HEAD_BYTES: u64 = 4 << 10;
/// Answers up to this size, in bytes, are not counted.
const ANSWER_BYTES: usize = 64 << 10;

/// A request that wants the rows of an account which another writer has, and its body, unless that was read.
pub struct Handed {
    pub account: u32,
    pub request: Request,
    pub body: Coming,
}

impl Handed {
    pub fn of(Elsewhere { account, request }: Elsewhere) -> Box<Self> {
        Box::new(Self { account, request, body: Coming::read(Bytes::new()) })
    }
}

/// Executes a request whose head is read, and returns the response; the error is the request, if it is another writer's.
pub async fn carry(
    front: &Front,
    host: &Arc<Host>,
    request: Request,
    body: Coming,
    told: RateDecisions,
) -> Result<Response<ResponseBody>, Box<Handed>> {
    let began = Instant::now();
    let (method, target) = (request.method, request.target.clone());
    let known = request.list("if-none-match");
    let operation = host.service.operation(method, &target);
    let place = Place::of(&request);
    let (reply, held) = match host.clock.seed() {
        Ok(seed) if method.is_write() && host.service.is_followed(&request) => {
            match Box::pin(followed::carry(host, request, body, told, seed)).await {
                Followed::Stream(reply, response) => {
                    log(host, operation, method, (reply.status, id_of(&reply)), began, place);
                    return Ok(response);
                }
                Followed::Reply(reply, held) => (reply, held),
                Followed::Handed(handed) => return Err(handed),
            }
        }
        Ok(seed) if host.service.stores_body(&request) && request.body == Body::Pending => {
            match Box::pin(host.precheck(&request, &told, seed)).await {
                Verdict::Store(account) => (Box::pin(upload::carry(host, request, body, seed, account)).await, None),
                Verdict::Elsewhere(account) => return Err(Box::new(Handed { account, request, body })),
                _ => Box::pin(write(host, request, body, told, seed)).await?,
            }
        }
        Ok(seed) if method.is_write() => Box::pin(write(host, request, body, told, seed)).await?,
        Ok(seed) => {
            drop(body);
            let request = Request { body: Body::None, ..request };
            let mut reply = match Box::pin(host.read(&request, &told, seed)).await {
                Ok(reply) => reply,
                Err(account) => return Err(Handed::of(Elsewhere { account, request })),
            };
            match std::mem::replace(&mut reply.content, Content::Empty) {
                Content::Stream(begin) => return Ok(stream::response(host, reply, begin, request, told)),
                Content::Piece(begin) => {
                    log(host, operation, method, (reply.status, id_of(&reply)), began, place);
                    return Ok(list::response(host, reply, begin, request, told));
                }
                Content::Object(part) => {
                    let holder = host.holder(&request, &told);
                    return Ok(match Box::pin(object::open(host, part, holder)).await {
                        Ok(body) => {
                            log(host, operation, method, (reply.status, id_of(&reply)), began, place);
                            response(reply, Some(("application/octet-stream", body)))
                        }
                        Err(refusal) => {
                            let reply = host.service.dressed(&request, &seed, refusal.reply_to(&target));
                            log(host, operation, method, (reply.status, id_of(&reply)), began, place);
                            response(reply, None)
                        }
                    });
                }
                content => counted(host, &target, Reply { content, ..reply }, || host.holder(&request, &told), false),
            }
        }
        Err(error) => {
            tracing::error!(%error, "there is no randomness");
            (server_error(&target, ""), None)
        }
    };
    if let Content::Host(page) = reply.content {
        let id = id_of(&reply).to_owned();
        let asked = FileRequest { target: &target, known: known.as_deref() };
        let response = Box::pin(pages::page(front, host, page, reply, &asked)).await;
        log(host, operation, method, (response.status().as_u16(), &id), began, place);
        return Ok(response);
    }
    log(host, operation, method, (reply.status, id_of(&reply)), began, place);
    Ok(pages::response(host, reply, held, operation))
}

fn id_of(reply: &Reply) -> &str {
    reply.headers.iter().find(|(name, _)| *name == "x-request-id").map_or("", |(_, id)| id.as_str())
}

fn log(host: &Host, operation: &'static str, method: Method, (status, id): (u16, &str), began: Instant, place: Place) {
    host.metrics.answered(operation, status, began.elapsed());
    let micros = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    let Place { account, call } = place.answered(status);
    tracing::info!(target: "switchboard::request", request_id = id, operation, account, call, method = method.name(), status, micros, "answered");
}

pub fn request_of(head: &request::Parts, body: &Unsent, peer: IpAddr, door: Door) -> Request {
    let target = head.uri.path_and_query().map_or_else(|| head.uri.path(), |target| target.as_str());
    let mut headers = headers(&head.headers);
    if let Some(host) = head.uri.host().filter(|_| !head.headers.contains_key("host")) {
        // HTTP/2 sends the host in `:authority`, as part of the target.
        let port = head.uri.port().map_or(String::new(), |port| format!(":{port}"));
        headers.push(("host", format!("{host}{port}").into_bytes()));
    }
    let body = match body {
        Unsent::Coming(body, _) if body.is_end_stream() => Body::None,
        Unsent::Coming(..) => Body::Pending,
        Unsent::Read(bytes) if bytes.is_empty() => Body::None,
        Unsent::Read(bytes) => Body::Full(bytes.to_vec()),
    };
    Request {
        method: Method::parse(head.method.as_str()),
        target: target.to_owned(),
        headers,
        body,
        peer: Some(peer),
        door,
    }
}

/// Returns the head of a request as one that came; `None` if it can be none.
pub fn head_of(request: &Request) -> Option<request::Parts> {
    let mut head = hyper::Request::builder().method(request.method.name()).uri(&request.target);
    for (name, value) in &request.headers {
        head = head.header(*name, value.as_slice());
    }
    Some(head.body(()).ok()?.into_parts().0)
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

/// Why a write goes no further.
pub enum Stopped {
    /// It is answered with this.
    Refused(Reply),
    /// It is another writer's.
    Handed(Box<Handed>),
}

/// Checks a write before its body is read, and reads the body, unless that was done.
pub async fn admitted(
    host: &Host,
    request: Request,
    mut body: Coming,
    told: &RateDecisions,
    seed: Seed,
) -> Result<(Request, Held, Holder), Stopped> {
    let sent = request.body == Body::Pending;
    let max = match host.precheck(&request, told, seed).await {
        Verdict::Refused(reply) => {
            if sent {
                body.drain().await;
            }
            return Err(Stopped::Refused(reply));
        }
        Verdict::Elsewhere(account) => return Err(Stopped::Handed(Box::new(Handed { account, request, body }))),
        Verdict::Read(max) if sent => max,
        // What stores its body goes another way; one for which that changed meanwhile is read as if it had none.
        Verdict::Read(_) | Verdict::Write | Verdict::Store(_) => 0,
    };
    let holder = host.holder(&request, told);
    let was_read = match &request.body {
        Body::None | Body::Pending => None,
        Body::Full(bytes) => Some(bytes.len() as u64),
        Body::Cut | Body::TooLarge => Some(0),
    };
    let taken = match was_read {
        Some(bytes) => host.rooms.bodies.try_take(holder, head_bytes(&request) + bytes).map(|held| (None, held)),
        None => intake(host, holder, &request, body, max).await.map(|(body, held)| (Some(body), held)),
    };
    match taken {
        Ok((body, held)) => Ok((Request { body: body.unwrap_or(request.body), ..request }, held, holder)),
        Err(full) => Err(Stopped::Refused(host.refused(&request, full, &seed))),
    }
}

/// Checks a write before its body is read, and reads it, for a caller who carries it out; the error is its answer.
pub async fn admit(
    host: &Host,
    request: Request,
    body: Coming,
) -> Result<(Request, Held), Box<Response<ResponseBody>>> {
    let (began, method, target) = (Instant::now(), request.method, request.target.clone());
    let (operation, place) = (host.service.operation(method, &target), Place::of(&request));
    let stopped = match host.clock.seed() {
        Ok(seed) => match admitted(host, request, body, &RateDecisions::default(), seed).await {
            Ok((request, held, _)) => return Ok((request, held)),
            Err(stopped) => stopped,
        },
        Err(_) => Stopped::Refused(server_error(&target, "")),
    };
    let reply = match stopped {
        Stopped::Refused(reply) => reply,
        Stopped::Handed(_) => Refusal::Unavailable.reply_to(&target),
    };
    log(host, operation, method, (reply.status, id_of(&reply)), began, place);
    Err(Box::new(response(reply, None)))
}

async fn write(
    host: &Arc<Host>,
    request: Request,
    body: Coming,
    told: RateDecisions,
    seed: Seed,
) -> Result<(Reply, Option<Held>), Box<Handed>> {
    let (request, held, holder) = match admitted(host, request, body, &told, seed).await {
        Ok(admitted) => admitted,
        Err(Stopped::Refused(reply)) => return Ok((reply, None)),
        Err(Stopped::Handed(handed)) => return Err(handed),
    };
    let host = Arc::clone(host);
    // A task of its own, so that work that has begun is finished even if the caller goes away.
    let (wanted, gone) = oneshot::channel();
    let target = request.target.clone();
    let work = async move {
        let target = request.target.clone();
        let reply = host.write(request, told, seed, gone, None).await;
        drop(held);
        reply.map(|reply| counted(&host, &target, reply, || holder, true))
    };
    let done = tokio::spawn(work).await;
    drop(wanted);
    match done {
        Ok(done) => done.map_err(|elsewhere| Handed::of(*elsewhere)),
        Err(_) => Ok((server_error(&target, ""), None)),
    }
}

/// Reads the body if one of at most `max` bytes is wanted; returns it and what it holds until the request is answered.
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

/// Returns the bytes that a request's head takes of the budget of bodies, 0 up to `HEAD_BYTES`.
fn head_bytes(request: &Request) -> u64 {
    let headers: usize = request.headers.iter().map(|(_, value)| value.len()).sum();
    Some((request.target.len() + headers) as u64).filter(|bytes| *bytes > HEAD_BYTES).unwrap_or(0)
}

/// Counts a large answer until its client has taken it. Without room, the answer to a read is refused; the answer to a
/// write is always sent, since its changes are committed.
pub fn counted(
    host: &Host,
    target: &str,
    reply: Reply,
    holder: impl FnOnce() -> Holder,
    is_write: bool,
) -> (Reply, Option<Held>) {
    let amount = match &reply.content {
        Content::Json(bytes) if bytes.len() > ANSWER_BYTES => bytes.len() as u64,
        _ => return (reply, None),
    };
    let holder = holder();
    match host.rooms.answers.try_take(holder, amount) {
        Ok(held) => (reply, Some(held)),
        Err(_) if is_write => (reply, Some(host.rooms.answers.overdraw(holder, amount))),
        Err(full) => (Refusal::from(full).reply_to(target), None),
    }
}
