//! [`Write`]: an open write transaction of a store. There is one at a time.
//!
//! Changes are laid over a snapshot and stay in memory until the commit: a row that many inputs of a group change, such
//! as the set of all calls, is written once.

use std::ops::Range;
use std::sync::Arc;

use redb::WriteTransaction;
use switchboard_core::key::Key;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::{Change, Layer};
use switchboard_core::view::{Bytes, Order, RowVisitor, Stop, ValueVisitor, View};

use super::memory::{MemoryRows, parted};
use super::rows::{Admission, RowsView, Snapshot};
use super::{Latest, ROWS, Store, StoreError, failed, refused};
use crate::seal::Seal;

const UNDROPPED: &str = "a write could not be dropped";

/// An open write: its changes become visible to new snapshots at the commit, all at once.
pub struct Write {
    transaction: WriteTransaction,
    before: Snapshot,
    changed: Layer,
    latest: Arc<Latest>,
    seal: Arc<Seal>,
    memory: Arc<MemoryRows>,
}

impl Store {
    /// Begins a write; waits while another one is open.
    pub fn begin(&self) -> Result<Write, StoreError> {
        self.with_database(|database| {
            let transaction = super::begin(database)?;
            Ok(Write {
                transaction,
                // Nobody commits while this write is open, so the snapshot is exactly its base.
                before: self.snapshot_of(database)?,
                changed: Layer::default(),
                latest: Arc::clone(&self.latest),
                seal: Arc::clone(&self.seal),
                memory: Arc::clone(&self.memory),
            })
        })
    }
}

impl Write {
    /// Returns a view of the rows with this write's changes.
    pub fn view<'w>(&'w self, limits: Option<&'w Admission<'w>>) -> WriteView<'w> {
        WriteView { before: self.before.view(limits), changed: &self.changed }
    }

    /// Adds the changes of a step.
    pub fn apply(&mut self, changes: Vec<Change>) {
        self.changed.apply(changes);
    }

    /// Returns whether there is anything to commit.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Commits the changes durably, but for those of rows in memory: if there are no others, the disk is left alone.
    pub fn commit(self) -> Result<(), StoreError> {
        let Self { transaction, before, changed, latest, seal, memory } = self;
        // Drop the snapshot first: a commit frees no page that a reader may still use.
        drop(before);
        let (durable, volatile) = parted(changed.into_changes());
        if durable.is_empty() {
            transaction.abort().map_err(refused(UNDROPPED))?;
        } else {
            put(&transaction, durable, &seal)?;
            committed(transaction, &latest)?;
        }
        memory.apply(&volatile);
        Ok(())
    }

    /// Drops the changes.
    pub fn abort(self) -> Result<(), StoreError> {
        self.transaction.abort().map_err(refused(UNDROPPED))
    }
}

/// Commits a transaction and clears the shared snapshot.
pub(super) fn committed(transaction: WriteTransaction, latest: &Latest) -> Result<(), StoreError> {
    let committed = transaction.commit().map_err(refused("a commit failed"));
    // Also after a failure: the commit may have reached the disk all the same.
    latest.forget();
    committed
}

/// Writes changes to the table, sealing those that hold secrets.
fn put(transaction: &WriteTransaction, changes: Vec<Change>, seal: &Seal) -> Result<(), StoreError> {
    let mut table = transaction.open_table(ROWS).map_err(refused("the table cannot be opened"))?;
    for change in changes {
        match change {
            Change::Put(at, value) => {
                let sealed = seal.seal(&at, &value).map_err(failed("a value cannot be sealed"))?;
                table.insert(at.as_slice(), sealed.as_deref().unwrap_or(&value)).map(drop)
            }
            Change::Delete(at) => table.remove(at.as_slice()).map(drop),
        }
        .map_err(refused("a change failed"))?;
    }
    Ok(())
}

/// View of an open write: its changes over the snapshot it began with.
pub struct WriteView<'w> {
    before: RowsView<'w>,
    changed: &'w Layer,
}

impl View for WriteView<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.changed.get(&self.before, keys)
    }

    fn get_with(&self, keys: &[Key], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        self.changed.get_with(&self.before, keys, look)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.changed.scan(&self.before, range, order, limit)
    }

    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        self.changed.scan_with(&self.before, range, order, limit, visit)
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.before.admit(caller)
    }

    fn is_full(&self) -> bool {
        self.before.is_full()
    }
}
