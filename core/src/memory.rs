//! A store in memory: for tests, simulations and embedding.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use crate::key::Key;
use crate::rate::{Caller, Rate};
use crate::store::Change;
use crate::view::{Bytes, Order, Stop, View};

/// An ordered byte map in memory, without rate limits.
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

    /// Every row, in key order.
    pub fn rows(&self) -> &BTreeMap<Key, Bytes> {
        &self.rows
    }
}

impl View for Memory {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        Ok(keys.iter().map(|key| self.rows.get(key).cloned()).collect())
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        let rows = self.rows.range(range).map(|(key, value)| (key.clone(), value.clone()));
        Ok(match order {
            Order::Ascending => rows.take(limit).collect(),
            Order::Descending => rows.rev().take(limit).collect(),
        })
    }

    fn admit(&self, _: Caller) -> Result<Option<Rate>, Stop> {
        Ok(None)
    }
}
