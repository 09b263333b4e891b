//! Reads request bodies: counted against the budget from the first byte, held to a minimum rate, and refused when there
//! is no room.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Incoming};
use switchboard_core::http::request::Body;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};

use super::parts::BodyParts;
use super::seats::Unfinished;
use crate::room::{Held, Holder, UsedUp};
use crate::rooms::Rooms;

/// How long a small body may take; a larger one must keep to [`BODY_RATE`] in each stretch of this length.
pub const BODY: Duration = Duration::from_secs(15);
/// Minimum rate at which a body must come or an answer be taken, bytes a second.
pub const BODY_RATE: u64 = 32 << 10;
/// A body larger than this, in bytes, needs a place among the uploads.
const LARGE_BYTES: usize = 1 << 20;
/// How long an upload may send nothing while others wait for its place.
const SILENCE: Duration = Duration::from_secs(3);
/// How long an upload waits for a place.
pub const TURN: Duration = Duration::from_secs(30);
/// Most bytes of a refused body that are read, and for how long, so that its sender sees the answer.
const DRAIN_BYTES: usize = 4 << 20;
const DRAIN: Duration = Duration::from_secs(5);

/// Returns how long `bytes` may take at [`BODY_RATE`].
pub fn earned(bytes: usize) -> Duration {
    Duration::from_micros(bytes as u64 * 1_000_000 / BODY_RATE)
}

/// The unread rest of a request's body.
pub struct Coming {
    first: Bytes,
    /// `None` where there is nothing to read, or all of it was read.
    rest: Option<Incoming>,
    /// Marks the request as unfinished until the body is whole or waits for a place.
    unfinished: Option<Unfinished>,
}

impl Coming {
    /// Wraps the body of a request whose work begins once all of it is received; it may be already.
    pub fn new(rest: Incoming, unfinished: Option<Unfinished>) -> Self {
        Self { first: Bytes::new(), rest: Some(rest), unfinished }
    }

    /// Returns a body that was read already; it may be empty.
    pub fn read(bytes: Bytes) -> Self {
        Self { first: bytes, rest: None, unfinished: None }
    }

    /// Returns a body of which nothing was read, and its mark.
    pub fn unread(self) -> Option<(Incoming, Option<Unfinished>)> {
        Some((self.rest?, self.unfinished))
    }

    /// Takes exactly `count` bytes off the front; `None` if the body is shorter.
    pub async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut taken = Vec::new();
        while taken.len() < count {
            let mut data = self.next().await?.ok()?;
            taken.extend_from_slice(&data.split_to(data.len().min(count - taken.len())));
            self.first = data;
        }
        Some(taken)
    }

    /// Marks the request as one that waits for the service, not for its sender.
    pub fn wait(&mut self) {
        self.unfinished = None;
    }

    /// Returns the next bytes; an error if the body breaks off.
    pub async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        if !self.first.is_empty() {
            return Some(Ok(std::mem::take(&mut self.first)));
        }
        loop {
            match self.rest.as_mut()?.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Returns the length of the rest as announced by the sender, 0 if unknown.
    pub fn declared(&self) -> usize {
        let lower = self.rest.as_ref().map_or(0, |rest| rest.size_hint().lower());
        usize::try_from(lower).unwrap_or(usize::MAX)
    }

    /// Reads and drops the rest for a moment: closing a connection with unread bytes may discard the answer.
    pub async fn drain(&mut self) {
        let reading = async {
            let mut left = DRAIN_BYTES;
            while let Some(Ok(data)) = self.next().await {
                left = left.saturating_sub(data.len());
                if left == 0 {
                    break;
                }
            }
        };
        let _ = timeout(DRAIN, reading).await;
    }
}

/// The received bytes of a body.
enum Buffer {
    /// A small body.
    Parts(BodyParts),
    /// A body with a place among the uploads, in one buffer of the declared length: growing it would leave its former
    /// buffers behind in the allocator.
    Whole(Vec<u8>),
}

impl Buffer {
    fn len(&self) -> usize {
        match self {
            Self::Parts(parts) => parts.len(),
            Self::Whole(whole) => whole.len(),
        }
    }

    fn widen(&mut self, declared: usize) {
        if let Self::Parts(parts) = self {
            *self = Self::Whole(std::mem::take(parts).into_whole(declared));
        }
    }

    fn into_whole(self) -> Vec<u8> {
        match self {
            Self::Parts(parts) => parts.into_whole(0),
            Self::Whole(whole) => whole,
        }
    }
}

/// What a request holds of the budgets while its body is received and until it is answered.
pub struct Intake<'r> {
    rooms: &'r Rooms,
    holder: Holder,
    held: Held,
    place: Option<Held>,
}

impl<'r> Intake<'r> {
    /// Takes the bytes of a request's head from the budget of bodies.
    pub fn new(rooms: &'r Rooms, holder: Holder, head_bytes: u64) -> Result<Self, UsedUp> {
        Ok(Self { rooms, holder, held: rooms.bodies.try_take(holder, head_bytes)?, place: None })
    }

    /// Reads a body of at most `max` bytes; the error is the share that is used up.
    pub async fn read(&mut self, mut body: Coming, max: usize) -> Result<Body, UsedUp> {
        let declared = body.declared().min(max);
        let mut bytes = Buffer::Parts(BodyParts::default());
        let (mut until, mut wanted) = (Instant::now() + BODY, BODY.as_secs() * BODY_RATE);
        loop {
            let data = match self.next(&mut body, until).await {
                Ok(Some(Ok(data))) => data,
                Ok(None) => return Ok(Body::Full(bytes.into_whole())),
                Ok(Some(Err(_))) | Err(_) => return Ok(Body::Cut),
            };
            if bytes.len() + data.len() > max {
                body.drain().await;
                return Ok(Body::TooLarge);
            }
            if bytes.len() + data.len() > LARGE_BYTES {
                // Waiting for a place is not the sender's fault: the connection no longer counts as idle.
                body.wait();
            }
            if let Err(full) = self.admit(&mut bytes, &data, declared).await {
                drop(bytes);
                body.drain().await;
                return Err(full);
            }
            if bytes.len() as u64 >= wanted {
                wanted = bytes.len() as u64 + BODY.as_secs() * BODY_RATE;
                until = Instant::now() + BODY;
            }
        }
    }

    /// Returns the next bytes, if they come before `until`, or within `SILENCE` while others wait for this upload's
    /// place.
    async fn next(&self, body: &mut Coming, until: Instant) -> Result<Option<Result<Bytes, hyper::Error>>, Elapsed> {
        loop {
            let silent = Instant::now() + SILENCE;
            if self.place.is_none() || until <= silent {
                return timeout_at(until, body.next()).await;
            }
            match timeout_at(silent, body.next()).await {
                Err(_) if !self.rooms.uploads.is_wanted_beside(self.holder) => {}
                heard => return heard,
            }
        }
    }

    /// Appends bytes once the budget has room for them, and takes a place among the uploads if the body is large.
    async fn admit(&mut self, bytes: &mut Buffer, data: &[u8], declared: usize) -> Result<(), UsedUp> {
        let buffer = match bytes {
            Buffer::Parts(parts) => parts.wanted(data.len(), declared),
            Buffer::Whole(_) => data.len(),
        };
        self.held.grow(buffer as u64)?;
        if bytes.len() + data.len() > LARGE_BYTES && self.place.is_none() {
            let turn = timeout(TURN, self.rooms.uploads.take(self.holder)).await;
            self.place = Some(turn.unwrap_or_else(|_| Err(self.rooms.uploads.waited_too_long(self.holder)))?);
            bytes.widen(declared);
        }
        match bytes {
            Buffer::Parts(parts) => parts.push(data, buffer),
            Buffer::Whole(whole) => whole.extend_from_slice(data),
        }
        Ok(())
    }

    /// Returns the bytes held until the answer is made, and frees the place among the uploads.
    pub fn done(self) -> Held {
        self.held
    }
}
