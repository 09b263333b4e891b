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

pub use crate::key::Facet;
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
