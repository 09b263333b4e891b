//! Measuring the same thing many times.

use std::time::{Duration, Instant};

use crate::Failed;

/// How often something is measured: for a span of time, but so many times at least and at most.
pub struct Turns {
    /// The span.
    pub span: Duration,
    /// The fewest and the most times.
    pub bounds: (usize, usize),
}

impl Turns {
    /// The middle of all turns, microseconds. What a turn makes is dropped outside of its time.
    pub fn middle<T>(&self, mut act: impl FnMut(u64) -> Result<T, Failed>) -> Result<f64, Failed> {
        let (began, (least, most)) = (Instant::now(), self.bounds);
        let mut times = Vec::with_capacity(least);
        while times.len() < least || (times.len() < most && began.elapsed() < self.span) {
            let begin = Instant::now();
            let made = act(times.len() as u64)?;
            times.push(begin.elapsed());
            drop(made);
        }
        times.sort_unstable();
        Ok(times[times.len() / 2].as_secs_f64() * 1e6)
    }
}

/// Numbers of turns, spread over all numbers: what follows each other lies far apart (Knuth's multiplicative hashing).
pub fn spread(turn: u64) -> u64 {
    turn.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
