//! Bodies of `wasi:http` 0.2 in both directions; every call blocks until it has a result.

use std::mem;
use std::time::Duration;

use super::bindings::wasi::clocks0_2_0::monotonic_clock::subscribe_duration;
use super::bindings::wasi::http0_2_0::types::{IncomingBody, IncomingRequest, IncomingResponse, OutgoingBody};
use super::bindings::wasi::io::poll::{Pollable, poll};
use super::bindings::wasi::io::streams::{InputStream, OutputStream, StreamError};
use crate::incoming::{BodyChunk, BodySource};
use crate::limits::{CHUNK_BYTES, nanoseconds};

/// An outgoing body. Dropped before its end, it counts as broken off.
// A host traps when a parent is dropped before its children: fields are dropped in the order of their declaration.
pub struct Sending {
    stream: OutputStream,
    body: OutgoingBody,
}

impl Sending {
    /// Opens a body for writing; `None` if it is open already.
    pub fn new(body: OutgoingBody) -> Option<Self> {
        Some(Self { stream: body.write().ok()?, body })
    }

    /// Waits until the host has taken all of it; returns whether it did.
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

    /// Completes the body, without trailers.
    pub fn finish(self) {
        let Self { stream, body } = self;
        let flushed = stream.blocking_flush().is_ok();
        drop(stream);
        if flushed {
            // If the length is not as announced, the host breaks the body off.
            let _ = OutgoingBody::finish(body, None);
        }
    }

    /// Copies a whole body as it arrives, and ends as that one ended.
    pub fn pour(self, from: &mut Receiving) {
        if from.pour_into(&self.stream) {
            self.finish();
        }
    }
}

/// An incoming body, of a request or an answer.
pub struct Receiving {
    state: State,
    limit: Option<Pollable>,
}

enum State {
    Unopened(IncomingRequest),
    // Fields are dropped in this order.
    Open { ready: Pollable, stream: InputStream, _body: IncomingBody },
    Closed,
}

impl Receiving {
    /// Wraps the body of a request; it is opened by the first read.
    pub fn of_request(request: IncomingRequest) -> Self {
        Self { state: State::Unopened(request), limit: None }
    }

    /// Opens the body of an answer.
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

    /// Moves the whole body without inspecting it; returns whether it completed, or its receiver has gone. Nothing more
    /// is read after a failure.
    fn pour_into(&mut self, to: &OutputStream) -> bool {
        let limit = mem::take(&mut self.limit);
        let Some((stream, ready)) = self.open() else { return true };
        while limit.as_ref().is_none_or(|limit| wait(ready, Some(limit))) {
            match to.blocking_splice(stream, CHUNK_BYTES as u64) {
                // Bytes that are here must not wait for later ones.
                Ok(_) if to.flush().is_ok() => {}
                // A completed body and a vanished receiver look alike; for the latter the end does not matter.
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

impl BodySource for Receiving {
    fn within(&mut self, time: Duration) {
        self.limit = Some(subscribe_duration(nanoseconds(time)));
    }

    async fn chunk(&mut self) -> BodyChunk {
        let limit = mem::take(&mut self.limit);
        let Some((stream, ready)) = self.open() else { return BodyChunk::End };
        let chunk = loop {
            match stream.read(CHUNK_BYTES as u64) {
                Ok(bytes) if !bytes.is_empty() => break BodyChunk::Bytes(bytes),
                Ok(_) if wait(ready, limit.as_ref()) => {}
                Err(StreamError::Closed) => break BodyChunk::End,
                Ok(_) | Err(StreamError::LastOperationFailed(_)) => break BodyChunk::Broken,
            }
        };
        self.limit = limit;
        chunk
    }
}

/// Waits until something is ready; returns `false` if the limit passes first.
fn wait(ready: &Pollable, limit: Option<&Pollable>) -> bool {
    let Some(limit) = limit else {
        ready.block();
        return true;
    };
    poll(&[ready, limit]).contains(&0)
}
