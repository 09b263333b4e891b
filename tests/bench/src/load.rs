//! A load: connections that each send a request, read its whole answer, and send the next.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Failed;
use crate::server::Server;

/// How long one figure is measured, after a warm-up.
const SPAN: Duration = Duration::from_secs(4);
const WARM: Duration = Duration::from_millis(500);

/// What a load showed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Requests a second.
    pub rate: f64,
    /// Median, microseconds.
    pub p50_us: f64,
    /// 99th percentile, microseconds.
    pub p99_us: f64,
    /// Server CPU a request, microseconds.
    pub cpu_us: f64,
    /// Bytes of an answer's body.
    pub bytes: usize,
}

/// Sends requests made by `request` over so many connections.
pub fn run(
    server: &Server,
    connections: usize,
    request: impl Fn(u64) -> Vec<u8> + Clone + Send + Sync + 'static,
) -> Result<Figures, Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let began = Instant::now();
        let tasks: Vec<_> = (0..connections)
            .map(|which| tokio::spawn(connection(server.address.clone(), which as u64, began, request.clone())))
            .collect();
        tokio::time::sleep(WARM).await;
        let before = server.cpu_ms();
        tokio::time::sleep(SPAN).await;
        let cpu_ms = server.cpu_ms() - before;
        let (mut times, mut bytes) = (Vec::new(), 0);
        for task in tasks {
            let (own, length) = task.await??;
            times.extend(own);
            bytes = length;
        }
        times.sort_unstable();
        let at = |percent: usize| {
            times.get(times.len() * percent / 100).map_or(0.0, |time: &Duration| time.as_secs_f64() * 1e6)
        };
        let count = f64::from(u32::try_from(times.len())?);
        Ok(Figures {
            rate: count / SPAN.as_secs_f64(),
            p50_us: at(50),
            p99_us: at(99),
            cpu_us: cpu_ms * 1e3 / count.max(1.0),
            bytes,
        })
    })
}

async fn connection(
    address: String,
    which: u64,
    began: Instant,
    request: impl Fn(u64) -> Vec<u8>,
) -> Result<(Vec<Duration>, usize), Failed> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut times, mut buffer, mut turn, mut length) = (Vec::new(), Vec::with_capacity(64 << 10), 0, 0);
    while began.elapsed() < WARM + SPAN {
        let sent = Instant::now();
        stream.write_all(&request(which * 1_000_003 + turn)).await?;
        turn += 1;
        let (status, bytes) = answer(&mut stream, &mut buffer).await?;
        if !(200..300).contains(&status) {
            return Err(format!("answered {status}: {}", String::from_utf8_lossy(&buffer)).into());
        }
        length = bytes;
        if began.elapsed() > WARM {
            times.push(sent.elapsed());
        }
    }
    Ok((times, length))
}

/// Reads one answer; gives its status and the bytes of its body.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<(u16, usize), Failed> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&buffer[..end])?.to_ascii_lowercase();
        let length: usize = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.split("\r\n").next()?.parse().ok())
            .ok_or("no length")?;
        while buffer.len() < end + 4 + length {
            if stream.read_buf(buffer).await? == 0 {
                return Err("the server closed the connection".into());
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or("no status")?;
        return Ok((status, length));
    }
}

/// A GET with a token.
pub fn get(key: &str, target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n").into_bytes()
}

/// A POST with a token.
pub fn post(key: &str, target: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {target} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}
