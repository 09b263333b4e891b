//! [`Store`]: rows in one redb table, committed so that a crash at any moment loses nothing that was acknowledged.

mod cache;
mod memory;
mod rows;
mod sealing;
mod write;

use std::fmt;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageBackend, TableDefinition, WriteTransaction};
use switchboard_core::store::{Change, usage};

use crate::private::{self, Tightened};
use crate::reserve::{Reserve, lacks_room};
use crate::seal::Seal;
use crate::watched::Watched;

use memory::MemoryRows;
pub use rows::{Admission, RowsView, Snapshot};
pub use write::{Write, WriteView};

const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
const FILE: &str = "switchboard.redb";
const ASIDE: &str = "switchboard.redb.new";
/// Size of redb's page cache, bytes; the operating system caches the rest.
const CACHE_BYTES: usize = 128 << 20;
/// A file of at most this many bytes is read whole when a service opens it, and every checksum compared.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// Error of the store, as a phrase: what failed, and why.
#[derive(Debug)]
pub enum StoreError {
    /// The disk had no room: reopening the store may help.
    DiskFull(String),
    /// Anything else.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::DiskFull(text) | Self::Failed(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// Creates an error from what failed and why.
    pub fn of(what: &str, error: &dyn fmt::Display) -> Self {
        Self::Failed(format!("{what}: {error}"))
    }
}

fn failed<E: fmt::Display>(what: &str) -> impl FnOnce(E) -> StoreError + '_ {
    move |error| StoreError::of(what, &error)
}

/// Converts an error of redb, for `map_err`; `what` says what failed.
pub fn refused<E: Into<redb::Error>>(what: &str) -> impl FnOnce(E) -> StoreError + '_ {
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

/// How much of a store is read when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegrityCheck {
    /// The header of the last commit only.
    Quick,
    /// Every page, with its checksum: a damaged store fails to open.
    Whole,
}

type Opener = Box<dyn Fn(IntegrityCheck, &Arc<AtomicBool>) -> Result<Database, StoreError> + Send + Sync>;

/// An open store: snapshots for reads, one open write at a time.
pub struct Store {
    opener: Opener,
    /// Set once a sync has failed, see [`Watched`].
    unsynced: Arc<AtomicBool>,
    /// `None` after the disk was full, until the store is open again.
    database: RwLock<Option<Database>>,
    /// Snapshot that all reads share until the next commit: a transaction for each would cost as much as reading a row.
    latest: Arc<Latest>,
    /// Rows that are in no file.
    memory: Arc<MemoryRows>,
    path: Option<PathBuf>,
    reserve: Option<Reserve>,
    seal: Arc<Seal>,
}

impl Store {
    /// Opens the store of a folder, and creates folder and store if they do not exist.
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

    /// Opens an existing store for inspection, without comparing checksums: that is left to [`Store::check`].
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

    /// Opens a store on storage other than a file, creating it if that is empty: for tests that simulate a disk.
    /// `storage` must return the same bytes each time.
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
        let (latest, memory, seal) = (Arc::default(), Arc::default(), Arc::default());
        Ok(Self { opener, unsynced, database, latest, memory, path, reserve: None, seal })
    }

    /// Opens the store again after the disk was full: redb refuses everything after a failed write, even reads.
    /// Everything committed is still there; whoever reads during the reopening is told to try again.
    ///
    /// After a failed sync the store stays closed: what is on the disk is known after a restart at the earliest.
    pub fn reopen(&self) -> Result<(), StoreError> {
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

    fn with_database<T>(&self, then: impl FnOnce(&Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let database = self.database.read().unwrap_or_else(PoisonError::into_inner);
        match &*database {
            Some(database) => then(database),
            None => Err(StoreError::DiskFull("the store is closed: the disk was full".into())),
        }
    }

    /// Returns a snapshot of everything committed so far.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>, StoreError> {
        // Lock order everywhere: the database first, then the latest snapshot; the reverse would deadlock.
        self.with_database(|database| self.latest.get(|| self.snapshot_of(database)))
    }

    fn snapshot_of(&self, database: &Database) -> Result<Snapshot, StoreError> {
        Snapshot::of(database, Arc::clone(&self.seal), Arc::clone(&self.memory))
    }

    /// Counts the bytes each account stores, if the store is from a release without these counts.
    pub fn counted(self) -> Result<Self, StoreError> {
        let changes = usage::count(&self.snapshot()?.plain())
            .map_err(|stop| StoreError::of("what accounts store cannot be counted", &format!("{stop:?}")))?;
        if !changes.is_empty() {
            self.commit(&changes)?;
        }
        Ok(self)
    }

    /// Commits changes at once, without the writer.
    pub fn commit(&self, changes: &[Change]) -> Result<(), StoreError> {
        let mut write = self.begin()?;
        write.apply(changes.to_vec());
        write.commit()
    }

    /// Checks the checksum of every page; returns false if the file was damaged and has been repaired.
    pub fn check(&mut self) -> Result<bool, StoreError> {
        self.latest.forget();
        let database = self.database.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(database) = database else { return Ok(false) };
        caught("the store cannot be checked", || database.check_integrity())?
            .map_err(refused("the store cannot be checked"))
    }

    /// Keeps a reserve of disk space beside the file from now on.
    #[must_use]
    pub fn reserving(self) -> Self {
        let folder = self.path.as_deref().and_then(Path::parent);
        Self { reserve: folder.and_then(Reserve::keep), ..self }
    }

    /// Returns whether the reserve was given up to a full disk: then only deletes, ends and records of what has already
    /// happened are written.
    pub fn is_full(&self) -> bool {
        self.reserve.as_ref().is_some_and(Reserve::is_given_up)
    }

    /// Deletes the reserve, so that what must be written has room on a full disk.
    pub fn give_up_reserve(&self) {
        if let Some(reserve) = &self.reserve {
            reserve.give_up();
        }
    }

    /// Returns the folder of the file; `None` for a store in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.path.as_deref().and_then(Path::parent)
    }

    /// Returns the size of the file, bytes; 0 if there is none.
    pub fn file_bytes(&self) -> u64 {
        self.path.as_ref().and_then(|path| std::fs::metadata(path).ok()).map_or(0, |meta| meta.len())
    }
}

/// Snapshot of the last commit, taken at the first read after it.
#[derive(Default)]
struct Latest(RwLock<Option<Arc<Snapshot>>>);

impl Latest {
    fn get(&self, take: impl FnOnce() -> Result<Snapshot, StoreError>) -> Result<Arc<Snapshot>, StoreError> {
        if let Some(latest) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            return Ok(Arc::clone(latest));
        }
        // Taken under the lock: a commit that ends meanwhile clears it afterwards, never before.
        let mut latest = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = latest.take().map_or_else(|| take().map(Arc::new), Ok)?;
        Ok(Arc::clone(latest.insert(known)))
    }

    fn forget(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
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

/// Runs an access to the store and turns a panic into an error: redb may panic on a damaged file.
pub fn caught<T>(what: &str, act: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|_| StoreError::of(what, &"its file is damaged"))
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread::spawn;
    use std::time::Duration;

    use super::*;

    /// Reads and reopenings take the same locks: in different orders they would deadlock.
    #[test]
    fn reads_go_on_while_a_store_is_opened_again() {
        let folder = std::env::temp_dir().join(format!("switchboard-reopened-{}", std::process::id()));
        let store = Arc::new(Store::open(&folder).expect("a store"));
        let over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (store, over) = (Arc::clone(&store), Arc::clone(&over));
                spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        drop(store.snapshot().expect("a snapshot"));
                    }
                })
            })
            .collect();
        let (done, wait) = mpsc::channel();
        spawn(move || {
            for number in 0..100_u8 {
                store.commit(&[Change::Put(vec![1], vec![number])]).expect("a commit");
                store.reopen().expect("it opens again");
                let rows = store.snapshot().expect("a snapshot").stored(vec![0]..vec![2], 2).expect("rows");
                assert_eq!(rows, [(vec![1], vec![number])], "what was committed is seen at once");
            }
            over.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
            done.send(()).expect("somebody waits");
        });
        wait.recv_timeout(Duration::from_mins(1)).expect("nobody waits for ever");
        std::fs::remove_dir_all(folder).expect("it was made");
    }
}
