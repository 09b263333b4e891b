//! The timestamps of events.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// The system's time, made monotonic: the events of a call stay in order when the clock is set back.
#[derive(Debug, Default)]
pub struct EventClock {
    last: Mutex<Timestamp>,
}

impl EventClock {
    /// Returns the time, or the last one returned while the system's clock is behind it.
    pub fn now(&self) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Timestamp::now().max(*last);
        *last
    }
}
