//! The rows of a store: as a write changes them, and as the core's view reads them. Sealed values are sealed and
//! opened here.

use std::ops::Range;
use std::sync::Arc;

use redb::{ReadOnlyTable, ReadTransaction, ReadableTable, Table, WriteTransaction};
use switchboard_core::key::Key;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, Stop, View};

use super::{ROWS, StoreError, failed, refused};
use crate::limiter::{Limiter, Told};
use crate::seal::Seal;

/// The rows of an open write.
pub struct Rows<'t> {
    table: Table<'t, &'static [u8], &'static [u8]>,
    seal: Arc<Seal>,
}

impl<'t> Rows<'t> {
    pub(super) fn of(transaction: &'t WriteTransaction, seal: Arc<Seal>) -> Result<Self, StoreError> {
        Ok(Self { table: transaction.open_table(ROWS).map_err(refused("the table cannot be opened"))?, seal })
    }

    /// What a step sees of them.
    pub fn view<'v>(
        &'v self,
        limits: Option<&'v Admission<'v>>,
    ) -> RowsView<'v, Table<'t, &'static [u8], &'static [u8]>> {
        RowsView { rows: &self.table, seal: &self.seal, limits }
    }

    /// Applies a step's changes.
    pub fn apply(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        for change in changes {
            match change {
                Change::Put(at, value) => {
                    let sealed = self.seal.seal(at, value).map_err(failed("a value cannot be sealed"))?;
                    self.table.insert(at.as_slice(), sealed.as_deref().unwrap_or(value)).map(drop)
                }
                Change::Delete(at) => self.table.remove(at.as_slice()).map(drop),
            }
            .map_err(refused("a change failed"))?;
        }
        Ok(())
    }
}

/// The rows of a read.
pub struct Snapshot {
    rows: ReadOnlyTable<&'static [u8], &'static [u8]>,
    seal: Arc<Seal>,
}

impl Snapshot {
    pub(super) fn of(transaction: &ReadTransaction, seal: Arc<Seal>) -> Result<Self, StoreError> {
        Ok(Self { rows: transaction.open_table(ROWS).map_err(refused("the table cannot be opened"))?, seal })
    }

    /// At most `limit` rows as they are stored, sealed ones sealed: for backups.
    pub fn stored(&self, range: Range<Key>, limit: usize) -> Result<Vec<(Key, Bytes)>, StoreError> {
        let rows = self.rows.range(range.start.as_slice()..range.end.as_slice());
        let rows = rows.map_err(refused("the store cannot be read"))?;
        rows.take(limit)
            .map(|row| {
                let (at, value) = row.map_err(refused("the store cannot be read"))?;
                Ok((at.value().to_vec(), value.value().to_vec()))
            })
            .collect()
    }

    /// The view of one exchange.
    pub fn view<'v>(&'v self, limits: &'v Admission<'v>) -> RowsView<'v, ReadOnlyTable<&'static [u8], &'static [u8]>> {
        RowsView { rows: &self.rows, seal: &self.seal, limits: Some(limits) }
    }

    /// A view without rate limits: for verification.
    pub fn plain(&self) -> RowsView<'_, ReadOnlyTable<&'static [u8], &'static [u8]>> {
        RowsView { rows: &self.rows, seal: &self.seal, limits: None }
    }
}

type Pair<'r> = (redb::AccessGuard<'r, &'static [u8]>, redb::AccessGuard<'r, &'static [u8]>);

/// The rate limits as one exchange sees them.
pub struct Admission<'l> {
    /// The buckets.
    pub limiter: &'l Limiter,
    /// What this exchange was told so far.
    pub told: &'l Told,
    /// The time.
    pub now: Timestamp,
}

/// A table of redb as the core's view.
pub struct RowsView<'v, T> {
    rows: &'v T,
    seal: &'v Seal,
    limits: Option<&'v Admission<'v>>,
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> View for RowsView<'_, T> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        keys.iter()
            .map(|key| {
                let found = self.rows.get(key.as_slice()).map_err(|error| log(&error))?;
                found.map(|value| open(self.seal, key, value.value())).transpose()
            })
            .collect()
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        let found = self.rows.range(range.start.as_slice()..range.end.as_slice()).map_err(|error| log(&error))?;
        let pair = |row: Result<Pair<'_>, redb::StorageError>| {
            let (key, value) = row.map_err(|error| log(&error))?;
            let value = open(self.seal, key.value(), value.value())?;
            Ok((key.value().to_vec(), value))
        };
        match order {
            Order::Ascending => found.take(limit).map(pair).collect(),
            Order::Descending => found.rev().take(limit).map(pair).collect(),
        }
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        Ok(self.limits.and_then(|limits| limits.limiter.admit(caller, limits.now, limits.told)))
    }
}

fn open(seal: &Seal, at: &[u8], stored: &[u8]) -> Result<Bytes, Stop> {
    seal.open(at, stored).map_err(|unopened| {
        tracing::error!(?unopened, "a sealed value does not open");
        Stop::Corrupt("a sealed value does not open")
    })
}

fn log(error: &redb::StorageError) -> Stop {
    tracing::error!(%error, "the store failed");
    Stop::Failed
}
