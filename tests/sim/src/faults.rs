//! What goes wrong: how often a host dies, and where between two steps; which commits fail and which answers
//! get lost.

use crate::random::Random;

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All goes well.
    Fine,
    /// The host dies before its commit: nothing happened.
    DiesBefore,
    /// The host dies after its commit: nobody hears of it, and what it sent may or may not have arrived.
    DiesAfter,
    /// The commit fails: the step's changes are dropped and the caller is told 503.
    CommitFails,
    /// The answer does not reach the caller.
    ReplyLost,
    /// A step of the service's own work comes to no end: it stops, is over its budget or panics.
    NoEnd,
}

/// How often what goes wrong, in a thousand steps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Deaths before a commit.
    pub before: u64,
    /// Deaths after one.
    pub after: u64,
    /// Failed commits.
    pub commits: u64,
    /// Lost answers.
    pub replies: u64,
    /// Steps of the service's own work that come to no end.
    pub endless: u64,
    /// Longest time that a host stays dead, seconds.
    pub down_seconds: u64,
}

impl Faults {
    /// The faults of a world: none in some, many in others.
    pub fn draw(random: &mut Random) -> Self {
        let most = random.weighed(&[(15, 0), (55, 12), (20, 40), (10, 120)]);
        Self {
            before: random.within(0..=most),
            after: random.within(0..=most),
            commits: random.within(0..=most),
            replies: random.within(0..=most),
            endless: random.within(0..=most),
            down_seconds: random.weighed(&[(6, 5), (3, 120), (1, 3_600)]),
        }
    }

    /// The fate of the next step.
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
