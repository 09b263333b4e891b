//! [`Line`]: one persistent HTTP/1.1 connection to a server; after any doubt a request returns an error.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longest wait for an answer before the server counts as gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// An HTTP answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    /// Status code of the answer.
    pub status: u16,
    /// Body as JSON; null if it is not JSON.
    pub json: Value,
    /// Body as text; empty if it is not UTF-8.
    pub text: String,
}

/// A connection on which requests are sent one after another.
pub struct Line {
    stream: BufReader<TcpStream>,
    key: String,
}

impl Line {
    /// Connects to a server with an API key.
    pub fn to(address: SocketAddr, key: &str) -> std::io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), key: key.to_owned() })
    }

    /// Sends a request; after an error it is unknown whether it was executed.
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

/// Reads a chunked body: each chunk after a line with its length, the last one empty.
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

/// Reads the head of an answer: status and length; no length for a chunked one.
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

/// Parses the address in a server's URL.
///
/// # Panics
/// If there is none.
pub fn address_of(url: &str) -> SocketAddr {
    url.trim_start_matches("http://").parse().expect("a server says its address")
}
