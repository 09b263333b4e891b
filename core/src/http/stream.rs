//! Live streams (WHATWG HTML, Server-sent events) as data: a stream is the same request, asked again with
//! `Last-Event-ID` whenever there is news.

use alloc::format;
use alloc::vec::Vec;

use super::ctx::Ctx;
use super::refusal::{Halt, Refusal};
use super::reply::{Content, Reply};
use crate::key::Topic;

/// What of a stream is known so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// What it waits for.
    pub topic: Topic,
    /// The frames that are there, as they go out.
    pub bytes: Vec<u8>,
    /// The id of the last one: `Last-Event-ID` of the next request.
    pub last: u32,
}

/// One event of a stream.
pub struct Frame<'a> {
    /// Its id.
    pub seq: u32,
    /// Its type, where it is another than `message`.
    pub name: Option<&'a str>,
    /// Its data: JSON on one line.
    pub data: &'a [u8],
}

/// Whether the caller asks for a stream.
pub fn wanted(ctx: &Ctx<'_>) -> bool {
    ctx.request.list("accept").is_some_and(|accept| {
        accept.split(',').any(|kind| kind.split(';').next().unwrap_or_default().trim() == "text/event-stream")
    })
}

/// After which event the caller goes on, if it says so.
pub fn after(ctx: &Ctx<'_>) -> Result<Option<u32>, Halt> {
    let Some(sent) = ctx.request.header("last-event-id").filter(|text| !text.is_empty()) else { return Ok(None) };
    let refusal = || Refusal::Unprocessable("The Last-Event-ID header must be the id of an event.".into());
    sent.parse().map(Some).map_err(|_| refusal().into())
}

/// The reply that goes on for as long as somebody reads it.
pub fn reply(topic: Topic, after: u32, frames: &[Frame<'_>]) -> Reply {
    let mut bytes = Vec::new();
    for frame in frames {
        bytes.extend_from_slice(format!("id: {}\n", frame.seq).as_bytes());
        if let Some(name) = frame.name {
            bytes.extend_from_slice(format!("event: {name}\n").as_bytes());
        }
        bytes.extend_from_slice(b"data: ");
        bytes.extend_from_slice(frame.data);
        bytes.extend_from_slice(b"\n\n");
    }
    let last = frames.last().map_or(after, |frame| frame.seq);
    Reply::streamed(Content::Stream(Stream { topic, bytes, last })).header("cache-control", "no-store")
}
