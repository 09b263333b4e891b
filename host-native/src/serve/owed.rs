//! [`Owed`]: the answers of an HTTP/2 connection that its client has not taken yet. It says itself when it wants more
//! (flow control, RFC 9113 section 5.2), so that bytes may wait for ever while the connection is alive.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::Instant;

use super::exchange::{BODY, BODY_RATE, Out};

/// Until when each answer must be taken, by a number of its own.
#[derive(Default)]
pub struct Owed(Mutex<(u64, BTreeMap<u64, Instant>)>);

impl Owed {
    /// Counts an answer from now until its body is taken or given up. One that goes on as long as there is news has
    /// no time to be taken in: nothing waits for it but its next chunk.
    pub fn count(self: &Arc<Self>, answer: Response<Out>) -> Response<Out> {
        let Some(bytes) = answer.body().size_hint().exact() else { return answer };
        let until = Instant::now() + BODY + Duration::from_micros(bytes * 1_000_000 / BODY_RATE);
        let number = self.with(|(last, answers)| {
            *last += 1;
            answers.insert(*last, until);
            *last
        });
        let owed = Arc::clone(self);
        answer.map(|body| Counted { body, number, owed }.boxed())
    }

    /// Ends when an answer was not taken in time.
    pub async fn overdue(&self) {
        loop {
            tokio::time::sleep(BODY).await;
            let now = Instant::now();
            if self.with(|(_, answers)| answers.values().any(|until| *until < now)) {
                return;
            }
        }
    }

    fn with<T>(&self, act: impl FnOnce(&mut (u64, BTreeMap<u64, Instant>)) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The body of an answer that is counted.
struct Counted {
    body: Out,
    number: u64,
    owed: Arc<Owed>,
}

impl Body for Counted {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.owed.with(|(_, answers)| answers.remove(&self.number));
    }
}
