use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use switchboard_core::store::Change;

use super::*;
use crate::store::backend::SealState;

/// What a disk writes at once, bytes.
const SECTOR: usize = 512;
const HALF: usize = 16 * PAGE;
const ID: StoreId = [1; 16];
const OTHER: StoreId = [2; 16];

/// A file in memory, whose syncs may fail.
#[derive(Clone, Debug, Default)]
struct Paper {
    bytes: Arc<Mutex<Vec<u8>>>,
    fails: Arc<AtomicBool>,
}

impl Paper {
    fn holding(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(Mutex::new(bytes)), fails: Arc::default() }
    }

    fn bytes(&self) -> Vec<u8> {
        self.bytes.lock().expect("no panic").clone()
    }

    fn file(&self) -> LogFile {
        LogFile { storage: Arc::new(self.clone()), name: "/data/the-log".into() }
    }

    fn open(&self, checkpoint: u64) -> Result<(RedoLog, Replay), StoreError> {
        RedoLog::open(self.file(), ID, checkpoint)
    }

    fn refused(&self, checkpoint: u64) -> String {
        let before = self.bytes();
        let why = self.open(checkpoint).map(|(_, replay)| replay).expect_err("it is refused").to_string();
        assert!(why.contains("/data/the-log"), "{why}");
        assert!(before == self.bytes(), "nothing is written over");
        why
    }
}

impl StorageBackend for Paper {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let at = usize::try_from(offset).expect("it is small");
        out.copy_from_slice(self.bytes().get(at..at + out.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().expect("no panic").resize(usize::try_from(len).expect("it is small"), 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.fails.load(Ordering::Relaxed) { Err(io::Error::other("the disk is gone")) } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let at = usize::try_from(offset).expect("it is small");
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)[at..at + data.len()].copy_from_slice(data);
        Ok(())
    }
}

/// Changes of so many bytes, told apart by a number; all of them change one row as well.
fn changes(number: u8, bytes: usize) -> CommitChanges {
    let rows = vec![Change::Put(vec![0], vec![number]), Change::Put(vec![1, number], vec![number; bytes])];
    CommitChanges { rows, seals: vec![([number; 4], SealState::Every)] }
}

fn append(log: &mut RedoLog, changes: &CommitChanges) -> bool {
    let Some(record) = log.append(changes).expect("a log without doubt") else { return false };
    record.then(|| Ok(())).expect("a sync");
    true
}

/// Makes a log with these many commits, each of some pages.
fn written(commits: u8) -> Paper {
    let paper = Paper::default();
    let mut log = RedoLog::make(paper.file(), ID, HALF, 0).expect("a log");
    (1..=commits).for_each(|number| assert!(append(&mut log, &changes(number, 5_000 + usize::from(number)))));
    paper
}

/// Returns what these commits come to.
fn merged(commits: impl IntoIterator<Item = u8>) -> Replay {
    let mut replay = Replay::default();
    let mut rows = Layer::default();
    for number in commits {
        let one = changes(number, 5_000 + usize::from(number));
        rows.apply(one.rows);
        replay.changes.seals.extend(one.seals);
        replay.commits += 1;
    }
    replay.changes.rows = rows.into_changes().collect();
    replay
}

fn replayed(paper: &Paper, checkpoint: u64) -> Replay {
    paper.open(checkpoint).expect("a sound log").1
}

#[test]
fn what_was_synced_is_replayed_from_the_checkpoint_on() {
    let paper = written(5);
    assert_eq!(replayed(&paper, 0), merged(1..=5));
    assert_eq!(replayed(&paper, 3), merged(4..=5));
    assert_eq!(replayed(&paper, 5), Replay::default());
    // Again, and with more behind it.
    let (mut log, _) = paper.open(3).expect("a sound log");
    assert!(append(&mut log, &changes(6, 5_006)));
    assert_eq!([replayed(&paper, 3), replayed(&paper, 3)], [merged(4..=6), merged(4..=6)]);
}

#[test]
fn a_torn_last_record_is_dropped_at_each_sector() {
    let (whole, before) = (written(4).bytes(), written(3).bytes());
    let begin = before.iter().rposition(|byte| *byte != 0).expect("there are records").next_multiple_of(PAGE);
    let end = whole.iter().rposition(|byte| *byte != 0).expect("there are records") + 1;
    assert!(end - begin > PAGE, "it has several pages");
    let sectors = (begin..end).step_by(SECTOR);
    for at in sectors.clone() {
        let until = (at + SECTOR).min(end);
        let mut lost = whole.clone();
        lost[at..until].fill(0);
        let cut = [&whole[..at], &before[at..]].concat();
        let begun_late = [&before[..until], &whole[until..]].concat();
        for image in [lost, cut, begun_late] {
            let paper = Paper::holding(image);
            let (mut log, replay) = paper.open(0).expect("a torn record is no damage");
            assert_eq!(replay, merged(1..=3), "torn at {at}");
            // Its place is taken by the next one.
            assert!(append(&mut log, &changes(4, 100)));
            assert_eq!(replayed(&paper, 3).changes, CommitChanges { ..changes(4, 100) });
        }
    }
    assert!(sectors.count() > 8);
}

#[test]
fn damage_before_a_good_record_is_named() {
    let whole = written(4).bytes();
    let second = PAGE + 2 * PAGE;
    for at in (second..second + 5_000).step_by(SECTOR) {
        let mut image = whole.clone();
        image[at] ^= 1;
        let paper = Paper::holding(image);
        let why = paper.refused(0);
        assert!(
            why.contains("commit 2 cannot be read, and later ones can") && why.contains("Restore a backup"),
            "{why}"
        );
        assert_eq!(replayed(&paper, 2), merged(3..=4), "a checkpoint has it");
    }
    let mut image = whole.clone();
    image[PAGE..PAGE + 4 * PAGE].fill(0);
    assert!(Paper::holding(image).refused(0).contains("commits 1 to 2 cannot be read"));
    let mut image = whole.clone();
    image.copy_within(PAGE..3 * PAGE, PAGE + HALF);
    assert!(Paper::holding(image).refused(0).contains("commit 1 stands there twice"));
    // What a checkpoint alone has is missing from a table that is older than its log.
    let paper = written(2);
    let (mut log, _) = paper.open(0).expect("a sound log");
    log.checkpointed(3);
    assert!(append(&mut log, &changes(4, 5_004)));
    assert!(paper.refused(0).contains("commit 3 cannot be read"));
    assert_eq!(replayed(&paper, 3), merged([4]));
}

#[test]
fn damage_to_more_than_the_last_record_is_named() {
    let whole = written(4).bytes();
    let (third, fourth) = (PAGE + 4 * PAGE, PAGE + 6 * PAGE);
    let mut image = whole.clone();
    image[third + 2_000] ^= 1;
    image[fourth + 2_000] ^= 1;
    assert!(Paper::holding(image).refused(0).contains("commits 3 to 4 cannot be read. Restore a backup"));
    // Without any head of it the last one might as well not be there.
    let mut image = whole;
    image[third + 2_000] ^= 1;
    image[fourth..fourth + SECTOR].fill(0);
    assert_eq!(replayed(&Paper::holding(image), 0), merged(1..=2));
}

#[test]
fn a_log_that_is_none_or_anothers_is_named() {
    let whole = written(2).bytes();
    for at in [0, 17, 21, 30, 50, PAGE - 1] {
        let mut image = whole.clone();
        image[at] ^= 1;
        assert!(Paper::holding(image).refused(0).contains("its first page is not that of a log"), "{at}");
    }
    for length in [0, 1, PAGE, whole.len() - PAGE, whole.len() - 1] {
        assert!(Paper::holding(whole[..length].to_vec()).refused(0).contains("is damaged"), "{length}");
    }
    let paper = Paper::holding(whole);
    let why = RedoLog::open(paper.file(), OTHER, 0).map(drop).expect_err("it is another's").to_string();
    assert!(why.contains("/data/the-log belongs to another store"), "{why}");
}

#[test]
fn a_needed_log_is_not_written_over() {
    let paper = written(2);
    let needed = |store, checkpoint| paper.file().refuse_needed(store, checkpoint).map_err(|error| error.to_string());
    assert_eq!(needed(Some(ID), 2), Ok(()));
    assert!(needed(Some(ID), 1).is_err_and(|why| why.contains("/data/the-log has commits that the store lacks")));
    for store in [None, Some(OTHER)] {
        assert!(needed(store, 9).is_err_and(|why| why.contains("/data/the-log belongs to another store")));
    }
    let empty = Paper::default();
    RedoLog::make(empty.file(), ID, HALF, 0).map(drop).expect("a log");
    for paper in [Paper::default(), empty, Paper::holding(vec![7; 100])] {
        assert!(paper.file().refuse_needed(None, 0).is_ok(), "nothing in it is needed");
    }
}

#[test]
fn halves_take_turns_and_keep_what_the_last_checkpoint_lacks() {
    let paper = written(0);
    let (mut log, _) = paper.open(0).expect("a sound log");
    let (mut checkpoint, mut since) = (0, Vec::new());
    for number in 1..=60_u8 {
        let one = changes(number, 5_000 + usize::from(number));
        if append(&mut log, &one) {
            since.push(number);
            assert!(log.has_records());
        } else {
            assert_eq!(since.len(), HALF / (2 * PAGE), "a half was used up");
            checkpoint = u64::from(number);
            log.checkpointed(checkpoint);
            since.clear();
            assert!(!log.has_records());
        }
        assert_eq!(log.next(), u64::from(number) + 1);
        assert_eq!(replayed(&paper, checkpoint), merged(since.iter().copied()), "after {number}");
        // A process that starts anew goes on in the same way.
        if number % 7 == 0 {
            log = paper.open(checkpoint).expect("a sound log").0;
        }
    }
    assert!(checkpoint > 50);
    assert!(!append(&mut log, &changes(61, HALF)), "what fits no half is a checkpoint");
}

#[test]
fn a_commit_that_failed_beside_its_record_is_withdrawn() {
    let paper = written(2);
    let (mut log, _) = paper.open(0).expect("a sound log");
    drop(log.append(&changes(3, 9_000)).expect("a log without doubt").expect("room"));
    assert_eq!(replayed(&paper, 0), merged(1..=2));
    assert!(append(&mut log, &changes(3, 5_003)));
    assert_eq!(replayed(&paper, 0), merged(1..=3));
}

#[test]
fn after_a_failure_nothing_is_written_before_it_is_opened_again() {
    let paper = written(2);
    let (mut log, _) = paper.open(0).expect("a sound log");
    // The record is durable: it counts at the next start, though its commit failed.
    let record = log.append(&changes(3, 5_003)).expect("a log without doubt").expect("room");
    assert!(record.then(|| Err(StoreError::Outdated)).is_err());
    assert!(log.append(&changes(4, 1)).is_err() && log.refuse_doubt().is_err());
    assert_eq!(replayed(&paper, 0), merged(1..=3));

    let (mut log, _) = paper.open(0).expect("a sound log");
    paper.fails.store(true, Ordering::Relaxed);
    let mut is_seen = false;
    let record = log.append(&changes(4, 5_004)).expect("a log without doubt").expect("room");
    let told = record.then(|| {
        is_seen = true;
        Ok(())
    });
    let told = told.expect_err("its sync failed").to_string();
    assert!(told.contains("/data/the-log") && told.contains("the disk is gone") && !is_seen, "{told}");
    assert!(paper.open(0).is_err(), "what was read may be in the system's memory alone");
    paper.fails.store(false, Ordering::Relaxed);
    assert!(log.append(&changes(4, 1)).is_err(), "a later sync that is well says nothing");
}
