//! The files of a store: how they are opened and made, in a folder or on storage that a test simulates.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use redb::backends::FileBackend;
use redb::{Builder, Database, DatabaseError, StorageBackend, StorageError};

use super::commits::{Absent, LogPlace, begin};
use super::tables::{self, refused};
use crate::private::{self, Tightened};
use crate::store::{IntegrityCheck, StoreError, StoreFile, caught, failed};
use crate::watched::Watched;

const FILE: &str = "switchboard.redb";
const ASIDE: &str = "switchboard.redb.new";
const LOG: &str = "switchboard.wal";
/// Size of redb's page cache, bytes; the operating system caches the rest.
const CACHE_BYTES: usize = 128 << 20;
/// Length of each half of a log, bytes: as much is read at a start after a crash, and a checkpoint takes as many
/// commits over at once.
const LOG_HALF_BYTES: usize = 4 << 20;
/// A file of at most this many bytes is read whole when a service opens it, and every checksum compared.
const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// How often, and after which pause each time, a file is tried again that another process has open: one that was killed
/// while it started a child leaves it open until that has begun.
const LOCKED_TRIES: usize = 20;
const LOCKED_PAUSE: Duration = Duration::from_millis(25);

const UNOPENED: &str = "the store cannot be opened";

/// Opens the tables.
pub(super) type TablesOpener = Box<dyn Fn(IntegrityCheck) -> Result<Database, StoreError> + Send + Sync>;

/// The files of a store, none of them open.
pub(super) struct Files {
    /// Opens the tables; the file must be there.
    pub tables: TablesOpener,
    /// Where the log is.
    pub log: LogPlace,
    /// Path of the tables' file.
    pub path: Option<PathBuf>,
    /// Set once a sync of either file has failed, see [`Watched`].
    pub unsynced: Arc<AtomicBool>,
}

impl Files {
    /// Returns the files of a folder; makes folder and tables if they do not exist.
    pub fn make(folder: &Path) -> Result<Self, StoreError> {
        private::create_folder(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))
            .map_err(failed("the data folder cannot be made"))?;
        let path = folder.join(FILE);
        if path.exists() {
            [folder, &path, &folder.join(LOG)].into_iter().filter(|at| at.exists()).for_each(tighten);
        } else {
            tighten(folder);
            create(folder, &path)?;
        }
        Ok(Self::of(folder))
    }

    /// Returns the files of a folder that has a store.
    pub fn existing(folder: &Path) -> Result<Self, StoreError> {
        if folder.join(FILE).is_file() {
            return Ok(Self::of(folder));
        }
        Err(StoreError::of("there is nothing to open", &format!("{} holds no store", folder.display())))
    }

    fn of(folder: &Path) -> Self {
        let unsynced = Arc::<AtomicBool>::default();
        let (path, flag) = (folder.join(FILE), Arc::clone(&unsynced));
        let tables = {
            let path = path.clone();
            Box::new(move |look| open_tables(&path, look, &flag))
        };
        let (log, flag) = (folder.join(LOG), Arc::clone(&unsynced));
        let log = LogPlace {
            name: log.display().to_string(),
            open: Box::new(move |absent| open_log(&log, absent, &flag)),
            half_bytes: LOG_HALF_BYTES,
        };
        Self { tables, log, path: Some(path), unsynced }
    }

    /// Returns the files on storage other than a disk, which must return the same bytes each time; the log's halves
    /// have this length, bytes.
    pub fn over<B: StorageBackend>(
        storage: impl Fn(StoreFile) -> B + Send + Sync + 'static,
        log_half_bytes: usize,
    ) -> Self {
        let (storage, unsynced) = (Arc::new(storage), Arc::<AtomicBool>::default());
        let (of, flag) = (Arc::clone(&storage), Arc::clone(&unsynced));
        let tables = move |look| {
            let storage = Watched::new(of(StoreFile::Tables), Arc::clone(&flag));
            let empty = storage.len().map_err(failed(UNOPENED))? == 0;
            let database = opened(None, || builder(look).create_with_backend(storage))?;
            if empty {
                make(&database)?;
            }
            Ok(database)
        };
        let flag = Arc::clone(&unsynced);
        let open = move |absent| {
            let file = Watched::new(storage(StoreFile::Log), Arc::clone(&flag));
            let is_there = absent == Absent::Make || file.len()? > 0;
            Ok(is_there.then(|| Arc::new(file) as Arc<dyn StorageBackend>))
        };
        let log = LogPlace { name: "of the store".into(), open: Box::new(open), half_bytes: log_half_bytes };
        Self { tables: Box::new(tables), log, path: None, unsynced }
    }

    /// Returns how much of the tables a service reads when it opens them.
    pub fn look(&self) -> IntegrityCheck {
        if size(self.path.as_deref()) > WHOLE_BYTES_MAX { IntegrityCheck::Quick } else { IntegrityCheck::Whole }
    }
}

/// Returns the length of a file, bytes; 0 if it is not known.
pub(super) fn size(path: Option<&Path>) -> u64 {
    path.and_then(|path| std::fs::metadata(path).ok()).map_or(0, |meta| meta.len())
}

fn open_tables(path: &Path, look: IntegrityCheck, unsynced: &Arc<AtomicBool>) -> Result<Database, StoreError> {
    let file = File::options().read(true).write(true).open(path);
    let file = file.map_err(|error| StoreError::of(UNOPENED, &format!("{}: {error}", path.display())))?;
    if file.metadata().is_ok_and(|meta| meta.len() == 0) {
        return Err(StoreError::of(UNOPENED, &"its file is empty"));
    }
    let open = || {
        let storage = FileBackend::new(file.try_clone().map_err(StorageError::from)?)?;
        builder(look).create_with_backend(Watched::new(storage, Arc::clone(unsynced)))
    };
    opened(Some(path), || {
        for _ in 0..LOCKED_TRIES {
            match open() {
                Err(DatabaseError::DatabaseAlreadyOpen) => std::thread::sleep(LOCKED_PAUSE),
                done => return done,
            }
        }
        open()
    })
}

fn open_log(
    path: &Path,
    absent: Absent,
    unsynced: &Arc<AtomicBool>,
) -> std::io::Result<Option<Arc<dyn StorageBackend>>> {
    let file = match (File::options().read(true).write(true).open(path), absent) {
        (Err(error), Absent::Leave) if error.kind() == ErrorKind::NotFound => return Ok(None),
        (Err(error), Absent::Make) if error.kind() == ErrorKind::NotFound => {
            let file = private::create(path)?;
            // Its name must outlive a power cut before anything is kept in it alone.
            path.parent().map_or(Ok(()), private::sync_folder)?;
            file
        }
        (file, _) => file?,
    };
    let storage = FileBackend::new(file).map_err(std::io::Error::other)?;
    Ok(Some(Arc::new(Watched::new(storage, Arc::clone(unsynced)))))
}

/// Converts an error of opening the file at `path`, for `map_err`: only one process at a time has a store open.
fn unopened(path: Option<&Path>) -> impl FnOnce(DatabaseError) -> StoreError + '_ {
    move |error| match (&error, path.and_then(Path::parent)) {
        (DatabaseError::DatabaseAlreadyOpen, Some(folder)) => {
            let why = format!("another switchboard runs on {}", folder.display());
            StoreError::of(UNOPENED, &why)
        }
        _ => refused(UNOPENED)(error),
    }
}

fn builder(look: IntegrityCheck) -> Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES).set_check_integrity_on_open(look == IntegrityCheck::Whole);
    builder
}

fn opened(path: Option<&Path>, open: impl FnOnce() -> Result<Database, DatabaseError>) -> Result<Database, StoreError> {
    caught(UNOPENED, open)?.map_err(unopened(path))
}

/// Commits the empty table to a new database.
fn make(database: &Database) -> Result<(), StoreError> {
    let mut write = begin(database)?;
    tables::make(&write)?;
    write.set_quick_repair(true);
    write.commit().map_err(refused("a commit failed"))
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
