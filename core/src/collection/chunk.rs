//! The ids of one stretch of a set, stored as a bit array or, while shorter, as a sorted list: [`Chunk`] to count and
//! compare them, [`Chunks`] for those of several stretches, [`Packed`] to change one.

use alloc::vec;
use alloc::vec::Vec;

use super::ones::ones;
use crate::view::{Order, Stop};

/// Error where a head and its chunks disagree.
pub(super) const LOST: Stop = Stop::Corrupt("a set lacks a chunk that its head names");
const DAMAGED: Stop = Stop::Corrupt("a chunk of a set has an unknown form");

/// Ids of a stretch as bits, relative to its first id; the words are owned, or borrowed from [`Chunks`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chunk<W = Vec<u64>> {
    words: W,
}

impl Chunk {
    /// Creates an empty chunk of `size` ids.
    pub fn empty(size: u32) -> Self {
        Self { words: vec![0; size as usize / 64] }
    }

    /// Creates a chunk from those of `ids` in the stretch `at` of `size` ids.
    pub fn of_ids(ids: &[u32], at: u32, size: u32) -> Self {
        let mut chunk = Self::empty(size);
        ids.iter().filter(|id| *id / size == at).for_each(|id| {
            chunk.set(id % size, true);
        });
        chunk
    }

    /// Decodes the stored form: a bit array has its full length, anything shorter is a list of u16 (LE).
    pub fn from_bytes(bytes: &[u8], size: u32) -> Result<Self, Stop> {
        if let Some(words) = bits(bytes, size) {
            return Ok(Self { words: words.collect() });
        }
        let mut chunk = Self::empty(size);
        let (offsets, []) = bytes.as_chunks::<2>() else { return Err(DAMAGED) };
        let mut least = 0;
        for offset in offsets {
            let offset = u32::from(u16::from_le_bytes(*offset));
            if offset < least || offset >= size {
                return Err(DAMAGED);
            }
            chunk.set(offset, true);
            least = offset + 1;
        }
        Ok(chunk)
    }
}

impl<W: AsRef<[u64]>> Chunk<W> {
    fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Encodes the chunk in the shorter of the two stored forms.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.count() as usize * 2 >= self.words().len() * 8 {
            return self.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        }
        let mut bytes = Vec::with_capacity(self.count() as usize * 2);
        self.each(|offset| {
            bytes.extend_from_slice(&u16::try_from(offset).expect("a chunk covers less than 2^16 ids").to_le_bytes());
        });
        bytes
    }

    /// Returns whether the id is in the chunk.
    pub fn has(&self, offset: u32) -> bool {
        self.words()[offset as usize / 64] & (1 << (offset % 64)) != 0
    }

    /// Returns how many ids the chunk holds.
    pub fn count(&self) -> u32 {
        ones(self.words())
    }

    /// Visits every id, ascending.
    pub fn each(&self, mut visit: impl FnMut(u32)) {
        for (at, word) in (0_u32..).zip(self.words()) {
            let mut rest = *word;
            while rest != 0 {
                visit(at * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    /// Returns at most `limit` ids after the first `skip`, in `order`; whole words are skipped by their count.
    pub fn select(&self, skip: usize, limit: usize, order: Order) -> Vec<u32> {
        let words = self.words();
        let mut picked = Vec::with_capacity(limit.min(words.len() * 64));
        let mut before = skip;
        for step in 0..words.len() {
            let at = if order == Order::Ascending { step } else { words.len() - 1 - step };
            let mut rest = words[at];
            let ids = rest.count_ones() as usize;
            if before >= ids {
                before -= ids;
                continue;
            }
            while rest != 0 && picked.len() < limit {
                let bit = if order == Order::Ascending { rest.trailing_zeros() } else { rest.ilog2() };
                rest &= !(1 << bit);
                if before > 0 {
                    before -= 1;
                } else {
                    picked.push(u32::try_from(at * 64).unwrap_or(u32::MAX) + bit);
                }
            }
            if picked.len() == limit {
                break;
            }
        }
        picked
    }

    /// Returns the ids, ascending.
    pub fn offsets(&self) -> Vec<u32> {
        let mut offsets = Vec::with_capacity(self.count() as usize);
        self.each(|offset| offsets.push(offset));
        offsets
    }
}

impl<W: AsRef<[u64]> + AsMut<[u64]>> Chunk<W> {
    fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut()
    }

    /// Adds or removes an id; returns whether the chunk changed.
    pub fn set(&mut self, offset: u32, present: bool) -> bool {
        let (word, bit) = (&mut self.words_mut()[offset as usize / 64], 1 << (offset % 64));
        let changed = (*word & bit != 0) != present;
        *word = if present { *word | bit } else { *word & !bit };
        changed
    }

    /// Keeps the ids that are also in `other`.
    pub fn and(&mut self, other: &Chunk) {
        self.words_mut().iter_mut().zip(&other.words).for_each(|(a, b)| *a &= b);
    }

    /// Keeps the ids that are also in an encoded chunk.
    pub fn and_bytes(&mut self, bytes: &[u8], size: u32) -> Result<(), Stop> {
        match bits(bytes, size) {
            Some(words) => self.words_mut().iter_mut().zip(words).for_each(|(a, b)| *a &= b),
            None => self.and(&Chunk::from_bytes(bytes, size)?),
        }
        Ok(())
    }

    /// Removes the ids that are in `other`.
    pub fn and_not(&mut self, other: &Chunk) {
        self.words_mut().iter_mut().zip(&other.words).for_each(|(a, b)| *a &= !b);
    }

    /// Keeps the ids from `from` (included) to `to` (excluded).
    pub fn keep(&mut self, from: u32, to: u32) {
        for (at, word) in (0_u32..).zip(self.words_mut()) {
            let first = at * 64;
            let low = from.saturating_sub(first).min(64);
            let high = to.saturating_sub(first).min(64);
            let below = |n: u32| 1_u64.checked_shl(n).map_or(u64::MAX, |bit| bit - 1);
            *word &= below(high) & !below(low);
        }
    }
}

/// Chunks of several stretches, in one buffer.
pub(super) struct Chunks {
    words: Vec<u64>,
    /// Number of words of one chunk.
    length: usize,
}

impl Chunks {
    /// Creates `count` full chunks of `size` ids.
    pub fn full(size: u32, count: usize) -> Self {
        let length = size as usize / 64;
        Self { words: vec![u64::MAX; length * count], length }
    }

    /// Returns the chunk at an index.
    pub fn get(&self, at: usize) -> Chunk<&[u64]> {
        Chunk { words: &self.words[at * self.length..][..self.length] }
    }

    /// Returns the chunk at an index, mutable.
    pub fn get_mut(&mut self, at: usize) -> Chunk<&mut [u64]> {
        Chunk { words: &mut self.words[at * self.length..][..self.length] }
    }
}

/// Encoded chunk with its count, in which a single id is changed in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packed {
    bytes: Vec<u8>,
    count: u32,
}

impl Packed {
    /// Chunk without ids.
    pub const EMPTY: Self = Self { bytes: Vec::new(), count: 0 };

    /// Wraps the stored form with the count in the set's head; an error if they cannot match.
    pub fn new(bytes: Vec<u8>, count: u32, size: u32) -> Result<Self, Stop> {
        let long = count as usize * 2;
        let fits =
            if is_bits(&bytes, size) { (bytes.len()..=size as usize * 2).contains(&long) } else { bytes.len() == long };
        if fits { Ok(Self { bytes, count }) } else { Err(DAMAGED) }
    }

    /// Encodes a chunk.
    pub fn of(chunk: &Chunk) -> Self {
        Self { bytes: chunk.to_bytes(), count: chunk.count() }
    }

    /// Decodes the ids.
    pub fn chunk(&self, size: u32) -> Result<Chunk, Stop> {
        Chunk::from_bytes(&self.bytes, size)
    }

    /// Returns how many ids the chunk holds.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the stored form.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Adds or removes an id; returns whether the chunk changed.
    pub fn set(&mut self, offset: u32, present: bool, size: u32) -> Result<bool, Stop> {
        let (bits, is_list) = (size as usize / 8, !is_bits(&self.bytes, size));
        let may_turn = if is_list { self.bytes.len() + 2 == bits } else { self.count as usize * 2 <= bits + 1 };
        if may_turn {
            let mut chunk = self.chunk(size)?;
            let changed = chunk.set(offset, present);
            *self = Self::of(&chunk);
            return Ok(changed);
        }
        let changed = if is_list { self.list(offset, present) } else { self.bit(offset, present) };
        if changed {
            self.count = if present { self.count + 1 } else { self.count - 1 };
        }
        Ok(changed)
    }

    fn bit(&mut self, offset: u32, present: bool) -> bool {
        let (byte, bit) = (&mut self.bytes[offset as usize / 8], 1 << (offset % 8));
        let changed = (*byte & bit != 0) != present;
        *byte = if present { *byte | bit } else { *byte & !bit };
        changed
    }

    fn list(&mut self, offset: u32, present: bool) -> bool {
        let (offsets, _) = self.bytes.as_chunks::<2>();
        let bytes = u16::try_from(offset).expect("a chunk covers less than 2^16 ids").to_le_bytes();
        match offsets.binary_search_by_key(&offset, |own| u32::from(u16::from_le_bytes(*own))) {
            Err(at) if present => drop(self.bytes.splice(at * 2..at * 2, bytes)),
            Ok(at) if !present => drop(self.bytes.drain(at * 2..at * 2 + 2)),
            _ => return false,
        }
        true
    }
}

/// Returns whether a stored form is a bit array: a list is shorter.
fn is_bits(bytes: &[u8], size: u32) -> bool {
    bytes.len() == size as usize / 8
}

/// Returns the words of a stored bit array; `None` for a list.
fn bits(bytes: &[u8], size: u32) -> Option<impl Iterator<Item = u64>> {
    let (words, _) = bytes.as_chunks::<8>();
    is_bits(bytes, size).then(|| words.iter().map(|word| u64::from_le_bytes(*word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_form_is_stored() {
        let mut chunk = Chunk::empty(8_192);
        for n in 0..511 {
            chunk.set(n * 3, true);
        }
        assert_eq!(chunk.to_bytes().len(), 1_022);
        assert_eq!(Chunk::from_bytes(&chunk.to_bytes(), 8_192), Ok(chunk.clone()));
        chunk.set(8_191, true);
        assert_eq!(chunk.to_bytes().len(), 1_024);
        assert_eq!(Chunk::from_bytes(&chunk.to_bytes(), 8_192), Ok(chunk));
    }

    #[test]
    fn an_id_changes_in_the_stored_form_as_in_the_bits() {
        for size in [64, 128, 8_192] {
            let (mut chunk, mut packed) = (Chunk::empty(size), Packed::EMPTY);
            // Grows and shrinks across the boundary of the two forms, in scattered order.
            for step in 0..4 * size {
                let (offset, present) = (step * 37 % size, step < size || step % 3 != 0 && step < 2 * size);
                assert_eq!(packed.set(offset, present, size), Ok(chunk.set(offset, present)));
                assert_eq!((packed.count(), &packed.bytes), (chunk.count(), &chunk.to_bytes()), "{size} {step}");
                assert_eq!(packed.chunk(size).as_ref(), Ok(&chunk));
                assert_eq!(Packed::new(packed.bytes.clone(), packed.count, size).as_ref(), Ok(&packed));
            }
            assert_eq!(packed, Packed::EMPTY);
        }
        for (bytes, count) in [(2, 2), (1_024, 511), (1_024, 8_193), (1_024, u32::MAX)] {
            assert_eq!(Packed::new(vec![0; bytes], count, 8_192), Err(DAMAGED), "{bytes} bytes, {count} ids");
        }
    }

    #[test]
    fn damaged_lists_are_refused() {
        for bytes in [&[0][..], &[1, 0, 1, 0], &[2, 0, 1, 0], &[0, 32]] {
            assert!(Chunk::from_bytes(bytes, 8_192).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn a_range_cuts_inside_words() {
        let mut chunk = Chunk::empty(128);
        (0..128).for_each(|n| {
            chunk.set(n, true);
        });
        chunk.keep(63, 65);
        assert_eq!(chunk.offsets(), [63, 64]);
    }
}
