//! [`StorePlace`]: where a store is, as a person names it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::{BackupFile, BackupFill, FolderFill, RowSource, RowTarget};
use crate::store::{DatabaseFill, Store, StoreError};

/// How the name of a new backup ends.
const BACKUP: &str = "swbk";

/// A data folder, a backup or a database.
#[derive(Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// The data folder at a path.
    Folder(PathBuf),
    /// The backup at a path.
    Backup(PathBuf),
    /// The PostgreSQL of a URL.
    Database(String),
}

impl StorePlace {
    /// Reads the URL of a PostgreSQL; `None` for any other text.
    pub fn database(text: &str) -> Option<Self> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        is_url.then(|| Self::Database(text.to_owned()))
    }

    /// Reads the name of a store that is there: a URL, a folder or a backup.
    pub fn source(text: &str) -> Result<Self, StoreError> {
        let path = Path::new(text);
        match (Self::database(text), std::fs::metadata(path)) {
            (Some(database), _) => Ok(database),
            (None, Ok(meta)) if meta.is_dir() => Ok(Self::Folder(path.to_owned())),
            (None, Ok(_)) => Ok(Self::Backup(path.to_owned())),
            (None, Err(error)) => {
                let why =
                    format!("{error}; a store is a data folder, a backup or postgres://USER:PASSWORD@HOST/DATABASE");
                Err(StoreError::of(text, &why))
            }
        }
    }

    /// Reads the name of a store that is to be: what does not exist yet says by its end what it will be.
    pub fn target(text: &str) -> Result<Self, StoreError> {
        let path = Path::new(text);
        match Self::database(text) {
            Some(database) => Ok(database),
            None if path.is_dir() || text.ends_with('/') => Ok(Self::Folder(path.to_owned())),
            None if path.exists() || path.extension().is_some_and(|end| end == BACKUP) => {
                Ok(Self::Backup(path.to_owned()))
            }
            None => {
                let why = "say what it is to be: a data folder ends in / (DIR/), a backup in .swbk, and a PostgreSQL is \
                           postgres://USER:PASSWORD@HOST/DATABASE";
                Err(StoreError::of(text, &why))
            }
        }
    }

    /// Opens the rows that are there. Nobody changes them meanwhile: a folder is locked, and a database is owned as by a
    /// node that serves.
    pub fn open(&self) -> Result<Box<dyn RowSource>, StoreError> {
        match self {
            Self::Backup(path) => Ok(Box::new(BackupFile::open(path)?)),
            Self::Database(url) => Ok(Box::new(Store::of_url(url)?)),
            Self::Folder(folder) => {
                let mut store = Store::existing(folder)?;
                // No row is read from an unchecked file.
                if store.check()? {
                    return Ok(Box::new(store));
                }
                let why = format!("the file needed repair: look at it with `switchboard verify {}`", folder.display());
                Err(StoreError::of("the store is not copied", &why))
            }
        }
    }

    /// Begins to fill the place, which has no rows.
    pub fn fill(&self) -> Result<Box<dyn RowTarget>, StoreError> {
        Ok(match self {
            Self::Folder(folder) => Box::new(FolderFill::begin(folder)?),
            Self::Backup(path) => Box::new(BackupFill::begin(path)?),
            Self::Database(url) => Box::new(DatabaseFill::begin(url)?),
        })
    }
}

impl fmt::Display for StorePlace {
    /// Names it for people; a password is never shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) | Self::Backup(path) => write!(f, "{}", path.display()),
            Self::Database(url) => f.write_str(&Store::shown(url)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_is_said_by_its_end() {
        let target = |text: &str| StorePlace::target(text).map_err(|error| error.to_string());
        assert_eq!(target("/nowhere/data/"), Ok(StorePlace::Folder("/nowhere/data/".into())));
        assert_eq!(target("/nowhere/a.swbk"), Ok(StorePlace::Backup("/nowhere/a.swbk".into())));
        assert_eq!(target("postgresql://sb@db/sb"), Ok(StorePlace::Database("postgresql://sb@db/sb".into())));
        assert!(target("/nowhere/data").is_err_and(|error| error.contains("a data folder ends in /")));
        let source = StorePlace::source("/nowhere/data").map_err(|error| error.to_string());
        assert!(source.is_err_and(|error| error.contains("/nowhere/data: ") && error.contains("postgres://")));
    }

    #[test]
    fn a_password_is_not_shown() {
        let shown = StorePlace::Database("postgres://sb:secret@db.example/calls".into()).to_string();
        assert_eq!(shown, "calls at db.example");
    }
}
