//! The simulated engine: attaches to the service over HTTP as any engine does, claims calls and plays scripted
//! conversations, so that calls run to their end without a telephone line.
//!
//! It shares nothing with the service but that interface, no type and no code: it needs an HTTP client and a clock, and
//! may run in the service's process or anywhere else. The customer's number chooses what happens in a call; see the
//! table in [`script`]. It carries no audio, reads no prompt and asks no model, and the first line of a call says so.

pub mod call;
mod claims;
mod clock;
mod command;
mod desk;
#[cfg(test)]
mod entry;
#[cfg(test)]
mod fake;
mod heartbeat;
mod obey;
mod outbox;
mod pacing;
mod player;
pub mod script;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::sync::Arc;

use reqwest::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::clock::EventClock;
use self::desk::CallDesk;
use self::pacing::Pacing;
use self::wire::ServiceClient;

/// Most calls that one engine plays at once.
pub const CAPACITY_MAX: usize = 10_000;
/// Slowest and fastest speed.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=1_000_000.0;

/// Settings of a simulated engine.
#[derive(Clone)]
pub struct EngineSettings {
    /// Base URL of the service: scheme, host, port.
    pub url: String,
    /// An engine token of the service.
    pub token: String,
    /// Simulated seconds per real second, within [`SPEEDS`]; 1 is real time.
    pub speed: f64,
    /// Seed of the variations in scripts; the same seed gives the same scripts.
    pub seed: u64,
    /// Most calls played at once, from 1 to [`CAPACITY_MAX`].
    pub capacity: usize,
}

impl EngineSettings {
    /// Default settings: fifty times real time, a hundred calls at once, seed 0.
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Self {
        Self { url: url.into(), token: token.into(), speed: 50.0, seed: 0, capacity: 100 }
    }
}

/// Leaves the token out, so that it is never logged.
impl fmt::Debug for EngineSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, token: _, speed, seed, capacity } = self;
        f.debug_struct("Settings")
            .field("url", url)
            .field("speed", speed)
            .field("seed", seed)
            .field("capacity", capacity)
            .finish_non_exhaustive()
    }
}

/// Why an engine cannot run with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnfitSettings {
    /// The URL is not that of a service.
    Url,
    /// The token cannot be sent in a header.
    Token,
    /// The speed is not a number within [`SPEEDS`].
    Speed,
    /// The capacity is not from 1 to [`CAPACITY_MAX`].
    Capacity,
}

impl fmt::Display for UnfitSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url => f.write_str("the engine's URL must be an absolute http or https URL without a query"),
            Self::Token => f.write_str("the engine's token must be printable ASCII"),
            Self::Speed => write!(f, "the engine's speed must be from {} to {}", SPEEDS.start(), SPEEDS.end()),
            Self::Capacity => write!(f, "the engine's capacity must be from 1 to {CAPACITY_MAX}"),
        }
    }
}

impl std::error::Error for UnfitSettings {}

/// When an engine is to end.
#[derive(Clone, Debug)]
pub struct EngineSignals {
    /// Whether to take no more calls, and to end with the last that runs.
    pub drain: watch::Receiver<bool>,
    /// Whether to end at once, as also when its sender was dropped: the leases of its calls lapse.
    pub stop: watch::Receiver<bool>,
}

/// Runs a simulated engine until `stop` is true or its sender is dropped: it stops at once, and the leases of its calls
/// lapse.
///
/// While the service is unreachable, claims are retried with growing pauses. The client brings its own TLS and should
/// follow no redirects.
///
/// # Errors
///
/// Only for unfit settings, before anything is sent.
pub async fn run(settings: EngineSettings, client: Client, stop: watch::Receiver<bool>) -> Result<(), UnfitSettings> {
    let (_held, drain) = watch::channel(false);
    run_until(settings, client, EngineSignals { drain, stop }).await
}

/// Runs a simulated engine as [`run`] does, until it has drained or is stopped.
///
/// # Errors
///
/// Only for unfit settings, before anything is sent.
pub async fn run_until(settings: EngineSettings, client: Client, signals: EngineSignals) -> Result<(), UnfitSettings> {
    let pace = Pacing::of(settings.speed);
    run_at(settings, client, pace, signals).await
}

async fn run_at(
    settings: EngineSettings,
    client: Client,
    pace: Pacing,
    signals: EngineSignals,
) -> Result<(), UnfitSettings> {
    let engine = Arc::new(Engine::new(&settings, client, pace)?);
    let EngineSignals { drain, mut stop } = signals;
    // Dropping the set aborts the calls.
    let mut calls = JoinSet::new();
    tokio::select! {
        // A dropped sender can never signal again: that is a stop too.
        _ = stop.wait_for(|told| *told) => {}
        () = claims::claim(&engine, settings.capacity, &drain, &mut calls) => {}
        () = heartbeat::beat(&engine, settings.capacity, &drain) => {}
    }
    Ok(())
}

struct Engine {
    wire: ServiceClient,
    clock: EventClock,
    desk: Arc<CallDesk>,
    pace: Pacing,
    seed: u64,
}

impl Engine {
    fn new(settings: &EngineSettings, client: Client, pace: Pacing) -> Result<Self, UnfitSettings> {
        if !SPEEDS.contains(&settings.speed) {
            return Err(UnfitSettings::Speed);
        }
        if !(1..=CAPACITY_MAX).contains(&settings.capacity) {
            return Err(UnfitSettings::Capacity);
        }
        let wire = ServiceClient::new(client, &settings.url, &settings.token)?;
        Ok(Self { wire, clock: EventClock::default(), desk: Arc::default(), pace, seed: settings.seed })
    }
}
