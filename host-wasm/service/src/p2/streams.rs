//! Bodies of `wasi:http` 0.2 in both directions; every call blocks until it has something to tell.

use std::mem;
use std::time::Duration;

use super::bindings::wasi::clocks0_2_0::monotonic_clock::subscribe_duration;
use super::bindings::wasi::http0_2_0::types::{IncomingBody, IncomingRequest, IncomingResponse, OutgoingBody};
use super::bindings::wasi::io::poll::{Pollable, poll};
use super::bindings::wasi::io::streams::{InputStream, OutputStream, StreamError};
use crate::incoming::{Chunk, Source};
use crate::limits::{CHUNK_BYTES, nanoseconds};

/// A body on its way out. Dropped before its end it counts as broken off.
// A host traps where a parent goes before its children: the order of the fields is that of their end.
pub struct Sending {
    stream: OutputStream,
    body: OutgoingBody,
}

impl Sending {
    /// A body to write; `None` where somebody writes it already.
    pub fn new(body: OutgoingBody) -> Option<Self> {
        Some(Self { stream: body.write().ok()?, body })
    }

    /// Waits until the host has taken all of it; tells whether it did.
    pub fn write(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let Ok(room) = self.stream.check_write() else { return false };
            if room == 0 {
                self.stream.subscribe().block();
                continue;
            }
            let (now, later) = bytes.split_at(bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX)));
            if self.stream.write(now).is_err() {
                return false;
            }
            bytes = later;
        }
        true
    }

    /// Ends it well.
    pub fn finish(self) {
        let Self { stream, body } = self;
        let flushed = stream.blocking_flush().is_ok();
        drop(stream);
        if flushed {
            // Where the length is not as announced the host breaks the body off.
            let _ = OutgoingBody::finish(body, None);
        }
    }

    /// Writes all of a body as it comes, and ends it as that ended.
    pub fn pour(self, from: &mut Receiving) {
        if from.pour_into(&self.stream) {
            self.finish();
        }
    }
}

/// A body on its way in.
pub struct Receiving {
    state: State,
    limit: Option<Pollable>,
}

enum State {
    Unopened(IncomingRequest),
    // The order of the fields is that of their end.
    Open { ready: Pollable, stream: InputStream, _body: IncomingBody },
    Closed,
}

impl Receiving {
    /// The body of a request; it is opened when somebody reads it.
    pub fn of_request(request: IncomingRequest) -> Self {
        Self { state: State::Unopened(request), limit: None }
    }

    /// The body of an answer.
    pub fn of_response(response: &IncomingResponse) -> Self {
        Self { state: State::open(response.consume()), limit: None }
    }

    fn open(&mut self) -> Option<(&InputStream, &Pollable)> {
        if let State::Unopened(request) = &self.state {
            self.state = State::open(request.consume());
        }
        match &self.state {
            State::Open { stream, ready, .. } => Some((stream, ready)),
            State::Unopened(_) | State::Closed => None,
        }
    }

    /// Moves all of it without touching it; tells whether it ended well, or nobody takes it any more. Nothing more is
    /// read of what broke off.
    fn pour_into(&mut self, to: &OutputStream) -> bool {
        let limit = mem::take(&mut self.limit);
        let Some((stream, ready)) = self.open() else { return true };
        while limit.as_ref().is_none_or(|limit| wait(ready, Some(limit))) {
            match to.blocking_splice(stream, CHUNK_BYTES as u64) {
                // What is here is not to wait for what comes later.
                Ok(_) if to.flush().is_ok() => {}
                // A body that has ended and a receiver that has gone look alike; to the latter the end is nothing.
                Ok(_) | Err(StreamError::Closed) => return true,
                Err(StreamError::LastOperationFailed(_)) => break,
            }
        }
        self.state = State::Closed;
        false
    }
}

impl State {
    fn open(body: Result<IncomingBody, ()>) -> Self {
        let Ok(body) = body else { return Self::Closed };
        let Ok(stream) = body.stream() else { return Self::Closed };
        Self::Open { ready: stream.subscribe(), stream, _body: body }
    }
}

impl Source for Receiving {
    fn within(&mut self, time: Duration) {
        self.limit = Some(subscribe_duration(nanoseconds(time)));
    }

    async fn chunk(&mut self) -> Chunk {
        let limit = mem::take(&mut self.limit);
        let Some((stream, ready)) = self.open() else { return Chunk::End };
        let chunk = loop {
            match stream.read(CHUNK_BYTES as u64) {
                Ok(bytes) if !bytes.is_empty() => break Chunk::Bytes(bytes),
                Ok(_) if wait(ready, limit.as_ref()) => {}
                Err(StreamError::Closed) => break Chunk::End,
                Ok(_) | Err(StreamError::LastOperationFailed(_)) => break Chunk::Broken,
            }
        };
        self.limit = limit;
        chunk
    }
}

/// Waits until something is ready; `false` where the time is over first.
fn wait(ready: &Pollable, limit: Option<&Pollable>) -> bool {
    let Some(limit) = limit else {
        ready.block();
        return true;
    };
    poll(&[ready, limit]).contains(&0)
}
