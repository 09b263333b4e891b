//! An engine by text, as an example (docs/engines-writing.md): whoever is called says the lines of a script, or of
//! standard input, and the assistant repeats them. A line that begins with `?` is a question for the assistant's first
//! tool. It carries one call at a time, so that its reports renew the lease and bring all commands.

use std::env::{args, var};
use std::time::Duration;

use reqwest::Client;
use serde_json::{Value, json};
use tokio::time::sleep;

/// The call is not this engine's any more: whatever it has of the line, it hangs up.
struct CallGone;

struct TextService {
    client: Client,
    url: String,
    token: String,
}

impl TextService {
    /// Sends a request until the service answers it: less and less often, and never earlier than it asks for.
    async fn ask(&self, path: &str, body: &Value, key: Option<&str>) -> (u16, Value) {
        let mut pause = 200;
        loop {
            let mut request = self.client.post(format!("{}{path}", self.url)).bearer_auth(&self.token);
            if let Some(key) = key {
                request = request.header("Idempotency-Key", key);
            }
            let mut wait = 0;
            if let Ok(answer) = request.header("Content-Type", "application/json").body(body.to_string()).send().await {
                let (status, after) = (answer.status().as_u16(), answer.headers().get("Retry-After").cloned());
                wait = after.and_then(|after| after.to_str().ok()?.parse::<u64>().ok()).unwrap_or(0).min(15);
                if !matches!(status, 401 | 408 | 429 | 500 | 503)
                    && let Ok(body) = answer.bytes().await
                {
                    return (status, serde_json::from_slice(&body).unwrap_or(Value::Null));
                }
            }
            sleep(Duration::from_millis(pause.max(1_000 * wait))).await;
            pause = (2 * pause).min(5_000);
        }
    }
}

struct TextCall<'s> {
    service: &'s TextService,
    id: u64,
    /// Number of the first event.
    first: u64,
    /// All events: what the service forgets is sent again as it was.
    events: Vec<Value>,
    taken: usize,
    /// Ids of the commands that came, each of which comes more than once.
    known: Vec<Value>,
    ends: bool,
}

impl TextCall<'_> {
    async fn talk(&mut self, assistant: &Value, script: &[String]) -> Result<(), CallGone> {
        for state in ["dialing", "ringing", "answered"] {
            if self.ends {
                return self.report(json!({ "type": "failed", "reason": "hangup" })).await;
            }
            self.report(json!({ "type": state })).await?;
        }
        self.say("bot", assistant["greeting"].as_str().filter(|text| !text.is_empty()).unwrap_or("Hello.")).await?;
        for line in script {
            sleep(Duration::from_millis(50)).await;
            if self.ends {
                break;
            }
            self.say("human", line).await?;
            let answer = match (line.strip_prefix('?'), assistant["functions"][0]["name"].as_str()) {
                (Some(question), Some(tool)) => self.tool(tool, question.trim()).await?,
                _ => format!("You said: {line}"),
            };
            self.say("bot", &answer).await?;
        }
        self.report(json!({ "type": "ended", "by": if self.ends { "assistant" } else { "customer" } })).await?;
        let spoken: usize = self.events.iter().filter_map(|event| event["text"].as_str()).map(str::len).sum();
        self.report(json!({ "type": "usage", "tts_characters": spoken })).await
    }

    async fn say(&mut self, sender: &str, text: &str) -> Result<(), CallGone> {
        self.report(json!({ "type": "transcript", "sender": sender, "text": text })).await
    }

    async fn report(&mut self, event: Value) -> Result<(), CallGone> {
        self.note(event);
        self.deliver().await
    }

    fn note(&mut self, mut event: Value) {
        event["seq"] = (self.first + self.events.len() as u64).into();
        self.events.push(event);
    }

    /// Returns once the service has all events, those of the commands that it answers with too.
    async fn deliver(&mut self) -> Result<(), CallGone> {
        loop {
            let (from, until) = (self.taken, self.events.len().min(self.taken + 100));
            let (path, body) =
                (format!("/engine/calls/{}/events", self.id), json!({ "events": self.events[from..until] }));
            let (status, answer) = self.service.ask(&path, &body, None).await;
            let next = answer["next_seq"].as_u64().and_then(|next| usize::try_from(next.checked_sub(self.first)?).ok());
            self.taken = match (status, next) {
                (200, _) => until,
                // The service goes on from another number: it has forgotten, or knows more.
                (409, Some(next)) if next != from && next <= self.events.len() => next,
                _ => return Err(CallGone),
            };
            self.obey(&answer["commands"]);
            if self.taken == self.events.len() {
                return Ok(());
            }
        }
    }

    /// Carries out commands, each once, and notes the end of each; after the call's own end there is nothing to do.
    fn obey(&mut self, commands: &Value) {
        for command in commands.as_array().into_iter().flatten() {
            let has = |events: &[Value], kind: &str| events.iter().any(|event| event["type"] == kind);
            let is_known = command["call_id"] != self.id || self.known.contains(&command["id"]);
            if is_known || has(&self.events, "ended") || has(&self.events, "failed") {
                continue;
            }
            self.known.push(command["id"].clone());
            let mut end = json!({ "type": "command", "id": command["id"], "status": "done" });
            match (command["type"].as_str(), command["text"].as_str()) {
                (Some("hangup" | "end"), _) => self.ends = true,
                (Some("say"), Some(text)) if has(&self.events, "answered") => {
                    self.note(json!({ "type": "transcript", "sender": "bot", "text": text }));
                }
                _ => end["status"] = "refused".into(),
            }
            self.note(end);
        }
    }

    /// Has the service ask a tool; what led to it is there already. Asked again, it is the same request.
    async fn tool(&mut self, name: &str, question: &str) -> Result<String, CallGone> {
        let (path, key) =
            (format!("/engine/calls/{}/tools/{name}", self.id), format!("{}-{}", self.id, self.events.len()));
        let (service, body) = (self.service, json!({ "arguments": { "question": question } }));
        let asked = service.ask(&path, &body, Some(&key));
        tokio::pin!(asked);
        while !self.ends {
            tokio::select! {
                (_, answer) = &mut asked => {
                    let said = answer["body"].as_str().or(answer["message"].as_str()).unwrap_or("I do not know.");
                    return Ok(said.chars().take(500).collect());
                }
                // A hang-up does not wait for the tool: an empty report brings commands.
                () = sleep(Duration::from_millis(250)) => self.deliver().await?,
            }
        }
        Ok("I have to go.".into())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (url, token) = (var("SWITCHBOARD_URL")?, var("SWITCHBOARD_ENGINE_TOKEN")?);
    let script = args().nth(1).map_or_else(|| std::io::read_to_string(std::io::stdin()), std::fs::read_to_string)?;
    let script: Vec<String> =
        script.lines().map(|line| line.trim().into()).filter(|line: &String| !line.is_empty()).collect();
    let service = TextService { client: Client::builder().build()?, url, token };
    let (drain, drains) = tokio::sync::watch::channel(false);
    let mut ends = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::spawn(async move { ends.recv().await.map(|()| drain.send(true)) });
    while !*drains.borrow() {
        let claim = json!({ "engine": "text", "protocol": 2, "capacity": 1, "wait": 10 });
        let (_, answer) = service.ask("/engine/claim", &claim, None).await;
        for entry in answer["calls"].as_array().into_iter().flatten() {
            let (id, first) = (entry["call"]["id"].as_u64().unwrap_or(0), entry["next_seq"].as_u64().unwrap_or(1));
            let (events, known) = (Vec::new(), Vec::new());
            let mut call = TextCall { service: &service, id, first, events, taken: 0, known, ends: false };
            call.obey(&answer["commands"]);
            let talked = if *drains.borrow() {
                call.report(json!({ "type": "release" })).await
            } else {
                call.talk(&entry["assistant"], &script).await
            };
            if talked.is_err() {
                eprintln!("Call {id} was left.");
            }
        }
        // A service that answers at once is not asked in a loop.
        sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}
