//! A disk that is full, or broken, from any operation on: nothing acknowledged is lost, nothing unacknowledged is
//! reported as done, and once there is room the service continues.

use switchboard::store::{IntegrityCheck, StoreError, StoreFile};
use switchboard_core::verify::verify;
use switchboard_sim::random::Random;

use crate::disk::{Disk, Trouble};
use crate::history::{Life, log_half_bytes};
use crate::report::Row;

/// Most commits before the failure begins.
const BEFORE_MAX: u64 = 12;
/// Most disk operations that still succeed: about those of two commits.
const LEFT_MAX: u64 = 60;
/// Commits tried while there is no room.
const TRIES: u64 = 4;

/// Files that fail: both, or one while the other one does not.
const FILES: [Option<StoreFile>; 3] = [None, Some(StoreFile::Tables), Some(StoreFile::Log)];

/// Fills the disk at a random operation, as many times as wanted.
pub fn full(wanted: u64, seed: u64) -> Row {
    let mut row = Row::begin("a full disk loses nothing, is told, and once there is room writing goes on", wanted);
    for seed in seed..seed.saturating_add(wanted) {
        row.count(fill(seed).map_err(|why| format!("seed {seed}: {why}")));
    }
    row.end()
}

/// Breaks the disk, or only its syncs, at a random operation, as many times as wanted.
pub fn broken(wanted: u64, seed: u64) -> Row {
    let mut row = Row::begin("a broken disk loses nothing that was acknowledged", wanted);
    for seed in seed..seed.saturating_add(wanted) {
        row.count(smash(seed).map_err(|why| format!("seed {seed}: {why}")));
    }
    row.end()
}

fn begin(seed: u64) -> Result<(Life, Random), String> {
    let mut random = Random::new(!seed);
    let mut life = Life::begin(seed).map_err(|error| error.to_string())?;
    for _ in 0..random.below(BEFORE_MAX) {
        life.commit().map_err(|error| error.to_string())?;
    }
    Ok((life, random))
}

fn fill(seed: u64) -> Result<(), String> {
    let (mut life, mut random) = begin(seed)?;
    life.disk.fail_at(Trouble::Full(random.below(LEFT_MAX)), random.one(&FILES));
    let mut refused = false;
    for _ in 0..TRIES {
        let Err(error) = life.commit() else { continue };
        if !matches!(error, StoreError::DiskFull(_)) {
            return Err(format!("a full disk is told as something else: {error}"));
        }
        // Reopens as the writer does; without room that may fail too, and is retried with the next write.
        refused = life.restart().is_err();
        if !refused {
            settled(&mut life, "while the disk is full")?;
        }
    }
    life.disk.fail(Trouble::None);
    if refused {
        life.restart().map_err(|error| format!("it does not open once there is room: {error}"))?;
    }
    settled(&mut life, "once there is room")?;
    life.commit().map_err(|error| format!("no commit once there is room: {error}"))?;
    settled(&mut life, "after another commit")?;
    sound(&mut life)
}

fn settled(life: &mut Life, when: &str) -> Result<(), String> {
    life.settle().map_err(|why| format!("{when}: {why}"))
}

fn smash(seed: u64) -> Result<(), String> {
    let (mut life, mut random) = begin(seed)?;
    let left = random.below(LEFT_MAX);
    let sync = random.chance(500);
    life.disk.fail_at(if sync { Trouble::Unsynced(left) } else { Trouble::Broken(left) }, random.one(&FILES));
    while life.commit().is_ok() {}
    let acknowledged = life.commits.len();
    for _ in 0..TRIES {
        let _ = life.commit();
    }
    if sync && life.restart().is_ok() {
        return Err("a store goes on after a sync that failed".into());
    }
    if life.commits.len() != acknowledged {
        return Err("a commit is acknowledged after one that failed".into());
    }
    life.disk.fail(Trouble::None);
    sound(&mut life)
}

/// Checks that the disk's content opens, and holds what was acknowledged; of the failed commit, all or nothing.
fn sound(life: &mut Life) -> Result<(), String> {
    let store = Disk::of(life.disk.image())
        .open(log_half_bytes(0), IntegrityCheck::Whole)
        .map_err(|error| format!("it does not open: {error}"))?;
    life.settle_on(&store).map_err(|why| format!("opened again: {why}"))?;
    let snapshot = store.whole().map_err(|error| error.to_string())?;
    let report = verify(&snapshot.view(None)).map_err(|stop| format!("{stop:?}"))?;
    report.faults.first().map_or(Ok(()), |fault| Err(format!("verify: {fault}")))
}
