//! [`Memo`]: what was read of a snapshot, at hand for whoever asks for it next.
//!
//! A snapshot never changes, so neither does what is kept of it: the first of the questions that share a slot stays
//! in it until the snapshot goes, and finding it takes no lock. Values are kept as they are stored, sealed ones sealed.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often somebody may find a slot taken, for each slot, until it is better to begin anew.
const TURNED_AWAY: usize = 64;
/// One question of so many counts: those who count share a cache line.
const SAMPLE: usize = 16;

/// The hash of a question, by which most others are told apart from it, and what was kept.
type Slot<Q, A> = OnceLock<(usize, Box<(Q, A)>)>;

/// Questions and their answers.
pub struct Memo<Q, A> {
    slots: Box<[Slot<Q, A>]>,
    bytes_max: usize,
    hasher: RandomState,
    turned_away: Apart,
}

/// On a cache line of its own: who counts does not slow down who reads.
#[repr(align(64))]
#[derive(Default)]
struct Apart(AtomicUsize);

impl<Q, A> Memo<Q, A> {
    /// For so many answers, each of so many bytes at most.
    pub fn new(slots: usize, bytes_max: usize) -> Self {
        let slots = std::iter::repeat_with(OnceLock::new).take(slots).collect();
        Self { slots, bytes_max, hasher: RandomState::new(), turned_away: Apart::default() }
    }

    /// The answer to a question, or the place for it; none: another one is there.
    pub fn find<B: Eq + Hash + ?Sized>(&self, question: &B) -> Result<&A, Option<Place<'_, Q, A>>>
    where
        Q: Borrow<B>,
    {
        #[expect(clippy::cast_possible_truncation, reason = "its low bits do")]
        let hash = self.hasher.hash_one(question) as usize;
        let slot = &self.slots[hash / SAMPLE % self.slots.len()];
        match slot.get() {
            Some((its, known)) if *its == hash && known.0.borrow() == question => Ok(&known.1),
            Some(_) => {
                if hash.is_multiple_of(SAMPLE) {
                    self.turned_away.0.fetch_add(SAMPLE, Ordering::Relaxed);
                }
                Err(None)
            }
            None => Err(Some(Place { slot, hash, bytes_max: self.bytes_max })),
        }
    }

    /// Whether what few ask for keeps out what many do.
    pub fn is_crowded(&self) -> bool {
        self.turned_away.0.load(Ordering::Relaxed) > TURNED_AWAY * self.slots.len()
    }
}

/// Where an answer that was not known belongs.
pub struct Place<'m, Q, A> {
    slot: &'m Slot<Q, A>,
    hash: usize,
    bytes_max: usize,
}

impl<Q, A> Place<'_, Q, A> {
    /// Keeps an answer of so many bytes, unless that is too long.
    pub fn keep(self, bytes: usize, entry: impl FnOnce() -> (Q, A)) {
        if bytes <= self.bytes_max {
            // Whoever was quicker has read the same.
            let _ = self.slot.set((self.hash, Box::new(entry())));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: usize = 64;

    fn memo() -> Memo<Vec<u8>, Vec<u8>> {
        Memo::new(SLOTS, 10)
    }

    fn keep(memo: &Memo<Vec<u8>, Vec<u8>>, key: &[u8], value: &[u8]) -> bool {
        if let Err(Some(place)) = memo.find(key) {
            place.keep(value.len(), || (key.to_vec(), value.to_vec()));
        }
        memo.find(key).is_ok_and(|found| found == value)
    }

    #[test]
    fn an_answer_is_the_one_that_was_kept_or_none() {
        let memo = memo();
        let keys: Vec<[u8; 4]> = (0..1_000_u32).map(u32::to_be_bytes).collect();
        let kept: Vec<_> = keys.iter().filter(|key| keep(&memo, *key, &[**key, **key].concat())).collect();
        assert!((1..=SLOTS).contains(&kept.len()), "{}", kept.len());
        for key in &keys {
            let found = memo.find(&key[..]).ok();
            assert_eq!(found.is_some(), kept.contains(&key));
            assert!(found.is_none_or(|value| *value == [*key, *key].concat()));
        }
    }

    #[test]
    fn what_is_long_is_not_kept() {
        for (bytes, kept) in [(10, true), (11, false)] {
            assert_eq!(keep(&memo(), b"key", &vec![7; bytes]), kept, "{bytes} bytes");
        }
    }

    #[test]
    fn it_is_crowded_when_many_find_their_slot_taken() {
        let memo = memo();
        let mut keys = (0..1_000_u32).map(u32::to_be_bytes).cycle();
        let mut asked = 0;
        while !memo.is_crowded() {
            keep(&memo, &keys.next().expect("it goes on for ever"), b"");
            asked += 1;
        }
        // Each that has no slot asks twice; which of them count is a matter of the hash.
        let expected = TURNED_AWAY * SLOTS / 2;
        assert!((expected / 3..3 * expected).contains(&asked), "{asked}");
    }
}
