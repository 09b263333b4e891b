//! [`Commits`]: how commits become durable. Each goes into the log, while its rows are put into the tables, in memory
//! alone; now and then one is a checkpoint, which makes the tables themselves durable.

use std::io::Result as IoResult;
use std::sync::Arc;

use redb::{Database, Durability, StorageBackend, WriteTransaction};

use super::log::{CommitChanges, LogFile, RedoLog, Replay, StoreId};
use super::tables::{self, Checkpoint, refused};
use crate::store::{StoreError, failed};

/// Opens the file of a log; `None` if it is not there.
pub(super) type LogOpener = Box<dyn Fn(Absent) -> IoResult<Option<Arc<dyn StorageBackend>>> + Send + Sync>;

/// Where the file of a log is.
pub(super) struct LogPlace {
    /// Path of the file, for people.
    pub name: String,
    /// Opens the file; where there is none it is made if that is wanted.
    pub open: LogOpener,
    /// Length of each half of a log that is made, bytes.
    pub half_bytes: usize,
}

/// What is done where a file is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    /// It is made.
    Make,
    /// Nothing.
    Leave,
}

impl LogPlace {
    fn file(&self, absent: Absent) -> Result<Option<LogFile>, StoreError> {
        let named = |storage| LogFile { storage, name: self.name.clone() };
        let opened = (self.open)(absent).map_err(|error| refused(&self.name)(redb::StorageError::Io(error)))?;
        Ok(opened.map(named))
    }
}

/// Whether commits may go into the log after a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogUse {
    /// They may: the tables need it from here on.
    Open,
    /// They may not before the next checkpoint: the tables have everything.
    Closed,
}

/// Makes commits durable, one at a time.
pub(super) struct Commits {
    place: LogPlace,
    /// The last checkpoint; `None` while the store has never had a log.
    checkpoint: Option<Checkpoint>,
    /// Open while the tables need it.
    log: Option<RedoLog>,
}

impl Commits {
    /// Creates it for a store that is yet to be opened.
    pub fn of(place: LogPlace) -> Self {
        Self { place, checkpoint: None, log: None }
    }

    /// Brings the tables, which were opened at their last checkpoint, to the last commit of the log. That is seen, and
    /// durable in the log alone.
    pub fn replay(&mut self, database: &Database) -> Result<(), StoreError> {
        self.log = None;
        self.checkpoint = Checkpoint::of(database)?;
        let file = self.place.file(Absent::Leave)?;
        let Some(Checkpoint { store, sequence, .. }) = self.checkpoint.filter(|checkpoint| checkpoint.log_in_use)
        else {
            let sequence = self.checkpoint.map_or(0, |checkpoint| checkpoint.sequence);
            let store = self.checkpoint.map(|checkpoint| checkpoint.store);
            return file.map_or(Ok(()), |file| file.refuse_needed(store, sequence));
        };
        let why = "is missing, and the last commits stand there alone: put it back, or restore a backup";
        let file = file.ok_or_else(|| LogFile::unfit(&self.place.name, &why))?;
        let (log, Replay { commits, changes }) = RedoLog::open(file, store, sequence)?;
        if commits > 0 {
            let write = begin(database)?;
            tables::put(&write, &changes)?;
            seen(write)?;
            tracing::info!(commits, "the log had commits that the store had yet to take over: they are there");
        }
        self.log = Some(log);
        Ok(())
    }

    /// Commits changes durably.
    pub fn commit(&mut self, write: WriteTransaction, changes: &CommitChanges) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return self.begin_log(write, changes) };
        let Some(record) = log.append(changes)? else { return self.checkpoint(write, changes, LogUse::Open) };
        // The record is written and synced meanwhile.
        tables::put(&write, changes)?;
        record.then(|| seen(write))
    }

    /// Fails after a commit of which it is not known whether it would be there after a restart.
    pub fn refuse_doubt(&self) -> Result<(), StoreError> {
        self.log.as_ref().map_or(Ok(()), RedoLog::refuse_doubt)
    }

    /// Returns whether a checkpoint would change anything.
    pub fn has_records(&self) -> bool {
        self.log.as_ref().is_some_and(RedoLog::has_records)
    }

    /// Returns whether the tables need the log.
    pub fn log_in_use(&self) -> bool {
        self.log.is_some()
    }

    /// Commits changes, and with them all that was committed before, durably to the tables.
    pub fn checkpoint(
        &mut self,
        write: WriteTransaction,
        changes: &CommitChanges,
        after: LogUse,
    ) -> Result<(), StoreError> {
        let Some(log) = &mut self.log else { return self.begin_log(write, changes) };
        log.refuse_doubt()?;
        let Some(Checkpoint { store, .. }) = self.checkpoint else {
            return Err(StoreError::of("a commit failed", &"a log without a checkpoint"));
        };
        let checkpoint = Checkpoint { store, sequence: log.next(), log_in_use: after == LogUse::Open };
        kept(write, changes, checkpoint)?;
        log.checkpointed(checkpoint.sequence);
        self.checkpoint = Some(checkpoint);
        if after == LogUse::Closed {
            self.log = None;
        }
        Ok(())
    }

    /// Commits changes durably to the tables, and has the next ones go into the log, which is made if there is none.
    fn begin_log(&mut self, write: WriteTransaction, changes: &CommitChanges) -> Result<(), StoreError> {
        let before = self.checkpoint;
        let store = before.map_or_else(new_id, |checkpoint| Ok(checkpoint.store))?;
        let sequence = before.map_or(0, |checkpoint| checkpoint.sequence) + 1;
        let file = self.place.file(Absent::Make)?;
        let file = file.ok_or_else(|| StoreError::of(&self.place.name, &"it cannot be made"))?;
        let log = match RedoLog::open(file.clone(), store, sequence) {
            Ok((log, _)) => log,
            // None is needed: what stands there was looked at when the store was opened.
            Err(_) => RedoLog::make(file, store, self.place.half_bytes, sequence)?,
        };
        if before.is_none() {
            tables::refuse_earlier_releases(&write)?;
        }
        let checkpoint = Checkpoint { store, sequence, log_in_use: true };
        kept(write, changes, checkpoint)?;
        (self.checkpoint, self.log) = (Some(checkpoint), Some(log));
        Ok(())
    }
}

fn new_id() -> Result<StoreId, StoreError> {
    let mut id = StoreId::default();
    getrandom::fill(&mut id).map_err(failed("the store's log cannot be made"))?;
    Ok(id)
}

/// Begins a write; waits while another one is open.
pub(super) fn begin(database: &Database) -> Result<WriteTransaction, StoreError> {
    database.begin_write().map_err(refused("a write cannot begin"))
}

/// Commits what the log keeps: readers see it, and nothing is written. The file stays at the last checkpoint, however
/// the process ends.
fn seen(mut write: WriteTransaction) -> Result<(), StoreError> {
    write.set_durability(Durability::None).map_err(failed("a commit failed"))?;
    write.commit().map_err(refused("a commit failed"))
}

/// Commits to the file. With its two phases and the allocator's state a torn commit is noticed, and opening after a
/// crash reads the last checkpoint only: every commit that writes the file must be of this kind.
fn kept(mut write: WriteTransaction, changes: &CommitChanges, checkpoint: Checkpoint) -> Result<(), StoreError> {
    tables::put(&write, changes)?;
    checkpoint.put(&write)?;
    write.set_quick_repair(true);
    write.commit().map_err(refused("a commit failed"))
}
