//! The log beside the store: what a start, `verify` and `copy` do with one that is needed, missing, damaged or another
//! store's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;
use switchboard_tests::house::{tool, with};

use crate::server::{Folder, Server, binary, call, run};

const STORE: &str = "switchboard.redb";
const LOG: &str = "switchboard.wal";
const ARGUMENTS: [&str; 2] = ["--engine", "none"];
/// Tools that each store has.
const TOOLS: usize = 12;

/// A data folder with the key of its owner.
struct Data {
    at: PathBuf,
    key: String,
}

/// Makes a store with tools and kills its server: the log is needed.
fn killed(folder: &Folder, name: &str) -> Data {
    let (server, data) = filled(folder, name);
    server.kill();
    data
}

/// Makes a store with tools, whose server runs.
fn filled(folder: &Folder, name: &str) -> (Server, Data) {
    let at = folder.path(name);
    let server = Server::start(&at, &ARGUMENTS);
    let data = Data { at, key: server.text("api_key").to_owned() };
    for number in 0..TOOLS {
        add(&server, &data, &format!("of {name}, {number}"));
    }
    (server, data)
}

/// Makes one more tool.
fn add(server: &Server, Data { key, .. }: &Data, description: &str) {
    let body = with(tool("probe"), &json!({ "description": description }));
    let (status, json) = call("POST", &format!("{}/user/tools", server.text("url")), key, Some(&body));
    assert_eq!(status, 201, "{json}");
}

/// Returns the number of tools that a service on the store shows, and stops it.
fn tools(Data { at, key }: &Data) -> usize {
    let server = Server::start(at, &ARGUMENTS);
    let (status, json) = call("GET", &format!("{}/user/tools", server.text("url")), key, None);
    assert_eq!(status, 200, "{json}");
    assert_eq!(server.stop(), Some(0));
    json.as_array().expect("a list").len()
}

/// Checks that neither `serve` nor `verify` nor `copy` goes on, what they say, and that nothing is written over.
fn refused(folder: &Folder, data: &Path, says: &[&str]) {
    let files = || [STORE, LOG].map(|file| std::fs::read(data.join(file)).ok());
    let log = files()[1].clone();
    let at = data.to_str().expect("a path");
    let copy = folder.path("copy.swbk");
    let mut serve = Command::new(binary());
    serve.args(["serve", "--data", at, "--listen", "127.0.0.1:0"]).args(ARGUMENTS);
    let outputs =
        [serve.output().expect("it runs"), run(&["verify", at]), run(&["copy", at, copy.to_str().expect("a path")])];
    for output in outputs {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let file = data.join(LOG).display().to_string();
        assert!(says.iter().chain([&&*file]).all(|words| said.contains(*words)), "{said}");
    }
    assert!(files()[1] == log, "the log is as it was");
    assert!(!copy.exists());
}

#[test]
fn a_log_that_is_needed_must_be_there_whole_and_its_own() {
    let folder = Folder::new();
    let [data, other] = ["data", "other"].map(|name| killed(&folder, name));
    let (log, others) = (data.at.join(LOG), other.at.join(LOG));
    let aside = folder.path("aside");
    std::fs::rename(&log, &aside).expect("it is there");
    refused(&folder, &data.at, &["is missing", "put it back, or restore a backup"]);
    assert!(!log.exists(), "none is made in its place");
    std::fs::copy(&others, &log).expect("room");
    refused(&folder, &data.at, &["belongs to another store"]);
    let mut bytes = std::fs::read(&aside).expect("it is there");
    // The record of the first commit after the checkpoint begins the second page or half.
    let first = bytes.iter().skip(4_096).position(|byte| *byte != 0).expect("there are records") + 4_096;
    bytes[first] ^= 1;
    std::fs::write(&log, &bytes).expect("room");
    refused(&folder, &data.at, &["is damaged", "Restore a backup"]);
    std::fs::write(&log, "not a log").expect("room");
    refused(&folder, &data.at, &["is damaged"]);

    // Each with its own, everything is there.
    std::fs::rename(&aside, &log).expect("it is there");
    assert_eq!([tools(&data), tools(&other)], [TOOLS, TOOLS]);
}

#[test]
fn the_store_takes_over_what_the_log_has_once_nobody_writes() {
    let folder = Folder::new();
    let (server, data) = filled(&folder, "data");
    let store = || std::fs::read(data.at.join(STORE)).expect("it is there");
    let written = store();
    // It rests after half a minute without a write.
    let until = Instant::now() + Duration::from_secs(90);
    while store() == written {
        assert!(Instant::now() < until, "the store is never written");
        std::thread::sleep(Duration::from_millis(250));
    }
    // The store has begun to take them over, and writes one after the other: once the next is kept, it is done.
    add(&server, &data, "of the log alone");
    server.kill();
    // The file alone has all before: a start whose log has no record behind its first page misses only the last.
    let log = data.at.join(LOG);
    let mut bytes = std::fs::read(&log).expect("it is there");
    bytes[4_096..].fill(0);
    std::fs::write(&log, bytes).expect("room");
    assert_eq!(tools(&data), TOOLS);
}

#[test]
fn verify_copy_and_a_start_take_over_what_the_log_has() {
    let folder = Folder::new();
    for (number, takes) in ["verify", "copy", "serve"].into_iter().enumerate() {
        let data = killed(&folder, takes);
        let (at, copy) = (data.at.to_str().expect("a path"), folder.path(&format!("{number}/")));
        let copy = format!("{}/", copy.display());
        match takes {
            "verify" => assert!(run(&["verify", at]).status.success()),
            "copy" => {
                let copied = run(&["copy", at, &copy]);
                assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
                assert_eq!(tools(&Data { at: copy.into(), key: data.key.clone() }), TOOLS);
            }
            _ => assert_eq!(tools(&data), TOOLS),
        }
        // What was stopped well needs no log: the store may be moved alone.
        std::fs::remove_file(data.at.join(LOG)).expect("there is a log");
        assert_eq!(tools(&data), TOOLS);
    }
}
