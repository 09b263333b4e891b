//! Repeated measurements of one operation.

use std::time::{Duration, Instant};

use crate::Failed;

/// How often an operation is repeated: for a span of time, within bounds.
pub struct Turns {
    /// Time for all repetitions, unless `bounds` say otherwise.
    pub span: Duration,
    /// Fewest and most repetitions.
    pub bounds: (usize, usize),
}

impl Turns {
    /// Returns the median of all repetitions, microseconds. What one returns is dropped outside of its time.
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

/// Spreads turn numbers over all 64-bit numbers: consecutive ones land far apart (Knuth's multiplicative hashing).
pub fn spread(turn: u64) -> u64 {
    turn.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Returns the figures of turns, smallest first.
pub fn sorted<T>(turns: &[T], figure: impl Fn(&T) -> f64) -> Vec<f64> {
    let mut all: Vec<f64> = turns.iter().map(figure).collect();
    all.sort_by(f64::total_cmp);
    all
}

/// Returns the middle figure of turns.
pub fn middle<T>(turns: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    sorted(turns, figure)[turns.len() / 2]
}
