//! A stop drains the server: requests under way finish.

use std::sync::{Mutex, mpsc};

use serde_json::json;
use switchboard_tests::house::{tool, with};

use crate::outside::serve;
use crate::server::{Folder, Server, call};

#[test]
fn a_stop_lets_a_running_request_finish_and_takes_nothing_new() {
    let folder = Folder::new();
    let arguments = ["--egress-allow", "127.0.0.0/8", "--engine", "none"];
    let server = Server::start(&folder.path("data"), &arguments);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let (arrived, under_way) = mpsc::channel();
    let (stopped, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let endpoint = serve(move |_| {
        arrived.send(()).expect("the test runs");
        wait.lock().expect("one request").recv().expect("the test runs");
        (200, vec![], b"late".to_vec())
    });
    let probe = with(tool("probe"), &json!({ "endpoint": endpoint, "method": "POST", "timeout": 30 }));
    let made = server.ask("POST", "/user/tools", &key, Some(&probe));
    let running = std::thread::spawn({
        let path = format!("{url}/user/tools/{}/test", made["data"]["id"]);
        move || call("POST", &path, &key, Some(&json!({})))
    });
    under_way.recv().expect("the endpoint is asked");
    let stopping = std::thread::spawn(move || server.stop());
    let address = url.trim_start_matches("http://");
    while std::net::TcpStream::connect(address).is_ok() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    stopped.send(()).expect("the endpoint waits");
    let (status, json) = running.join().expect("a client");
    assert_eq!((status, &json["body"]), (200, &json!("late")), "{json}");
    assert_eq!(stopping.join().expect("it stops"), Some(0));
}
