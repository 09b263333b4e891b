//! [`Node`]: a host over the store, reduced to what matters here: whether it is up, when it ticks next, and the
//! requests in progress on it.

use switchboard_core::http::request::Request;
use switchboard_core::key::Topic;
use switchboard_core::outside::Answer;
use switchboard_core::seed::Seed;
use switchboard_core::time::Timestamp;

use crate::checks::Cause;
use crate::client::Client;

/// A simulated host with its clock and plan.
#[derive(Debug, Default)]
pub struct Node {
    /// Whether it is running.
    pub up: bool,
    /// How often it died; requests of an earlier life are lost.
    pub life: u32,
    /// Time of its next tick, if one is planned.
    pub wake: Option<Timestamp>,
    /// How far its clock is ahead, microseconds.
    pub ahead_micros: u64,
    /// Remaining ticks that begin one task at a time, after a start or a panic.
    pub careful: u32,
}

/// Number of such ticks.
pub const CAREFUL_TICKS: u32 = 64;

impl Node {
    /// Plans a tick unless an earlier one is planned.
    pub fn plan(&mut self, at: Option<Timestamp>) {
        self.wake = self.wake.into_iter().chain(at).min();
    }
}

/// A request in progress.
#[derive(Debug)]
pub struct Exchange {
    /// The sender and its purpose.
    pub client: Client,
    /// Index of the host that processes it.
    pub node: usize,
    /// The request as it was received.
    pub request: Request,
    /// Answers to its sends so far.
    pub answers: Vec<Answer>,
    /// Random seed, the same in every step.
    pub seed: Seed,
    /// Reason for its steps.
    pub cause: Cause,
    /// Topic that it waits for, and its deadline.
    pub parked: Option<(Topic, Timestamp)>,
}
