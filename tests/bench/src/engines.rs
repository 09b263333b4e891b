//! Engines: what a thousand running calls cost while nothing happens in them, and how soon a hang-up reaches its engine.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_claims::{Claim, tell};

use crate::Failed;
use crate::fill::{Folder, assistant};
use crate::load::{head_end, sent};
use crate::server::Server;

/// Calls that one engine carries.
const CALLS: u32 = 1_000;
/// Pause between heartbeats, and how many are measured.
const PAUSE: Duration = Duration::from_secs(10);
const BEATS: u32 = 12;
/// Calls that are hung up.
const HANG_UPS: usize = 100;

/// Measures heartbeats and hang-ups.
pub fn print() -> Result<bool, Failed> {
    let folder = Folder::new("engines")?;
    let server = Server::service(&folder.0.join("store"))?;
    server.send("POST", "/user/assistant", &assistant("Anna"))?;
    let mut desk = Desk::new(&server)?;
    desk.take(CALLS)?;
    // Within a minute it is written when the account's key was used last.
    desk.beats(BEATS)?;
    let (cpu, written, began) = (cpu_ms(&server), server.written(), Instant::now());
    desk.beats(BEATS)?;
    let share = (cpu_ms(&server) - cpu) / (began.elapsed().as_secs_f64() * 1e3) * 100.0;
    let bytes = server.written() - written;
    let mut waits = desk.hang_ups(&server)?;
    waits.sort_by(f64::total_cmp);
    let at = |percent: usize| waits[waits.len() * percent / 100];
    println!(
        "{CALLS} answered calls of one engine, a heartbeat each 10 s, over {BEATS} of them; then {HANG_UPS} hang-ups, one after the other.\n"
    );
    println!("| hang-up to the engine, ms | p50 | p95 | max |\n|---|---|---|---|");
    println!("| by its parked claim | {:.1} | {:.1} | {:.1} |", at(50), at(95), waits[waits.len() - 1]);
    Ok(tell(&[
        Claim::at_most(format!("Heartbeats of {CALLS} calls, of a core"), 0.5, share, "%"),
        Claim::at_most("Bytes that they write", 0.0, bytes, "bytes"),
        Claim::at_most("p95 from a hang-up to its engine", 200.0, at(95), "ms"),
    ])?)
}

/// The processor time of a server so far, milliseconds.
fn cpu_ms(server: &Server) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 nanoseconds")]
    let nanoseconds = server.thread_cpu().values().sum::<u64>() as f64;
    nanoseconds / 1e6
}

/// An account and an engine that holds its calls.
struct Desk {
    account: Connection,
    engine: Connection,
    calls: Vec<u64>,
}

impl Desk {
    fn new(server: &Server) -> Result<Self, Failed> {
        let mut operator = Connection::open(server, &server.admin)?;
        let plan = json!({ "name": "standard", "parallel_calls": CALLS });
        operator.ask("PUT", "/admin/plans/standard", &plan)?;
        let made = operator.ask("POST", "/admin/engine-tokens", &json!({ "name": "bench" }))?;
        let token = made["token"].as_str().ok_or("no token")?;
        Ok(Self {
            account: Connection::open(server, &server.key)?,
            engine: Connection::open(server, token)?,
            calls: Vec::new(),
        })
    }

    /// Places calls, claims and answers them.
    fn take(&mut self, count: u32) -> Result<(), Failed> {
        for at in 0..count {
            let new = json!({ "assistant_id": 1, "phone_number": format!("+4072{at:07}") });
            self.account.ask("POST", "/user/make_call", &new)?;
            if at % 16 == 15 || at + 1 == count {
                while self.claim()? > 0 {}
                self.beat()?;
            }
        }
        if self.calls.len() < count as usize {
            return Err(format!("{} of {count} calls were claimed", self.calls.len()).into());
        }
        Ok(())
    }

    /// Claims calls and answers them; returns how many. A host that has just started hands out one at a time.
    fn claim(&mut self) -> Result<usize, Failed> {
        let body = json!({ "engine": "bench", "protocol": 2, "capacity": 32 });
        let claimed = self.engine.ask("POST", "/engine/claim", &body)?;
        let entries = claimed["calls"].as_array().ok_or("a claim has calls")?;
        for entry in entries {
            let call = entry["call"]["id"].as_u64().ok_or("a call has an id")?;
            let events = json!({ "events": [{ "seq": 1, "type": "dialing" }, { "seq": 2, "type": "answered" }] });
            self.engine.ask("POST", &format!("/engine/calls/{call}/events"), &events)?;
            self.calls.push(call);
        }
        Ok(entries.len())
    }

    fn beats(&mut self, count: u32) -> Result<(), Failed> {
        for _ in 0..count {
            self.beat()?;
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    fn beat(&mut self) -> Result<(), Failed> {
        let body = json!({ "engine": "bench", "calls": self.calls, "capacity": CALLS, "running": self.calls.len() });
        let renewed = self.engine.ask("POST", "/engine/heartbeat", &body)?;
        if renewed["lost"] == json!([]) { Ok(()) } else { Err(format!("lost: {}", renewed["lost"]).into()) }
    }

    /// Hangs up calls while a claim is parked; returns how long each took to reach it, milliseconds.
    fn hang_ups(&mut self, server: &Server) -> Result<Vec<f64>, Failed> {
        // The server has closed connections that asked nothing for long.
        let mut account = Connection::open(server, &self.account.token)?;
        let mut parked = Connection::open(server, &self.engine.token)?;
        let claim = json!({ "engine": "bench", "protocol": 2, "capacity": 0, "wait": 30 });
        let mut waits = Vec::new();
        for call in self.calls.drain(..HANG_UPS) {
            parked.send("POST", "/engine/claim", &claim)?;
            std::thread::sleep(Duration::from_millis(20));
            let began = Instant::now();
            account.send("POST", &format!("/user/calls/{call}/hangup"), &json!({}))?;
            let told = parked.read()?;
            waits.push(began.elapsed().as_secs_f64() * 1e3);
            if told["commands"][0]["call_id"] != call {
                return Err(format!("a claim is answered {told}").into());
            }
            account.read()?;
        }
        Ok(waits)
    }
}

/// A connection whose requests have one token.
struct Connection {
    stream: TcpStream,
    token: String,
    buffer: Vec<u8>,
}

impl Connection {
    fn open(server: &Server, token: &str) -> Result<Self, Failed> {
        let stream = TcpStream::connect(&server.address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, token: token.into(), buffer: Vec::new() })
    }

    fn ask(&mut self, method: &str, target: &str, body: &Value) -> Result<Value, Failed> {
        self.send(method, target, body)?;
        self.read()
    }

    fn send(&mut self, method: &str, target: &str, body: &Value) -> Result<(), Failed> {
        Ok(self.stream.write_all(&sent(method, &self.token, target, &body.to_string()))?)
    }

    /// Reads an answer with its length in the head; one that is no success is an error.
    fn read(&mut self) -> Result<Value, Failed> {
        self.buffer.clear();
        let mut piece = [0; 8 << 10];
        loop {
            let count = self.stream.read(&mut piece)?;
            if count == 0 {
                return Err("the server closed the connection".into());
            }
            self.buffer.extend_from_slice(&piece[..count]);
            let Some(end) = head_end(&self.buffer) else { continue };
            let head = std::str::from_utf8(&self.buffer[..end])?.to_ascii_lowercase();
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            let body = self.buffer.get(end + 4..end + 4 + length.unwrap_or(0)).filter(|_| length.is_some());
            match body {
                Some(body) if head.starts_with("http/1.1 2") => return Ok(serde_json::from_slice(body)?),
                Some(body) => return Err(String::from_utf8_lossy(body).into()),
                None => {}
            }
        }
    }
}
