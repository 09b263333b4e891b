//! Where a row stands in the table: keys begin with the slot of their account, so that all rows of a slot are one range.

use std::ops::Range;

use switchboard_core::key::{self, Key, Space};

/// Slots of accounts.
pub(super) const SLOTS: u16 = 1_024;
/// The slot of rows that belong to no account.
const SHARED: u16 = 65_534;

/// Returns the slot of an account.
fn slot_of_account(account: u32) -> u16 {
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

/// Returns the key under which a row stands in the table.
pub(super) fn stored(row: &[u8]) -> Key {
    [&slot_of(row).to_be_bytes(), row].concat()
}

/// Returns the key of a row by that under which it stands.
pub(super) fn row_of(stored: &[u8]) -> Key {
    stored.get(2..).unwrap_or_default().to_vec()
}

/// Returns the ranges of all slots in which rows of a queue stand.
pub(super) fn ranges_in_slots(queue: &Range<Key>) -> impl Iterator<Item = Range<Key>> {
    (0..SLOTS).map(|slot| {
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
