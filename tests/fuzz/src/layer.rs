//! [`Layer`]: a store with changes laid over it, so that many inputs begin with the same rows and none copies them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

use switchboard_core::key::Key;
use switchboard_core::memory::Memory;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::Change;
use switchboard_core::view::{Bytes, Order, Stop, View};

/// A store and what was changed in it since.
#[derive(Clone, Debug)]
pub struct Layer<'m> {
    base: &'m Memory,
    changed: BTreeMap<Key, Option<Bytes>>,
    /// How many commits there were.
    pub commits: u64,
    /// Reads so far.
    pub reads: Cell<u64>,
}

impl<'m> Layer<'m> {
    /// Nothing is changed yet.
    pub fn over(base: &'m Memory) -> Self {
        Self { base, changed: BTreeMap::new(), commits: 0, reads: Cell::new(0) }
    }

    /// Applies the changes of a step.
    pub fn apply(&mut self, changes: &[Change]) {
        self.commits += 1;
        for change in changes {
            match change {
                Change::Put(key, value) => self.changed.insert(key.clone(), Some(value.clone())),
                Change::Delete(key) => self.changed.insert(key.clone(), None),
            };
        }
    }

    /// Every row that is there, in key order.
    pub fn rows(&self) -> BTreeMap<Key, Bytes> {
        let mut rows = self.base.rows().clone();
        for (key, value) in &self.changed {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
        rows
    }

    /// The value of a key.
    pub fn value(&self, key: &Key) -> Option<&Bytes> {
        match self.changed.get(key) {
            Some(value) => value.as_ref(),
            None => self.base.rows().get(key),
        }
    }

    fn merged(&self, range: Range<Key>) -> BTreeMap<&Key, &Bytes> {
        let mut rows: BTreeMap<&Key, &Bytes> = self.base.rows().range(range.clone()).collect();
        for (key, value) in self.changed.range(range) {
            match value {
                Some(value) => rows.insert(key, value),
                None => rows.remove(key),
            };
        }
        rows
    }
}

impl View for Layer<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.reads.set(self.reads.get() + keys.len() as u64);
        Ok(keys.iter().map(|key| self.value(key).cloned()).collect())
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        if self.changed.is_empty() || range.start >= range.end {
            return self.base.scan(range, order, limit);
        }
        let owned = |(key, value): (&Key, &Bytes)| (key.clone(), value.clone());
        let rows = self.merged(range).into_iter();
        Ok(match order {
            Order::Ascending => rows.take(limit).map(owned).collect(),
            Order::Descending => rows.rev().take(limit).map(owned).collect(),
        })
    }

    fn admit(&self, _: Caller) -> Result<Option<Rate>, Stop> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_reads_as_the_rows_that_it_makes() {
        let put = |key: u8, value: u8| Change::Put(vec![key], vec![value]);
        let mut base = Memory::default();
        base.apply(&[put(1, 1), put(2, 1), put(4, 1)]);
        let changes = [put(2, 2), put(3, 2), Change::Delete(vec![4])];
        let mut layer = Layer::over(&base);
        layer.apply(&changes);
        let mut whole = base.clone();
        whole.apply(&changes);
        for order in [Order::Ascending, Order::Descending] {
            for limit in [0, 1, 2, 9] {
                assert_eq!(layer.scan(vec![0]..vec![9], order, limit), whole.scan(vec![0]..vec![9], order, limit));
            }
        }
        assert_eq!(layer.get(&[vec![2], vec![4]]), whole.get(&[vec![2], vec![4]]));
        assert_eq!(&layer.rows(), whole.rows());
    }
}
