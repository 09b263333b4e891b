//! Reading sets: a page by rank, with the exact total.

use alloc::vec::Vec;
use core::ops::Range;

use super::chunk::{Chunk, Chunks, LOST};
use super::head::Head;
use super::{CHUNK, Facet, Layout};
use crate::key::{self, Kind};
use crate::store::Scope;
use crate::view::{Order, Stop};

/// Query of a list: which ids it has, and which of them a page shows.
#[derive(Clone, Debug)]
pub struct Query {
    /// Facets that an id must all have; empty: every id of the kind.
    pub facets: Vec<Facet>,
    /// Range of ids, the start included, the end excluded.
    pub range: Range<u32>,
    /// Order of the list: ascending is oldest first.
    pub order: Order,
    /// Number of ids skipped before the page.
    pub offset: u64,
    /// Maximum number of ids of the page.
    pub limit: usize,
}

impl Query {
    /// Creates the query of a page by its number, from 1.
    pub fn page(facets: Vec<Facet>, range: Range<u32>, order: Order, per_page: u32, page: u64) -> Self {
        let offset = page.saturating_sub(1).saturating_mul(u64::from(per_page));
        Self { facets, range, order, offset, limit: per_page as usize }
    }

    /// Creates a query for all ids of a kind that have these facets, without a range.
    pub fn of(facets: Vec<Facet>, order: Order, offset: u64, limit: usize) -> Self {
        Self { facets, range: 0..u32::MAX, order, offset, limit }
    }
}

/// Page of a list: ids in list order, and the exact total.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Ids of the page, in list order.
    pub ids: Vec<u32>,
    /// Number of ids that the query matches, on all pages.
    pub total: u64,
}

/// Reads one page of a query.
pub fn page(scope: Scope<'_>, kind: Kind, query: &Query) -> Result<Page, Stop> {
    page_in(CHUNK, scope, kind, query)
}

/// Returns how many ids a set holds, from its head alone.
pub fn count(scope: Scope<'_>, kind: Kind, facet: &Facet) -> Result<u64, Stop> {
    let head = scope.get(key::head(scope.space(), kind, facet))?;
    Ok(Head::from_bytes(head.as_deref())?.total())
}

/// Returns how many ids each of several sets holds, in one read.
pub fn counts(scope: Scope<'_>, kind: Kind, facets: &[Facet]) -> Result<Vec<u64>, Stop> {
    let keys: Vec<_> = facets.iter().map(|facet| key::head(scope.space(), kind, facet)).collect();
    let heads = scope.get_many(&keys)?;
    heads.iter().map(|head| Ok(Head::from_bytes(head.as_deref())?.total())).collect()
}

/// Returns at most `limit` ids of one set, oldest first.
pub fn ids(scope: Scope<'_>, kind: Kind, facet: &Facet, limit: usize) -> Result<Vec<u32>, Stop> {
    let facets = if *facet == Facet::ALL { Vec::new() } else { [facet.clone()].into() };
    Ok(page(scope, kind, &Query::of(facets, Order::Ascending, 0, limit))?.ids)
}

/// Facet of a query that names none.
static WHOLE: [Facet; 1] = [Facet::ALL];

/// Iterator over all ids of a query, a chunk at a time, in list order: for the one filter that has no set.
pub struct Ids<'s> {
    sets: Sets<'s>,
    stretches: alloc::vec::IntoIter<u32>,
    order: Order,
}

impl<'s> Ids<'s> {
    /// Starts at the first id of the query; its offset and limit are ignored.
    pub fn of(scope: Scope<'s>, kind: Kind, query: &'s Query) -> Result<Self, Stop> {
        let sets = Sets::load(CHUNK, scope, kind, query)?;
        let mut stretches: Vec<u32> = sets.shared();
        if query.order == Order::Descending {
            stretches.reverse();
        }
        Ok(Self { sets, stretches: stretches.into_iter(), order: query.order })
    }

    /// Returns the next ids, never an empty list; `None` at the end.
    pub fn more(&mut self) -> Result<Option<Vec<u32>>, Stop> {
        for at in self.stretches.by_ref() {
            let mut ids = self.sets.ids(at)?;
            if self.order == Order::Descending {
                ids.reverse();
            }
            if !ids.is_empty() {
                return Ok(Some(ids));
            }
        }
        Ok(None)
    }
}

pub(super) fn page_in(layout: Layout, scope: Scope<'_>, kind: Kind, query: &Query) -> Result<Page, Stop> {
    let sets = Sets::load(layout, scope, kind, query)?;
    let mut stretches = sets.shared();
    if query.order == Order::Descending {
        stretches.reverse();
    }
    let found = sets.counted(&stretches)?;
    let total = found.counts.iter().map(|count| u64::from(*count)).sum();
    let mut page = Page { ids: Vec::with_capacity(query.limit.min(100)), total };
    let mut before = query.offset;
    for (n, (at, count)) in stretches.iter().zip(&found.counts).enumerate() {
        if page.ids.len() == query.limit {
            break;
        }
        if before >= u64::from(*count) {
            before -= u64::from(*count);
            continue;
        }
        let skip = usize::try_from(before).unwrap_or(usize::MAX);
        let select = |chunk: Chunk<&[u64]>| chunk.select(skip, query.limit - page.ids.len(), query.order);
        let picked = match &found.chunks {
            Some(chunks) => select(chunks.get(n)),
            None => select(sets.intersections(&[*at])?.get(0)),
        };
        page.ids.extend(picked.into_iter().map(|offset| at * layout.chunk + offset));
        before = 0;
    }
    Ok(page)
}

/// Number of ids that a query matches in each stretch, and the ids themselves where they had to be read to count.
struct Counted {
    counts: Vec<u32>,
    chunks: Option<Chunks>,
}

/// Sets of a query with their heads loaded.
struct Sets<'s> {
    layout: Layout,
    scope: Scope<'s>,
    kind: Kind,
    range: Range<u32>,
    named: Vec<(&'s Facet, Head)>,
}

impl<'s> Sets<'s> {
    fn load(layout: Layout, scope: Scope<'s>, kind: Kind, query: &'s Query) -> Result<Self, Stop> {
        let facets = if query.facets.is_empty() { &WHOLE[..] } else { &query.facets };
        let keys: Vec<_> = facets.iter().map(|facet| key::head(scope.space(), kind, facet)).collect();
        let heads = scope.get_many(&keys)?;
        let sets = facets.iter().zip(heads).map(|(facet, bytes)| Ok((facet, Head::from_bytes(bytes.as_deref())?)));
        Ok(Self { layout, scope, kind, range: query.range.clone(), named: sets.collect::<Result<_, Stop>>()? })
    }

    /// Returns the stretches in which every set has ids and which the range overlaps, ascending.
    fn shared(&self) -> Vec<u32> {
        let size = self.layout.chunk;
        let mut shared: Option<Vec<u32>> = None;
        for (_, head) in &self.named {
            let own = head.stretches(size);
            shared = Some(match shared {
                None => own,
                Some(before) => before.into_iter().filter(|at| own.binary_search(at).is_ok()).collect(),
            });
        }
        let (from, to) = (self.range.start / size, self.range.end.div_ceil(size));
        shared.unwrap_or_default().into_iter().filter(|at| (from..to).contains(at)).collect()
    }

    /// Counts the ids of each stretch. For a single set, the head has the count of each stretch inside the range.
    fn counted(&self, stretches: &[u32]) -> Result<Counted, Stop> {
        if let [(_, Head::Many(counts))] = self.named.as_slice() {
            // The stretches are the head's own, in its order or reversed, so both are walked once.
            let backwards = stretches.first() > stretches.last();
            let mut counts = counts.iter();
            let count = |at: &u32| {
                let is_it = |(own, _): &&(u32, u32)| own == at;
                let found = if backwards { counts.rfind(is_it) } else { counts.find(is_it) };
                if !self.is_inside(*at) {
                    return Ok(self.intersections(&[*at])?.get(0).count());
                }
                Ok(found.ok_or(Stop::Corrupt("a stretch without a count"))?.1)
            };
            return Ok(Counted { counts: stretches.iter().map(count).collect::<Result<_, Stop>>()?, chunks: None });
        }
        let chunks = self.intersections(stretches)?;
        let counts = (0..stretches.len()).map(|n| chunks.get(n).count()).collect();
        Ok(Counted { counts, chunks: Some(chunks) })
    }

    /// Returns whether the range covers the whole stretch.
    fn is_inside(&self, at: u32) -> bool {
        let first = at * self.layout.chunk;
        self.range.start <= first && first.saturating_add(self.layout.chunk - 1) < self.range.end
    }

    /// Returns the ids that all sets share in each stretch, within the range.
    fn intersections(&self, stretches: &[u32]) -> Result<Chunks, Stop> {
        let size = self.layout.chunk;
        let mut common = Chunks::full(size, stretches.len());
        for (facet, head) in &self.named {
            if let Head::Few(ids) = head {
                for (n, at) in stretches.iter().enumerate() {
                    common.get_mut(n).and(&Chunk::of_ids(ids, *at, size));
                }
                continue;
            }
            let chunks = key::chunks(self.scope.space(), self.kind, facet);
            let whole = self.scope.each_of(&chunks, stretches, |n, own| common.get_mut(n).and_bytes(own, size))?;
            if !whole {
                return Err(LOST);
            }
        }
        for (n, at) in stretches.iter().enumerate().filter(|(_, at)| !self.is_inside(**at)) {
            let first = at * size;
            let end = self.range.end.saturating_sub(first);
            common.get_mut(n).keep(self.range.start.saturating_sub(first), end);
        }
        Ok(common)
    }

    /// Returns the ids of one stretch, ascending.
    fn ids(&self, at: u32) -> Result<Vec<u32>, Stop> {
        let first = at * self.layout.chunk;
        Ok(self.intersections(&[at])?.get(0).offsets().into_iter().map(|offset| first + offset).collect())
    }
}
