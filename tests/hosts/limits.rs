//! Bodies that are too large, cut off or slow, and heads that never end.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_core::budget::ADMIN_CONNECTIONS;

use crate::outside::listen;
use crate::server::{Folder, Server, call, send};

fn talk(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(40))).expect("a timeout");
    // The server may close after refusing: its response counts, not the failed write.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn bodies_are_bounded_and_nobody_without_a_token_is_read() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let key = server.text("api_key");
    let head = |token: &str, length: usize| {
        format!(
            "POST /user/tools HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        )
    };
    let large = [head(key, 3 << 20).into_bytes(), vec![b' '; 3 << 20]].concat();
    assert!(talk(&address, &large).starts_with("HTTP/1.1 413"), "a body over the limit");
    let nobody = [head("nobody", 3 << 20).into_bytes(), vec![b' '; 3 << 20]].concat();
    assert!(talk(&address, &nobody).starts_with("HTTP/1.1 401"), "a stranger's body");
    let chunked = format!(
        "POST /user/tools HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n"
    );
    let chunked = [chunked.into_bytes(), vec![b' '; 0x0020_0000], b"\r\n0\r\n\r\n".to_vec()].concat();
    assert!(talk(&address, &chunked).starts_with("HTTP/1.1 413"), "a body that does not tell its length");
    let mut stream = TcpStream::connect(&address).expect("a connection");
    stream.write_all(head(key, 100).as_bytes()).expect("a head");
    stream.write_all(b"{\"name\":").expect("half a body");
    stream.shutdown(std::net::Shutdown::Write).expect("the other half never comes");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    let listed = talk(
        &address,
        format!("GET /user/tools HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n")
            .as_bytes(),
    );
    assert!(listed.ends_with("[]"), "nothing was stored: {listed}");
}

#[test]
fn a_head_that_never_ends_is_cut_off_while_others_are_served() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let slow: Vec<TcpStream> = (0..50)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ").expect("half a head");
            stream
        })
        .collect();
    let healthy = talk(&address, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert!(healthy.starts_with("HTTP/1.1 200"), "{healthy}");
    for mut stream in slow {
        stream.set_read_timeout(Some(Duration::from_secs(40))).expect("a timeout");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the server closes it");
    }
}

#[test]
fn an_endless_head_is_refused() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let head = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(64 << 10));
    let answer = talk(&address, head.as_bytes());
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let target = format!("GET /user/calls?a={} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "x".repeat(9 << 10));
    assert!(talk(&address, target.as_bytes()).starts_with("HTTP/1.1 414"));
}

#[test]
fn large_bodies_that_do_not_come_keep_nobody_waiting() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let url = server.text("url").to_owned();
    let address = url.trim_start_matches("http://").to_owned();
    let other = server.second_account();
    let [key, other] = [server.text("api_key"), &other].map(|key| {
        let made = call("POST", &format!("{url}/user/knowledgebases"), key, Some(&json!({ "name": "K" })));
        assert_eq!(made.0, 201);
        (key, made.1["data"]["id"].clone())
    });
    let head = |(key, base): &(&str, Value)| {
        format!(
            "POST /user/knowledgebases/{base}/documents HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\nContent-Type: multipart/form-data; boundary=xx\r\nContent-Length: 2000000\r\n\r\n"
        )
    };
    let whole = |owner| [head(owner).into_bytes(), vec![b' '; 2_000_000]].concat();
    let held: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(head(&key).as_bytes()).expect("a head");
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    assert_eq!(call("GET", &format!("{url}/user/me"), key.0, None).0, 200, "what is small goes on");
    for owner in [&key, &other] {
        let answer = talk(&address, &whole(owner));
        assert!(answer.starts_with("HTTP/1.1 400"), "a head alone takes no place: {answer}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
    drop(held);
}

#[test]
fn an_account_with_all_the_streams_it_may_have_leaves_others_theirs() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--rate-limit", "0"]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let (key, other) = (server.text("api_key"), server.second_account());
    let listen = |key: &str| {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        let head = format!(
            "GET /user/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer {key}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).expect("a request");
        let mut status = [0; 12];
        stream.read_exact(&mut status).expect("an answer");
        (String::from_utf8_lossy(&status).into_owned(), stream)
    };
    let mut held: Vec<TcpStream> = (0..256)
        .map(|number| {
            let (status, stream) = listen(key);
            assert_eq!(status, "HTTP/1.1 200", "stream {number}");
            stream
        })
        .collect();
    assert_eq!(listen(key).0, "HTTP/1.1 429", "its share is used up");
    assert_eq!(listen(&other).0, "HTTP/1.1 200", "another account has room");
    drop(held.split_off(128));
    let patience = Instant::now() + Duration::from_mins(1);
    while listen(key).0 != "HTTP/1.1 200" {
        assert!(Instant::now() < patience, "those that left keep their places");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn logins_are_limited_by_pair_and_by_address() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let login = |email: &str| {
        let body = json!({ "email": email, "password": "wrong" }).to_string();
        let json = [("content-type", "application/json")];
        let (status, headers, _) = send("POST", &format!("{}/user/login", server.text("url")), "", &json, &body);
        assert!(status == 401 || (status == 429 && headers.contains("retry-after")), "{status} {headers}");
        status == 429
    };
    let refused = |email: &str, tries: usize| (0..tries).filter(|_| login(email)).count();
    assert_eq!(refused("one@localhost", 5), 0, "five a minute of a pair");
    assert!(refused("one@localhost", 3) > 0, "and no more");
    assert_eq!(refused("two@localhost", 5), 0, "another pair has its own");
    assert!(refused("three@localhost", 5) + refused("four@localhost", 5) > 0, "twenty a minute of an address");
}

#[test]
fn addresses_of_one_ipv6_network_count_as_one() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none", "--trust-proxy", "127.0.0.0/8"]);
    let url = format!("{}/user/login", server.text("url"));
    let refused = |address: &dyn Fn(usize) -> String| {
        let login = |number: usize| {
            let body = json!({ "email": format!("{number}@localhost"), "password": "wrong" }).to_string();
            let headers = [("content-type", "application/json"), ("x-forwarded-for", &address(number))];
            send("POST", &url, "", &headers, &body).0
        };
        (0..25).map(login).filter(|status| *status == 429).count()
    };
    assert!(refused(&|number| format!("2001:db8:0:1::{number:x}")) > 0, "twenty a minute of a /64");
    assert_eq!(refused(&|number| format!("2001:db8:1:{number:x}::1")), 0, "each /64 has its own");
}

/// Creates `count` assistants of about a mebibyte.
fn large_assistants(url: &str, key: &str, count: usize) {
    let prompt = "x".repeat(1_000_000);
    for number in 0..count {
        let body = json!({
            "name": format!("Large {number}"), "voice_id": 1, "language_id": 1, "type": "outbound", "mode": "pipeline",
            "timezone": "Etc/UTC", "llm_model_id": 1, "initial_message": "Hello.", "system_prompt": prompt,
        });
        assert_eq!(call("POST", &format!("{url}/user/assistant"), key, Some(&body)).0, 201);
    }
}

#[test]
fn a_long_list_is_written_as_it_is_taken() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--rate-limit", "0", "--engine", "none"]);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    large_assistants(&url, &key, 24);
    let (status, head, bytes) = send("GET", &format!("{url}/user/assistants"), &key, &[], "");
    let rows: Vec<Value> = serde_json::from_slice(&bytes).expect("one array");
    assert_eq!((status, rows.len()), (200, 24));
    assert!(!head.contains("etag") && !head.contains("content-length"), "{head}");
    // Four clients that do not read use up the account's share of such lists; a fifth is refused.
    let address = url.trim_start_matches("http://").to_owned();
    let ask = format!("GET /user/assistants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
    let waits: Vec<TcpStream> = (0..4)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(ask.as_bytes()).expect("a request");
            let mut first = [0; 12];
            stream.read_exact(&mut first).expect("an answer begins");
            assert_eq!(&first, b"HTTP/1.1 200");
            stream
        })
        .collect();
    let (status, head, body) = send("GET", &format!("{url}/user/assistants"), &key, &[], "");
    let told: Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((status, &told["retry_after"]), (429, &json!(1)), "{told}");
    assert!(head.contains("retry-after"), "{head}");
    assert_eq!(call("GET", &format!("{url}/user/me"), &key, None).0, 200, "short answers go on");
    let other = server.second_account();
    assert_eq!(call("GET", &format!("{url}/user/assistants"), &other, None).0, 200, "and so do others' lists");
    drop(waits);
    let patience = Instant::now() + Duration::from_secs(20);
    while call("GET", &format!("{url}/user/assistants"), &key, None).0 != 200 {
        assert!(Instant::now() < patience, "the places are free again");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns how often a share of a budget was used up, from the metrics.
fn refused(server: &Server, budget: &str, share: &str) -> u64 {
    let (_, _, text) = send("GET", &format!("{}/metrics", server.text("url")), server.text("admin_token"), &[], "");
    let text = String::from_utf8(text).expect("text");
    let name = format!("switchboard_budget_refused_total{{budget=\"{budget}\",share=\"{share}\"}} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_else(|| panic!("no {name} in {text}"));
    value.parse().expect("a number")
}

#[test]
fn answers_that_nobody_takes_use_up_a_share() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--rate-limit", "0", "--engine", "none"]);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    large_assistants(&url, &key, 1);
    let address = url.trim_start_matches("http://").to_owned();
    // The socket buffers take a few of a connection's responses; the next is held until it can be sent.
    let ask = format!("GET /user/assistant/1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n").repeat(12);
    let untaken: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(ask.as_bytes()).expect("requests");
            stream
        })
        .collect();
    let patience = Instant::now() + Duration::from_mins(1);
    while refused(&server, "answers", "account") == 0 {
        assert!(Instant::now() < patience, "forty hold a megabyte each");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (status, told) = call("GET", &format!("{url}/user/me"), &key, None);
    assert_eq!(status, 200, "short answers go on: {told}");
    let other = server.second_account();
    large_assistants(&url, &other, 1);
    assert_eq!(call("GET", &format!("{url}/user/assistants"), &other, None).0, 200, "and so do others'");
    drop(untaken);
}

#[test]
fn the_operators_own_address_has_room_for_so_many() {
    let folder = Folder::new();
    let free = listen(Ipv4Addr::LOCALHOST.into()).local_addr().expect("an address").to_string();
    let server = Server::start(&folder.path("data"), &["--engine", "none", "--admin-listen", &free]);
    let share = usize::try_from(ADMIN_CONNECTIONS.address).expect("a few");
    let ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    let held: Vec<TcpStream> = (0..share)
        .map(|_| {
            let mut stream = TcpStream::connect(&free).expect("a connection");
            stream.write_all(ask).expect("a request");
            let mut status = [0; 12];
            stream.read_exact(&mut status).expect("an answer");
            stream
        })
        .collect();
    let refused = talk(&free, ask);
    assert!(refused.starts_with("HTTP/1.1 429"), "none of them has been idle for long: {refused}");
    assert!(refused.ends_with("\"retry_after\":1}"), "{refused}");
    let (status, _) = call("GET", &format!("{}/healthz", server.text("url")), "", None);
    assert_eq!(status, 200, "users have an address of their own");
    drop(held);
}

#[test]
fn a_request_over_http_1_1_has_one_host() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    for (head, status) in [
        ("GET /healthz HTTP/1.1\r\nHost: x\r\n", "200"),
        ("GET /healthz HTTP/1.1\r\n", "400"),
        ("GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n", "400"),
        ("GET /healthz HTTP/1.0\r\n", "200"),
    ] {
        let answer = talk(&address, format!("{head}Connection: close\r\n\r\n").as_bytes());
        assert!(answer.split(' ').nth(1) == Some(status), "{head:?}: {answer}");
    }
}

#[test]
fn an_upload_that_falls_silent_makes_room() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--rate-limit", "0", "--engine", "none"]);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let address = url.trim_start_matches("http://").to_owned();
    let head = format!(
        "POST /user/do-not-call/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: text/csv\r\nContent-Length: 60000000\r\n\r\n"
    );
    // More uploads than an account may have; each has sent more than a mebibyte.
    let begun: Vec<TcpStream> = (0..6)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(head.as_bytes()).expect("a head");
            stream.set_write_timeout(Some(Duration::from_secs(2))).expect("a timeout");
            let _ = stream.write_all(&vec![b'x'; 1_200_000]);
            stream
        })
        .collect();
    let csv = format!("phone_number\n{}", "+40700000001\n".repeat(100_000));
    let began = Instant::now();
    let other = server.second_account();
    let (status, _, body) =
        send("POST", &format!("{url}/user/do-not-call/import"), &other, &[("content-type", "text/csv")], &csv);
    assert_eq!(status, 202, "a neighbour's file: {}", String::from_utf8_lossy(&body));
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
    drop(begun);
}
