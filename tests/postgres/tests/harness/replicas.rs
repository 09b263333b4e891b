//! Standbys, and commits that wait for them.

use std::time::Duration;

use switchboard_postgres::{Instance, PATIENCE};

use crate::{session, with_table};

const BRIEF: Duration = Duration::from_millis(300);

#[test]
fn a_synchronous_standby_that_is_promoted_has_what_was_acknowledged() {
    let primary = Instance::options().start().expect("a server");
    let (login, notes) = with_table(&primary);
    let standby = primary.standby("b").expect("a standby");
    primary.synchronize_with("FIRST 1 (b)").expect("a setting");
    primary.wait_until_synchronous("b").expect("it is synchronous");
    // Commits wait for it: none is made while it stands still.
    let pause = standby.pause().expect("a pause");
    let client = session(&primary, &login);
    let mut waiting = client.start("INSERT INTO note VALUES (1)");
    primary.wait_for_event("app", "SyncRep").expect("it waits");
    assert!(waiting.within(BRIEF).is_none());
    drop(pause);
    assert!(waiting.within(PATIENCE).expect("an answer").is_ok());
    notes.run("INSERT INTO note VALUES (2)").expect("acknowledged");
    primary.kill().expect("it runs");
    standby.promote().expect("a primary");
    assert_eq!(standby.count_rows("app", "note"), Ok(2));
    session(&standby, &login).run("INSERT INTO note VALUES (3)").expect("it takes writes, and waits for nobody");
}

#[test]
fn an_asynchronous_standby_that_was_halted_lacks_what_was_acknowledged() {
    let primary = Instance::options().start().expect("a server");
    let (login, notes) = with_table(&primary);
    let standby = primary.standby("b").expect("a standby");
    notes.run("INSERT INTO note VALUES (1)").expect("acknowledged");
    standby.wait_for_position(primary.wal_position().expect("a position")).expect("it follows");
    let receiver = standby.pause_receiver().expect("a pause");
    drop(receiver);
    let sender = primary.pause_sender("b").expect("a pause");
    notes.run("INSERT INTO note VALUES (2)").expect("acknowledged");
    assert!(primary.wal_position() > standby.wal_position());
    primary.kill().expect("it runs");
    drop(sender);
    standby.promote().expect("a primary");
    let rows = session(&standby, &login).run("SELECT id FROM note").expect("rows");
    assert_eq!(rows, [[Some("1".to_owned())]]);
}

#[test]
fn a_cancelled_wait_for_a_missing_standby_answers_success_with_a_warning() {
    let primary = Instance::options().start().expect("a server");
    let (login, _) = with_table(&primary);
    primary.synchronize_with("missing").expect("a setting");
    let client = session(&primary, &login);
    let mut waiting = client.start("INSERT INTO note VALUES (1)");
    primary.wait_for_event("app", "SyncRep").expect("it waits");
    assert!(waiting.within(BRIEF).is_none());
    let seen = primary.activity().expect("rows").into_iter().find(|backend| backend.application_name == "app");
    let seen = seen.expect("a backend");
    assert_eq!((seen.wait_event_type.as_str(), seen.state.as_str()), ("IPC", "active"));
    assert_eq!(seen.query, "INSERT INTO note VALUES (1)");
    assert_eq!(primary.count_rows("app", "note"), Ok(0));
    assert_eq!(primary.cancel("app", "SyncRep"), Ok(1));
    assert!(waiting.within(PATIENCE).expect("an answer").is_ok());
    let notices = client.take_notices();
    assert_eq!(notices.len(), 1);
    assert_eq!((notices[0].code().code(), notices[0].severity()), ("01000", "WARNING"));
    assert_eq!(primary.count_rows("app", "note"), Ok(1));
    // A terminated one says nothing, and has committed too.
    let mut waiting = client.start("INSERT INTO note VALUES (2)");
    primary.wait_for_event("app", "SyncRep").expect("it waits");
    assert_eq!(primary.terminate("app", "SyncRep"), Ok(1));
    assert!(waiting.within(PATIENCE).expect("an end").is_err());
    assert_eq!(primary.count_rows("app", "note"), Ok(2));
    // Without the setting nobody waits.
    let client = session(&primary, &login);
    let mut waiting = client.start("INSERT INTO note VALUES (3)");
    primary.wait_for_event("app", "SyncRep").expect("it waits");
    primary.synchronize_with("").expect("a setting");
    assert!(waiting.within(PATIENCE).expect("an answer").is_ok());
    assert!(client.take_notices().is_empty());
}
