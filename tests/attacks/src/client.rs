//! [`Client`]: one HTTP/1.1 connection from a chosen local address, kept open, and reopened when the server closed it.

use std::io::{Error, ErrorKind, Result};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

/// How long an answer may take before the server counts as gone.
const PATIENCE: Duration = Duration::from_mins(3);

/// A response, read to its end.
#[derive(Clone, Debug)]
pub struct Answer {
    /// HTTP status code.
    pub status: u16,
    /// Body as received: of a chunked one, with its chunk sizes.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the body as JSON; null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    /// Returns the JSON of a 2xx response, else its status and the first 200 characters of its body.
    pub fn success(self) -> std::result::Result<Value, String> {
        if (200..300).contains(&self.status) {
            return Ok(self.json());
        }
        let shown: String = String::from_utf8_lossy(&self.body).chars().take(200).collect();
        Err(format!("{} {shown}", self.status))
    }
}

/// A connection that sends one request after another.
pub struct Client {
    to: SocketAddr,
    from: IpAddr,
    token: String,
    stream: Option<TcpStream>,
}

/// Connects from an address of this machine.
pub async fn connect(to: SocketAddr, from: IpAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from, 0))?;
    let stream = socket.connect(to).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Returns the head of a request whose body has `length` bytes; an empty token sends no `Authorization`.
pub fn head(method: &str, path: &str, token: &str, media: &str, length: usize) -> String {
    let token = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
    format!(
        "{method} {path} HTTP/1.1\r\nHost: switchboard.test\r\n{token}Content-Type: {media}\r\nContent-Length: {length}\r\n\r\n"
    )
}

impl Client {
    /// Creates a client; it connects with its first request.
    pub fn new(to: SocketAddr, from: IpAddr, token: &str) -> Self {
        Self { to, from, token: token.to_owned(), stream: None }
    }

    /// Closes the connection; the next request opens another one.
    pub fn close(&mut self) {
        self.stream = None;
    }

    /// Sends a request with a JSON body, or with an empty one.
    pub async fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> Result<Answer> {
        let body = body.map(Value::to_string).unwrap_or_default();
        self.send(method, path, "application/json", body.as_bytes()).await
    }

    /// Sends a request that must succeed; returns the JSON of its response.
    pub async fn make(&mut self, method: &str, path: &str, body: &Value) -> std::result::Result<Value, String> {
        let answer = self.ask(method, path, Some(body)).await.map_err(|error| format!("{method} {path}: {error}"))?;
        answer.success().map_err(|why| format!("{method} {path}: {why}"))
    }

    /// Sends a request. If the server has closed the connection since the last response, it is opened again, once.
    pub async fn send(&mut self, method: &str, path: &str, media: &str, body: &[u8]) -> Result<Answer> {
        let bytes = [head(method, path, &self.token, media, body.len()).as_bytes(), body].concat();
        if let Some(stream) = self.stream.take() {
            match self.exchange(stream, &bytes).await {
                Err(error) if is_closed(&error) => {}
                other => return other,
            }
        }
        let stream = connect(self.to, self.from).await?;
        self.exchange(stream, &bytes).await
    }

    async fn exchange(&mut self, mut stream: TcpStream, bytes: &[u8]) -> Result<Answer> {
        let answer = tokio::time::timeout(PATIENCE, async {
            // A server that refuses may close before it has read everything: its response counts, not the failed write.
            let sent = stream.write_all(bytes).await;
            match answer(&mut stream).await {
                Ok(answer) => Ok(answer),
                Err(error) => Err(sent.err().unwrap_or(error)),
            }
        });
        let (answer, stays) = answer.await.map_err(|_| Error::from(ErrorKind::TimedOut))??;
        self.stream = stays.then_some(stream);
        Ok(answer)
    }
}

fn is_closed(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

/// Reads one response; returns whether the connection stays open.
async fn answer(stream: &mut TcpStream) -> Result<(Answer, bool)> {
    let mut heard = Vec::with_capacity(4 << 10);
    let end = loop {
        if let Some(end) = heard.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        more(stream, &mut heard).await?;
    };
    let head = String::from_utf8_lossy(&heard[..end]).to_ascii_lowercase();
    let mut body = heard.split_off(end + 4);
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(ErrorKind::InvalidData)?;
    let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
    if header("transfer-encoding:") == Some("chunked") {
        while !body.ends_with(b"0\r\n\r\n") {
            more(stream, &mut body).await?;
        }
    } else {
        let length = header("content-length:").and_then(|length| length.parse().ok()).unwrap_or(0);
        while body.len() < length {
            more(stream, &mut body).await?;
        }
    }
    Ok((Answer { status, body }, header("connection:") != Some("close")))
}

async fn more(stream: &mut TcpStream, heard: &mut Vec<u8>) -> Result<()> {
    if stream.read_buf(heard).await? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
