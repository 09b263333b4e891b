//! The time that events carry.

use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

/// The system's time, which never goes back: the events of a call stay in order when somebody sets the clock.
#[derive(Debug, Default)]
pub struct EventClock {
    last: Mutex<Timestamp>,
}

impl EventClock {
    /// The time, or the last one that was given where the system's is behind it.
    pub fn now(&self) -> Timestamp {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Timestamp::now().max(*last);
        *last
    }
}
