//! [`Vault`]: where objects are kept, a folder or an S3-compatible bucket. The core names them; here are only bytes.
//!
//! An object appears under its name once it is whole and durable: a file is written aside and renamed, an upload to a
//! bucket is one request or a multipart upload. Where the store has seal keys, objects are encrypted (`chunks`).

mod bucket;
mod chunks;
mod writer;

use std::error::Error as _;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hyper::body::Bytes;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use switchboard_core::object::{ObjectRead, ObjectUpload, UploadError};
use switchboard_core::outside::SendError;

use crate::private::{self, Tightened};
use crate::reserve::{free_bytes, lacks_room};
use chunks::{CHUNK_BYTES, Opener};
pub use writer::ObjectWriter;

/// What a bucket's place begins with.
const BUCKET: &str = "s3://";
/// The place of an installation that keeps no recordings.
const OFF: &str = "off";
/// Bytes of an object that are read at a time.
pub const WINDOW_BYTES: u64 = 4 * CHUNK_BYTES as u64;
/// Bytes of a file that are written at a time.
const FILE_PART_BYTES: usize = 1 << 20;
/// Bytes of a part of an upload to a bucket: the smallest that S3 takes.
const BUCKET_PART_BYTES: usize = 5 << 20;
/// Free space of the folder's disk below which nothing is stored, bytes: the store is often on the same disk.
const FREE_BYTES: u64 = 256 << 20;

/// Where objects are kept.
pub struct Vault {
    store: Arc<dyn ObjectStore>,
    /// The folder, if it is none of a bucket.
    folder: Option<PathBuf>,
    /// Bytes that are written at a time.
    part_bytes: usize,
    /// Whether objects are encrypted.
    seals: bool,
}

/// Why a part of an object cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectReadError {
    /// There is no such object.
    Missing,
    /// It is not what was stored: it has another length, or was changed.
    Damaged,
    /// It cannot be reached.
    Unreachable,
}

impl Vault {
    /// Opens the place that a setting names: a folder, `s3://BUCKET/PREFIX`, or `off` for none; without one, the folder
    /// `recordings` of the data folder. The error is a sentence for the operator.
    pub fn open(place: Option<&str>, data: &Path, seals: bool) -> Result<Option<Self>, String> {
        match place {
            Some(OFF) => Ok(None),
            Some(place) if place.starts_with(BUCKET) => {
                let store = bucket::open(&place[BUCKET.len()..])?;
                Ok(Some(Self { store, folder: None, part_bytes: BUCKET_PART_BYTES, seals }))
            }
            Some(place) if place.contains("://") => {
                Err(format!("{place} is no place for recordings: give a folder, {BUCKET}BUCKET/PREFIX, or {OFF}"))
            }
            place => {
                let folder = place.map_or_else(|| data.join("recordings"), PathBuf::from);
                Self::in_folder(&folder, seals)
                    .map(Some)
                    .map_err(|error| format!("recordings cannot be kept in {}: {error}", folder.display()))
            }
        }
    }

    fn in_folder(folder: &Path, seals: bool) -> Result<Self, Error> {
        private::create_folder(folder)?;
        if let Tightened::From(mode) = private::tighten(folder)? {
            tracing::warn!(folder = %folder.display(), "the folder of recordings had mode {mode:o} and is closed to others now");
        }
        let swept = sweep(folder)?;
        if swept > 0 {
            tracing::info!(swept, "uploads of recordings that came to no end were removed");
        }
        let store = LocalFileSystem::new_with_prefix(folder).map_err(Error::other)?.with_fsync(true);
        let folder = Some(folder.to_owned());
        Ok(Self { store: Arc::new(store), folder, part_bytes: FILE_PART_BYTES, seals })
    }

    /// Returns the memory that an upload may take, bytes: a part that is being filled, and one on its way.
    pub fn upload_bytes(&self) -> u64 {
        2 * (self.part_bytes + CHUNK_BYTES) as u64
    }

    /// Begins an object.
    pub fn begin(&self, upload: &ObjectUpload) -> ObjectWriter<'_> {
        ObjectWriter::new(self, upload)
    }

    /// Returns whether the disk has room for so many bytes more; a bucket always has.
    fn has_room(&self, bytes: u64) -> bool {
        let free = self.folder.as_deref().and_then(|folder| free_bytes(folder).ok());
        free.is_none_or(|free| free >= bytes.saturating_add(FREE_BYTES))
    }

    /// Reads bytes of an object from `at` on, which is within its range: up to the end of the range, and at most to the
    /// next multiple of [`WINDOW_BYTES`].
    pub async fn read(&self, object: &ObjectRead, at: u64) -> Result<Bytes, ObjectReadError> {
        let end = object.range.end.min((at / WINDOW_BYTES + 1) * WINDOW_BYTES);
        let opener = object.key.as_ref().map(|key| Opener::new(key, object.bytes));
        let stored = opener.as_ref().map_or(at..end, |opener| opener.stored(at..end));
        let length = stored.end - stored.start;
        let bytes = match self.store.get_range(&ObjectPath::from(&*object.name), stored).await {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.read_error(object, &error).await),
        };
        if bytes.len() as u64 != length {
            return Err(damaged(&object.name));
        }
        match opener {
            Some(opener) => opener.open(&bytes, at..end).map(Bytes::from).ok_or_else(|| damaged(&object.name)),
            None => Ok(bytes),
        }
    }

    /// Finds out why an object could not be read: what is shorter than it was lacks the range that was asked for.
    async fn read_error(&self, object: &ObjectRead, error: &object_store::Error) -> ObjectReadError {
        if let object_store::Error::NotFound { .. } = error {
            return ObjectReadError::Missing;
        }
        let key = object.key.as_ref();
        let length = key.map_or(object.bytes, |key| Opener::new(key, object.bytes).stored(0..object.bytes).end);
        match self.store.head(&ObjectPath::from(&*object.name)).await {
            Ok(found) if found.size != length => damaged(&object.name),
            _ => {
                tracing::warn!(%error, name = object.name, "a recording could not be read");
                ObjectReadError::Unreachable
            }
        }
    }

    /// Deletes an object; one that is not there counts as deleted.
    pub async fn delete(&self, name: &str) -> Result<(), SendError> {
        let path = ObjectPath::from(name);
        match self.store.delete(&path).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => {
                tracing::warn!(%error, name, "a recording could not be deleted");
                return Err(SendError::Unreachable);
            }
        }
        let folder = self.folder.as_ref().map(|folder| folder.join(name)).and_then(|at| Some(at.parent()?.to_owned()));
        let Some(folder) = folder.filter(|folder| folder.is_dir()) else { return Ok(()) };
        // Without this, a power cut brings a file back that no row names any more.
        let synced = tokio::task::spawn_blocking(move || private::sync_folder(&folder)).await;
        if matches!(synced, Ok(Ok(()))) { Ok(()) } else { Err(SendError::Unreachable) }
    }

    /// Logs a warning if objects cannot be reached: a bucket that is not there, or credentials that do not fit.
    pub async fn tell_of_trouble(&self) {
        match self.store.head(&ObjectPath::from("0/0-0")).await {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => tracing::warn!(%error, "recordings cannot be reached: uploads of them will fail"),
        }
    }
}

/// Removes what uploads left whose process died; returns how many files. Nobody else writes to the folder.
fn sweep(folder: &Path) -> Result<usize, Error> {
    let mut swept = 0;
    for account in std::fs::read_dir(folder)? {
        let account = account?.path();
        if !account.is_dir() {
            continue;
        }
        for file in std::fs::read_dir(&account)? {
            let file = file?.path();
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            // The names of files that `object_store` writes aside.
            let is_aside = name.rsplit_once('#').is_some_and(|(_, end)| end.bytes().all(|b| b.is_ascii_digit()));
            if is_aside {
                std::fs::remove_file(&file)?;
                swept += 1;
            }
        }
    }
    Ok(swept)
}

/// Finds out whether a failure is one of a full disk.
fn upload_error(error: &object_store::Error) -> UploadError {
    let sources = std::iter::successors(error.source(), |&error| error.source());
    let is_full = sources.filter_map(|error| error.downcast_ref::<Error>()).any(lacks_room);
    tracing::warn!(%error, "a recording could not be stored");
    if is_full { UploadError::DiskFull } else { UploadError::Unreachable }
}

fn damaged(name: &str) -> ObjectReadError {
    tracing::error!(name, "a recording is damaged: it is not what was stored");
    ObjectReadError::Damaged
}
