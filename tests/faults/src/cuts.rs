//! Power cuts: after every operation of a disk, and again while the store recovers from one.
//!
//! Whatever is left on the disk, the store opens, holds every acknowledged commit, and holds each commit entirely or
//! not at all.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{available_parallelism, scope};

use switchboard::store::{IntegrityCheck, Store};
use switchboard_core::store::Change;
use switchboard_core::verify::verify;
use switchboard_sim::random::Random;

use crate::disk::{Cut, Disk, Image};
use crate::history::{History, Rows, digest, log_half_bytes};
use crate::report::Row;

/// Commits of each history.
const COMMITS: u64 = 32;
/// One image in this many is verified in every detail.
const SAMPLE: u64 = 40;
/// Cuts during the recovery of one image.
const RECUTS: u64 = 8;
/// Key written to a store after its recovery.
const MARK: &[u8] = b"\xff\xff\xff\xff\xffmark";

/// Cuts the power after every operation of as many histories as needed.
pub fn cuts(wanted: u64, seed: u64) -> Row {
    lives("no commit is lost or torn when the power is cut", wanted, seed, cut_everywhere)
}

/// Cuts the power again while the store recovers.
pub fn recuts(wanted: u64, seed: u64) -> Row {
    lives("nor when it is cut again during recovery", wanted, seed, cut_twice)
}

/// Tests histories on all cores until there were enough tests.
fn lives(claim: &'static str, wanted: u64, seed: u64, test: fn(u64, &mut Row)) -> Row {
    let mut total = Row::begin(claim, wanted);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let parts: Vec<Row> = scope(|scope| {
        let work = || {
            let mut row = Row::begin(claim, wanted);
            while done.load(Ordering::Relaxed) < wanted {
                let before = row.count;
                test(seed.wrapping_add(next.fetch_add(1, Ordering::Relaxed)), &mut row);
                done.fetch_add(row.count - before, Ordering::Relaxed);
            }
            row
        };
        let workers = available_parallelism().map_or(1, usize::from);
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a worker reports what it finds")).collect()
    });
    parts.into_iter().for_each(|part| total.merge(part));
    total.notes.push(format!("{} histories of {COMMITS} commits", next.into_inner()));
    total.end()
}

/// Opens an image; returns its disk and store.
fn open(image: Image, look: IntegrityCheck) -> Result<(Disk, Store), String> {
    let disk = Disk::of(image);
    let store = disk.open(log_half_bytes(0), look).map_err(|error| format!("it does not open: {error}"))?;
    Ok((disk, store))
}

fn look(random: &mut Random) -> IntegrityCheck {
    random.one(&[IntegrityCheck::Quick, IntegrityCheck::Whole])
}

/// Returns the rows of an opened image, or an error if they must not be there.
fn judge(history: &History, ops: usize, store: &Store) -> Result<Rows, String> {
    let snapshot = store.whole().map_err(|error| format!("it cannot be read: {error}"))?;
    let rows = digest(&snapshot).ok_or("it cannot be read")?;
    if history.allows(ops, rows) { Ok(rows) } else { Err("a commit is lost or torn".into()) }
}

fn cut_everywhere(seed: u64, row: &mut Row) {
    let history = History::of(seed, COMMITS);
    let mut random = Random::new(seed);
    let mut cut = Cut::before(&history.log, Image::default());
    while cut.step() {
        if cut.at() < created(&history) {
            continue;
        }
        let image = cut.image(&mut random);
        let detail = random.below(SAMPLE) == 0;
        let result = open(image, look(&mut random)).and_then(|(disk, store)| {
            let rows = judge(&history, cut.at(), &store)?;
            if detail { goes_on(&disk, store, rows) } else { Ok(()) }
        });
        row.count(result.map_err(|why| format!("seed {seed}, after operation {}: {why}", cut.at())));
    }
}

/// Returns how many operations create the empty store: earlier cuts are those of its creation.
fn created(history: &History) -> usize {
    history.commits.first().map_or(0, |commit| commit.acknowledged)
}

/// Checks that every row and index is sound, and that the store takes another commit and is sound after it.
fn goes_on(disk: &Disk, store: Store, rows: Rows) -> Result<(), String> {
    let report = {
        let snapshot = store.whole().map_err(|error| error.to_string())?;
        verify(&snapshot.view(None)).map_err(|stop| format!("{stop:?}"))?
    };
    if let Some(fault) = report.faults.first() {
        return Err(format!("verify: {fault}"));
    }
    store.commit(&[Change::Put(MARK.to_vec(), vec![1; 5_000])]).map_err(|error| error.to_string())?;
    store.commit(&[Change::Delete(MARK.to_vec())]).map_err(|error| error.to_string())?;
    drop(store);
    let (_, mut again) = open(disk.image(), IntegrityCheck::Quick)?;
    if !again.check().map_err(|error| error.to_string())? {
        return Err("its file needed repair after another commit".into());
    }
    let after = again.whole().ok().and_then(|snapshot| digest(&snapshot));
    if after == Some(rows) { Ok(()) } else { Err("another commit changed what was there".into()) }
}

fn cut_twice(seed: u64, row: &mut Row) {
    let history = History::of(seed, COMMITS);
    let mut random = Random::new(seed);
    let mut cut = Cut::before(&history.log, Image::default());
    while cut.step() {
        if cut.at() < created(&history) || random.below(4) != 0 {
            continue;
        }
        let image = cut.image(&mut random);
        let result = recover(&history, cut.at(), &image, &mut random, row);
        row.fail_if(result.map_err(|why| format!("seed {seed}, after operation {}: {why}", cut.at())));
    }
}

/// Opens an image, cuts the power during the recovery, and opens what is left.
fn recover(history: &History, ops: usize, image: &Image, random: &mut Random, row: &mut Row) -> Result<(), String> {
    let (disk, store) = open(image.clone(), look(random))?;
    judge(history, ops, &store)?;
    // The store is closed first: recovery ends with what closing writes.
    drop(store);
    let log = disk.log();
    for _ in 0..RECUTS {
        let at = usize::try_from(random.below(log.len() as u64 + 1)).unwrap_or(0);
        let mut cut = Cut::before(&log, image.clone());
        while cut.at() < at && cut.step() {}
        let second = open(cut.image(random), look(random));
        row.count(second.and_then(|(_, store)| judge(history, ops, &store).map(drop)).map_err(|why| {
            format!("cut again after operation {at} of {} of the recovery of operation {ops}: {why}", log.len())
        }));
    }
    Ok(())
}
