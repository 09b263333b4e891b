//! An engine by text, as an example (docs/engines-writing.md): whoever is called says the lines of a script, or of
//! standard input, and the assistant repeats them. A line that begins with `?` is a question for the assistant's first tool.

use std::collections::BTreeMap;
use std::env::{args, var};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

const CAPACITY: usize = 4;

/// The call is not this engine's any more: whatever it has of the line, it hangs up.
struct CallGone;

struct TextEngine {
    client: Client,
    url: String,
    token: String,
    script: Vec<String>,
    calls: Mutex<BTreeMap<u64, UnboundedSender<Value>>>,
}

impl TextEngine {
    /// Sends a request until the service answers it: less and less often, and never earlier than it asks for.
    async fn ask(&self, path: &str, body: &Value, key: Option<&str>) -> (u16, Value) {
        let mut pause = Duration::from_millis(200);
        loop {
            let mut request = self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.token);
            if let Some(key) = key {
                request = request.header("Idempotency-Key", key);
            }
            let mut wait = 0;
            if let Ok(answer) = request.header("Content-Type", "application/json").body(body.to_string()).send().await {
                let (status, after) = (answer.status().as_u16(), answer.headers().get("Retry-After").cloned());
                wait = after.and_then(|after| after.to_str().ok()?.parse().ok()).unwrap_or(0);
                if !matches!(status, 401 | 408 | 429 | 500 | 503)
                    && let Ok(body) = answer.bytes().await
                {
                    return (status, serde_json::from_slice(&body).unwrap_or(Value::Null));
                }
            }
            sleep(pause.max(Duration::from_secs(wait).min(Duration::from_secs(15)))).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }

    /// Claims calls while there is room, and commands always; once it drains, until its last call is over.
    async fn claim(self: Arc<Self>, drains: &tokio::sync::watch::Receiver<bool>) {
        let mut calls = JoinSet::new();
        while !*drains.borrow() || !calls.is_empty() {
            let room = if *drains.borrow() { 0 } else { CAPACITY - calls.len() };
            let claim = json!({ "engine": "text", "protocol": 2, "capacity": room, "wait": 30 });
            let answer = tokio::select! {
                (_, answer) = self.ask("/engine/claim", &claim, None) => answer,
                Some(_) = calls.join_next(), if room == 0 => continue,
            };
            for entry in answer["calls"].as_array().into_iter().flatten() {
                calls.spawn(Arc::clone(&self).carry(entry.clone(), *drains.borrow()));
            }
            self.hand_on(&answer);
            // A service that answers at once is not asked in a loop.
            sleep(Duration::from_millis(100)).await;
            while calls.try_join_next().is_some() {}
        }
    }

    /// Renews the leases of all calls with one request.
    async fn renew(&self) {
        loop {
            let calls: Vec<u64> = self.calls.lock().expect("no call panics").keys().copied().collect();
            let body = json!({ "engine": "text", "protocol": 2, "calls": calls, "capacity": CAPACITY, "running": calls.len() });
            let (_, answer) = self.ask("/engine/heartbeat", &body, None).await;
            for call in answer["lost"].as_array().into_iter().flatten() {
                self.hand_on(&json!({ "commands": [{ "call_id": call, "type": "lost" }] }));
            }
            self.hand_on(&answer);
            sleep(Duration::from_secs(10)).await;
        }
    }

    /// Hands the commands of an answer to their calls.
    fn hand_on(&self, answer: &Value) {
        let calls = self.calls.lock().expect("no call panics");
        for command in answer["commands"].as_array().into_iter().flatten() {
            if let Some(call) = command["call_id"].as_u64().and_then(|id| calls.get(&id)) {
                let _ = call.send(command.clone());
            }
        }
    }

    /// Carries a call to its end, or gives it back.
    async fn carry(self: Arc<Self>, entry: Value, drains: bool) {
        let (Some(id), first) = (entry["call"]["id"].as_u64(), entry["next_seq"].as_u64().unwrap_or(1)) else { return };
        let (sender, commands) = unbounded_channel();
        self.calls.lock().expect("no call panics").insert(id, sender);
        let (events, known) = (Vec::new(), Vec::new());
        let mut call = TextCall { engine: &self, id, first, events, taken: 0, commands, known, ends: false };
        let talked = if drains { call.report(json!({ "type": "release" })).await } else { call.talk(&entry).await };
        if talked.is_err() {
            eprintln!("Call {id} was left.");
        }
        self.calls.lock().expect("no call panics").remove(&id);
    }
}

struct TextCall<'e> {
    engine: &'e TextEngine,
    id: u64,
    /// Number of the first event.
    first: u64,
    /// All events: what the service forgets is sent again as it was.
    events: Vec<Value>,
    taken: usize,
    commands: UnboundedReceiver<Value>,
    /// Ids of the commands that came, each of which comes more than once.
    known: Vec<Value>,
    ends: bool,
}

impl TextCall<'_> {
    async fn talk(&mut self, entry: &Value) -> Result<(), CallGone> {
        for state in ["dialing", "ringing", "answered"] {
            self.obey().await?;
            if self.ends {
                return self.report(json!({ "type": "failed", "reason": "hangup" })).await;
            }
            self.report(json!({ "type": state })).await?;
        }
        self.say("bot", entry["assistant"]["greeting"].as_str().filter(|text| !text.is_empty()).unwrap_or("Hello."))
            .await?;
        for line in self.engine.script.iter().filter(|line| !line.is_empty()) {
            sleep(Duration::from_millis(50)).await;
            self.obey().await?;
            if self.ends {
                break;
            }
            self.say("human", line).await?;
            let answer = match (line.strip_prefix('?'), entry["assistant"]["functions"][0]["name"].as_str()) {
                (Some(question), Some(tool)) => self.tool(tool, question.trim()).await?,
                _ => format!("You said: {line}"),
            };
            self.say("bot", &answer).await?;
        }
        self.obey().await?;
        self.report(json!({ "type": "ended", "by": if self.ends { "assistant" } else { "customer" } })).await?;
        let spoken: usize = self.events.iter().filter_map(|event| event["text"].as_str()).map(str::len).sum();
        self.report(json!({ "type": "usage", "tts_characters": spoken })).await
    }

    async fn say(&mut self, sender: &str, text: &str) -> Result<(), CallGone> {
        self.report(json!({ "type": "transcript", "sender": sender, "text": text })).await
    }

    /// Reports an event, and returns once the service has it and all before it.
    async fn report(&mut self, mut event: Value) -> Result<(), CallGone> {
        event["seq"] = (self.first + self.events.len() as u64).into();
        self.events.push(event);
        while self.taken < self.events.len() {
            let until = self.events.len().min(self.taken + 100);
            let (path, body) =
                (format!("/engine/calls/{}/events", self.id), json!({ "events": self.events[self.taken..until] }));
            let (status, answer) = self.engine.ask(&path, &body, None).await;
            let next = answer["next_seq"].as_u64().and_then(|next| usize::try_from(next.checked_sub(self.first)?).ok());
            match (status, next) {
                (200, _) => self.taken = until,
                // The service goes on from another number: it has forgotten, or knows more.
                (409, Some(next)) if next != self.taken && next <= self.events.len() => self.taken = next,
                _ => return Err(CallGone),
            }
            self.engine.hand_on(&answer);
        }
        Ok(())
    }

    /// Carries out the commands that have come, and reports the end of each.
    async fn obey(&mut self) -> Result<(), CallGone> {
        while let Ok(command) = self.commands.try_recv() {
            let (id, kind) = (command["id"].clone(), command["type"].as_str().unwrap_or_default());
            if kind == "lost" {
                return Err(CallGone);
            }
            if self.known.contains(&id) {
                continue;
            }
            self.known.push(id.clone());
            let answered = self.events.iter().any(|event| event["type"] == "answered");
            let end = match (kind, command["text"].as_str()) {
                ("hangup" | "end", _) => {
                    self.ends = true;
                    json!({ "type": "command", "id": id, "status": "done" })
                }
                ("say", Some(text)) if answered => {
                    self.say("bot", text).await?;
                    json!({ "type": "command", "id": id, "status": "done" })
                }
                _ => {
                    json!({ "type": "command", "id": id, "status": "refused", "reason": "This engine cannot do that." })
                }
            };
            self.report(end).await?;
        }
        Ok(())
    }

    /// Has the service ask a tool; what led to it is there already. Asked again, it is the same request.
    async fn tool(&mut self, name: &str, question: &str) -> Result<String, CallGone> {
        let path = format!("/engine/calls/{}/tools/{name}", self.id);
        let (body, key) =
            (json!({ "arguments": { "question": question } }), format!("{}-{}", self.id, self.events.len()));
        let engine = self.engine;
        let asked = engine.ask(&path, &body, Some(&key));
        tokio::pin!(asked);
        let answer = loop {
            tokio::select! {
                (_, answer) = &mut asked => break answer,
                // A hang-up does not wait for the tool.
                () = sleep(Duration::from_millis(100)) => self.obey().await?,
            }
            if self.ends {
                return Ok("I have to go.".into());
            }
        };
        Ok(answer["body"]
            .as_str()
            .or(answer["message"].as_str())
            .unwrap_or("I do not know.")
            .chars()
            .take(500)
            .collect())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (url, token) = (var("SWITCHBOARD_URL")?, var("SWITCHBOARD_ENGINE_TOKEN")?);
    let script = match args().nth(1) {
        Some(file) => std::fs::read_to_string(file)?,
        None => std::io::read_to_string(std::io::stdin())?,
    };
    let script = script.lines().map(|line| line.trim().to_owned()).collect();
    let engine =
        Arc::new(TextEngine { client: Client::builder().build()?, url, token, script, calls: Mutex::default() });
    let (drain, drains) = tokio::sync::watch::channel(false);
    let mut ends = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move { ends.recv().await.map(|()| drain.send(true)) });
    tokio::select! {
        () = Arc::clone(&engine).claim(&drains) => {}
        () = engine.renew() => {}
    }
    Ok(())
}
