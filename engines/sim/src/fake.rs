//! A fake service for tests: the service's side of the engine interface over real connections, strict about event
//! numbers and states, with planned faults.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Engine token that the fake accepts.
pub const TOKEN: &str = "engine-token";
/// Timeout after which a hanging test fails.
const HANGS: Duration = Duration::from_mins(1);

/// Fault injected into a request that reports events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventsFault {
    /// The request is processed normally.
    None,
    /// The connection closes before the events are taken.
    DropBefore,
    /// The events are taken, and the connection closes without an answer.
    DropAfter,
    /// Answers with this status; nothing is taken.
    Status(u16),
    /// The last events, this many, are forgotten and asked for again.
    Forget(usize),
    /// The events are taken; the answer tells the engine to hang up.
    HangUp,
    /// The events are taken; this command comes with this answer and the following ones, until its end is reported.
    Command(&'static str),
    /// The events are taken; then the service ends the call by itself.
    End,
    /// Nothing is taken: the answer says that this number is expected.
    Wants(u64),
}

/// A call as the service sees it.
#[derive(Clone, Debug, Default)]
pub struct SeenCall {
    /// State of the call, a word of the API.
    pub status: String,
    /// Events received, including those forgotten in between.
    pub events: Vec<Value>,
    /// How many events the service holds: those not forgotten.
    pub held: usize,
    /// How many events the engine knows to be taken.
    pub told: usize,
    /// Requests that reported events or renewed the lease.
    pub requests: u32,
    /// Requests without events, which renew the lease.
    pub renewals: u32,
    /// Tools that were called, with their arguments.
    pub tools: Vec<(String, Value)>,
    /// Idempotency keys of those requests, each once.
    pub tool_keys: Vec<String>,
    /// Searches of the knowledgebase.
    pub queries: Vec<Value>,
    /// Commands that are pending.
    pub commands: Vec<Value>,
    /// Heartbeats that named it.
    pub heartbeats: u32,
}

/// State of the service.
pub struct FakeState {
    /// Calls waiting to be claimed.
    pub queue: VecDeque<Value>,
    /// Claimed calls, by id.
    pub calls: BTreeMap<u64, SeenCall>,
    /// Errors of the engine.
    pub wrongs: Vec<String>,
    /// Claims that were answered without a call.
    pub empty_claims: u32,
    /// How many more claims are refused with 503.
    pub refused_claims: u32,
    /// Whether claims are parked until there is a call.
    pub parks: bool,
    /// Claims that were parked, for a moment or longer.
    pub parked: u32,
    /// Whether the service has heartbeats.
    pub has_heartbeats: bool,
    /// Whether heartbeats are answered that the operator drains the engine.
    pub drains: bool,
    /// Heartbeats that were sent.
    pub heartbeats: Vec<Value>,
    /// Calls that heartbeats name as lost.
    pub lost: BTreeSet<u64>,
    /// How many more requests for tools get no answer though they were carried out.
    pub lost_tools: u32,
    plan: Box<dyn FnMut(u64, u32) -> EventsFault + Send>,
    version: watch::Sender<u64>,
}

/// A running fake service.
pub struct Fake {
    /// Base URL, on a free port of 127.0.0.1.
    pub url: String,
    state: Arc<Mutex<FakeState>>,
    version: watch::Receiver<u64>,
}

/// Status and body, or `None` to close the connection without an answer.
type Answered = Option<(u16, Value)>;

impl Fake {
    /// Starts a service with calls to claim; `plan` returns the fault of a call's n-th report, counted from 1.
    pub async fn start(calls: Vec<Value>, plan: impl FnMut(u64, u32) -> EventsFault + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/", listener.local_addr().expect("an address"));
        let (sender, version) = watch::channel(0);
        let state = FakeState {
            queue: calls.into(),
            calls: BTreeMap::new(),
            wrongs: Vec::new(),
            empty_claims: 0,
            refused_claims: 0,
            parks: false,
            parked: 0,
            has_heartbeats: true,
            drains: false,
            heartbeats: Vec::new(),
            lost: BTreeSet::new(),
            lost_tools: 0,
            plan: Box::new(plan),
            version: sender,
        };
        let state = Arc::new(Mutex::new(state));
        let shared = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&shared), stream));
            }
        });
        Self { url, state, version }
    }

    /// Reads or changes the service's state.
    pub fn with<T>(&self, look: impl FnOnce(&mut FakeState) -> T) -> T {
        look(&mut self.state.lock().expect("no test thread panicked in here"))
    }

    /// Waits until the state satisfies a condition.
    pub async fn until(&self, holds: impl Fn(&FakeState) -> bool) {
        let mut version = self.version.clone();
        let waiting = async {
            while !self.with(|state| holds(state)) {
                version.changed().await.expect("the service runs");
            }
        };
        if tokio::time::timeout(HANGS, waiting).await.is_err() {
            self.with(|state| {
                let waiting = state.calls.iter().filter(|(_, seen)| !seen.is_settled());
                panic!("it never came to that: {:?} {:?}", state.wrongs, waiting.collect::<Vec<_>>());
            });
        }
    }

    /// Returns the calls, after checking that the engine made no error.
    pub fn faultless(&self) -> BTreeMap<u64, SeenCall> {
        self.with(|state| {
            assert_eq!(state.wrongs, Vec::<String>::new());
            state.calls.clone()
        })
    }
}

impl SeenCall {
    /// Returns whether nothing more will come: the call is over, and has its cost if it was answered.
    pub fn is_settled(&self) -> bool {
        !running(&self.status)
            && self.told == self.events.len()
            && (self.of("answered").is_empty() || !self.of("cost").is_empty())
    }

    /// Returns the events of a type.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["type"] == kind).collect()
    }

    /// Returns the assistant's lines.
    pub fn bot_lines(&self) -> Vec<&str> {
        let lines = self.of("transcript").into_iter().filter(|event| event["sender"] == "bot");
        lines.filter_map(|event| event["text"].as_str()).collect()
    }
}

async fn serve(state: Arc<Mutex<FakeState>>, stream: TcpStream) {
    let service = service_fn(|request| {
        let state = Arc::clone(&state);
        async move { answer(state, request).await.ok_or("the connection is dropped") }
    });
    // Some tests drop the connection on purpose.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(state: Arc<Mutex<FakeState>>, request: Request<Incoming>) -> Option<Response<Full<Bytes>>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.ok()?.to_bytes();
    let told: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let path: Vec<String> = head.uri.path().split('/').skip(1).map(String::from).collect();
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    if path == ["engine", "claim"] {
        park(&state).await;
    }
    let answered = {
        let mut state = state.lock().expect("no test thread panicked in here");
        if head.headers.get("authorization").is_none_or(|value| value != format!("Bearer {TOKEN}").as_str()) {
            state.wrongs.push(format!("{} without the token", head.uri));
        }
        let key = head.headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let answered = state.answer(&path, &told, key);
        state.version.send_modify(|version| *version += 1);
        answered
    };
    let (status, body) = answered?;
    let reply = Response::builder().status(status).header("content-type", "application/json");
    reply.body(Full::from(body.to_string())).ok()
}

/// Holds a claim for a moment, or until there is a call where claims are parked.
async fn park(state: &Mutex<FakeState>) {
    let locked = || state.lock().expect("no test thread panicked in here");
    {
        let mut state = locked();
        state.parked += 1;
        state.version.send_modify(|version| *version += 1);
    }
    loop {
        tokio::time::sleep(Duration::from_millis(2)).await;
        let state = locked();
        if !state.parks || !state.queue.is_empty() {
            break;
        }
    }
}

impl FakeState {
    fn answer(&mut self, path: &[&str], told: &Value, key: Option<&str>) -> Answered {
        match path {
            ["engine", "heartbeat"] => Some(self.heartbeat(told)),
            ["engine", "claim"] => Some(self.claim(told)),
            ["engine", "calls", id, "events"] => self.events(id.parse().ok()?, told),
            ["engine", "calls", id, "tools", name] => self.tool(id, name, told, key.unwrap_or_default()),
            ["engine", "calls", id, "knowledge"] => {
                let call = self.asked(id)?;
                call.queries.push(told.clone());
                Some((200, json!({ "data": [{ "text": "We {{open}} at nine." }, { "text": "Second best." }] })))
            }
            _ => {
                self.wrongs.push(format!("a request to {path:?}"));
                Some((404, json!({ "message": "Not found" })))
            }
        }
    }

    /// Returns the call of a tool or search request, which must follow a line that announces it.
    fn asked(&mut self, id: &str) -> Option<&mut SeenCall> {
        let call = self.calls.get_mut(&id.parse().ok()?)?;
        let last = call.events.iter().rev().find(|event| event["type"] != "metrics" && event["type"] != "command");
        if last.is_none_or(|event| event["sender"] != "bot") || call.status != "in-progress" {
            self.wrongs.push(format!("call {id} asks after {last:?}"));
        }
        Some(call)
    }

    /// Takes the events of a tool's request, and carries it out once for each key.
    fn tool(&mut self, id: &str, name: &str, told: &Value, key: &str) -> Answered {
        let events = told["events"].as_array().cloned().unwrap_or_default();
        let number = id.parse().ok()?;
        if let Err(wrong) = self.calls.get_mut(&number)?.take(&events) {
            self.wrongs.push(format!("call {id}: {wrong}"));
            return Some((409, json!({ "message": "no", "next_seq": self.calls[&number].held + 1 })));
        }
        if key.is_empty() {
            self.wrongs.push(format!("call {id}: a tool without a key"));
        }
        let is_lost = self.lost_tools > 0;
        self.lost_tools -= u32::from(is_lost);
        let call = self.asked(id)?;
        if !call.tool_keys.iter().any(|known| known == key) {
            call.tool_keys.push(key.to_owned());
            call.tools.push((name.to_owned(), told["arguments"].clone()));
        }
        if is_lost {
            return None;
        }
        call.told = call.held;
        if name == "unreachable" {
            let state =
                json!({ "message": "no answer", "call_status": shown(&call.status), "next_seq": call.held + 1 });
            return Some((502, state));
        }
        Some((200, json!({ "status": 207, "body": "{}", "duration_ms": 3 })))
    }

    fn heartbeat(&mut self, told: &Value) -> (u16, Value) {
        if !self.has_heartbeats {
            return (404, json!({ "message": "Not found" }));
        }
        self.heartbeats.push(told.clone());
        if told["engine"] != "simulated" || told["protocol"] != 2 {
            self.wrongs.push(format!("a heartbeat of {told}"));
        }
        let named: Vec<u64> = told["calls"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
        let mut commands = Vec::new();
        for call in &named {
            let Some(seen) = self.calls.get_mut(call) else {
                self.wrongs.push(format!("a heartbeat of call {call}"));
                continue;
            };
            seen.heartbeats += 1;
            commands.extend(seen.commands.iter().cloned());
        }
        let lost: Vec<&u64> = named.iter().filter(|call| self.lost.contains(call)).collect();
        (
            200,
            json!({ "lease": "9999-12-31T23:59:59.000000Z", "lost": lost, "commands": commands, "drain": self.drains }),
        )
    }

    fn claim(&mut self, told: &Value) -> (u16, Value) {
        if self.refused_claims > 0 {
            self.refused_claims -= 1;
            return (503, json!({ "message": "away" }));
        }
        let capacity = told["capacity"].as_u64().unwrap_or(0);
        if told["protocol"] != 2 || told["wait"] != 30 || !told["engine"].is_string() || !told["modes"].is_array() {
            self.wrongs.push(format!("a claim of {told}"));
        }
        let mut calls = Vec::new();
        while calls.len() < usize::try_from(capacity).unwrap_or(0)
            && let Some(entry) = self.queue.pop_front()
        {
            let id = entry["call"]["id"].as_u64().unwrap_or(0);
            self.calls.insert(id, SeenCall { status: "initiated".into(), ..SeenCall::default() });
            calls.push(entry);
        }
        self.empty_claims += u32::from(calls.is_empty());
        let commands: Vec<&Value> = self.calls.values().flat_map(|call| &call.commands).collect();
        (200, json!({ "calls": calls, "commands": commands }))
    }

    fn events(&mut self, id: u64, told: &Value) -> Answered {
        let Some(call) = self.calls.get_mut(&id) else {
            self.wrongs.push(format!("events of call {id}"));
            return Some((404, json!({ "message": "Call not found" })));
        };
        let Some(events) = told["events"].as_array().filter(|events| events.len() <= 100) else {
            self.wrongs.push(format!("a report of {told}"));
            return Some((422, json!({ "message": "no" })));
        };
        call.requests += 1;
        call.renewals += u32::from(events.is_empty());
        let fault = (self.plan)(id, call.requests);
        match fault {
            EventsFault::DropBefore => return None,
            EventsFault::Status(status) => return Some((status, json!({ "message": "no" }))),
            EventsFault::Wants(next_seq) => return Some((409, json!({ "message": "no", "next_seq": next_seq }))),
            EventsFault::Forget(count) => {
                call.held -= count.min(call.held);
                call.told = call.held;
                call.status = replay(&call.events[..call.held]);
                return Some((409, json!({ "message": "a gap", "next_seq": call.held + 1 })));
            }
            EventsFault::None
            | EventsFault::DropAfter
            | EventsFault::HangUp
            | EventsFault::Command(_)
            | EventsFault::End => {}
        }
        if let Err(wrong) = call.take(events) {
            self.wrongs.push(format!("call {id}: {wrong}"));
            return Some((409, json!({ "message": "no", "next_seq": call.held + 1 })));
        }
        match fault {
            EventsFault::DropAfter => return None,
            EventsFault::End => call.status = "ended".into(),
            EventsFault::HangUp => call.command(id, json!({ "id": "hangup", "type": "hangup" })),
            EventsFault::Command(text) => call.command(id, serde_json::from_str(text).unwrap_or(Value::Null)),
            _ => {}
        }
        call.told = call.held;
        let answer = json!({
            "call_status": shown(&call.status), "lease": "9999-12-31T23:59:59.000000Z", "commands": call.commands,
            "ignored": [],
        });
        Some((200, answer))
    }
}

impl SeenCall {
    /// Takes events, or returns what is wrong with them.
    fn take(&mut self, events: &[Value]) -> Result<(), String> {
        for event in events {
            let seq = event["seq"].as_u64().and_then(|seq| usize::try_from(seq).ok()).unwrap_or(0);
            if let Some(known) = seq.checked_sub(1).and_then(|at| self.events.get(at))
                && known != event
            {
                return Err(format!("{event} was {known}"));
            }
            if seq == 0 || seq > self.held + 1 {
                return Err(format!("{seq} after {}", self.held));
            }
            if seq <= self.held {
                continue;
            }
            self.status = next(&self.status, event).ok_or_else(|| format!("{event} while {}", self.status))?;
            self.held += 1;
            if event["type"] == "command" {
                self.commands.retain(|command| command["id"] != event["id"]);
            }
            if self.held > self.events.len() {
                self.check_time(event)?;
                self.events.push(event.clone());
            }
        }
        Ok(())
    }

    fn command(&mut self, call: u64, mut command: Value) {
        command["call_id"] = call.into();
        if running(&self.status) {
            self.commands.push(command);
        }
    }

    fn check_time(&self, event: &Value) -> Result<(), String> {
        let time = |event: &Value| event["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        let now = time(event).ok_or_else(|| format!("{event} has no time"))?;
        let ordered = self.events.last().and_then(time).is_none_or(|before| before <= now);
        if ordered { Ok(()) } else { Err(format!("{event} is older than the one before")) }
    }
}

fn replay(events: &[Value]) -> String {
    events.iter().fold("initiated".into(), |status, event| next(&status, event).expect("it was taken before"))
}

fn running(status: &str) -> bool {
    ["initiated", "dialing", "ringing", "in-progress"].contains(&status)
}

/// Returns the state as answers show it.
fn shown(status: &str) -> &str {
    if ["dialing", "released"].contains(&status) { "initiated" } else { status }
}

/// Returns the state after an event, or `None` if the engine interface does not allow it there (docs/api.md, States); a
/// call that is dialed, and one that was given back, are states of their own here.
fn next(status: &str, event: &Value) -> Option<String> {
    let kind = event["type"].as_str()?;
    let to = match (status, kind) {
        ("initiated", "dialing") => "dialing",
        ("initiated", "release") => "released",
        ("dialing", "ringing") => "ringing",
        ("dialing" | "ringing", "answered") => "in-progress",
        ("initiated" | "dialing" | "ringing", "failed") => match event["reason"].as_str()? {
            reason @ ("busy" | "no-answer") => reason,
            _ => "failed",
        },
        ("in-progress", "failed") => "failed",
        ("in-progress", "ended") => match event["by"].as_str()? {
            "customer" => "ended_by_customer",
            "assistant" => "ended_by_assistant",
            _ => "ended",
        },
        (
            "in-progress",
            "transcript" | "variables" | "recording" | "transfer" | "dtmf" | "cost" | "analysis" | "detected"
            | "metrics" | "hold" | "resume",
        ) => status,
        (running_still, "command") if running(running_still) => status,
        (over, "recording" | "cost" | "usage" | "quality") if !running(over) && over != "released" => over,
        _ => return None,
    };
    Some(to.into())
}
