//! [`LargeReads`]: accounts that read much take turns, so that together they keep no more than one processor busy.
//!
//! A read's cost is known only afterwards, so an account is known by what it has just read: for a second after a large
//! answer its reads wait for their turn, and run on a thread beside those that serve everybody.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use switchboard_core::limits::PIECE_BYTES;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::time::Instant;

use crate::room::{Held, Holder, Room, UsedUp};

/// Answers, or pieces of one, of at least this many bytes are large.
const LARGE_BYTES: usize = PIECE_BYTES;
/// How long an account counts as reading much after a large answer.
const KNOWN: Duration = Duration::from_secs(1);

/// The accounts that read much, and the room in which they take turns.
pub struct LargeReads {
    room: Arc<Room>,
    /// Until when each account counts as reading much.
    known: Mutex<HashMap<u32, Instant>>,
    /// Whether `known` has entries: mostly it has none, and nobody takes the lock.
    any: AtomicBool,
}

/// A turn to read: no other large read runs while it is held.
pub struct Turn(#[expect(dead_code, reason = "held until it is dropped")] Held);

impl LargeReads {
    /// Takes turns in this room.
    pub fn new(room: Arc<Room>) -> Self {
        Self { room, known: Mutex::default(), any: AtomicBool::new(false) }
    }

    /// Notes an answer of `bytes` bytes; `account` is called only for a large one.
    pub fn note(&self, bytes: usize, account: impl FnOnce() -> Option<u32>) {
        if bytes < LARGE_BYTES {
            return;
        }
        let Some(account) = account() else { return };
        self.known().insert(account, Instant::now() + KNOWN);
        self.any.store(true, Ordering::Relaxed);
    }

    /// Returns whether the reads of an account must wait for a turn.
    pub fn knows(&self, account: u32) -> bool {
        if !self.any.load(Ordering::Relaxed) {
            return false;
        }
        let now = Instant::now();
        let mut known = self.known();
        known.retain(|_, until| *until > now);
        self.any.store(!known.is_empty(), Ordering::Relaxed);
        known.contains_key(&account)
    }

    /// Waits for a turn of this holder.
    pub async fn turn(&self, holder: Holder) -> Result<Turn, UsedUp> {
        self.room.take(holder).await.map(Turn)
    }

    fn known(&self) -> MutexGuard<'_, HashMap<u32, Instant>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// Runs a read while another thread takes over this worker's tasks.
    pub fn read<T>(&self, read: impl FnOnce() -> T) -> T {
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => tokio::task::block_in_place(read),
            // A runtime of one thread has no other to take over.
            _ => read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_core::budget::LARGE_READS;

    #[tokio::test(start_paused = true)]
    async fn an_account_is_known_for_a_while_after_it_read_much() {
        let large = LargeReads::new(Room::new(&LARGE_READS));
        large.note(LARGE_BYTES - 1, || Some(1));
        large.note(LARGE_BYTES, || None);
        assert!(!large.any.load(Ordering::Relaxed));
        large.note(LARGE_BYTES, || Some(1));
        assert!(large.knows(1) && !large.knows(2));
        tokio::time::sleep(KNOWN / 2).await;
        large.note(LARGE_BYTES, || Some(2));
        tokio::time::sleep(KNOWN / 2).await;
        assert!(!large.knows(1) && large.knows(2));
        tokio::time::sleep(KNOWN).await;
        assert!(!large.knows(2) && !large.any.load(Ordering::Relaxed), "nothing is left of either");
    }
}
