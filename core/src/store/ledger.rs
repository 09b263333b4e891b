//! [`Ledger`]: what gives a space its ids and its own order of time.

use alloc::vec::Vec;

use crate::key::{self, KINDS, Kind};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// The last count of each kind and the last time, one row a space.
///
/// Ids rise with creation time within a space: a host whose clock is behind is pulled forward.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    last: Timestamp,
    counts: [u32; KINDS],
}

impl Ledger {
    /// Reads the ledger of a space; a new space starts at nothing.
    pub fn load(scope: Scope<'_>) -> Result<Self, Stop> {
        let Some(bytes) = scope.get(key::ledger(scope.space()))? else { return Ok(Self::default()) };
        Self::from_bytes(&bytes).ok_or(Stop::Corrupt("a ledger has an unknown form"))
    }

    /// Writes it back.
    pub fn save(&self, scope: Scope<'_>) -> Result<(), Stop> {
        let mut bytes = Vec::with_capacity(8 + 4 * KINDS);
        bytes.extend_from_slice(&self.last.micros().to_le_bytes());
        self.counts.iter().for_each(|count| bytes.extend_from_slice(&count.to_le_bytes()));
        scope.put(key::ledger(scope.space()), bytes)
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

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (last, rest) = bytes.split_at_checked(8)?;
        let mut ledger =
            Self { last: Timestamp::from_micros(u64::from_le_bytes(last.try_into().ok()?)), counts: [0; KINDS] };
        // A kind that came later counts from nothing: the row may be shorter, never longer.
        let (counts, []) = rest.as_chunks::<4>() else { return None };
        for (slot, count) in ledger.counts.iter_mut().zip(counts) {
            *slot = u32::from_le_bytes(*count);
        }
        (counts.len() <= KINDS).then_some(ledger)
    }
}
