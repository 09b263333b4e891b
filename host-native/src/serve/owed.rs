//! [`Owed`]: what an HTTP/2 connection has asked for and not taken yet. Its client says itself when it wants more (flow
//! control, RFC 9113 section 5.2), so that answers may wait for ever while the connection is alive.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::Instant;

use super::incoming::{BODY, BODY_RATE};
use super::response::Out;

/// Bytes of an answer that are handed over at once: what was handed over is out of sight until the client takes it.
const PIECE: usize = 16 << 10;

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing was asked for a while.
    Idle,
    /// An answer was not taken in time.
    Late,
}

/// The requests of a connection.
pub struct Owed(Mutex<Asked>);

struct Asked {
    last: u64,
    /// Until when the answer to each must be taken, by a number of its own: none while it is made, and where it goes on
    /// as long as there is news.
    open: BTreeMap<u64, Option<Instant>>,
    /// Since when there is none.
    quiet: Instant,
}

/// One request, until its answer is taken or given up.
pub struct Owing {
    number: u64,
    owed: Arc<Owed>,
}

impl Owed {
    /// Of a connection that begins.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Asked { last: 0, open: BTreeMap::new(), quiet: Instant::now() })))
    }

    /// Counts a request from now on.
    pub fn asked(self: &Arc<Self>) -> Owing {
        let number = self.with(|asked| {
            asked.last += 1;
            asked.open.insert(asked.last, None);
            asked.last
        });
        Owing { number, owed: Arc::clone(self) }
    }

    /// Ends when the connection should: looked at now and then.
    pub async fn over(&self) -> Why {
        loop {
            tokio::time::sleep(BODY).await;
            let now = Instant::now();
            let why = self.with(|asked| {
                let late = asked.open.values().flatten().any(|until| *until < now);
                let idle = asked.open.is_empty() && now.duration_since(asked.quiet) >= BODY;
                if late { Some(Why::Late) } else { idle.then_some(Why::Idle) }
            });
            if let Some(why) = why {
                return why;
            }
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Asked) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Owing {
    /// The answer is there: from now on the client takes it, or is late.
    pub fn answered(self, answer: Response<Out>) -> Response<Out> {
        if let Some(bytes) = answer.body().size_hint().exact() {
            self.set(Some(Instant::now() + BODY + Duration::from_micros(bytes * 1_000_000 / BODY_RATE)));
        }
        let goes_on = answer.body().size_hint().exact().is_none();
        answer.map(|body| Pieces { body, rest: Bytes::new(), goes_on, owing: self }.boxed())
    }

    /// What was handed over last must be taken by then; none: nothing was, or it has been.
    fn set(&self, until: Option<Instant>) {
        self.owed.with(|asked| asked.open.insert(self.number, until));
    }
}

impl Drop for Owing {
    fn drop(&mut self) {
        self.owed.with(|asked| {
            asked.open.remove(&self.number);
            asked.quiet = Instant::now();
        });
    }
}

/// A body piece by piece.
struct Pieces {
    body: Out,
    rest: Bytes,
    /// Whether its end is not known: then each piece has its own time to be taken.
    goes_on: bool,
    owing: Owing,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        if self.goes_on {
            // Asking for more, the client has taken what it was handed.
            self.owing.set(None);
        }
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                other => return Poll::Ready(other),
            }
        }
        let count = self.rest.len().min(PIECE);
        if self.goes_on {
            self.owing.set(Some(Instant::now() + BODY));
        }
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(count)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, hint) = (self.rest.len() as u64, self.body.size_hint());
        let mut all = SizeHint::new();
        all.set_lower(hint.lower() + rest);
        if let Some(upper) = hint.upper() {
            all.set_upper(upper + rest);
        }
        all
    }
}
