//! [`Facet`]: what a list filters by.

use alloc::vec::Vec;

/// Value of a filter, under which a row is filed in a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facet {
    tag: u8,
    value: Vec<u8>,
}

impl Facet {
    /// Facet that every row of a kind has: the set of the whole kind.
    pub const ALL: Self = Self { tag: 0, value: Vec::new() };

    /// Creates the facet of a filter's value, at most 255 bytes; `tag` tells the filters of a kind apart and is part of
    /// stored keys.
    pub fn new(tag: u8, value: &[u8]) -> Self {
        assert!(u8::try_from(value.len()).is_ok(), "facet values are short");
        Self { tag, value: value.to_vec() }
    }

    /// Creates the facet of a filter by another row, from that row's count.
    pub fn id(tag: u8, count: u32) -> Self {
        Self::new(tag, &count.to_be_bytes())
    }

    /// Returns the number of the filter; 0 is [`Self::ALL`].
    pub fn tag(&self) -> u8 {
        self.tag
    }

    /// Returns the value of the filter as stored in keys.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}
