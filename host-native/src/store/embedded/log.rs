//! [`RedoLog`]: the commits since the last checkpoint, in a file beside the table. What is synced here is kept, whatever
//! of it the table's file has.
//!
//! The first page says whose log it is; behind it stand two halves of the same length. Records begin on pages, in the
//! order of their sequence. They go into one half until one has no room; that commit is a checkpoint instead, and the
//! next record begins the other half. So nothing is overwritten that the last checkpoint lacks, and what the one
//! before it lacked stays as well: a table that is older than its log is noticed.
//!
//! All of the file is written when it is made: a record then changes no length and no map of blocks, and its sync is
//! one write. It fills whole pages: none is read before it is written.

mod append;
mod record;

use std::fmt;
use std::io;
use std::sync::Arc;

use redb::StorageBackend;
use switchboard_core::store::Layer;
use twox_hash::XxHash3_128;

use crate::reserve::lacks_room;
use crate::store::StoreError;

use append::Appender;
use record::LogRecord;
pub(super) use record::{CommitChanges, StoreId};

/// Size of a page, bytes: systems read and write at least as much at once.
const PAGE: usize = 4_096;
const MAGIC: &[u8; 16] = b"switchboard log\0";
/// Layout of the file.
const VERSION: u32 = 1;
/// Bytes of the first page before its checksum: magic, layout, length of a half, id of the store.
const HEAD_BYTES: usize = 16 + 4 + 4 + 16;

/// The file of a log.
#[derive(Clone, Debug)]
pub(super) struct LogFile {
    /// The file.
    pub storage: Arc<dyn StorageBackend>,
    /// What people call it: its path.
    pub name: String,
}

impl LogFile {
    /// Creates the error of a log with which a store cannot be opened, from what is wrong with it and what to do.
    pub fn unfit(name: &str, why: &dyn fmt::Display) -> StoreError {
        StoreError::of("the store cannot be opened", &format!("its log {name} {why}"))
    }

    /// Converts an error of the system, for `map_err`.
    fn failed(&self) -> impl FnOnce(io::Error) -> StoreError + '_ {
        move |error| {
            let text = format!("the log {} failed: {error}", self.name);
            if lacks_room(&error) { StoreError::DiskFull(text) } else { StoreError::Failed(text) }
        }
    }

    fn read(&self, at: u64, bytes: usize) -> Result<Vec<u8>, StoreError> {
        let mut out = vec![0; bytes];
        self.storage.read(at, &mut out).map_err(self.failed())?;
        Ok(out)
    }

    /// Reads the first page; `None` if it is not that of a log, or does not fit its file.
    fn head(&self) -> Result<Option<Head>, StoreError> {
        let bytes = self.storage.len().map_err(self.failed())?;
        if bytes < PAGE as u64 {
            return Ok(None);
        }
        Ok(Head::read(&self.read(0, PAGE)?).filter(|head| head.file_bytes() == bytes))
    }

    /// Calls `visit` with the records of a store in a half, and the half's offset of each. Returns the highest sequence
    /// that any has by its head, also of those that are not whole.
    fn each(&self, head: &Head, half: u64, visit: &mut dyn FnMut(usize, LogRecord<'_>)) -> Result<u64, StoreError> {
        let bytes = self.read(head.offset(half), head.half_bytes())?;
        let (mut at, mut claimed) = (0, 0);
        while at < bytes.len() {
            claimed = LogRecord::claimed(&bytes[at..], &head.store).unwrap_or_default().max(claimed);
            at += match LogRecord::read(&bytes[at..], &head.store) {
                Some(record) => {
                    let pages = record.bytes.next_multiple_of(PAGE);
                    visit(at, record);
                    pages
                }
                None => PAGE,
            };
        }
        Ok(claimed)
    }

    /// Fails if a store that needs no log would overwrite one that is needed: another store's, or what was committed
    /// after this checkpoint.
    pub fn refuse_needed(&self, store: Option<StoreId>, checkpoint: u64) -> Result<(), StoreError> {
        let Some(head) = self.head()? else { return Ok(()) };
        let mut newest = 0;
        for half in 0..2 {
            self.each(&head, half, &mut |_, record| newest = record.sequence.max(newest))?;
        }
        if store != Some(head.store) && newest > 0 {
            return Err(Self::unfit(&self.name, &"belongs to another store: move it away"));
        }
        if newest > checkpoint {
            let why = "has commits that the store lacks, which is an older copy: put the store back that was beside it, \
                       or move the log away";
            return Err(Self::unfit(&self.name, &why));
        }
        Ok(())
    }
}

/// What the first page says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    store: StoreId,
    half_pages: u32,
}

impl Head {
    fn half_bytes(&self) -> usize {
        self.half_pages as usize * PAGE
    }

    fn file_bytes(&self) -> u64 {
        self.offset(2)
    }

    /// Returns where a half begins.
    fn offset(&self, half: u64) -> u64 {
        PAGE as u64 + half * self.half_bytes() as u64
    }

    fn page(&self) -> Vec<u8> {
        let mut page = [&MAGIC[..], &VERSION.to_le_bytes(), &self.half_pages.to_le_bytes(), &self.store].concat();
        let sum = XxHash3_128::oneshot(&page).to_le_bytes();
        page.extend_from_slice(&sum);
        page.resize(PAGE, 0);
        page
    }

    fn read(page: &[u8]) -> Option<Self> {
        let head = page.get(16 + 4..HEAD_BYTES)?;
        let (half_pages, store) = head.split_first_chunk()?;
        let head = Self { store: store.try_into().ok()?, half_pages: u32::from_le_bytes(*half_pages) };
        (head.page() == page).then_some(head)
    }
}

/// Where the next record goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    /// 0 or 1.
    half: u64,
    /// Offset in the half, bytes.
    at: usize,
    /// Sequence of the record.
    next: u64,
}

/// A record that was found, by its place in a half.
struct Found {
    half: u64,
    at: usize,
    end: usize,
    sequence: u64,
    /// What it changes, if that is after the checkpoint and known to this release.
    changes: Option<CommitChanges>,
}

impl Found {
    fn of(half: u64, at: usize, record: &LogRecord<'_>, checkpoint: u64) -> Self {
        let sequence = record.sequence;
        let changes = if sequence > checkpoint { record.changes() } else { None };
        Self { half, at, end: at + record.bytes.next_multiple_of(PAGE), sequence, changes }
    }
}

/// Commits that a log has and its table may lack.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Replay {
    /// Number of commits.
    pub commits: usize,
    /// What they change, taken together.
    pub changes: CommitChanges,
}

/// An open log.
pub(super) struct RedoLog {
    file: LogFile,
    head: Head,
    appender: Appender,
    tail: Tail,
    /// Whether the next record's place may hold one that the table lacks: then only [`Self::open`] helps.
    in_doubt: bool,
}

impl RedoLog {
    /// Makes a log without records after a checkpoint, over whatever the file holds.
    pub fn make(file: LogFile, store: StoreId, half_bytes: usize, checkpoint: u64) -> Result<Self, StoreError> {
        let head = Head { store, half_pages: u32::try_from(half_bytes / PAGE).unwrap_or(u32::MAX) };
        let fill = || {
            file.storage.set_len(0)?;
            file.storage.set_len(head.file_bytes())?;
            // A page at a time: what is written at once, some systems write back at once, however little changes.
            for at in (PAGE as u64..head.file_bytes()).step_by(PAGE) {
                file.storage.write(at, &[0; PAGE])?;
            }
            file.storage.write(0, &head.page())?;
            file.storage.sync_data()
        };
        fill().map_err(file.failed())?;
        Self::over(file, head, Tail { half: 0, at: 0, next: checkpoint + 1 })
    }

    fn over(file: LogFile, head: Head, tail: Tail) -> Result<Self, StoreError> {
        let appender = Appender::start(Arc::clone(&file.storage)).map_err(file.failed())?;
        Ok(Self { file, head, appender, tail, in_doubt: false })
    }

    /// Opens the log of a store, with the commits after a checkpoint.
    pub fn open(file: LogFile, store: StoreId, checkpoint: u64) -> Result<(Self, Replay), StoreError> {
        let unfit = |why: &dyn fmt::Display| LogFile::unfit(&file.name, why);
        let Some(head) = file.head()? else {
            return Err(unfit(&"is damaged: its first page is not that of a log. Restore a backup"));
        };
        if head.store != store {
            return Err(unfit(&"belongs to another store: put this store's log there, or restore a backup"));
        }
        let (mut all, mut claimed) = (Vec::new(), 0);
        for half in 0..2 {
            let visit = &mut |at, record: LogRecord<'_>| all.push(Found::of(half, at, &record, checkpoint));
            claimed = file.each(&head, half, visit)?.max(claimed);
        }
        all.sort_unstable_by_key(|found| found.sequence);
        let newest = all.last().map(|found| (found.half, found.at, found.end));
        let mut tail = Tail { half: newest.map_or(0, |(half, ..)| 1 - half), at: 0, next: checkpoint + 1 };
        let (mut rows, mut replay) = (Layer::default(), Replay::default());
        for found in all.into_iter().filter(|found| found.sequence > checkpoint) {
            if found.sequence != tail.next {
                let what = match (tail.next, found.sequence - 1) {
                    (next, last) if last < next => format!("commit {} stands there twice", found.sequence),
                    (first, last) if first == last => format!("commit {first} cannot be read, and later ones can"),
                    (first, last) => format!("commits {first} to {last} cannot be read, and later ones can"),
                };
                return Err(unfit(&format!("is damaged: {what}. Restore a backup")));
            }
            let changes = found.changes.ok_or_else(|| unfit(&"was written by a later release: start that one"))?;
            rows.apply(changes.rows);
            replay.changes.seals.extend(changes.seals);
            replay.commits += 1;
            tail = Tail { half: found.half, at: found.end, next: found.sequence + 1 };
        }
        // A power cut tears the last one at most: each is begun after the sync of the one before.
        if claimed > tail.next {
            let what = format!("commits {} to {claimed} cannot be read", tail.next);
            return Err(unfit(&format!("is damaged: {what}. Restore a backup")));
        }
        replay.changes.rows = rows.into_changes().collect();
        if let (1.., Some((half, at, end))) = (replay.commits, newest) {
            // A sync of the last one may have failed, and what was read stand in the system's memory alone.
            let place = head.offset(half) + at as u64;
            let bytes = file.read(place, end - at)?;
            file.storage.write(place, &bytes).and_then(|()| file.storage.sync_data()).map_err(file.failed())?;
        }
        Ok((Self::over(file, head, tail)?, replay))
    }

    /// Returns the sequence of the next commit.
    pub fn next(&self) -> u64 {
        self.tail.next
    }

    /// Returns whether there are records after the last checkpoint.
    pub fn has_records(&self) -> bool {
        self.tail.at > 0
    }

    /// Returns an error if it is not known what the table would have after a restart.
    pub fn refuse_doubt(&self) -> Result<(), StoreError> {
        let why = "a write to it failed: look after the disk, and start the service anew";
        if self.in_doubt { Err(StoreError::of(&format!("the log {}", self.file.name), &why)) } else { Ok(()) }
    }

    /// Goes on in the other half, after a checkpoint that has all commits so far.
    pub fn checkpointed(&mut self, sequence: u64) {
        self.tail = Tail { half: 1 - self.tail.half, at: 0, next: sequence + 1 };
    }

    /// Begins to write the record of the next commit; `None`: it has no room, and is to be a checkpoint.
    pub fn append(&mut self, changes: &CommitChanges) -> Result<Option<Appending<'_>>, StoreError> {
        self.refuse_doubt()?;
        if record::record_len(changes) > self.head.half_bytes() - self.tail.at {
            return Ok(None);
        }
        let bytes = record::encode(&self.head.store, self.tail.next, changes, PAGE);
        let pages = bytes.len();
        self.in_doubt = true;
        self.appender.begin(self.place(), bytes).map_err(self.file.failed())?;
        Ok(Some(Appending { log: self, pages, stage: Stage::Writing }))
    }

    /// Returns where the next record begins in the file.
    fn place(&self) -> u64 {
        self.head.offset(self.tail.half) + self.tail.at as u64
    }

    /// Removes what stands at the place of the next record.
    fn withdraw(&mut self) -> io::Result<()> {
        self.file.storage.write(self.place(), &[0; PAGE])?;
        self.file.storage.sync_data()?;
        self.in_doubt = false;
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Writing,
    Synced,
    Over,
}

/// A record that is being written, while its rows are put into the table. If it is dropped it is withdrawn.
pub(super) struct Appending<'l> {
    log: &'l mut RedoLog,
    pages: usize,
    stage: Stage,
}

impl Appending<'_> {
    fn wait(&mut self) -> Result<(), StoreError> {
        self.stage = Stage::Over;
        self.log.appender.wait().map_err(self.log.file.failed())?;
        self.stage = Stage::Synced;
        Ok(())
    }

    /// Waits until the record is on the disk, and only then lets the commit be seen. If that fails, the commit may be
    /// there all the same.
    pub fn then(mut self, commit: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
        self.wait()?;
        self.stage = Stage::Over;
        commit()?;
        let tail = &mut self.log.tail;
        (tail.at, tail.next) = (tail.at + self.pages, tail.next + 1);
        self.log.in_doubt = false;
        Ok(())
    }
}

impl Drop for Appending<'_> {
    fn drop(&mut self) {
        if self.stage == Stage::Writing {
            // If its sync failed, it is not known what stands there.
            let _ = self.wait();
        }
        if self.stage == Stage::Synced
            && let Err(error) = self.log.withdraw()
        {
            tracing::error!(%error, "a commit that failed may be there all the same after the next start");
        }
    }
}

#[cfg(test)]
mod tests;
