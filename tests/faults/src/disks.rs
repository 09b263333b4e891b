//! The real server on a full disk, and on a read-only one: it reports that, keeps and serves what it acknowledged,
//! still deletes where it has a reserve, and writes again once there is room.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};
use switchboard_tests::server::{Folder, Server, binary};

use crate::report::Row;
use crate::wire::{Line, address_of};

const ARGUMENTS: [&str; 4] = ["--rate-limit", "0", "--engine", "none"];
/// Limit of the store's files, blocks of 512 bytes: the log has half of that from the start.
const BLOCKS: u64 = 32_768;
/// Writes by which the disk must be full; the plan allows that many assistants.
const WRITES_MAX: u64 = 900;
/// Space that a server reserves for deletes on a full disk, bytes.
const RESERVE_BYTES: u64 = 32 << 20;
/// Length of each assistant's prompt, bytes.
const PROMPT_BYTES: usize = 30_000;
/// User id that owns no files.
const NOBODY: u32 = 65_534;

/// Shell script that limits the file size, which needs no root.
const LIMITED: &str = r#"trap "" XFSZ; ulimit -S -f "$1"; shift; exec "$@""#;
/// Shell script that mounts a small tmpfs, with a ballast file that can be removed.
const SMALL: &str =
    r#"mount -t tmpfs -o size=64m small "$1" && head -c 17825792 /dev/zero > "$1/ballast" && shift && exec "$@""#;

/// Runs the server on full disks of two kinds.
pub fn full(_: u64) -> Row {
    let mut row = Row::begin(
        "a server on a full disk answers 503 to writes, serves reads and deletes, and goes on once there is room",
        1,
    );
    let limited = |_: &Path| {
        let mut command = Command::new("sh");
        command.args(["-c", LIMITED, "sh", &BLOCKS.to_string()]).arg(binary());
        command
    };
    row.count(
        fill(limited, |server, _| lift(server), Reserved::No)
            .map_err(|why| format!("a limit on the file's length: {why}")),
    );
    let small = |data: &Path| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", SMALL, "sh"]).arg(data).arg(binary());
        command
    };
    if can_mount() {
        row.count(fill(small, unload, Reserved::Yes).map_err(|why| format!("a small disk: {why}")));
    } else {
        row.notes.push(
            "no disk of its own could be had here (unshare, mount): the limit on a file's length stood in".into(),
        );
    }
    row.end()
}

fn can_mount() -> bool {
    let folder = Folder::new();
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", SMALL, "sh"]).arg(&folder.0).arg("true");
    command.output().is_ok_and(|output| output.status.success())
}

/// Lifts the limit of the file size.
fn lift(server: &Server) -> Result<(), String> {
    let pid = i32::try_from(server.pid()).ok().and_then(Pid::from_raw).ok_or("a process has a number")?;
    let endless = Rlimit { current: None, maximum: None };
    prlimit(Some(pid), Resource::Fsize, endless).map(drop).map_err(|error| format!("the limit stays: {error}"))
}

/// Removes the ballast from the server's tmpfs.
fn unload(server: &Server, data: &Path) -> Result<(), String> {
    let inside = format!("/proc/{}/root{}/ballast", server.pid(), data.display());
    std::fs::remove_file(inside).map_err(|error| format!("the ballast stays: {error}"))
}

/// Whether the server had room for its reserve when it started.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reserved {
    Yes,
    No,
}

fn fill(
    command: impl Fn(&Path) -> Command,
    make_room: impl Fn(&Server, &Path) -> Result<(), String>,
    reserved: Reserved,
) -> Result<(), String> {
    let folder = Folder::new();
    let data = folder.path("data");
    std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
    let mut command = command(&data);
    // The server logs every write that the disk refuses.
    command.stderr(Stdio::null());
    let starting = Server::spawn(command, &data, &ARGUMENTS);
    let server = starting.outcome().map_err(|code| format!("the server does not start: {code:?}"))?;
    let mut line =
        Line::to(address_of(server.text("url")), server.text("api_key")).map_err(|error| error.to_string())?;
    let mut kept = BTreeSet::new();
    let full = (0..WRITES_MAX).find_map(|number| match write(&mut line, number, &mut kept) {
        Ok(true) => None,
        Ok(false) => Some(Ok(())),
        Err(why) => Some(Err(why)),
    });
    full.ok_or("the disk does not run full")??;
    refuses_to_store(&mut line)?;
    if reserved == Reserved::Yes {
        deletes(&mut line, &mut kept)?;
        refuses_to_store(&mut line)?;
        let left = reserve_bytes(&server, &data);
        if left != 0 {
            return Err(format!("the reserve has {left} bytes on a full disk"));
        }
    }
    same(&mut line, &kept).map_err(|why| format!("while the disk is full: {why}"))?;
    make_room(&server, &data)?;
    let patience = Instant::now() + Duration::from_mins(1);
    while !write(&mut line, WRITES_MAX + 9, &mut kept)? {
        if Instant::now() > patience {
            return Err("no write succeeds once there is room".into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    same(&mut line, &kept).map_err(|why| format!("once there is room: {why}"))?;
    says(&mut line, ("GET", "/readyz"), 200, &json!({ "status": "ready" }))?;
    let kept_free = reserve_bytes(&server, &data);
    if kept_free < RESERVE_BYTES {
        return Err(format!("the reserve has {kept_free} bytes once there is room"));
    }
    if server.stop() == Some(0) { Ok(()) } else { Err("the server does not stop well".into()) }
}

/// Checks that a full disk is reported, and nothing more is stored.
fn refuses_to_store(line: &mut Line) -> Result<(), String> {
    let full = "The disk of the service is full: only deletes and the ends of calls are carried out.";
    says(line, ("POST", "/user/assistant"), 503, &json!({ "message": full, "retry_after": 10 }))?;
    let ready = "The disk is full: only deletes and the ends of calls are carried out.";
    says(line, ("GET", "/readyz"), 503, &json!({ "message": ready }))
}

fn says(line: &mut Line, (method, path): (&str, &str), status: u16, json: &Value) -> Result<(), String> {
    let body = assistant();
    let answer = line.ask(method, path, (method == "POST").then_some(&body)).map_err(|error| error.to_string())?;
    let is_so = answer.status == status && answer.json == *json;
    if is_so { Ok(()) } else { Err(format!("{method} {path} comes to {} {}", answer.status, answer.json)) }
}

/// Deletes every other assistant.
fn deletes(line: &mut Line, kept: &mut BTreeSet<u64>) -> Result<(), String> {
    for id in kept.iter().copied().step_by(2).collect::<Vec<_>>() {
        let path = format!("/user/assistant/{id}");
        let answer = line.ask("DELETE", &path, None).map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(format!("a delete on a full disk comes to {} {}", answer.status, answer.json));
        }
        kept.remove(&id);
    }
    Ok(())
}

/// Returns the allocated size of the reserve, bytes; 0 if there is none.
fn reserve_bytes(server: &Server, data: &Path) -> u64 {
    let inside = format!("/proc/{}/root{}/reserve", server.pid(), data.display());
    std::fs::metadata(inside).map_or(0, |meta| meta.blocks() * 512)
}

/// Creates an assistant; returns false if the server answered 503.
fn write(line: &mut Line, number: u64, kept: &mut BTreeSet<u64>) -> Result<bool, String> {
    let prompt = "p".repeat(PROMPT_BYTES);
    let body = with(assistant(), &json!({ "name": format!("A{number}"), "system_prompt": prompt }));
    let answer = line.ask("POST", "/user/assistant", Some(&body)).map_err(|error| error.to_string())?;
    match answer.status {
        201 => {
            kept.insert(answer.json["data"]["id"].as_u64().ok_or("an id")?);
            Ok(true)
        }
        503 => Ok(false),
        other => Err(format!("a write comes to {other} {}", answer.json)),
    }
}

/// Checks that the server holds exactly what it acknowledged.
fn same(line: &mut Line, kept: &BTreeSet<u64>) -> Result<(), String> {
    let answer = line.ask("GET", "/user/assistants", None).map_err(|error| error.to_string())?;
    let rows = answer.json.as_array().ok_or_else(|| format!("a read comes to {} {}", answer.status, answer.json))?;
    let found: BTreeSet<u64> = rows.iter().filter_map(|row| row["id"].as_u64()).collect();
    if found == *kept { Ok(()) } else { Err(format!("{} rows, not the {} acknowledged", found.len(), kept.len())) }
}

/// Checks that a server without write access reports it at the start.
pub fn read_only(_: u64) -> Row {
    let mut row =
        Row::begin("a server that may not write its store, or has a damaged one, says so and does not start", 3);
    let folder = Folder::new();
    let data = folder.path("data");
    Server::start(&data, &ARGUMENTS).kill();
    let file = data.join("switchboard.redb");
    let set =
        |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).map_err(|e| e.to_string());
    // The server's user may list the folder.
    row.count(
        set(&data, 0o755)
            .and_then(|()| set(&file, 0o444))
            .and_then(|()| refuses(&folder, &data, "the store cannot be opened")),
    );
    let locked = folder.path("locked");
    let made = std::fs::create_dir(&locked).map_err(|error| error.to_string()).and_then(|()| set(&locked, 0o555));
    row.count(made.and_then(|()| refuses(&folder, &locked.join("data"), "the data folder cannot be made")));
    let hurt = set(&file, 0o666).and_then(|()| spoil(&file));
    row.count(hurt.and_then(|()| refuses(&folder, &data, "the store cannot be opened")));
    row.end()
}

/// Overwrites every page but the first.
fn spoil(file: &Path) -> Result<(), String> {
    let mut bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    bytes.iter_mut().skip(4_096).for_each(|byte| *byte = 0x5a);
    std::fs::write(file, bytes).map_err(|error| error.to_string())
}

/// Checks that the server exits with 1 and this message.
fn refuses(folder: &Folder, data: &Path, words: &str) -> Result<(), String> {
    let said = folder.path("said");
    let mut command = Command::new(binary());
    command.stderr(File::create(&said).map_err(|error| error.to_string())?);
    if std::fs::metadata(&folder.0).is_ok_and(|meta| meta.uid() == 0) {
        // Root ignores file permissions.
        command.uid(NOBODY);
    }
    let ended = Server::spawn(command, data, &ARGUMENTS).outcome();
    let said = std::fs::read_to_string(said).unwrap_or_default();
    match ended {
        Err(Some(1)) if said.contains(words) => Ok(()),
        Err(code) => Err(format!("it ends with {code:?} and says {said:?}")),
        Ok(server) => {
            server.kill();
            Err("it starts".into())
        }
    }
}
