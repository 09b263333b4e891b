//! [`Facet`]: what a list filters by.

use alloc::vec::Vec;

/// One value of one filter, under which a row is filed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Facet {
    tag: u8,
    value: Vec<u8>,
}

impl Facet {
    /// The facet of every row of a kind.
    pub const ALL: Self = Self { tag: 0, value: Vec::new() };

    /// The value of a filter; `tag` tells the filters of a kind apart and is part of stored keys.
    pub fn new(tag: u8, value: &[u8]) -> Self {
        assert!(u8::try_from(value.len()).is_ok(), "facet values are short");
        Self { tag, value: value.to_vec() }
    }

    /// A filter by the id of another row.
    pub fn id(tag: u8, count: u32) -> Self {
        Self::new(tag, &count.to_be_bytes())
    }

    /// Which filter.
    pub fn tag(&self) -> u8 {
        self.tag
    }

    /// Which value.
    pub fn value(&self) -> &[u8] {
        &self.value
    }
}
