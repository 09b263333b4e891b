//! [`Backend`]: what a store asks of whatever keeps its rows. Values come and go as they are stored, sealed ones sealed.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::key::Key;
use switchboard_core::store::Change;
use switchboard_core::view::{Read, RowVisitor, Scan, Stop};

use super::{LaneId, StoreError, StoreNodes};
use crate::seal::KeyId;

/// What a backend does meanwhile.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Is called with keys that were changed.
pub type Learner = Box<dyn Fn(Vec<Key>) + Send + Sync>;

/// Ids of the keys that values are sealed with; true once every value is sealed with that key.
pub type NotedKeys = Vec<(KeyId, bool)>;

/// Keeps rows durably, sorted by their keys.
pub trait Backend: Send + Sync {
    /// Returns everything committed so far.
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError>;

    /// Returns everything committed so far, read from where it is kept: no row is missing. It may wait for each read.
    fn whole(&self) -> Result<Arc<dyn Picture>, StoreError>;

    /// Begins a commit; waits while another one is open.
    fn begin(&self) -> Result<Box<dyn OpenWrite>, StoreError>;

    /// Reads rows that a step found missing, so that a picture has them; no file misses any.
    fn load(&self, reads: Vec<Read>) -> BoxFuture<Result<(), StoreError>>;

    /// Returns whether what a picture showed was still true after it was read, but for shared rows.
    fn confirm(&self) -> Result<(), StoreError>;

    /// Returns whether shared rows are still as they were after this change of them, see [`Picture::shared`].
    fn is_current(&self, shared: i64) -> BoxFuture<Result<bool, StoreError>>;

    /// Tells of shared rows that others have changed, from now on.
    fn tell_learned(&self, _learner: Learner) {}

    /// Waits until nothing more can be read or written, and returns why.
    fn ended(&self) -> BoxFuture<StoreEnd>;

    /// Reads and writes nothing any more after the commit that is open, and gives nothing up: another lane of this process
    /// gets the rows.
    fn retire(&self) -> BoxFuture<()> {
        Box::pin(async {})
    }

    /// Gives the rows up to whoever comes next, but for so many slots, after the commit that is open; nothing is read or
    /// written afterwards. `others` are lanes that have [retired](Self::retire), whose rows count with its own. Returns what
    /// has the rows that stay.
    fn hand_over(&self, keep: usize, others: Vec<LaneId>) -> BoxFuture<Option<Box<dyn Backend>>>;

    /// Returns the id of its lane, if it shares the rows with others.
    fn lane(&self) -> Option<LaneId> {
        None
    }

    /// Returns how its lane does, if it has one.
    fn lane_figures(&self) -> Option<LaneFigures> {
        None
    }

    /// Confirms what was read, where rows are kept; `None` if [`Self::confirm`] is enough.
    fn confirm_read(&self) -> Option<BoxFuture<Result<(), StoreError>>> {
        None
    }

    /// Returns whether it has the rows of all accounts.
    fn is_whole(&self) -> bool {
        true
    }

    /// Returns the nodes that share the rows out among them; `None` if nobody else may have any.
    fn nodes(&self) -> Option<StoreNodes> {
        None
    }

    /// Returns what is noted of the keys that values are sealed with.
    fn seals(&self) -> Result<NotedKeys, StoreError>;

    /// Compares every checksum; returns false if something was damaged and has been repaired.
    fn check(&mut self) -> Result<bool, StoreError>;

    /// Opens the rows again after the disk was full. Everything committed is still there.
    fn reopen(&self) -> Result<(), StoreError>;

    /// Does what can wait until nobody else waits to write, and is called again when that has been so for a while.
    fn rest(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Keeps a reserve of disk space from now on.
    fn reserve(&mut self);

    /// Returns whether the reserve was given up to a full disk.
    fn is_full(&self) -> bool;

    /// Deletes the reserve, so that what must be written has room on a full disk.
    fn give_up_reserve(&self);

    /// Returns the folder of the rows; `None` if they are in none.
    fn folder(&self) -> Option<&Path>;

    /// Returns the number of bytes that the rows take; 0 if it is not known.
    fn bytes(&self) -> u64;
}

/// How a lane does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneFigures {
    /// Slots of accounts that are its own.
    pub slots: usize,
    /// Commits that it has made.
    pub commits: u64,
    /// Bytes of rows that it has at hand.
    pub row_bytes: usize,
    /// How long it may go on to answer if the database is not heard of.
    pub lease: Duration,
}

/// Why a store has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreEnd {
    /// Another node has the rows, or may take them.
    Replaced,
    /// Something is wrong with it that the operator must look at.
    Broken(String),
}

impl std::fmt::Display for StoreEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Replaced => "another node has taken over its rows",
            Self::Broken(why) => why,
        })
    }
}

/// All rows at one moment; it never changes. A read may stop because its rows are not at hand, see [`Backend::load`].
pub trait Picture: Send + Sync {
    /// Shows the value of a key, if it has one.
    fn get(&self, key: &[u8], look: &mut dyn FnMut(&[u8]) -> Result<(), Stop>) -> Result<(), Stop>;

    /// Shows the rows of a scan, in its order.
    fn scan(&self, scan: Scan, visit: &mut RowVisitor<'_>) -> Result<(), Stop>;

    /// Returns whether it has the rows of an account.
    fn owns(&self, _account: u32) -> bool {
        true
    }

    /// Returns after which change of shared rows it is, if it has shown one and others may change them.
    fn shared(&self) -> Option<i64> {
        None
    }
}

/// A commit that has begun: nobody else commits before it has ended. Any thread may make it.
pub trait OpenWrite: Send {
    /// Returns everything committed before.
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError>;

    /// Returns the commit after this one, before this one is made: it is worth nothing if this one fails.
    fn next(&self) -> Box<dyn NextWrite>;

    /// Commits changes durably, all or none.
    fn commit(self: Box<Self>, changes: Vec<Change>, seals: Vec<(KeyId, SealState)>) -> Result<(), StoreError>;

    /// Ends without a change.
    fn abort(self: Box<Self>) -> Result<(), StoreError>;
}

/// The commit after one that is under way.
pub trait NextWrite: Send {
    /// Returns everything committed before both, and of what the one under way changes any part or none.
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError>;

    /// Begins it, once the one before was made.
    fn begin(self: Box<Self>) -> Result<Box<dyn OpenWrite>, StoreError>;
}

/// What is known of a key that values are sealed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealState {
    /// Some values are sealed with it.
    Some,
    /// Every value is.
    Every,
    /// No value is: its id is forgotten.
    None,
}

impl SealState {
    /// Returns the state of a key with which some values are sealed, or every one.
    pub fn of(every: bool) -> Self {
        if every { Self::Every } else { Self::Some }
    }
}
