//! The one place that reads the clock and the random source.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use switchboard_core::seed::Seed;
use switchboard_core::time::Timestamp;

/// How time passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// From this second since the Unix epoch on, …
    pub since: u64,
    /// … time passes so many times faster.
    pub speed: f64,
}

impl std::str::FromStr for Pace {
    type Err = String;

    /// Reads `SPEED@SECONDS`: the same words mean the same time in every process.
    fn from_str(text: &str) -> Result<Self, String> {
        let (speed, since) = text.split_once('@').ok_or("a pace has the form SPEED@SECONDS")?;
        let speed = speed.parse().ok().filter(|speed| (1.0..=100_000.0).contains(speed));
        let speed = speed.ok_or("time passes 1 to 100000 times as fast")?;
        let since = since.parse().map_err(|_| "a pace begins at a second since 1970")?;
        Ok(Self { since, speed })
    }
}

/// A clock that never runs backwards, and the source of seeds.
#[derive(Debug, Default)]
pub struct Clock {
    last: AtomicU64,
    pace: Option<Pace>,
    script: Option<Mutex<(Timestamp, Seed)>>,
}

impl Clock {
    /// A clock for rehearsals, or the system's.
    pub fn at(pace: Option<Pace>) -> Self {
        Self { pace, ..Self::default() }
    }

    /// A clock that stands still, and gives one seed, until it is told otherwise: for tests that compare hosts.
    pub fn scripted() -> Self {
        Self { script: Some(Mutex::new((Timestamp::default(), Seed::new([0; 32])))), ..Self::default() }
    }

    /// Sets a scripted clock.
    pub fn set(&self, now: Timestamp, seed: Seed) {
        if let Some(script) = &self.script {
            *script.lock().unwrap_or_else(PoisonError::into_inner) = (now, seed);
        }
    }

    fn script(&self) -> Option<(Timestamp, Seed)> {
        self.script.as_ref().map(|script| *script.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A seed for one input.
    pub fn seed(&self) -> std::io::Result<Seed> {
        self.script().map_or_else(seed, |(_, seed)| Ok(seed))
    }

    /// The time, or the last one told if the system's clock was set back.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rehearsal's microseconds stay below 2^53"
    )]
    pub fn now(&self) -> Timestamp {
        if let Some((now, _)) = self.script() {
            return now;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut micros = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        if let Some(pace) = self.pace {
            let begin = pace.since * 1_000_000;
            micros = begin + (micros.saturating_sub(begin) as f64 * pace.speed) as u64;
        }
        Timestamp::from_micros(self.last.fetch_max(micros, Ordering::Relaxed).max(micros))
    }

    /// How long to wait until then.
    pub fn until(&self, at: Timestamp) -> Duration {
        let wait = Duration::from_micros(at.micros().saturating_sub(self.now().micros()));
        self.pace.map_or(wait, |pace| wait.div_f64(pace.speed))
    }
}

/// Seeds that are drawn from the operating system at once: asking it for each costs a fifteenth of a read.
const DRAWN: usize = 128;

thread_local! {
    /// Seeds that this thread has drawn, and how many of them, from the beginning, it has not given away.
    static SEEDS: RefCell<([[u8; 32]; DRAWN], usize)> = const { RefCell::new(([[0; 32]; DRAWN], 0)) };
}

/// A seed from the operating system's random source; nobody else gets it.
pub fn seed() -> std::io::Result<Seed> {
    SEEDS.with_borrow_mut(|(seeds, left)| {
        if *left == 0 {
            getrandom::fill(seeds.as_flattened_mut()).map_err(std::io::Error::other)?;
            *left = DRAWN;
        }
        *left -= 1;
        // What is given away is forgotten here.
        Ok(Seed::new(std::mem::take(&mut seeds[*left])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_is_the_same_in_every_process() {
        let pace: Pace = "60@1700000000".parse().expect("a pace");
        let (one, other) = (Clock::at(Some(pace)).now(), Clock::at(Some(pace)).now());
        assert!(other.seconds_since(one) < 60 && one > Clock::default().now());
        let clock = Clock::at(Some(pace));
        assert!(clock.until(clock.now().plus_seconds(600)) <= Duration::from_secs(10));
        for wrong in ["", "60", "0@1", "x@1", "2@x", "1e9@1"] {
            assert!(wrong.parse::<Pace>().is_err(), "{wrong}");
        }
    }
}
