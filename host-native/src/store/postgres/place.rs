//! Where a row stands in the table: keys begin with the slot of their account, so that all rows of a slot are one range.

use std::ops::Range;

use switchboard_core::key::{self, Key, Space};

/// Slots of accounts.
pub(super) const SLOTS: u16 = 1_024;
/// The slot of rows that belong to no account.
const SHARED: u16 = 65_534;

/// Returns the slot of an account.
pub(super) fn slot_of_account(account: u32) -> u16 {
    // Accounts that follow each other go to slots far apart.
    u16::try_from(account.wrapping_mul(0x9E37_79B1) >> 22).unwrap_or(SHARED)
}

/// Returns the slot of a row.
fn slot_of(row: &[u8]) -> u16 {
    match key::space_of(row) {
        Some(Space::Account(account)) => slot_of_account(account),
        _ => key::account_of_queue(row).map_or(SHARED, slot_of_account),
    }
}

/// A set of slots of accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slots {
    bits: [u64; SLOTS as usize / 64],
    is_all: bool,
}

impl Slots {
    /// Returns the set of these slots; others are left out.
    pub fn of(slots: impl IntoIterator<Item = u16>) -> Self {
        let mut bits = [0_u64; SLOTS as usize / 64];
        for slot in slots {
            if let Some(word) = bits.get_mut(usize::from(slot / 64)) {
                *word |= 1 << (slot % 64);
            }
        }
        Self { is_all: bits.iter().all(|word| *word == u64::MAX), bits }
    }

    /// Returns the set of all.
    pub fn all() -> Self {
        Self::of(0..SLOTS)
    }

    pub fn is_all(&self) -> bool {
        self.is_all
    }

    /// Returns how many they are.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether the slot of an account is among them.
    pub fn has(&self, account: u32) -> bool {
        self.is_all || self.has_slot(slot_of_account(account))
    }

    fn has_slot(&self, slot: u16) -> bool {
        self.bits.get(usize::from(slot / 64)).is_some_and(|word| word >> (slot % 64) & 1 == 1)
    }

    fn iter(&self) -> impl Iterator<Item = u16> {
        (0..SLOTS).filter(|slot| self.has_slot(*slot))
    }
}

/// Returns whether a row belongs to no account: any lane may change it.
pub(super) fn is_shared(row: &[u8]) -> bool {
    slot_of(row) == SHARED
}

/// Returns the ranges of the root's rows that belong to no account: all but its queues.
pub(super) fn shared() -> impl Iterator<Item = Range<Key>> {
    let root = key::space(Space::Root);
    let mut queues = key::queues();
    queues.sort_by(|one, next| one.start.cmp(&next.start));
    let starts = std::iter::once(root.start).chain(queues.clone().map(|queue| queue.end));
    starts.zip(queues.map(|queue| queue.start).into_iter().chain([root.end])).map(|(start, end)| start..end)
}

/// Returns the key under which a row stands in the table.
pub(super) fn stored(row: &[u8]) -> Key {
    [&slot_of(row).to_be_bytes(), row].concat()
}

/// Returns the key of a row by that under which it stands.
pub(super) fn row_of(stored: &[u8]) -> Key {
    stored.get(2..).unwrap_or_default().to_vec()
}

/// Returns the ranges of slots in which rows of a queue stand.
pub(super) fn ranges_in_slots(queue: &Range<Key>, slots: &Slots) -> impl Iterator<Item = Range<Key>> {
    slots.iter().map(|slot| {
        let slot = slot.to_be_bytes();
        [&slot[..], &queue.start].concat()..[&slot[..], &queue.end].concat()
    })
}

/// Returns the range of the table in which the rows of a range stand; `None` if they stand in several.
pub(super) fn range(rows: &Range<Key>) -> Option<Range<Key>> {
    let space = key::space_of(&rows.start)?;
    let is_one = rows.end <= key::behind(space).start;
    let is_spread = key::queues().iter().any(|queue| queue.start < rows.end && rows.start < queue.end);
    let slot = slot_of(&rows.start).to_be_bytes();
    (is_one && !is_spread).then(|| [&slot[..], &rows.start].concat()..[&slot[..], &rows.end].concat())
}
