//! Live streams (WHATWG HTML, Server-sent events) as data: a stream is the same request, run again with `Last-Event-ID`
//! whenever there is news.

use alloc::format;
use alloc::vec::Vec;

use super::ctx::Ctx;
use super::refusal::{Halt, Refusal};
use super::reply::{Content, Reply};
use crate::key::Topic;

/// The part of a stream that is ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Topic whose news continue the stream.
    pub topic: Topic,
    /// Encoded frames, ready to send; may be empty.
    pub bytes: Vec<u8>,
    /// Id of the last event so far: `Last-Event-ID` of the next run.
    pub last: u32,
}

/// One event of a stream.
pub struct Frame<'a> {
    /// Event id, sent as the `id` field.
    pub seq: u32,
    /// Event type; `None` for the default, `message`.
    pub name: Option<&'a str>,
    /// Event data: JSON on one line.
    pub data: &'a [u8],
}

/// Returns whether the caller prefers a stream to JSON.
pub fn wanted(ctx: &Ctx<'_>) -> bool {
    ctx.request.list("accept").is_some_and(|accept| prefers_stream(&accept))
}

/// Compares the weights of RFC 9110 section 12.5.1, in thousandths; a tie goes to the stream.
fn prefers_stream(accept: &str) -> bool {
    let weight = |wanted: &str| {
        accept.split(',').find_map(|range| {
            let mut parts = range.split(';').map(str::trim);
            if !parts.next()?.eq_ignore_ascii_case(wanted) {
                return None;
            }
            let q = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
            Some(q.map_or(1_000, thousandths))
        })
    };
    let (stream, json) = (weight("text/event-stream").unwrap_or(0), weight("application/json").unwrap_or(0));
    stream > 0 && stream >= json
}

fn thousandths(q: &str) -> u32 {
    let (whole, fraction) = q.split_once('.').unwrap_or((q, ""));
    let digits = fraction.bytes().chain(core::iter::repeat(b'0')).take(3);
    let part = digits.fold(0, |sum, digit| sum * 10 + u32::from(digit.saturating_sub(b'0')));
    if whole == "1" { 1_000 } else { part.min(999) }
}

/// Returns `Last-Event-ID`, the event after which the stream continues; `None` if not sent or empty.
pub fn after(ctx: &Ctx<'_>) -> Result<Option<u32>, Halt> {
    let Some(sent) = ctx.request.header("last-event-id").filter(|text| !text.is_empty()) else { return Ok(None) };
    let refusal = || Refusal::Unprocessable("The Last-Event-ID header must be the id of an event.".into());
    sent.parse().map(Some).map_err(|_| refusal().into())
}

/// Replies with a stream that starts with `frames` and continues with news of `topic`; `after` is the last id if there
/// are no frames.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_sent_to_whoever_prefers_one() {
        for (accept, want) in [
            ("text/event-stream", true),
            ("TEXT/Event-Stream; q=0.5", true),
            ("text/event-stream, application/json", true),
            ("application/json, text/event-stream;q=0.1", false),
            ("application/json;q=0.1, text/event-stream;q=0.9", true),
            ("text/event-stream;q=0", false),
            ("*/*", false),
            ("", false),
        ] {
            assert_eq!(prefers_stream(accept), want, "{accept}");
        }
    }
}
