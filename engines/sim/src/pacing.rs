//! How fast an engine plays, and how long it waits.

use std::time::Duration;

/// Timing of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Pacing {
    /// Simulated seconds per real second.
    pub speed: f64,
    /// Longest delay of an event before it is sent, so that several share a request.
    pub batch: Duration,
    /// Time between two heartbeats.
    pub renew: Duration,
    /// Longest time without a renewal after which a call renews its own lease: longer than between two heartbeats.
    pub silence: Duration,
    /// First backoff before a retry; it doubles each time.
    pub backoff: Duration,
    /// Longest backoff, before up to half is added as jitter.
    pub backoff_max: Duration,
    /// Retries of one request before the call is given up.
    pub tries_max: u32,
}

impl Pacing {
    /// Returns the timing for a speed: at most ten requests a second per call, for a lease of 30 s.
    pub const fn of(speed: f64) -> Self {
        Self {
            speed,
            batch: Duration::from_millis(100),
            renew: Duration::from_secs(10),
            silence: Duration::from_secs(15),
            backoff: Duration::from_millis(200),
            backoff_max: Duration::from_secs(5),
            tries_max: 40,
        }
    }

    /// Returns the backoff before the next try, with jitter so that calls do not retry all at once.
    pub fn pause(&self, call: u64, tries: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(1 << tries.min(16)).min(self.backoff_max);
        let spread = u32::try_from(call.wrapping_add(u64::from(tries)).wrapping_mul(37) % 50).unwrap_or(0);
        doubled * (100 + spread) / 100
    }

    /// Returns the real time that a simulated one takes.
    pub fn real(&self, simulated_ms: u32) -> Duration {
        Duration::from_secs_f64(f64::from(simulated_ms) / 1_000.0 / self.speed)
    }
}
