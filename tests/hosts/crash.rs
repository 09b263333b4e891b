//! What was acknowledged outlives a kill; a drain lets requests finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_tests::house::assistant;

use crate::server::{Folder, Server, call, run};

/// Kills of one run.
const KILLS: usize = 5;
/// Clients that write meanwhile.
const CLIENTS: usize = 4;

/// Creates assistants until the server is gone; gives the ids that were acknowledged.
fn create(url: &str, key: &str, done: &AtomicBool) -> Vec<u64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = switchboard::send::client().expect("TLS").build().expect("a client");
        let body = assistant().to_string();
        let mut ids = Vec::new();
        while !done.load(Ordering::Relaxed) {
            let request = client.post(format!("{url}/user/assistant")).bearer_auth(key).body(body.clone());
            let Ok(reply) = request.header("content-type", "application/json").send().await else { break };
            let status = reply.status().as_u16();
            let Ok(bytes) = reply.bytes().await else { break };
            let json: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            match status {
                201 => ids.push(json["data"]["id"].as_u64().expect("an id")),
                // The plan is full: there is nothing more to create.
                403 => break,
                other => panic!("{other}: {json}"),
            }
        }
        ids
    })
}

#[test]
fn no_acknowledged_write_is_lost_when_the_server_is_killed() {
    let folder = Folder::new();
    let data = folder.path("data");
    let server = Server::start(&data, &["--rate-limit", "0"]);
    let key = server.text("api_key").to_owned();
    server.kill();
    let mut acknowledged = Vec::new();
    for kill in 0..KILLS {
        let server = Server::start(&data, &["--rate-limit", "0"]);
        let (url, done) = (server.text("url").to_owned(), Arc::new(AtomicBool::new(false)));
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                let (url, key, done) = (url.clone(), key.clone(), Arc::clone(&done));
                std::thread::spawn(move || create(&url, &key, &done))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(40 + 37 * kill as u64));
        server.kill();
        done.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| acknowledged.extend(client.join().expect("a client")));
    }
    let server = Server::start(&data, &["--rate-limit", "0"]);
    let (status, all) = call("GET", &format!("{}/user/assistants", server.text("url")), &key, None);
    assert_eq!(status, 200);
    let kept: std::collections::BTreeSet<u64> =
        all.as_array().expect("a list").iter().filter_map(|row| row["id"].as_u64()).collect();
    assert!(!acknowledged.is_empty(), "nothing was written");
    let lost: Vec<&u64> = acknowledged.iter().filter(|id| !kept.contains(id)).collect();
    assert!(lost.is_empty(), "lost {lost:?} of {}", acknowledged.len());
    assert_eq!(server.stop(), Some(0));
    let verified = run(&["verify", data.to_str().expect("a path")]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
}

#[test]
fn a_stop_lets_a_running_request_finish_and_takes_nothing_new() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let login = json!({ "email": server.text("email"), "password": server.text("password") });
    // A login hashes for a while: it is under way when the stop comes.
    let address = url.clone();
    let running = std::thread::spawn(move || call("POST", &format!("{address}/user/login"), &key, Some(&login)));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(server.stop(), Some(0));
    let (status, json) = running.join().expect("a client");
    assert_eq!(status, 200, "{json}");
    let refused = std::net::TcpStream::connect(url.trim_start_matches("http://"));
    assert!(refused.is_err(), "nothing listens any more");
}
