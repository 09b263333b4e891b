//! Recordings through the real binary: in a folder, in a bucket that fails, encrypted, damaged, cut off and slow.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard::seal::new_key;
use switchboard_core::budget::{RECORDING_DOWNLOADS, RECORDING_UPLOADS};
use switchboard_tests::house::{assistant, with};

use crate::bucket::{Bucket, Fault};
use crate::server::{Folder, Server, call, send};

const ARGUMENTS: [&str; 2] = ["--engine", "none"];

/// Calls of the owner that an engine has.
struct Calls {
    url: String,
    key: String,
    engine: String,
    ids: Vec<u64>,
}

impl Calls {
    fn of(server: &Server, count: u64) -> Self {
        let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
        let made = call(
            "POST",
            &format!("{url}/admin/engine-tokens"),
            server.text("admin_token"),
            Some(&json!({ "name": "E" })),
        );
        let engine = made.1["token"].as_str().expect("a token").to_owned();
        let body = with(assistant(), &json!({ "record": true }));
        let made = call("POST", &format!("{url}/user/assistant"), &key, Some(&body));
        for _ in 0..count {
            let body = json!({ "phone_number": "+40700000001", "assistant_id": made.1["data"]["id"] });
            assert_eq!(call("POST", &format!("{url}/user/make_call"), &key, Some(&body)).0, 200);
        }
        let mut ids = Vec::new();
        while (ids.len() as u64) < count {
            let body = json!({ "engine": "E", "capacity": 32 });
            let claimed = call("POST", &format!("{url}/engine/claim"), &engine, Some(&body)).1;
            ids.extend(
                claimed["calls"].as_array().expect("calls").iter().filter_map(|call| call["call"]["id"].as_u64()),
            );
        }
        Self { url, key, engine, ids }
    }

    fn target(&self, at: usize) -> String {
        format!("{}/engine/calls/{}/recording", self.url, self.ids[at])
    }

    fn upload(&self, at: usize, audio: &[u8]) -> (u16, Value) {
        let (status, _, body) = send("PUT", &self.target(at), &self.engine, &[("content-type", "audio/wav")], audio);
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    fn keep(&self, at: usize, audio: &[u8]) -> String {
        let (status, body) = self.upload(at, audio);
        assert_eq!(status, 201, "{body}");
        body["url"].as_str().expect("a URL").to_owned()
    }

    /// Ends a call and deletes its recording.
    fn delete(&self, at: usize) {
        let events = json!({ "events": [{ "seq": 1, "type": "failed" }] });
        // 409: its lease has run out meanwhile, which ended it as well.
        call("POST", &format!("{}/engine/calls/{}/events", self.url, self.ids[at]), &self.engine, Some(&events));
        assert_eq!(
            call("DELETE", &format!("{}/user/calls/{}/recording", self.url, self.ids[at]), &self.key, None).0,
            200
        );
    }
}

/// Draws bytes that repeat nowhere near.
fn audio(bytes: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..bytes).map(|_| draw()).collect()
}

fn range(url: &str, from: usize, to: usize) -> (u16, Vec<u8>) {
    let (status, _, body) = send("GET", url, "", &[("range", &format!("bytes={from}-{to}"))], []);
    (status, body)
}

/// Waits until something holds.
fn wait(what: &str, mut holds: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_mins(1);
    while !holds() {
        assert!(Instant::now() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("a file").permissions().mode() & 0o7777
}

/// Uploads recordings of lengths around the borders of what is read and written at once, and compares parts of them.
fn plays_any_part(calls: &Calls) {
    for (at, bytes) in [1, 65_536, 262_145, 5_300_001, 11_000_000].into_iter().enumerate() {
        let whole = audio(bytes, 77 + bytes as u64);
        let url = calls.keep(at, &whole);
        let (status, head, body) = send("GET", &url, "", &[], []);
        assert!(status == 200 && body == whole, "{bytes} bytes: {status}, {}", body.len());
        for header in [
            "\"accept-ranges\": \"bytes\"",
            "no-store",
            "nosniff",
            "audio/wav",
            &format!("\"content-length\": \"{bytes}\""),
        ] {
            assert!(head.contains(header), "{header} in {head}");
        }
        let edges = [0, 1, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, bytes / 2, bytes - 1];
        for from in edges.into_iter().filter(|from| *from < bytes) {
            for to in edges.into_iter().filter(|to| *to < bytes && *to >= from) {
                let (status, body) = range(&url, from, to);
                let is_whole = (from, to) == (0, bytes - 1);
                assert!(body == whole[from..=to] && status == if is_whole { 200 } else { 206 }, "{bytes}: {from}-{to}");
            }
        }
        assert_eq!(range(&url, bytes, bytes + 5).0, 416);
        let (status, head, body) = send("HEAD", &url, "", &[], []);
        assert!(
            status == 200 && body.is_empty() && head.contains(&format!("\"content-length\": \"{bytes}\"")),
            "{head}"
        );
        assert_eq!(send("GET", &format!("{url}x"), "", &[], []).0, 403);
    }
}

#[test]
fn a_folder_keeps_recordings_for_its_owner_alone() {
    let folder = Folder::new();
    let data = folder.path("data");
    let log = folder.path("log");
    let file = std::fs::File::create(&log).expect("a log");
    let server = Server::start_logging(&data, &ARGUMENTS, &[("SWITCHBOARD_LOG", "debug")], file);
    let calls = Calls::of(&server, 5);
    plays_any_part(&calls);
    let kept = data.join("recordings");
    let found = files(&kept);
    assert_eq!(found.len(), 5, "{found:?}");
    for path in &found {
        assert_eq!((mode(path), mode(path.parent().expect("a folder"))), (0o600, 0o700), "{path:?}");
    }
    assert_eq!(mode(&kept), 0o700);
    let url = calls.keep(0, b"RIFF again");
    wait("what was replaced is deleted", || files(&kept).len() == 5);
    calls.delete(0);
    wait("what was deleted is gone", || files(&kept).len() == 4);
    assert_eq!(send("GET", &url, "", &[], []).0, 404);
    let signature = url.rsplit('/').next().expect("a signature");
    assert_eq!(server.stop(), Some(0));
    let log = std::fs::read_to_string(&log).expect("the log");
    assert!(log.contains("getRecording") && !log.contains(signature), "no log has a signature");
}

#[test]
fn what_a_dead_process_left_in_a_folder_is_removed() {
    let folder = Folder::new();
    let account = folder.path("kept").join("1");
    std::fs::create_dir_all(&account).expect("a folder");
    std::fs::write(account.join("4294967297-00ff#3"), b"half").expect("a file");
    std::fs::write(account.join("4294967297-00ff"), b"whole").expect("a file");
    let place = folder.path("kept").display().to_string();
    let server = Server::start(&folder.path("data"), &["--engine", "none", "--recordings", &place]);
    assert_eq!(files(&folder.path("kept")), [account.join("4294967297-00ff")]);
    assert_eq!(mode(&folder.path("kept")), 0o700, "it is closed to others");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn places_that_are_none_are_named() {
    let folder = Folder::new();
    for (place, says) in [("https://a.example", "no place for recordings"), ("s3://", "need a bucket")] {
        let output =
            crate::server::run(&["serve", "--data", &folder.path("x").display().to_string(), "--recordings", place]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(says), "{said}");
    }
    let server = Server::start(&folder.path("data"), &["--engine", "none", "--recordings", "off"]);
    let calls = Calls::of(&server, 1);
    let (status, body) = calls.upload(0, b"RIFF");
    assert!(
        status == 501 && body["message"].as_str().is_some_and(|says| says.contains("keeps no recordings")),
        "{body}"
    );
}

#[test]
fn sealed_recordings_are_encrypted_and_a_change_is_told() {
    let folder = Folder::new();
    let (data, key) = (folder.path("data"), new_key().expect("randomness"));
    let environment = [("SWITCHBOARD_SEAL_KEYS", &*key)];
    let server = Server::start_logging(&data, &ARGUMENTS, &environment, std::process::Stdio::null());
    let calls = Calls::of(&server, 5);
    plays_any_part(&calls);
    let whole = audio(200_000, 5);
    let url = calls.keep(0, &whole);
    wait("what was replaced is deleted", || files(&data.join("recordings")).len() == 5);
    let file = files(&data.join("recordings"))
        .into_iter()
        .find(|path| path.to_string_lossy().contains(&format!("/{}-", calls.ids[0])));
    let file = file.expect("its file");
    let stored = std::fs::read(&file).expect("a file");
    assert_eq!(stored.len(), 200_000 + 4 * 16);
    assert!(!stored.windows(32).any(|window| window == &whole[1_000..1_032]), "nothing is in clear");
    let mut changed = stored.clone();
    changed[150_000] ^= 1;
    std::fs::write(&file, &changed).expect("a file");
    assert_eq!(range(&url, 131_072, 199_999).0, 502, "the third chunk");
    assert_eq!(range(&url, 0, 100_000), (206, whole[..=100_000].to_vec()), "the first two");
    std::fs::write(&file, &stored[..stored.len() - 1]).expect("a file");
    assert_eq!(range(&url, 199_000, 199_999).0, 502, "cut off");
    std::fs::write(&file, [&stored[65_552..131_104], &stored[..65_552], &stored[131_104..]].concat()).expect("a file");
    assert_eq!(range(&url, 0, 9).0, 502, "two chunks swapped");
    std::fs::write(&file, &stored).expect("a file");
    assert_eq!(send("GET", &url, "", &[], []).2, whole);
    std::fs::remove_file(&file).expect("a file");
    assert_eq!(send("GET", &url, "", &[], []).0, 404);
    assert_eq!(server.stop(), Some(0));
    // Another seal key, and the old one beside it: recordings stay as they are.
    let keys = format!("{} {key}", new_key().expect("randomness"));
    let environment = [("SWITCHBOARD_SEAL_KEYS", &*keys)];
    let server = Server::start_logging(&data, &ARGUMENTS, &environment, std::process::Stdio::null());
    let shown = call("GET", &format!("{}/user/calls/{}", server.text("url"), calls.ids[4]), &calls.key, None).1;
    let url = shown["recording_url"].as_str().expect("a URL");
    assert_eq!(range(url, 5_000_000, 5_000_099).1, audio(11_000_000, 11_000_077)[5_000_000..5_000_100]);
}

#[test]
fn a_bucket_keeps_recordings_and_its_faults_leave_nothing() {
    let bucket = Bucket::start(|method, target, before| match (method, before) {
        // The first try of each part and of each read fails in its own way.
        ("PUT", 0) if target.contains("partNumber=1&") => Fault::Fails,
        ("PUT", 0) if target.contains("partNumber=2&") => Fault::Breaks,
        ("GET", 0) => Fault::Fails,
        ("GET", 3) => Fault::Slow,
        _ => Fault::None,
    });
    let folder = Folder::new();
    let arguments = ["--engine", "none", "--recordings", "s3://kept/calls"];
    let server =
        Server::start_logging(&folder.path("data"), &arguments, &bucket.environment(), std::process::Stdio::null());
    let calls = Calls::of(&server, 5);
    plays_any_part(&calls);
    let names: Vec<String> = bucket.kept().objects.keys().cloned().collect();
    assert!(names.len() == 5 && names.iter().all(|name| name.starts_with("/kept/calls/1/")), "{names:?}");
    assert!(bucket.kept().uploads.is_empty());
    calls.delete(0);
    wait("what was deleted is gone", || bucket.kept().objects.len() == 4);
    assert!(!folder.path("data").join("recordings").exists());
}

#[test]
fn a_bucket_that_does_not_answer_is_told_and_keeps_no_half() {
    let broken = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_broken = std::sync::Arc::clone(&broken);
    let bucket = Bucket::start(move |method, target, _| {
        let fails = is_broken.load(std::sync::atomic::Ordering::SeqCst);
        if fails && (method == "GET" || target.contains("partNumber=2")) { Fault::Fails } else { Fault::None }
    });
    let folder = Folder::new();
    let arguments = ["--engine", "none", "--recordings", "s3://kept"];
    let server =
        Server::start_logging(&folder.path("data"), &arguments, &bucket.environment(), std::process::Stdio::null());
    let calls = Calls::of(&server, 2);
    let (status, body) = calls.upload(0, &audio(12_000_000, 3));
    assert!(status == 502 && body["message"].is_string(), "{status} {body}");
    wait("the upload is called off", || bucket.kept().uploads.is_empty() && bucket.kept().objects.is_empty());
    let small = calls.keep(1, b"RIFF");
    assert_eq!(send("GET", &small, "", &[], []).0, 502);
    broken.store(false, std::sync::atomic::Ordering::SeqCst);
    let (status, _, body) = send("GET", &small, "", &[], []);
    assert_eq!((status, &*body), (200, &b"RIFF"[..]));
    calls.keep(0, &audio(12_000_000, 3));
    assert_eq!(bucket.kept().objects.len(), 2);
}

/// Sends a head and the beginning of a body.
fn begin(calls: &Calls, at: usize, length: usize, body: &[u8]) -> TcpStream {
    let address = calls.url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a timeout");
    let (call, engine) = (calls.ids[at], &calls.engine);
    let head = format!(
        "PUT /engine/calls/{call}/recording HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {engine}\r\nContent-Type: audio/ogg\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).expect("a beginning");
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn uploads_are_bounded_cut_off_and_leave_nothing() {
    let folder = Folder::new();
    let data = folder.path("data");
    let server = Server::start(&data, &ARGUMENTS);
    let calls = Calls::of(&server, 1);
    let kept = data.join("recordings");
    let large = begin(&calls, 0, (256 << 20) + 1, b"");
    assert!(answer(large).starts_with("HTTP/1.1 413"), "by its length alone");
    let gone = begin(&calls, 0, 5_000_000, &audio(3_000_000, 1));
    wait("an upload is under way", || !files(&kept).is_empty());
    drop(gone);
    wait("one that breaks off leaves nothing", || files(&kept).is_empty());
    let slow = begin(&calls, 0, 5_000_000, &audio(100_000, 1));
    let said = answer(slow);
    assert!(said.starts_with("HTTP/1.1 400") && said.contains("broke off"), "{said}");
    wait("one that is too slow leaves nothing", || files(&kept).is_empty());
    let shown = call("GET", &format!("{}/user/calls/{}", calls.url, calls.ids[0]), &calls.key, None).1;
    assert!(shown["recording_url"].is_null());
    calls.keep(0, b"RIFF");
}

#[test]
fn an_account_has_a_share_of_the_uploads() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &ARGUMENTS);
    let share = usize::try_from(RECORDING_UPLOADS.account).expect("a share");
    let calls = Calls::of(&server, RECORDING_UPLOADS.account + RECORDING_UPLOADS.waiting_each + 1);
    let mut held: Vec<TcpStream> = (0..share).map(|at| begin(&calls, at, 2_000_000, &audio(100_000, 7))).collect();
    let metrics = || {
        let (_, _, text) = send("GET", &format!("{}/metrics", calls.url), server.text("admin_token"), &[], []);
        String::from_utf8_lossy(&text).into_owned()
    };
    let used = |name: &str, count: usize| {
        metrics().contains(&format!("switchboard_budget_{name}{{budget=\"recording_uploads\"}} {count}\n"))
    };
    wait("the share is used up", || used("used", share));
    let waiting = usize::try_from(RECORDING_UPLOADS.waiting_each).expect("a number");
    held.extend((share..share + waiting).map(|at| begin(&calls, at, 4, b"RIFF")));
    wait("others wait", || used("waiting", waiting));
    let refused = begin(&calls, share + waiting, 4, b"RIFF");
    assert!(answer(refused).starts_with("HTTP/1.1 429"), "the queue is full");
    // Whoever stalls is cut off, and those who wait have their turn.
    let answers: Vec<String> = held.into_iter().map(answer).collect();
    let of = |status: &str| answers.iter().filter(|said| said.starts_with(&format!("HTTP/1.1 {status}"))).count();
    assert_eq!((of("400"), of("201") + of("429")), (share, waiting), "{answers:?}");
    wait("no place is held", || used("used", 0));
}

#[test]
fn an_address_has_a_share_of_the_downloads() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &ARGUMENTS);
    let calls = Calls::of(&server, 1);
    let url = calls.keep(0, &audio(30_000_000, 9));
    let target = url.strip_prefix(&calls.url).expect("a path");
    let open = || {
        let mut stream = TcpStream::connect(calls.url.trim_start_matches("http://")).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a timeout");
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).expect("a request");
        let mut head = [0; 12];
        stream.read_exact(&mut head).expect("an answer");
        (stream, String::from_utf8_lossy(&head[9..]).into_owned())
    };
    let held: Vec<(TcpStream, String)> = (0..=RECORDING_DOWNLOADS.address).map(|_| open()).collect();
    let served = held.iter().filter(|(_, status)| status == "200").count() as u64;
    assert!(held.iter().all(|(_, status)| status == "200" || status == "429"));
    assert!((RECORDING_DOWNLOADS.address / 2..=RECORDING_DOWNLOADS.address).contains(&served), "{served}");
    drop(held);
    wait("places are free again", || open().1 == "200");
}
