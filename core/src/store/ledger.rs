//! [`Ledger`]: what gives a space its ids and its own order of time, and says how much it stores.

use alloc::vec::Vec;

use crate::key::{self, KINDS, Kind};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Set in the time of a ledger that says how much its space stores: earlier ones do not.
const COUNTED: u64 = 1 << 63;

/// The last count of each kind, the last time and the stored bytes, one row a space.
///
/// Ids rise with creation time within a space: a host whose clock is behind is pulled forward.
///
/// Bytes: the time (u64 LE, with `COUNTED`), then the stored bytes and up to where the plan allows them (u64 LE
/// each; both only where `COUNTED` is set), then the counts (u32 LE each).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ledger {
    last: Timestamp,
    counts: [u32; KINDS],
    /// None in a ledger of before they were counted.
    stored: Option<StoredBytes>,
}

/// How much a space stores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredBytes {
    /// Keys and values of [`key::content_of`], bytes.
    pub bytes: u64,
    /// Up to so many bytes nobody needs to look at the plan.
    pub allowed: u64,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { last: Timestamp::default(), counts: [0; KINDS], stored: Some(StoredBytes::default()) }
    }
}

const DAMAGED: Stop = Stop::Corrupt("a ledger has an unknown form");

impl Ledger {
    /// Reads the ledger of a space; a new space starts at nothing.
    pub fn load(scope: Scope<'_>) -> Result<Self, Stop> {
        let Some(bytes) = scope.get(key::ledger(scope.space()))? else { return Ok(Self::default()) };
        Self::from_bytes(&bytes)
    }

    /// Writes it back.
    pub fn save(&self, scope: Scope<'_>) -> Result<(), Stop> {
        scope.put(key::ledger(scope.space()), self.to_bytes())
    }

    /// The stored bytes.
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

    /// The next count of a kind (from 1) and its time of creation.
    pub fn next(&mut self, kind: Kind, now: Timestamp) -> Result<(u32, Timestamp), Stop> {
        let count = &mut self.counts[kind as usize];
        *count = count.checked_add(1).ok_or(Stop::OverBudget)?;
        self.last = self.last.max(now);
        Ok((*count, self.last))
    }

    /// The last count given to a kind.
    pub fn last(&self, kind: Kind) -> u32 {
        self.counts[kind as usize]
    }

    /// What the space stores; none where that was never counted.
    pub fn stored(&self) -> Option<StoredBytes> {
        self.stored
    }

    /// Sets what the space stores.
    pub fn set_stored(&mut self, stored: StoredBytes) {
        self.stored = Some(stored);
    }

    /// Reads stored bytes.
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
        // A kind that came later counts from nothing: the row may be shorter, never longer.
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
