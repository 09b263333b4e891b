//! [`Series`]: keys that end in a number.

use alloc::vec::Vec;

use super::{Key, Order, with};

/// Keys that differ only in the number at their end: the rows of a kind, the chunks of a set.
#[derive(Clone, Debug)]
pub struct Series {
    /// Common prefix, with capacity for the number.
    prefix: Key,
    /// Order in which the numbers sort; descending numbers are stored inverted.
    order: Order,
}

impl Series {
    pub(super) fn new(prefix: Key, order: Order) -> Self {
        Self { prefix, order }
    }

    /// Returns the common prefix of the keys.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Returns the key with this number.
    pub fn key(&self, number: u32) -> Key {
        let parts: [&[u8]; 2] = [&self.prefix, &self.stored(number).to_be_bytes()];
        with(Vec::with_capacity(self.prefix.len() + 4), &parts)
    }

    /// Returns [`Self::key`] of one number, reusing the prefix.
    pub(super) fn only(self, number: u32) -> Key {
        let stored = self.stored(number).to_be_bytes();
        with(self.prefix, &[&stored])
    }

    /// Returns the number of a key; `None` for a key outside the series.
    pub fn number(&self, key: &[u8]) -> Option<u32> {
        let number = key.strip_prefix(self.prefix.as_slice())?;
        Some(self.stored(u32::from_be_bytes(number.try_into().ok()?)))
    }

    /// Converts a number to the form in its key, and back.
    fn stored(&self, number: u32) -> u32 {
        if self.order == Order::Ascending { number } else { !number }
    }
}

#[cfg(test)]
mod tests {
    use crate::key::Facet;
    use crate::key::{Kind, Space, chunk, chunks, row, rows};

    #[test]
    fn keys_of_a_series_stand_in_its_order() {
        let space = Space::Account(3);
        let facet = Facet::new(1, b"1");
        for (series, one, rises) in [
            (rows(space, Kind::Call), row(space, Kind::Call, 7), true),
            (chunks(space, Kind::Call, &facet), chunk(space, Kind::Call, &facet, 7), false),
        ] {
            assert_eq!(series.key(7), one);
            for number in [0, 7, u32::MAX] {
                assert_eq!(series.number(&series.key(number)), Some(number));
            }
            assert_eq!(series.key(7) < series.key(8), rises);
            assert_eq!(series.number(&one[..one.len() - 1]), None);
            assert_eq!(series.number(&row(space, Kind::Lead, 7)), None);
        }
    }
}
