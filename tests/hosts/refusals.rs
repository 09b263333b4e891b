//! Refusals by the host itself, for every operation: heads that are malformed or too large, and connections beyond the
//! budget. `tests/api` covers the refusals by a step.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use switchboard_core::http::cause::Cause;
use switchboard_core::http::route::Route;
use switchboard_core::service::causes;
use switchboard_core::service::routes::ROUTES;

use crate::server::{Folder, Server};

/// Fewest connections that an address may have.
const SHARE: usize = 64;
/// More headers than the server accepts, in fewer bytes than it reads at once.
const HEADERS: usize = 200;

/// Sends a head of this operation with these lines; returns the response's status.
fn status(address: &str, route: &Route, lines: &str) -> u16 {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(40))).expect("a timeout");
    let path = route.paths[0].replace(['{', '}'], "");
    let head = format!("{} {path} HTTP/1.1\r\nConnection: close\r\n{lines}\r\n", route.method.name());
    // A server without room for the connection answers before it reads.
    let _ = stream.write_all(head.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("{}: {answer}", route.id))
}

/// Checks that every operation whose host refuses for `cause` refuses these lines.
fn refuses(address: &str, cause: Cause, lines: &str) {
    let mut count = 0;
    for route in ROUTES.iter().filter(|route| causes::of(route).contains(&cause)) {
        assert_eq!(status(address, route, lines), cause.status(), "{}", route.id);
        count += 1;
    }
    assert_eq!(count, ROUTES.len(), "every operation documents it");
}

#[test]
fn every_operation_refuses_a_head_that_is_malformed_or_too_large() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    refuses(&address, Cause::Malformed, "Host: x\r\nHost: y\r\n");
    refuses(&address, Cause::HeadTooLarge, &format!("Host: x\r\n{}", "a: b\r\n".repeat(HEADERS)));
}

#[test]
fn every_operation_is_refused_while_there_is_no_room_for_connections() {
    let folder = Folder::new();
    let few = SHARE.to_string();
    let server = Server::start(&folder.path("data"), &["--engine", "none", "--max-connections", &few]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    let key = server.text("api_key");
    // Streams are never idle, so none of them is closed to make room.
    let ask = format!(
        "GET /user/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer {key}\r\n\r\n"
    );
    let held: Vec<TcpStream> = (0..SHARE)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("a connection");
            stream.write_all(ask.as_bytes()).expect("a request");
            let mut first = [0; 12];
            stream.read_exact(&mut first).expect("an answer");
            stream
        })
        .collect();
    refuses(&address, Cause::Busy, "Host: x\r\n");
    drop(held);
}
