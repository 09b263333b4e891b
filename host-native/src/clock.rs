//! The one place that reads the clock and the random source.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use switchboard_core::seed::Seed;
use switchboard_core::time::Timestamp;

/// A clock that never runs backwards.
#[derive(Debug, Default)]
pub struct Clock {
    last: AtomicU64,
}

impl Clock {
    /// The time, or the last one told if the system's clock was set back.
    pub fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        Timestamp::from_micros(self.last.fetch_max(micros, Ordering::Relaxed).max(micros))
    }
}

/// A seed from the operating system's random source.
pub fn seed() -> std::io::Result<Seed> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(Seed::new(bytes))
}
