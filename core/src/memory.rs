//! Store in memory, for tests, simulations and embedding.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use crate::key::Key;
use crate::rate::{Caller, Rate};
use crate::store::Change;
use crate::view::{Bytes, Order, RowVisitor, Stop, View, copies};

/// Ordered byte map in memory, without rate limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    rows: BTreeMap<Key, Bytes>,
}

impl Memory {
    /// Applies the changes of a step.
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Put(key, value) => self.rows.insert(key.clone(), value.clone()),
                Change::Delete(key) => self.rows.remove(key),
            };
        }
    }

    /// Returns all rows, in key order.
    pub fn rows(&self) -> &BTreeMap<Key, Bytes> {
        &self.rows
    }
}

impl View for Memory {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        Ok(keys.iter().map(|key| self.rows.get(key).cloned()).collect())
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        copies(|visit| self.scan_with(range, order, limit, visit))
    }

    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        // The standard map panics on a range that ends before it begins; a message may ask for one.
        if range.start >= range.end {
            return Ok(());
        }
        let rows = self.rows.range(range);
        match order {
            Order::Ascending => rows.take(limit).try_for_each(|(key, value)| visit(key, value)),
            Order::Descending => rows.rev().take(limit).try_for_each(|(key, value)| visit(key, value)),
        }
    }

    fn admit(&self, _: Caller) -> Result<Option<Rate>, Stop> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_range_that_ends_before_it_begins_is_empty() {
        let mut memory = Memory::default();
        memory.apply(&[Change::Put(vec![5], vec![])]);
        for order in [Order::Ascending, Order::Descending] {
            assert_eq!(memory.scan(vec![9]..vec![1], order, 9), Ok(vec![]));
            assert_eq!(memory.scan(vec![5]..vec![5], order, 9), Ok(vec![]));
        }
    }
}
