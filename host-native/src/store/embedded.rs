//! [`Embedded`]: rows in one redb table of a file, committed so that a crash at any moment loses nothing that was
//! acknowledged.

mod cache;
mod picture;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use redb::backends::FileBackend;
use redb::{
    AccessGuard, Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
    WriteTransaction,
};
use switchboard_core::store::Change;
use switchboard_core::view::Read;

use super::backend::{Backend, BoxFuture, OpenWrite, Picture, SealState, StoreEnd};
use super::{IntegrityCheck, StoreError, caught, failed};
use crate::private::{self, Tightened};
use crate::reserve::{Reserve, lacks_room};
use crate::seal::KeyId;
use crate::watched::Watched;

use picture::{CachedTable, Latest};

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
/// Ids of the keys that values are sealed with; true once every value is sealed with that key.
const SEALS: TableDefinition<KeyId, bool> = TableDefinition::new("seals");
const FILE: &str = "switchboard.redb";
const ASIDE: &str = "switchboard.redb.new";
/// Size of redb's page cache, bytes; the operating system caches the rest.
const CACHE_BYTES: usize = 128 << 20;
/// A file of at most this many bytes is read whole when a service opens it, and every checksum compared.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

type Opener = Box<dyn Fn(IntegrityCheck, &Arc<AtomicBool>) -> Result<Database, StoreError> + Send + Sync>;

/// Rows in one redb table.
pub(super) struct Embedded {
    opener: Opener,
    /// Set once a sync has failed, see [`Watched`].
    unsynced: Arc<AtomicBool>,
    /// `None` after the disk was full, until the file is open again.
    database: RwLock<Option<Database>>,
    /// Snapshot that all reads share until the next commit: a transaction for each would cost as much as reading a row.
    latest: Arc<Latest>,
    path: Option<PathBuf>,
    reserve: Option<Reserve>,
}

impl Embedded {
    /// Opens the file of a folder, and creates folder and file if they do not exist.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        private::create_folder(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))
            .map_err(failed("the data folder cannot be made"))?;
        tighten(folder);
        let path = folder.join(FILE);
        if path.exists() {
            tighten(&path);
        } else {
            create(folder, &path)?;
        }
        let bytes = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        Self::of_file(path, if bytes > WHOLE_BYTES_MAX { IntegrityCheck::Quick } else { IntegrityCheck::Whole })
    }

    /// Opens an existing file for inspection, without comparing checksums.
    pub fn existing(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join(FILE);
        if !path.is_file() {
            return Err(StoreError::of("there is nothing to open", &format!("{} holds no store", folder.display())));
        }
        Self::of_file(path, IntegrityCheck::Quick)
    }

    fn of_file(path: PathBuf, look: IntegrityCheck) -> Result<Self, StoreError> {
        let of = path.clone();
        let opener = move |look, unsynced: &Arc<AtomicBool>| {
            let file = File::options().read(true).write(true).open(&of);
            let file = file
                .map_err(|error| StoreError::of("the store cannot be opened", &format!("{}: {error}", of.display())))?;
            if file.metadata().is_ok_and(|meta| meta.len() == 0) {
                return Err(StoreError::of("the store cannot be opened", &"its file is empty"));
            }
            let storage = FileBackend::new(file).map_err(unopened(Some(&of)))?;
            opened(Some(&of), || builder(look).create_with_backend(Watched::new(storage, Arc::clone(unsynced))))
        };
        Self::with(Box::new(opener), Some(path), look)
    }

    /// Opens storage other than a file, and fills it if it is empty; it must return the same bytes each time.
    pub fn over<B: StorageBackend>(
        storage: impl Fn() -> B + Send + Sync + 'static,
        look: IntegrityCheck,
    ) -> Result<Self, StoreError> {
        let opener = move |look, unsynced: &Arc<AtomicBool>| {
            let storage = Watched::new(storage(), Arc::clone(unsynced));
            let empty = storage.len().map_err(failed("the store cannot be opened"))? == 0;
            let database = opened(None, || builder(look).create_with_backend(storage))?;
            if empty {
                make(&database)?;
            }
            Ok(database)
        };
        Self::with(Box::new(opener), None, look)
    }

    fn with(opener: Opener, path: Option<PathBuf>, look: IntegrityCheck) -> Result<Self, StoreError> {
        let unsynced = Arc::default();
        let database = RwLock::new(Some(opener(look, &unsynced)?));
        Ok(Self { opener, unsynced, database, latest: Arc::default(), path, reserve: None })
    }

    fn with_database<T>(&self, then: impl FnOnce(&Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        match &*database {
            Some(database) => then(database),
            None => Err(StoreError::DiskFull("the store is closed: the disk was full".into())),
        }
    }
}

impl Backend for Embedded {
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError> {
        // Lock order everywhere: the database first, then the latest snapshot; the reverse would deadlock.
        self.with_database(|database| {
            self.latest.get(|| CachedTable::of(database)).map(|latest| latest as Arc<dyn Picture>)
        })
    }

    fn whole(&self) -> Result<Arc<dyn Picture>, StoreError> {
        self.with_database(|database| Ok(CachedTable::of(database)?.table() as Arc<dyn Picture>))
    }

    fn begin(&self) -> Result<Box<dyn OpenWrite>, StoreError> {
        self.with_database(|database| {
            let write = begin(database)?;
            // Nobody commits while this write is open, so the snapshot is exactly its base. It is one of its own: a
            // commit frees no page that a reader may still use.
            let before = Arc::new(CachedTable::of(database)?);
            Ok(Box::new(Transaction { write, before, latest: Arc::clone(&self.latest) }) as Box<dyn OpenWrite>)
        })
    }

    fn load(&self, _: Vec<Read>) -> BoxFuture<Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::of("rows cannot be read", &"a file misses none"))))
    }

    fn confirm(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn is_current(&self, _shared: i64) -> BoxFuture<Result<bool, StoreError>> {
        Box::pin(std::future::ready(Ok(true)))
    }

    fn ended(&self) -> BoxFuture<StoreEnd> {
        Box::pin(std::future::pending())
    }

    fn hand_over(&self, _keep: usize) -> BoxFuture<Option<Box<dyn Backend>>> {
        Box::pin(std::future::ready(None))
    }

    fn seals(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        caught("the store cannot be opened", || {
            let transaction =
                self.with_database(|database| database.begin_read().map_err(refused("a read cannot begin")))?;
            match transaction.open_table(SEALS) {
                Ok(table) => {
                    let all = table.iter().map_err(refused("the seals cannot be read"))?;
                    let one = |entry: Result<(AccessGuard<'_, KeyId>, AccessGuard<'_, bool>), _>| {
                        entry
                            .map(|(id, whole)| (id.value(), whole.value()))
                            .map_err(refused("the seals cannot be read"))
                    };
                    all.map(one).collect()
                }
                Err(redb::TableError::TableDoesNotExist(_)) => Ok(Vec::new()),
                Err(error) => Err(refused("the seals cannot be read")(error)),
            }
        })?
    }

    fn check(&mut self) -> Result<bool, StoreError> {
        self.latest.forget();
        let database = self.database.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = database else { return Ok(false) };
        caught("the store cannot be checked", || database.check_integrity())?
            .map_err(refused("the store cannot be checked"))
    }

    /// redb refuses everything after a failed write, even reads; whoever reads during the reopening is told to try
    /// again. After a failed sync the file stays closed: what is on the disk is known after a restart at the earliest.
    fn reopen(&self) -> Result<(), StoreError> {
        if self.unsynced.load(Ordering::Acquire) {
            return Err(StoreError::of("the store is not opened again", &"a sync failed: look after the disk"));
        }
        let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
        self.latest.forget();
        // The old database holds the file's lock.
        drop(database.take());
        *database = Some((self.opener)(IntegrityCheck::Quick, &self.unsynced)?);
        Ok(())
    }

    fn reserve(&mut self) {
        self.reserve = self.folder().and_then(Reserve::keep);
    }

    fn is_full(&self) -> bool {
        self.reserve.as_ref().is_some_and(Reserve::is_given_up)
    }

    fn give_up_reserve(&self) {
        if let Some(reserve) = &self.reserve {
            reserve.give_up();
        }
    }

    fn folder(&self) -> Option<&Path> {
        self.path.as_deref().and_then(Path::parent)
    }

    fn bytes(&self) -> u64 {
        self.path.as_ref().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |meta| meta.len())
    }
}

/// An open transaction, and the snapshot that it began with.
struct Transaction {
    write: WriteTransaction,
    before: Arc<CachedTable>,
    latest: Arc<Latest>,
}

impl OpenWrite for Transaction {
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError> {
        Ok(Arc::clone(&self.before) as Arc<dyn Picture>)
    }

    fn commit(self: Box<Self>, changes: Vec<Change>, seals: Vec<(KeyId, SealState)>) -> Result<(), StoreError> {
        let Self { write, before, latest } = *self;
        drop(before);
        put(&write, changes)?;
        note(&write, seals)?;
        let committed = write.commit().map_err(refused("a commit failed"));
        // Also after a failure: the commit may have reached the disk all the same.
        latest.forget();
        committed
    }

    fn abort(self: Box<Self>) -> Result<(), StoreError> {
        self.write.abort().map_err(refused("a write could not be dropped"))
    }
}

fn put(transaction: &WriteTransaction, changes: Vec<Change>) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(ROWS).map_err(refused("the table cannot be opened"))?;
    for change in changes {
        match change {
            Change::Put(at, value) => table.insert(at.as_slice(), value.as_slice()).map(drop),
            Change::Delete(at) => table.remove(at.as_slice()).map(drop),
        }
        .map_err(refused("a change failed"))?;
    }
    Ok(())
}

fn note(transaction: &WriteTransaction, seals: Vec<(KeyId, SealState)>) -> Result<(), StoreError> {
    if seals.is_empty() {
        return Ok(());
    }
    let mut table = transaction.open_table(SEALS).map_err(refused("the seals cannot be opened"))?;
    for (id, state) in seals {
        match state {
            SealState::Some => table.insert(id, false).map(drop),
            SealState::Every => table.insert(id, true).map(drop),
            SealState::None => table.remove(id).map(drop),
        }
        .map_err(refused("a change failed"))?;
    }
    Ok(())
}

/// Converts an error of redb, for `map_err`; `what` says what failed.
fn refused<E: Into<redb::Error>>(what: &str) -> impl FnOnce(E) -> StoreError + '_ {
    move |error| {
        let error = error.into();
        match &error {
            redb::Error::Io(cause) if lacks_room(cause) => StoreError::DiskFull(format!("{what}: {error}")),
            _ => StoreError::of(what, &error),
        }
    }
}

/// Converts an error of opening the file at `path`, for `map_err`: only one process at a time has a store open.
fn unopened(path: Option<&Path>) -> impl FnOnce(DatabaseError) -> StoreError + '_ {
    move |error| match (&error, path.and_then(Path::parent)) {
        (DatabaseError::DatabaseAlreadyOpen, Some(folder)) => {
            let why = format!("another switchboard runs on {}", folder.display());
            StoreError::of("the store cannot be opened", &why)
        }
        _ => refused("the store cannot be opened")(error),
    }
}

fn builder(look: IntegrityCheck) -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(look == IntegrityCheck::Whole);
    builder
}

fn opened(path: Option<&Path>, open: impl FnOnce() -> Result<Database, DatabaseError>) -> Result<Database, StoreError> {
    caught("the store cannot be opened", open)?.map_err(unopened(path))
}

fn begin(database: &Database) -> Result<WriteTransaction, StoreError> {
    let mut transaction = database.begin_write().map_err(refused("a write cannot begin"))?;
    // Two-phase commit that includes the allocator's state: a torn commit is detected, and opening after a crash reads
    // only the last commit. Never mix it with other kinds of commit.
    transaction.set_quick_repair(true);
    Ok(transaction)
}

/// Commits the empty table to a new database.
fn make(database: &Database) -> Result<(), StoreError> {
    let transaction = begin(database)?;
    transaction.open_table(ROWS).map(drop).map_err(refused("the table cannot be made"))?;
    transaction.commit().map_err(refused("a commit failed"))
}

/// Creates the file under another name and renames it, so that a crash in between leaves no half-made store.
fn create(folder: &Path, path: &Path) -> Result<(), StoreError> {
    let aside = folder.join(ASIDE);
    if aside.exists() {
        std::fs::remove_file(&aside).map_err(failed("a half-made store cannot be removed"))?;
    }
    let file = private::create(&aside).map_err(failed("the store cannot be made"))?;
    let storage = FileBackend::new(file).map_err(refused("the store cannot be made"))?;
    let database = opened(None, || builder(IntegrityCheck::Quick).create_with_backend(storage))?;
    make(&database)?;
    drop(database);
    std::fs::rename(&aside, path).map_err(failed("the store cannot be renamed"))?;
    // The rename itself must outlive a power cut.
    private::sync_folder(folder).map_err(failed("the data folder cannot be synced"))
}

/// Closes a path to other users, whom a umask or a hand may have let in: tokens are stored as digests, everything else
/// in full.
fn tighten(path: &Path) {
    let path_text = path.display();
    match private::tighten(path) {
        Ok(Tightened::Was) => {}
        Ok(Tightened::From(mode)) => tracing::warn!("{path_text} was open to others (mode {mode:o}): it was closed"),
        Ok(Tightened::Not(mode)) => tracing::warn!("{path_text} is open to others (mode {mode:o}) and stays so"),
        Err(error) => tracing::warn!("who can read {path_text} is not known: {error}"),
    }
}
