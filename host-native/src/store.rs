//! [`Store`]: rows in memory and rows that a backend keeps, secrets sealed; snapshots for reads, one open write at a
//! time.

mod backend;
mod embedded;
mod memory;
mod postgres;
mod rows;
mod sealing;
mod write;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use redb::StorageBackend;
use switchboard_core::budget::LOADS;
use switchboard_core::key::{self, Key, Space};
use switchboard_core::store::{Change, usage};
use switchboard_core::view::{Read, Stop};

use crate::room::{Holder, Room};
use crate::seal::Seal;

use backend::Backend;
pub use backend::{LaneFigures, StoreEnd};
use embedded::Embedded;
use memory::MemoryRows;
use postgres::Postgres;
pub use postgres::{
    Cluster, ClusterEvent, ClusterEvents, DatabaseFill, LaneId, MappedLane, NodeSign, SharedOut, SlotMap, StoreNode,
    StoreNodes,
};
pub use rows::{Admission, RowsView, Snapshot, StoredVisitor};
pub use write::{Commit, Laid, Write, WriteView};

/// Error of the store, as a phrase: what failed, and why.
#[derive(Debug)]
pub enum StoreError {
    /// The disk had no room: reopening the store may help.
    DiskFull(String),
    /// Shared rows were changed by others since the commit was decided: [`Store::load`], and decide again.
    Outdated,
    /// It cannot be reached, or others have its rows: another try may succeed.
    Unavailable(String),
    /// Anything else.
    Failed(String),
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DiskFull(text) | Self::Unavailable(text) | Self::Failed(text) => f.write_str(text),
            Self::Outdated => f.write_str("rows that it was decided over were changed meanwhile"),
        }
    }
}

impl std::error::Error for StoreError {}

impl StoreError {
    /// Creates an error from what failed and why.
    pub fn of(what: &str, error: &dyn fmt::Display) -> Self {
        Self::Failed(format!("{what}: {error}"))
    }

    /// Creates an error that another try may not meet, from what failed and why.
    pub fn unavailable(what: &str, error: &dyn fmt::Display) -> Self {
        Self::Unavailable(format!("{what}: {error}"))
    }

    /// Creates an error from what failed, and why it was stopped.
    pub fn stopped(what: &str, stop: &Stop) -> Self {
        let why = format!("{stop:?}");
        if *stop == Stop::Failed { Self::unavailable(what, &why) } else { Self::of(what, &why) }
    }
}

fn failed<E: fmt::Display>(what: &str) -> impl FnOnce(E) -> StoreError + '_ {
    move |error| StoreError::of(what, &error)
}

/// How much of a store is read when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegrityCheck {
    /// The header of the last commit only.
    Quick,
    /// Every page, with its checksum: a damaged store fails to open.
    Whole,
}

/// The files of an embedded store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFile {
    /// Its tables.
    Tables,
    /// Its log: commits that the tables have yet to take over durably.
    Log,
}

/// An open store: snapshots for reads, one open write at a time.
pub struct Store {
    backend: Box<dyn Backend>,
    /// Rows that no backend keeps.
    memory: Arc<MemoryRows>,
    seal: Arc<Seal>,
    /// Steps that wait for rows.
    loads: Arc<Room>,
}

impl Store {
    /// Opens the store of a folder, and creates folder and store if they do not exist.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Embedded::open(folder).map(Self::of)
    }

    /// Opens an existing store for inspection, without comparing checksums: that is left to [`Store::check`].
    pub fn existing(folder: &Path) -> Result<Self, StoreError> {
        Embedded::existing(folder).map(Self::of)
    }

    /// Opens a store on storage other than files, creating it if that is empty: for tests that simulate a disk.
    /// `storage` must return the same bytes each time; a log that is made has two halves of `log_half_bytes`, a multiple
    /// of 4,096: with fewer, checkpoints come sooner.
    pub fn over<B: StorageBackend>(
        storage: impl Fn(StoreFile) -> B + Send + Sync + 'static,
        log_half_bytes: usize,
        look: IntegrityCheck,
    ) -> Result<Self, StoreError> {
        Embedded::over(storage, log_half_bytes, look).map(Self::of)
    }

    /// Opens the store in the PostgreSQL of a URL alone: it is refused while a node serves, whose silence is waited for.
    pub fn of_url(url: &str) -> Result<Self, StoreError> {
        Postgres::open(url).map(Self::of)
    }

    /// Makes the tables of a store in the PostgreSQL of a URL; returns whether they were missing.
    pub fn init(url: &str) -> Result<bool, StoreError> {
        Postgres::init(url)
    }

    /// Returns a snapshot of the store in the PostgreSQL of a URL, without becoming its node: for checks while one serves.
    pub fn look(url: &str, seal: Seal) -> Result<Snapshot, StoreError> {
        let (picture, keys) = Postgres::look(url)?;
        sealing::refuse_missing(&keys, &seal)?;
        Ok(Snapshot::of(picture, Arc::new(seal), Arc::default()))
    }

    /// Returns which database a URL names, for people; a password is never shown.
    pub fn shown(url: &str) -> String {
        Postgres::shown(url)
    }

    fn of(backend: impl Backend + 'static) -> Self {
        Self { backend: Box::new(backend), memory: Arc::default(), seal: Arc::default(), loads: Room::new(&LOADS) }
    }

    /// Returns a snapshot of everything committed so far.
    pub fn snapshot(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot::of(self.backend.picture()?, Arc::clone(&self.seal), Arc::clone(&self.memory)))
    }

    /// Returns a snapshot of everything committed so far that reads each row from where it is kept, and misses none: for
    /// backups and checks, not for requests. It may wait for each read.
    pub fn whole(&self) -> Result<Snapshot, StoreError> {
        Ok(Snapshot::of(self.backend.whole()?, Arc::clone(&self.seal), Arc::clone(&self.memory)))
    }

    /// Bounds the steps that wait for rows by a room, and shares them out between accounts.
    #[must_use]
    pub fn loading(mut self, loads: &Arc<Room>) -> Self {
        self.loads = Arc::clone(loads);
        self
    }

    /// Reads rows that a step on a snapshot found missing, and what others changed of shared rows: the next one has them.
    pub async fn load(&self, reads: Vec<Read>) -> Result<(), StoreError> {
        let busy = |_| StoreError::Failed("too many steps wait for rows".into());
        let _place = self.loads.take(reads.first().map_or(Holder::Service, holder)).await.map_err(busy)?;
        self.backend.load(reads).await
    }

    /// Calls `learner` with the keys of shared rows that others have changed, from now on.
    pub fn tell_learned(&self, learner: impl Fn(Vec<Key>) + Send + Sync + 'static) {
        self.backend.tell_learned(Box::new(learner));
    }

    /// Waits until nothing more can be read or written, and returns why.
    pub fn ended(&self) -> impl Future<Output = StoreEnd> + Send + 'static {
        self.backend.ended()
    }

    /// Reads and writes nothing any more, and gives nothing up: a store that is handed over with it has its rows.
    pub async fn retire(&self) {
        self.backend.retire().await;
    }

    /// Gives the rows up to other nodes, if there may be any, but for so many slots: it reads and writes nothing
    /// afterwards. `others` are lanes that have [retired](Self::retire). Returns the store of the rows that stay.
    pub async fn hand_over(&self, keep: usize, others: Vec<LaneId>) -> Option<Self> {
        let backend = self.backend.hand_over(keep, others).await?;
        let (seal, loads) = (Arc::clone(&self.seal), Arc::clone(&self.loads));
        Some(Self { backend, memory: Arc::default(), seal, loads })
    }

    /// Returns whether it has the rows of all accounts.
    pub fn is_whole(&self) -> bool {
        self.backend.is_whole()
    }

    /// Returns the id of the lane that its rows are; `None` if it shares them with nobody.
    pub fn lane(&self) -> Option<LaneId> {
        self.backend.lane()
    }

    /// Returns how its lane does, if it has one.
    pub fn lane_figures(&self) -> Option<LaneFigures> {
        self.backend.lane_figures()
    }

    /// Returns the nodes that share the rows out among them; `None` if nobody else may have any.
    pub fn nodes(&self) -> Option<StoreNodes> {
        self.backend.nodes()
    }

    /// Returns whether what a snapshot showed was still true after it was read, but for shared rows.
    pub fn confirm(&self) -> Result<(), StoreError> {
        self.backend.confirm()
    }

    /// Returns once what a snapshot showed is confirmed, but for shared rows; where rows are kept if no lease is enough.
    pub async fn confirm_read(&self) -> Result<(), StoreError> {
        match self.backend.confirm_read() {
            Some(confirmed) => confirmed.await,
            None => self.backend.confirm(),
        }
    }

    /// Returns whether shared rows are still as they were after this change of them, see [`Snapshot::shared`]. If not,
    /// the next snapshot shows them.
    pub async fn is_current(&self, shared: i64) -> Result<bool, StoreError> {
        self.backend.is_current(shared).await
    }

    /// Counts the bytes each account stores, if the store is from a release without these counts.
    pub fn counted(self) -> Result<Self, StoreError> {
        // Others write the rest: whoever has the rows of all accounts counts.
        if !self.backend.is_whole() {
            return Ok(self);
        }
        let changes = usage::count(&self.whole()?.view(None))
            .map_err(|stop| StoreError::stopped("what accounts store cannot be counted", &stop))?;
        if !changes.is_empty() {
            self.commit(&changes)?;
        }
        Ok(self)
    }

    /// Commits changes at once, without the writer.
    pub fn commit(&self, changes: &[Change]) -> Result<(), StoreError> {
        let mut write = self.begin()?;
        write.apply(changes.to_vec());
        write.commit()
    }

    /// Compares every checksum; returns false if the store was damaged and has been repaired.
    pub fn check(&mut self) -> Result<bool, StoreError> {
        self.backend.check()
    }

    /// Opens the store again after the disk was full. Everything committed is still there; whoever reads during the
    /// reopening is told to try again.
    pub fn reopen(&self) -> Result<(), StoreError> {
        self.backend.reopen()
    }

    /// Does what can wait until nobody else waits to write: call it when that has been so for a while.
    pub fn rest(&self) -> Result<(), StoreError> {
        self.backend.rest()
    }

    /// Keeps a reserve of disk space beside the file from now on.
    #[must_use]
    pub fn reserving(mut self) -> Self {
        self.backend.reserve();
        self
    }

    /// Returns whether the reserve was given up to a full disk: then only deletes, ends and records of what has already
    /// happened are written.
    pub fn is_full(&self) -> bool {
        self.backend.is_full()
    }

    /// Deletes the reserve, so that what must be written has room on a full disk.
    pub fn give_up_reserve(&self) {
        self.backend.give_up_reserve();
    }

    /// Returns the folder of the store; `None` for one that is in none.
    pub fn folder(&self) -> Option<&Path> {
        self.backend.folder()
    }

    /// Returns the size of the store, bytes; 0 if it is not known.
    pub fn file_bytes(&self) -> u64 {
        self.backend.bytes()
    }
}

/// Returns whose rows are read.
fn holder(read: &Read) -> Holder {
    let key = match read {
        Read::Get(key) => key,
        Read::Scan(scan) => &scan.from,
        Read::Admit(_) => return Holder::Service,
    };
    match key::space_of(key) {
        Some(Space::Account(account)) => Holder::Account(account),
        _ => Holder::of(key::account_of_queue(key)),
    }
}

/// Runs an access to the store and turns a panic into an error: redb may panic on a damaged file.
pub fn caught<T>(what: &str, act: impl FnOnce() -> T) -> Result<T, StoreError> {
    catch_unwind(AssertUnwindSafe(act)).map_err(|_| StoreError::of(what, &"its file is damaged"))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread::spawn;
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_account_that_waits_for_rows_leaves_others_their_turn() {
        let folder = std::env::temp_dir().join(format!("switchboard-loading-{}", std::process::id()));
        let room = Room::new(&LOADS);
        let store = Store::open(&folder).expect("a store").loading(&room);
        let held = room.try_take(Holder::Account(1), LOADS.account).expect("its share");
        let load = |account| store.load(vec![Read::Get(key::ledger(Space::Account(account)))]);
        assert!(tokio::time::timeout(Duration::from_millis(20), load(1)).await.is_err(), "its share is used up");
        let told = |done: Result<(), StoreError>| done.expect_err("a file misses none").to_string();
        assert!(told(load(2).await).contains("a file misses none"));
        drop(held);
        assert!(told(load(1).await).contains("a file misses none"), "there is room again");
        std::fs::remove_dir_all(folder).expect("it was made");
    }

    /// Reads and reopenings take the same locks: in different orders they would deadlock.
    #[test]
    fn reads_go_on_while_a_store_is_opened_again() {
        let folder = std::env::temp_dir().join(format!("switchboard-reopened-{}", std::process::id()));
        let store = Arc::new(Store::open(&folder).expect("a store"));
        let over = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..2)
            .map(|_| {
                let (store, over) = (Arc::clone(&store), Arc::clone(&over));
                spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        drop(store.snapshot().expect("a snapshot"));
                    }
                })
            })
            .collect();
        let (done, wait) = mpsc::channel();
        spawn(move || {
            for number in 0..100_u8 {
                store.commit(&[Change::Put(vec![1], vec![number])]).expect("a commit");
                store.reopen().expect("it opens again");
                let rows = store.whole().expect("a snapshot").stored(vec![0]..vec![2], 2).expect("rows");
                assert_eq!(rows, [(vec![1], vec![number])], "what was committed is seen at once");
            }
            over.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| reader.join().expect("a reader"));
            done.send(()).expect("somebody waits");
        });
        wait.recv_timeout(Duration::from_mins(10)).expect("nobody waits for ever");
        std::fs::remove_dir_all(folder).expect("it was made");
    }
}
