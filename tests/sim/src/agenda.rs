//! [`Agenda`]: what happens next, in the order of virtual time.

use std::collections::BTreeMap;

use switchboard_core::time::Timestamp;

use crate::random::Random;

/// Things to happen, by time; what happens at the same time does so in a drawn order.
#[derive(Debug)]
pub struct Agenda<T> {
    entries: BTreeMap<(Timestamp, u64, u64), T>,
    added: u64,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), added: 0 }
    }
}

impl<T> Agenda<T> {
    /// Enters something.
    pub fn add(&mut self, at: Timestamp, random: &mut Random, what: T) {
        self.added += 1;
        self.entries.insert((at, random.bits(), self.added), what);
    }

    /// When the next thing happens.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.entries.first_key_value().map(|((at, ..), _)| *at)
    }

    /// Takes the next thing.
    pub fn pop(&mut self) -> Option<T> {
        self.entries.pop_first().map(|(_, what)| what)
    }
}

/// An instant, some microseconds later.
pub fn after(at: Timestamp, micros: u64) -> Timestamp {
    Timestamp::from_micros(at.micros() + micros)
}

/// Microseconds of a second.
pub const SECOND: u64 = 1_000_000;
