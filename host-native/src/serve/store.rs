//! The store protocol: edge nodes read and commit over HTTP, and pass on whole requests that they do not execute
//! themselves (docs/store-protocol.md).
//!
//! It bypasses the operations of the service: whoever holds the token reads and changes everything. Without a
//! configured token its paths do not exist.

use std::sync::Arc;

use hyper::header::{CONTENT_LENGTH, HeaderValue};
use hyper::http::request;
use hyper::{Response, StatusCode};
use switchboard_core::http::request::{Body, Door, Method};
use switchboard_core::limits::remote::{HEAD_BYTES_MAX, MESSAGE_BYTES_MAX};
use switchboard_core::remote::headers::{LENGTH, REFUSED, RELEASE};
use switchboard_core::remote::wire::{CommitCall, PassCall, ReadCall, WireError, WireMessage};
use switchboard_core::service::Service;
use switchboard_core::view::Stop;

use super::exchange::{Handed, carry};
use super::front::Front;
use super::incoming::{BODY, Coming, Intake};
use super::response::{ResponseBody, full};
use crate::host::Host;
use crate::limiter::RateDecisions;
use crate::room::{Held, Holder};
use crate::writer::Failure;

/// What another writer has the rows for.
pub enum Other {
    /// A request that was passed on.
    Request(Box<Handed>),
    /// This message, for the rows of an account.
    Message(u32, Vec<u8>),
}

/// Why a message was not executed here.
enum Unanswered {
    Refused(Refused),
    Other(Other),
}

impl From<Refused> for Unanswered {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

/// Why a message was not executed.
enum Refused {
    /// 400: the message is unknown, cannot be parsed, or was cut.
    Malformed(WireError),
    /// 401: the store token is missing or wrong.
    Token,
    /// 405: the message was not a `POST`.
    Method,
    /// 409: what was read no longer holds.
    Changed,
    /// 412: the node runs another release.
    Release,
    /// 413: the message or its answer is too large.
    TooLarge,
    /// 500: the store cannot be read, or the step panicked.
    Failed,
    /// 503: the store failed, or there is no room for the message; the node may retry.
    Unavailable,
}

/// Returns whether a request belongs to the protocol, and the protocol is open.
pub fn is_for(host: &Host, head: &request::Parts, door: Door) -> bool {
    host.edge.is_some() && door == Door::Main && head.uri.path().starts_with("/store/")
}

/// Answers a message of an edge node; the error is what another writer has the rows for.
pub async fn answer(
    front: &Front,
    host: &Arc<Host>,
    head: &request::Parts,
    body: Coming,
) -> Result<Response<ResponseBody>, Other> {
    match carry_out(front, host, head, body).await {
        Ok(response) => Ok(response),
        Err(Unanswered::Refused(refused)) => Ok(refused.response()),
        Err(Unanswered::Other(other)) => Err(other),
    }
}

async fn carry_out(
    front: &Front,
    host: &Arc<Host>,
    head: &request::Parts,
    body: Coming,
) -> Result<Response<ResponseBody>, Unanswered> {
    let shown = head.headers.get("authorization").map_or(&b""[..], HeaderValue::as_bytes);
    if !host.edge.is_some_and(|token| token.fits(shown)) {
        return Err(Refused::Token.into());
    }
    if head.method != hyper::Method::POST {
        return Err(Refused::Method.into());
    }
    if head.headers.get(RELEASE).is_none_or(|release| release.as_bytes() != Service::version().as_bytes()) {
        return Err(Refused::Release.into());
    }
    if head.uri.path() == "/store/pass" {
        return pass(front, host, body).await;
    }
    let (bytes, _held) = message(host, body).await?;
    let done = match head.uri.path() {
        "/store/read" => read_rows(host, &bytes).await,
        "/store/commit" => commit(host, &bytes).await,
        _ => Err(Undone::Malformed("there is no such message")),
    };
    done.map_err(|undone| match undone {
        Undone::Malformed(why) => Refused::Malformed(why).into(),
        Undone::Failed(Failure::Stopped(Stop::Elsewhere(account))) => Unanswered::Other(Other::Message(account, bytes)),
        Undone::Failed(failure) => Refused::from(failure).into(),
    })
}

/// Why a message came to nothing.
enum Undone {
    Malformed(WireError),
    Failed(Failure),
}

/// Reads a whole message; returns its bytes and what they hold of the budget of bodies.
async fn message(host: &Host, body: Coming) -> Result<(Vec<u8>, Held), Refused> {
    let mut intake = Intake::new(&host.rooms, Holder::Service, 0).map_err(|_| Refused::Unavailable)?;
    match intake.read(body, MESSAGE_BYTES_MAX).await {
        Ok(Body::Full(bytes)) => Ok((bytes, intake.done())),
        Ok(Body::TooLarge) => Err(Refused::TooLarge),
        Ok(_) => Err(Refused::Malformed("cut")),
        Err(_) => Err(Refused::Unavailable),
    }
}

async fn read_rows(host: &Arc<Host>, bytes: &[u8]) -> Result<Response<ResponseBody>, Undone> {
    let call = ReadCall::from_bytes(bytes).map_err(Undone::Malformed)?;
    let answer = host.read_for(&call).await.map_err(Undone::Failed)?.ok_or(Undone::Failed(Failure::Changed))?;
    Ok(octets(StatusCode::OK, answer.to_bytes()))
}

async fn commit(host: &Arc<Host>, bytes: &[u8]) -> Result<Response<ResponseBody>, Undone> {
    let call = CommitCall::from_bytes(bytes).map_err(Undone::Malformed)?;
    host.commit_for(call).await.map_err(Undone::Failed)?;
    Ok(octets(StatusCode::NO_CONTENT, Vec::new()))
}

/// Executes a request that the node passes on: its head, then its body as it arrives.
async fn pass(front: &Front, host: &Arc<Host>, mut body: Coming) -> Result<Response<ResponseBody>, Unanswered> {
    let taken = tokio::time::timeout(BODY, take_head(&mut body)).await;
    let head = taken.map_err(|_| Refused::Malformed("cut"))??;
    let PassCall { request, rates } = PassCall::from_bytes(&head).map_err(Refused::Malformed)?;
    let is_head = request.method == Method::Head;
    let carried = carry(front, host, request, body, RateDecisions::of(rates)).await;
    let mut response = carried.map_err(|handed| Unanswered::Other(Other::Request(handed)))?;
    if is_head && let Some(length) = response.headers_mut().remove(CONTENT_LENGTH) {
        response.headers_mut().insert(LENGTH, length);
    }
    Ok(response)
}

/// Reads the head of a passed request: its length (u32 BE), then the message.
async fn take_head(body: &mut Coming) -> Result<Vec<u8>, Refused> {
    let length = body.take(4).await.ok_or(Refused::Malformed("cut"))?;
    let length = u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
    if length > HEAD_BYTES_MAX {
        return Err(Refused::TooLarge);
    }
    body.take(length).await.ok_or(Refused::Malformed("cut"))
}

fn octets(status: StatusCode, bytes: Vec<u8>) -> Response<ResponseBody> {
    let mut response = Response::new(full(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/octet-stream"));
    response
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Changed => Self::Changed,
            Failure::Stopped(Stop::OverBudget) => Self::TooLarge,
            Failure::Unavailable | Failure::Stopped(Stop::Failed) => Self::Unavailable,
            Failure::Stopped(Stop::Missing(_) | Stop::Elsewhere(_) | Stop::Corrupt(_)) | Failure::Panicked => {
                Self::Failed
            }
        }
    }
}

impl Refused {
    fn response(self) -> Response<ResponseBody> {
        let (status, text) = match self {
            Self::Malformed(why) => (StatusCode::BAD_REQUEST, why),
            Self::Token => (StatusCode::UNAUTHORIZED, "the store token does not fit"),
            Self::Method => (StatusCode::METHOD_NOT_ALLOWED, "messages are sent by POST"),
            Self::Changed => (StatusCode::CONFLICT, "what was read no longer holds"),
            Self::Release => (StatusCode::PRECONDITION_FAILED, "this region runs another release"),
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "the message or its answer would be too large"),
            Self::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "the store cannot be read"),
            Self::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, "the store does not answer"),
        };
        let mut response = Response::new(full(text.as_bytes()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
        // Tells a node that this is not the answer to a passed request.
        headers.insert(REFUSED, HeaderValue::from_static("refused"));
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert("www-authenticate", HeaderValue::from_static("Bearer"));
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                headers.insert("retry-after", HeaderValue::from_static("1"));
            }
            StatusCode::METHOD_NOT_ALLOWED => {
                headers.insert("allow", HeaderValue::from_static("POST"));
            }
            _ => {}
        }
        response
    }
}
