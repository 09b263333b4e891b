//! [`MemoryRows`]: the rows of the byte map that no file holds. A restart loses them, and the core builds anew what it
//! needs of them.

use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use switchboard_core::key::{self, Key};
use switchboard_core::memory::Memory;
use switchboard_core::store::Change;
use switchboard_core::view::{Bytes, Order, Stop, View};

/// Rows in memory; their keys are those for which [`key::is_memory`] is true.
#[derive(Default)]
pub(super) struct MemoryRows(RwLock<Memory>);

impl MemoryRows {
    /// Applies changes, which readers see at once.
    pub fn apply(&self, changes: &[Change]) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).apply(changes);
    }

    /// Returns the value of a key.
    pub fn get(&self, at: &Key) -> Result<Option<Bytes>, Stop> {
        let found = self.0.read().unwrap_or_else(PoisonError::into_inner).get(std::slice::from_ref(at))?;
        Ok(found.into_iter().next().flatten())
    }

    /// Returns at most `limit` rows of `range`, in `order`.
    pub fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).scan(range, order, limit)
    }
}

/// Parts changes into those of the file and those of memory.
pub(super) fn parted(changes: impl IntoIterator<Item = Change>) -> (Vec<Change>, Vec<Change>) {
    changes.into_iter().partition(|change| {
        let (Change::Put(at, _) | Change::Delete(at)) = change;
        !key::is_memory(at)
    })
}
