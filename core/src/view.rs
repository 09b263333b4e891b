//! What a step may look at: one ordered byte map, the time, a seed and the admission of its caller.

use alloc::vec::Vec;
use core::ops::Range;

use crate::key::Key;
pub use crate::key::Order;
use crate::rate::{Caller, Rate};
use crate::seed::Seed;
use crate::time::Timestamp;

/// A stored value.
pub type Bytes = Vec<u8>;

/// One read that a host has not loaded yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// The value of a key.
    Get(Key),
    /// Rows of a range.
    Scan(Scan),
    /// The rate-limit decision for a caller.
    Admit(Caller),
}

/// Rows of a range.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scan {
    /// The first key that may be among them.
    pub from: Key,
    /// The first key behind them.
    pub to: Key,
    /// Which come first.
    pub order: Order,
    /// At most so many.
    pub limit: usize,
}

/// What a read found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The value of a key; none is stored there.
    Value(Option<Bytes>),
    /// The rows of a scan, in its order.
    Rows(Vec<(Key, Bytes)>),
    /// The rate-limit decision; none where no limit is configured.
    Rate(Option<Rate>),
}

/// Why a step could not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The host has not loaded these reads yet: it loads them and runs the step again.
    Missing(Vec<Read>),
    /// The store failed; the request is answered 503 and may be tried again.
    Failed,
    /// A stored row cannot be read: a damaged store or a bug, never the caller's fault.
    Corrupt(&'static str),
    /// The step wanted to read or change more than [`crate::limits::step`] allows.
    OverBudget,
}

/// Whom rows are shown: a key and its value.
pub type Visit<'v> = dyn FnMut(&[u8], &[u8]) -> Result<(), Stop> + 'v;

/// Whom values are shown: the place of a key among those that were asked for, and its value.
pub type Look<'v> = dyn FnMut(usize, &[u8]) -> Result<(), Stop> + 'v;

/// Shows the values that were found, with their places.
pub fn each_value(found: &[Option<Bytes>], look: &mut Look<'_>) -> Result<(), Stop> {
    found.iter().enumerate().try_for_each(|(at, value)| value.as_ref().map_or(Ok(()), |value| look(at, value)))
}

/// Copies of the rows that somebody shows.
pub fn copies(show: impl FnOnce(&mut Visit<'_>) -> Result<(), Stop>) -> Result<Vec<(Key, Bytes)>, Stop> {
    let mut rows = Vec::new();
    show(&mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        Ok(())
    })?;
    Ok(rows)
}

/// A consistent, read-only picture of one ordered byte map.
pub trait View {
    /// The values of `keys`, in their order.
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop>;

    /// At most `limit` rows of `range`, in `order`.
    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop>;

    /// Shows the values that [`Self::get`] gives, in their order.
    fn show(&self, keys: &[Key], look: &mut Look<'_>) -> Result<(), Stop> {
        each_value(&self.get(keys)?, look)
    }

    /// Shows the rows that [`Self::scan`] gives, one after the other: a host that has them at hand need not copy them.
    fn each(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut Visit<'_>) -> Result<(), Stop> {
        self.scan(range, order, limit)?.iter().try_for_each(|(key, value)| visit(key, value))
    }

    /// Takes one token from the caller's bucket. A host asks its buckets once per input and gives the
    /// same answer when the step runs again; `None` where no limit is configured.
    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop>;

    /// Whether the host's disk is full: then only what takes away, ends something or has already happened is stored,
    /// from a reserve.
    fn is_full(&self) -> bool {
        false
    }
}

/// All that a step may depend on besides its input.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The time of this input; a host never lets it run backwards.
    pub now: Timestamp,
    /// Drawn once per exchange and kept over re-runs.
    pub seed: Seed,
    /// The store.
    pub view: &'a dyn View,
    /// Whether what may come to no end is marked in a commit before it is begun, one thing at a time: for a host that
    /// has just started, or whose last step panicked, and so cannot know which of the things of a step does that.
    pub careful: bool,
}
