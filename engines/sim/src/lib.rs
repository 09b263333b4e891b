//! The simulated engine: attaches to the service over HTTP as any engine does, claims calls and plays scripted
//! conversations, so that a call runs to its end where no telephone line is.
//!
//! It shares nothing with the service but that interface, no type and no code: it needs an HTTP client and a clock,
//! and may run in the service's process or anywhere else. What happens in a call is chosen by the customer's number;
//! the table stands in [`script`]. It carries no audio.

pub mod call;
mod clock;
#[cfg(test)]
mod fake;
mod outbox;
mod player;
pub mod script;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Client;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use self::call::CallInfo;
use self::clock::EventClock;
use self::player::{LeftCall, Pacing};
use self::wire::ServiceClient;

/// Calls that one engine plays at once at most.
pub const CAPACITY_MAX: usize = 10_000;
/// The slowest and the fastest speed.
pub const SPEEDS: std::ops::RangeInclusive<f64> = 0.01..=1_000_000.0;
/// Before the next claim when one brought nothing: a service that does not wait is not asked without pause.
const IDLE: Duration = Duration::from_millis(100);

/// What a simulated engine is told.
#[derive(Clone)]
pub struct EngineSettings {
    /// Where the service is: scheme, host, port.
    pub url: String,
    /// An engine token.
    pub token: String,
    /// Simulated seconds in a real one; 1 is real time.
    pub speed: f64,
    /// What the variations of the scripts follow from.
    pub seed: u64,
    /// Calls at once.
    pub capacity: usize,
}

impl EngineSettings {
    /// Fifty times real time, a hundred calls at once.
    pub fn new(url: impl Into<String>, token: impl Into<String>) -> Self {
        Self { url: url.into(), token: token.into(), speed: 50.0, seed: 0, capacity: 100 }
    }
}

/// Silent about the token.
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
    /// The token cannot stand in a header.
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

/// Runs a simulated engine until told to stop: at once, the leases of its calls lapse.
///
/// While the service is away it is asked again, at growing intervals. The only errors are those of the
/// settings, before anything is sent. The client brings its own TLS and should follow no redirects.
pub async fn run(settings: EngineSettings, client: Client, stop: watch::Receiver<bool>) -> Result<(), UnfitSettings> {
    let pace = Pacing::of(settings.speed);
    run_at(settings, client, pace, stop).await
}

async fn run_at(
    settings: EngineSettings,
    client: Client,
    pace: Pacing,
    mut stop: watch::Receiver<bool>,
) -> Result<(), UnfitSettings> {
    let engine = Arc::new(Engine::new(&settings, client, pace)?);
    // The calls end with their set.
    let mut calls = JoinSet::new();
    tokio::select! {
        // A sender that is gone can tell nothing any more: that is a stop too.
        _ = stop.wait_for(|told| *told) => {}
        () = claim(&engine, settings.capacity, &mut calls) => {}
    }
    Ok(())
}

struct Engine {
    wire: ServiceClient,
    clock: EventClock,
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
        Ok(Self { wire, clock: EventClock::default(), pace, seed: settings.seed })
    }

    async fn play(self: Arc<Self>, call: CallInfo) {
        let (played, call) = (player::play(&self.wire, &self.clock, self.pace, &call, self.seed).await, call.id);
        match played {
            Ok(()) => tracing::debug!(call, "a simulated call was played"),
            Err(left @ (LeftCall::Over | LeftCall::Gone)) => tracing::debug!(call, ?left, "a simulated call was left"),
            Err(left) => tracing::warn!(call, ?left, "a simulated call was left"),
        }
    }
}

/// Claims calls for ever, each played in a task of its own.
async fn claim(engine: &Arc<Engine>, capacity: usize, calls: &mut JoinSet<()>) {
    let mut failures = 0;
    loop {
        make_room(calls, capacity).await;
        match engine.wire.claim(capacity - calls.len()).await {
            Ok(claimed) => {
                if failures > 0 {
                    tracing::info!("the service is back");
                }
                failures = 0;
                if claimed.is_empty() {
                    tokio::time::sleep(IDLE).await;
                }
                claimed.iter().for_each(|entry| start(engine, entry, calls));
            }
            Err(status) => {
                if failures == 0 {
                    tracing::warn!(status, "the simulated engine cannot claim calls; it tries again");
                }
                tokio::time::sleep(engine.pace.pause(0, failures)).await;
                failures = failures.saturating_add(1);
            }
        }
    }
}

/// Lets finished calls go, and waits for one where all places are taken.
async fn make_room(calls: &mut JoinSet<()>, capacity: usize) {
    while let Some(done) = calls.try_join_next() {
        ended(done);
    }
    while calls.len() >= capacity {
        if let Some(done) = calls.join_next().await {
            ended(done);
        }
    }
}

fn ended(done: Result<(), tokio::task::JoinError>) {
    if let Err(error) = done {
        tracing::error!(%error, "a simulated call panicked");
    }
}

fn start(engine: &Arc<Engine>, entry: &Value, calls: &mut JoinSet<()>) {
    let Some(call) = CallInfo::read(entry) else {
        return tracing::warn!("a claimed call has no id");
    };
    calls.spawn(Arc::clone(engine).play(call));
}
