//! A store's files damaged at random places: `verify` reports it, or every row is still right; a service refuses to
//! start on it, or every row is right; and nothing ends without a message.
//!
//! A damaged record at the end of the log is told from one that a power cut tore by nothing, and is dropped: then every
//! row is as before that commit. So are several, if the head of none but the first can be read.

use std::ops::Range;
use std::path::Path;
use std::process::Output;

use switchboard::store::{Store, StoreFile};
use switchboard_sim::random::Random;
use switchboard_tests::server::{Folder, run};

use crate::disk::{Image, SECTOR_BYTES};
use crate::history::{Life, Rows, digest};
use crate::report::Row;

/// Commits in the damaged store.
const COMMITS: usize = 48;
/// Size of a page of the store, bytes.
const PAGE_BYTES: usize = 4_096;
/// Size of the header, which locates everything else, bytes.
const HEADER_BYTES: usize = 320;
/// The byte that selects the last of two commits: no checksum covers it. After a power cut, a flipped bit in it
/// restores the previous commit, intact; this is the only damage that goes unnoticed, so it is left out.
const SLOT_BYTE: usize = 9;
/// Where the log has the id of its store, and where a record has it and its sequence.
const LOG_STORE: Range<usize> = 24..40;
const RECORD_STORE: Range<usize> = 16..32;
const RECORD_SEQUENCE: Range<usize> = 32..40;
/// Names of the store's files in its folder.
const FILE: &str = "switchboard.redb";
const LOG: &str = "switchboard.wal";

/// An undamaged store, of which each test damages a copy.
struct Sound {
    image: Image,
    /// Rows after each commit, the last one first.
    rows: Vec<Rows>,
    /// Places of the records in the log that the tables lack, the last one first.
    records: Vec<usize>,
}

/// Damages a store `wanted` times.
pub fn damage(wanted: u64, seed: u64) -> Row {
    let mut row =
        Row::begin("a damaged store of at most 256 MB is named at the start, or every row is still right", wanted);
    let stores = [sound(seed, true), sound(seed, false)];
    let (mut named, mut refused) = (0_u64, 0_u64);
    for number in 0..wanted {
        let mut random = Random::new(seed.wrapping_add(number));
        let from = &stores[usize::from(random.chance(500))];
        let mut image = from.image.clone();
        let in_log = random.chance(250);
        let (file, bytes) = if in_log { (LOG, &mut image.log) } else { (FILE, &mut image.tables) };
        let what = hurt(bytes, &mut random);
        let told = |why| format!("seed {}, {file}, {what}: {why}", seed.wrapping_add(number));
        let dropped = if in_log { from.dropped(&image) } else { 0 };
        let rows = &from.rows[..=dropped];
        match (verified(&image, rows), served(&image, rows)) {
            (Ok(was_named), Ok(was_refused)) => {
                named += u64::from(was_named);
                refused += u64::from(was_refused);
                row.count(Ok(()));
            }
            (Err(why), _) => row.count(Err(told(format!("verify: {why}")))),
            (_, Err(why)) => row.count(Err(told(format!("serve: {why}")))),
        }
    }
    row.notes.push(format!(
        "verify named {named}, a start refused {refused} of {wanted}; in the others every row was right"
    ));
    row.end()
}

/// Creates a store that was closed, or one whose power was cut, with commits in its log.
fn sound(seed: u64, closed: bool) -> Sound {
    let mut life = Life::begin(seed).expect("a store on a sound disk");
    let mut logged = 0_usize;
    // Not right after a checkpoint: the log is to be needed.
    while life.commits.len() < COMMITS || (!closed && logged < 3) {
        let (ops, commits) = (life.disk.ops(), life.commits.len());
        life.commit().expect("a commit on a sound disk");
        let is_logged = life.disk.log()[ops..].iter().all(|op| op.file == StoreFile::Log);
        logged = if life.commits.len() > commits && is_logged { logged + 1 } else { logged * usize::from(is_logged) };
    }
    let (rows, disk) = (life.commits.iter().rev().map(|commit| commit.rows).collect(), life.disk.clone());
    let cut = disk.image();
    drop(life);
    let image = if closed { disk.image() } else { cut };
    // At least so many are in the log alone, and all but the first have one before them there.
    let records = if closed { Vec::new() } else { records(&image.log, logged) };
    Sound { image, rows, records }
}

/// Returns the places of the last records of a log, the last one first.
fn records(log: &[u8], count: usize) -> Vec<usize> {
    let pages = (PAGE_BYTES..log.len()).step_by(PAGE_BYTES);
    let ours = pages.filter(|page| log[page + RECORD_STORE.start..page + RECORD_STORE.end] == log[LOG_STORE]);
    let mut records: Vec<usize> = ours.collect();
    let sequence = |page: &usize| log[page + RECORD_SEQUENCE.start..page + RECORD_SEQUENCE.end].to_vec();
    records.sort_by_key(|page| std::cmp::Reverse(sequence(page).into_iter().rev().collect::<Vec<_>>()));
    records.truncate(count);
    records
}

impl Sound {
    /// Returns how many commits at most may be missing where the log is damaged: the last one, and before it each whose
    /// successor has no head any more.
    fn dropped(&self, damaged: &Image) -> usize {
        let head = |log: &[u8], page: &usize| {
            log.get(page + RECORD_STORE.start..page + RECORD_SEQUENCE.end).map(<[u8]>::to_vec)
        };
        let is_lost = |page: &&usize| head(&damaged.log, page) != head(&self.image.log, page);
        let lost = self.records.iter().take_while(is_lost).count();
        (lost + 1).min(self.records.len())
    }
}

/// Damages an image; returns a description.
fn hurt(image: &mut Vec<u8>, random: &mut Random) -> String {
    let place = |random: &mut Random, length: usize| usize::try_from(random.below(length as u64)).unwrap_or(0);
    // A third of the damage hits the first pages, where every store has data.
    let reach = if random.chance(333) { image.len().min(16 * PAGE_BYTES) } else { image.len() };
    match random.below(7) {
        0 => {
            let at = place(random, reach);
            flip(image, at, random)
        }
        1 => {
            let at = place(random, reach) / SECTOR_BYTES * SECTOR_BYTES;
            image[at..at + SECTOR_BYTES].fill(0);
            format!("the sector at {at} zeroed")
        }
        2 => {
            let at = place(random, reach) / SECTOR_BYTES * SECTOR_BYTES;
            image[at..at + SECTOR_BYTES].iter_mut().for_each(|byte| *byte = random.bits().to_le_bytes()[0]);
            format!("the sector at {at} filled with chance")
        }
        3 => {
            let (at, to) = (place(random, reach) / PAGE_BYTES, place(random, reach) / PAGE_BYTES);
            let page = image[at * PAGE_BYTES..(at + 1) * PAGE_BYTES].to_vec();
            image[to * PAGE_BYTES..(to + 1) * PAGE_BYTES].copy_from_slice(&page);
            format!("page {at} written over page {to}")
        }
        4 => {
            let length = place(random, image.len());
            image.truncate(length);
            format!("cut off at {length}")
        }
        5 => {
            let at = place(random, HEADER_BYTES);
            flip(image, at, random)
        }
        _ => {
            for _ in 0..64 {
                let at = place(random, reach);
                image[at] = random.bits().to_le_bytes()[0];
            }
            "64 bytes changed".into()
        }
    }
}

fn flip(image: &mut [u8], at: usize, random: &mut Random) -> String {
    let at = if at == SLOT_BYTE { at + 1 } else { at };
    image[at] ^= 1 << random.below(8);
    format!("a bit of byte {at} flipped")
}

/// Returns whether `switchboard verify` reports the damage; if it does not, every row must be right.
fn verified(image: &Image, rows: &[Rows]) -> Result<bool, String> {
    let folder = Folder::new();
    let data = put(&folder, image)?;
    let Output { status, stdout, stderr } = run(&["verify", data.to_str().ok_or("a path")?]);
    let (said, warned) = (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned());
    match status.code() {
        Some(0) => right(&data, rows).map(|()| false),
        Some(1) if said.contains("fault: ") || warned.contains("switchboard: ") => Ok(true),
        code => Err(format!("it ends with {code:?}, says {said:?} and warns {warned:?}")),
    }
}

/// Returns whether a service refuses to start; if it does not, every row must be right.
fn served(image: &Image, rows: &[Rows]) -> Result<bool, String> {
    let folder = Folder::new();
    let data = put(&folder, image)?;
    match Store::open(&data) {
        Err(error) if error.to_string().len() > "the store".len() => Ok(true),
        Err(error) => Err(format!("it says only {error}")),
        Ok(store) => judge(&store, rows).map(|()| false),
    }
}

fn put(folder: &Folder, image: &Image) -> Result<std::path::PathBuf, String> {
    let data = folder.path("data");
    std::fs::create_dir_all(&data)
        .and_then(|()| std::fs::write(data.join(FILE), &image.tables))
        .and_then(|()| std::fs::write(data.join(LOG), &image.log))
        .map_err(|error| error.to_string())?;
    Ok(data)
}

fn right(data: &Path, rows: &[Rows]) -> Result<(), String> {
    judge(&Store::open(data).map_err(|error| error.to_string())?, rows)
}

/// Expects rows as one of these checksums says.
fn judge(store: &Store, rows: &[Rows]) -> Result<(), String> {
    let snapshot = store.snapshot().map_err(|error| error.to_string())?;
    let found = digest(&snapshot).ok_or("its rows cannot be read")?;
    if rows.contains(&found) { Ok(()) } else { Err("a row is wrong, and nobody says so".into()) }
}
