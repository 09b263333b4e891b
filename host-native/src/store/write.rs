//! [`Write`]: an open write of a store, and [`Commit`], what becomes of it. There is one at a time.
//!
//! Changes are laid over a snapshot and stay in memory until the commit: a row that many inputs of a group change, such
//! as the set of all calls, is written once. The next write may be decided while a commit is under way: over what that
//! one changes, so it is worth nothing if that one fails. Whether the snapshot has those changes already makes no
//! difference: laid over it, they are as they are.

use std::ops::Range;
use std::sync::Arc;

use switchboard_core::key::Key;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::{Change, Layer};
use switchboard_core::view::{Bytes, Order, RowVisitor, Stop, ValueVisitor, View};

use super::backend::{NextWrite, OpenWrite};
use super::memory::{MemoryRows, parted};
use super::rows::{Admission, RowsView};
use super::{Store, StoreError, failed};
use crate::seal::Seal;

/// An open write: its changes become visible to new snapshots at the commit, all at once.
pub struct Write<'s> {
    store: &'s Store,
    base: Base,
    changed: Layer,
}

/// What a write is laid over.
enum Base {
    /// All that was committed.
    Committed(Box<dyn OpenWrite>),
    /// What a commit changes that is under way, over all that was committed before it.
    UnderWay(Box<dyn NextWrite>, Arc<Layer>),
}

impl Store {
    /// Begins a write; waits while another one is open.
    pub fn begin(&self) -> Result<Write<'_>, StoreError> {
        Ok(Write { store: self, base: Base::Committed(self.backend.begin()?), changed: Layer::default() })
    }

    /// Begins the write after a commit that is about to be made, before it is: it is to be dropped if that one fails, and
    /// committed only once that one was made.
    pub fn begin_over(&self, commit: &Commit) -> Write<'_> {
        let base = Base::UnderWay(commit.open.next(), Arc::clone(&commit.changed));
        Write { store: self, base, changed: Layer::default() }
    }
}

impl Write<'_> {
    /// Returns a view of the rows with this write's changes.
    pub fn view<'w>(&'w self, limits: Option<&'w Admission<'w>>) -> Result<WriteView<'w>, StoreError> {
        let (picture, under_way) = match &self.base {
            Base::Committed(open) => (open.picture()?, None),
            Base::UnderWay(next, changed) => (next.picture()?, Some(&**changed)),
        };
        let rows = RowsView::of(picture, &self.store.seal, &self.store.memory, limits);
        Ok(Laid { below: Laid { below: rows, changed: under_way }, changed: Some(&self.changed) })
    }

    /// Adds the changes of a step.
    pub fn apply(&mut self, changes: Vec<Change>) {
        self.changed.apply(changes);
    }

    /// Returns whether there is anything to commit.
    pub fn is_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Returns the commit of its changes.
    pub fn into_commit(self) -> Result<Commit, StoreError> {
        let Self { store, base, changed } = self;
        let (seal, memory) = (Arc::clone(&store.seal), Arc::clone(&store.memory));
        Ok(Commit { open: base.begun()?, changed: Arc::new(changed), seal, memory })
    }

    /// Commits the changes durably.
    pub fn commit(self) -> Result<(), StoreError> {
        self.into_commit()?.make()
    }

    /// Drops the changes.
    pub fn abort(self) -> Result<(), StoreError> {
        self.base.begun()?.abort()
    }
}

impl Base {
    fn begun(self) -> Result<Box<dyn OpenWrite>, StoreError> {
        match self {
            Self::Committed(open) => Ok(open),
            Self::UnderWay(next, _) => next.begin(),
        }
    }
}

/// The commit of a write, which any thread may make.
pub struct Commit {
    open: Box<dyn OpenWrite>,
    changed: Arc<Layer>,
    seal: Arc<Seal>,
    memory: Arc<MemoryRows>,
}

impl Commit {
    /// Commits the changes durably, but for those of rows in memory: if there are no others, the backend is left alone.
    pub fn make(self) -> Result<(), StoreError> {
        let Self { open, changed, seal, memory } = self;
        let changed = Arc::try_unwrap(changed).unwrap_or_else(|shared| (*shared).clone());
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
}

/// Seals a value that holds secrets.
fn sealed(seal: &Seal, change: Change) -> Result<Change, StoreError> {
    let Change::Put(at, value) = change else { return Ok(change) };
    let sealed = seal.seal(&at, &value).map_err(failed("a value cannot be sealed"))?;
    Ok(Change::Put(at, sealed.unwrap_or(value)))
}

/// View of an open write: its changes, and those under way, over a snapshot.
pub type WriteView<'w> = Laid<'w, Laid<'w, RowsView<'w>>>;

/// A view with changes laid over it, if there are any.
pub struct Laid<'l, V> {
    below: V,
    changed: Option<&'l Layer>,
}

impl<V: View> View for Laid<'_, V> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.changed.map_or_else(|| self.below.get(keys), |changed| changed.get(&self.below, keys))
    }

    fn get_with(&self, keys: &[Key], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        match self.changed {
            Some(changed) => changed.get_with(&self.below, keys, look),
            None => self.below.get_with(keys, look),
        }
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        match self.changed {
            Some(changed) => changed.scan(&self.below, range, order, limit),
            None => self.below.scan(range, order, limit),
        }
    }

    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        match self.changed {
            Some(changed) => changed.scan_with(&self.below, range, order, limit, visit),
            None => self.below.scan_with(range, order, limit, visit),
        }
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.below.admit(caller)
    }

    fn is_full(&self) -> bool {
        self.below.is_full()
    }

    fn owns(&self, account: u32) -> bool {
        self.below.owns(account)
    }
}
