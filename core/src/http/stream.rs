//! Live streams (WHATWG HTML, Server-sent events) as data: a stream is the same request, run again with `Last-Event-ID`
//! whenever there is news.

use alloc::format;
use alloc::vec::Vec;

use super::accept;
use super::ctx::Ctx;
use super::refusal::{Halt, Refusal};
use super::reply::{Content, Reply};
use crate::key::Topic;

/// Media type of a stream.
pub const MEDIA: &str = "text/event-stream";
/// Begins the frame that ends an operation which its caller follows.
const DONE: &str = "event: done\ndata: ";

/// The part of a stream that is ready to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Topic whose news continue the stream.
    pub topic: Topic,
    /// Encoded frames, ready to send; may be empty.
    pub bytes: Vec<u8>,
    /// Where the next run goes on, as its `Last-Event-ID`: the id of the last event, and above its 32 bits the number of
    /// the last passing event.
    pub last: u64,
}

/// What a stream shows of the moment and nobody can read later: it has a number and no id.
pub struct Passing {
    /// Number of this event, below 2^21.
    pub number: u32,
    /// Event data: JSON on one line.
    pub data: Vec<u8>,
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
    accept::prefers(ctx.request, MEDIA)
}

/// Returns the event after which the stream continues, by `Last-Event-ID`; `None` if not sent or empty.
pub fn after(ctx: &Ctx<'_>) -> Result<Option<u32>, Halt> {
    Ok(place(ctx)?.map(|place| u32::try_from(place & u64::from(u32::MAX)).unwrap_or(u32::MAX)))
}

/// Returns the number of the last passing event that the stream showed.
pub fn passed(ctx: &Ctx<'_>) -> Result<Option<u32>, Halt> {
    Ok(place(ctx)?.and_then(|place| u32::try_from(place >> 32).ok()).filter(|number| *number > 0))
}

fn place(ctx: &Ctx<'_>) -> Result<Option<u64>, Halt> {
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
    let last = frames.last().map_or(after, |frame| frame.seq).into();
    streamed(Stream { topic, bytes, last })
}

/// Adds what passes to a stream, if the run before has not shown it.
pub fn with_passing(mut reply: Reply, passing: Option<Passing>, passed: Option<u32>) -> Reply {
    let (Some(passing), Content::Stream(stream)) = (passing, &mut reply.content) else { return reply };
    stream.last |= u64::from(passing.number) << 32;
    if passed != Some(passing.number) {
        stream.bytes.extend_from_slice(b"data: ");
        stream.bytes.extend_from_slice(&passing.data);
        stream.bytes.extend_from_slice(b"\n\n");
    }
    reply
}

fn streamed(stream: Stream) -> Reply {
    Reply::streamed(Content::Stream(stream)).header("cache-control", "no-store")
}

/// Appends a frame without an id, for an operation that its caller follows; `data` is JSON on one line.
pub fn frame(out: &mut Vec<u8>, event: &str, data: &[u8]) {
    out.extend_from_slice(format!("event: {event}\ndata: ").as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\n\n");
}

/// Replies to a caller who follows an operation with all its frames, the last of which is `done`.
pub fn whole(frames: Vec<u8>) -> Reply {
    Reply::ok_raw(frames).header("content-type", MEDIA).header("cache-control", "no-store")
}

/// Returns the JSON answer in the frames of an operation that is done; `None` for other bytes.
pub fn answer_in(frames: &[u8]) -> Option<&[u8]> {
    let at = frames.windows(DONE.len()).rposition(|window| window == DONE.as_bytes())?;
    frames[at + DONE.len()..].strip_suffix(b"\n\n")
}

/// Turns the JSON answer of an operation into that for a caller who follows it.
pub fn done(answer: &[u8]) -> Reply {
    let mut frames = Vec::new();
    frame(&mut frames, "done", answer);
    whole(frames)
}
