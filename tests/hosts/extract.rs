//! Files read in a process of their own, by the built binary and by programs that misbehave.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use switchboard::extract::child::Extractor;
use switchboard::extract::confined::Bounds;
use switchboard::extract::read;
use switchboard::room::{Holder, Room};
use switchboard::send::Outside;
use switchboard_core::budget::READERS;
use switchboard_core::egress::Filter;
use switchboard_core::limits::FILE_BYTES_MAX;
use switchboard_core::outside::{Answer, SendError, TextForm, Work};

use crate::outside::sender;
use crate::samples::{Pdf, docx, hungry_pdf, slow_pdf};
use crate::server::{Folder, binary};

const TOO_LONG: &str = "The file took too long to read.";
const TOO_MUCH: &str = "The file took too much memory to read.";
/// Longer than any test should take.
const PATIENCE: Duration = Duration::from_mins(1);

fn block<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(work)
}

fn refused(sentence: &str) -> Answer {
    Answer::Extracted(Err(sentence.into()))
}

/// Writes a program of these shell commands. A process of its own writes it, so that no fork of another test holds it
/// open for writing when it starts (`ETXTBSY`).
fn program(folder: &Folder, name: &str, commands: &str) -> PathBuf {
    let path = folder.path(name);
    let write = Command::new("sh")
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$2\" && chmod +x \"$2\"", "sh", commands])
        .arg(&path)
        .status();
    assert!(write.expect("sh runs").success());
    path
}

fn extractor(program: &Path, wall: Duration) -> Extractor {
    Extractor::bounded(program.into(), Bounds::default(), wall, Room::new(&READERS)).expect("a thread")
}

/// The account whose files are read.
const ACCOUNT: Holder = Holder::Account(1);

fn is_running(pid: &str) -> bool {
    Command::new("kill").args(["-0", pid]).stderr(Stdio::null()).status().expect("kill runs").success()
}

#[test]
fn the_binary_reads_what_this_process_reads() {
    let extractor = Extractor::new(binary(), Room::new(&READERS)).expect("a thread");
    let html = b"<title>T</title><base href=/x><a href=a>one \"two\"</a>\n<p>\\three</p>".to_vec();
    let noindex = b"<meta name=robots content=noindex><a href=a>one</a>".to_vec();
    for (form, bytes) in [
        (TextForm::Pdf, Pdf::new().page("BT /F1 10 Tf (one) Tj 0 -12 Td (two) Tj ET").title("T").packed()),
        (TextForm::Docx, docx("<w:p><w:r><w:t>one</w:t></w:r></w:p>")),
        (TextForm::Txt, b"one\r\n\"two\"\\".to_vec()),
        (TextForm::Html, html),
        (TextForm::Html, noindex),
        (TextForm::Pdf, b"no PDF".to_vec()),
        (TextForm::Txt, vec![]),
        (TextForm::Txt, vec![b'x'; FILE_BYTES_MAX + 9]),
    ] {
        let expected = read(form, &bytes);
        assert_eq!(block(extractor.extract(form, bytes, ACCOUNT)), Answer::Extracted(expected), "{form:?}");
    }
}

#[test]
fn a_sender_has_files_read() {
    let sender = sender(Outside::World(Filter::new(vec![])));
    let answer = block(sender.perform(Work::Extract { form: TextForm::Txt, bytes: b"words".to_vec() }, ACCOUNT));
    assert!(matches!(answer, Answer::Extracted(Ok(found)) if found.text == "words"));
}

#[test]
fn a_file_that_takes_memory_ends_as_a_sentence() {
    let file = hungry_pdf();
    assert!(file.len() < 100_000, "{}", file.len());
    let bounds = Bounds { memory_bytes: 256 << 20, ..Bounds::default() };
    let extractor = Extractor::bounded(binary(), bounds, PATIENCE, Room::new(&READERS)).expect("a thread");
    assert_eq!(block(extractor.extract(TextForm::Pdf, file, ACCOUNT)), refused(TOO_MUCH));
}

#[test]
fn a_file_that_takes_time_ends_as_a_sentence() {
    let file = slow_pdf();
    assert!(file.len() < 200_000, "{}", file.len());
    let bounds = Bounds { cpu_seconds: 1, ..Bounds::default() };
    let extractor = Extractor::bounded(binary(), bounds, PATIENCE, Room::new(&READERS)).expect("a thread");
    assert_eq!(block(extractor.extract(TextForm::Pdf, file, ACCOUNT)), refused(TOO_LONG));
}

#[test]
fn a_process_that_hangs_is_ended() {
    let folder = Folder::new();
    let pid = folder.path("pid");
    let hang =
        program(&folder, "hang", &format!("echo $$ > '{0}.new'; mv '{0}.new' '{0}'; exec sleep 600", pid.display()));
    let answer = block(extractor(&hang, Duration::from_secs(1)).extract(TextForm::Txt, b"a".to_vec(), ACCOUNT));
    assert_eq!(answer, refused(TOO_LONG));
    let ended = std::fs::read_to_string(&pid).expect("a process");
    assert!(!is_running(ended.trim()), "it is gone when the answer is there");
    // A wait that is abandoned ends the process too.
    std::fs::remove_file(&pid).expect("a file");
    let given_up = block(async {
        let extractor = extractor(&hang, PATIENCE);
        let started = async {
            while !pid.is_file() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            answer = extractor.extract(TextForm::Txt, vec![b'a'; 1 << 20], ACCOUNT) => panic!("{answer:?}"),
            () = started => std::fs::read_to_string(&pid).expect("a process"),
        }
    });
    let patience = Instant::now() + PATIENCE;
    while is_running(given_up.trim()) {
        assert!(Instant::now() < patience, "it still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn what_a_process_does_instead_of_its_work() {
    let folder = Folder::new();
    let fault = Answer::Failed(SendError::Unreachable);
    for (name, commands, expected) in [
        ("memory", "kill -ABRT $$", refused(TOO_MUCH)),
        ("killed", "kill -KILL $$", refused(TOO_MUCH)),
        ("processor", "kill -XCPU $$", refused(TOO_LONG)),
        ("panic", "cat > /dev/null; exit 101", refused("The file could not be read.")),
        ("nonsense", "echo hello", fault.clone()),
        ("silence", "exit 0", fault.clone()),
        ("half", "printf '{\"failed\":\"The'; kill -ABRT $$", refused(TOO_MUCH)),
    ] {
        let program = program(&folder, name, commands);
        let answer = block(extractor(&program, PATIENCE).extract(TextForm::Txt, vec![b'a'; 1 << 20], ACCOUNT));
        assert_eq!(answer, expected, "{name}");
    }
    let missing = extractor(&folder.path("missing"), PATIENCE);
    assert_eq!(block(missing.extract(TextForm::Txt, b"a".to_vec(), ACCOUNT)), fault);
}

/// Returns this process's peak memory, KiB.
#[cfg(target_os = "linux")]
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("the process's status");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("a peak");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_never_stops_talking_fills_no_memory() {
    let folder = Folder::new();
    let endless = program(&folder, "endless", "exec cat /dev/zero");
    let before = peak_kib();
    let answer = block(extractor(&endless, PATIENCE).extract(TextForm::Txt, b"a".to_vec(), ACCOUNT));
    assert_eq!(answer, refused(TOO_MUCH), "it is ended at the bound");
    let grown = peak_kib() - before;
    // Other tests run at the same time: this is half of what an unbounded read would take.
    assert!(grown < 1 << 20, "{grown} KiB");
}

#[test]
fn two_files_are_read_at_once_and_no_more() {
    let folder = Folder::new();
    let said = r#"{"failed":"done."}"#;
    let commands = format!(
        "cd '{}'; if mkdir a; then s=a; elif mkdir b; then s=b; else exit 9; fi; sleep 0.2; rmdir $s; echo '{said}'",
        folder.0.display()
    );
    let extractor = Arc::new(extractor(&program(&folder, "turns", &commands), PATIENCE));
    let answers = block(async {
        let all: Vec<_> = (0..6)
            .map(|account| {
                let extractor = Arc::clone(&extractor);
                let file = (TextForm::Txt, b"a".to_vec(), Holder::Account(account));
                tokio::spawn(async move { extractor.extract(file.0, file.1, file.2).await })
            })
            .collect();
        let mut answers = Vec::new();
        for one in all {
            answers.push(one.await.expect("an answer"));
        }
        answers
    });
    assert_eq!(answers, vec![refused("done."); 6]);
}

/// Returns this process's open file descriptors.
#[cfg(target_os = "linux")]
fn open_here() -> BTreeSet<String> {
    let links = std::fs::read_dir("/proc/self/fd").expect("descriptors").flatten();
    links.filter_map(|link| Some(std::fs::read_link(link.path()).ok()?.to_string_lossy().into_owned())).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_gets_nothing_of_this_one() {
    let folder = Folder::new();
    let found = r#"{"read":{"title":null,"text":"%s","links":[],"base_href":null,"noindex":false}}"#;
    let list = "cd /proc/$$/fd; for n in *; do all=\"$all $(readlink $n)\"; done";
    let commands = format!("{list}; printf '{found}' \"${{CARGO_MANIFEST_DIR-none}}$all\"");
    let listing = program(&folder, "listing", &commands);
    // Descriptors that this process inherited may be passed on; those that it opens may not.
    let before = open_here();
    let kept = std::fs::File::create(folder.path("kept")).expect("a file");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let opened: Vec<String> = open_here().difference(&before).cloned().collect();
    assert!(opened.len() >= 2, "{opened:?}");
    let answer = block(extractor(&listing, PATIENCE).extract(TextForm::Txt, b"a".to_vec(), ACCOUNT));
    let Answer::Extracted(Ok(found)) = answer else { panic!("{answer:?}") };
    let mut names = words(&found.text).into_iter();
    assert_eq!(names.next(), Some("none"), "no variable of this process");
    assert!(names.clone().filter(|name| name.starts_with("pipe:")).count() >= 2, "input and output: {}", found.text);
    assert!(!names.any(|name| opened.iter().any(|opened| opened == name)), "{} of {opened:?}", found.text);
    drop((kept, listener));
}

#[cfg(target_os = "linux")]
#[test]
fn the_binary_confines_itself_before_it_reads() {
    let mut child = Command::new(binary())
        .args(["extract", "--form", "txt", "--cpu-seconds", "7", "--memory-bytes", "300000000"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let limits = format!("/proc/{}/limits", child.id());
    let patience = Instant::now() + PATIENCE;
    // The limit on core dumps is the last one that it sets.
    let limits = loop {
        let limits = std::fs::read_to_string(&limits).expect("its limits");
        if limits.lines().any(|line| words(line) == ["Max", "core", "file", "size", "0", "0", "bytes"]) {
            break limits;
        }
        assert!(Instant::now() < patience, "{limits}");
        std::thread::sleep(Duration::from_millis(5));
    };
    for line in ["Max address space 300000000 300000000 bytes", "Max cpu time 7 12 seconds", "Max open files 3 3 files"]
    {
        assert!(limits.lines().any(|found| words(found) == words(line)), "{line} is not in\n{limits}");
    }
    assert!(limits.lines().any(|line| words(line).starts_with(&["Max", "processes", "0", "0"])), "{limits}");
    let mut input = child.stdin.take().expect("an input");
    input.write_all(b"some words").expect("it reads");
    drop(input);
    let mut said = String::new();
    child.stdout.take().expect("an output").read_to_string(&mut said).expect("it talks");
    assert!(said.contains("some words"), "{said}");
    assert!(child.wait().expect("an end").success());
}

/// A locked process tries what its locks forbid: the first locks close files, the last ones all calls.
#[cfg(target_os = "linux")]
#[test]
fn the_binary_locks_itself_before_it_reads() {
    const EPERM: i32 = 1;
    let extractor = Extractor::new(binary(), Room::new(&READERS)).expect("a thread");
    let checked = block(extractor.check()).expect("it runs");
    assert!(checked.tried.len() >= 10, "{checked:?}");
    let missing = checked.locks.missing();
    if missing.contains(&"seccomp") {
        eprintln!("not tried: this kernel lacks {missing:?}");
    } else {
        for (what, error) in &checked.tried {
            assert_eq!(*error, Some(EPERM), "{what}: {checked:?}");
        }
    }
    // Where Landlock is present, it refuses first: limits and system calls are locked after it.
    let closed = checked.opened.is_some();
    assert_eq!(closed, !missing.contains(&"Landlock"), "{checked:?}");
    assert!(checked.locks.privileges, "every kernel has had these for ten years: {checked:?}");
}

/// A reader started from a shell ends with it, even when the shell is killed.
#[cfg(target_os = "linux")]
#[test]
fn a_reader_ends_with_its_parent() {
    let folder = Folder::new();
    let pid = folder.path("pid");
    let script = "mkfifo \"$2\"; \"$0\" extract --form txt --parent $$ < \"$2\" & exec 9> \"$2\"; \
        echo $! > \"$1.new\"; mv \"$1.new\" \"$1\"; wait";
    let mut parent = Command::new("sh")
        .args(["-c", script])
        .arg(binary())
        .args([&pid, &folder.path("fifo")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("sh runs");
    let patience = Instant::now() + PATIENCE;
    // The input stays open here too, so the reader does not end because of it.
    while !pid.is_file() {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(5));
    }
    let held = std::fs::OpenOptions::new().write(true).open(folder.path("fifo")).expect("a pipe");
    let reader = std::fs::read_to_string(&pid).expect("a process");
    let status = format!("/proc/{}/status", reader.trim());
    // It has locked itself, so it now waits for its file.
    while !std::fs::read_to_string(&status).expect("it runs").contains("NoNewPrivs:\t1") {
        assert!(Instant::now() < patience);
        std::thread::sleep(Duration::from_millis(5));
    }
    parent.kill().expect("a child");
    parent.wait().expect("a child");
    while std::fs::read_to_string(&status).is_ok_and(|status| !status.contains("State:\tZ")) {
        assert!(Instant::now() < patience, "it outlives its parent");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(held);
    let orphan = crate::server::run(&["extract", "--form", "txt", "--parent", "1"]);
    assert!(!orphan.status.success() && orphan.stdout.is_empty(), "{orphan:?}");
}

#[cfg(target_os = "linux")]
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn the_command_refuses_what_it_does_not_know() {
    for arguments in [&["extract"][..], &["extract", "--form", "exe"]] {
        let output = crate::server::run(arguments);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}");
    }
    let help = String::from_utf8(crate::server::run(&["--help"]).stdout).expect("text");
    assert!(!help.contains("extract"), "{help}");
}

/// The system ends a reader with the thread that started it, and a runtime's threads end when they are idle.
#[test]
fn a_reader_outlives_the_thread_of_the_runtime_that_asked_for_it() {
    let bounds = Bounds { cpu_seconds: 2, ..Bounds::default() };
    let extractor = Arc::new(Extractor::bounded(binary(), bounds, PATIENCE, Room::new(&READERS)).expect("a thread"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_keep_alive(Duration::from_millis(1))
        .enable_all()
        .build()
        .expect("a runtime");
    let reading = runtime.spawn({
        let extractor = Arc::clone(&extractor);
        async move { extractor.extract(TextForm::Pdf, slow_pdf(), ACCOUNT).await }
    });
    // Another thread takes over from the only one, which then ends.
    let blocking = runtime.spawn(async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        tokio::task::block_in_place(|| std::thread::sleep(Duration::from_millis(100)));
    });
    runtime.block_on(blocking).expect("no panic");
    assert_eq!(runtime.block_on(reading).expect("no panic"), refused(TOO_LONG));
}
