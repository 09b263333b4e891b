//! A request's body on its way in: counted from its first byte, held to a least rate, and refused when there is no room.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body as _, Bytes, Incoming};
use switchboard_core::http::request::Body;
use tokio::time::error::Elapsed;
use tokio::time::{Instant, timeout, timeout_at};

use super::parts::Parts;
use super::seats::Unfinished;
use crate::room::{Held, Holder, UsedUp};
use crate::rooms::Rooms;

/// Until a small body must be there; of a larger one so much must come in each stretch of this length as
/// [`BODY_RATE`] says.
pub const BODY: Duration = Duration::from_secs(15);
/// The slowest a body may come, or an answer be taken, bytes a second.
pub const BODY_RATE: u64 = 32 << 10;
/// A body that has grown beyond this needs a place among the uploads.
const LARGE_BYTES: usize = 1 << 20;
/// How long one that has a place may be silent where others wait for it.
const SILENCE: Duration = Duration::from_secs(3);
/// How long it waits for one.
const TURN: Duration = Duration::from_secs(30);
/// How much of a refused body is read so that its sender sees the answer, and for how long.
const DRAIN_BYTES: usize = 4 << 20;
const DRAIN: Duration = Duration::from_secs(5);

/// How long so many bytes may take, at [`BODY_RATE`].
pub fn earned(bytes: usize) -> Duration {
    Duration::from_micros(bytes as u64 * 1_000_000 / BODY_RATE)
}

/// The body of a request, of which some may have been read for something else.
pub struct Coming {
    first: Bytes,
    rest: Incoming,
    /// Until it is whole, or waits for a place.
    unfinished: Option<Unfinished>,
}

impl Coming {
    /// The body of a request that is not at work before all of it is there.
    pub fn new(rest: Incoming, unfinished: Unfinished) -> Self {
        Self { first: Bytes::new(), rest, unfinished: Some(unfinished) }
    }

    /// Takes exactly so many bytes off its front; none where it has fewer.
    pub async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        let mut taken = Vec::new();
        while taken.len() < count {
            let mut data = self.next().await?.ok()?;
            taken.extend_from_slice(&data.split_to(data.len().min(count - taken.len())));
            self.first = data;
        }
        Some(taken)
    }

    /// The next bytes; an error where it breaks off.
    async fn next(&mut self) -> Option<Result<Bytes, hyper::Error>> {
        if !self.first.is_empty() {
            return Some(Ok(std::mem::take(&mut self.first)));
        }
        loop {
            match self.rest.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        return Some(Ok(data));
                    }
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// How long it will be, as far as its sender says.
    fn declared(&self) -> usize {
        usize::try_from(self.rest.size_hint().lower()).unwrap_or(usize::MAX)
    }

    /// Reads on for a moment: a connection that closes on unread bytes may take the answer with it.
    pub async fn drain(mut self) {
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

/// The bytes of a body that are there.
enum Buffer {
    /// Of a small one.
    Parts(Parts),
    /// Of one that has a place among the uploads. It is reserved for the declared length: what grows on its way leaves
    /// its former places behind.
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

/// What a request holds of the budgets while its body comes, and until it is answered.
pub struct Intake<'r> {
    rooms: &'r Rooms,
    holder: Holder,
    held: Held,
    place: Option<Held>,
}

impl<'r> Intake<'r> {
    /// For a request whose head has so many bytes.
    pub fn new(rooms: &'r Rooms, holder: Holder, head_bytes: u64) -> Result<Self, UsedUp> {
        Ok(Self { rooms, holder, held: rooms.bodies.try_take(holder, head_bytes)?, place: None })
    }

    /// Reads a body of at most `max` bytes.
    pub async fn read(&mut self, mut body: Coming, max: usize) -> Result<Body, UsedUp> {
        let declared = body.declared().min(max);
        let mut bytes = Buffer::Parts(Parts::default());
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
                // It may have to wait for a place, which is no fault of its sender.
                body.unfinished = None;
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

    /// The next bytes, if they come in time: until then, or sooner where others wait for its place.
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

    /// Takes in more bytes once there is room for them, and a place if they are many.
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

    /// What is held until the answer is there: the bytes, without the place of what was still coming.
    pub fn done(self) -> Held {
        self.held
    }
}
