//! Power cuts while a new store is created: whatever is left, the next start creates an empty store.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use switchboard::store::{IntegrityCheck, Store};
use switchboard_sim::random::Random;
use switchboard_tests::server::{Folder, Server, binary};

use crate::disk::{Cut, Disk, Image};
use crate::history::{log_half_bytes, rows_of};
use crate::report::Row;

/// Images tried after each operation.
const IMAGES: u64 = 3;
/// Servers killed during their first start.
const KILLS: u64 = 20;
/// Latest time of such a kill after the start, microseconds.
const START_US_MAX: u64 = 150_000;
/// Name under which a store is created, and the name it is then given.
const ASIDE: &str = "switchboard.redb.new";
const FILE: &str = "switchboard.redb";

/// Cuts the power after every operation of a store's creation.
pub fn creation(seed: u64) -> Row {
    let mut row = Row::begin("a cut while a store is made leaves no half-made store", 1);
    let (disk, made) = made();
    let log = disk.log();
    let mut random = Random::new(seed);
    let mut cut = Cut::before(&log, Image::default());
    loop {
        for _ in 0..IMAGES {
            // A store has no log before its first commit.
            let Image { tables: image, .. } = cut.image(&mut random);
            let at = cut.at();
            let told = |why| format!("seed {seed}, after operation {at} of {}: {why}", log.len());
            row.count(left(&image, ASIDE).map_err(told));
            if at >= made {
                // The file is renamed after its first commit; writes of closing it may be lost.
                row.count(left(&image, FILE).map_err(told));
            }
        }
        if !cut.step() {
            break;
        }
    }
    let mut untold = 0;
    for number in 0..KILLS {
        let outcome = killed(&mut random).map_err(|why| format!("seed {seed}, first start {number}: {why}"));
        untold += u64::from(outcome == Ok(Secrets::Untold));
        row.count(outcome.map(drop));
    }
    row.notes
        .push(format!("of {KILLS} first starts that were killed, {untold} left an owner whose secrets nobody saw"));
    row.notes.push(format!("{} operations, {made} until the first commit is acknowledged", log.len()));
    row.end()
}

/// Kills the real server while it creates its store, and checks the next start.
fn killed(random: &mut Random) -> Result<Secrets, String> {
    let folder = Folder::new();
    let data = folder.path("data");
    let first = Server::spawn(Command::new(binary()), &data, &[]);
    std::thread::sleep(Duration::from_micros(random.below(START_US_MAX)));
    first.kill();
    let told = data.with_extension("ready.json").is_file();
    let next = Server::spawn(Command::new(binary()), &data, &[]).outcome();
    let next = next.map_err(|code| format!("the next start ends with {code:?}"))?;
    let told = told || next.ready["api_key"].is_string();
    next.kill();
    Ok(if told { Secrets::Told } else { Secrets::Untold })
}

/// Whether the owner's credentials of a new store were shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrets {
    Told,
    Untold,
}

/// Returns the operations that create a store, and how many there are when it is complete.
fn made() -> (Disk, usize) {
    let disk = Disk::of(Image::default());
    let store = disk.open(log_half_bytes(0), IntegrityCheck::Quick).expect("a store on a sound disk");
    let made = disk.ops();
    drop(store);
    (disk, made)
}

/// Opens the store of a folder in which a power cut left this file.
fn left(image: &[u8], name: &str) -> Result<(), String> {
    let folder = Folder::new();
    let data = folder.path("data");
    std::fs::create_dir_all(&data).and_then(|()| std::fs::write(data.join(name), image)).map_err(|e| e.to_string())?;
    empty(&data)?;
    // Opened once more, as at the following start.
    empty(&data)
}

fn empty(data: &Path) -> Result<(), String> {
    let store = Store::open(data).map_err(|error| format!("it does not open: {error}"))?;
    let snapshot = store.whole().map_err(|error| error.to_string())?;
    let rows = rows_of(&snapshot.view(None)).ok_or("it cannot be read")?;
    if rows.is_empty() { Ok(()) } else { Err("a new store holds rows".into()) }
}
