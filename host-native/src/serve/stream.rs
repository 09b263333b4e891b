//! Live streams: the same request is run again with `Last-Event-ID` whenever there is news of its topic.

use std::sync::Arc;
use std::time::Duration;

use hyper::Response;
use hyper::body::Bytes;
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::Request;
use switchboard_core::http::stream::Stream;
use tokio::sync::mpsc;

use super::pages::received;
use super::response::{ResponseBody, response as plain};
use crate::host::Host;
use crate::limiter::RateDecisions;
use crate::room::Held;

/// Chunks in the channel: the stream waits for a slower reader.
const CHUNKS: usize = 1;
/// Interval of comments that keep a stream without news alive.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Longest life of a stream; its client then reconnects with `Last-Event-ID`.
const LONGEST: Duration = Duration::from_hours(1);

/// Builds the response of a live stream; a task writes its events.
pub fn response(
    host: &Arc<Host>,
    reply: Reply,
    begin: Stream,
    request: Request,
    told: RateDecisions,
) -> Response<ResponseBody> {
    let place = match host.rooms.streams.try_take(host.holder(&request, &told), 1) {
        Ok(place) => place,
        Err(full) => return plain(Refusal::from(full).reply_to(&request.target), None),
    };
    let (chunks, wait) = mpsc::channel(CHUNKS);
    let host = Arc::clone(host);
    tokio::spawn(async move {
        let going = go_on(&host, begin, request, &told, &chunks, place);
        let _ = tokio::time::timeout(LONGEST, going).await;
    });
    plain(reply, Some(("text/event-stream", received(wait))))
}

type Chunks = mpsc::Sender<Result<Bytes, std::io::Error>>;

async fn go_on(
    host: &Arc<Host>,
    mut stream: Stream,
    mut request: Request,
    told: &RateDecisions,
    chunks: &Chunks,
    _place: Held,
) {
    let mut waiting = host.subscribe(stream.topic);
    let mut sent_nothing = true;
    loop {
        if !stream.bytes.is_empty() || sent_nothing {
            let bytes = if stream.bytes.is_empty() { Bytes::from_static(b":\n\n") } else { stream.bytes.into() };
            if chunks.send(Ok(bytes)).await.is_err() {
                return;
            }
            sent_nothing = false;
        } else {
            let news = tokio::select! {
                () = chunks.closed() => return,
                news = tokio::time::timeout(HEARTBEAT, waiting.news()) => news,
            };
            let over = match news {
                Ok(news) => !news,
                Err(_) => chunks.send(Ok(Bytes::from_static(b":\n\n"))).await.is_err(),
            };
            if over {
                return;
            }
        }
        request.headers.retain(|(name, _)| *name != "last-event-id");
        request.headers.push(("last-event-id", stream.last.to_string().into_bytes()));
        let Ok(seed) = host.clock.seed() else { return };
        // If the key was deleted meanwhile, or the last event is no longer stored, the stream ends.
        match host.read(&request, told, seed).await.map(|reply| reply.content) {
            Ok(Content::Stream(next)) => stream = next,
            _ => return,
        }
    }
}
