//! [`Random`]: the only source of chance in a world. It gives the same numbers on every machine.

use std::ops::RangeInclusive;

use switchboard_core::seed::Seed;

/// A stream of numbers from 64 bits (the `SplitMix64` generator).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A stream of its own: what is drawn from it does not move this one.
    pub const fn fork(&mut self) -> Self {
        Self(self.bits())
    }

    /// A number below `n`; 0 where there is none.
    pub const fn below(&mut self, n: u64) -> u64 {
        let bits = self.bits();
        if n == 0 { 0 } else { bits % n }
    }

    /// A number of a range.
    pub const fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        *range.start() + self.below(*range.end() - *range.start() + 1)
    }

    /// Whether something happens that happens so often in a thousand times.
    pub const fn chance(&mut self, per_mille: u64) -> bool {
        self.below(1_000) < per_mille
    }

    /// One of a few.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> Option<&'t T> {
        of.get(usize::try_from(self.below(of.len() as u64)).unwrap_or(0))
    }

    /// One of a few that is always there.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        *self.pick(of).expect("a choice has alternatives")
    }

    /// One of a few, each as often as its weight says.
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

    /// The randomness of one step of the service.
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
