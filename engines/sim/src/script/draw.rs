//! Deterministic variation: a draw depends only on the seed, the call and the label of the draw.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Source of one call's draws.
pub struct Draw([u8; 32]);

impl Draw {
    /// Creates the draws of a call under the engine's seed.
    pub fn new(seed: u64, call: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        bytes[8..16].copy_from_slice(&call.to_le_bytes());
        Self(bytes)
    }

    /// Returns HMAC-SHA-256 (RFC 2104) of a label: as good as random, and the same on every machine.
    fn derive(&self, label: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(label.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Draws a number from `low` to `high`, both included.
    pub fn between(&self, label: &str, low: u32, high: u32) -> u32 {
        let [a, b, c, d, ..] = self.derive(label);
        let span = high.saturating_sub(low).saturating_add(1);
        low + u32::from_le_bytes([a, b, c, d]) % span
    }

    /// Draws true or false.
    pub fn coin(&self, label: &str) -> bool {
        self.between(label, 0, 1) == 1
    }

    /// Draws an item of a list that must not be empty.
    pub fn pick<'t, T>(&self, label: &str, list: &'t [T]) -> &'t T {
        let last = u32::try_from(list.len().saturating_sub(1)).unwrap_or(0);
        &list[self.between(label, 0, last) as usize]
    }

    /// Draws up to `count` distinct items of a list, in random order.
    pub fn some<'t, T>(&self, label: &str, list: &'t [T], count: usize) -> Vec<&'t T> {
        let mut keyed: Vec<_> =
            list.iter().enumerate().map(|(at, t)| (self.derive(&format!("{label} {at}")), t)).collect();
        keyed.sort_by_key(|(key, _)| *key);
        keyed.into_iter().take(count).map(|(_, t)| t).collect()
    }
}
