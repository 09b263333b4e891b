//! Snapshots of the table.

use std::sync::{Arc, PoisonError, RwLock};

use redb::{AccessGuard, Database, ReadOnlyTable, ReadableDatabase, StorageError};
use switchboard_core::view::{Order, RowVisitor, Scan, Stop};

use super::cache::{Copies, ROW_BYTES_MAX, ReadCache};
use super::tables::{ROWS, refused};
use crate::store::StoreError;
use crate::store::backend::Picture;

/// Snapshot of the last commit, taken at the first read after it.
#[derive(Default)]
pub(super) struct Latest(RwLock<Option<Arc<CachedTable>>>);

impl Latest {
    /// Returns the snapshot; `take` takes it if there is none.
    pub fn get(&self, take: impl FnOnce() -> Result<CachedTable, StoreError>) -> Result<Arc<CachedTable>, StoreError> {
        if let Some(latest) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(latest));
        }
        // Taken under the lock: a commit that ends meanwhile clears it afterwards, never before.
        let mut latest = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = latest.take().map_or_else(|| take().map(Arc::new), Ok)?;
        Ok(Arc::clone(latest.insert(known)))
    }

    /// Forgets the snapshot, because something was committed.
    pub fn forget(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A snapshot of the table, with a cache of what was read from it.
pub(super) struct CachedTable {
    table: Arc<UncachedTable>,
    cache: ReadCache<Scan>,
}

impl CachedTable {
    /// Returns the snapshot without a cache in front.
    pub fn table(&self) -> Arc<UncachedTable> {
        Arc::clone(&self.table)
    }

    /// Takes a snapshot of the last commit.
    pub fn of(database: &Database) -> Result<Self, StoreError> {
        let transaction = database.begin_read().map_err(refused("a read cannot begin"))?;
        let table = transaction.open_table(ROWS).map_err(refused("the table cannot be opened"))?;
        Ok(Self { table: Arc::new(UncachedTable(table)), cache: ReadCache::new() })
    }
}

impl Picture for CachedTable {
    fn get(&self, key: &[u8], look: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        if let Some(stored) = self.cache.rows.get(key) {
            return look(&stored);
        }
        self.table.get(key, &mut |stored| {
            if stored.len() <= ROW_BYTES_MAX {
                self.cache.rows.insert(key.to_vec(), Arc::new(stored.to_vec()));
            }
            look(stored)
        })
    }

    fn scan(&self, scan: Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        if let Some(rows) = self.cache.scans.get(&scan) {
            return rows.iter().try_for_each(|(key, stored)| visit(key, stored));
        }
        let mut copies = Copies::default();
        self.table.show(&scan, &mut |key, stored| {
            copies.push(key, stored);
            visit(key, stored)
        })?;
        if let Some(rows) = copies.whole() {
            self.cache.scans.insert(scan, Arc::new(rows));
        }
        Ok(())
    }
}

type Stored<'t> = AccessGuard<'t, &'static [u8]>;

/// A snapshot of the table, read from the file.
pub(super) struct UncachedTable(ReadOnlyTable<&'static [u8], &'static [u8]>);

impl UncachedTable {
    /// Iterates over the stored rows of a scan without copying them.
    fn scan_of(
        &self,
        Scan { from, to, order, limit }: &Scan,
    ) -> Result<impl Iterator<Item = Result<(Stored<'_>, Stored<'_>), StorageError>>, StorageError> {
        let mut found = self.0.range(from.as_slice()..to.as_slice())?;
        let order = *order;
        let next = move || match order {
            Order::Ascending => found.next(),
            Order::Descending => found.next_back(),
        };
        Ok(std::iter::from_fn(next).take(*limit))
    }

    fn show(&self, scan: &Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        for row in self.scan_of(scan).map_err(|error| log(&error))? {
            let (key, stored) = row.map_err(|error| log(&error))?;
            visit(key.value(), stored.value())?;
        }
        Ok(())
    }
}

impl Picture for UncachedTable {
    fn get(&self, key: &[u8], look: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop> {
        let found = self.0.get(key).map_err(|error| log(&error))?;
        found.map_or(Ok(()), |stored| look(stored.value()))
    }

    fn scan(&self, scan: Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        self.show(&scan, visit)
    }
}

fn log(error: &StorageError) -> Stop {
    tracing::error!(%error, "the store failed");
    Stop::Failed
}
