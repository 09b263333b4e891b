//! [`Tx`]: the view of one step with its own changes laid over it, and [`Scope`]: one space of it.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::ops::Range;

use super::{Change, Layer};
use crate::key::{Key, Space, space_of};
use crate::limits::step::{CHANGES_MAX, READS_MAX};
use crate::rate::{Caller, Rate};
use crate::view::{Bytes, Order, Stop, View};

/// A step's reads and, until it ends, its changes.
pub struct Tx<'a> {
    budget: Budget<'a>,
    changed: RefCell<Layer>,
}

/// The host's view, of which a step may read so much.
struct Budget<'a> {
    view: &'a dyn View,
    reads: Cell<usize>,
}

impl<'a> Tx<'a> {
    /// Begins with no change over `view`.
    pub fn new(view: &'a dyn View) -> Self {
        Self { budget: Budget { view, reads: Cell::new(0) }, changed: RefCell::default() }
    }

    /// The space to work in.
    pub fn scope(&self, space: Space) -> Scope<'_> {
        Scope { tx: self, space }
    }

    /// The host's view, for what is not a row.
    pub fn view(&self) -> &dyn View {
        self.budget.view
    }

    /// The changes, in key order; the step has none of them any longer.
    pub fn changes(&self) -> Vec<Change> {
        self.changed.take().into_changes().collect()
    }

    /// Forgets every change.
    pub fn forget(&self) {
        self.changed.take();
    }

    fn change(&self, key: Key, value: Option<Bytes>) -> Result<(), Stop> {
        let mut changed = self.changed.borrow_mut();
        changed.set(key, value);
        if changed.len() > CHANGES_MAX { Err(Stop::OverBudget) } else { Ok(()) }
    }

    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.changed.borrow().get(&self.budget, keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.changed.borrow().scan(&self.budget, range, order, limit)
    }
}

impl Budget<'_> {
    fn spend(&self, reads: usize) -> Result<(), Stop> {
        self.reads.set(self.reads.get() + reads);
        if self.reads.get() > READS_MAX { Err(Stop::OverBudget) } else { Ok(()) }
    }
}

impl View for Budget<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.spend(keys.len())?;
        self.view.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        let rows = self.view.scan(range, order, limit)?;
        self.spend(1 + rows.len())?;
        Ok(rows)
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.view.admit(caller)
    }
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
    use crate::key::{self, Kind};
    use crate::memory::Memory;

    #[test]
    fn a_step_reads_and_changes_so_much() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let scope = tx.scope(Space::Root);
        let row = |count| key::row(Space::Root, Kind::Plan, count);
        for count in 0..u32::try_from(CHANGES_MAX).expect("it fits") {
            assert_eq!(scope.put(row(count), Vec::new()), Ok(()));
        }
        assert_eq!(scope.put(row(0), Vec::new()), Ok(()), "no row counts twice");
        let nothing = |count| (0..count).map(|at| key::row(Space::Root, Kind::Call, at)).collect::<Vec<_>>();
        let reads = u32::try_from(READS_MAX).expect("it fits");
        assert!(scope.get_many(&nothing(reads)).is_ok());
        assert_eq!(scope.get(row(0)), Ok(Some(Vec::new())), "what the step itself changed is no read");
        assert_eq!(scope.get_many(&nothing(1)), Err(Stop::OverBudget));
        assert_eq!(scope.put(row(u32::MAX), Vec::new()), Err(Stop::OverBudget));
    }

    #[test]
    #[should_panic(expected = "its own space only")]
    fn a_row_of_another_account_has_no_name() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let _ = tx.scope(Space::Account(1)).get(crate::key::ledger(Space::Account(2)));
    }
}
