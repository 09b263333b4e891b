//! Long lists: read from the store piece by piece, as the client takes them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use switchboard_core::http::list::ListChunk;
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::Request;
use tokio::sync::mpsc;

use super::response::{ResponseBody, response as plain};
use crate::host::Host;
use crate::limiter::RateDecisions;
use crate::room::Held;

/// Pieces in the channel: the next one is read once the last was taken.
const PIECES: usize = 1;

/// Builds the response of a list whose first piece is read; a task reads the others.
pub fn response(
    host: &Arc<Host>,
    reply: Reply,
    begin: ListChunk,
    request: Request,
    told: RateDecisions,
) -> Response<ResponseBody> {
    let place = match host.rooms.lists.try_take(host.holder(&request, &told), 1) {
        Ok(place) => place,
        Err(full) => return plain(Refusal::from(full).reply_to(&request.target), None),
    };
    let (pieces, wait) = mpsc::channel(PIECES);
    let whole = Arc::new(AtomicBool::new(false));
    let body = Pieces { wait, whole: Arc::clone(&whole), _place: place };
    let host = Arc::clone(host);
    tokio::spawn(async move {
        if write(&host, begin, &request, &told, &pieces).await.is_some() {
            whole.store(true, Ordering::Release);
        }
    });
    plain(reply, Some(("application/json", body.boxed())))
}

/// Sends piece after piece; `None` if the client went away or the rest cannot be read any more.
async fn write(
    host: &Host,
    begin: ListChunk,
    request: &Request,
    told: &RateDecisions,
    pieces: &mpsc::Sender<Bytes>,
) -> Option<()> {
    let ListChunk { bytes, mut rest } = begin;
    pieces.send(bytes.into()).await.ok()?;
    while let Some(wanted) = rest.take() {
        // Reserve room first, so that at most two pieces are in memory.
        let room = pieces.reserve().await.ok()?;
        let piece = host.read_rest(request, wanted, told).await?;
        room.send(piece.bytes.into());
        rest = piece.rest;
    }
    Some(())
}

/// The body of a list. It breaks off with an error if the last piece is missing, so that no half list looks complete.
struct Pieces {
    wait: mpsc::Receiver<Bytes>,
    whole: Arc<AtomicBool>,
    _place: Held,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(match ready!(self.wait.poll_recv(context)) {
            Some(bytes) => Some(Ok(Frame::data(bytes))),
            None if self.whole.load(Ordering::Acquire) => None,
            None => Some(Err(std::io::Error::other("the list broke off"))),
        })
    }
}
