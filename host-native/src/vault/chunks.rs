//! Encryption of objects in chunks, so that any part of one can be read: the STREAM construction (Hoang, Reyhanitabar,
//! Rogaway and Vizár, 2015) over XChaCha20-Poly1305. The nonce of a chunk is its place and whether it is the last: none can
//! be changed, swapped, dropped or repeated, nor the end cut off. The key is of this object alone, so the rest of the
//! nonce is zero.
//!
//! An encrypted object is its chunks, each [`CHUNK_BYTES`] and a tag; the last one may be shorter.

use std::ops::Range;

use aead_stream::{NewStream, Nonce, StreamBE32, StreamPrimitive};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305};
use switchboard_core::object::ObjectKey;

/// Length of a chunk before it is encrypted, bytes.
pub const CHUNK_BYTES: usize = 64 << 10;
/// Length of a chunk's tag, bytes.
const TAG_BYTES: usize = 16;
const STORED_BYTES: u64 = (CHUNK_BYTES + TAG_BYTES) as u64;
const CHUNK: u64 = CHUNK_BYTES as u64;

type Stream = StreamBE32<XChaCha20Poly1305>;

fn stream(key: &ObjectKey) -> Stream {
    Stream::from_aead(XChaCha20Poly1305::new(&key.0.into()), &Nonce::<XChaCha20Poly1305, Stream>::default())
}

/// Encrypts an object as it comes.
pub struct Sealer {
    stream: Stream,
    place: u32,
    chunk: Vec<u8>,
}

impl Sealer {
    /// Begins an object with its key.
    pub fn new(key: &ObjectKey) -> Self {
        Self { stream: stream(key), place: 0, chunk: Vec::with_capacity(CHUNK_BYTES) }
    }

    /// Takes bytes, and appends each chunk that has become whole, encrypted. The last one waits for [`Self::finish`].
    pub fn write(&mut self, mut data: &[u8], out: &mut Vec<u8>) {
        while !data.is_empty() {
            if self.chunk.len() == CHUNK_BYTES {
                self.seal(false, out);
            }
            let (now, later) = data.split_at(data.len().min(CHUNK_BYTES - self.chunk.len()));
            self.chunk.extend_from_slice(now);
            data = later;
        }
    }

    /// Appends the last chunk.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.seal(true, out);
    }

    fn seal(&mut self, is_last: bool, out: &mut Vec<u8>) {
        let sealed = self.stream.encrypt(self.place, is_last, &*self.chunk);
        out.extend_from_slice(&sealed.expect("a chunk is far below the bounds of the cipher"));
        self.place += 1;
        self.chunk.clear();
    }
}

/// Decrypts parts of an object.
pub struct Opener {
    stream: Stream,
    /// Length of the object before it was encrypted.
    bytes: u64,
}

impl Opener {
    /// Opens an object with its key; `bytes` is its length before it was encrypted.
    pub fn new(key: &ObjectKey, bytes: u64) -> Self {
        Self { stream: stream(key), bytes }
    }

    /// Returns where the chunks are stored in which a range is, that is not empty.
    pub fn stored(&self, range: Range<u64>) -> Range<u64> {
        let first = range.start / CHUNK;
        let past = range.end.div_ceil(CHUNK);
        let all = self.bytes + self.bytes.div_ceil(CHUNK).max(1) * TAG_BYTES as u64;
        first * STORED_BYTES..(past * STORED_BYTES).min(all)
    }

    /// Decrypts what is stored at [`Self::stored`] of a range; `None` if any of it was changed.
    pub fn open(&self, stored: &[u8], range: Range<u64>) -> Option<Vec<u8>> {
        let first = range.start / CHUNK;
        let last = self.bytes.saturating_sub(1) / CHUNK;
        let mut opened = Vec::with_capacity(stored.len());
        for (place, chunk) in (first..).zip(stored.chunks(CHUNK_BYTES + TAG_BYTES)) {
            opened.extend(self.stream.decrypt(u32::try_from(place).ok()?, place == last, chunk).ok()?);
        }
        let [from, to] = [range.start, range.end].map(|at| usize::try_from(at - first * CHUNK).ok());
        opened.truncate(to?);
        (opened.len() == to?).then(|| opened.split_off(from.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: ObjectKey = ObjectKey([7; 32]);

    fn sealed(key: &ObjectKey, plain: &[u8], step: usize) -> Vec<u8> {
        let (mut sealer, mut out) = (Sealer::new(key), Vec::new());
        plain.chunks(step).for_each(|data| sealer.write(data, &mut out));
        sealer.finish(&mut out);
        out
    }

    fn plain(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| u8::try_from(at * 31 % 251).expect("below 251")).collect()
    }

    fn opened(stored: &[u8], bytes: usize, range: Range<u64>) -> Option<Vec<u8>> {
        let opener = Opener::new(&KEY, bytes as u64);
        let place = opener.stored(range.clone());
        let [from, to] = [place.start, place.end].map(|at| usize::try_from(at).expect("an offset"));
        opener.open(stored.get(from..to)?, range)
    }

    /// Lengths around the borders of chunks.
    fn lengths() -> impl Strategy<Value = usize> {
        let borders = (0_usize..4, -2_isize..3)
            .prop_map(|(chunks, more)| (chunks * CHUNK_BYTES).saturating_add_signed(more).max(1));
        prop_oneof![borders, 1_usize..300_000]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_range_is_the_slice(bytes in lengths(), step in 1_usize..100_000, a in any::<u64>(), b in any::<u64>()) {
            let whole = plain(bytes);
            let stored = sealed(&KEY, &whole, step);
            let (a, b) = (a % bytes as u64, b % bytes as u64);
            let range = a.min(b)..a.max(b) + 1;
            let place = |at: u64| usize::try_from(at).expect("a place in a text");
            let slice = place(range.start)..place(range.end);
            let read = opened(&stored, bytes, range);
            prop_assert_eq!(read.as_deref(), Some(&whole[slice]));
            prop_assert_eq!(opened(&stored, bytes, 0..bytes as u64), Some(whole));
        }

        #[test]
        fn a_change_is_seen(bytes in lengths(), at in any::<usize>(), bit in 0_u8..8, cut in any::<usize>()) {
            let whole = plain(bytes);
            let stored = sealed(&KEY, &whole, 50_000);
            let mut changed = stored.clone();
            let at = at % stored.len();
            changed[at] ^= 1 << bit;
            prop_assert_eq!(opened(&changed, bytes, 0..bytes as u64), None);
            let cut = &stored[..cut % stored.len()];
            prop_assert_eq!(opened(cut, bytes, 0..bytes as u64), None);
            // Nor does the beginning pass for a shorter whole.
            if bytes > CHUNK_BYTES {
                let first = &stored[..CHUNK_BYTES + TAG_BYTES];
                prop_assert_eq!(opened(first, CHUNK_BYTES, 0..CHUNK_BYTES as u64), None);
            }
        }
    }

    #[test]
    fn chunks_have_their_place_and_objects_their_key() {
        let whole = plain(3 * CHUNK_BYTES);
        let stored = sealed(&KEY, &whole, CHUNK_BYTES);
        assert_eq!(stored.len(), 3 * (CHUNK_BYTES + TAG_BYTES));
        let (first, rest) = stored.split_at(CHUNK_BYTES + TAG_BYTES);
        let (second, third) = rest.split_at(CHUNK_BYTES + TAG_BYTES);
        let swapped = [second, first, third].concat();
        assert_eq!(opened(&swapped, whole.len(), 0..whole.len() as u64), None, "swapped chunks");
        let other = sealed(&ObjectKey([8; 32]), &whole, CHUNK_BYTES);
        assert_eq!(opened(&other, whole.len(), 0..1), None, "the key of another object");
        assert!(!stored.windows(64).any(|window| window == &whole[..64]), "nothing is in clear");
    }
}
