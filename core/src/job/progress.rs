//! What a task works with, and what it comes to.

use crate::outside::Asks;
use crate::seed::Seed;
use crate::setup::Setup;
use crate::store::Scope;
use crate::time::Timestamp;

/// What a task works with.
pub struct Work<'a> {
    /// The configuration, and what is made from it.
    pub setup: &'a Setup,
    /// The account that the task belongs to.
    pub account: Scope<'a>,
    /// The time.
    pub now: Timestamp,
    /// Randomness of this task.
    pub seed: Seed,
    /// What it asks for.
    pub asks: &'a Asks<'a>,
    /// Tries that came to nothing.
    pub attempt: u32,
}

/// What a task came to.
pub enum Progress {
    /// There is nothing left to do.
    Done,
    /// There is more to do at once.
    More,
    /// It waits for what it asked.
    Waits,
    /// It waits for what it asked, which may take so many seconds.
    WaitsFor(u64),
    /// It is tried again later.
    Later,
    /// It is next due then.
    At(Timestamp),
}
