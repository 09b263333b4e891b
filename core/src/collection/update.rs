//! Changing sets: each affected row is read once and written once, however many edits it takes.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::chunk::{Chunk, LOST, Packed};
use super::head::Head;
use super::{CHUNK, Facet, Layout};
use crate::key::{self, Kind};
use crate::store::Scope;
use crate::view::Stop;

/// Edit of a set: one id enters or leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Facet of the set.
    pub facet: Facet,
    /// Count of the row that enters or leaves.
    pub id: u32,
    /// Whether the id enters; false: it leaves.
    pub present: bool,
}

/// Applies edits to the sets of a kind; the last edit of an id in a set wins.
pub fn update(scope: Scope<'_>, kind: Kind, edits: &[Edit]) -> Result<(), Stop> {
    update_in(CHUNK, scope, kind, edits)
}

/// Removes every id of the set `gone` from the sets `from`, and empties `gone`: the cost depends on the number of
/// chunks, not of ids.
pub fn subtract(scope: Scope<'_>, kind: Kind, gone: &Facet, from: &[Facet]) -> Result<(), Stop> {
    subtract_in(CHUNK, scope, kind, gone, from)
}

pub(super) fn update_in(layout: Layout, scope: Scope<'_>, kind: Kind, edits: &[Edit]) -> Result<(), Stop> {
    let mut by_set: BTreeMap<&Facet, BTreeMap<u32, bool>> = BTreeMap::new();
    for edit in edits {
        by_set.entry(&edit.facet).or_default().insert(edit.id, edit.present);
    }
    let facets: Vec<&Facet> = by_set.keys().copied().collect();
    let mut sets = load_heads(layout, scope, kind, &facets)?;
    load_chunks(&mut sets, |facet| by_set[facet].keys().map(|id| id / layout.chunk).collect())?;
    for set in &mut sets {
        for (id, present) in &by_set[set.facet] {
            set.edit(*id, *present)?;
        }
        set.save()?;
    }
    Ok(())
}

pub(super) fn subtract_in(
    layout: Layout,
    scope: Scope<'_>,
    kind: Kind,
    gone: &Facet,
    from: &[Facet],
) -> Result<(), Stop> {
    let facets: Vec<&Facet> = core::iter::once(gone).chain(from).collect();
    let mut sets = load_heads(layout, scope, kind, &facets)?;
    let touched: BTreeSet<u32> = sets[0].head.stretches(layout.chunk).into_iter().collect();
    load_chunks(&mut sets, |_| touched.clone())?;
    let of_gone = |at: &u32| Ok((*at, sets[0].chunk(*at)?));
    let gone_chunks: Vec<(u32, Chunk)> = touched.iter().map(of_gone).collect::<Result<_, Stop>>()?;
    for set in &mut sets {
        for (at, chunk) in &gone_chunks {
            set.remove(*at, chunk)?;
        }
        set.save()?;
    }
    Ok(())
}

/// Set being changed.
struct Set<'s, 'f> {
    layout: Layout,
    scope: Scope<'s>,
    kind: Kind,
    facet: &'f Facet,
    head: Head,
    /// Loaded chunks, each with whether it changed.
    chunks: BTreeMap<u32, (Packed, bool)>,
    changed: bool,
}

fn load_heads<'s, 'f>(
    layout: Layout,
    scope: Scope<'s>,
    kind: Kind,
    facets: &[&'f Facet],
) -> Result<Vec<Set<'s, 'f>>, Stop> {
    let keys: Vec<_> = facets.iter().map(|facet| key::head(scope.space(), kind, facet)).collect();
    facets
        .iter()
        .zip(scope.get_many(&keys)?)
        .map(|(facet, bytes)| {
            let head = Head::from_bytes(bytes.as_deref())?;
            Ok(Set { layout, scope, kind, facet, head, chunks: BTreeMap::new(), changed: false })
        })
        .collect()
}

/// Loads, with one read for all sets, the chunks that `wanted` names and the set has.
fn load_chunks(sets: &mut [Set<'_, '_>], wanted: impl Fn(&Facet) -> BTreeSet<u32>) -> Result<(), Stop> {
    let mut places = Vec::new();
    let mut keys = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        let Head::Many(counts) = &set.head else { continue };
        for chunk in wanted(set.facet) {
            if let Ok(place) = counts.binary_search_by_key(&chunk, |(c, _)| *c) {
                places.push((at, chunk, counts[place].1));
                keys.push(key::chunk(set.scope.space(), set.kind, set.facet, chunk));
            }
        }
    }
    let Some(first) = sets.first() else { return Ok(()) };
    let loaded = first.scope.get_many(&keys)?;
    for ((at, chunk, count), bytes) in places.into_iter().zip(loaded) {
        let bytes = bytes.ok_or(LOST)?;
        let size = sets[at].layout.chunk;
        sets[at].chunks.insert(chunk, (Packed::new(bytes, count, size)?, false));
    }
    Ok(())
}

impl Set<'_, '_> {
    fn edit(&mut self, id: u32, present: bool) -> Result<(), Stop> {
        if let Head::Few(ids) = &mut self.head {
            match (ids.binary_search(&id), present) {
                (Err(at), true) => ids.insert(at, id),
                (Ok(at), false) => {
                    ids.remove(at);
                }
                _ => return Ok(()),
            }
            self.changed = true;
            return self.grow();
        }
        let (at, offset) = (id / self.layout.chunk, id % self.layout.chunk);
        let size = self.layout.chunk;
        let (chunk, changed) = self.chunks.entry(at).or_insert((Packed::EMPTY, false));
        if chunk.set(offset, present, size)? {
            *changed = true;
            let count = chunk.count();
            self.recount(at, count);
        }
        Ok(())
    }

    /// Removes all ids of `gone`, the chunk of the stretch `at`.
    fn remove(&mut self, at: u32, gone: &Chunk) -> Result<(), Stop> {
        let size = self.layout.chunk;
        if let Head::Few(ids) = &mut self.head {
            let before = ids.len();
            ids.retain(|id| id / size != at || !gone.has(id % size));
            self.changed |= ids.len() != before;
            return Ok(());
        }
        let Some((chunk, changed)) = self.chunks.get_mut(&at) else { return Ok(()) };
        let mut left = chunk.chunk(size)?;
        left.and_not(gone);
        let left = Packed::of(&left);
        if left.count() != chunk.count() {
            let count = left.count();
            (*chunk, *changed) = (left, true);
            self.recount(at, count);
        }
        Ok(())
    }

    /// Moves the ids into chunks when the head would hold more than `few`.
    fn grow(&mut self) -> Result<(), Stop> {
        let Head::Few(ids) = &self.head else { return Ok(()) };
        if ids.len() <= self.layout.few {
            return Ok(());
        }
        let size = self.layout.chunk;
        for id in ids {
            self.chunks.entry(id / size).or_insert((Packed::EMPTY, true)).0.set(id % size, true, size)?;
        }
        self.head = Head::Many(self.chunks.iter().map(|(at, (chunk, _))| (*at, chunk.count())).collect());
        Ok(())
    }

    fn recount(&mut self, at: u32, count: u32) {
        let Head::Many(counts) = &mut self.head else { return };
        self.changed = true;
        match counts.binary_search_by_key(&at, |(c, _)| *c) {
            Ok(place) if count == 0 => {
                counts.remove(place);
            }
            Ok(place) => counts[place].1 = count,
            Err(place) => counts.insert(place, (at, count)),
        }
    }

    /// Moves the ids back into the head when they are few again, for which all remaining chunks are loaded.
    fn shrink(&mut self) -> Result<(), Stop> {
        let Head::Many(counts) = &self.head else { return Ok(()) };
        if self.head.total() > self.layout.few as u64 {
            return Ok(());
        }
        let size = self.layout.chunk;
        let left: Vec<u32> = counts.iter().map(|(at, _)| *at).collect();
        let missing: Vec<(u32, u32)> = counts.iter().copied().filter(|(at, _)| !self.chunks.contains_key(at)).collect();
        let chunks = key::chunks(self.scope.space(), self.kind, self.facet);
        let keys: Vec<_> = missing.iter().map(|(at, _)| chunks.key(*at)).collect();
        for ((at, count), bytes) in missing.into_iter().zip(self.scope.get_many(&keys)?) {
            self.chunks.insert(at, (Packed::new(bytes.ok_or(LOST)?, count, size)?, false));
        }
        let mut ids = Vec::new();
        for at in left {
            let (chunk, changed) = self.chunks.get_mut(&at).expect("loaded above");
            chunk.chunk(size)?.each(|offset| ids.push(at * size + offset));
            (*chunk, *changed) = (Packed::EMPTY, true);
        }
        self.head = Head::Few(ids);
        Ok(())
    }

    fn save(&mut self) -> Result<(), Stop> {
        if !self.changed {
            return Ok(());
        }
        self.shrink()?;
        let head = key::head(self.scope.space(), self.kind, self.facet);
        if self.head.total() == 0 {
            self.scope.delete(head)?;
        } else {
            self.scope.put(head, self.head.to_bytes())?;
        }
        for (at, (chunk, _)) in core::mem::take(&mut self.chunks).into_iter().filter(|(_, (_, changed))| *changed) {
            let key = key::chunk(self.scope.space(), self.kind, self.facet, at);
            if chunk.count() == 0 {
                self.scope.delete(key)?;
            } else {
                self.scope.put(key, chunk.into_bytes())?;
            }
        }
        Ok(())
    }

    /// Returns the ids of one stretch, whichever form the set has.
    fn chunk(&self, at: u32) -> Result<Chunk, Stop> {
        if let Some((chunk, _)) = self.chunks.get(&at) {
            return chunk.chunk(self.layout.chunk);
        }
        let ids: &[u32] = if let Head::Few(ids) = &self.head { ids } else { &[] };
        Ok(Chunk::of_ids(ids, at, self.layout.chunk))
    }
}
