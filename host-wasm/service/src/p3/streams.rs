//! Bodies of `wasi:http` 0.3 in both directions.

use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use wit_bindgen::{FutureReader, FutureWriter, StreamReader, StreamResult, StreamWriter};

use super::bindings::wasi::clocks0_3_0::monotonic_clock::wait_for;
use super::bindings::wasi::http0_3_0::types::{ErrorCode, Request, Response, Trailers};
use super::bindings::{wit_future, wit_stream};
use crate::incoming::{BodyChunk, BodySource, Incoming};
use crate::limits::{CHUNK_BYTES, nanoseconds};

/// How a body ended: complete with or without trailers, or broken off.
pub type End = Result<Option<Trailers>, ErrorCode>;

/// An outgoing body. Dropped before its end, it counts as broken off.
pub struct Sending {
    bytes: StreamWriter<u8>,
    end: FutureWriter<End>,
}

impl Sending {
    /// Creates a body to write, with the ends that its receiver reads.
    pub fn new() -> (Self, (StreamReader<u8>, FutureReader<End>)) {
        let (bytes, stream) = wit_stream::new();
        let (end, trailers) = wit_future::new(|| Err(ErrorCode::ConnectionTerminated));
        (Self { bytes, end }, (stream, trailers))
    }

    /// Waits until the receiver has taken all of it; returns whether it did.
    pub async fn write(&mut self, bytes: Vec<u8>) -> bool {
        bytes.is_empty() || self.bytes.write_all(bytes).await.is_empty()
    }

    /// Completes the body, without trailers.
    pub async fn finish(self) {
        drop(self.bytes);
        // A vanished receiver needs no end.
        let _ = self.end.write(Ok(None)).await;
    }

    /// Writes a whole body and completes it.
    pub async fn whole(mut self, bytes: Vec<u8>) {
        if self.write(bytes).await {
            self.finish().await;
        }
    }

    /// Writes `start` and then the rest of a body; once the receiver has gone, the rest is discarded.
    pub async fn upload(mut self, start: Vec<u8>, mut body: Incoming<Receiving>) {
        let mut taken = self.write(start).await;
        while taken {
            match body.next().await {
                BodyChunk::Bytes(bytes) => taken = self.write(bytes).await,
                BodyChunk::End => return self.finish().await,
                BodyChunk::Broken => return,
            }
        }
        drop(self);
        body.drain().await;
    }
}

/// An incoming body, of a request or an answer.
pub struct Receiving {
    state: State,
    limit: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

enum State {
    Unopened(Request),
    Open(StreamReader<u8>, FutureReader<End>),
    Closed,
}

impl Receiving {
    /// Wraps the body of a request; it is opened by the first read.
    pub fn of_request(request: Request) -> Self {
        Self { state: State::Unopened(request), limit: None }
    }

    /// Opens the body of an answer.
    pub fn of_response(response: Response) -> Self {
        let (stream, end) = consume(response);
        Self { state: State::Open(stream, end), limit: None }
    }

    fn open(&mut self) {
        self.state = match mem::replace(&mut self.state, State::Closed) {
            State::Unopened(request) => {
                let (stream, end) = Request::consume_body(request, no_error());
                State::Open(stream, end)
            }
            state => state,
        };
    }

    /// Returns how a drained stream has ended.
    async fn end(&mut self) -> BodyChunk {
        match mem::replace(&mut self.state, State::Closed) {
            State::Open(_, end) => end.await.map_or(BodyChunk::Broken, |_| BodyChunk::End),
            State::Unopened(_) | State::Closed => BodyChunk::End,
        }
    }
}

/// Returns the host's streams of an answer's body.
pub fn consume(response: Response) -> (StreamReader<u8>, FutureReader<End>) {
    Response::consume_body(response, no_error())
}

/// Returns the result "no error" for the reading side of a body.
fn no_error() -> FutureReader<Result<(), ErrorCode>> {
    // A dropped writer sends the value it was created with.
    wit_future::new(|| Ok(())).1
}

impl BodySource for Receiving {
    fn within(&mut self, time: Duration) {
        self.limit = Some(Box::pin(wait_for(nanoseconds(time))));
    }

    async fn chunk(&mut self) -> BodyChunk {
        self.open();
        let State::Open(stream, _) = &mut self.state else { return BodyChunk::End };
        let read = stream.read(Vec::with_capacity(CHUNK_BYTES));
        match before(self.limit.as_mut(), read).await {
            Some((StreamResult::Complete(_), bytes)) => BodyChunk::Bytes(bytes),
            Some((StreamResult::Dropped, _)) => self.end().await,
            Some((StreamResult::Cancelled, _)) | None => BodyChunk::Broken,
        }
    }
}

/// Returns the result of `work`, or `None` if the limit passes first.
async fn before<T>(limit: Option<&mut Pin<Box<dyn Future<Output = ()>>>>, work: impl Future<Output = T>) -> Option<T> {
    let Some(limit) = limit else { return Some(work.await) };
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    })
    .await
}
