//! A write whose caller follows it: its reply becomes an event stream once it waits for answers from outside.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame};
use switchboard_core::http::refusal::server_error;
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::Request;
use switchboard_core::http::stream::MEDIA;
use switchboard_core::seed::Seed;
use tokio::sync::{mpsc, oneshot};

use super::exchange::{Handed, Stopped, admitted, counted};
use super::incoming::Coming;
use super::response::{ResponseBody, response as plain};
use crate::follow::Follower;
use crate::host::Host;
use crate::limiter::RateDecisions;
use crate::room::Held;

/// Result of such a write.
pub enum Followed {
    /// It is decided: one reply.
    Reply(Reply, Option<Held>),
    /// It goes on: the head of its reply, and the response that the rest is written into.
    Stream(Reply, Response<ResponseBody>),
    /// It is another writer's.
    Handed(Box<Handed>),
}

/// Executes a request whose caller follows it.
pub async fn carry(host: &Arc<Host>, request: Request, body: Coming, told: RateDecisions, seed: Seed) -> Followed {
    let (request, held, holder) = match admitted(host, request, body, &told, seed).await {
        Ok(admitted) => admitted,
        Err(Stopped::Refused(reply)) => return Followed::Reply(reply, None),
        Err(Stopped::Handed(handed)) => return Followed::Handed(handed),
    };
    let target = request.target.clone();
    let place = match host.rooms.streams.try_take(holder, 1) {
        Ok(place) => place,
        Err(full) => return Followed::Reply(host.refused(&request, full, &seed), None),
    };
    let (begins, begun) = oneshot::channel();
    let (chunks, wait) = mpsc::unbounded_channel();
    let mut follower = Follower::new(begins, chunks);
    let host = Arc::clone(host);
    let (wanted, gone) = oneshot::channel();
    let work = async move {
        let target = request.target.clone();
        let reply = host.write(request, told, seed, gone, Some(&mut follower)).await;
        drop((held, place));
        let reply = match reply {
            Ok(reply) => follower.end(reply)?,
            Err(elsewhere) => return Some(Err(elsewhere)),
        };
        Some(Ok(counted(&host, &target, reply, || holder, true)))
    };
    let work = tokio::spawn(work);
    // The sender is dropped with the follower: then the work is done.
    if let Ok(head) = begun.await {
        // Whoever breaks off stops nothing: what has begun is finished.
        tokio::spawn(async move {
            let _ = work.await;
            drop(wanted);
        });
        let head = Reply { content: Content::Empty, ..head };
        let response = plain(head.clone(), Some((MEDIA, ReceivedChunks(wait).boxed())));
        return Followed::Stream(head, response);
    }
    let done = work.await;
    drop(wanted);
    match done {
        Ok(Some(Ok((reply, held)))) => Followed::Reply(reply, held),
        Ok(Some(Err(elsewhere))) => Followed::Handed(Handed::of(*elsewhere)),
        _ => Followed::Reply(server_error(&target, ""), None),
    }
}

/// Body of the chunks that a follower was passed.
struct ReceivedChunks(mpsc::UnboundedReceiver<Result<Bytes, std::io::Error>>);

impl Body for ReceivedChunks {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}
