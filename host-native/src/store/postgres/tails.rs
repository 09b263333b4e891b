//! [`Tails`]: rows that may have had a value before they were put, and behind which nothing else is known.
//!
//! New rows stand behind the last one of their kind. Once it is known that nothing does, each next one is known to be new
//! without being asked for, and its commit takes the shorter statement.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use switchboard_core::key::{self, Key};
use switchboard_core::view::{Order, Read, Scan};

use super::place;

/// Tails that are kept until they are read; of more, some are found with the next row.
const TAILS_MAX: usize = 64;

/// Tails that are yet to be read, by their ends.
#[derive(Default)]
pub(super) struct Tails(Mutex<BTreeMap<Key, Key>>);

impl Tails {
    /// Notes the tail of a row's kind, if the key is that of an account's row: those that all share take the long
    /// statement anyway.
    pub fn note(&self, key: &[u8]) {
        let Some(tail) = key::rows_behind(key).filter(|_| !place::is_shared(key)) else { return };
        let mut tails = self.0.lock();
        if tails.len() < TAILS_MAX || tails.contains_key(&tail.end) {
            tails.insert(tail.end, tail.start);
        }
    }

    /// Takes the reads by which it is known what stands in them.
    pub fn take(&self) -> Vec<Read> {
        let tails = std::mem::take(&mut *self.0.lock());
        let read = |(to, from)| Read::Scan(Scan { from, to, order: Order::Ascending, limit: 1 });
        tails.into_iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use switchboard_core::key::{Kind, Space};

    use super::*;

    #[test]
    fn each_kind_of_an_account_is_read_behind_its_last_row() {
        let (tails, space) = (Tails::default(), Space::Account(7));
        for key in [key::row(space, Kind::Call, 1), key::row(space, Kind::Call, 2), key::row(space, Kind::Lead, 9)] {
            tails.note(&key);
        }
        tails.note(&key::ledger(space));
        tails.note(&key::row(Space::Root, Kind::Account, 7));
        let tail = |kind, count| {
            let (from, to) = ([key::row(space, kind, count), vec![0]].concat(), key::row(space, kind, u32::MAX));
            (from, to)
        };
        let read = tails.take();
        assert_eq!(read.len(), 2);
        for (read, (from, last)) in read.into_iter().zip([tail(Kind::Call, 2), tail(Kind::Lead, 9)]) {
            let Read::Scan(scan) = read else { panic!("{read:?}") };
            assert_eq!((scan.from, scan.limit, scan.order), (from, 1, Order::Ascending));
            assert!(last < scan.to && key::read_row(&scan.to).is_none());
        }
        assert!(tails.take().is_empty());
    }

    #[test]
    fn so_many_are_kept() {
        let tails = Tails::default();
        for account in 0..=u32::try_from(TAILS_MAX).unwrap_or_default() {
            tails.note(&key::row(Space::Account(account), Kind::Call, 1));
        }
        tails.note(&key::row(Space::Account(0), Kind::Call, 2));
        assert_eq!(tails.take().len(), TAILS_MAX);
    }
}
