//! What must hold, a claim at a time: after every commit, and at the end of a world.
//!
//! Each file holds its claims as sentences, and compares what the service did with what follows from the rows
//! and from what the simulated world outside saw; none of them asks the code that is judged.

mod claiming;
mod dialing;
mod ending;
mod feed;
mod hearing;
mod local;
mod money;
mod planned;
mod signature;
mod states;
mod webhooks;

pub use ending::{settled, sound};
pub use hearing::hears;
pub use signature::is_signed;
pub use webhooks::Webhooks;

use std::collections::BTreeMap;

use switchboard_core::time::Timestamp;

use crate::mirror::{At, Diff, Mirror};
use crate::receiver::Receivers;

/// How far the clocks of two hosts are apart at most, seconds.
pub const APART_SECONDS: u64 = 1;

/// Whether claims hold; else the one that does not, and why.
pub type Held = Result<(), String>;

/// Fails unless a claim holds.
macro_rules! holds {
    ($condition:expr, $($claim:tt)+) => {
        if !$condition {
            return Err(format!($($claim)+));
        }
    };
}
pub(crate) use holds;

/// Why a step was run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Durable work was due, or a question of it was answered.
    pub own_work: bool,
    /// A person set the status of this lead.
    pub set_lead: Option<At>,
    /// A person asked for this delivery to be sent again.
    pub resend: Option<At>,
}

/// One commit and what it was about.
pub struct Commit<'a> {
    /// The time of the step.
    pub now: Timestamp,
    /// Why it was run.
    pub cause: Cause,
    /// What it changed.
    pub diff: &'a Diff,
    /// All rows after it.
    pub mirror: &'a Mirror,
    /// What the receivers saw so far.
    pub receivers: &'a Receivers,
    /// Calls at once that the plan of every account allows.
    pub parallel_calls: usize,
    /// Accounts that are shut out.
    pub suspended: &'a [u32],
}

/// The claims with what they remember.
#[derive(Debug, Default)]
pub struct Checks {
    by_hand: BTreeMap<u32, u64>,
    dialing: dialing::Dialing,
    claiming: claiming::Claiming,
    feed: feed::Feed,
    /// The claims about money; the operator tells them what was set.
    pub money: money::Money,
    /// The claims about webhooks; the world outside tells them what it saw.
    pub webhooks: Webhooks,
}

impl Checks {
    /// Calls of an account that no campaign placed.
    pub fn by_hand(&self, account: u32) -> u64 {
        self.by_hand.get(&account).copied().unwrap_or_default()
    }

    /// Judges a commit.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for call in commit.diff.calls.iter().filter(|call| call.before.is_none()) {
            let by_hand = call.after.as_ref().is_some_and(|call| call.kind == "outbound" && call.campaign.is_none());
            *self.by_hand.entry(call.at.0).or_default() += u64::from(by_hand);
        }
        states::judge(commit)?;
        self.dialing.judge(commit)?;
        self.claiming.judge(commit)?;
        self.feed.judge(commit)?;
        self.money.judge(commit)?;
        self.webhooks.judge(commit)
    }
}
