use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::store::Store;

const FILES: [&str; 2] = ["switchboard.redb", "switchboard.wal"];

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("switchboard-log-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        Self(folder)
    }

    fn open(&self) -> Result<Store, String> {
        Store::open(&self.0).map_err(|error| error.to_string())
    }

    /// Copies the files of a store, as a crash at this moment leaves them.
    fn crashed(&self, name: &str) -> Self {
        let copy = Self::new(name);
        std::fs::create_dir(&copy.0).expect("room");
        for file in FILES.iter().filter(|file| self.0.join(file).exists()) {
            std::fs::copy(self.0.join(file), copy.0.join(file)).expect("room");
        }
        copy
    }

    fn lose_log(&self) {
        std::fs::remove_file(self.0.join(FILES[1])).expect("there is a log");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn put(store: &Store, number: u8) {
    store.commit(&[Change::Put(vec![1], vec![number]), Change::Put(vec![1, number], vec![number])]).expect("a commit");
}

/// Returns the last number that was put, and how many there were.
fn numbers(store: &Store) -> (u8, usize) {
    let rows = store.whole().expect("a snapshot").stored(vec![1]..vec![2], usize::MAX).expect("rows");
    (rows[0].1[0], rows.len() - 1)
}

#[test]
fn a_store_that_another_process_is_about_to_leave_is_waited_for() {
    let folder = Folder::new("locked");
    let store = folder.open().expect("a store");
    put(&store, 1);
    let leaving = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        drop(store);
    });
    let store = folder.open().expect("it is left");
    assert_eq!(numbers(&store), (1, 1));
    leaving.join().expect("it left");
    let refused = folder.open().err().expect("one at a time");
    assert!(refused.contains("another switchboard runs on"), "{refused}");
}

#[test]
fn a_crash_loses_nothing_and_needs_the_log() {
    let folder = Folder::new("crash");
    let store = folder.open().expect("a store");
    assert!(!folder.0.join(FILES[1]).exists(), "a store that was not written has no log");
    put(&store, 1);
    let log = std::fs::metadata(folder.0.join(FILES[1])).expect("there is a log");
    assert_eq!(log.permissions().mode() & 0o777, 0o600);
    put(&store, 2);
    let before = std::fs::read(folder.0.join(FILES[0])).expect("the tables");
    put(&store, 3);
    assert!(std::fs::read(folder.0.join(FILES[0])).expect("the tables") == before, "the log alone is written");
    // A failed commit of a crashed process is no more than what it had not begun: twice is as once.
    let copy = folder.crashed("crash-copy");
    for number in [3, 4] {
        let store = copy.open().expect("it opens");
        assert_eq!(numbers(&store), (number, usize::from(number)));
        put(&store, number + 1);
        store.reopen().expect("it opens again");
        assert_eq!(numbers(&store), (number + 1, usize::from(number) + 1));
    }
    let copy = folder.crashed("crash-lost");
    copy.lose_log();
    for result in [copy.open(), Store::existing(&copy.0).map_err(|error| error.to_string())] {
        let why = result.map(drop).expect_err("the log is needed");
        assert!(why.contains("crash-lost") && why.contains("switchboard.wal is missing"), "{why}");
    }
}

#[test]
fn rest_empties_the_log_and_a_stop_ends_its_use() {
    let folder = Folder::new("rest");
    let store = folder.open().expect("a store");
    (1..=3).for_each(|number| put(&store, number));
    let before = std::fs::read(folder.0.join(FILES[0])).expect("the tables");
    store.rest().expect("a checkpoint");
    let after = std::fs::read(folder.0.join(FILES[0])).expect("the tables");
    assert!(before != after, "a checkpoint writes the tables");
    store.rest().expect("nothing to do");
    assert!(after == std::fs::read(folder.0.join(FILES[0])).expect("the tables"), "nothing is written twice");
    put(&store, 4);
    drop(store);
    let copy = folder.crashed("rest-copy");
    copy.lose_log();
    let store = copy.open().expect("the tables have everything");
    assert_eq!(numbers(&store), (4, 4));
    put(&store, 5);
    assert!(copy.0.join(FILES[1]).exists(), "it has a log again");
    // The log of the other one is no longer its own: both have gone on.
    let store = folder.open().expect("a store");
    (5..=7).for_each(|number| put(&store, number));
    drop(store);
    let older = Folder::new("rest-older");
    std::fs::create_dir(&older.0).expect("room");
    std::fs::write(older.0.join(FILES[0]), before).expect("room");
    std::fs::copy(folder.0.join(FILES[1]), older.0.join(FILES[1])).expect("room");
    let why = older.open().map(drop).expect_err("it lacks commits that its log has");
    assert!(why.contains("cannot be read, and later ones can"), "{why}");
}

#[test]
fn a_store_without_a_log_does_not_take_anothers() {
    let [folder, other] = [Folder::new("own"), Folder::new("other")];
    drop(folder.open().expect("a store"));
    let store = other.open().expect("a store");
    (1..=2).for_each(|number| put(&store, number));
    let others = other.0.join(FILES[1]);
    std::fs::copy(&others, folder.0.join(FILES[1])).expect("room");
    let why = folder.open().map(drop).expect_err("it would be written over");
    assert!(why.contains("switchboard.wal belongs to another store: move it away"), "{why}");
    assert_eq!(std::fs::read(folder.0.join(FILES[1])).expect("it is there"), std::fs::read(others).expect("a log"));
    folder.lose_log();
    put(&folder.open().expect("it opens"), 1);
}

#[test]
fn what_fits_no_half_of_the_log_is_a_checkpoint() {
    let folder = Folder::new("large");
    let store = folder.open().expect("a store");
    put(&store, 1);
    for number in 0..3 {
        let large = (0..6).map(|part| Change::Put(vec![3, number, part], vec![number; 1 << 20])).collect::<Vec<_>>();
        store.commit(&large).expect("a commit");
        put(&store, 2 + number);
        let copy = folder.crashed(&format!("large-{number}"));
        let store = copy.open().expect("it opens");
        assert_eq!(numbers(&store), (2 + number, 2 + usize::from(number)));
        let rows = store.whole().expect("a snapshot").stored(vec![3]..vec![4], usize::MAX).expect("rows");
        assert_eq!(rows.len(), 6 * (usize::from(number) + 1));
    }
}
