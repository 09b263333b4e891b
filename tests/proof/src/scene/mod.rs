//! The recorded script: two accounts, every operation, calls played by an engine, jobs, answers, clock jumps.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use switchboard_core::http::request::{Body, Door, Method, Request, known_header};
use switchboard_core::http::router::Router;
use switchboard_core::seed::Seed;
use switchboard_core::service::routes::ROUTES;
use switchboard_core::time::Timestamp;
mod acts;
mod speech;
mod talks;

use crate::said::{Said, Transcript};
use crate::script::{Act, Line, Script};
use crate::stage::Stage;
use crate::subject::{Warm, configured};

/// Start of the script, seconds since 1970: a Tuesday, 09:00 UTC.
const BEGIN: u64 = 1_790_067_600;
/// Most rounds of work in one settling.
const ROUNDS: usize = 200;

/// Operations left out of the script: their bodies belong to the host.
pub const OF_THE_HOST: [&str; 10] =
    ["ready", "metrics", "openapi", "docs", "console", "widget", "backup", "getStore", "listNodes", "drainNode"];

/// A script being recorded on the plainest host.
pub struct Recorder {
    stage: Stage<Warm>,
    script: Script,
    said: Vec<Said>,
    now: Timestamp,
    covered: BTreeSet<&'static str>,
    owner: String,
    stranger: String,
    operator: String,
    engine: String,
}

fn text(token: &Value) -> String {
    token.as_str().expect("a token").to_owned()
}

/// Returns the settings of every script.
pub fn settings() -> Value {
    json!({
        "public_url": "https://api.example",
        "cors_origin": ["https://app.example"],
        "rate_limit": 6_000,
        "reply_rate_limit": 600,
        "llm": { "url": "https://llm.example/v1", "model": "m" },
    })
}

/// Records the script over all operations, with the responses of the plainest host.
pub fn record() -> (Script, Transcript) {
    let mut scene = Recorder::begin(BEGIN);
    scene.conventions();
    scene.accounts();
    scene.assistants();
    scene.numbers();
    scene.knowledge();
    scene.calls();
    scene.speech();
    scene.conversations();
    scene.campaigns();
    scene.webhooks();
    scene.farewell();
    let missed: Vec<&str> = ROUTES
        .iter()
        .map(|route| route.id)
        .filter(|id| !scene.covered.contains(id) && !OF_THE_HOST.contains(id))
        .collect();
    assert!(missed.is_empty(), "no scene in tests/proof/src/scene calls {missed:?}");
    scene.finish()
}

impl Recorder {
    /// Begins a script with its first start at this second since 1970.
    pub fn begin(second: u64) -> Self {
        let settings = settings();
        let stage = Stage::new(Warm::new(&settings), configured(&settings).rate_limits);
        let mut recorder = Self {
            stage,
            script: Script { settings, lines: Vec::new() },
            said: Vec::new(),
            now: Timestamp::from_seconds(second),
            covered: BTreeSet::new(),
            owner: String::new(),
            stranger: String::new(),
            operator: String::new(),
            engine: String::new(),
        };
        let Said::Reply { body, .. } = recorder.act(Act::First) else { panic!("no owner was made") };
        let secrets: Value = serde_json::from_slice(&body).expect("JSON");
        recorder.owner = text(&secrets["api_key"]);
        recorder.operator = text(&secrets["admin_token"]);
        let made = recorder.operate(Method::Post, "/admin/accounts", Some(&json!({ "email": "two@example.com" })));
        recorder.stranger = text(&made["api_key"]);
        let named = json!({ "name": "Engine" });
        let made = recorder.operate(Method::Post, "/admin/engine-tokens", Some(&named));
        recorder.engine = text(&made["token"]);
        recorder
    }

    /// Returns the script, and the responses of the plainest host.
    pub fn finish(self) -> (Script, Transcript) {
        (self.script, Transcript { said: self.said, rows: self.stage.rows() })
    }

    /// Returns the tokens of the owner, another account, the operator and an engine.
    pub fn tokens(&self) -> [&str; 4] {
        [&self.owner, &self.stranger, &self.operator, &self.engine]
    }

    /// Records one line and plays it.
    pub fn act(&mut self, act: Act) -> Said {
        let count = self.script.lines.len() as u64;
        let seed = Seed::new([0x51; 32]).child(&format!("line {count}"));
        let line = Line { now: self.now, seed, act };
        let said = self.stage.line(&line);
        self.script.lines.push(line);
        self.said.push(said.clone());
        said
    }

    /// Advances the time of the following lines.
    pub fn wait(&mut self, seconds: u64) {
        self.now = self.now.plus_seconds(seconds);
    }

    /// Ticks and answers sends until nothing is due.
    pub fn settle(&mut self) {
        for _ in 0..ROUNDS {
            let Said::Decided { wake, .. } = self.act(Act::Tick) else { unreachable!("a tick decides") };
            while self.stage.pending() > 0 {
                self.act(Act::Answer);
            }
            if wake.is_none_or(|at| at > self.now) {
                return;
            }
        }
    }

    /// Records a request and plays it.
    pub fn send(
        &mut self,
        method: Method,
        target: &str,
        token: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Value {
        let count = self.script.lines.len();
        let mut all = vec![("x-request-id", format!("line-{count}").into_bytes())];
        if !token.is_empty() {
            all.push(("authorization", format!("Bearer {token}").into_bytes()));
        }
        for (name, value) in headers {
            let known = known_header(name).expect("a header that the service looks at");
            all.push((known, value.as_bytes().to_vec()));
        }
        let body = body.map_or(Body::None, |bytes| Body::Full(bytes.to_vec()));
        let peer = "127.0.0.1".parse().ok();
        let request = Request { method, target: target.to_owned(), headers: all, body, peer, door: Door::Main };
        let path = target.split('?').next().unwrap_or_default();
        self.covered.extend(
            Router::new(ROUTES)
                .expect("a table without ambiguity")
                .find(path)
                .and_then(|found| found.route(method))
                .map(|route| route.id),
        );
        let Said::Reply { body, .. } = self.act(Act::Http(request)) else { unreachable!("a request has a reply") };
        serde_json::from_slice(&body).unwrap_or(Value::Null)
    }

    fn json(&mut self, method: Method, target: &str, token: &str, body: Option<&Value>) -> Value {
        let bytes = body.map(|body| body.to_string().into_bytes());
        let headers: &[_] = if body.is_some() { &[("content-type", "application/json")] } else { &[] };
        self.send(method, target, token, headers, bytes.as_deref())
    }

    /// Sends a request as the owner; then as a stranger, and without a token.
    fn ask(&mut self, method: Method, target: &str, body: Option<&Value>) -> Value {
        let (owner, stranger) = (self.owner.clone(), self.stranger.clone());
        let said = self.json(method, target, &owner, body);
        self.json(method, target, &stranger, body);
        self.json(method, target, "", body);
        said
    }

    fn make(&mut self, target: &str, body: &Value) -> u64 {
        let said = self.ask(Method::Post, target, Some(body));
        let id = said["data"]["id"].as_u64().or(said["call_id"].as_u64()).or(said["api_key"]["id"].as_u64());
        id.unwrap_or_else(|| panic!("{target}: {said}"))
    }

    /// Reads a list or resource: in full, by `HEAD`, and conditionally while it is unchanged.
    fn look(&mut self, target: &str) -> Value {
        let owner = self.owner.clone();
        self.json(Method::Head, target, &owner, None);
        let said = self.ask(Method::Get, target, None);
        self.send(Method::Get, target, &owner, &[("if-none-match", "*")], None);
        said
    }

    /// Reads a list as CSV: with each separator, by `HEAD`, and with one that there is not.
    fn sheets(&mut self, list: &str) {
        let (owner, csv) = (self.owner.clone(), [("accept", "text/csv")]);
        self.send(Method::Get, list, &owner, &csv, None);
        self.send(Method::Head, list, &owner, &csv, None);
        for separator in [";", "tab"] {
            self.send(Method::Get, &format!("{list}?separator={separator}"), &owner, &csv, None);
        }
    }

    fn operate(&mut self, method: Method, target: &str, body: Option<&Value>) -> Value {
        let (operator, owner) = (self.operator.clone(), self.owner.clone());
        self.json(method, target, &owner, body);
        self.json(method, target, &operator, body)
    }

    fn engine(&mut self, target: &str, body: &Value) -> Value {
        let engine = self.engine.clone();
        self.json(Method::Post, target, &engine, Some(body))
    }
}
