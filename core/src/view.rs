//! Inputs of a step besides the request: one ordered byte map, the time, a seed and the rate limit of its caller.

use alloc::vec::Vec;
use core::ops::Range;

use crate::key::Key;
pub use crate::key::Order;
use crate::rate::{Caller, Rate};
use crate::seed::Seed;
use crate::time::Timestamp;

/// Stored value of a key.
pub type Bytes = Vec<u8>;

/// Read that a host has not loaded yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Read {
    /// Value of a key.
    Get(Key),
    /// Rows of a range of keys.
    Scan(Scan),
    /// Rate-limit decision for a caller.
    Admit(Caller),
}

/// Scan of a range of keys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scan {
    /// Start of the range, included.
    pub from: Key,
    /// End of the range, excluded.
    pub to: Key,
    /// Direction of the scan: with `limit`, it decides which rows are returned.
    pub order: Order,
    /// Maximum number of rows.
    pub limit: usize,
}

/// Result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Value of a key; `None` where the key has none.
    Value(Option<Bytes>),
    /// Rows of a scan, in its order.
    Rows(Vec<(Key, Bytes)>),
    /// Rate-limit decision; `None` where no limit is configured.
    Rate(Option<Rate>),
}

/// Why a step could not finish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The host has not loaded these reads yet: it loads them and runs the step again.
    Missing(Vec<Read>),
    /// The rows of this account are another writer's: the host hands the whole input to it, and nothing has happened.
    Elsewhere(u32),
    /// The store failed; the request is answered 503 and may be retried.
    Failed,
    /// A stored row cannot be read: a damaged store or a bug, never the caller's fault.
    Corrupt(&'static str),
    /// The step exceeded what [`crate::limits::step`] allows it to read or change.
    OverBudget,
}

/// Callback for each row of a scan: key and value.
pub type RowVisitor<'v> = dyn FnMut(&[u8], &[u8]) -> Result<(), Stop> + 'v;

/// Callback for each value found: the index of its key among those requested, and the value.
pub type ValueVisitor<'v> = dyn FnMut(usize, &[u8]) -> Result<(), Stop> + 'v;

/// Calls `look` for each value that was found, with the index of its key.
pub fn each_value(found: &[Option<Bytes>], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
    found.iter().enumerate().try_for_each(|(at, value)| value.as_ref().map_or(Ok(()), |value| look(at, value)))
}

/// Collects copies of the rows that `show` visits.
pub fn copies(show: impl FnOnce(&mut RowVisitor<'_>) -> Result<(), Stop>) -> Result<Vec<(Key, Bytes)>, Stop> {
    let mut rows = Vec::new();
    show(&mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        Ok(())
    })?;
    Ok(rows)
}

/// Consistent, read-only snapshot of one ordered byte map.
pub trait View {
    /// Returns the values of `keys`, in their order.
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop>;

    /// Returns at most `limit` rows of `range`, in `order`.
    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop>;

    /// Visits the values that [`Self::get`] returns, in the order of `keys`.
    fn get_with(&self, keys: &[Key], look: &mut ValueVisitor<'_>) -> Result<(), Stop> {
        each_value(&self.get(keys)?, look)
    }

    /// Visits the rows that [`Self::scan`] returns, one by one: a host that holds them in memory need not copy them.
    fn scan_with(&self, range: Range<Key>, order: Order, limit: usize, visit: &mut RowVisitor<'_>) -> Result<(), Stop> {
        self.scan(range, order, limit)?.iter().try_for_each(|(key, value)| visit(key, value))
    }

    /// Takes one token from the caller's bucket. A host asks its buckets once per input and returns the same decision
    /// when the step runs again; `None` where no limit is configured.
    fn admit(&self, caller: Caller) -> Result<Option<Rate>, Stop>;

    /// Returns whether the rows of an account are here: where several writers share a store, each has those of its own
    /// accounts, and a read of another one's stops with [`Stop::Elsewhere`].
    fn owns(&self, _account: u32) -> bool {
        true
    }

    /// Returns whether the host's disk is full: then only deletions, endings and what has already happened are stored,
    /// from a reserve.
    fn is_full(&self) -> bool {
        false
    }
}

/// Everything that a step may depend on besides its input.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// Time of this input; a host never lets it run backwards.
    pub now: Timestamp,
    /// Seed of all randomness, drawn once per exchange and kept over re-runs.
    pub seed: Seed,
    /// Snapshot of the store, the same for the whole step.
    pub view: &'a dyn View,
    /// Whether work that may fail to end is marked in a commit before it starts, one item at a time: set by a host that
    /// has just started, or whose last step panicked, and so cannot know which item of a step was the cause.
    pub careful: bool,
}
