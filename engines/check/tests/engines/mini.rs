//! A small engine that keeps every rule, or breaks one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use reqwest::{Client, RequestBuilder};
use serde_json::{Value, json};
use switchboard_engine_check::Attachment;
use switchboard_engine_check::subject::HostedEngine;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How an engine is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// Keeps every rule, and brings a call that came in.
    Brings,
    NoToken,
    OldProtocol,
    TakesNothing,
    OverCapacity,
    Polls,
    EndsOnTrouble,
    WrongTime,
    LosesEvents,
    ChangesEvents,
    GoesOnAfterConflict,
    NoDialing,
    TalksBeforeAnswer,
    NeverEnds,
    TalksAfterEnd,
    RingsAfterRelease,
    NeverRenews,
    WrongHeartbeat,
    IgnoresLost,
    IgnoresCommands,
    EndsCommandsTwice,
    TalksOn,
    ToolFirst,
    ToolTwice,
    ToolWithoutArguments,
    Hammers,
    Impatient,
    GivesUp,
    HammersToken,
    FearsTheUnknown,
    MixesCalls,
    BringsAnew,
    DrainsNot,
    DrainsAtOnce,
}

const CAPACITY: usize = 3;

/// Returns an engine with a flaw that runs in this process.
pub fn host(flaw: Flaw) -> impl Fn(Attachment) -> HostedEngine + Send + Sync {
    move |at| {
        let (drain, drains) = watch::channel(false);
        let task = tokio::spawn(run(Arc::new(Mini::new(at, flaw)), drains));
        HostedEngine { drain: Some(Box::new(move || _ = drain.send(true))), task }
    }
}

/// A client. Nothing here uses TLS, but with the workspace's unified features it needs a provider.
pub fn client() -> Client {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let tls = tls.expect("ring knows them").with_root_certificates(rustls::RootCertStore::empty());
    let client = Client::builder().tls_backend_preconfigured(tls.with_no_client_auth()).no_proxy();
    client.build().expect("its parts fit")
}

struct Mini {
    at: Attachment,
    flaw: Flaw,
    client: Client,
    calls: Mutex<HashMap<u64, UnboundedSender<Value>>>,
    trouble: watch::Sender<bool>,
    draining: OnceLock<()>,
    last_greeting: Mutex<String>,
}

/// What a call has come to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gone {
    Lost,
}

impl Mini {
    fn new(at: Attachment, flaw: Flaw) -> Self {
        let (trouble, _) = watch::channel(false);
        let (calls, last_greeting) = (Mutex::default(), Mutex::default());
        Self { at, flaw, client: client(), calls, trouble, draining: OnceLock::new(), last_greeting }
    }

    fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.at.url)).body(body.to_string());
        request.header("content-type", "application/json").bearer_auth(&self.at.token)
    }

    /// Sends a request until it gets an answer that is not 401 or 5xx, the first time but one as `first` says.
    async fn ask(&self, mut request: impl FnMut() -> RequestBuilder) -> (u16, Value) {
        let mut pause = Duration::from_millis(120);
        loop {
            let (status, wait, body) = match request().send().await {
                Ok(answer) => {
                    let wait = answer.headers().get("retry-after").and_then(|text| text.to_str().ok()?.parse().ok());
                    let status = answer.status().as_u16();
                    (status, wait.unwrap_or(0), answer.bytes().await.unwrap_or_default())
                }
                Err(_) if self.flaw == Flaw::GivesUp => return (0, Value::Null),
                Err(_) => (0, 0, hyper::body::Bytes::new()),
            };
            let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
            if !matches!(status, 0 | 401 | 500 | 503) {
                return (status, body);
            }
            if self.flaw == Flaw::EndsOnTrouble {
                self.trouble.send_replace(true);
            }
            let wait = if self.flaw == Flaw::Impatient { 0 } else { wait };
            let hammers = match self.flaw {
                Flaw::Hammers => status == 503,
                Flaw::HammersToken => status == 401,
                _ => false,
            };
            if hammers {
                sleep(Duration::from_millis(5)).await;
                continue;
            }
            sleep(pause.max(Duration::from_secs(wait))).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    }
}

async fn run(mini: Arc<Mini>, drains: watch::Receiver<bool>) {
    let mut calls = JoinSet::new();
    let mut trouble = mini.trouble.subscribe();
    if matches!(mini.flaw, Flaw::Brings | Flaw::BringsAnew) {
        calls.spawn(bring(Arc::clone(&mini)));
    }
    tokio::select! {
        () = claims(&mini, &drains, &mut calls) => {}
        () = heartbeats(&mini) => {}
        _ = trouble.wait_for(|ends| *ends) => {}
    }
}

async fn claims(mini: &Arc<Mini>, drains: &watch::Receiver<bool>, calls: &mut JoinSet<()>) {
    loop {
        while calls.try_join_next().is_some() {}
        let draining = *drains.borrow() && mini.flaw != Flaw::DrainsNot;
        if draining {
            let _ = mini.draining.set(());
        }
        if draining && (calls.is_empty() || mini.flaw == Flaw::DrainsAtOnce) {
            return;
        }
        let room = match mini.flaw {
            Flaw::OverCapacity => CAPACITY,
            Flaw::TakesNothing => 0,
            _ if draining => 0,
            _ => CAPACITY.saturating_sub(calls.len()),
        };
        let protocol = if mini.flaw == Flaw::OldProtocol { 1 } else { 2 };
        let body = json!({ "engine": "mini", "protocol": protocol, "capacity": room, "wait": 1 });
        let answer = tokio::select! {
            (_, answer) = mini.ask(|| mini.post("/engine/claim", &body)) => answer,
            Some(_) = calls.join_next(), if room == 0 => continue,
        };
        let entries = answer["calls"].as_array().cloned().unwrap_or_default();
        for entry in &entries {
            let id = entry["call"]["id"].as_u64().expect("a call has an id");
            let (sender, orders) = unbounded_channel();
            mini.calls.lock().expect("no panic").insert(id, sender);
            calls.spawn(carry(Arc::clone(mini), id, entry.clone(), orders));
        }
        hand_on(mini, &answer);
        if entries.is_empty() && mini.flaw != Flaw::Polls {
            sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn heartbeats(mini: &Mini) {
    loop {
        sleep(Duration::from_millis(150)).await;
        if mini.flaw == Flaw::NeverRenews {
            continue;
        }
        let ids: Vec<u64> = mini.calls.lock().expect("no panic").keys().copied().collect();
        let mut body = json!({ "engine": "mini", "calls": ids, "capacity": CAPACITY, "running": ids.len() });
        if mini.flaw == Flaw::WrongHeartbeat {
            body["calls"] = ids.iter().map(|id| Value::from(id.to_string())).collect();
        }
        let mut request = || mini.post("/engine/heartbeat", &body);
        if mini.flaw == Flaw::NoToken {
            let _ = mini.client.post(format!("{}/engine/heartbeat", mini.at.url)).body(body.to_string()).send().await;
        }
        let (_, answer) = mini.ask(&mut request).await;
        for id in answer["lost"].as_array().into_iter().flatten().filter_map(Value::as_u64) {
            tell(mini, id, json!({ "type": "lost" }));
        }
        hand_on(mini, &answer);
    }
}

fn hand_on(mini: &Mini, answer: &Value) {
    for command in answer["commands"].as_array().into_iter().flatten() {
        tell(mini, command["call_id"].as_u64().expect("a command names its call"), command.clone());
    }
}

fn tell(mini: &Mini, call: u64, what: Value) {
    if let Some(sender) = mini.calls.lock().expect("no panic").get(&call) {
        let _ = sender.send(what);
    }
}

async fn bring(mini: Arc<Mini>) {
    let name = |n: u32| json!({ "type": "inbound", "from": "+12025550001", "to": "+12025550100", "external_id": format!("sip-{n}") });
    let mut n = 0;
    let (_, entry) = mini
        .ask(|| {
            n += u32::from(n == 0 || mini.flaw == Flaw::BringsAnew);
            mini.post("/engine/calls", &name(n))
        })
        .await;
    let id = entry["call"]["id"].as_u64().expect("a call has an id");
    let (sender, orders) = unbounded_channel();
    mini.calls.lock().expect("no panic").insert(id, sender);
    let mut call =
        Carried { mini: &mini, id, seq: 1, events: Vec::new(), taken: 0, orders, known: Vec::new(), to_end: false };
    let _ = call.report(json!({ "type": "answered" })).await;
    let _ = call.report(json!({ "type": "ended", "by": "customer" })).await;
    mini.calls.lock().expect("no panic").remove(&id);
}

async fn carry(mini: Arc<Mini>, id: u64, entry: Value, orders: UnboundedReceiver<Value>) {
    let seq = entry["next_seq"].as_u64().unwrap_or(1);
    let mut call =
        Carried { mini: &mini, id, seq, events: Vec::new(), taken: 0, orders, known: Vec::new(), to_end: false };
    let _ = call.play(&entry).await;
    mini.calls.lock().expect("no panic").remove(&id);
}

struct Carried<'m> {
    mini: &'m Mini,
    id: u64,
    seq: u64,
    events: Vec<Value>,
    taken: usize,
    orders: UnboundedReceiver<Value>,
    known: Vec<Value>,
    to_end: bool,
}

impl Carried<'_> {
    fn is(&self, flaw: Flaw) -> bool {
        self.mini.flaw == flaw
    }

    async fn play(&mut self, entry: &Value) -> Result<(), Gone> {
        let digits = entry["call"]["client_phone_number"].as_str().expect("a number");
        if self.is(Flaw::FearsTheUnknown) && entry["assistant"]["functions"][0]["kind"] != "tool" {
            return std::future::pending().await;
        }
        if digits.ends_with("0013") || self.mini.draining.get().is_some() {
            self.report(json!({ "type": "release", "reason": "no line" })).await?;
            if self.is(Flaw::RingsAfterRelease) {
                self.report(json!({ "type": "dialing" })).await?;
            }
            return Ok(());
        }
        self.obey().await?;
        if self.to_end {
            return self.report(json!({ "type": "failed", "reason": "hangup" })).await;
        }
        if !self.is(Flaw::NoDialing) {
            self.report(json!({ "type": "dialing" })).await?;
        }
        if self.is(Flaw::TalksBeforeAnswer) {
            let _ = self.report(json!({ "type": "transcript", "sender": "bot", "text": "Hello" })).await;
        }
        for kind in ["ringing", "answered"] {
            self.obey().await?;
            if self.to_end {
                return self.report(json!({ "type": "failed", "reason": "hangup" })).await;
            }
            self.report(json!({ "type": kind })).await?;
        }
        self.talk(entry, digits).await?;
        if self.is(Flaw::NeverEnds) {
            return std::future::pending().await;
        }
        self.report(json!({ "type": "ended", "by": "customer" })).await?;
        if self.is(Flaw::TalksAfterEnd) {
            let _ = self.report(json!({ "type": "variables", "variables": {} })).await;
        }
        self.report(json!({ "type": "usage", "stt_seconds": 1 })).await
    }

    async fn talk(&mut self, entry: &Value, digits: &str) -> Result<(), Gone> {
        let greeting = entry["assistant"]["greeting"].as_str().expect("a greeting").to_owned();
        let said = {
            let mut last = self.mini.last_greeting.lock().expect("no panic");
            let before = std::mem::replace(&mut *last, greeting.clone());
            if self.is(Flaw::MixesCalls) && !before.is_empty() { before } else { greeting }
        };
        self.say("bot", &said).await?;
        if digits.ends_with("0008") {
            for name in ["look_up", "unreachable"] {
                self.tool(name).await?;
                self.obey().await?;
                if self.to_end {
                    return Ok(());
                }
            }
        }
        if digits.ends_with("0007") {
            // Long enough for every command, and for leases of a second.
            for line in 0..120 {
                self.say("human", &format!("Line {line}.")).await?;
                sleep(if self.is(Flaw::NeverRenews) { Duration::from_secs(4) } else { Duration::from_millis(70) })
                    .await;
                self.obey().await?;
                if self.to_end && !self.is(Flaw::TalksOn) {
                    return Ok(());
                }
            }
        }
        self.say("human", "Goodbye.").await
    }

    async fn say(&mut self, sender: &str, text: &str) -> Result<(), Gone> {
        self.report(json!({ "type": "transcript", "sender": sender, "text": text })).await
    }

    fn push(&mut self, mut event: Value) {
        event["seq"] = (self.seq + self.events.len() as u64).into();
        event["at"] = if self.is(Flaw::WrongTime) { "noon".into() } else { now() };
        self.events.push(event);
    }

    async fn report(&mut self, event: Value) -> Result<(), Gone> {
        self.push(event);
        self.flush().await
    }

    /// Sends what is not taken until it is.
    async fn flush(&mut self) -> Result<(), Gone> {
        let mut tries = 0;
        while self.taken < self.events.len() {
            tries += 1;
            if tries > 20 {
                return Err(Gone::Lost);
            }
            let mut events = self.events[self.taken..].to_vec();
            let path = format!("/engine/calls/{}/events", self.id);
            let mini = self.mini;
            let mut sent = 0;
            let (status, answer) = if mini.flaw == Flaw::LosesEvents {
                let answer = mini.post(&path, &json!({ "events": events })).send().await;
                if answer.is_err() {
                    self.taken = self.events.len();
                    return Ok(());
                }
                let answer = answer.expect("it is none");
                let status = answer.status().as_u16();
                let body = answer.bytes().await.unwrap_or_default();
                (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
            } else {
                mini.ask(|| {
                    sent += 1;
                    if mini.flaw == Flaw::ChangesEvents && sent > 1 {
                        events.iter_mut().for_each(|event| event["at"] = now());
                    }
                    mini.post(&path, &json!({ "events": events }))
                })
                .await
            };
            match status {
                200 => {
                    self.taken += events.len();
                    hand_on(mini, &answer);
                }
                409 => {
                    let next = answer["next_seq"].as_u64().expect("a number") - self.seq;
                    if self.is(Flaw::GoesOnAfterConflict) {
                        self.push(json!({ "type": "quality", "mos": 4.0 }));
                        continue;
                    }
                    if usize::try_from(next) == Ok(self.taken) {
                        // The state does not allow it.
                        return Err(Gone::Lost);
                    }
                    self.taken = usize::try_from(next).expect("it is small");
                }
                _ if self.is(Flaw::IgnoresLost) => return Ok(()),
                _ if self.is(Flaw::GivesUp) => return std::future::pending().await,
                _ => return Err(Gone::Lost),
            }
        }
        Ok(())
    }

    /// Carries out the commands that have come.
    async fn obey(&mut self) -> Result<(), Gone> {
        while let Ok(command) = self.orders.try_recv() {
            if command["type"] == "lost" {
                if self.is(Flaw::IgnoresLost) {
                    continue;
                }
                return Err(Gone::Lost);
            }
            if self.known.contains(&command["id"]) {
                continue;
            }
            self.known.push(command["id"].clone());
            let kind = command["type"].as_str().unwrap_or_default().to_owned();
            if self.is(Flaw::IgnoresCommands) && kind != "hangup" {
                continue;
            }
            self.to_end |= ["hangup", "end"].contains(&kind.as_str());
            let known = ["hangup", "end", "say"].contains(&kind.as_str());
            let mut end = json!({ "type": "command", "id": command["id"], "status": "done" });
            if !known {
                end["status"] = "refused".into();
                end["reason"] = "It cannot.".into();
            }
            self.report(end.clone()).await?;
            if self.is(Flaw::EndsCommandsTwice) {
                self.report(end).await?;
            }
        }
        Ok(())
    }

    async fn tool(&mut self, name: &str) -> Result<(), Gone> {
        self.push(json!({ "type": "transcript", "sender": "human", "text": "When do you open?" }));
        sleep(Duration::from_millis(40)).await;
        let mut body = json!({ "arguments": { "question": "hours" }, "events": self.events[self.taken..] });
        if self.is(Flaw::ToolFirst) {
            body["events"] = json!([]);
        }
        if self.is(Flaw::ToolWithoutArguments) {
            body["arguments"] = Value::Null;
        }
        let (path, mini, id) = (format!("/engine/calls/{}/tools/{name}", self.id), self.mini, self.id);
        let mut sent = 0;
        let (status, _) = mini
            .ask(|| {
                sent += 1;
                let part = if mini.flaw == Flaw::ToolTwice { sent } else { 1 };
                mini.post(&path, &body).header("Idempotency-Key", format!("{id}-{name}-{part}"))
            })
            .await;
        if matches!(status, 200 | 502) && !self.is(Flaw::ToolFirst) {
            self.taken = self.events.len();
        }
        self.flush().await
    }
}

fn now() -> Value {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is after 1970");
    let second = i64::try_from(now.as_secs()).expect("it is small");
    let at = jiff::Timestamp::new(second, i32::try_from(now.subsec_nanos()).expect("below a second"));
    format!("{:.6}", at.expect("it is a time")).into()
}
