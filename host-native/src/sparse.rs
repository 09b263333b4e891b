//! [`Sparse`]: limits a log line that strangers can cause to one a second.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest time between two such lines.
const EVERY: Duration = Duration::from_secs(1);

/// When a line was last logged, and how often it was left out since.
#[derive(Debug, Default)]
pub struct Sparse(Mutex<(Option<Instant>, u64)>);

impl Sparse {
    /// Creates the limit of a line that was never logged.
    pub const fn new() -> Self {
        Self(Mutex::new((None, 0)))
    }

    /// Returns how many lines were left out since the last one, if the line may be logged now; `None`: leave it out.
    pub fn more(&self) -> Option<u64> {
        self.more_at(Instant::now())
    }

    fn more_at(&self, now: Instant) -> Option<u64> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.0.is_some_and(|said| now < said + EVERY) {
            state.1 += 1;
            return None;
        }
        let (_, more) = std::mem::replace(&mut *state, (Some(now), 0));
        Some(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_said_once_a_second_with_what_was_left_out() {
        let (sparse, start) = (Sparse::new(), Instant::now());
        let said: Vec<_> = (0..2_500).filter_map(|at| sparse.more_at(start + Duration::from_millis(at))).collect();
        assert_eq!(said, [0, 999, 999]);
    }
}
