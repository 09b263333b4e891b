//! [`Tx`]: the view of one step with its own changes laid over it, and [`Scope`]: one space of it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::fmt;
use core::ops::Range;

use crate::key::{Key, Space, space_of};
use crate::limits::step::{CHANGES_MAX, READS_MAX};
use crate::view::{Bytes, Order, Stop, View};

/// One change of the byte map; `Debug` shows a value's length.
#[derive(Clone, PartialEq, Eq)]
pub enum Change {
    /// Sets the value of a key.
    Put(Key, Bytes),
    /// Removes a key.
    Delete(Key),
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Put(key, value) => write!(f, "Put({key:?}, {} bytes)", value.len()),
            Self::Delete(key) => write!(f, "Delete({key:?})"),
        }
    }
}

/// A step's reads and, until it ends, its changes.
pub struct Tx<'a> {
    view: &'a dyn View,
    changed: RefCell<BTreeMap<Key, Option<Bytes>>>,
    reads: Cell<usize>,
}

impl<'a> Tx<'a> {
    /// Begins with no change over `view`.
    pub fn new(view: &'a dyn View) -> Self {
        Self { view, changed: RefCell::new(BTreeMap::new()), reads: Cell::new(0) }
    }

    /// The space to work in.
    pub fn scope(&self, space: Space) -> Scope<'_> {
        Scope { tx: self, space }
    }

    /// The host's view, for what is not a row.
    pub fn view(&self) -> &dyn View {
        self.view
    }

    /// The changes, in key order; the step has none of them any longer.
    pub fn changes(&self) -> Vec<Change> {
        let changed = self.changed.take();
        changed
            .into_iter()
            .map(|(key, value)| match value {
                Some(value) => Change::Put(key, value),
                None => Change::Delete(key),
            })
            .collect()
    }

    /// Forgets every change.
    pub fn forget(&self) {
        self.changed.borrow_mut().clear();
    }

    fn spend(&self, reads: usize) -> Result<(), Stop> {
        self.reads.set(self.reads.get() + reads);
        if self.reads.get() > READS_MAX { Err(Stop::OverBudget) } else { Ok(()) }
    }

    fn change(&self, key: Key, value: Option<Bytes>) -> Result<(), Stop> {
        let mut changed = self.changed.borrow_mut();
        changed.insert(key, value);
        if changed.len() > CHANGES_MAX { Err(Stop::OverBudget) } else { Ok(()) }
    }

    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.spend(keys.len())?;
        let changed = self.changed.borrow();
        if changed.is_empty() {
            return self.view.get(keys);
        }
        let asked: Vec<Key> = keys.iter().filter(|key| !changed.contains_key(*key)).cloned().collect();
        let mut stored = if asked.is_empty() { Vec::new() } else { self.view.get(&asked)? }.into_iter();
        Ok(keys
            .iter()
            .map(|key| match changed.get(key) {
                Some(value) => value.clone(),
                None => stored.next().flatten(),
            })
            .collect())
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        if range.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let changed = self.changed.borrow();
        let mut own: Vec<(&Key, &Option<Bytes>)> = changed.range(range.clone()).collect();
        // Each row that this step deleted may hide one stored row, so that many more are asked for.
        let rows = self.view.scan(range, order, limit + own.len())?;
        self.spend(1 + rows.len())?;
        if own.is_empty() {
            return Ok(rows);
        }
        if order == Order::Descending {
            own.reverse();
        }
        Ok(merge(rows, &own, order, limit))
    }
}

/// Lays `own` over `rows`; both are in `order`.
fn merge(rows: Vec<(Key, Bytes)>, own: &[(&Key, &Option<Bytes>)], order: Order, limit: usize) -> Vec<(Key, Bytes)> {
    let before = |a: &Key, b: &Key| if order == Order::Ascending { a < b } else { a > b };
    let mut merged = Vec::with_capacity(rows.len());
    let mut own = own.iter().peekable();
    for (key, value) in rows {
        while let Some((ours, changed)) = own.next_if(|(ours, _)| before(ours, &key)) {
            merged.extend(changed.as_ref().map(|value| ((*ours).clone(), value.clone())));
        }
        match own.next_if(|(ours, _)| **ours == key) {
            Some((_, changed)) => merged.extend(changed.as_ref().map(|value| (key, value.clone()))),
            None => merged.push((key, value)),
        }
    }
    merged.extend(own.filter_map(|(key, changed)| Some(((*key).clone(), (*changed).clone()?))));
    merged.truncate(limit);
    merged
}

/// One space of a step: an account's handlers hold theirs, so a row of another has no name.
#[derive(Clone, Copy)]
pub struct Scope<'t> {
    tx: &'t Tx<'t>,
    space: Space,
}

impl<'t> Scope<'t> {
    /// Which space this is.
    pub fn space(self) -> Space {
        self.space
    }

    /// The values of `keys`, in their order.
    pub fn get_many(self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        keys.iter().for_each(|key| self.own(key));
        self.tx.get(keys)
    }

    /// The values of different keys of which at most `span` lie between the first and the last: neighbours
    /// are read with one scan, scattered ones each by itself.
    pub fn get_near(self, keys: &[Key], span: usize) -> Result<Vec<Option<Bytes>>, Stop> {
        /// A scan may read so many values for each that is wanted: one that it passes over costs half of a read by key.
        const PASSED: usize = 2;
        let (Some(first), Some(last)) = (keys.iter().min(), keys.iter().max()) else { return Ok(Vec::new()) };
        if keys.len() < 3 || span > keys.len() * PASSED {
            return self.get_many(keys);
        }
        let end = [last.as_slice(), &[0]].concat();
        let mut found = self.scan(first.clone()..end, Order::Ascending, span)?;
        let place = |key: &Key| found.binary_search_by(|(at, _)| at.cmp(key)).ok();
        let places: Vec<Option<usize>> = keys.iter().map(place).collect();
        Ok(places.into_iter().map(|at| Some(core::mem::take(&mut found[at?].1))).collect())
    }

    /// The value of a key.
    pub fn get(self, key: Key) -> Result<Option<Bytes>, Stop> {
        Ok(self.get_many(&[key])?.into_iter().next().flatten())
    }

    /// At most `limit` rows of a range.
    pub fn scan(self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.own(&range.start);
        self.tx.scan(range, order, limit)
    }

    /// Sets a value.
    pub fn put(self, key: Key, value: Bytes) -> Result<(), Stop> {
        self.own(&key);
        self.tx.change(key, Some(value))
    }

    /// Removes a key.
    pub fn delete(self, key: Key) -> Result<(), Stop> {
        self.own(&key);
        self.tx.change(key, None)
    }

    /// Another space of the same step, for the few places that cross: they stand in `account/root.rs`.
    pub(crate) fn other(self, space: Space) -> Scope<'t> {
        self.tx.scope(space)
    }

    fn own(self, key: &[u8]) {
        assert!(space_of(key) == Some(self.space), "a scope reads and writes its own space only");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use proptest::prelude::*;

    fn key(n: u8) -> Key {
        crate::key::row(Space::Root, crate::key::Kind::Plan, u32::from(n))
    }

    proptest! {
        #[test]
        fn a_scan_sees_the_changes_of_its_step(
            stored in prop::collection::btree_map(0_u8..40, any::<u8>(), 0..30),
            changes in prop::collection::btree_map(0_u8..40, any::<Option<u8>>(), 0..20),
            from in 0_u8..40, to in 0_u8..41, limit in 0_usize..45, down: bool,
        ) {
            let mut memory = Memory::default();
            let mut model: BTreeMap<u8, u8> = stored.clone();
            memory.apply(&stored.iter().map(|(k, v)| Change::Put(key(*k), Vec::from([*v]))).collect::<Vec<_>>());
            let tx = Tx::new(&memory);
            let scope = tx.scope(Space::Root);
            for (n, change) in &changes {
                if let Some(v) = change { scope.put(key(*n), Vec::from([*v])).expect("within budget"); model.insert(*n, *v); } else { scope.delete(key(*n)).expect("within budget"); model.remove(n); }
            }
            let order = if down { Order::Descending } else { Order::Ascending };
            let mut want: Vec<(Key, Bytes)> = model.iter().filter(|(n, _)| (from..to).contains(n)).map(|(n, v)| (key(*n), Vec::from([*v]))).collect();
            if down { want.reverse(); }
            want.truncate(limit);
            prop_assert_eq!(scope.scan(key(from)..key(to), order, limit), Ok(want));
            for n in 0..40 {
                prop_assert_eq!(scope.get(key(n)), Ok(model.get(&n).map(|v| Vec::from([*v]))));
            }
        }
    }

    #[test]
    #[should_panic(expected = "its own space only")]
    fn a_row_of_another_account_has_no_name() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let _ = tx.scope(Space::Account(1)).get(crate::key::ledger(Space::Account(2)));
    }
}
