//! [`Line`]: one HTTP/1.1 connection to a server, kept open; what it cannot say for sure it says as `None`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take before the server counts as gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its body; null where it is no JSON.
    pub json: Value,
    /// Its body as text; empty where it is none.
    pub text: String,
}

/// A connection on which requests are made one after another.
pub struct Line {
    stream: BufReader<TcpStream>,
    key: String,
}

impl Line {
    /// A connection to a server, for whoever holds a key.
    pub fn to(address: SocketAddr, key: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), key: key.to_owned() })
    }

    /// Makes a request; an error means that nobody knows what came of it.
    pub fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.key,
            body.len()
        );
        self.stream.get_mut().write_all([head, body].concat().as_bytes())?;
        let (status, length) = head_of(&mut self.stream)?;
        let bytes = match length {
            Some(length) => piece(&mut self.stream, length)?,
            None => pieces(&mut self.stream)?,
        };
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Answer { status, json, text: String::from_utf8(bytes).unwrap_or_default() })
    }
}

fn piece(stream: &mut impl Read, length: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A body in chunks: each after a line with its length, the last one empty.
fn pieces(stream: &mut impl BufRead) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim_end(), 16).map_err(std::io::Error::other)?;
        bytes.extend(piece(stream, length)?);
        piece(stream, "\r\n".len())?;
        if length == 0 {
            return Ok(bytes);
        }
    }
}

/// Status and length of an answer; no length where it comes in chunks.
fn head_of(stream: &mut impl BufRead) -> std::io::Result<(u16, Option<usize>)> {
    let (mut status, mut length) = (0, Some(0));
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok((status, length));
        }
        if let Some(first) = line.strip_prefix("HTTP/1.1 ") {
            status = first.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0);
        } else if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse().unwrap_or(0));
        } else if line.eq_ignore_ascii_case("transfer-encoding: chunked") {
            length = None;
        }
    }
}

/// The address in a server's URL.
///
/// # Panics
/// Where it is none.
pub fn address_of(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").parse().expect("a server says its address")
}
