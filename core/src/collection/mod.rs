//! Collections: lists whose pages cost the same at ten thousand rows and at ten million.
//!
//! For the whole of a kind and for every value of every facet (status, type, assistant, …) a *set* of ids
//! is kept, in chunks, with a head that knows how many ids each chunk holds. A page of any combination of
//! filters is: intersect the sets, pick by rank, fetch that many rows. Creating, moving and deleting a row
//! rewrites the touched chunks in the same commit. The bytes of a set follow from its ids alone, never from
//! its history, so `verify` can rebuild and compare them.

mod chunk;
mod head;
mod ones;
mod page;
mod update;

#[cfg(test)]
mod model;

use alloc::vec::Vec;

pub use page::{Ids, Page, Query, count, ids, page};
pub use update::{Edit, subtract, update};

/// Ids a chunk covers: the largest bit array is then 1 KiB, inline in every store.
const CHUNK: Layout = Layout { chunk: 8_192, few: 64 };

/// The two sizes of the layout; tests use small ones to reach every border.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Ids a chunk covers; a multiple of 64.
    chunk: u32,
    /// A set of at most this many ids keeps them in its head.
    few: usize,
}

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
