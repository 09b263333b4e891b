//! More connections than the limit: the excess ones are told so, and service continues.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use switchboard_tests::server::{Folder, Server};

use crate::report::Row;
use crate::wire::{Line, address_of};

/// Connections of a flood, and the server's limit.
const FLOOD: usize = 400;
const ROOM: usize = 64;

/// Runs one flood of connections, drawn from a seed.
pub fn flood(seed: u64) -> Row {
    let mut row = Row::begin("connections over the limit are turned away in plain words", FLOOD as u64);
    let folder = Folder::new();
    let room = ROOM.to_string();
    let server = Server::start(
        &folder.path("data"),
        &["--max-connections", &room, "--trust-proxy", "127.0.0.1/32", "--rate-limit", "0", "--engine", "none"],
    );
    let (address, key) = (address_of(server.text("url")), server.text("api_key").to_owned());
    let outcome = rush(address, &key, &mut row).map_err(|why| format!("seed {seed}: {why}"));
    row.fail_if(outcome);
    row.fail_if(if server.stop() == Some(0) { Ok(()) } else { Err("the server does not stop well".into()) });
    row.end()
}

/// Sends a request, and leaves the connection open.
fn served(stream: &mut TcpStream) -> Result<(), String> {
    const ANSWER: &[u8] = br#"{"status":"ok"}"#;
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").map_err(|error| error.to_string())?;
    let mut heard = Vec::new();
    while !heard.ends_with(ANSWER) {
        let mut some = [0; 1_024];
        match stream.read(&mut some) {
            Ok(count) if count > 0 => heard.extend_from_slice(&some[..count]),
            other => return Err(format!("it heard {:?}, {other:?}", String::from_utf8_lossy(&heard))),
        }
    }
    if heard.starts_with(b"HTTP/1.1 200") { Ok(()) } else { Err(String::from_utf8_lossy(&heard).into_owned()) }
}

fn connect(address: SocketAddr) -> Result<TcpStream, String> {
    let told = |error: std::io::Error| error.to_string();
    let stream = TcpStream::connect(address).map_err(told)?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).map_err(told)?;
    Ok(stream)
}

/// Sends a request for which there is no connection left: after a moment it is refused in plain words.
fn refused(address: SocketAddr) -> Result<TcpStream, String> {
    let mut stream = connect(address)?;
    let mut heard = String::new();
    let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    // The connection may end in a reset: what was received before counts.
    let _ = stream.read_to_string(&mut heard);
    let refused = heard.starts_with("HTTP/1.1 429") || heard.starts_with("HTTP/1.1 503");
    if refused && heard.ends_with("\"retry_after\":1}") { Ok(stream) } else { Err(format!("it heard {heard:?}")) }
}

fn rush(address: SocketAddr, key: &str, row: &mut Row) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let mut healthy = Line::to(address, key).map_err(told)?;
    let mut ask = move || match healthy.ask("GET", "/user/me", None) {
        Ok(answer) if answer.status == 200 => Ok(()),
        other => Err(format!("a healthy client hears {other:?}")),
    };
    ask()?;
    let mut open = Vec::new();
    // The healthy client holds one of the allowed connections.
    for number in 1..ROOM {
        let mut stream = connect(address)?;
        row.count(served(&mut stream).map_err(|why| format!("connection {number}, for which there is room: {why}")));
        open.push(stream);
        ask()?;
    }
    let excess: Vec<_> = (ROOM - 1..FLOOD).map(|_| std::thread::spawn(move || refused(address))).collect();
    for (number, one) in excess.into_iter().enumerate() {
        ask()?;
        match one.join().map_err(|_| "a client panicked")? {
            // Every other one stays open, like careless clients.
            Ok(stream) => {
                row.count(Ok(()));
                open.extend((number % 2 == 0).then_some(stream));
            }
            Err(why) => row.count(Err(why)),
        }
    }
    ask()?;
    drop(open);
    // Slots are free again once the server has noticed the closed connections.
    let patience = Instant::now() + Duration::from_mins(1);
    loop {
        match Line::to(address, key).and_then(|mut line| line.ask("GET", "/user/me", None)) {
            Ok(answer) if answer.status == 200 => break,
            _ if Instant::now() < patience => std::thread::sleep(Duration::from_millis(20)),
            other => return Err(format!("after the flood a client hears {other:?}")),
        }
    }
    ask()
}
