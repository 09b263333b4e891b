//! How a store takes its seal keys: their ids are kept in a table of their own, and values not sealed with the current
//! key are sealed anew.

use std::ops::Range;
use std::sync::Arc;

use switchboard_core::key::{self, Key};
use switchboard_core::store::Change;
use switchboard_core::view::Bytes;

use super::backend::SealState;
use super::{Store, StoreError};
use crate::seal::{KeyId, Seal, sealed_with};

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
        let known = store.backend.seals()?;
        let Some(current) = store.seal.current().filter(|id| known != [(*id, true)]) else { return Ok((store, 0)) };
        store.note_seals(vec![(current, SealState::Some)])?;
        if !store.backend.is_whole() {
            // Others write the rest: whoever has the rows of all accounts seals them anew.
            return Ok((store, 0));
        }
        let count = store.reseal(current)?;
        let earlier = known.iter().filter(|(id, _)| *id != current).map(|(id, _)| (*id, SealState::None));
        store.note_seals(earlier.chain([(current, SealState::Every)]).collect())?;
        Ok((store, count))
    }

    /// Gives the store its keys without changing it; fails if a key it was sealed with is missing.
    pub fn opened(self, seal: Seal) -> Result<Self, StoreError> {
        refuse_missing(&self.backend.seals()?, &seal)?;
        Ok(Self { seal: Arc::new(seal), ..self })
    }

    /// Returns the ids of the keys that values are sealed with; true once every value is sealed with that key.
    pub fn noted_keys(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        self.backend.seals()
    }

    /// Notes keys that values are sealed with; true if every value is sealed with that key.
    pub fn note_keys(&self, keys: &[(KeyId, bool)]) -> Result<(), StoreError> {
        self.note_seals(keys.iter().map(|(id, every)| (*id, SealState::of(*every))).collect())
    }

    fn note_seals(&self, seals: Vec<(KeyId, SealState)>) -> Result<(), StoreError> {
        self.backend.begin()?.commit(Vec::new(), seals)
    }

    /// Seals all values anew that are not sealed with the current key; returns their number.
    fn reseal(&self, current: KeyId) -> Result<u64, StoreError> {
        let (mut spaces, mut count) = (key::everything(), 0);
        loop {
            let first = self.whole()?.stored(spaces, 1)?.into_iter().next();
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
            let slice = self.whole()?.stored(range.clone(), RESEALED)?;
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

    /// Commits rows of another store as they are, sealed ones still sealed. The keys they need are yet to be noted.
    pub fn put_back(&self, rows: Vec<(Key, Bytes)>) -> Result<(), StoreError> {
        let changes = rows.into_iter().map(|(at, value)| Change::Put(at, value)).collect();
        self.backend.begin()?.commit(changes, Vec::new())
    }
}

/// Fails if a key that values are sealed with is missing.
pub(super) fn refuse_missing(keys: &[(KeyId, bool)], seal: &Seal) -> Result<(), StoreError> {
    let missing = keys.iter().find(|(id, _)| !seal.knows(*id));
    missing.map_or(Ok(()), |(id, _)| {
        let why = format!("it is sealed with key {}, which was not given", named(*id));
        Err(StoreError::of("the store cannot be opened", &why))
    })
}

fn named(id: KeyId) -> String {
    format!("{:08x}", u32::from_be_bytes(id))
}
