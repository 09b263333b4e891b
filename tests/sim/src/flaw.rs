//! What makes a step of the service's own work, or a claim of an engine's, come to no end: one read of it stops, or
//! panics. Some flaws stay with the row that was read, so that whoever needs it comes to nothing until it is set aside.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use switchboard_core::key::{self, Key, Kind};
use switchboard_core::memory::Memory;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::time::Timestamp;
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

/// A flaw that stays with a row.
#[derive(Clone, Debug)]
pub struct Stuck {
    /// The row.
    pub row: Key,
    /// What reading it does.
    pub flaw: Flaw,
    /// Until when.
    pub until: Timestamp,
}

/// A store of which one read does that, or each of a row.
pub struct Flawed<'s> {
    /// The store.
    pub store: &'s Memory,
    /// What one read does, and how many go well before it.
    pub once: Option<(Flaw, Cell<u64>)>,
    /// What each read of a row does.
    pub stuck: Option<&'s Stuck>,
    /// What was done, if anything.
    pub met: Cell<Option<Flaw>>,
    /// The last row that was read of those with which a flaw may stay.
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
            // Without the hook that prints where a panic came from.
            Flaw::Panic => std::panic::resume_unwind(Box::new("a panic of the simulator's choice")),
        }
    }
}

/// Rows that durable work is about; of the rest many depend.
fn may_stick(at: &[u8]) -> bool {
    matches!(key::read_row(at), Some((Kind::Call | Kind::Campaign | Kind::Delivery, _)))
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
