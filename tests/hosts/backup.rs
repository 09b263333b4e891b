//! Backups while the service is written to: each is a consistent snapshot, complete, and restores to the same rows.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::json;
use switchboard::store::Store;
use switchboard_core::key::{self, Key, Kind, Space};
use switchboard_tests::house::{tool, with};

use crate::server::{Folder, Server, call, run};

/// Clients that write during the backups.
const WRITERS: usize = 3;
/// Backups during the writes.
const BACKUPS: usize = 3;
/// Most tools of one writer: all together fit a plan.
const TOOLS_MAX: u64 = 300;

/// Creates tools named `w0_1`, `w0_2`, … one after the other until `over`; counts the acknowledged ones.
fn create(url: &str, key: &str, writer: usize, made: &AtomicU64, over: &AtomicBool) {
    for count in 1..=TOOLS_MAX {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let body = with(tool("probe"), &json!({ "description": format!("w{writer}_{count}") }));
        let (status, json) = call("POST", &format!("{url}/user/tools"), key, Some(&body));
        assert_eq!(status, 201, "{json}");
        made.store(count, Ordering::SeqCst);
    }
}

/// Returns all rows but the owner key's last use, which is recorded later.
fn rows(folder: &Path) -> Vec<(Key, Vec<u8>)> {
    let store = Store::existing(folder).expect("a store");
    let mut rows = store.whole().expect("a snapshot").stored(key::everything(), usize::MAX).expect("rows");
    rows.retain(|(at, _)| *at != key::used(Space::Account(0), Kind::ApiKey, 1));
    rows
}

#[test]
fn a_backup_under_load_is_one_moment() {
    let folder = Folder::new();
    let data = folder.path("data");
    let server = Server::start(&data, &["--rate-limit", "0", "--engine", "none"]);
    let (url, key, token) =
        (server.text("url").to_owned(), server.text("api_key").to_owned(), server.text("admin_token").to_owned());
    let (made, over) = (Arc::new([const { AtomicU64::new(0) }; WRITERS]), Arc::new(AtomicBool::new(false)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (url, key, made, over) = (url.clone(), key.clone(), Arc::clone(&made), Arc::clone(&over));
            std::thread::spawn(move || create(&url, &key, writer, &made[writer], &over))
        })
        .collect();
    let backup = |file: &Path| {
        let saved = run(&["backup", file.to_str().expect("a path"), "--url", &url, "--admin-token", &token]);
        assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    };
    let counts = || made.each_ref().map(|count| count.load(Ordering::SeqCst));
    let mut taken = Vec::new();
    for number in 0..BACKUPS {
        std::thread::sleep(std::time::Duration::from_millis(150));
        let (file, before) = (folder.path(&format!("backup{number}")), counts());
        backup(&file);
        taken.push((file, before, counts()));
    }
    over.store(true, Ordering::Relaxed);
    writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
    let last = folder.path("last");
    backup(&last);
    assert_eq!(server.stop(), Some(0));

    let restore = |file: &Path, copy: &Path| {
        let (file, copy) = (file.to_str().expect("a path"), copy.to_str().expect("a path"));
        assert!(run(&["restore", file, copy]).status.success());
        let verified = run(&["verify", copy]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
    };
    for (number, (file, before, after)) in taken.iter().enumerate() {
        let copy = folder.path(&format!("copy{number}"));
        restore(file, &copy);
        let server = Server::start(&copy, &["--engine", "none"]);
        let (status, listed) = call("GET", &format!("{}/user/tools", server.text("url")), &key, None);
        assert_eq!(status, 200);
        let mut kept: BTreeMap<usize, BTreeSet<u64>> = BTreeMap::new();
        for tool in listed.as_array().expect("a list") {
            let name = tool["description"].as_str().and_then(|name| name.strip_prefix('w')).expect("a name");
            let (writer, count) = name.split_once('_').expect("writer and count");
            kept.entry(writer.parse().expect("a number")).or_default().insert(count.parse().expect("a number"));
        }
        for writer in 0..WRITERS {
            let kept = kept.remove(&writer).unwrap_or_default();
            let most = kept.last().copied().unwrap_or(0);
            assert_eq!(kept.len() as u64, most, "writer {writer}: no hole in what is kept");
            // One more may have been committed but not acknowledged yet.
            assert!((before[writer]..=after[writer] + 1).contains(&most), "{before:?} {most} {after:?}");
        }
    }
    assert!(taken.iter().any(|(_, before, after)| before != after), "somebody wrote during a backup");
    let copy = folder.path("copy");
    restore(&last, &copy);
    assert!(rows(&copy) == rows(&data), "the copy of a quiet store is that store");
}
