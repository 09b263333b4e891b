//! Collections: lists whose pages cost the same at ten thousand rows and at ten million.
//!
//! For the whole of a kind and for every value of every facet (status, type, assistant, …) a *set* of ids is stored, in
//! chunks, with a head that holds how many ids each chunk has. A page of any combination of filters is: intersect the
//! sets, select by rank, fetch that many rows. Creating, moving and deleting a row rewrites the affected chunks in the
//! same commit. The bytes of a set depend on its ids alone, never on its history, so `verify` can rebuild and compare
//! them.

mod chunk;
mod head;
mod ones;
mod page;
mod update;

#[cfg(test)]
mod model;

pub use crate::key::Facet;
pub use page::{Ids, Page, Query, count, counts, ids, page};
pub use update::{Edit, subtract, update};

/// Layout of stored sets: the largest bit array of a chunk is then 1 KiB, which every store holds inline.
const CHUNK: Layout = Layout { chunk: 8_192, few: 64 };

/// The two sizes of the layout; tests use small ones to reach all boundaries.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Ids that a chunk covers; a multiple of 64.
    chunk: u32,
    /// Most ids of a set that holds them in its head, without chunks.
    few: usize,
}
