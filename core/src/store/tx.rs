//! [`Tx`]: the view of one step overlaid with its own changes, and [`Scope`]: one space of it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::ops::Range;

use super::{Change, Layer, Ledger};
use crate::key::{Key, Series, Space, content_of, space_of};
use crate::limits::step::{CHANGED_BYTES_MAX, CHANGES_MAX, READ_BYTES_MAX, READS_MAX};
use crate::rate::{Caller, Rate};
use crate::time::Timestamp;
use crate::view::{Bytes, Order, RowVisitor, Stop, ValueVisitor, View};

/// Transaction of a step: its reads and, until it ends, its changes.
pub struct Tx<'a> {
    budget: Budget<'a>,
    changed: RefCell<Layer>,
    /// During an attempt: the previous state of each changed key, in the order of the changes, for the rollback.
    before: RefCell<Option<Vec<Before>>>,
    spent: Cell<Spent>,
    /// Bytes in the view (key and value, 0 where there is none) of those changed rows for which they are known.
    stored: RefCell<BTreeMap<Key, usize>>,
    now: Timestamp,
}

/// Key, and the layer's entry for it before a change.
type Before = (Key, Option<Option<Bytes>>);

/// Spent part of the budget of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spent {
    changes: usize,
    changed_bytes: usize,
}

/// The host's view with the step's budget of reads.
struct Budget<'a> {
    view: &'a dyn View,
    reads: Cell<usize>,
    read_bytes: Cell<usize>,
}

impl<'a> Tx<'a> {
    /// Begins a transaction without changes over `view`, at the epoch.
    pub fn new(view: &'a dyn View) -> Self {
        Self::at(view, Timestamp::default())
    }

    /// Begins a transaction without changes over `view`, at the time of the step.
    pub fn at(view: &'a dyn View, now: Timestamp) -> Self {
        Self {
            budget: Budget { view, reads: Cell::new(0), read_bytes: Cell::new(0) },
            changed: RefCell::default(),
            before: RefCell::default(),
            spent: Cell::default(),
            stored: RefCell::default(),
            now,
        }
    }

    /// Returns the scope of one space.
    pub fn scope(&self, space: Space) -> Scope<'_> {
        Scope { tx: self, space }
    }

    /// Returns the host's view, for what is not a row.
    pub fn view(&self) -> &dyn View {
        self.budget.view
    }

    /// Takes the changes out, in key order.
    pub fn changes(&self) -> Vec<Change> {
        self.changed.take().into_changes().collect()
    }

    /// Returns by how many bytes the changes grow (or, when negative, shrink) the stored bytes of each account.
    pub fn growth(&self) -> Result<BTreeMap<u32, i64>, Stop> {
        let (changed, mut stored) = (self.changed.borrow(), self.stored.borrow_mut());
        let content = || changed.lengths().filter_map(|(key, length)| Some((content_of(key)?, key, length)));
        let unknown = content().filter(|(_, key, _)| !stored.contains_key(*key));
        let unknown: Vec<Key> = unknown.map(|(_, key, _)| key.clone()).collect();
        if !unknown.is_empty() {
            for (key, value) in unknown.iter().zip(self.budget.view.get(&unknown)?) {
                stored.insert(key.clone(), value.map_or(0, |value| key.len() + value.len()));
            }
        }
        let mut growth = BTreeMap::new();
        for (account, key, length) in content() {
            let bytes = |bytes: usize| i64::try_from(bytes).unwrap_or(i64::MAX);
            let after = length.map_or(0, |length| key.len() + length);
            *growth.entry(account).or_default() += bytes(after) - bytes(stored.get(key).copied().unwrap_or(0));
        }
        Ok(growth)
    }

    /// Ends the step: adds the growth of each account to its ledger and takes the changes out.
    pub fn finish(&self) -> Result<Vec<Change>, Stop> {
        for (account, growth) in self.growth()? {
            let scope = self.scope(Space::Account(account));
            let mut ledger = Ledger::load(scope)?;
            if let Some(mut stored) = ledger.stored().filter(|_| growth != 0) {
                stored.bytes = stored.bytes.saturating_add_signed(growth);
                ledger.set_stored(stored);
                ledger.save(scope)?;
            }
        }
        Ok(self.changes())
    }

    /// Notes how many bytes a row had in the view, at its first change.
    fn note_before(&self, key: &Key, bytes: usize) {
        if content_of(key).is_some() && !self.changed.borrow().has(key) {
            self.stored.borrow_mut().entry(key.clone()).or_insert(bytes);
        }
    }

    /// Drops all changes.
    pub fn forget(&self) {
        self.changed.take();
    }

    /// Runs `work` with a budget of its own. If it stops with a corrupt row or over budget, its changes are rolled
    /// back, the step may go on, and `Ok(Err(stop))` tells why. Stops that the host must answer (reads that it has not
    /// loaded, a store that failed) stop the step as usual. Attempts do not nest.
    pub fn attempt<T>(&self, work: impl FnOnce() -> Result<T, Stop>) -> Result<Result<T, Stop>, Stop> {
        debug_assert!(self.before.borrow().is_none(), "attempts do not nest");
        let (spent, read) = (self.spent.take(), self.budget.take());
        self.before.replace(Some(Vec::new()));
        let done = work();
        let before = self.before.take().unwrap_or_default();
        let own = self.spent.get();
        let is_dropped = matches!(done, Err(Stop::Corrupt(_) | Stop::OverBudget));
        if is_dropped {
            let mut changed = self.changed.borrow_mut();
            before.into_iter().rev().for_each(|(key, value)| changed.restore(key, value));
            self.spent.set(spent);
        } else {
            let changes = spent.changes + own.changes;
            self.spent.set(Spent { changes, changed_bytes: spent.changed_bytes + own.changed_bytes });
        }
        self.budget.give_back(read);
        match done {
            Err(stop) if !is_dropped => Err(stop),
            done => Ok(done),
        }
    }

    /// Returns the bytes read so far or those changed, whichever is more.
    pub fn spent_bytes(&self) -> u32 {
        u32::try_from(self.spent.get().changed_bytes.max(self.budget.read_bytes.get())).unwrap_or(u32::MAX)
    }

    /// Returns whether more than half of a budget is spent: then the step begins no further work.
    pub fn is_half_spent(&self) -> bool {
        let Spent { changes, changed_bytes } = self.spent.get();
        let (reads, read_bytes) = (self.budget.reads.get(), self.budget.read_bytes.get());
        changes > CHANGES_MAX / 2
            || changed_bytes > CHANGED_BYTES_MAX / 2
            || reads > READS_MAX / 2
            || read_bytes > READ_BYTES_MAX / 2
    }

    fn change(&self, key: Key, value: Option<Bytes>) -> Result<(), Stop> {
        let mut spent = self.spent.get();
        spent.changed_bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        let mut changed = self.changed.borrow_mut();
        if let Some(before) = self.before.borrow_mut().as_mut() {
            before.push((key.clone(), changed.own(&key)));
        }
        spent.changes += usize::from(changed.set(key, value));
        self.spent.set(spent);
        let is_over = spent.changes > CHANGES_MAX || spent.changed_bytes > CHANGED_BYTES_MAX;
        if is_over { Err(Stop::OverBudget) } else { Ok(()) }
    }

    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.changed.borrow().get(&self.budget, keys)
    }

    fn get_with(&self, keys: &[Key], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        self.changed.borrow().get_with(&self.budget, keys, look)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.changed.borrow().scan(&self.budget, range, order, limit)
    }

    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        self.changed.borrow().scan_with(&self.budget, range, order, limit, visit)
    }
}

impl Budget<'_> {
    fn spend(&self, reads: usize, bytes: usize) -> Result<(), Stop> {
        self.reads.set(self.reads.get() + reads);
        self.read_bytes.set(self.read_bytes.get() + bytes);
        let is_over = self.reads.get() > READS_MAX || self.read_bytes.get() > READ_BYTES_MAX;
        if is_over { Err(Stop::OverBudget) } else { Ok(()) }
    }

    /// Returns what was spent, and resets it.
    fn take(&self) -> (usize, usize) {
        (self.reads.take(), self.read_bytes.take())
    }

    /// Adds back what was spent before.
    fn give_back(&self, (reads, bytes): (usize, usize)) {
        self.reads.set(self.reads.get() + reads);
        self.read_bytes.set(self.read_bytes.get() + bytes);
    }
}

impl View for Budget<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.spend(keys.len(), 0)?;
        let found = self.view.get(keys)?;
        self.spend(0, found.iter().flatten().map(Vec::len).sum())?;
        Ok(found)
    }

    fn get_with(&self, keys: &[Key], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        self.spend(keys.len(), 0)?;
        self.view.get_with(keys, &mut |at, value| {
            self.spend(0, value.len())?;
            look(at, value)
        })
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        let rows = self.view.scan(range, order, limit)?;
        self.spend(1 + rows.len(), rows.iter().map(|(key, value)| key.len() + value.len()).sum())?;
        Ok(rows)
    }

    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        self.spend(1, 0)?;
        self.view.scan_with(range, order, limit, &mut |key, value| {
            self.spend(1, key.len() + value.len())?;
            visit(key, value)
        })
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.view.admit(caller)
    }

    fn is_full(&self) -> bool {
        self.view.is_full()
    }
}

/// Returns whether one scan reads these numbers faster than a read by key for each: they ascend or descend, close to
/// each other.
fn is_dense_run(numbers: &[u32]) -> bool {
    /// Keys that a scan may cover for each that is wanted: passing over a row costs half of a read by key.
    const PASSED: usize = 2;
    let [first, _, .., last] = *numbers else { return false };
    let is_sorted = numbers.is_sorted_by(|one, next| one < next) || numbers.is_sorted_by(|one, next| one > next);
    is_sorted && (first.abs_diff(last) as usize) < numbers.len() * PASSED
}

/// One space of a step: an account's handlers have only their own, so they cannot name a row of another account.
#[derive(Clone, Copy)]
pub struct Scope<'t> {
    tx: &'t Tx<'t>,
    space: Space,
}

impl<'t> Scope<'t> {
    /// Returns the space that this scope reads and writes.
    pub fn space(self) -> Space {
        self.space
    }

    /// Returns whether its rows are here, as [`View::owns`] says.
    pub fn is_here(self) -> bool {
        match self.space {
            Space::Account(account) => self.tx.view().owns(account),
            _ => true,
        }
    }

    /// Returns the number of the account whose rows it reads and writes.
    pub fn account_number(self) -> Result<u32, Stop> {
        match self.space {
            Space::Account(number) => Ok(number),
            Space::Root | Space::Memory => Err(Stop::Corrupt("rows of an account stand elsewhere")),
        }
    }

    /// Returns whether the host's disk is full: then work that can wait is postponed.
    pub fn is_disk_full(self) -> bool {
        self.tx.budget.view.is_full()
    }

    /// Returns the time of the step.
    pub fn now(self) -> Timestamp {
        self.tx.now
    }

    /// Returns the values of `keys`, in their order.
    pub fn get_many(self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        keys.iter().for_each(|key| self.own(key));
        self.tx.get(keys)
    }

    /// Visits the values of `numbers` in a series, in their order, each with its index; returns whether all exist.
    pub fn each_of(
        self,
        series: &Series,
        numbers: &[u32],
        mut visit: impl FnMut(usize, &[u8]) -> Result<(), Stop>,
    ) -> Result<bool, Stop> {
        self.own(series.prefix());
        let mut visited = 0;
        let mut counted = |at: usize, value: &[u8]| {
            visited += 1;
            visit(at, value)
        };
        if is_dense_run(numbers) {
            self.scan_run(series, numbers, &mut counted)?;
        } else {
            let keys: Vec<_> = numbers.iter().map(|number| series.key(*number)).collect();
            self.tx.get_with(&keys, &mut counted)?;
        }
        Ok(visited == numbers.len())
    }

    /// Visits the values of an ascending or descending run of numbers with one scan, passing over rows between them.
    fn scan_run(self, series: &Series, run: &[u32], visit: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        let [first, .., last] = *run else { return Ok(()) };
        let (from, to) = (series.key(first), series.key(last));
        let (order, (low, high)) =
            if from < to { (Order::Ascending, (from, to)) } else { (Order::Descending, (to, from)) };
        let limit = first.abs_diff(last) as usize + 1;
        let mut left = run.iter().copied().enumerate().peekable();
        self.tx.scan_with(low..[high.as_slice(), &[0]].concat(), order, limit, &mut |key, value| {
            let Some(found) = series.number(key) else { return Ok(()) };
            let is_passed = |wanted: u32| if first < last { wanted < found } else { wanted > found };
            while left.next_if(|(_, wanted)| is_passed(*wanted)).is_some() {}
            let Some((at, _)) = left.next_if(|(_, wanted)| *wanted == found) else { return Ok(()) };
            visit(at, value)
        })
    }

    /// Returns the value of a key.
    pub fn get(self, key: Key) -> Result<Option<Bytes>, Stop> {
        Ok(self.get_many(&[key])?.into_iter().next().flatten())
    }

    /// Returns at most `limit` rows of a range, in `order`.
    pub fn scan(self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.own(&range.start);
        self.tx.scan(range, order, limit)
    }

    /// Sets the value of a key.
    pub fn put(self, key: Key, value: Bytes) -> Result<(), Stop> {
        self.own(&key);
        self.tx.change(key, Some(value))
    }

    /// Sets the value of a key known to have none, which saves reading it when stored bytes are counted.
    pub fn put_new(self, key: Key, value: Bytes) -> Result<(), Stop> {
        self.tx.note_before(&key, 0);
        self.put(key, value)
    }

    /// Sets or, with `None`, removes the value of a key known to have one of `bytes` bytes, which saves reading it when
    /// stored bytes are counted.
    pub(crate) fn put_over(self, key: Key, bytes: usize, value: Option<Bytes>) -> Result<(), Stop> {
        self.own(&key);
        self.tx.note_before(&key, key.len() + bytes);
        self.tx.change(key, value)
    }

    /// Removes a key, present or not.
    pub fn delete(self, key: Key) -> Result<(), Stop> {
        self.own(&key);
        self.tx.change(key, None)
    }

    /// Runs work that may stop without stopping the step: see [`Tx::attempt`].
    pub fn attempt<T>(self, work: impl FnOnce() -> Result<T, Stop>) -> Result<Result<T, Stop>, Stop> {
        self.tx.attempt(work)
    }

    /// Returns another space of the same step, for the few places that cross: those in `root.rs`.
    pub(crate) fn other(self, space: Space) -> Scope<'t> {
        self.tx.scope(space)
    }

    fn own(self, key: &[u8]) {
        assert!(space_of(key) == Some(self.space), "a scope reads and writes its own space only");
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

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
    fn an_attempt_that_stops_changes_nothing_and_spends_its_own_budget() {
        let mut memory = Memory::default();
        let key = |count: u32| key::row(Space::Root, Kind::Plan, count);
        memory.apply(&[Change::Put(key(1), vec![1])]);
        let tx = Tx::new(&memory);
        let scope = tx.scope(Space::Root);
        scope.put(key(2), vec![2]).expect("it fits");
        for stop in [Stop::Corrupt("a row"), Stop::OverBudget] {
            let stopped = scope.attempt(|| {
                scope.put(key(2), vec![9])?;
                scope.put(key(3), vec![9])?;
                scope.delete(key(1))?;
                Err::<(), _>(stop.clone())
            });
            assert_eq!(stopped, Ok(Err(stop)));
            let left = scope.get_many(&[key(1), key(2), key(3)]);
            assert_eq!(left, Ok(vec![Some(vec![1]), Some(vec![2]), None]));
        }
        assert_eq!(scope.attempt(|| Err::<(), _>(Stop::Failed)), Err(Stop::Failed), "the host's to answer");
        let too_many = vec![key(7); READS_MAX + 1];
        assert_eq!(scope.attempt(|| scope.get_many(&too_many)), Ok(Err(Stop::OverBudget)));
        let too_large = || vec![0; CHANGED_BYTES_MAX];
        assert_eq!(scope.attempt(|| scope.put(key(3), too_large())), Ok(Err(Stop::OverBudget)));
        assert_eq!(scope.attempt(|| scope.put(key(3), vec![3])), Ok(Ok(())), "another one has a budget of its own");
        assert!(tx.is_half_spent(), "and the step begins nothing more");
        assert_eq!(tx.changes(), [Change::Put(key(2), vec![2]), Change::Put(key(3), vec![3])]);
    }

    #[test]
    fn rows_are_shown_in_the_order_of_their_numbers() {
        let rows = key::rows(Space::Root, Kind::Plan);
        let row = |count: u32| rows.key(count);
        let mut memory = Memory::default();
        let stored =
            (0..40).filter(|count| count % 10 != 9).map(|count| Change::Put(row(count), count.to_le_bytes().into()));
        memory.apply(&stored.collect::<Vec<_>>());
        let near: &[u32] = &[3, 4, 6, 8, 9, 11];
        for numbers in [near, &[1, 20, 38], &[5, 3], &[5, 3, 4], &[6, 6, 8, 8], &[7], &[]] {
            for changed in [false, true] {
                let tx = Tx::new(&memory);
                let scope = tx.scope(Space::Root);
                if changed {
                    assert_eq!((scope.delete(row(4)), scope.put(row(9), vec![9])), (Ok(()), Ok(())));
                }
                let value = |count: u32| match count {
                    4 if changed => None,
                    9 => changed.then(|| vec![9]),
                    count => Some(count.to_le_bytes().to_vec()),
                };
                for numbers in [numbers.to_vec(), numbers.iter().rev().copied().collect()] {
                    let mut shown = Vec::new();
                    let all = scope.each_of(&rows, &numbers, |at, value| {
                        shown.push((at, value.to_vec()));
                        Ok(())
                    });
                    let there = |(at, count): (usize, &u32)| Some((at, value(*count)?));
                    let want: Vec<_> = numbers.iter().enumerate().filter_map(there).collect();
                    assert_eq!((all, &shown), (Ok(want.len() == numbers.len()), &want), "{numbers:?}");
                }
            }
        }
        let tx = Tx::new(&memory);
        let stopped =
            tx.scope(Space::Root).each_of(&rows, &[1, 2, 3], |at, _| if at < 1 { Ok(()) } else { Err(Stop::Failed) });
        assert_eq!(stopped, Err(Stop::Failed));
    }

    #[test]
    #[should_panic(expected = "its own space only")]
    fn a_row_of_another_account_has_no_name() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let _ = tx.scope(Space::Account(1)).get(crate::key::ledger(Space::Account(2)));
    }
}
