//! [`BackupFile`] and [`BackupFill`]: a backup as where rows come from, and where they go.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek};
use std::path::Path;

use switchboard_core::key::Key;
use switchboard_core::view::Bytes;

use super::{RowSource, RowTarget};
use crate::backup::{BackupReader, BackupWriter};
use crate::private::{Existing, PartialFile};
use crate::seal::KeyId;
use crate::store::{StoreError, StoredVisitor};

const BUFFER_BYTES: usize = 256 << 10;

/// A backup to be read.
pub struct BackupFile(File);

impl BackupFile {
    /// Opens the backup at a path.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        File::open(path).map(Self).map_err(|error| StoreError::Failed(format!("{}: {error}", path.display())))
    }
}

impl RowSource for BackupFile {
    fn rows(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        BackupReader::begin(BufReader::with_capacity(BUFFER_BYTES, &self.0))?.each(visit)
    }

    fn keys(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        Ok(Vec::new())
    }

    fn confirm(&self) -> Result<(), StoreError> {
        // Its digest was that of its rows.
        Ok(())
    }
}

/// A backup that is being written under another name.
pub struct BackupFill {
    partial: Option<PartialFile>,
    backup: Option<BackupWriter<BufWriter<File>>>,
}

impl BackupFill {
    /// Begins a backup at a path where nothing is.
    pub fn begin(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: std::io::Error| StoreError::of(UNWRITTEN, &error);
        let partial = PartialFile::begin(path, Existing::Keep).map_err(failed)?;
        let out = partial.file.try_clone().map_err(failed)?;
        let backup = BackupWriter::begin(BufWriter::with_capacity(BUFFER_BYTES, out))?;
        Ok(Self { partial: Some(partial), backup: Some(backup) })
    }
}

const UNWRITTEN: &str = "the backup cannot be written";

fn over() -> StoreError {
    StoreError::of(UNWRITTEN, &"it is complete")
}

impl RowTarget for BackupFill {
    fn put(&mut self, rows: Vec<(Key, Bytes)>) -> Result<(), StoreError> {
        let backup = self.backup.as_mut().ok_or_else(over)?;
        rows.iter().try_for_each(|(key, value)| backup.put(key, value))
    }

    fn read_back(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        self.backup.take().ok_or_else(over)?.end()?;
        let mut file = &self.partial.as_ref().ok_or_else(over)?.file;
        file.rewind().map_err(|error| StoreError::of("the backup cannot be read", &error))?;
        BackupReader::begin(BufReader::with_capacity(BUFFER_BYTES, file))?.each(visit)
    }

    fn keep(&mut self, _: &[(KeyId, bool)]) -> Result<(), StoreError> {
        // Its rows say which keys they need.
        let partial = self.partial.take().ok_or_else(over)?;
        partial.finish().map_err(|error| StoreError::of(UNWRITTEN, &error))
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        (self.backup, self.partial) = (None, None);
        Ok(())
    }
}
