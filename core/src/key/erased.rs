//! Ranges in which an account is erased.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Key, Kind, Space, Table, Unique, after, below, key, with};

/// Tables whose keys begin with a kind or an index, and the one among these that the account's phone numbers use.
const OF_NUMBERS: [(Table, u8); 4] = [
    // Sets first: whoever looks for rows finds no ids of rows that are gone.
    (Table::Set, Kind::Number as u8),
    (Table::Row, Kind::Number as u8),
    (Table::Day, Kind::Number as u8),
    (Table::Unique, Unique::Number as u8),
];

/// Tables of which nothing is needed to give numbers back.
const OTHERS: [Table; 23] = [
    Table::Part,
    Table::Used,
    Table::Idempotency,
    Table::IdempotencyExpiry,
    Table::Phones,
    Table::Indexed,
    Table::Segment,
    Table::Posting,
    Table::Passage,
    Table::Event,
    Table::Mention,
    Table::CallEvent,
    Table::ImportError,
    Table::Address,
    Table::Retry,
    Table::Dialer,
    Table::CallDays,
    Table::Secrets,
    Table::Logins,
    Table::Visit,
    Table::Visited,
    Table::Recording,
    Table::RecordingAccount,
];

/// Returns the ranges of everything in an account but its phone numbers, its jobs, its ledger and its profile.
pub fn without_numbers(space: Space) -> Vec<Range<Key>> {
    let around = OF_NUMBERS.into_iter().flat_map(|(table, number)| {
        let (all, own) = (below(key(space, table, 0)), with(key(space, table, 1), &[&[number]]));
        [all.start..own.clone(), after(&own)..all.end]
    });
    around.chain(OTHERS.map(|table| below(key(space, table, 0)))).collect()
}

/// Returns the range of a whole space.
pub fn all_of(space: Space) -> Range<Key> {
    below(key(space, Table::Ledger, 0)[..5].to_vec())
}

/// Returns whether an erased account needs this row until its last step: its ledger, its profile, and when its job is due.
pub fn outlasts(at: &[u8]) -> bool {
    [Table::Ledger, Table::Profile, Table::DueHead].iter().any(|table| at.get(5) == Some(&(*table as u8)))
}

#[cfg(test)]
mod tests {
    use super::super::{ledger, profile, row, unique};
    use super::*;

    #[test]
    fn numbers_and_neighbours_are_left_out() {
        let space = Space::Account(7);
        let ranges = without_numbers(space);
        let is_in = |key: &Key| ranges.iter().filter(|range| range.contains(key)).count();
        for kind in Kind::ALL {
            assert_eq!(is_in(&row(space, kind, 1)), usize::from(kind != Kind::Number), "{kind:?}");
            assert_eq!(is_in(&row(Space::Account(8), kind, 1)), 0);
        }
        assert_eq!(is_in(&unique(space, Unique::Number, b"n+1")), 0);
        assert_eq!(is_in(&unique(space, Unique::LeadPhone, b"x")), 1);
        for key in [ledger(space), profile(7)] {
            assert!(is_in(&key) == 0 && outlasts(&key) && all_of(space).contains(&key));
        }
        assert!(
            !all_of(space).contains(&ledger(Space::Account(8))) && !all_of(space).contains(&ledger(Space::Account(6)))
        );
    }
}
