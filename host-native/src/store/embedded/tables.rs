//! The tables of the file: rows, seal keys, and which commits stand in them durably.

use redb::{
    AccessGuard, Database, ReadTransaction, ReadableDatabase, ReadableTable, StorageError, TableDefinition, TableError,
    TypeName, Value, WriteTransaction,
};
use switchboard_core::store::Change;

use super::log::{CommitChanges, StoreId};
use crate::reserve::lacks_room;
use crate::seal::KeyId;
use crate::store::StoreError;
use crate::store::backend::SealState;

pub(super) const ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
/// Ids of the keys that values are sealed with; true once every value is sealed with that key.
const SEAL_KEYS: TableDefinition<KeyId, bool> = TableDefinition::new("seal_keys");
/// The same in a store that never had a log.
const SEALS: TableDefinition<KeyId, bool> = TableDefinition::new("seals");
/// What a store with a log has in its place: releases that know no log look there first, and refuse to go on.
const REFUSAL: TableDefinition<(), NeedsLog> = TableDefinition::new("seals");
/// The last [`Checkpoint`]: store, sequence, whether the log is in use.
const CHECKPOINT: TableDefinition<(), (StoreId, u64, bool)> = TableDefinition::new("checkpoint");

/// Type whose name is shown by a release that cannot read a store with a log.
#[derive(Debug)]
struct NeedsLog;

impl Value for NeedsLog {
    type SelfType<'a> = ();
    type AsBytes<'a> = [u8; 0];

    fn fixed_width() -> Option<usize> {
        Some(0)
    }

    fn from_bytes<'a>(_: &'a [u8]) -> Self::SelfType<'a>
    where
        Self: 'a,
    {
    }

    fn as_bytes<'a, 'b: 'a>((): &'a Self::SelfType<'b>) -> Self::AsBytes<'a>
    where
        Self: 'b,
    {
        []
    }

    fn type_name() -> TypeName {
        TypeName::new("the store has a log, which this release of Switchboard cannot read: start a later release")
    }
}

/// Up to where the tables have all commits durably.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub store: StoreId,
    /// Sequence of the last commit.
    pub sequence: u64,
    /// Whether later commits may stand in the log alone.
    pub log_in_use: bool,
}

impl Checkpoint {
    /// Reads the last one; `None` if the store never had a log.
    pub fn of(database: &Database) -> Result<Option<Self>, StoreError> {
        let unread = "the checkpoint cannot be read";
        let Some(table) = existing(&begin_read(database)?, CHECKPOINT, unread)? else { return Ok(None) };
        let row = table.get(()).map_err(refused(unread))?.ok_or_else(|| StoreError::of(unread, &"it is missing"))?;
        let (store, sequence, log_in_use) = row.value();
        Ok(Some(Self { store, sequence, log_in_use }))
    }

    /// Writes it into the transaction that has all commits up to it.
    pub fn put(self, transaction: &WriteTransaction) -> Result<(), StoreError> {
        let mut table = transaction.open_table(CHECKPOINT).map_err(refused(UNOPENED))?;
        table.insert((), (self.store, self.sequence, self.log_in_use)).map(drop).map_err(refused(UNCHANGED))
    }
}

const UNOPENED: &str = "a table cannot be opened";
const UNCHANGED: &str = "a change failed";

fn begin_read(database: &Database) -> Result<ReadTransaction, StoreError> {
    database.begin_read().map_err(refused("a read cannot begin"))
}

/// Opens a table to read; `None` if it does not exist.
fn existing<K: redb::Key + 'static, V: Value + 'static>(
    transaction: &ReadTransaction,
    table: TableDefinition<K, V>,
    unread: &str,
) -> Result<Option<redb::ReadOnlyTable<K, V>>, StoreError> {
    match transaction.open_table(table) {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(refused(unread)(error)),
    }
}

/// Makes the table of rows.
pub(super) fn make(transaction: &WriteTransaction) -> Result<(), StoreError> {
    transaction.open_table(ROWS).map(drop).map_err(refused("the table cannot be made"))
}

/// Closes a store that never had a log to the releases that know none.
pub(super) fn refuse_earlier_releases(transaction: &WriteTransaction) -> Result<(), StoreError> {
    {
        let earlier = transaction.open_table(SEALS).map_err(refused(UNOPENED))?;
        let mut keys = transaction.open_table(SEAL_KEYS).map_err(refused(UNOPENED))?;
        for entry in earlier.iter().map_err(refused(UNCHANGED))? {
            let (id, every) = entry.map_err(refused(UNCHANGED))?;
            keys.insert(id.value(), every.value()).map_err(refused(UNCHANGED))?;
        }
    }
    transaction.delete_table(SEALS).map_err(refused(UNCHANGED))?;
    transaction.open_table(REFUSAL).map(drop).map_err(refused(UNCHANGED))
}

/// Puts what a commit changes into the tables.
pub(super) fn put(transaction: &WriteTransaction, changes: &CommitChanges) -> Result<(), StoreError> {
    if !changes.rows.is_empty() {
        let mut table = transaction.open_table(ROWS).map_err(refused(UNOPENED))?;
        for change in &changes.rows {
            match change {
                Change::Put(at, value) => table.insert(at.as_slice(), value.as_slice()).map(drop),
                Change::Delete(at) => table.remove(at.as_slice()).map(drop),
            }
            .map_err(refused(UNCHANGED))?;
        }
    }
    if !changes.seals.is_empty() {
        let mut table = transaction.open_table(SEAL_KEYS).map_err(refused(UNOPENED))?;
        for (id, state) in &changes.seals {
            match state {
                SealState::Some => table.insert(id, false).map(drop),
                SealState::Every => table.insert(id, true).map(drop),
                SealState::None => table.remove(id).map(drop),
            }
            .map_err(refused(UNCHANGED))?;
        }
    }
    Ok(())
}

/// Returns the ids of the keys that values are sealed with; true once every value is sealed with that key.
pub(super) fn seals(database: &Database) -> Result<Vec<(KeyId, bool)>, StoreError> {
    let unread = "the seals cannot be read";
    let transaction = begin_read(database)?;
    let table = match existing(&transaction, SEAL_KEYS, unread)? {
        None => existing(&transaction, SEALS, unread)?,
        table => table,
    };
    let Some(table) = table else { return Ok(Vec::new()) };
    let one = |entry: Result<(AccessGuard<'_, KeyId>, AccessGuard<'_, bool>), StorageError>| {
        entry.map(|(id, every)| (id.value(), every.value())).map_err(refused(unread))
    };
    table.iter().map_err(refused(unread))?.map(one).collect()
}

/// Converts an error of redb, for `map_err`; `what` says what failed.
pub(super) fn refused<E: Into<redb::Error>>(what: &str) -> impl FnOnce(E) -> StoreError + '_ {
    move |error| {
        let error = error.into();
        match &error {
            redb::Error::Io(cause) if lacks_room(cause) => StoreError::DiskFull(format!("{what}: {error}")),
            _ => StoreError::of(what, &error),
        }
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    #[test]
    fn seals_of_a_store_without_a_log_are_kept_and_earlier_releases_are_refused() {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).expect("memory");
        let noted = [([1; 4], true), ([2; 4], false)];
        let write = database.begin_write().expect("a write");
        for (id, every) in noted {
            write.open_table(SEALS).expect("a table").insert(id, every).expect("room");
        }
        write.commit().expect("room");
        assert_eq!(seals(&database).expect("a read"), noted);
        assert_eq!(Checkpoint::of(&database).expect("a read"), None);

        let checkpoint = Checkpoint { store: [7; 16], sequence: 3, log_in_use: true };
        let write = database.begin_write().expect("a write");
        refuse_earlier_releases(&write).expect("room");
        checkpoint.put(&write).expect("room");
        write.commit().expect("room");
        assert_eq!(seals(&database).expect("a read"), noted);
        assert_eq!(Checkpoint::of(&database).expect("a read"), Some(checkpoint));
        let earlier = database.begin_read().expect("a read").open_table(SEALS);
        let said = refused("the seals cannot be read")(earlier.map(drop).expect_err("it is refused")).to_string();
        let wanted = "the seals cannot be read: seals is of type Table<(), the store has a log, which this release of \
                      Switchboard cannot read: start a later release>";
        assert_eq!(said, wanted);
    }
}
