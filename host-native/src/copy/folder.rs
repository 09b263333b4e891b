//! [`FolderFill`]: a data folder as where rows go.

use std::io::{ErrorKind, Result as IoResult};
use std::path::{Path, PathBuf};

use switchboard_core::key::Key;
use switchboard_core::view::Bytes;

use super::RowTarget;
use crate::private;
use crate::seal::KeyId;
use crate::store::{Store, StoreError, StoredVisitor, caught};

/// Folder of the store that is not complete, in the data folder: a service does not open it.
const PARTIAL: &str = "partial";
const WHAT: &str = "the folder cannot be filled";

/// A data folder whose store is being filled.
pub struct FolderFill {
    folder: PathBuf,
    /// Folders that were made, the innermost first.
    made: Vec<PathBuf>,
    store: Option<Store>,
    /// Files where a service looks for them.
    published: Vec<PathBuf>,
}

impl FolderFill {
    /// Begins to fill a folder that does not exist or is empty.
    pub fn begin(folder: &Path) -> Result<Self, StoreError> {
        let failed = |why: &dyn std::fmt::Display| StoreError::of(WHAT, &format!("{}: {why}", folder.display()));
        match std::fs::read_dir(folder).map(|mut entries| entries.next().is_some()) {
            Ok(true) => return Err(failed(&"it is not empty")),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(&error)),
            _ => {}
        }
        let missing = |at: &&Path| !at.as_os_str().is_empty() && !at.exists();
        let made = folder.ancestors().take_while(missing).map(Path::to_owned).collect();
        let mut fill = Self { folder: folder.to_owned(), made, store: None, published: Vec::new() };
        match Store::open(&folder.join(PARTIAL)) {
            Ok(store) => fill.store = Some(store),
            Err(error) => {
                // What made the folders fail says more than what is left of them.
                let _ = fill.undo();
                return Err(error);
            }
        }
        Ok(fill)
    }

    fn store(&self) -> Result<&Store, StoreError> {
        self.store.as_ref().ok_or_else(|| StoreError::of(WHAT, &"its store is closed"))
    }

    /// Moves the files of the store to where a service looks for them.
    fn publish(&mut self) -> IoResult<()> {
        let partial = self.folder.join(PARTIAL);
        for entry in std::fs::read_dir(&partial)? {
            let entry = entry?;
            let path = self.folder.join(entry.file_name());
            std::fs::rename(entry.path(), &path)?;
            self.published.push(path);
        }
        std::fs::remove_dir(partial)?;
        private::tighten(&self.folder)?;
        private::sync_folder(&self.folder)
    }

    fn remove(&self) -> IoResult<()> {
        let none = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
        let gone = |done: IoResult<()>| if done.as_ref().is_err_and(none) { Ok(()) } else { done };
        self.published.iter().try_for_each(|path| gone(std::fs::remove_file(path)))?;
        gone(std::fs::remove_dir_all(self.folder.join(PARTIAL)))?;
        self.made.iter().try_for_each(|made| gone(std::fs::remove_dir(made)))
    }
}

impl RowTarget for FolderFill {
    fn put(&mut self, rows: Vec<(Key, Bytes)>) -> Result<(), StoreError> {
        if rows.is_empty() { Ok(()) } else { self.store()?.put_back(rows) }
    }

    fn read_back(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        let snapshot = self.store()?.whole()?;
        caught("the store cannot be read", || snapshot.each_stored(visit))?
    }

    fn keep(&mut self, keys: &[(KeyId, bool)]) -> Result<(), StoreError> {
        let store = self.store.take().ok_or_else(|| StoreError::of(WHAT, &"its store is closed"))?;
        store.note_keys(keys)?;
        drop(store);
        self.publish().map_err(|error| StoreError::of(WHAT, &format!("{}: {error}", self.folder.display())))
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        self.store = None;
        let left =
            |error| StoreError::of("not all of it could be removed", &format!("{}: {error}", self.folder.display()));
        self.remove().map_err(left)
    }
}
