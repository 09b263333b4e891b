//! Injected faults: how often a host dies, and where between two steps; which commits fail and which answers are lost.

use crate::random::Random;

/// Fate of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The step is committed and its answer arrives.
    Fine,
    /// The host dies before the commit: nothing happened.
    DiesBefore,
    /// The host dies after the commit: there is no answer, and sends may or may not have arrived.
    DiesAfter,
    /// The commit fails: the step's changes are dropped and the caller gets 503.
    CommitFails,
    /// The answer is lost.
    ReplyLost,
    /// A step of the service's own work fails: it stops, exceeds its budget or panics.
    NoEnd,
}

/// Probabilities of faults per step, per mille.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Host dies before the commit.
    pub before: u64,
    /// Host dies after the commit.
    pub after: u64,
    /// Commit fails, and the host lives on.
    pub commits: u64,
    /// Answer is lost after the commit.
    pub replies: u64,
    /// Step of the service's own work fails.
    pub endless: u64,
    /// The host stands still while a turn of a conversation waits for an answer, for longer than a turn may take.
    pub stands: u64,
    /// Longest time that a host stays down, seconds.
    pub down_seconds: u64,
}

impl Faults {
    /// Draws the faults of a world: none in some, many in others.
    pub fn draw(random: &mut Random) -> Self {
        let most = random.weighed(&[(15, 0), (55, 12), (20, 40), (10, 120)]);
        Self {
            before: random.within(0..=most),
            after: random.within(0..=most),
            commits: random.within(0..=most),
            replies: random.within(0..=most),
            endless: random.within(0..=most),
            stands: random.within(0..=2 * most),
            down_seconds: random.weighed(&[(6, 5), (3, 120), (1, 3_600)]),
        }
    }

    /// Draws the fate of the next step.
    pub fn fate(&self, random: &mut Random) -> Fate {
        let fine = 1_000_u64.saturating_sub(self.before + self.after + self.commits + self.replies + self.endless);
        random.weighed(&[
            (fine, Fate::Fine),
            (self.before, Fate::DiesBefore),
            (self.after, Fate::DiesAfter),
            (self.commits, Fate::CommitFails),
            (self.replies, Fate::ReplyLost),
            (self.endless, Fate::NoEnd),
        ])
    }
}
