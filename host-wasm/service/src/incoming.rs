//! Incoming request bodies: read within a bound, buffered for forwarding, drained when refused.

use std::time::Duration;

use switchboard_core::http::request::Body;

use crate::limits::{DRAIN, DRAIN_BYTES_MAX, body_time};

/// Result of reading from a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyChunk {
    /// The next bytes of the body.
    Bytes(Vec<u8>),
    /// The body is complete.
    End,
    /// The body broke off, or timed out.
    Broken,
}

/// The stream of a body.
#[allow(async_fn_in_trait, reason = "both shells are single-threaded")]
pub trait BodySource {
    /// Limits the time for the rest of the body; after that it counts as broken off.
    fn within(&mut self, time: Duration);

    /// Waits for the next chunk; not called again after `End` or `Broken`.
    async fn chunk(&mut self) -> BodyChunk;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Untouched,
    Begun,
    Ended,
    Broken,
}

/// The body of a request.
#[derive(Debug)]
pub struct Incoming<S> {
    source: Option<S>,
    state: State,
    kept: Vec<u8>,
    announced: Option<u64>,
    taken: u64,
}

impl<S: BodySource> Incoming<S> {
    /// Creates a body that follows; `announced` is its `Content-Length`, if there is one.
    pub fn pending(source: S, announced: Option<usize>) -> Self {
        let announced = announced.map(|length| length as u64);
        Self { source: Some(source), state: State::Untouched, kept: Vec::new(), announced, taken: 0 }
    }

    /// Creates an empty body.
    pub fn absent() -> Self {
        Self { source: None, state: State::Ended, kept: Vec::new(), announced: Some(0), taken: 0 }
    }

    /// Returns the length of the whole body, if it is known.
    pub fn length(&self) -> Option<u64> {
        if self.state == State::Ended { Some(self.taken) } else { self.announced }
    }

    /// Reads the whole body if it has at most `max` bytes. The bytes read are kept for [`Self::take_kept`].
    pub async fn read(&mut self, max: usize) -> Body {
        match self.fill(max).await {
            Ok(()) if self.kept.is_empty() => Body::None,
            Ok(()) => Body::Full(self.kept.clone()),
            Err(body) => body,
        }
    }

    /// Reads and keeps the whole body if it has at most `max` bytes; otherwise returns why it is missing.
    pub async fn fill(&mut self, max: usize) -> Result<(), Body> {
        if self.length().is_some_and(|length| length > max as u64) {
            return Err(Body::TooLarge);
        }
        loop {
            match self.state {
                _ if self.kept.len() > max => return Err(Body::TooLarge),
                State::Ended => return Ok(()),
                State::Broken => return Err(Body::Cut),
                State::Untouched | State::Begun => {
                    if let BodyChunk::Bytes(bytes) = self.more().await {
                        self.kept.extend_from_slice(&bytes);
                    }
                }
            }
        }
    }

    /// Takes the bytes read so far; from here on [`Self::next`] returns the rest.
    pub fn take_kept(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.kept)
    }

    /// Returns whether the body broke off.
    pub fn is_broken(&self) -> bool {
        self.state == State::Broken
    }

    /// Returns the next bytes that were not read yet.
    pub async fn next(&mut self) -> BodyChunk {
        match self.state {
            State::Ended => BodyChunk::End,
            State::Broken => BodyChunk::Broken,
            State::Untouched | State::Begun => self.more().await,
        }
    }

    /// Reads and discards the rest, within bounds: closing a connection with unread bytes may lose the answer.
    pub async fn drain(&mut self) {
        if matches!(self.state, State::Untouched | State::Begun) {
            self.begin(DRAIN);
        }
        let enough = self.taken.saturating_add(DRAIN_BYTES_MAX);
        while self.taken < enough && matches!(self.next().await, BodyChunk::Bytes(_)) {}
    }

    /// Returns the source itself, for a shell that can move the unread rest more cheaply; `None` if nothing is left.
    pub fn rest(&mut self) -> Option<&mut S> {
        self.begin_reading();
        self.source.as_mut().filter(|_| self.state == State::Begun)
    }

    fn begin_reading(&mut self) {
        if self.state == State::Untouched {
            self.begin(body_time(self.announced));
        }
    }

    fn begin(&mut self, time: Duration) {
        self.state = State::Begun;
        if let Some(source) = &mut self.source {
            source.within(time);
        }
    }

    async fn more(&mut self) -> BodyChunk {
        self.begin_reading();
        let Some(source) = &mut self.source else { return BodyChunk::End };
        let chunk = source.chunk().await;
        match &chunk {
            BodyChunk::Bytes(bytes) => self.taken += bytes.len() as u64,
            // Some hosts report a truncated body as complete: the length exposes it.
            BodyChunk::End if self.announced.is_some_and(|length| length != self.taken) => {
                self.state = State::Broken;
                return BodyChunk::Broken;
            }
            BodyChunk::End => self.state = State::Ended,
            BodyChunk::Broken => self.state = State::Broken,
        }
        chunk
    }
}

#[cfg(test)]
pub mod script {
    //! Scripted bodies for tests.

    use super::{BodyChunk, BodySource, Duration, Incoming};

    /// Returns scripted chunks, and records the limits it was given.
    #[derive(Debug)]
    pub struct Script {
        /// Chunks still to be returned.
        pub chunks: Vec<BodyChunk>,
        /// Time limits set so far.
        pub limits: Vec<Duration>,
    }

    impl BodySource for Script {
        fn within(&mut self, time: Duration) {
            self.limits.push(time);
        }

        async fn chunk(&mut self) -> BodyChunk {
            assert!(!self.chunks.is_empty(), "the source was asked after its end");
            self.chunks.remove(0)
        }
    }

    /// Creates a body of these texts.
    pub fn incoming(announced: Option<usize>, texts: &[&str], end: BodyChunk) -> Incoming<Script> {
        let mut chunks: Vec<BodyChunk> = texts.iter().map(|text| BodyChunk::Bytes(text.as_bytes().to_vec())).collect();
        chunks.push(end);
        Incoming::pending(Script { chunks, limits: Vec::new() }, announced)
    }
}

#[cfg(test)]
mod tests {
    use super::script::{Script, incoming};
    use super::*;
    use crate::visit::at_once;

    #[test]
    fn bodies_are_read_up_to_a_bound() {
        for (announced, texts, end, max, body) in [
            (None, &["ab", "c"][..], BodyChunk::End, 3, Body::Full(b"abc".to_vec())),
            (None, &["ab", "c"], BodyChunk::End, 2, Body::TooLarge),
            (Some(3), &["ab", "c"], BodyChunk::End, 3, Body::Full(b"abc".to_vec())),
            (Some(3), &[], BodyChunk::End, 2, Body::TooLarge),
            (Some(4), &["ab", "c"], BodyChunk::End, 9, Body::Cut),
            (None, &["ab"], BodyChunk::Broken, 9, Body::Cut),
            (None, &[], BodyChunk::End, 9, Body::None),
        ] {
            assert_eq!(at_once(incoming(announced, texts, end).read(max)), body, "{announced:?} {texts:?} {max}");
        }
        assert_eq!(at_once(Incoming::<Script>::absent().read(9)), Body::None);
    }

    #[test]
    fn what_was_read_is_kept_for_who_reads_on() {
        let mut body = incoming(None, &["ab", "cd", "ef"], BodyChunk::End);
        assert_eq!(at_once(body.read(3)), Body::TooLarge);
        assert_eq!((body.take_kept(), at_once(body.next())), (b"abcd".to_vec(), BodyChunk::Bytes(b"ef".to_vec())));
        assert_eq!((at_once(body.next()), at_once(body.next())), (BodyChunk::End, BodyChunk::End));
        let mut whole = incoming(None, &["ab"], BodyChunk::End);
        assert_eq!(at_once(whole.read(3)), Body::Full(b"ab".to_vec()));
        assert_eq!(
            (whole.length(), whole.take_kept(), at_once(whole.next())),
            (Some(2), b"ab".to_vec(), BodyChunk::End)
        );
    }

    #[test]
    fn a_refused_body_is_passed_over_in_a_shorter_time() {
        let mut untouched = incoming(None, &["ab", "cd"], BodyChunk::End);
        at_once(untouched.drain());
        let source = untouched.source.expect("a source");
        assert_eq!((source.chunks.len(), source.limits), (0, vec![DRAIN]));
        let mut begun = incoming(None, &["ab", "cd"], BodyChunk::End);
        assert_eq!(at_once(begun.read(1)), Body::TooLarge);
        at_once(begun.drain());
        let source = begun.source.expect("a source");
        assert_eq!((source.chunks.len(), source.limits), (0, vec![body_time(None), DRAIN]));
        let mut broken = incoming(Some(4), &["ab"], BodyChunk::Broken);
        assert_eq!((at_once(broken.read(9)), broken.is_broken()), (Body::Cut, true));
        at_once(broken.drain());
        assert_eq!(broken.source.expect("a source").limits, [body_time(Some(4))]);
    }
}
