//! Power cuts while a store that knows no log gets one: whatever is left opens with every row and every seal key, and an
//! earlier release either has all that it wrote or says that it cannot read the store.

use std::collections::BTreeMap;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use switchboard::store::{IntegrityCheck, Store, StoreFile};
use switchboard_core::key;
use switchboard_core::store::Change;
use switchboard_sim::random::Random;

use crate::disk::{Cut, Disk, Image};
use crate::history::log_half_bytes;
use crate::report::Row;

/// Images tried after each operation.
const IMAGES: u64 = 3;
/// Rows of the store.
const ROWS: u32 = 300;
/// Commits after the upgrade: the first makes the log.
const COMMITS: u32 = 6;
/// Seal key that the store has noted, and whether everything is sealed with it.
const SEAL: ([u8; 4], bool) = (*b"seal", true);
/// Tables of releases that know no log.
const EARLIER_ROWS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("rows");
const EARLIER_SEALS: TableDefinition<[u8; 4], bool> = TableDefinition::new("seals");

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Cuts the power after every operation of an upgrade.
pub fn upgrade(seed: u64) -> Row {
    let mut row = Row::begin("a cut while an earlier release's store gets its log loses nothing", 1);
    let mut random = Random::new(seed);
    let (image, mut rows) = earlier(&mut random);
    let disk = Disk::of(image.clone());
    let store = disk.open(log_half_bytes(seed), IntegrityCheck::Whole).expect("a store on a sound disk");
    let mut commits = vec![(0, rows.clone())];
    for number in 0..COMMITS {
        let changes = [Change::Put(at(number), vec![1; 4_000]), Change::Delete(at(ROWS - 1 - number))];
        for change in &changes {
            match change {
                Change::Put(at, value) => rows.insert(at.clone(), value.clone()),
                Change::Delete(at) => rows.remove(at),
            };
        }
        store.commit(&changes).expect("a store on a sound disk");
        commits.push((disk.ops(), rows.clone()));
    }
    drop(store);
    let log = disk.log();
    let mut cut = Cut::before(&log, image);
    while cut.step() {
        for _ in 0..IMAGES {
            let at = cut.at();
            let acknowledged = commits.partition_point(|(ops, _)| *ops <= at);
            let allowed = commits[acknowledged - 1..commits.len().min(acknowledged + 1)].iter().map(|(_, rows)| rows);
            let result = judge(cut.image(&mut random), &allowed.collect::<Vec<_>>(), &commits[0].1);
            row.count(result.map_err(|why| format!("seed {seed}, after operation {at} of {}: {why}", log.len())));
        }
    }
    row.notes.push(format!("{} operations of {COMMITS} commits", log.len()));
    row.end()
}

fn at(number: u32) -> Vec<u8> {
    [&[0, 0, 0, 0, 1, 1][..], &number.to_be_bytes()].concat()
}

/// Returns a store as releases wrote it that knew no log, and its rows.
fn earlier(random: &mut Random) -> (Image, Rows) {
    let disk = Disk::of(Image::default());
    let database = Database::builder().create_with_backend(disk.file(StoreFile::Tables)).expect("a sound disk");
    let rows: Rows = (0..ROWS).map(|number| (at(number), random.bits().to_le_bytes().to_vec())).collect();
    let mut write = database.begin_write().expect("a write");
    write.set_quick_repair(true);
    {
        let mut table = write.open_table(EARLIER_ROWS).expect("a table");
        rows.iter().for_each(|(at, value)| drop(table.insert(&**at, &**value).expect("room")));
        write.open_table(EARLIER_SEALS).expect("a table").insert(SEAL.0, SEAL.1).expect("room");
    }
    write.commit().expect("room");
    drop(database);
    (disk.image(), rows)
}

fn judge(image: Image, allowed: &[&Rows], before: &Rows) -> Result<(), String> {
    let disk = Disk::of(image.clone());
    let store = disk.open(log_half_bytes(0), IntegrityCheck::Whole).map_err(|error| error.to_string())?;
    let rows = rows_of(&store)?;
    if !allowed.contains(&&rows) {
        return Err("a commit is lost or torn".into());
    }
    if store.noted_keys().map_err(|error| error.to_string())? != [SEAL] {
        return Err("a seal key is lost".into());
    }
    store.commit(&[Change::Put(at(ROWS), vec![2])]).map_err(|error| format!("it takes no commit: {error}"))?;
    drop(store);
    match read_by_earlier(image)? {
        Some(rows) if rows != *before => Err("an earlier release reads what it may not".into()),
        _ => Ok(()),
    }
}

fn rows_of(store: &Store) -> Result<Rows, String> {
    let rows = store.whole().and_then(|snapshot| snapshot.stored(key::everything(), usize::MAX));
    Ok(rows.map_err(|error| error.to_string())?.into_iter().collect())
}

/// Returns the rows as an earlier release reads them; `None` if it refuses to, and says why.
fn read_by_earlier(image: Image) -> Result<Option<Rows>, String> {
    let disk = Disk::of(image);
    let database = Database::builder().create_with_backend(disk.file(StoreFile::Tables));
    let database = database.map_err(|error| error.to_string())?;
    let read = database.begin_read().map_err(|error| error.to_string())?;
    // The first thing that it does with a store.
    if let Err(error) = read.open_table(EARLIER_SEALS) {
        let said = error.to_string();
        let is_clear = said.contains("the store has a log") && said.contains("start a later release");
        return if is_clear { Ok(None) } else { Err(format!("an earlier release says only {said}")) };
    }
    let table = read.open_table(EARLIER_ROWS).map_err(|error| error.to_string())?;
    let mut rows = Rows::new();
    for row in table.iter().map_err(|error| error.to_string())? {
        let (at, value) = row.map_err(|error| error.to_string())?;
        rows.insert(at.value().to_vec(), value.value().to_vec());
    }
    Ok(Some(rows))
}
