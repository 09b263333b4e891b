//! A stop drains the server: requests under way finish.

use std::time::Duration;

use serde_json::json;

use crate::server::{Folder, Server, call};

#[test]
fn a_stop_lets_a_running_request_finish_and_takes_nothing_new() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let login = json!({ "email": server.text("email"), "password": server.text("password") });
    // Hashing makes a login slow enough to be under way when the stop comes.
    let address = url.clone();
    let running = std::thread::spawn(move || call("POST", &format!("{address}/user/login"), &key, Some(&login)));
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(server.stop(), Some(0));
    let (status, json) = running.join().expect("a client");
    assert_eq!(status, 200, "{json}");
    let refused = std::net::TcpStream::connect(url.trim_start_matches("http://"));
    assert!(refused.is_err(), "nothing listens any more");
}
