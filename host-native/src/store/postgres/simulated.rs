//! Nodes in a world that a seed draws: the real code of lanes, fences and shares over a [`Database`](database::Database) in
//! memory, in virtual time. Links break, answers come late or never, processes stand still and die, the database restarts
//! and fails over; what is acknowledged must hold all the same.
//!
//! The database knows the statements of this module by their text, and speaks PostgreSQL's protocol. That it does what
//! PostgreSQL does is for the tests over a real one; here thousands of courses find what those are too slow to meet.

mod database;
mod process;
mod statements;
mod tellings;
mod wire;
mod world;

use std::cell::RefCell;

pub(super) use database::Database;

use super::fence::Id;

thread_local! {
    /// Where the ids of a world come from.
    static IDS: RefCell<Option<fastrand::Rng>> = const { RefCell::new(None) };
}

/// Draws an id from the seed of the world that this thread simulates; `None` outside of one.
pub(super) fn drawn() -> Option<Id> {
    IDS.with_borrow_mut(|ids| ids.as_mut().map(|random| random.u128(..).to_be_bytes()))
}

/// Has the ids of this thread come from a seed.
fn draw_from(seed: u64) {
    IDS.set(Some(fastrand::Rng::with_seed(seed)));
}

/// Waits for a moment that the seed draws.
async fn moment() {
    tokio::time::sleep(std::time::Duration::from_micros(below(5_000))).await;
}

/// Draws a number below another one.
fn below(most: u64) -> u64 {
    IDS.with_borrow_mut(|ids| ids.as_mut().map_or(0, |random| random.u64(0..most)))
}
