//! [`Node`]: a host over the store, as far as it matters here: it lives or not, knows when to come back, and
//! holds requests that are under way.

use switchboard_core::http::request::Request;
use switchboard_core::key::Topic;
use switchboard_core::outside::Answer;
use switchboard_core::seed::Seed;
use switchboard_core::time::Timestamp;

use crate::checks::Cause;
use crate::client::Client;

/// A host.
#[derive(Debug, Default)]
pub struct Node {
    /// Whether it runs.
    pub up: bool,
    /// How often it died: what was under way before is lost.
    pub life: u32,
    /// When it comes back for durable work.
    pub wake: Option<Timestamp>,
    /// How far its clock is ahead, microseconds.
    pub ahead_micros: u64,
    /// Ticks that begin one task at a time: it just started, or a step panicked.
    pub careful: u32,
}

/// Ticks of that kind.
pub const CAREFUL_TICKS: u32 = 64;

impl Node {
    /// Plans to come back, if that is earlier than what is planned.
    pub fn plan(&mut self, at: Option<Timestamp>) {
        self.wake = self.wake.into_iter().chain(at).min();
    }
}

/// A request that is under way.
#[derive(Debug)]
pub struct Exchange {
    /// Who asked.
    pub client: Client,
    /// The host that has it.
    pub node: usize,
    /// The request.
    pub request: Request,
    /// The answers to what it asked for.
    pub answers: Vec<Answer>,
    /// Its randomness, the same in every step.
    pub seed: Seed,
    /// What it is about.
    pub cause: Cause,
    /// What it waits for, and until when.
    pub parked: Option<(Topic, Timestamp)>,
}
