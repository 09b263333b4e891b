//! The hosts that every test run can afford: rows in memory, warm and cold, redb step by step, the native server over
//! sockets, the pure component in wasmtime, and the JavaScript host in Node.

use std::path::PathBuf;
use std::sync::LazyLock;

use switchboard::store::Store;
use switchboard_proof::agree::Hosts;
use switchboard_proof::said::Transcript;
use switchboard_proof::scene;
use switchboard_proof::script::{Act, Script};
use switchboard_proof::stage::Stage;
use switchboard_proof::subject::component::{Program, built};
use switchboard_proof::subject::player::{Player, scripts};
use switchboard_proof::subject::served::program;
use switchboard_proof::subject::{Cold, Native, Stored, configured};

/// Histories per test run; `cargo xtask hosts` plays any number.
const HISTORIES: u64 = 256;
static SCRIPT: LazyLock<(Script, Transcript)> = LazyLock::new(scene::record);

static PROGRAM: LazyLock<Program> = LazyLock::new(|| Program::load(&built()));

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("switchboard-proof-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[track_caller]
fn agrees(said: &Transcript, other: &Transcript) {
    if let Some(difference) = said.difference(other) {
        panic!("{difference}");
    }
}

#[test]
fn the_script_is_long_and_says_much() {
    let (script, said) = &*SCRIPT;
    let requests = script.lines.iter().filter(|line| matches!(line.act, Act::Http(_))).count();
    assert!(requests >= 400, "{requests} requests");
    assert!(script.lines.len() - requests >= 50 && said.rows.len() >= 100, "{} rows", said.rows.len());
}

#[test]
fn a_cold_view_agrees() {
    let (script, said) = &*SCRIPT;
    agrees(said, &Stage::new(Cold::new(&script.settings), configured(&script.settings).rate_limits).play(script));
}

#[test]
fn rows_in_redb_agree() {
    let (script, said) = &*SCRIPT;
    let folder = Folder::new("redb");
    let store = Store::open(&folder.0).expect("a store opens");
    agrees(
        said,
        &Stage::new(Stored::over(&script.settings, store), configured(&script.settings).rate_limits).play(script),
    );
}

#[test]
fn the_native_server_agrees() {
    let (script, said) = &*SCRIPT;
    let folder = Folder::new("native");
    let native = Native::start(&script.settings, &folder.0);
    let url = native.url();
    agrees(said, &native.play(script, &url));
}

#[test]
fn the_component_agrees() {
    let (script, said) = &*SCRIPT;
    agrees(said, &Stage::new(PROGRAM.start(&script.settings), configured(&script.settings).rate_limits).play(script));
}

#[test]
fn the_javascript_host_agrees() {
    let (script, said) = &*SCRIPT;
    let path = std::env::var("PATH").unwrap_or_default();
    let Some(node) = program("node", &path) else {
        println!("not run: there is no node in PATH");
        return;
    };
    let folder = Folder::new("node");
    let before = vec![scripts().join("play-node.js").display().to_string()];
    let player = Player { program: node, before, after: vec!["memory".into()] };
    agrees(said, &player.play(script, &folder.0).expect("a transcript"));
}

/// Plays every second history from `first` on.
fn histories_agree(first: u64) {
    let folder = Folder::new(&format!("histories-{first}"));
    let hosts = Hosts::new(folder.0.clone(), &std::env::var("PATH").unwrap_or_default());
    let numbers: Vec<u64> = (first..HISTORIES).step_by(2).collect();
    let differ = hosts.differences(&numbers).expect("Node plays");
    assert!(differ.is_empty(), "{differ:?}");
}

#[test]
fn hosts_agree_on_even_histories() {
    histories_agree(0);
}

#[test]
fn hosts_agree_on_odd_histories() {
    histories_agree(1);
}
