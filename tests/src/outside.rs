//! A small HTTP server for tests: webhook receivers, tools' endpoints, a website.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;

/// One received request.
#[derive(Clone, Debug)]
pub struct Came {
    /// Path and query.
    pub target: String,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// Body as received; empty when there is none.
    pub body: Vec<u8>,
}

/// A response: status, headers and body.
pub type Answered = (u16, Vec<(&'static str, String)>, Vec<u8>);

/// Serves requests for as long as the test runs; returns the base URL.
///
/// # Panics
/// If there is no free port.
pub fn serve(answer: impl Fn(Came) -> Answered + Send + Sync + 'static) -> String {
    serve_at("127.0.0.1:0", answer)
}

/// Serves requests at another address of this machine; returns the base URL.
pub fn serve_at(address: &str, answer: impl Fn(Came) -> Answered + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind(address).expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || exchange(&stream, &*answer));
        }
    });
    url
}

/// Ports that the system does not give to whoever asks for any.
const PORTS: Range<u16> = 10_000..20_000;

/// Listens at a port that nobody else comes to by chance: what still asks for a server that has ended asks at another one.
///
/// # Panics
/// If none is free.
pub fn listen(address: IpAddr) -> TcpListener {
    let drawn = std::iter::repeat_with(|| fastrand::u16(PORTS)).take(1_000);
    drawn.into_iter().find_map(|port| TcpListener::bind((address, port)).ok()).expect("a free port")
}

/// Reads one request; `None` if the connection ends before it does.
pub fn read(stream: &TcpStream) -> Option<Came> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let target = words.nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length =
        headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, n)| n.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Came { target, headers, body })
}

fn exchange(stream: &TcpStream, answer: &dyn Fn(Came) -> Answered) -> Option<()> {
    let (status, headers, body) = answer(read(stream)?);
    let mut head = format!("HTTP/1.1 {status} -\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.extend([name, ": ", &value, "\r\n"]);
    }
    let mut stream = stream;
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(b"\r\n").ok()?;
    stream.write_all(&body).ok()
}
