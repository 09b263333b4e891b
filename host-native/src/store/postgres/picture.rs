//! [`Rows`]: what a lane has at hand, of one moment, in its part of the [`RowMemory`]; [`Now`]: the view of a step on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{ArcRwLockReadGuard, RawRwLock};
use switchboard_core::key::{self, Space};
use switchboard_core::store::Change;
use switchboard_core::view::{RowVisitor, Scan, Stop};

use super::fence::Id;
use super::place::{self, Slots};
use super::rows::KnownRows;
use super::shared::{LogPoint, Logged};
use crate::store::backend::Picture;

/// Memory of a process for rows, bytes.
const MEMORY_BYTES: usize = 256 << 20;
/// Entries that are looked at for one to forget, after each change of what is at hand: a reader waits for no more.
const LOOKS: usize = 4_096;

/// The memory of a process for rows: each of its lanes has an equal part.
#[derive(Clone, Default)]
pub(super) struct RowMemory {
    lanes: Arc<AtomicUsize>,
}

/// A lane's part of it, until it is dropped.
struct MemoryPart(RowMemory);

impl RowMemory {
    /// Takes a part, by which those of the other lanes become smaller.
    fn part(&self) -> MemoryPart {
        self.lanes.fetch_add(1, Ordering::Relaxed);
        MemoryPart(self.clone())
    }
}

impl MemoryPart {
    fn bytes(&self) -> usize {
        MEMORY_BYTES / self.0.lanes.load(Ordering::Relaxed).max(1)
    }
}

impl Drop for MemoryPart {
    fn drop(&mut self) {
        self.0.lanes.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How far a lane's rows and the shared rows have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// Commits of the lane.
    pub seq: i64,
    /// The last change of shared rows.
    pub shared: LogPoint,
}

/// Rows at hand, of one moment.
pub(super) struct Rows {
    pub known: KnownRows,
    pub at: Moment,
    /// The last change of shared rows that a standby is known to have.
    pub sure: LogPoint,
    memory: MemoryPart,
    /// The moment when rows were last forgotten: what was read before may be older than what they said.
    forgotten: Moment,
}

impl Rows {
    /// Begins with what is known of a lane that was just made, after a change of shared rows.
    pub fn of(known: KnownRows, shared: LogPoint, memory: &RowMemory) -> Self {
        let at = Moment { seq: 0, shared };
        Self { known, at, sure: shared, memory: memory.part(), forgotten: at }
    }

    /// Returns whether what was read at a moment may be added.
    pub fn takes(&self, read: Moment) -> bool {
        read.seq >= self.forgotten.seq && read.shared.seq >= self.forgotten.shared.seq
    }

    /// Applies what the lane has committed, with a mark if shared rows are among it.
    pub fn apply(&mut self, changes: Vec<Change>, mark: Option<Id>, seq: i64) {
        if let Some(mark) = mark {
            self.at.shared = self.at.shared.next(mark);
            self.be_sure(self.at.shared);
        }
        self.known.apply(changes);
        self.at.seq = seq;
        self.shrink();
    }

    /// Notes that a standby has a change of shared rows.
    pub fn be_sure(&mut self, shared: LogPoint) {
        if shared.seq > self.sure.seq {
            self.sure = shared;
        }
    }

    /// Applies what other lanes have changed of the shared rows.
    pub fn learn(&mut self, logged: Logged) {
        self.at.shared = logged.last;
        if let Some(changes) = logged.changes {
            self.known.apply(changes);
        } else {
            place::shared().for_each(|range| self.known.forget_in(&range));
            self.forgotten = self.at;
        }
    }

    /// Forgets some of what was not used for longest if there is more than the lane's part; returns whether more is left.
    pub fn shrink(&mut self) -> bool {
        let most = self.memory.bytes();
        if self.known.shrink(most, LOOKS) {
            self.forgotten = self.at;
        }
        self.known.bytes() > most
    }
}

/// The rows at hand, which nobody changes meanwhile.
pub(super) struct Now {
    rows: ArcRwLockReadGuard<RawRwLock, Rows>,
    slots: Arc<Slots>,
    /// Whether a shared row was looked at.
    is_shared: Arc<AtomicBool>,
}

impl Now {
    pub fn of(rows: ArcRwLockReadGuard<RawRwLock, Rows>, slots: &Arc<Slots>, is_shared: Arc<AtomicBool>) -> Self {
        Self { rows, slots: Arc::clone(slots), is_shared }
    }

    /// Stops a look at a row that another lane has.
    fn check(&self, key: &[u8]) -> Result<(), Stop> {
        if self.slots.is_all() {
            return Ok(());
        }
        match key::space_of(key) {
            Some(Space::Account(account)) if !self.slots.has(account) => return Err(Stop::Elsewhere(account)),
            Some(Space::Root) if place::is_shared(key) => self.is_shared.store(true, Ordering::Relaxed),
            _ => {}
        }
        Ok(())
    }
}

impl Picture for Now {
    fn get(&self, key: &[u8], look: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        self.check(key)?;
        self.rows.known.get(key)?.map_or(Ok(()), look)
    }

    fn scan(&self, scan: Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        self.check(&scan.from)?;
        self.rows.known.scan(scan, visit)
    }

    fn owns(&self, account: u32) -> bool {
        self.slots.has(account)
    }

    fn shared(&self) -> Option<i64> {
        self.is_shared.load(Ordering::Relaxed).then_some(self.rows.at.shared.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_share_the_memory_of_their_process() {
        let memory = RowMemory::default();
        let rows = || Rows::of(KnownRows::default(), LogPoint::default(), &memory);
        let first = rows();
        assert_eq!(first.memory.bytes(), MEMORY_BYTES);
        let others = [rows(), rows(), rows()];
        assert_eq!(first.memory.bytes(), MEMORY_BYTES / 4);
        drop(others);
        assert_eq!(first.memory.bytes(), MEMORY_BYTES);
    }

    #[test]
    fn a_lane_gives_up_what_is_another_one_s_part_now() {
        let memory = RowMemory::default();
        let mut rows = Rows::of(KnownRows::default(), LogPoint::default(), &memory);
        let value = vec![0; MEMORY_BYTES / 64];
        let changes = (0..40_u8).map(|key| Change::Put(vec![key], value.clone())).collect();
        rows.apply(changes, None, 1);
        assert!(rows.known.bytes() > MEMORY_BYTES / 2, "it has room for all");
        let other = Rows::of(KnownRows::default(), LogPoint::default(), &memory);
        while rows.shrink() {}
        assert!(rows.known.bytes() <= MEMORY_BYTES / 2);
        drop(other);
        assert!(!rows.shrink());
    }
}
