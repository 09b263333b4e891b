//! Start, stop, kill and pause.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::geteuid;
use switchboard_postgres::{Instance, InstanceOptions, Login, PATIENCE, SqlSession, wait_until};
use tokio_postgres::error::SqlState;

use crate::repeat;
use crate::{session, with_table};

/// Whether a process runs; one that has ended and waits to be asked how does not.
fn is_there(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn a_server_starts_stops_and_starts_again() {
    let instance = Instance::options().set("max_connections", "17").start().expect("a server");
    assert_eq!(instance.value("SHOW max_connections").as_deref(), Ok("17"));
    assert_eq!(instance.value("SHOW fsync").as_deref(), Ok("on"));
    assert_eq!(instance.value("SHOW unix_socket_directories").as_deref(), Ok(""));
    let (login, _) = with_table(&instance);
    instance.set("statement_timeout", "7s").expect("a setting for all that come");
    assert_eq!(instance.value("SHOW statement_timeout").as_deref(), Ok("7s"));
    let why = instance.set("max_connections", "18").expect_err("it needs a restart");
    assert!(why.contains("could not be applied"), "{why}");
    let why = instance.set("fsync", "perhaps").expect_err("it is on or off");
    assert!(why.contains("fsync"), "{why}");
    let before = instance.processes();
    instance.stop().expect("it stops");
    assert!(!instance.is_running() && before.iter().all(|pid| !is_there(*pid)));
    assert_eq!(instance.stop(), Err("the server does not run".into()));
    instance.set("max_connections", "18").expect("a stopped server takes what it starts with");
    instance.start().expect("it starts");
    assert_eq!(instance.value("SHOW max_connections").as_deref(), Ok("18"));
    let wrong = Login { password: "wrong".into(), ..login };
    let refused = SqlSession::open(&wrong.config(instance.address()));
    assert_eq!(refused.err().expect("refused").code(), Some(&SqlState::INVALID_PASSWORD));
}

#[test]
fn a_server_that_cannot_start_says_why() {
    let why = Instance::options().set("shared_buffers", "lots").start().err().expect("no server");
    assert!(why.contains("invalid value for parameter \"shared_buffers\": \"lots\""), "{why}");
}

#[test]
fn killed_and_started_again_it_has_what_it_acknowledged() {
    kept_when_killed(Instance::options());
}

#[test]
fn so_has_a_server_whose_data_are_in_memory() {
    kept_when_killed(Instance::options().in_memory());
}

fn kept_when_killed(options: InstanceOptions) {
    let instance = options.start().expect("a server");
    let (login, first) = with_table(&instance);
    let open = session(&instance, &login);
    open.run("BEGIN; INSERT INTO note VALUES (1)").expect("a transaction");
    first.run("INSERT INTO note VALUES (2)").expect("acknowledged");
    let processes = instance.processes();
    assert!(processes.len() > 3, "{processes:?}");
    instance.kill().expect("it runs");
    assert!(processes.iter().all(|pid| !is_there(*pid)));
    wait_until("the clients notice", || first.is_closed() && open.is_closed()).expect("a closed connection");
    instance.start().expect("it recovers");
    let rows = session(&instance, &login).run("SELECT id FROM note").expect("rows");
    assert_eq!(rows, [[Some("2".to_owned())]]);
    assert_eq!(instance.count_rows("app", "note"), Ok(1));
    assert!(instance.log().contains("database system was not properly shut down"), "{}", instance.log());
}

#[test]
fn a_paused_server_answers_when_it_goes_on() {
    let instance = Instance::options().start().expect("a server");
    let open = instance.session().expect("a session");
    let pause = instance.pause().expect("it stands still");
    assert!(pause.pids().len() > 3);
    let mut statement = open.start("SELECT 1");
    assert!(statement.within(Duration::from_millis(300)).is_none());
    drop(pause);
    assert!(statement.within(PATIENCE).expect("an answer").is_ok());
}

#[test]
fn another_user_needs_no_root() {
    if !geteuid().is_root() {
        println!("the other tests show it: they are not run by root");
        return;
    }
    let (mut command, _folder) = repeat::command("life::a_servers_life");
    repeat::as_nobody(&mut command);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
#[ignore = "run by another test"]
fn a_servers_life() {
    let instance = Instance::options().start().expect("a server");
    assert!(!geteuid().is_root());
    instance.restart().expect("a restart");
    instance.kill().expect("it runs");
    instance.start().expect("it starts again");
    drop(instance.pause().expect("a pause"));
}

#[test]
fn nothing_outlives_a_test_that_is_killed() {
    let (mut command, _folder) = repeat::command("life::waits_to_be_killed");
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it runs");
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let pids = lines.map_while(Result::ok).find_map(|line| line.strip_prefix("processes ").map(str::to_owned));
    let pids: Vec<u32> = pids.expect("a line").split(' ').map(|pid| pid.parse().expect("a number")).collect();
    assert!(pids.len() > 3 && pids.iter().all(|pid| is_there(*pid)));
    child.kill().expect("it runs");
    child.wait().expect("a child");
    wait_until("its server ends, though it stood still", || pids.iter().all(|pid| !is_there(*pid))).expect("an end");
}

#[test]
#[ignore = "run by another test"]
fn waits_to_be_killed() {
    let instance = Instance::options().start().expect("a server");
    let _session = instance.session().expect("a session");
    let _pause = instance.pause().expect("a pause");
    let pids: Vec<String> = instance.processes().iter().map(u32::to_string).collect();
    println!("\nprocesses {}", pids.join(" "));
    std::thread::sleep(Duration::from_mins(5));
}

#[test]
fn nothing_is_left_of_a_server_that_is_dropped() {
    let instance = Instance::options().start().expect("a server");
    let processes = instance.processes();
    let folder = instance.value("SHOW data_directory").expect("a path");
    assert!(Path::new(&folder).is_dir());
    // Also if a part of it stands still.
    let pause = instance.pause().expect("a pause");
    drop(instance);
    drop(pause);
    assert!(processes.iter().all(|pid| !is_there(*pid)));
    assert!(!Path::new(&folder).exists());
}
