//! [`Random`]: the only source of randomness in a world. It returns the same numbers on every machine.

use std::ops::RangeInclusive;

use switchboard_core::seed::Seed;

/// A random generator with 64 bits of state (`SplitMix64`).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the generator of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a generator of its own: draws from it do not advance this one.
    pub const fn fork(&mut self) -> Self {
        Self(self.bits())
    }

    /// Returns a number below `n`; 0 if `n` is 0.
    pub const fn below(&mut self, n: u64) -> u64 {
        let bits = self.bits();
        if n == 0 { 0 } else { bits % n }
    }

    /// Returns a number in a range, both ends included.
    pub const fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        *range.start() + self.below(*range.end() - *range.start() + 1)
    }

    /// Returns true with this probability, per mille.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }

    /// Picks an item; `None` from an empty list.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(usize::try_from(self.below(of.len() as u64)).unwrap_or(0))
    }

    /// Picks an item of a list that must not be empty.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        *self.pick(of).expect("a choice has alternatives")
    }

    /// Picks an item with a probability in proportion to its weight.
    pub fn weighed<T: Copy>(&mut self, of: &[(u64, T)]) -> T {
        let mut at = self.below(of.iter().map(|(weight, _)| weight).sum());
        for (weight, one) in of {
            if at < *weight {
                return *one;
            }
            at -= weight;
        }
        unreachable!("a number below the sum of the weights falls on one of them")
    }

    /// Returns the random seed of one step of the service.
    pub fn seed(&mut self) -> Seed {
        let mut bytes = [0; 32];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&self.bits().to_le_bytes());
        }
        Seed::new(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_every_choice_comes() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.weighed(&[(1, 'a'), (3, 'b'), (0, 'c')])).collect::<String>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
        assert!(draw(7).contains('a') && draw(7).contains('b') && !draw(7).contains('c'));
        assert_eq!(Random::new(1).within(5..=5), 5);
    }
}
