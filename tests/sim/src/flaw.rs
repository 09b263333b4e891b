//! Failures inside a step of the service's own work, or in an engine's claim: one read stops it, or panics. Some flaws
//! stay with the row, so that every step which reads it fails until its task is set aside.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use switchboard_core::key::{self, Key, Kind};
use switchboard_core::memory::Memory;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, Stop, View};

use crate::random::Random;

/// The way in which a read fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The row is unreadable.
    Corrupt,
    /// The step exceeds its budget.
    OverBudget,
    /// It panics: which of its tasks caused it is unknown.
    Panic,
}

impl Flaw {
    /// Draws a flaw, each with the same probability.
    pub fn draw(random: &mut Random) -> Self {
        random.one(&[Self::Corrupt, Self::OverBudget, Self::Panic])
    }
}

/// A flaw that stays with a row.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// Key of the row.
    pub row: Key,
    /// Effect of reading the row.
    pub flaw: Flaw,
    /// Time at which the flaw disappears.
    pub until: Timestamp,
}

/// A store in which one read fails, or every read of one row.
pub struct Flawed<'s> {
    /// Store that all other reads reach.
    pub store: &'s Memory,
    /// Effect on one read, and how many succeed before it.
    pub once: Option<(Flaw, Cell<u64>)>,
    /// Row whose reads always fail.
    pub stuck: Option<&'s Stuck>,
    /// Flaw that occurred, if any.
    pub met: Cell<Option<Flaw>>,
    /// Last row read with which a flaw may stay.
    pub row: RefCell<Option<Key>>,
}

impl Flawed<'_> {
    fn read(&self, keys: &[Key]) -> Result<(), Stop> {
        if let Some(row) = keys.iter().find(|at| may_stick(at)) {
            self.row.replace(Some(row.clone()));
        }
        if let Some(stuck) = self.stuck.filter(|stuck| keys.contains(&stuck.row)) {
            return self.fail(stuck.flaw);
        }
        let Some((flaw, left)) = &self.once else { return Ok(()) };
        if let Some(fewer) = left.get().checked_sub(1) {
            left.set(fewer);
            return Ok(());
        }
        self.fail(*flaw)
    }

    fn fail(&self, flaw: Flaw) -> Result<(), Stop> {
        self.met.set(Some(flaw));
        match flaw {
            Flaw::Corrupt => Err(Stop::Corrupt("a row of the simulator's choice")),
            Flaw::OverBudget => Err(Stop::OverBudget),
            // Bypasses the panic hook, which would print a backtrace.
            Flaw::Panic => std::panic::resume_unwind(Box::new("a panic of the simulator's choice")),
        }
    }
}

/// Returns whether a flaw may stay with a row: only with those of single tasks, since much depends on the others.
fn may_stick(at: &[u8]) -> bool {
    matches!(key::read_row(at), Some((Kind::Call | Kind::Campaign | Kind::Conversation | Kind::Delivery, _)))
}

impl View for Flawed<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.read(keys)?;
        self.store.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.read(&[])?;
        self.store.scan(range, order, limit)
    }

    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop> {
        self.store.admit(caller)
    }
}
