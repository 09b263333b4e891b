//! Thousands of connections that send a byte per second, or read answers as slowly, next to healthy clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use switchboard_claims::Claim;
use switchboard_sim::random::Random;
use switchboard_tests::house::tool;
use switchboard_tests::server::{Folder, Server};

use crate::report::Row;
use crate::wire::{Line, address_of};

/// Healthy clients next to the slow ones.
const HEALTHY: usize = 4;
/// Interval between two bytes of a slow connection.
const BEAT: Duration = Duration::from_secs(1);
/// Time by which all slow connections must be closed: the server's limits are 15 s for a head and then 15 s for a body.
const GIVE_UP: Duration = Duration::from_mins(2);
/// Requests that a slow reader sends at once: their answers exceed the buffers of both ends.
const PIPELINED: usize = 24;
/// Aim for the memory of a slow connection, KiB.
const KIB_AIM: f64 = 32.0;
/// Aim for the 99th percentile of healthy requests, ms, with both ends on the same cores.
const P99_MS_AIM: f64 = 5.0;
/// File descriptors that this process needs for itself.
const OWN: u64 = 128;
/// Connections that are not slow: the healthy ones, the one that asks for the count, and two that are closing.
const OTHERS: u64 = HEALTHY as u64 + 3;
/// Weights of the kinds of slowness.
const SHARES: [(u64, Slowness); 8] = [
    (20, Slowness::Head),
    (20, Slowness::Body),
    (10, Slowness::Silent),
    (10, Slowness::Preface),
    (10, Slowness::Stranger),
    (10, Slowness::Reader),
    (10, Slowness::Window),
    (10, Slowness::Pings),
];
/// Start of an HTTP/2 connection (RFC 9113) whose client has a window of one byte per answer: the preface, its settings
/// (`INITIAL_WINDOW_SIZE` 1), and a request for the document.
const WINDOW: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\
    \x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x00\x00\x00\x01\
    \x00\x00\x14\x01\x05\x00\x00\x00\x01\x82\x86\x04\x0d/openapi.json\x01\x01x";
/// Length of that start without the request, bytes.
const SETTINGS_BYTES: usize = 24 + FRAME_HEAD + 6;
/// Length of an HTTP/2 frame's head: payload length (3 bytes), type, flags, stream (4 bytes).
const FRAME_HEAD: usize = 9;
const PING: u8 = 6;
const ACKNOWLEDGED: u8 = 1;

/// How a connection is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slowness {
    /// Sends nothing at all.
    Silent,
    /// Sends a head that never ends.
    Head,
    /// Sends the beginning of HTTP/2 over and over.
    Preface,
    /// Sends a body that never ends.
    Body,
    /// Sends a body to a route that rejects its caller.
    Stranger,
    /// Sends many requests, and reads the answers at a byte per second.
    Reader,
    /// Sends an HTTP/2 request whose answer never fits the window, and answers every ping.
    Window,
    /// Opens HTTP/2 without a request, and answers every ping.
    Pings,
}

struct Slow {
    stream: TcpStream,
    how: Slowness,
    said: usize,
    heard: Vec<u8>,
    closed: bool,
}

/// Raises this process's limit of open files; returns how many connections it can hold.
pub fn room() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    // If it cannot be raised, the current limit applies.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX).saturating_sub(OWN)
}

/// Opens `wanted` slow connections at once.
pub fn slow(wanted: u64, seed: u64) -> Row {
    let mut row = Row::begin("slow connections are closed, and healthy ones are served beside them", wanted);
    let had = wanted.min(room());
    if had < wanted {
        row.notes.push(format!("only {had} connections could be had: raise the limit of open files"));
    }
    let folder = Folder::new();
    let server = Server::start(
        &folder.path("data"),
        &["--trust-proxy", "127.0.0.1/32", "--rate-limit", "0", "--engine", "none"],
    );
    let (address, key) = (address_of(server.text("url")), server.text("api_key").to_owned());
    let before = memory_kib(server.pid());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let healthy: Vec<_> = (0..HEALTHY).map(|_| scope.spawn(|| healthy(address, &key, &done))).collect();
        let crowd = Crowd { address, server: &server, before_kib: before };
        let outcome = crowd.press(had, seed, &mut row);
        done.store(true, Ordering::Relaxed);
        let mut took: Vec<Duration> = Vec::new();
        for client in healthy {
            match client.join().expect("a healthy client reports") {
                Ok(times) => took.extend(times),
                Err(why) => row.fail_if(Err(format!("a healthy client: {why}"))),
            }
        }
        took.sort_unstable();
        row.fail_if(outcome);
        row.notes.push(format!("{} healthy requests, p50 {:?}, p99 {:?}", took.len(), at(&took, 50), at(&took, 99)));
        let p99_ms = at(&took, 99).as_secs_f64() * 1e3;
        row.figures.push(Claim::at_most("p99 of healthy clients beside slow ones", P99_MS_AIM, p99_ms, "ms"));
    });
    if server.stop() != Some(0) {
        row.fail_if(Err("the server does not stop well".into()));
    }
    row.end()
}

fn at(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Reads and writes until told to stop; returns the latencies.
fn healthy(address: SocketAddr, key: &str, done: &AtomicBool) -> Result<Vec<Duration>, String> {
    let mut line = Line::to(address, key).map_err(|error| error.to_string())?;
    let made = line.ask("POST", "/user/tools", Some(&tool("look_up"))).map_err(|error| error.to_string())?;
    let changed = format!("/user/tools/{}", made.json["data"]["id"]);
    let mut took = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let began = Instant::now();
        let answer = match took.len() % 64 {
            0 => line.ask("PUT", &changed, Some(&tool("look_up"))),
            1 => {
                // A connection of its own, as a new client would open.
                line = Line::to(address, key).map_err(|error| error.to_string())?;
                line.ask("GET", "/user/me", None)
            }
            _ => line.ask("GET", "/user/me", None),
        };
        let answer = answer.map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(format!("{} {}", answer.status, answer.json));
        }
        took.push(began.elapsed());
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(took)
}

/// A server under slow connections.
struct Crowd<'s> {
    address: SocketAddr,
    server: &'s Server,
    before_kib: u64,
}

impl Crowd<'_> {
    /// Opens `count` slow connections, and waits until the server has closed them.
    fn press(&self, count: u64, seed: u64, row: &mut Row) -> Result<(), String> {
        let mut random = Random::new(seed);
        let mut slow = Vec::new();
        for number in 0..count {
            let how = random.weighed(&SHARES);
            let begun = Slow::begin(self.address, self.server.text("api_key"), how);
            slow.push(begun.map_err(|error| format!("connection {number}: {error}"))?);
        }
        let began = Instant::now();
        let (mut open, mut most_kib) = (u64::MAX, 0);
        // A slow reader notices the end only after reading everything before it, so the server is asked how many
        // connections it holds.
        while (open > OTHERS || slow.iter().any(Slow::is_held)) && began.elapsed() < GIVE_UP {
            slow.iter_mut().filter(|one| !one.closed).for_each(Slow::beat);
            most_kib = most_kib.max(memory_kib(self.server.pid()));
            open = self.open()?;
            std::thread::sleep(BEAT);
        }
        for one in &slow {
            row.count(if one.is_held() { Err(format!("{:?} is still open", one.how)) } else { Ok(()) });
        }
        let last = began.elapsed().as_secs_f64();
        row.notes.push(format!("the last of {count} was closed after {last:.0} s"));
        let number = |whole: u64| f64::from(u32::try_from(whole).unwrap_or(u32::MAX));
        let each = number(most_kib.saturating_sub(self.before_kib)) / number(count.max(1));
        row.figures.push(Claim::at_most("Memory of a slow connection", KIB_AIM, each, "KiB"));
        if open > OTHERS { Err(format!("the server holds {open} connections")) } else { Ok(()) }
    }

    /// Returns how many connections the server holds.
    fn open(&self) -> Result<u64, String> {
        let line = Line::to(self.address, self.server.text("admin_token"));
        let answer = line.and_then(|mut line| line.ask("GET", "/metrics", None)).map_err(|error| error.to_string())?;
        let open = answer.text.lines().find_map(|line| line.strip_prefix("switchboard_connections "));
        open.and_then(|open| open.parse().ok()).ok_or_else(|| format!("the metrics come to {answer:?}"))
    }
}

impl Slow {
    fn begin(address: SocketAddr, key: &str, how: Slowness) -> std::io::Result<Self> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(30))?;
        let token = if how == Slowness::Stranger { "nobody" } else { key };
        let first = match how {
            Slowness::Silent | Slowness::Preface => Vec::new(),
            Slowness::Window => WINDOW.to_vec(),
            Slowness::Pings => WINDOW[..SETTINGS_BYTES].to_vec(),
            Slowness::Head => b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ".to_vec(),
            Slowness::Body | Slowness::Stranger => format!(
                "POST /user/tools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: 10000\r\n\r\n{{"
            )
            .into_bytes(),
            Slowness::Reader => b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(PIPELINED),
        };
        stream.write_all(&first)?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, how, said: 0, heard: Vec::new(), closed: false })
    }

    /// Returns whether the connection should have been closed and is not.
    fn is_held(&self) -> bool {
        !self.closed && self.how != Slowness::Reader
    }

    /// Sends or reads a byte.
    fn beat(&mut self) {
        let said = match self.how {
            Slowness::Window | Slowness::Pings => return self.answer_pings(),
            Slowness::Silent | Slowness::Reader => Ok(()),
            Slowness::Preface => self.say(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            Slowness::Head | Slowness::Body | Slowness::Stranger => self.say(b" "),
        };
        let mut byte = [0; 1];
        match self.stream.read(&mut byte) {
            Ok(0) => self.closed = true,
            Ok(_) => self.heard.extend(byte),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.closed |= said.is_err(),
            Err(_) => self.closed = true,
        }
        // Everything is read at the end: only then does the close show.
        if self.how != Slowness::Reader && !self.closed && !self.heard.is_empty() {
            let mut rest = [0; 4_096];
            while let Ok(count) = self.stream.read(&mut rest) {
                if count == 0 {
                    self.closed = true;
                    break;
                }
            }
        }
    }

    /// Reads HTTP/2 frames, and answers pings.
    fn answer_pings(&mut self) {
        let mut bytes = [0; 4_096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(count @ 1..) => self.heard.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(0) | Err(_) => return self.closed = true,
            }
        }
        while let [high, middle, low, kind, flags, ..] = self.heard[..] {
            let end = FRAME_HEAD + u32::from_be_bytes([0, high, middle, low]) as usize;
            if self.heard.len() < end {
                break;
            }
            let mut frame: Vec<u8> = self.heard.drain(..end).collect();
            if (kind, flags) == (PING, 0) {
                frame[4] = ACKNOWLEDGED;
                self.closed |= self.stream.write_all(&frame).is_err();
            }
        }
    }

    fn say(&mut self, text: &[u8]) -> std::io::Result<()> {
        let byte = text[self.said % text.len()];
        self.said += 1;
        self.stream.write_all(&[byte])
    }
}

/// Returns the memory of a process, KiB; 0 if the system does not tell.
fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
