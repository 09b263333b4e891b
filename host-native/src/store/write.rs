//! [`Write`]: an open write of a store. There is one at a time.
//!
//! Changes are laid over a snapshot and stay in memory until the commit: a row that many inputs of a group change, such
//! as the set of all calls, is written once.

use std::ops::Range;
use std::sync::Arc;

use switchboard_core::key::Key;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::{Change, Layer};
use switchboard_core::view::{Bytes, Order, RowVisitor, Stop, ValueVisitor, View};

use super::backend::OpenWrite;
use super::memory::{MemoryRows, parted};
use super::rows::{Admission, RowsView};
use super::{Store, StoreError, failed};
use crate::seal::Seal;

/// An open write: its changes become visible to new snapshots at the commit, all at once.
pub struct Write {
    open: Box<dyn OpenWrite>,
    changed: Layer,
    seal: Arc<Seal>,
    memory: Arc<MemoryRows>,
}

impl Store {
    /// Begins a write; waits while another one is open.
    pub fn begin(&self) -> Result<Write, StoreError> {
        let open = self.backend.begin()?;
        let (seal, memory) = (Arc::clone(&self.seal), Arc::clone(&self.memory));
        Ok(Write { open, changed: Layer::default(), seal, memory })
    }
}

impl Write {
    /// Returns a view of the rows with this write's changes.
    pub fn view<'w>(&'w self, limits: Option<&'w Admission<'w>>) -> Result<WriteView<'w>, StoreError> {
        let before = RowsView::of(self.open.picture()?, &self.seal, &self.memory, limits);
        Ok(WriteView { before, changed: &self.changed })
    }

    /// Adds the changes of a step.
    pub fn apply(&mut self, changes: Vec<Change>) {
        self.changed.apply(changes);
    }

    /// Returns whether there is anything to commit.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Commits the changes durably, but for those of rows in memory: if there are no others, the backend is left alone.
    pub fn commit(self) -> Result<(), StoreError> {
        let Self { open, changed, seal, memory } = self;
        let (durable, volatile) = parted(changed.into_changes());
        if durable.is_empty() {
            open.abort()?;
        } else {
            let durable = durable.into_iter().map(|change| sealed(&seal, change)).collect::<Result<_, _>>()?;
            open.commit(durable, Vec::new())?;
        }
        memory.apply(&volatile);
        Ok(())
    }

    /// Drops the changes.
    pub fn abort(self) -> Result<(), StoreError> {
        self.open.abort()
    }
}

/// Seals a value that holds secrets.
fn sealed(seal: &Seal, change: Change) -> Result<Change, StoreError> {
    let Change::Put(at, value) = change else { return Ok(change) };
    let sealed = seal.seal(&at, &value).map_err(failed("a value cannot be sealed"))?;
    Ok(Change::Put(at, sealed.unwrap_or(value)))
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

    fn owns(&self, account: u32) -> bool {
        self.before.owns(account)
    }
}
