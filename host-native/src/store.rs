//! The store: one redb table, opened so that a crash at any moment loses nothing that was acknowledged.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, Table, TableDefinition, WriteTransaction,
};
use switchboard_core::key::{self, Key};
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, Stop, View};

use crate::limiter::{Limiter, Told};
use crate::seal::{KeyId, Seal, sealed_with};

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
/// With which keys values are sealed, by id, and whether all of them are.
const SEALS: TableDefinition<KeyId, bool> = TableDefinition::new("seals");
const FILE: &str = "switchboard.redb";
/// Pages kept in memory, bytes: the rest is the operating system's to cache.
const CACHE_BYTES: usize = 256 << 20;
/// Values that one commit seals anew at most.
const RESEALED: usize = 256;

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
    seal: Arc<Seal>,
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
        Ok(Self { database, path, seal: Arc::default() })
    }

    /// Opens the store of a folder that must have one.
    pub fn existing(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Err(StoreError(format!("{} holds no store", folder.display())));
        }
        Self::open(folder)
    }

    /// Takes the keys of the store. What is in clear, or sealed with an earlier key, is sealed anew, all of it
    /// before this returns; gives how many values that were. Without the keys that it was sealed with a store
    /// does not open.
    pub fn sealed(self, seal: Seal) -> Result<(Self, u64), StoreError> {
        let store = self.opened(seal)?;
        let known = store.seals()?;
        let Some(current) = store.seal.current().filter(|id| known != [(*id, true)]) else { return Ok((store, 0)) };
        store.note_seals(&[(current, false)], &[])?;
        let count = store.reseal(current)?;
        let earlier: Vec<KeyId> = known.iter().map(|(id, _)| *id).filter(|id| *id != current).collect();
        store.note_seals(&[(current, true)], &earlier)?;
        Ok((store, count))
    }

    /// Takes the keys of the store, and changes nothing in it.
    pub fn opened(self, seal: Seal) -> Result<Self, StoreError> {
        match self.seals()?.iter().find(|(id, _)| !seal.knows(*id)) {
            Some((id, _)) => {
                Err(StoreError(format!("the store is sealed with key {}, which was not given", named(*id))))
            }
            None => Ok(Self { seal: Arc::new(seal), ..self }),
        }
    }

    fn seals(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        let transaction = self.database.begin_read().map_err(failed("a read cannot begin"))?;
        match transaction.open_table(SEALS) {
            Ok(table) => {
                let all = table.iter().map_err(failed("the seals cannot be read"))?;
                let one = |entry: Result<(redb::AccessGuard<'_, KeyId>, redb::AccessGuard<'_, bool>), _>| {
                    entry.map(|(id, whole)| (id.value(), whole.value())).map_err(failed("the seals cannot be read"))
                };
                all.map(one).collect()
            }
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(Vec::new()),
            Err(error) => Err(StoreError::of("the seals cannot be read", &error)),
        }
    }

    fn note_seals(&self, present: &[(KeyId, bool)], gone: &[KeyId]) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        {
            let mut table = transaction.open_table(SEALS).map_err(failed("the seals cannot be opened"))?;
            for (id, whole) in present {
                table.insert(id, whole).map_err(failed("a change failed"))?;
            }
            for id in gone {
                table.remove(id).map_err(failed("a change failed"))?;
            }
        }
        transaction.commit().map_err(failed("a commit failed"))
    }

    /// Seals whatever is not sealed with the current key.
    fn reseal(&self, current: KeyId) -> Result<u64, StoreError> {
        let (mut spaces, mut count) = (key::everything(), 0);
        loop {
            let first = self.snapshot()?.stored(spaces, 1)?.into_iter().next();
            let Some(space) = first.and_then(|(at, _)| key::space_of(&at)) else { return Ok(count) };
            for range in key::secret_ranges(space) {
                count += self.reseal_range(range, current)?;
            }
            spaces = key::behind(space);
        }
    }

    /// A slice a commit.
    fn reseal_range(&self, mut range: Range<Key>, current: KeyId) -> Result<u64, StoreError> {
        let mut count = 0;
        loop {
            let slice = self.snapshot()?.stored(range.clone(), RESEALED)?;
            let Some((last, _)) = slice.last() else { return Ok(count) };
            range.start = [last.as_slice(), &[0]].concat();
            let old = slice.into_iter().filter(|(at, value)| sealed_with(at, value) != Some(current));
            let open = |(at, value): (Key, Bytes)| match self.seal.open(&at, &value) {
                Ok(value) => Ok(Change::Put(at, value)),
                Err(unopened) => Err(StoreError(format!("a sealed value does not open: {unopened:?}"))),
            };
            let changes = old.map(open).collect::<Result<Vec<_>, _>>()?;
            count += changes.len() as u64;
            if !changes.is_empty() {
                self.commit(&changes)?;
            }
        }
    }

    /// A consistent picture of now.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        let transaction = self.database.begin_read().map_err(failed("a read cannot begin"))?;
        Snapshot::of(&transaction, Arc::clone(&self.seal))
    }

    /// Begins a write; there is one at a time.
    pub fn begin(&self) -> Result<WriteTransaction, StoreError> {
        let mut transaction = self.database.begin_write().map_err(failed("a write cannot begin"))?;
        // Two-phase commit with the allocator's state: a torn commit is told from a whole one, and opening
        // after a crash reads no more than the last commit. Never mixed with other kinds of commit.
        transaction.set_quick_repair(true);
        Ok(transaction)
    }

    /// The rows of an open write.
    pub fn rows<'t>(&'t self, transaction: &'t WriteTransaction) -> Result<Rows<'t>, StoreError> {
        Ok(Rows {
            table: transaction.open_table(ROWS).map_err(failed("the table cannot be opened"))?,
            seal: &self.seal,
        })
    }

    /// Commits changes at once, outside the writer.
    pub fn commit(&self, changes: &[Change]) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        self.rows(&transaction)?.apply(changes)?;
        transaction.commit().map_err(failed("a commit failed"))
    }

    /// Commits rows as a backup holds them, sealed ones as they are, and notes which keys they need.
    pub fn put_back(&self, rows: &[(Key, Bytes)]) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        {
            let mut table = transaction.open_table(ROWS).map_err(failed("the table cannot be opened"))?;
            let mut seals = transaction.open_table(SEALS).map_err(failed("the seals cannot be opened"))?;
            for (at, value) in rows {
                table.insert(at.as_slice(), value.as_slice()).map_err(failed("a change failed"))?;
                if let Some(id) = sealed_with(at, value) {
                    seals.insert(id, false).map_err(failed("a change failed"))?;
                }
            }
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

fn named(id: KeyId) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}

/// The rows of an open write.
pub struct Rows<'t> {
    table: Table<'t, &'static [u8], &'static [u8]>,
    seal: &'t Seal,
}

impl<'t> Rows<'t> {
    /// What a step sees of them.
    pub fn view<'v>(
        &'v self,
        limits: Option<&'v Admission<'v>>,
    ) -> RowsView<'v, Table<'t, &'static [u8], &'static [u8]>> {
        RowsView { rows: &self.table, seal: self.seal, limits }
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
            .map_err(failed("a change failed"))?;
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
    fn of(transaction: &ReadTransaction, seal: Arc<Seal>) -> Result<Self, StoreError> {
        Ok(Self { rows: transaction.open_table(ROWS).map_err(failed("the table cannot be opened"))?, seal })
    }

    /// At most `limit` rows as they are stored, sealed ones sealed: for backups.
    pub fn stored(&self, range: Range<Key>, limit: usize) -> Result<Vec<(Key, Bytes)>, StoreError> {
        let rows = self.rows.range(range.start.as_slice()..range.end.as_slice());
        let rows = rows.map_err(failed("the store cannot be read"))?;
        rows.take(limit)
            .map(|row| {
                let (at, value) = row.map_err(failed("the store cannot be read"))?;
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
