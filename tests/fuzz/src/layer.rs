//! [`Layer`]: a store overlaid with changes, so that many inputs start from the same rows without copying them.

use std::ops::Range;

use switchboard_core::key::Key;
use switchboard_core::memory::Memory;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::{self, Change};
use switchboard_core::view::{Bytes, Order, Stop, View};

/// A store and the changes on top of it.
#[derive(Clone)]
pub struct Layer<'m> {
    base: &'m Memory,
    changed: store::Layer,
    /// Number of times that changes were applied.
    pub commits: u64,
}

impl<'m> Layer<'m> {
    /// Creates a layer without changes.
    pub fn over(base: &'m Memory) -> Self {
        Self { base, changed: store::Layer::default(), commits: 0 }
    }

    /// Applies the changes of a step.
    pub fn apply(&mut self, changes: &[Change]) {
        self.commits += 1;
        self.changed.apply(changes.iter().cloned());
    }

    /// Returns a copy of the store with the changes.
    pub fn whole(&self) -> Memory {
        let mut whole = self.base.clone();
        whole.apply(&self.changed.clone().into_changes().collect::<Vec<_>>());
        whole
    }
}

impl View for Layer<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.changed.get(self.base, keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.changed.scan(self.base, range, order, limit)
    }

    fn admit(&self, _: Caller) -> Result<Option<Rate>, Stop> {
        Ok(None)
    }
}
