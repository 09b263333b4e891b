//! [`Agenda`]: the queue of future events, in the order of virtual time.

use std::collections::BTreeMap;

use switchboard_core::time::Timestamp;

use crate::random::Random;

/// Future events by time; those at the same time come in random order.
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
    /// Adds an event at a time.
    pub fn add(&mut self, at: Timestamp, random: &mut Random, what: T) {
        self.added += 1;
        self.entries.insert((at, random.bits(), self.added), what);
    }

    /// Returns the time of the next event; `None` when nothing is left.
    pub fn next_at(&self) -> Option<Timestamp> {
        self.entries.first_key_value().map(|((at, ..), _)| *at)
    }

    /// Removes and returns the next event.
    pub fn pop(&mut self) -> Option<T> {
        self.entries.pop_first().map(|(_, what)| what)
    }
}

/// Returns the time `micros` microseconds after `at`.
pub fn after(at: Timestamp, micros: u64) -> Timestamp {
    Timestamp::from_micros(at.micros() + micros)
}

/// A second in microseconds, the unit of delays.
pub const SECOND: u64 = 1_000_000;
