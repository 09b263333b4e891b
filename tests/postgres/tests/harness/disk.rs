//! A disk that is full.

use rustix::process::geteuid;
use switchboard_postgres::{Instance, SmallDisk};

use crate::repeat;
use crate::{session, with_table};

const DISK_BYTES: u64 = 64 << 20;
/// More rows than such a disk has room for.
const TRIES: u64 = 10_000;

#[test]
fn a_full_disk_refuses_and_goes_on_once_there_is_room() {
    fill(SmallDisk::new(DISK_BYTES).expect("a small disk"));
}

/// But for a kernel that gives everyone namespaces of users: where it does not, nothing can be said.
#[test]
fn a_small_disk_needs_no_root() {
    if geteuid().is_root() {
        let (mut command, _folder) = repeat::command("disk::as_another_user");
        repeat::as_nobody(&mut command);
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}");
        said.lines().filter(|line| line.contains("skipped: ")).for_each(|line| println!("{line}"));
    }
}

#[test]
#[ignore = "run by another test"]
fn as_another_user() {
    assert!(!geteuid().is_root());
    match SmallDisk::new(DISK_BYTES) {
        Ok(disk) => fill(disk),
        Err(why) => println!("skipped: {why}"),
    }
}

fn fill(disk: SmallDisk) {
    let options = Instance::options().set("min_wal_size", "2MB").set("max_wal_size", "8MB");
    let instance = options.on(disk).start().expect("a server");
    let (login, notes) = with_table(&instance);
    notes.run("ALTER TABLE note ADD text text DEFAULT repeat('x', 1800)").expect("long rows");
    notes.run("INSERT INTO note VALUES (0)").expect("there is room");
    instance.disk().expect("its disk").fill(1 << 20).expect("it fills up");
    let refused = (1..TRIES).find_map(|id| Some((id, notes.run(&format!("INSERT INTO note VALUES ({id})")).err()?)));
    let (acknowledged, why) = refused.expect("the disk runs full");
    println!("after {acknowledged} rows: {why}");
    assert!(instance.log().contains("No space left on device"), "{}", instance.log());
    instance.disk().expect("its disk").free().expect("there is room");
    // Where the log itself found no room, the server has crashed, and maybe ended.
    instance.recover().expect("it recovers");
    let rows = instance.count_rows("app", "note").expect("a count");
    assert!([acknowledged, acknowledged + 1].contains(&rows), "{rows} rows, {acknowledged} acknowledged");
    session(&instance, &login).run(&format!("INSERT INTO note VALUES ({})", TRIES + 1)).expect("there is room again");
}
