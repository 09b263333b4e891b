//! The store: one redb table, opened so that a crash at any moment loses nothing that was acknowledged.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};
use switchboard_core::key::Key;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, Stop, View};

use crate::limiter::{Limiter, Told};

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
const FILE: &str = "switchboard.redb";
/// Pages kept in memory, bytes: the rest is the operating system's to cache.
const CACHE_BYTES: usize = 256 << 20;

/// Why the store cannot be used.
#[derive(Debug)]
pub struct StoreError(String);

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// What failed, and why.
    pub fn of(what: &str, error: &dyn fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}

fn failed<E: fmt::Display>(what: &str) -> impl FnOnce(E) -> StoreError + '_ {
    move |error| StoreError::of(what, &error)
}

/// An open store.
pub struct Store {
    database: Database,
    path: PathBuf,
}

impl Store {
    /// Opens the store of a folder, making both when they are not there.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        std::fs::create_dir_all(folder).map_err(failed("the data folder cannot be made"))?;
        let path = folder.join(FILE);
        if !path.exists() {
            create(folder, &path)?;
        }
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .open(&path)
            .map_err(failed("the store cannot be opened"))?;
        Ok(Self { database, path })
    }

    /// Opens the store of a folder that must have one.
    pub fn existing(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Err(StoreError(format!("{} holds no store", folder.display())));
        }
        Self::open(folder)
    }

    /// A consistent picture of now.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let transaction = self.database.begin_read().map_err(failed("a read cannot begin"))?;
        Snapshot::of(&transaction)
    }

    /// Begins a write; there is one at a time.
    pub fn begin(&self) -> Result<WriteTransaction, StoreError> {
        let mut transaction = self.database.begin_write().map_err(failed("a write cannot begin"))?;
        // Two-phase commit with the allocator's state: a torn commit is told from a whole one, and opening
        // after a crash reads no more than the last commit. Never mixed with other kinds of commit.
        transaction.set_quick_repair(true);
        Ok(transaction)
    }

    /// Commits changes at once, outside the writer: for restoring.
    pub fn commit(&self, changes: &[Change]) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        {
            let mut rows = transaction.open_table(ROWS).map_err(failed("the table cannot be opened"))?;
            apply(&mut rows, changes)?;
        }
        transaction.commit().map_err(failed("a commit failed"))
    }

    /// Checks the file itself: every page's checksum.
    pub fn check(&mut self) -> Result<bool, StoreError> {
        self.database.check_integrity().map_err(failed("the store cannot be checked"))
    }

    /// How large the file is, bytes.
    pub fn file_bytes(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |meta| meta.len())
    }
}

/// Makes the file aside and renames it: a crash in between leaves no half-made store.
fn create(folder: &Path, path: &Path) -> Result<(), StoreError> {
    let aside = folder.join(format!("{FILE}.new"));
    if aside.exists() {
        std::fs::remove_file(&aside).map_err(failed("a half-made store cannot be removed"))?;
    }
    let database = Database::builder().create(&aside).map_err(failed("the store cannot be made"))?;
    let mut transaction = database.begin_write().map_err(failed("a write cannot begin"))?;
    transaction.set_quick_repair(true);
    transaction.open_table(ROWS).map_err(failed("the table cannot be made"))?;
    transaction.commit().map_err(failed("a commit failed"))?;
    drop(database);
    std::fs::rename(&aside, path).map_err(failed("the store cannot be renamed"))?;
    // The rename itself must outlive a power cut.
    std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("the data folder cannot be synced"))
}

/// Opens the table of a write.
pub fn rows(transaction: &WriteTransaction) -> Result<Table<'_, &'static [u8], &'static [u8]>, StoreError> {
    transaction.open_table(ROWS).map_err(failed("the table cannot be opened"))
}

/// Applies a step's changes to an open write.
pub fn apply(rows: &mut Table<'_, &'static [u8], &'static [u8]>, changes: &[Change]) -> Result<(), StoreError> {
    for change in changes {
        match change {
            Change::Put(key, value) => rows.insert(key.as_slice(), value.as_slice()).map(drop),
            Change::Delete(key) => rows.remove(key.as_slice()).map(drop),
        }
        .map_err(failed("a change failed"))?;
    }
    Ok(())
}

/// The rows of a read.
pub struct Snapshot {
    rows: ReadOnlyTable<&'static [u8], &'static [u8]>,
}

impl Snapshot {
    fn of(transaction: &ReadTransaction) -> Result<Self, StoreError> {
        Ok(Self { rows: transaction.open_table(ROWS).map_err(failed("the table cannot be opened"))? })
    }

    /// The view of one exchange.
    pub fn view<'v>(&'v self, limits: &'v Admission<'v>) -> RowsView<'v, ReadOnlyTable<&'static [u8], &'static [u8]>> {
        RowsView { rows: &self.rows, limits: Some(limits) }
    }

    /// A view without rate limits: for backup and verification.
    pub fn plain(&self) -> RowsView<'_, ReadOnlyTable<&'static [u8], &'static [u8]>> {
        RowsView { rows: &self.rows, limits: None }
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
    /// The table.
    pub rows: &'v T,
    /// The rate limits; none: nothing is limited.
    pub limits: Option<&'v Admission<'v>>,
}

impl<T: ReadableTable<&'static [u8], &'static [u8]>> View for RowsView<'_, T> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        keys.iter()
            .map(|key| {
                let found = self.rows.get(key.as_slice()).map_err(|error| log(&error))?;
                Ok(found.map(|value| value.value().to_vec()))
            })
            .collect()
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        let found = self.rows.range(range.start.as_slice()..range.end.as_slice()).map_err(|error| log(&error))?;
        let pair = |row: Result<Pair<'_>, redb::StorageError>| {
            let (key, value) = row.map_err(|error| log(&error))?;
            Ok((key.value().to_vec(), value.value().to_vec()))
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

fn log(error: &redb::StorageError) -> Stop {
    tracing::error!(%error, "the store failed");
    Stop::Failed
}
