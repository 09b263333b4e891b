//! Copies all rows of a store to another place: between data folders, backup files and PostgreSQL databases.
//!
//! The rows of both sides are compared at the end, by reading the new ones back. Until then nobody sees them: a copy that
//! fails leaves its target as it was. Sealed values stay sealed, and the new place knows which keys they need.

mod file;
mod folder;
mod place;

use std::collections::BTreeMap;
use std::io::sink;

use switchboard_core::key::Key;
use switchboard_core::view::Bytes;

use crate::backup::{BackupWriter, RowsDigest};
use crate::seal::{KeyId, sealed_with};
use crate::store::{DatabaseFill, Store, StoreError, StoredVisitor, caught};

pub use file::{BackupFile, BackupFill};
pub use folder::FolderFill;
pub use place::StorePlace;

/// Bytes of rows that are put at once.
const GROUP_BYTES: usize = 8 << 20;

/// Where rows come from. Nobody changes them meanwhile.
pub trait RowSource {
    /// Shows every row, in the order of their keys.
    fn rows(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError>;

    /// Returns the ids of seal keys as the place has noted them, see [`Store::note_keys`]; none where they are not noted.
    fn keys(&self) -> Result<Vec<(KeyId, bool)>, StoreError>;

    /// Fails unless the rows are still those that were shown.
    fn confirm(&self) -> Result<(), StoreError>;
}

/// A place without rows, where rows are put that nobody sees before they are kept.
pub trait RowTarget {
    /// Puts rows, in the order of their keys.
    fn put(&mut self, rows: Vec<(Key, Bytes)>) -> Result<(), StoreError>;

    /// Shows every row that stands there, in the order of their keys, once all are put.
    fn read_back(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError>;

    /// Keeps the rows durably, with the ids of the seal keys they need.
    fn keep(&mut self, keys: &[(KeyId, bool)]) -> Result<(), StoreError>;

    /// Leaves the place as it was before; the error says what it is instead.
    fn undo(&mut self) -> Result<(), StoreError>;
}

/// Rows of both sides, which are the same.
#[derive(Clone, Copy, Debug)]
pub struct Copied {
    /// As they were read.
    pub read: RowsDigest,
    /// As they stand in the target.
    pub written: RowsDigest,
}

/// Copies all rows. After an error the target is as it was, or the error says what it is instead.
pub fn copy(from: &mut dyn RowSource, to: &mut dyn RowTarget) -> Result<Copied, StoreError> {
    fill(from, to).map_err(|why| match to.undo() {
        Ok(()) => StoreError::of("nothing was copied, and the target is as it was", &why),
        Err(state) => StoreError::of("nothing was copied", &format!("{why}; {state}")),
    })
}

fn fill(from: &mut dyn RowSource, to: &mut dyn RowTarget) -> Result<Copied, StoreError> {
    let mut read = BackupWriter::begin(sink())?;
    let (mut keys, mut group) = (BTreeMap::new(), Group::default());
    from.rows(&mut |key, value| {
        read.put(key, value)?;
        if let Some(id) = sealed_with(key, value) {
            keys.insert(id, false);
        }
        if group.bytes + key.len() + value.len() > GROUP_BYTES {
            to.put(group.take())?;
        }
        group.push(key, value);
        Ok(())
    })?;
    to.put(group.take())?;
    let mut written = BackupWriter::begin(sink())?;
    to.read_back(&mut |key, value| written.put(key, value))?;
    let (read, written) = (read.end()?, written.end()?);
    if read != written {
        let why = format!("{read} were read, but then {written} stood there");
        return Err(StoreError::of("the copy differs", &why));
    }
    // What a place has noted says more than its rows: whether all are sealed.
    keys.extend(from.keys()?);
    from.confirm()?;
    to.keep(&keys.into_iter().collect::<Vec<_>>())?;
    Ok(Copied { read, written })
}

/// Rows that are yet to be put.
#[derive(Default)]
struct Group {
    rows: Vec<(Key, Bytes)>,
    bytes: usize,
}

impl Group {
    fn push(&mut self, key: &[u8], value: &[u8]) {
        self.bytes += key.len() + value.len();
        self.rows.push((key.to_vec(), value.to_vec()));
    }

    fn take(&mut self) -> Vec<(Key, Bytes)> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

/// The rows of a store that this process has open.
impl RowSource for Store {
    fn rows(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        let snapshot = self.whole()?;
        caught("the store cannot be read", || snapshot.each_stored(visit))?
    }

    fn keys(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        self.noted_keys()
    }

    fn confirm(&self) -> Result<(), StoreError> {
        Self::confirm(self)
    }
}

impl RowTarget for DatabaseFill {
    fn put(&mut self, rows: Vec<(Key, Bytes)>) -> Result<(), StoreError> {
        Self::put(self, rows)
    }

    fn read_back(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
        Self::read_back(self, visit)
    }

    fn keep(&mut self, keys: &[(KeyId, bool)]) -> Result<(), StoreError> {
        Self::keep(self, keys)
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        Self::undo(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as a source shows them, with the seal keys it has noted.
    struct Rows(Vec<(Key, Bytes)>, Vec<(KeyId, bool)>);

    impl RowSource for Rows {
        fn rows(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
            self.0.iter().try_for_each(|(key, value)| visit(key, value))
        }

        fn keys(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
            Ok(self.1.clone())
        }

        fn confirm(&self) -> Result<(), StoreError> {
            if self.1.is_empty() { Err(StoreError::Failed("somebody else wrote".into())) } else { Ok(()) }
        }
    }

    /// A target that may change a value, and may not undo.
    #[derive(Default)]
    struct Target {
        groups: Vec<Vec<(Key, Bytes)>>,
        kept: Option<Vec<(KeyId, bool)>>,
        is_undone: bool,
        changes: bool,
        sticks: bool,
    }

    impl RowTarget for Target {
        fn put(&mut self, mut rows: Vec<(Key, Bytes)>) -> Result<(), StoreError> {
            if self.changes {
                rows.iter_mut().for_each(|(_, value)| value.push(0));
            }
            self.groups.push(rows);
            Ok(())
        }

        fn read_back(&mut self, visit: &mut StoredVisitor<'_>) -> Result<(), StoreError> {
            self.groups.iter().flatten().try_for_each(|(key, value)| visit(key, value))
        }

        fn keep(&mut self, keys: &[(KeyId, bool)]) -> Result<(), StoreError> {
            self.kept = Some(keys.to_vec());
            Ok(())
        }

        fn undo(&mut self) -> Result<(), StoreError> {
            self.is_undone = true;
            if self.sticks { Err(StoreError::Failed("it sticks".into())) } else { Ok(()) }
        }
    }

    fn rows(count: u8, bytes: usize) -> Vec<(Key, Bytes)> {
        (0..count).map(|at| (vec![at], vec![at; bytes])).collect()
    }

    #[test]
    fn rows_go_in_bounded_groups_and_seal_keys_go_along() {
        let mut source = Rows(rows(20, 3 << 20), vec![(*b"used", true)]);
        // Sealed with a key that is not noted, in a table whose rows hold secrets.
        let (at, value) = (vec![1, 0, 0, 0, 0, 23], [&[crate::seal::MARK][..], b"seen", &[0; 40]].concat());
        assert_eq!(sealed_with(&at, &value), Some(*b"seen"));
        source.0.insert(2, (at, value));
        let mut target = Target::default();
        let copied = copy(&mut source, &mut target).expect("it is copied");
        assert_eq!((copied.read, copied.read.rows), (copied.written, 21));
        assert!(
            target.groups.iter().all(|group| group.iter().map(|(_, value)| value.len()).sum::<usize>() <= GROUP_BYTES)
        );
        assert_eq!(target.groups.concat(), source.0);
        assert_eq!(target.kept, Some(vec![(*b"seen", false), (*b"used", true)]));
        assert!(!target.is_undone);
    }

    #[test]
    fn what_differs_is_undone() {
        let mut source = Rows(rows(3, 5), vec![(*b"used", true)]);
        for (sticks, says) in [(false, "the target is as it was: the copy differs: 3 rows"), (true, "; it sticks")] {
            let mut target = Target { changes: true, sticks, ..Target::default() };
            let said = copy(&mut source, &mut target).map_err(|error| error.to_string()).expect_err("it differs");
            assert!(said.contains(says) && target.is_undone && target.kept.is_none(), "{said}");
        }
    }

    #[test]
    fn a_source_that_changed_is_not_kept() {
        let mut target = Target::default();
        let said = copy(&mut Rows(rows(3, 5), Vec::new()), &mut target).expect_err("it changed").to_string();
        assert!(said.ends_with("somebody else wrote") && target.is_undone && target.kept.is_none(), "{said}");
    }
}
