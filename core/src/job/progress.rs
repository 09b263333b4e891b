//! Context and result of a task's run.

use crate::outside::AskedWork;
use crate::seed::Seed;
use crate::setup::Setup;
use crate::store::Scope;
use crate::time::Timestamp;

/// Context of one run of a task.
pub struct TaskContext<'a> {
    /// The configuration and what is derived from it.
    pub setup: &'a Setup,
    /// Store scope of the account that the task belongs to.
    pub account: Scope<'a>,
    /// Time of this run.
    pub now: Timestamp,
    /// Seed of this task and run.
    pub seed: Seed,
    /// Work asked for outside, and the answers so far.
    pub asks: &'a AskedWork<'a>,
    /// Failed tries so far that ended with [`TaskOutcome::Later`].
    pub attempt: u32,
}

/// Result of a task's run.
pub enum TaskOutcome {
    /// The task is finished and removed.
    Done,
    /// It has more to do and is due at once.
    More,
    /// It waits for an answer, with the default lease.
    Waits,
    /// It waits for an answer that may take this many seconds.
    WaitsFor(u64),
    /// The try failed; it runs again after a backoff.
    Later,
    /// It is next due at this time.
    At(Timestamp),
}
