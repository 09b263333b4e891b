//! How a store takes its seal keys: their ids are kept in a table of their own, and values not sealed with the current
//! key are sealed anew.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use redb::{ReadableDatabase, ReadableTable, TableDefinition};
use switchboard_core::key::{self, Key};
use switchboard_core::store::Change;
use switchboard_core::view::Bytes;

use super::write::committed;
use super::{ROWS, Store, StoreError, begin, caught, refused};
use crate::seal::{KeyId, Seal, sealed_with};

/// Ids of the keys that values are sealed with; true once every value is sealed with that key.
const SEALS: TableDefinition<KeyId, bool> = TableDefinition::new("seals");
/// Rows read at once while sealing anew; their changes are one commit.
const RESEALED: usize = 256;

impl Store {
    /// Returns whether secrets are sealed, and so whatever else is stored beside them.
    pub fn is_sealed(&self) -> bool {
        self.seal.current().is_some()
    }

    /// Gives the store its keys and, before it returns, seals every value anew that is in clear or sealed with an
    /// earlier key; returns how many those were. A store does not open without the keys it was sealed with.
    pub fn sealed(self, seal: Seal) -> Result<(Self, u64), StoreError> {
        let store = self.opened(seal)?;
        let known = store.seals()?;
        let Some(current) = store.seal.current().filter(|id| known != [(*id, true)]) else { return Ok((store, 0)) };
        store.note_seals(&[(current, false)], &[])?;
        let count = store.reseal(current)?;
        let earlier: Vec<KeyId> = known.iter().map(|(id, _)| *id).filter(|id| *id != current).collect();
        store.note_seals(&[(current, true)], &earlier)?;
        Ok((store, count))
    }

    /// Gives the store its keys without changing it; fails if a key it was sealed with is missing.
    pub fn opened(self, seal: Seal) -> Result<Self, StoreError> {
        let seals = caught("the store cannot be opened", || self.seals())??;
        match seals.iter().find(|(id, _)| !seal.knows(*id)) {
            Some((id, _)) => {
                let why = format!("it is sealed with key {}, which was not given", named(*id));
                Err(StoreError::of("the store cannot be opened", &why))
            }
            None => Ok(Self { seal: Arc::new(seal), latest: Arc::default(), ..self }),
        }
    }

    fn seals(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        let transaction =
            self.with_database(|database| database.begin_read().map_err(refused("a read cannot begin")))?;
        match transaction.open_table(SEALS) {
            Ok(table) => {
                let all = table.iter().map_err(refused("the seals cannot be read"))?;
                let one = |entry: Result<(redb::AccessGuard<'_, KeyId>, redb::AccessGuard<'_, bool>), _>| {
                    entry.map(|(id, whole)| (id.value(), whole.value())).map_err(refused("the seals cannot be read"))
                };
                all.map(one).collect()
            }
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(Vec::new()),
            Err(error) => Err(refused("the seals cannot be read")(error)),
        }
    }

    fn note_seals(&self, present: &[(KeyId, bool)], gone: &[KeyId]) -> Result<(), StoreError> {
        let transaction = self.with_database(begin)?;
        {
            let mut table = transaction.open_table(SEALS).map_err(refused("the seals cannot be opened"))?;
            for (id, whole) in present {
                table.insert(id, whole).map_err(refused("a change failed"))?;
            }
            for id in gone {
                table.remove(id).map_err(refused("a change failed"))?;
            }
        }
        committed(transaction, &self.latest)
    }

    /// Seals all values anew that are not sealed with the current key; returns their number.
    fn reseal(&self, current: KeyId) -> Result<u64, StoreError> {
        let (mut spaces, mut count) = (key::everything(), 0);
        loop {
            let first = self.snapshot()?.stored(spaces, 1)?.into_iter().next();
            let Some(space) = first.and_then(|(at, _)| key::space_of(&at)) else { return Ok(count) };
            for range in key::secret_ranges(space) {
                count += self.reseal_range(range, current)?;
            }
            spaces = key::behind(space);
        }
    }

    /// Seals a range anew, one commit for each slice.
    fn reseal_range(&self, mut range: Range<Key>, current: KeyId) -> Result<u64, StoreError> {
        let mut count = 0;
        loop {
            let slice = self.snapshot()?.stored(range.clone(), RESEALED)?;
            let Some((last, _)) = slice.last() else { return Ok(count) };
            range.start = [last.as_slice(), &[0]].concat();
            let old = slice.into_iter().filter(|(at, value)| sealed_with(at, value) != Some(current));
            let open = |(at, value): (Key, Bytes)| match self.seal.open(&at, &value) {
                Ok(value) => Ok(Change::Put(at, value)),
                Err(unopened) => Err(StoreError::of("the store cannot be sealed anew", &format!("{unopened:?}"))),
            };
            let changes = old.map(open).collect::<Result<Vec<_>, _>>()?;
            count += changes.len() as u64;
            if !changes.is_empty() {
                self.commit(&changes)?;
            }
        }
    }

    /// Commits rows of a backup as they are, sealed ones still sealed, and records the keys they need.
    pub fn put_back(&self, rows: &[(Key, Bytes)]) -> Result<(), StoreError> {
        let transaction = self.with_database(begin)?;
        {
            let mut table = transaction.open_table(ROWS).map_err(refused("the table cannot be opened"))?;
            let mut seals = transaction.open_table(SEALS).map_err(refused("the seals cannot be opened"))?;
            let mut needed = BTreeSet::new();
            for (at, value) in rows {
                table.insert(at.as_slice(), value.as_slice()).map_err(refused("a change failed"))?;
                needed.extend(sealed_with(at, value));
            }
            for id in needed {
                seals.insert(id, false).map_err(refused("a change failed"))?;
            }
        }
        committed(transaction, &self.latest)
    }
}

fn named(id: KeyId) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}
