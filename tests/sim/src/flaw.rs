//! What makes a step of the service's own work come to no end: one read of it stops, or panics.

use std::cell::Cell;
use std::ops::Range;

use switchboard_core::key::Key;
use switchboard_core::memory::Memory;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::view::{Bytes, Order, Stop, View};

use crate::random::Random;

/// How a step comes to no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A row cannot be read.
    Corrupt,
    /// The step is over its budget.
    OverBudget,
    /// It panics: it is not known which of its tasks did.
    Panic,
}

impl Flaw {
    /// One of them.
    pub fn draw(random: &mut Random) -> Self {
        random.one(&[Self::Corrupt, Self::OverBudget, Self::Panic])
    }
}

/// A store of which one read does that.
pub struct Flawed<'s> {
    /// The store.
    pub store: &'s Memory,
    /// What happens.
    pub flaw: Flaw,
    /// Reads before it does.
    pub left: Cell<u64>,
}

impl Flawed<'_> {
    fn read(&self) -> Result<(), Stop> {
        if let Some(left) = self.left.get().checked_sub(1) {
            self.left.set(left);
            return Ok(());
        }
        match self.flaw {
            Flaw::Corrupt => Err(Stop::Corrupt("a row of the simulator's choice")),
            Flaw::OverBudget => Err(Stop::OverBudget),
            // Without the hook that prints where a panic came from.
            Flaw::Panic => std::panic::resume_unwind(Box::new("a panic of the simulator's choice")),
        }
    }
}

impl View for Flawed<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.read()?;
        self.store.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.read()?;
        self.store.scan(range, order, limit)
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.store.admit(caller)
    }
}
