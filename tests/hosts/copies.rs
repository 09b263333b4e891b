//! Stores that are copied between data folders and backups: the same rows, byte for byte, or nothing at all.

use std::path::Path;

use serde_json::{Value, json};
use switchboard::backup::{BackupWriter, RowsDigest};
use switchboard_tests::house::{assistant, tool, with};

use crate::server::{Folder, Server, call, run};

const HEADER: &str = "marker-of-a-copied-tools-header";
/// What a refused copy says of its target.
const UNTOUCHED: &str = "nothing was copied, and the target is as it was: ";

fn path(folder: &Folder, name: &str) -> String {
    folder.path(name).to_str().expect("a path").to_owned()
}

/// Copies a store; returns what it said of both sides.
fn copy(from: &str, to: &str) -> Value {
    let output = run(&["copy", from, to, "--json"]);
    assert!(output.status.success(), "{from} {to}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Returns what a copy that is refused says.
fn refusal(from: &str, to: &str) -> String {
    let output = run(&["copy", from, to]);
    assert!(!output.status.success(), "{from} {to}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Fills a data folder, sealed if keys are given; returns the API key of its account.
fn filled(data: &str, seal: &[&str]) -> String {
    let server = Server::start(Path::new(data), &[&["--engine", "none"], seal].concat());
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    assert_eq!(call("POST", &format!("{url}/user/assistant"), &key, Some(&assistant())).0, 201);
    let headers = json!({ "headers": [{ "name": "x-key", "value": HEADER }] });
    for name in ["one", "two", "three"] {
        assert_eq!(call("POST", &format!("{url}/user/tools"), &key, Some(&with(tool(name), &headers))).0, 201);
    }
    assert_eq!(server.stop(), Some(0));
    key
}

fn bytes(file: &str) -> Vec<u8> {
    std::fs::read(file).expect("a file")
}

#[test]
fn a_store_goes_into_a_backup_and_comes_back() {
    let folder = Folder::new();
    let [data, first, second, third, back, beside] =
        ["data", "first.swbk", "second.swbk", "third.swbk", "back/", "beside/"].map(|name| path(&folder, name));
    let key = filled(&data, &[]);
    let told = copy(&data, &first);
    let backup = bytes(&first);
    let digest = RowsDigest { rows: 0, sha256: *backup.last_chunk().expect("a digest") }.hex();
    assert_eq!((&told["from"]["sha256"], &told["to"]["sha256"]), (&json!(digest), &json!(digest)));
    assert_eq!((&told["from"]["store"], &told["to"]["store"]), (&json!(data), &json!(first)));
    assert!(told["from"]["rows"].as_u64().is_some_and(|rows| rows > 20) && told["from"]["rows"] == told["to"]["rows"]);
    for (from, to) in [(&first, &back), (&data, &beside), (&back, &second), (&second, &third)] {
        assert_eq!(copy(from, to)["to"]["sha256"], json!(digest), "{from} {to}");
    }
    assert!(backup == bytes(&second) && backup == bytes(&third), "the same rows make the same backup");
    for store in [&back, &beside] {
        assert!(run(&["verify", store]).status.success(), "{store}");
        let server = Server::start(Path::new(store.trim_end_matches('/')), &["--engine", "none"]);
        assert_eq!(call("GET", &format!("{}/user/assistant/1", server.text("url")), &key, None).0, 200);
    }
    let text = run(&["copy", &first, &path(&folder, "fourth.swbk")]);
    let said = String::from_utf8_lossy(&text.stdout);
    assert_eq!(said.matches(&format!("rows, SHA-256 {digest}")).count(), 2, "{said}");
}

#[test]
fn what_is_sealed_stays_sealed_and_needs_its_key() {
    let folder = Folder::new();
    let [data, file, back, beside, seal] =
        ["data", "a.swbk", "back/", "beside/", "seal.key"].map(|name| path(&folder, name));
    assert!(run(&["seal-key", &seal]).status.success());
    let with_key = ["--seal-key-file", seal.as_str()];
    let key = filled(&data, &with_key);
    for (from, to) in [(&data, &file), (&file, &back), (&data, &beside)] {
        copy(from, to);
    }
    assert!(!bytes(&file).windows(HEADER.len()).any(|window| window == HEADER.as_bytes()), "a backup stays sealed");
    for store in [&back, &beside] {
        let output = run(&["serve", "--listen", "127.0.0.1:0", "--data", store]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("it is sealed with key ") && said.contains(", which was not given"), "{said}");
        assert!(run(&[&["verify", store], &with_key[..]].concat()).status.success());
        let server =
            Server::start(Path::new(store.trim_end_matches('/')), &[&["--engine", "none"], &with_key[..]].concat());
        let (status, tools) = call("GET", &format!("{}/user/tools/1", server.text("url")), &key, None);
        assert!(status == 200 && tools.to_string().contains(HEADER), "{tools}");
    }
}

#[test]
fn what_cannot_be_copied_is_said() {
    let folder = Folder::new();
    let [data, full, file, empty] = ["data", "full", "a.swbk", "empty"].map(|name| path(&folder, name));
    filled(&data, &[]);
    std::fs::create_dir(&full).expect("a folder");
    std::fs::write(folder.path("full/note"), "mine").expect("a file");
    std::fs::create_dir(&empty).expect("a folder");
    std::fs::write(&file, "mine").expect("a file");
    let [new, inside, nowhere] = ["new/", "none/a.swbk", "nowhere"].map(|name| path(&folder, name));
    for (from, to, says) in [
        (&data, &full, format!("the folder cannot be filled: {full}: it is not empty")),
        (&data, &file, format!("{file} is there already")),
        (&data, &inside, "none/a.swbk: No such file".into()),
        (&data, &nowhere, format!("{nowhere}: say what it is to be: a data folder ends in / (DIR/)")),
        (&nowhere, &new, format!("{nowhere}: No such file or directory (os error 2); a store is a data folder, ")),
        (&empty, &new, "holds no store".into()),
        (&file, &new, format!("{UNTOUCHED}the backup cannot be read: it is not a backup")),
    ] {
        let said = refusal(from, to);
        assert!(said.contains(&says), "{from} {to}: {said}");
    }
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "mine");
    assert!(!folder.path("new").exists() && !folder.path("none").exists());
    assert_eq!(std::fs::read_dir(&empty).expect("a folder").count(), 0, "it was only looked into");
    assert_eq!(std::fs::read_dir(&full).expect("a folder").count(), 1);
    let server = Server::start(Path::new(&data), &["--engine", "none"]);
    assert!(refusal(&data, &new).contains(&format!("another switchboard runs on {data}")));
    assert!(!folder.path("new").exists());
    assert_eq!(server.stop(), Some(0));
    // An empty folder that is there may be filled.
    copy(&data, &empty);
    assert!(run(&["verify", &empty]).status.success());
}

/// Returns a backup of these keys, in this order.
fn written(keys: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut backup = BackupWriter::begin(&mut bytes).expect("memory");
    keys.iter().for_each(|key| backup.put(key, b"value").expect("memory"));
    backup.end().expect("memory");
    bytes
}

#[test]
fn a_damaged_backup_leaves_nothing() {
    let folder = Folder::new();
    let [data, good, bad, other] = ["data", "good.swbk", "bad.swbk", "other.swbk"].map(|name| path(&folder, name));
    filled(&data, &[]);
    copy(&data, &good);
    let good = bytes(&good);
    let (middle, end) = (good.len() / 2, good.len());
    std::fs::create_dir(folder.path("empty")).expect("a folder");
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 0x40;
        bytes
    };
    let cases: [(Vec<u8>, &str); 11] = [
        (Vec::new(), "it is not a backup"),
        (flipped(0), "it is not a backup"),
        (good[..9].to_vec(), "it ends early"),
        (good[..middle].to_vec(), "it ends early"),
        (good[..end - 1].to_vec(), "it ends early"),
        // The length of the first key, as if it were a gigabyte.
        (flipped(9), "a row is larger than 64 MiB"),
        (flipped(end - 1), "its digest does not fit"),
        (flipped(end - 40), "its digest does not fit"),
        ([&good[..], &[0]].concat(), "something follows its end"),
        (written(&[b"b", b"a"]), "its rows are not in the order of their keys"),
        (written(&[b"a", b"a"]), "its rows are not in the order of their keys"),
    ];
    for (at, (damaged, says)) in cases.into_iter().enumerate() {
        std::fs::write(&bad, damaged).expect("a file");
        for to in ["new/inside/", "empty", "other.swbk"] {
            let said = refusal(&bad, &path(&folder, to));
            assert!(said.contains(UNTOUCHED) && said.contains(says), "{at} {to}: {said}");
        }
        assert!(!folder.path("new").exists() && !Path::new(&other).exists(), "{at}");
        assert_eq!(std::fs::read_dir(folder.path("empty")).expect("a folder").count(), 0, "{at}");
    }
    let left: Vec<_> =
        std::fs::read_dir(&folder.0).expect("a folder").map(|entry| entry.expect("an entry").file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("partial")), "{left:?}");
    // One byte anywhere is enough.
    for at in (10..end).step_by(end / 40) {
        std::fs::write(&bad, flipped(at)).expect("a file");
        assert!(refusal(&bad, &path(&folder, "new/")).contains(UNTOUCHED), "byte {at}");
        assert!(!folder.path("new").exists());
    }
}
