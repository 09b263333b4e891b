//! Rows of a store behind the core's [`View`]. Sealed values are opened here.

use std::ops::Range;
use std::sync::Arc;

use switchboard_core::http::caller::Credential;
use switchboard_core::key::{self, Key};
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, RowVisitor, Scan, Stop, ValueVisitor, View, copies};

use super::StoreError;
use super::backend::Picture;
use super::memory::MemoryRows;
use crate::large::LargeReads;
use crate::limiter::{Limiter, RateDecisions};
use crate::seal::{Seal, sealed_with};

/// Callback for each row as stored, key and value.
pub type StoredVisitor<'v> = dyn FnMut(&[u8], &[u8]) -> Result<(), StoreError> + 'v;

/// A consistent snapshot of all rows that the backend keeps; rows in memory are those of the moment, which only the
/// writer changes.
pub struct Snapshot {
    picture: Arc<dyn Picture>,
    seal: Arc<Seal>,
    memory: Arc<MemoryRows>,
}

impl Snapshot {
    pub(super) fn of(picture: Arc<dyn Picture>, seal: Arc<Seal>, memory: Arc<MemoryRows>) -> Self {
        Self { picture, seal, memory }
    }

    /// Returns at most `limit` rows as stored, sealed ones still sealed: for backups.
    pub fn stored(&self, range: Range<Key>, limit: usize) -> Result<Vec<(Key, Bytes)>, StoreError> {
        let scan = Scan { from: range.start, to: range.end, order: Order::Ascending, limit };
        copies(|visit| self.picture.scan(scan, visit)).map_err(|stop| unread(&stop))
    }

    /// Shows every row as stored, in the order of their keys: for backups and copies.
    pub fn each_stored(&self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        shown_stored(&*self.picture, visit)
    }

    /// Returns after which change of shared rows it is, if it has shown one and others may change them.
    pub fn shared(&self) -> Option<i64> {
        self.picture.shared()
    }

    /// Returns the view for one exchange; without `limits` nobody is rate-limited.
    pub fn view<'v>(&'v self, limits: Option<&'v Admission<'v>>) -> RowsView<'v> {
        RowsView::of(Arc::clone(&self.picture), &self.seal, &self.memory, limits)
    }
}

/// Shows every row of a picture as stored, in the order of their keys.
pub(super) fn shown_stored(picture: &dyn Picture, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
    let Range { start: from, end: to } = key::everything();
    let scan = Scan { from, to, order: Order::Ascending, limit: usize::MAX };
    let mut refused = None;
    let shown = picture.scan(scan, &mut |key, value| {
        visit(key, value).map_err(|error| {
            refused = Some(error);
            Stop::Failed
        })
    });
    match refused {
        Some(error) => Err(error),
        None => shown.map_err(|stop| unread(&stop)),
    }
}

fn unread(stop: &Stop) -> StoreError {
    StoreError::stopped("the store cannot be read", stop)
}

/// Rate limits and load of the host, as one exchange sees them.
pub struct Admission<'l> {
    /// Buckets of all callers.
    pub limiter: &'l Limiter,
    /// Rate decisions made for this exchange so far.
    pub told: &'l RateDecisions,
    /// Time of the step, at which buckets are asked.
    pub now: Timestamp,
    /// Whether the disk is full, see [`View::is_full`].
    pub full: bool,
    /// Accounts that read much: their step stops with [`Stop::Missing`] until its turn. `None`: the turn has come, or
    /// does not matter.
    pub large: Option<&'l LargeReads>,
}

/// View of a snapshot.
pub struct RowsView<'v> {
    picture: Arc<dyn Picture>,
    seal: &'v Seal,
    memory: &'v MemoryRows,
    limits: Option<&'v Admission<'v>>,
}

impl<'v> RowsView<'v> {
    pub(super) fn of(
        picture: Arc<dyn Picture>,
        seal: &'v Seal,
        memory: &'v MemoryRows,
        limits: Option<&'v Admission<'v>>,
    ) -> Self {
        Self { picture, seal, memory, limits }
    }
}

impl View for RowsView<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        let mut found = vec![None; keys.len()];
        self.get_with(keys, &mut |at, value| {
            found[at] = Some(value.to_vec());
            Ok(())
        })?;
        Ok(found)
    }

    fn get_with(&self, keys: &[Key], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        let mut missing = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            if key::is_memory(key) {
                self.memory.get(key)?.map_or(Ok(()), |value| look(at, &value))?;
                continue;
            }
            match self.picture.get(key, &mut |stored| opened(self.seal, key, stored, &mut |value| look(at, value))) {
                // All that is missing is asked for at once.
                Err(Stop::Missing(reads)) => missing.extend(reads),
                looked => looked?,
            }
        }
        if missing.is_empty() { Ok(()) } else { Err(Stop::Missing(missing)) }
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        copies(|visit| self.scan_with(range, order, limit, visit))
    }

    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        if key::is_memory(&range.start) {
            let rows = self.memory.scan(range, order, limit)?;
            return rows.iter().try_for_each(|(key, value)| visit(key, value));
        }
        let scan = Scan { from: range.start, to: range.end, order, limit };
        self.picture.scan(scan, &mut |key, stored| opened(self.seal, key, stored, &mut |value| visit(key, value)))
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        let Some(limits) = self.limits else { return Ok(None) };
        let rate = limits.limiter.admit(caller, limits.now, limits.told);
        let account = Credential::of_bucket(caller).map(|credential| credential.account);
        match limits.large.zip(account) {
            // `Host::read` takes a turn and runs the step again.
            Some((large, account)) if large.knows(account) => Err(Stop::Missing(Vec::new())),
            _ => Ok(rate),
        }
    }

    fn is_full(&self) -> bool {
        self.limits.is_some_and(|limits| limits.full)
    }

    fn owns(&self, account: u32) -> bool {
        self.picture.owns(account)
    }
}

/// Calls `look` with the value in clear, opened if it is sealed.
fn opened(seal: &Seal, at: &[u8], stored: &[u8], look: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
    if sealed_with(at, stored).is_none() {
        return look(stored);
    }
    let value = seal.open(at, stored).map_err(|unopened| {
        tracing::error!(?unopened, "a sealed value does not open");
        Stop::Corrupt("a sealed value does not open")
    })?;
    look(&value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use switchboard_core::store::Change;

    use super::super::Store;
    use super::*;

    type Model = BTreeMap<Key, Bytes>;

    fn same(view: &dyn View, model: &Model) {
        for at in 0..20 {
            let (key, limit) = (vec![1, at], usize::from(at) / 2);
            assert_eq!(view.get(std::slice::from_ref(&key)), Ok(vec![model.get(&key).cloned()]));
            let rows = |(key, value): (&Key, &Bytes)| (key.clone(), value.clone());
            let all = key.clone()..vec![1, 20];
            let first: Vec<_> = model.range(all.clone()).take(limit).map(rows).collect();
            let last: Vec<_> = model.range(all.clone()).rev().take(limit).map(rows).collect();
            for (order, rows) in [(Order::Ascending, first), (Order::Descending, last)] {
                assert_eq!(copies(|visit| view.scan_with(all.clone(), order, limit, visit)).as_ref(), Ok(&rows));
                assert_eq!(view.scan(all.clone(), order, limit), Ok(rows));
            }
        }
    }

    #[test]
    fn snapshots_and_writes_read_what_they_hold() {
        let folder = std::env::temp_dir().join(format!("switchboard-known-{}", std::process::id()));
        let store = Store::open(&folder).expect("a store");
        let (mut model, mut before): (_, Option<(Snapshot, Model)>) = (Model::new(), None);
        for round in 0..10_u8 {
            let puts = (0..20).filter(|at| at % 3 != round % 3).map(|at| Change::Put(vec![1, at], vec![round, at]));
            let changes: Vec<_> = puts.chain([Change::Delete(vec![1, round])]).collect();
            let mut write = store.begin().expect("a write");
            same(&write.view(None).expect("a view"), &model);
            // Apply each change by itself, so that later ones are laid over earlier ones.
            for change in changes {
                write.apply(vec![change.clone()]);
                match change {
                    Change::Put(key, value) => drop(model.insert(key, value)),
                    Change::Delete(key) => drop(model.remove(&key)),
                }
            }
            same(&write.view(None).expect("a view"), &model);
            if let Some((earlier, known)) = &before {
                same(&store.snapshot().expect("a snapshot").view(None), known);
                same(&earlier.view(None), known);
            }
            write.commit().expect("a commit");
            let now = store.snapshot().expect("a snapshot");
            // The second pass reads from the cache; an older snapshot still shows its own rows.
            same(&now.view(None), &model);
            same(&now.view(None), &model);
            if let Some((earlier, known)) = before.replace((now, model.clone())) {
                same(&earlier.view(None), &known);
            }
        }
        let mut write = store.begin().expect("a write");
        write.apply(vec![Change::Put(vec![0], vec![0])]);
        assert!(write.is_changed());
        write.abort().expect("it is dropped");
        same(&store.whole().expect("a snapshot").view(None), &model);
        drop((store, before));
        std::fs::remove_dir_all(folder).expect("it was made");
    }
}
