//! One record of the log: a commit's changes as bytes, with what tells whether it is whole.
//!
//! Bytes: XXH3-128 of all that follows (16) · id of the store (16) · sequence (8) · length of the changes (4) · the
//! changes; numbers are little-endian. A change: 0, lengths of key and value (4 each), key, value; or 1, length of the
//! key (4), key, for a delete; or 2, a seal key's id (4) and its state (1).

use switchboard_core::store::Change;
use twox_hash::XxHash3_128;

use crate::seal::KeyId;
use crate::store::backend::SealState;

/// Identifies a store, so that no other store's log is taken for its own.
pub(in crate::store::embedded) type StoreId = [u8; 16];

/// What one commit changes: rows as they are stored, and what is noted of seal keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::store::embedded) struct CommitChanges {
    /// Rows put or deleted.
    pub rows: Vec<Change>,
    /// States of seal keys.
    pub seals: Vec<(KeyId, SealState)>,
}

const SUM_BYTES: usize = 16;
const HEAD_BYTES: usize = SUM_BYTES + 16 + 8 + 4;
const PUT: u8 = 0;
const DELETE: u8 = 1;
const SEAL: u8 = 2;

impl CommitChanges {
    fn encoded_len(&self) -> usize {
        let row = |change: &Change| match change {
            Change::Put(at, value) => 9 + at.len() + value.len(),
            Change::Delete(at) => 5 + at.len(),
        };
        self.rows.iter().map(row).sum::<usize>() + self.seals.len() * 6
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for change in &self.rows {
            match change {
                Change::Put(at, value) => {
                    out.push(PUT);
                    out.extend_from_slice(&length(at));
                    out.extend_from_slice(&length(value));
                    out.extend_from_slice(at);
                    out.extend_from_slice(value);
                }
                Change::Delete(at) => {
                    out.push(DELETE);
                    out.extend_from_slice(&length(at));
                    out.extend_from_slice(at);
                }
            }
        }
        for (id, state) in &self.seals {
            out.push(SEAL);
            out.extend_from_slice(id);
            out.push(match state {
                SealState::Some => 0,
                SealState::Every => 1,
                SealState::None => 2,
            });
        }
    }

    /// Reads what [`Self::encode`] wrote; `None` for anything else.
    fn decode(mut from: &[u8]) -> Option<Self> {
        let mut changes = Self::default();
        while let Some((kind, rest)) = from.split_first() {
            from = rest;
            match *kind {
                PUT => {
                    let (at, value) = (number(&mut from)?, number(&mut from)?);
                    changes.rows.push(Change::Put(take(&mut from, at)?, take(&mut from, value)?));
                }
                DELETE => {
                    let at = number(&mut from)?;
                    changes.rows.push(Change::Delete(take(&mut from, at)?));
                }
                SEAL => {
                    let id = *from.split_off(..4)?.first_chunk()?;
                    let state = match from.split_off_first()? {
                        0 => SealState::Some,
                        1 => SealState::Every,
                        2 => SealState::None,
                        _ => return None,
                    };
                    changes.seals.push((id, state));
                }
                _ => return None,
            }
        }
        Some(changes)
    }
}

fn length(bytes: &[u8]) -> [u8; 4] {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes()
}

fn number(from: &mut &[u8]) -> Option<usize> {
    let bytes = from.split_off(..4)?.first_chunk()?;
    usize::try_from(u32::from_le_bytes(*bytes)).ok()
}

fn take(from: &mut &[u8], bytes: usize) -> Option<Vec<u8>> {
    from.split_off(..bytes).map(<[u8]>::to_vec)
}

/// Returns the length of a record of these changes, bytes.
pub(super) fn record_len(changes: &CommitChanges) -> usize {
    HEAD_BYTES + changes.encoded_len()
}

/// Encodes a record, filled up with zeros to a multiple of `page` bytes.
pub(super) fn encode(store: &StoreId, sequence: u64, changes: &CommitChanges, page: usize) -> Vec<u8> {
    let bytes = record_len(changes);
    let mut out = Vec::with_capacity(bytes.next_multiple_of(page));
    out.resize(SUM_BYTES, 0);
    out.extend_from_slice(store);
    out.extend_from_slice(&sequence.to_le_bytes());
    out.extend_from_slice(&u32::try_from(changes.encoded_len()).unwrap_or(u32::MAX).to_le_bytes());
    changes.encode(&mut out);
    let sum = XxHash3_128::oneshot(&out[SUM_BYTES..]).to_le_bytes();
    out[..SUM_BYTES].copy_from_slice(&sum);
    out.resize(bytes.next_multiple_of(page), 0);
    out
}

/// A whole record, as it stands in the log.
#[derive(Debug)]
pub(super) struct LogRecord<'l> {
    pub sequence: u64,
    /// Its length, bytes, without the zeros behind it.
    pub bytes: usize,
    changes: &'l [u8],
}

impl<'l> LogRecord<'l> {
    /// Reads a store's record at the beginning of `bytes`; `None` where none stands whole.
    pub fn read(bytes: &'l [u8], store: &StoreId) -> Option<Self> {
        let (sum, all) = bytes.split_first_chunk::<SUM_BYTES>()?;
        // Whose it is comes first: what a tenant stored may look like a length, and be summed for nothing.
        let (sequence, mut rest) = all.strip_prefix(store)?.split_first_chunk::<8>()?;
        let length = number(&mut rest)?;
        let changes = rest.get(..length)?;
        let covered = all.get(..HEAD_BYTES - SUM_BYTES + length)?;
        let is_whole = XxHash3_128::oneshot(covered).to_le_bytes() == *sum;
        is_whole.then_some(Self { sequence: u64::from_le_bytes(*sequence), bytes: HEAD_BYTES + length, changes })
    }

    /// Returns the sequence that a store's record at the beginning of `bytes` has by its head, whole or not.
    pub fn claimed(bytes: &[u8], store: &StoreId) -> Option<u64> {
        let sequence = bytes.get(SUM_BYTES..)?.strip_prefix(store)?.first_chunk()?;
        Some(u64::from_le_bytes(*sequence))
    }

    /// Returns what its commit changes; `None` if it was written by a later release.
    pub fn changes(&self) -> Option<CommitChanges> {
        CommitChanges::decode(self.changes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    const PAGE: usize = 4_096;
    const ID: StoreId = [7; 16];

    fn changes() -> impl Strategy<Value = CommitChanges> {
        let at = || vec(any::<u8>(), 0..40);
        let row = prop_oneof![
            (at(), vec(any::<u8>(), 0..9_000)).prop_map(|(at, value)| Change::Put(at, value)),
            at().prop_map(Change::Delete),
        ];
        let state = prop_oneof![Just(SealState::Some), Just(SealState::Every), Just(SealState::None)];
        (vec(row, 0..6), vec((any::<KeyId>(), state), 0..3)).prop_map(|(rows, seals)| CommitChanges { rows, seals })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(changes in changes(), sequence: u64) {
            let bytes = encode(&ID, sequence, &changes, PAGE);
            prop_assert_eq!(bytes.len() % PAGE, 0);
            let record = LogRecord::read(&bytes, &ID).expect("it is whole");
            prop_assert_eq!((record.sequence, record.bytes), (sequence, record_len(&changes)));
            prop_assert_eq!(record.changes(), Some(changes));
            prop_assert!(LogRecord::read(&bytes, &[8; 16]).is_none(), "it is another store's");
        }

        #[test]
        fn a_record_with_a_flipped_bit_is_none(changes in changes(), at: prop::sample::Index, bit in 0..8) {
            let mut bytes = encode(&ID, 1, &changes, PAGE);
            bytes[at.index(record_len(&changes))] ^= 1_u8 << bit;
            prop_assert!(LogRecord::read(&bytes, &ID).is_none());
        }

        #[test]
        fn a_record_that_ends_early_is_none(changes in changes(), at: prop::sample::Index) {
            let bytes = encode(&ID, 1, &changes, PAGE);
            prop_assert!(LogRecord::read(&bytes[..at.index(record_len(&changes))], &ID).is_none());
        }

        #[test]
        fn any_bytes_are_changes_or_refused(bytes in vec(any::<u8>(), 0..200)) {
            prop_assert!(CommitChanges::decode(&bytes).is_none_or(|changes| changes.encoded_len() == bytes.len()));
        }
    }
}
