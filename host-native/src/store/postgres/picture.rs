//! [`Rows`]: what a lane has at hand, of one moment; [`Now`]: the view of a step on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{ArcRwLockReadGuard, RawRwLock};
use switchboard_core::key::{self, Space};
use switchboard_core::store::Change;
use switchboard_core::view::{RowVisitor, Scan, Stop};

use super::place::{self, Slots};
use super::rows::KnownRows;
use super::shared::Logged;
use crate::store::backend::Picture;

/// Memory for rows, bytes.
const MEMORY_BYTES: usize = 256 << 20;
/// Entries that are looked at for one to forget, after each change of what is at hand: a reader waits for no more.
const LOOKS: usize = 4_096;

/// How far a lane's rows and the shared rows have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moment {
    /// Commits of the lane.
    pub seq: i64,
    /// Changes of shared rows.
    pub shared: i64,
}

/// Rows at hand, of one moment.
pub(super) struct Rows {
    pub known: KnownRows,
    pub at: Moment,
    /// The moment when rows were last forgotten: what was read before may be older than what they said.
    forgotten: Moment,
}

impl Rows {
    /// Begins with what is known of a lane that was just made, after so many changes of shared rows.
    pub fn of(known: KnownRows, shared: i64) -> Self {
        let at = Moment { seq: 0, shared };
        Self { known, at, forgotten: at }
    }

    /// Returns whether what was read at a moment may be added.
    pub fn takes(&self, read: Moment) -> bool {
        read.seq >= self.forgotten.seq && read.shared >= self.forgotten.shared
    }

    /// Applies what the lane has committed.
    pub fn apply(&mut self, changes: Vec<Change>, seq: i64) {
        if changes.iter().any(|change| place::is_shared(change.key())) {
            self.at.shared += 1;
        }
        self.known.apply(changes);
        self.at.seq = seq;
        self.shrink();
    }

    /// Applies what other lanes have changed of the shared rows.
    pub fn learn(&mut self, logged: Logged) {
        self.at.shared = logged.seq;
        if let Some(changes) = logged.changes {
            self.known.apply(changes);
        } else {
            place::shared().for_each(|range| self.known.forget_in(&range));
            self.forgotten = self.at;
        }
    }

    pub fn shrink(&mut self) {
        if self.known.shrink(MEMORY_BYTES, LOOKS) {
            self.forgotten = self.at;
        }
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
        self.is_shared.load(Ordering::Relaxed).then_some(self.rows.at.shared)
    }
}
