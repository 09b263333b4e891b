//! [`Ledger`]: allots the ids and creation times of a space, and holds how much it stores.

use alloc::vec::Vec;

use crate::key::{self, KINDS, Kind};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Bit set in the time of a ledger that holds stored bytes; those of earlier releases do not.
const COUNTED: u64 = 1 << 63;

/// Last count of each kind, last time and stored bytes: one row for each space.
///
/// Within a space, ids ascend with creation time: a time behind the last one is moved up to it.
///
/// Bytes: the time (u64 LE, with `COUNTED`), then the stored bytes and those known to be allowed (u64 LE each; both
/// only where `COUNTED` is set), then the counts (u32 LE each).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    last: Timestamp,
    counts: [u32; KINDS],
    /// `None` in a ledger written before stored bytes were counted.
    stored: Option<StoredBytes>,
}

/// How much a space stores, and may store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredBytes {
    /// Total size of the keys and values that [`key::content_of`] counts, bytes.
    pub bytes: u64,
    /// Bytes up to which the plan need not be read, because it allows at least as many.
    pub allowed: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { last: Timestamp::default(), counts: [0; KINDS], stored: Some(StoredBytes::default()) }
    }
}

const DAMAGED: Stop = Stop::Corrupt("a ledger has an unknown form");

impl Ledger {
    /// Reads the ledger of a space; that of a new space is empty.
    pub fn load(scope: Scope<'_>) -> Result<Self, Stop> {
        let Some(bytes) = scope.get(key::ledger(scope.space()))? else { return Ok(Self::default()) };
        Self::from_bytes(&bytes)
    }

    /// Writes the ledger back.
    pub fn save(&self, scope: Scope<'_>) -> Result<(), Stop> {
        scope.put(key::ledger(scope.space()), self.to_bytes())
    }

    /// Encodes the ledger.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(24 + 4 * KINDS);
        let flag = if self.stored.is_some() { COUNTED } else { 0 };
        bytes.extend_from_slice(&(self.last.micros() | flag).to_le_bytes());
        if let Some(StoredBytes { bytes: stored, allowed }) = self.stored {
            bytes.extend_from_slice(&stored.to_le_bytes());
            bytes.extend_from_slice(&allowed.to_le_bytes());
        }
        self.counts.iter().for_each(|count| bytes.extend_from_slice(&count.to_le_bytes()));
        bytes
    }

    /// Allots the next count of a kind (from 1) and returns it with its time of creation; [`Stop::OverBudget`] once all
    /// 32 bits are used.
    pub fn next(&mut self, kind: Kind, now: Timestamp) -> Result<(u32, Timestamp), Stop> {
        let count = &mut self.counts[kind as usize];
        *count = count.checked_add(1).ok_or(Stop::OverBudget)?;
        self.last = self.last.max(now);
        Ok((*count, self.last))
    }

    /// Returns the last count allotted to a kind; 0 before the first.
    pub fn last(&self, kind: Kind) -> u32 {
        self.counts[kind as usize]
    }

    /// Returns what the space stores; `None` where that was never counted.
    pub fn stored(&self) -> Option<StoredBytes> {
        self.stored
    }

    /// Sets what the space stores, and may store.
    pub fn set_stored(&mut self, stored: StoredBytes) {
        self.stored = Some(stored);
    }

    /// Decodes a ledger; [`Stop::Corrupt`] for an unknown form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Stop> {
        Self::read(bytes).ok_or(DAMAGED)
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let (last, rest) = bytes.split_at_checked(8)?;
        let last = number(last)?;
        let (stored, rest) = if last & COUNTED == 0 {
            (None, rest)
        } else {
            let (stored, rest) = rest.split_at_checked(16)?;
            (Some(StoredBytes { bytes: number(&stored[..8])?, allowed: number(&stored[8..])? }), rest)
        };
        let mut ledger = Self { last: Timestamp::from_micros(last & !COUNTED), counts: [0; KINDS], stored };
        // A kind added by a later release starts from 0: the row may be shorter, never longer.
        let (counts, []) = rest.as_chunks::<4>() else { return None };
        for (slot, count) in ledger.counts.iter_mut().zip(counts) {
            *slot = u32::from_le_bytes(*count);
        }
        (counts.len() <= KINDS).then_some(ledger)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_before_bytes_were_counted_reads_back() {
        let mut ledger = Ledger::default();
        let now = Timestamp::from_seconds(5);
        assert_eq!(ledger.next(Kind::Tool, now), Ok((1, now)));
        ledger.set_stored(StoredBytes { bytes: 7, allowed: 9 });
        assert_eq!(Ledger::from_bytes(&ledger.to_bytes()), Ok(ledger.clone()));
        let old = Ledger { stored: None, ..ledger };
        let bytes = old.to_bytes();
        assert_eq!((bytes.len(), Ledger::from_bytes(&bytes)), (8 + 4 * KINDS, Ok(old)));
        assert!(Ledger::from_bytes(&bytes[..7]).is_err());
        assert!(Ledger::from_bytes(&[&bytes[..], &[0; 4]].concat()).is_err());
    }
}
