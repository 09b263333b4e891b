//! Refusals by the host itself, for every operation: heads that are malformed or too large, and connections beyond the
//! budget. `tests/api` covers the refusals by a step.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
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

/// Requests at once where each waits for a connection: an address may have 16 that wait.
const WAITING: usize = 12;

/// Connects from `127.0.0.{from}`.
fn connect(address: &str, from: u8) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let connected = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(([127, 0, 0, from], 0).into())?;
        socket.connect(address.parse().expect("an address")).await
    });
    let stream = connected.and_then(tokio::net::TcpStream::into_std).expect("a connection");
    stream.set_nonblocking(false).expect("a stream that blocks");
    stream
}

/// Sends a head of this operation with these lines; returns the response's status.
fn status(address: &str, from: u8, route: &Route, lines: &str) -> u16 {
    let mut stream = connect(address, from);
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

/// Checks that every operation documents `cause`, and refuses these lines for it.
fn refuses(address: &str, from: u8, cause: Cause, lines: &str) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..WAITING {
            scope.spawn(|| {
                while let Some(route) = ROUTES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    assert!(causes::of(route).contains(&cause), "{} does not document it", route.id);
                    assert_eq!(status(address, from, route, lines), cause.status(), "{}", route.id);
                }
            });
        }
    });
}

#[test]
fn every_operation_refuses_a_head_that_is_malformed_or_too_large() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let address = server.text("url").trim_start_matches("http://").to_owned();
    refuses(&address, 1, Cause::Malformed, "Host: x\r\nHost: y\r\n");
    refuses(&address, 1, Cause::HeadTooLarge, &format!("Host: x\r\n{}", "a: b\r\n".repeat(HEADERS)));
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
            let mut stream = connect(&address, 2);
            stream.write_all(ask.as_bytes()).expect("a request");
            let mut first = [0; 12];
            stream.read_exact(&mut first).expect("an answer");
            stream
        })
        .collect();
    refuses(&address, 2, Cause::TooMany, "Host: x\r\n");
    refuses(&address, 1, Cause::Busy, "Host: x\r\n");
    drop(held);
}
