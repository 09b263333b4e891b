//! What was done to a store besides serving it: its last backup and its last check, in `history.json` in its folder.
//!
//! `GET /admin/store` shows it. A file that cannot be read counts as one that is not there.

use std::io::{Result, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::private::{Existing, PartialFile};

const FILE: &str = "history.json";

/// The last backup and the last check of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct History {
    /// When the last backup was complete, seconds since 1970.
    pub backup_at: Option<u64>,
    /// The last check.
    pub verified: Option<Verified>,
}

/// A check of a store by `switchboard verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verified {
    /// When it was done, seconds since 1970.
    pub at: u64,
    /// Whether it found no fault.
    pub ok: bool,
}

impl History {
    /// Reads the history of the store in a folder.
    pub fn of(folder: &Path) -> Self {
        let text = std::fs::read(folder.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Changes the history of the store in a folder.
    pub fn change(folder: &Path, change: impl FnOnce(&mut Self)) -> Result<()> {
        let mut history = Self::of(folder);
        change(&mut history);
        let mut out = PartialFile::begin(&folder.join(FILE), Existing::Replace)?;
        out.file.write_all(&serde_json::to_vec(&history)?)?;
        out.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_change_keeps_the_rest() {
        let folder = std::env::temp_dir().join(format!("switchboard-history-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        assert_eq!(History::of(&folder), History::default());
        History::change(&folder, |history| history.backup_at = Some(5)).expect("a file");
        let verified = Some(Verified { at: 7, ok: false });
        History::change(&folder, |history| history.verified = verified).expect("a file");
        assert_eq!(History::of(&folder), History { backup_at: Some(5), verified });
        std::fs::write(folder.join(FILE), "{").expect("a file");
        assert_eq!(History::of(&folder), History::default());
        std::fs::remove_dir_all(&folder).expect("a folder");
    }
}
