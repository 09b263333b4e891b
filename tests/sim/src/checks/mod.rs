//! Claims: what must hold after every commit, and at the end of a world.
//!
//! Each file states its claims as sentences, and compares what the service did with what follows from the rows and from
//! what the simulated outside saw; none of them calls the code under test.

mod claiming;
mod dialing;
mod ending;
mod feed;
mod hearing;
mod histories;
mod local;
mod money;
mod planned;
mod signature;
mod states;
mod talking;
mod telling;
mod webhooks;

pub use ending::{settled, sound};
pub use hearing::hears;
pub use money::micros;
pub use signature::is_signed;
pub use talking::Talking;
pub use telling::{Telling, line_of, numbered};
pub use webhooks::Webhooks;

use std::collections::BTreeMap;

use switchboard_core::time::Timestamp;

use crate::mirror::{At, Diff, Mirror};
use crate::receiver::Receivers;

/// Largest difference between the clocks of two hosts, seconds.
pub const APART_SECONDS: u64 = 1;

/// The result of a check: the claim that does not hold, and why.
pub type Held = Result<(), String>;

/// Returns an error unless a claim holds.
macro_rules! holds {
    ($condition:expr, $($claim:tt)+) => {
        if !$condition {
            return Err(format!($($claim)+));
        }
    };
}
pub(crate) use holds;

/// The reason for a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cause {
    /// Durable work was due, or the answer to one of its sends arrived.
    pub own_work: bool,
    /// A person set the status of this lead.
    pub set_lead: Option<At>,
    /// A person had this delivery sent again.
    pub resend: Option<At>,
}

/// A commit with its context.
pub struct Commit<'a> {
    /// Time of the step.
    pub now: Timestamp,
    /// Reason for the step.
    pub cause: Cause,
    /// Rows changed by the commit.
    pub diff: &'a Diff,
    /// All rows after the commit.
    pub mirror: &'a Mirror,
    /// Everything that receivers saw so far.
    pub receivers: &'a Receivers,
    /// Limit of parallel calls in every account's plan.
    pub parallel_calls: usize,
    /// Accounts that are suspended.
    pub suspended: &'a [u32],
    /// Price of an answer in a conversation, millionths of a US dollar.
    pub chat_price: i64,
}

/// All claims with their state.
#[derive(Debug, Default)]
pub struct Checks {
    by_hand: BTreeMap<u32, u64>,
    dialing: dialing::Dialing,
    claiming: claiming::Claiming,
    feed: feed::Feed,
    /// Claims about balances; told what the operator sets.
    pub money: money::Money,
    /// Claims about conversations; told what people and the model say.
    pub talking: Talking,
    /// Claims about the events of calls.
    pub telling: Telling,
    /// Claims about webhooks; told what the receivers answer.
    pub webhooks: Webhooks,
}

impl Checks {
    /// Returns how many calls of an account were not placed by a campaign.
    pub fn by_hand(&self, account: u32) -> u64 {
        self.by_hand.get(&account).copied().unwrap_or_default()
    }

    /// Checks a commit against all claims.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for call in commit.diff.calls.iter().filter(|call| call.before.is_none()) {
            let by_hand = call.after.as_ref().is_some_and(|call| call.kind == "outbound" && call.campaign.is_none());
            *self.by_hand.entry(call.at.0).or_default() += u64::from(by_hand);
        }
        states::judge(commit)?;
        self.dialing.judge(commit)?;
        self.claiming.judge(commit)?;
        self.telling.judge(commit)?;
        self.feed.judge(commit)?;
        self.talking.judge(commit)?;
        self.money.judge(commit)?;
        self.webhooks.judge(commit)
    }
}
