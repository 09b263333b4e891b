//! [`Owed`]: the requests of an HTTP/2 connection whose answers are not yet taken. The client decides when it takes
//! more (flow control, RFC 9113 section 5.2), so that answers could wait for ever on a live connection.

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
use super::response::ResponseBody;

/// Bytes of an answer handed to the connection at once: whether the client takes them can be seen only when more are
/// asked for.
const PIECE: usize = 16 << 10;

/// Why a connection should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No request is open, and none was for a while.
    Idle,
    /// An answer was not taken in time.
    Late,
}

/// The open requests of a connection.
pub struct Owed(Mutex<Asked>);

struct Asked {
    last: u64,
    /// Deadline for taking the answer, by the request's number; `None` while it is being made, and for a stream between
    /// pieces.
    open: BTreeMap<u64, Option<Instant>>,
    /// When the last request ended; counts while `open` is empty.
    quiet: Instant,
}

/// An open request; dropped once its answer is taken or given up.
pub struct Owing {
    number: u64,
    owed: Arc<Owed>,
}

impl Owed {
    /// Creates the record of a new connection.
    pub fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Asked { last: 0, open: BTreeMap::new(), quiet: Instant::now() })))
    }

    /// Registers a new request.
    pub fn asked(self: &Arc<Self>) -> Owing {
        let number = self.with(|asked| {
            asked.last += 1;
            asked.open.insert(asked.last, None);
            asked.last
        });
        Owing { number, owed: Arc::clone(self) }
    }

    /// Completes when the connection should end; checks every [`BODY`].
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
    /// Starts the deadline for taking the answer: [`BODY`], and its bytes at [`BODY_RATE`]. An answer of unknown length
    /// has a deadline for each piece.
    pub fn answered(self, answer: Response<ResponseBody>) -> Response<ResponseBody> {
        if let Some(bytes) = answer.body().size_hint().exact() {
            self.set(Some(Instant::now() + BODY + Duration::from_micros(bytes * 1_000_000 / BODY_RATE)));
        }
        let goes_on = answer.body().size_hint().exact().is_none();
        answer.map(|body| Pieces { body, rest: Bytes::new(), goes_on, owing: self }.boxed())
    }

    /// Sets the deadline for what was handed over last; `None`: nothing is outstanding.
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

/// The body of an answer, handed over in pieces of at most `PIECE` bytes.
struct Pieces {
    body: ResponseBody,
    rest: Bytes,
    /// Whether its length is unknown: then each piece has a deadline of its own.
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
            // A poll for more means that the client has taken the last piece.
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
