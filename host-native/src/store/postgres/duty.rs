//! [`Duty`]: how much of its time a node commits.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How much a reading counts beside those before it.
const NEW: f64 = 0.3;

/// How much of its time a node commits: 1 if one of its lanes always does, more if several do.
pub(super) struct Duty {
    micros: AtomicU64,
    /// When it was read last, and what was read.
    last: Mutex<(Instant, f64)>,
}

impl Default for Duty {
    fn default() -> Self {
        Self { micros: AtomicU64::new(0), last: Mutex::new((Instant::now(), 0.0)) }
    }
}

impl Duty {
    /// Notes how long a commit took.
    pub fn took(&self, time: Duration) {
        self.micros.fetch_add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the part of the time, mostly that since it was read last.
    pub fn read(&self) -> f64 {
        let mut last = self.last.lock();
        let now = Instant::now();
        let since = now.duration_since(last.0);
        if !since.is_zero() {
            let part = Duration::from_micros(self.micros.swap(0, Ordering::Relaxed)).div_duration_f64(since);
            *last = (now, NEW.mul_add(part - last.1, last.1));
        }
        last.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_was_long_ago_counts_less() {
        let duty = Duty::default();
        for _ in 0..20 {
            duty.took(Duration::from_millis(500));
            tokio::time::advance(Duration::from_secs(1)).await;
            duty.read();
        }
        assert!((duty.read() - 0.5).abs() < 0.01, "{}", duty.read());
        for _ in 0..20 {
            tokio::time::advance(Duration::from_secs(1)).await;
            duty.read();
        }
        assert!(duty.read() < 0.01, "{}", duty.read());
    }
}
