//! A load: connections that each send a request, read the whole response and send the next, at once or at a given rate.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Failed;
use crate::server::Server;

/// Duration of a load before it is measured.
const WARM: Duration = Duration::from_millis(500);
/// Connections that fill a store.
const FILLERS: usize = 32;
/// Client threads, which share the connections.
const THREADS: u32 = 2;

/// Parameters of a load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Concurrent connections.
    pub connections: u32,
    /// Duration of the measurement, after `WARM`.
    pub span: Duration,
    /// Requests per second over all connections; `None`: as many as are answered.
    pub rate: Option<f64>,
    /// Expected status; 200 stands for every success.
    pub status: u16,
}

impl Load {
    /// Returns a load that sends as fast as its connections are answered.
    pub fn full(connections: u32, span: Duration) -> Self {
        Self { connections, span, rate: None, status: 200 }
    }
}

/// Measurements of a load.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    /// Responses per second.
    pub rate: f64,
    /// Median latency, microseconds.
    pub p50_us: f64,
    /// 99th percentile of the latency, microseconds.
    pub p99_us: f64,
    /// 99.9th percentile of the latency, microseconds.
    pub p999_us: f64,
    /// Longest latency, microseconds.
    pub most_us: f64,
    /// Server CPU time per request, microseconds.
    pub cpu_us: f64,
    /// Bytes written to the disk of the server's store per request, by whomever.
    pub written: f64,
    /// Size of the largest response body, bytes.
    pub bytes: usize,
}

/// Measurements of one connection.
#[derive(Default)]
struct Seen {
    /// Latency of each request answered after warming up, microseconds.
    micros: Vec<u32>,
    /// How many of them were answered before the end: time and CPU of the others lie beyond it.
    within: u32,
    bytes: usize,
}

/// Runs a load and measures it. `request` builds each request from a number unique within the load.
pub fn run(
    server: &Server,
    load: Load,
    request: impl Fn(u64) -> Vec<u8> + Clone + Send + Sync + 'static,
) -> Result<Figures, Failed> {
    let began = Instant::now();
    let threads: Vec<_> = (0..THREADS.min(load.connections))
        .map(|thread| {
            let (address, request) = (server.address.clone(), request.clone());
            std::thread::spawn(move || connections(&address, thread, load, began, &request).map_err(|e| e.to_string()))
        })
        .collect();
    if load.rate.is_none() && load.connections > 1 {
        give_way()?;
    }
    std::thread::sleep(WARM);
    let (cpu_before, ticks_before, written_before) = (server.thread_cpu(), server.cpu_ms(), server.written_to_disk());
    std::thread::sleep(load.span);
    let (cpu, ticks, written) =
        (server.thread_cpu(), server.cpu_ms() - ticks_before, server.written_to_disk() - written_before);
    let cpu_ms = if cpu.is_empty() { ticks } else { grown_ms(&cpu_before, &cpu) };
    let (mut micros, mut within, mut bytes) = (Vec::new(), 0, 0);
    for thread in threads {
        for seen in thread.join().map_err(|_| "a client panicked")?? {
            micros.extend(seen.micros);
            within += seen.within;
            bytes = bytes.max(seen.bytes);
        }
    }
    micros.sort_unstable();
    let at = |permille: usize| micros.get(micros.len() * permille / 1_000).map_or(f64::NAN, |at| f64::from(*at));
    let count = f64::from(within);
    Ok(Figures {
        rate: count / load.span.as_secs_f64(),
        p50_us: at(500),
        p99_us: at(990),
        p999_us: at(999),
        most_us: micros.last().map_or(f64::NAN, |most| f64::from(*most)),
        cpu_us: cpu_ms * 1e3 / count.max(1.0),
        written: written / count.max(1.0),
        bytes,
    })
}

/// Returns the increase in processor time, milliseconds. This is finer than the process's ticks of 10 ms, but misses
/// threads that ended meanwhile.
fn grown_ms(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> f64 {
    let grown = after.iter().map(|(thread, ns)| ns.saturating_sub(before.get(thread).copied().unwrap_or_default()));
    Duration::from_nanos(grown.sum()).as_secs_f64() * 1e3
}

/// Sends each request once, over `FILLERS` connections; all must succeed.
pub fn each(server: &Server, requests: Vec<Vec<u8>>) -> Result<(), Failed> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let requests = Arc::new(requests);
        let tasks: Vec<_> = (0..FILLERS)
            .map(|first| {
                let (address, requests) = (server.address.clone(), Arc::clone(&requests));
                tokio::spawn(async move {
                    let (mut stream, mut buffer) = (TcpStream::connect(&address).await?, Vec::new());
                    for request in requests.iter().skip(first).step_by(FILLERS) {
                        stream.write_all(request).await?;
                        let (status, _) = answer(&mut stream, &mut buffer).await?;
                        if !(200..300).contains(&status) {
                            return Err(format!("answered {status}: {}", String::from_utf8_lossy(&buffer)).into());
                        }
                    }
                    Ok::<_, Failed>(())
                })
            })
            .collect();
        for task in tasks {
            task.await??;
        }
        Ok(())
    })
}

/// Runs the connections of one thread. Its tasks never move to another: that would cost more than an answer.
fn connections(
    address: &str,
    thread: u32,
    load: Load,
    began: Instant,
    request: &(impl Fn(u64) -> Vec<u8> + Clone + Send + 'static),
) -> Result<Vec<Seen>, Failed> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let its = (thread..load.connections).step_by(THREADS as usize);
        let tasks: Vec<_> = its
            .map(|which| tokio::spawn(connection(address.to_owned(), which, load, began, request.clone())))
            .collect();
        let mut seen = Vec::new();
        for task in tasks {
            seen.push(task.await??);
        }
        Ok(seen)
    })
}

/// Keeps the threads that exist now from preempting others when a response wakes them: a client that cuts in on the
/// server's cores after every response costs both of them more than the response.
fn give_way() -> Result<(), Failed> {
    let all = ["--batch", "--reset-on-fork", "--all-tasks", "--pid", "0"];
    let done = Command::new("chrt").args(all).arg(std::process::id().to_string()).status()?;
    if done.success() { Ok(()) } else { Err("chrt, of util-linux, does not set how the client is scheduled".into()) }
}

/// Sends one request and returns the whole response.
pub fn once(server: &Server, request: &[u8]) -> Result<Vec<u8>, Failed> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
        let (mut stream, mut buffer) = (TcpStream::connect(&server.address).await?, Vec::new());
        stream.write_all(request).await?;
        answer(&mut stream, &mut buffer).await?;
        Ok(buffer)
    })
}

async fn connection(
    address: String,
    which: u32,
    load: Load,
    began: Instant,
    request: impl Fn(u64) -> Vec<u8>,
) -> Result<Seen, Failed> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut seen, mut buffer, mut turn) = (Seen::default(), Vec::with_capacity(64 << 10), 0_u32);
    let end = began + WARM + load.span;
    loop {
        let mut begin = Instant::now();
        if let Some(rate) = load.rate {
            let place = f64::from(turn) * f64::from(load.connections) + f64::from(which);
            let due = began + Duration::from_secs_f64(place / rate);
            if due > begin {
                tokio::time::sleep_until(due.into()).await;
                begin = Instant::now();
            } else {
                // A late response delays the next request: its latency counts from when it was due.
                begin = due;
            }
        }
        if begin.max(Instant::now()) >= end {
            return Ok(seen);
        }
        stream.write_all(&request(u64::from(which) << 32 | u64::from(turn))).await?;
        turn += 1;
        let (status, bytes) = answer(&mut stream, &mut buffer).await?;
        let success = load.status == 200 && (200..300).contains(&status);
        if status != load.status && !success {
            return Err(format!("answered {status}: {}", String::from_utf8_lossy(&buffer)).into());
        }
        seen.bytes = seen.bytes.max(bytes);
        if began.elapsed() > WARM {
            seen.micros.push(u32::try_from(begin.elapsed().as_micros()).unwrap_or(u32::MAX));
            seen.within += u32::from(Instant::now() < end);
        }
    }
}

/// Returns the offset at which a response's head ends, before its empty line.
pub fn head_end(answer: &[u8]) -> Option<usize> {
    answer.windows(4).position(|four| four == b"\r\n\r\n")
}

/// Reads one response; returns its status and the length of its body.
async fn answer(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<(u16, usize), Failed> {
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await? == 0 {
            return Err("the server closed the connection".into());
        }
        let Some(end) = head_end(buffer) else { continue };
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

/// Returns a GET request with a token.
pub fn get(key: &str, target: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n").into_bytes()
}

/// Returns a request with a token and a JSON body.
pub fn sent(method: &str, key: &str, target: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("{method} {target} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}
