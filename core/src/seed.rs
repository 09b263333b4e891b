//! Randomness as an argument: everything random in a step derives from its one seed.
//!
//! Each use has a label, so that values neither repeat nor depend on the order of draws.

use alloc::string::String;
use core::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// 256 random bits that the host drew for one input. Hidden in `Debug`: tokens derive from it.
#[derive(Clone, Copy)]
pub struct Seed([u8; 32]);

impl Seed {
    /// Wraps 32 bytes from the host's random source.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, to hand them on to another host.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Derives 32 bytes for one use: HMAC-SHA-256 (RFC 2104) of the label under the seed.
    pub fn derive(&self, label: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(label.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Derives a separate seed for a part of the work.
    pub fn child(&self, label: &str) -> Self {
        Self(self.derive(label))
    }

    /// Derives a random UUID, version 4 (RFC 9562).
    pub fn uuid(&self, label: &str) -> [u8; 16] {
        let mut random = [0; 16];
        random.copy_from_slice(&self.derive(label)[..16]);
        uuid::Builder::from_random_bytes(random).into_uuid().into_bytes()
    }

    /// Derives a number in `range`; 64 bits are drawn, so the bias of the remainder is below 2^-32.
    pub fn number(&self, label: &str, range: core::ops::RangeInclusive<u32>) -> u32 {
        let [a, b, c, d, e, f, g, h, ..] = self.derive(label);
        let span = u64::from(*range.end() - *range.start()) + 1;
        let drawn = u64::from_be_bytes([a, b, c, d, e, f, g, h]) % span;
        *range.start() + u32::try_from(drawn).unwrap_or(0)
    }

    /// Derives a word of `length` characters (at most 32) that people can type: no look-alikes.
    pub fn word(&self, label: &str, length: usize) -> String {
        const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        self.derive(label).iter().take(length).map(|b| LETTERS[usize::from(b & 31)] as char).collect()
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_separate_and_repeat() {
        let seed = Seed::new([7; 32]);
        assert_eq!(seed.derive("a"), seed.derive("a"));
        assert_ne!(seed.derive("a"), seed.derive("b"));
        assert_ne!(seed.child("a").derive("b"), seed.derive("b"));
        assert_eq!(seed.uuid("id")[6] >> 4, 4);
        assert_eq!(seed.word("w", 20).len(), 20);
    }
}
