//! [`Embedded`]: rows in one redb table of a file, with a log beside it, committed so that a crash at any moment loses
//! nothing that was acknowledged.

mod cache;
mod commits;
mod files;
mod log;
mod picture;
mod tables;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockWriteGuard};

use redb::{Database, StorageBackend, WriteTransaction};
use switchboard_core::store::Change;
use switchboard_core::view::Read;

use super::backend::{Backend, BoxFuture, NextWrite, OpenWrite, Picture, SealState, StoreEnd};
use super::{IntegrityCheck, LaneId, StoreError, StoreFile, caught};
use crate::reserve::Reserve;
use crate::seal::KeyId;

use commits::{Commits, LogUse, begin};
use files::{Files, TablesOpener, size};
use log::CommitChanges;
use picture::{CachedTable, Latest};
use tables::refused;

/// Rows in one redb table.
pub(super) struct Embedded {
    opener: TablesOpener,
    /// Set once a sync has failed, see [`Watched`](crate::watched::Watched).
    unsynced: Arc<AtomicBool>,
    tables: Arc<OpenTables>,
    path: Option<PathBuf>,
    reserve: Option<Reserve>,
}

/// The tables, and how commits get there.
struct OpenTables {
    /// `None` after the disk was full, until the file is open again.
    database: RwLock<Option<Database>>,
    /// Locked after the database, and for as long as a commit takes.
    commits: Mutex<Commits>,
    /// Snapshot that all reads share until the next commit: a transaction for each would cost as much as reading a row.
    latest: Latest,
}

impl Embedded {
    /// Opens the file of a folder, and creates folder and file if they do not exist.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        let files = Files::make(folder)?;
        let look = files.look();
        Self::with(files, look)
    }

    /// Opens an existing file for inspection.
    pub fn existing(folder: &Path) -> Result<Self, StoreError> {
        let files = Files::existing(folder)?;
        // What the log has is put into tables that are sound.
        let look = files.look();
        Self::with(files, look)
    }

    /// Opens storage other than files, and fills it if it is empty; it must return the same bytes each time.
    pub fn over<B: StorageBackend>(
        storage: impl Fn(StoreFile) -> B + Send + Sync + 'static,
        log_half_bytes: usize,
        look: IntegrityCheck,
    ) -> Result<Self, StoreError> {
        Self::with(Files::over(storage, log_half_bytes), look)
    }

    fn with(files: Files, look: IntegrityCheck) -> Result<Self, StoreError> {
        let Files { tables: opener, log, path, unsynced } = files;
        let mut commits = Commits::of(log);
        let database = RwLock::new(Some(opened(&opener, &mut commits, look)?));
        let tables = OpenTables { database, commits: Mutex::new(commits), latest: Latest::default() };
        Ok(Self { opener, unsynced, tables: Arc::new(tables), path, reserve: None })
    }

    /// Makes the table durable without the log, if it is not.
    fn checkpoint(&self, after: LogUse) -> Result<(), StoreError> {
        let is_due = |commits: &Commits| match after {
            LogUse::Open => commits.has_records(),
            LogUse::Closed => commits.log_in_use(),
        };
        if !is_due(&self.tables.commits()) {
            return Ok(());
        }
        let write = self.tables.with_database(begin)?;
        self.tables.commits().checkpoint(write, &CommitChanges::default(), after)?;
        self.tables.latest.forget();
        Ok(())
    }
}

impl OpenTables {
    fn commits(&self) -> MutexGuard<'_, Commits> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn database(&self) -> RwLockWriteGuard<'_, Option<Database>> {
        self.database.write().unwrap_or_else(PoisonError::into_inner)
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
        let tables = &self.tables;
        // Lock order everywhere: the database first, then the latest snapshot; the reverse would deadlock.
        tables.with_database(|database| {
            tables.latest.get(|| CachedTable::of(database)).map(|latest| latest as Arc<dyn Picture>)
        })
    }

    fn whole(&self) -> Result<Arc<dyn Picture>, StoreError> {
        self.tables.with_database(|database| Ok(CachedTable::of(database)?.table() as Arc<dyn Picture>))
    }

    fn begin(&self) -> Result<Box<dyn OpenWrite>, StoreError> {
        Ok(Box::new(Transaction::begin(&self.tables)?))
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

    fn hand_over(&self, _keep: usize, _others: Vec<LaneId>) -> BoxFuture<Option<Box<dyn Backend>>> {
        Box::pin(std::future::ready(None))
    }

    fn seals(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        caught("the store cannot be opened", || self.tables.with_database(tables::seals))?
    }

    fn check(&mut self) -> Result<bool, StoreError> {
        self.tables.latest.forget();
        let mut database = self.tables.database();
        let Some(database) = &mut *database else { return Ok(false) };
        caught("the store cannot be checked", || database.check_integrity())?
            .map_err(refused("the store cannot be checked"))
    }

    /// redb refuses everything after a failed write, even reads; whoever reads during the reopening is told to try
    /// again. After a failed sync the file stays closed: what is on the disk is known after a restart at the earliest.
    fn reopen(&self) -> Result<(), StoreError> {
        if self.unsynced.load(Ordering::Acquire) {
            return Err(StoreError::of("the store is not opened again", &"a sync failed: look after the disk"));
        }
        let mut database = self.tables.database();
        self.tables.latest.forget();
        // The old database holds the file's lock.
        close(database.take());
        *database = Some(opened(&self.opener, &mut self.tables.commits(), IntegrityCheck::Quick)?);
        Ok(())
    }

    fn rest(&self) -> Result<(), StoreError> {
        self.checkpoint(LogUse::Open)
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
        size(self.path.as_deref())
    }
}

impl Drop for Embedded {
    /// Leaves nothing in the log alone, so that the table's file may be moved without it.
    fn drop(&mut self) {
        self.tables.latest.forget();
        let is_lost = std::thread::panicking() || self.unsynced.load(Ordering::Acquire);
        let is_open = !self.tables.database.is_poisoned() && self.tables.database().is_some();
        if is_open && !is_lost {
            let closed = caught("the log cannot be closed", || self.checkpoint(LogUse::Closed)).and_then(|done| done);
            if let Err(error) = closed {
                tracing::warn!(%error, "the last commits stay in the log: the next start reads them there");
            }
        }
        let open = self.tables.database().take();
        close(open);
    }
}

/// Closes the tables: after a panic over a damaged file, redb panics there again.
fn close(database: Option<Database>) {
    if let Err(error) = caught("the store cannot be closed", || drop(database)) {
        tracing::error!(%error, "the next start looks at it again");
    }
}

/// Opens the tables at their last checkpoint, and brings them to the last commit of the log.
fn opened(opener: &TablesOpener, commits: &mut Commits, look: IntegrityCheck) -> Result<Database, StoreError> {
    let database = opener(look)?;
    match caught("the store cannot be opened", || commits.replay(&database)).and_then(|done| done) {
        Ok(()) => Ok(database),
        Err(error) => {
            close(Some(database));
            Err(error)
        }
    }
}

/// An open transaction, and the snapshot that it began with.
struct Transaction {
    write: WriteTransaction,
    before: Arc<CachedTable>,
    tables: Arc<OpenTables>,
}

impl Transaction {
    fn begin(tables: &Arc<OpenTables>) -> Result<Self, StoreError> {
        tables.with_database(|database| {
            tables.commits().refuse_doubt()?;
            let write = begin(database)?;
            // Nobody commits while this write is open, so the snapshot is exactly its base. It is one of its own: a
            // commit frees no page that a reader may still use.
            let before = Arc::new(CachedTable::of(database)?);
            Ok(Self { write, before, tables: Arc::clone(tables) })
        })
    }
}

impl OpenWrite for Transaction {
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError> {
        Ok(Arc::clone(&self.before) as Arc<dyn Picture>)
    }

    fn next(&self) -> Box<dyn NextWrite> {
        Box::new(NextTransaction { before: Arc::clone(&self.before), tables: Arc::clone(&self.tables) })
    }

    fn commit(self: Box<Self>, rows: Vec<Change>, seals: Vec<(KeyId, SealState)>) -> Result<(), StoreError> {
        let Self { write, before, tables } = *self;
        drop(before);
        let committed = tables.commits().commit(write, &CommitChanges { rows, seals });
        // Also after a failure: the commit may have reached the disk all the same.
        tables.latest.forget();
        committed
    }

    fn abort(self: Box<Self>) -> Result<(), StoreError> {
        self.write.abort().map_err(refused("a write could not be dropped"))
    }
}

/// The transaction after one that is open, and the snapshot that that one began with.
struct NextTransaction {
    before: Arc<CachedTable>,
    tables: Arc<OpenTables>,
}

impl NextWrite for NextTransaction {
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError> {
        Ok(Arc::clone(&self.before) as Arc<dyn Picture>)
    }

    fn begin(self: Box<Self>) -> Result<Box<dyn OpenWrite>, StoreError> {
        Ok(Box::new(Transaction::begin(&self.tables)?))
    }
}

#[cfg(test)]
mod tests;
