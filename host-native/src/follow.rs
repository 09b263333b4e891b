//! [`Follower`]: a caller who follows an operation as it goes on. What it may see is passed on at once and never waits for
//! it: a caller who is slow, or goes away, holds nothing up.

use std::future::Future;
use std::time::Duration;

use hyper::body::Bytes;
use switchboard_core::http::reply::Reply;
use switchboard_core::http::stream;
use switchboard_core::json::Object;
use switchboard_core::llm::ChatPieces;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// Least time between two pieces of a model's answer.
const PIECE_INTERVAL: Duration = Duration::from_millis(200);

/// What arrives at the caller: chunks of an event stream. All of a turn together are bounded, since the core ends one
/// that says too much.
type Frames = mpsc::UnboundedSender<Result<Bytes, std::io::Error>>;

/// The sending side of a caller who follows an operation.
pub struct Follower {
    /// Takes the head of the reply once the stream begins.
    begins: Option<oneshot::Sender<Reply>>,
    chunks: Frames,
    /// Bytes of the operation's frames that were passed on.
    passed: usize,
}

impl Follower {
    /// Creates one that tells `begins` when its stream begins, and writes it into `chunks`.
    pub fn new(begins: oneshot::Sender<Reply>, chunks: Frames) -> Self {
        Self { begins: Some(begins), chunks, passed: 0 }
    }

    /// Passes on what is new of a reply, all of whose frames are given from the first; begins the stream if it has not
    /// begun.
    pub fn pass(&mut self, reply: Reply) {
        let frames = reply.body().get(self.passed..).unwrap_or_default().to_vec();
        self.passed += frames.len();
        if let Some(begins) = self.begins.take() {
            let _ = begins.send(reply);
        }
        self.send(frames);
    }

    /// Ends the stream with the last reply; returns the reply instead if the stream has not begun.
    pub fn end(mut self, reply: Reply) -> Option<Reply> {
        if self.begins.is_some() {
            return Some(reply);
        }
        if reply.is_success() {
            self.pass(reply);
        } else {
            let mut frames = Vec::new();
            stream::frame(&mut frames, "error", reply.body());
            self.send(frames);
        }
        None
    }

    /// Returns a reader that passes the pieces of a model's answer on.
    pub fn pieces(&self) -> Pieces<'_> {
        Pieces { follower: self, heard: ChatPieces::default(), held: String::new(), next: Instant::now() }
    }

    fn send(&self, frames: Vec<u8>) {
        if !frames.is_empty() {
            // A caller who is gone hears nothing; the operation goes on.
            let _ = self.chunks.send(Ok(frames.into()));
        }
    }
}

/// Passes the text of a model's streamed answer on, at most five times a second.
pub struct Pieces<'f> {
    follower: &'f Follower,
    heard: ChatPieces,
    /// Text that was not passed on yet.
    held: String,
    next: Instant,
}

impl Pieces<'_> {
    /// Takes bytes of the answer, in order.
    pub fn hear(&mut self, bytes: &[u8]) {
        self.held.push_str(&self.heard.push(bytes));
        if Instant::now() >= self.next {
            self.pass();
        }
    }

    /// Waits for more of the answer; what is held goes out when its time comes meanwhile.
    pub async fn while_passing<T>(&mut self, more: impl Future<Output = T>) -> T {
        tokio::pin!(more);
        if !self.held.is_empty() {
            if let Ok(more) = tokio::time::timeout_at(self.next, more.as_mut()).await {
                return more;
            }
            self.pass();
        }
        more.await
    }

    fn pass(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let mut data = Vec::new();
        let mut object = Object::open(&mut data);
        object.member("text", &self.held);
        object.close();
        let mut frames = Vec::new();
        stream::frame(&mut frames, "delta", &data);
        self.follower.send(frames);
        self.held.clear();
        self.next = Instant::now() + PIECE_INTERVAL;
    }
}

impl Drop for Pieces<'_> {
    /// Passes the rest on, also where the answer broke off.
    fn drop(&mut self) {
        self.pass();
    }
}
