//! [`Script`]: what happens, when, and by what chance.

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use switchboard_core::http::request::{Body, Request};
use switchboard_core::seed::Seed;
use switchboard_core::time::Timestamp;

/// A configuration and what happens under it.
#[derive(Clone, Debug)]
pub struct Script {
    /// Settings, one JSON object.
    pub settings: Value,
    /// What happens, in order.
    pub lines: Vec<Line>,
}

/// One thing that happens.
#[derive(Clone, Debug)]
pub struct Line {
    /// When; time stands still meanwhile.
    pub now: Timestamp,
    /// Every seed that is drawn meanwhile.
    pub seed: Seed,
    /// What.
    pub act: Act,
}

/// What happens.
#[derive(Clone, Debug)]
pub enum Act {
    /// An empty store gets its owner.
    First,
    /// A request; its body is there, or there is none.
    Http(Request),
    /// Durable work may be due.
    Tick,
    /// The send that waits longest is performed, and its answer comes in.
    Answer,
}

impl Script {
    /// One JSON object a line, for hosts that are not Rust.
    pub fn to_json_lines(&self) -> String {
        let mut text = json!({ "config": self.settings }).to_string() + "\n";
        for line in &self.lines {
            text += &line.to_json().to_string();
            text.push('\n');
        }
        text
    }
}

impl Line {
    fn to_json(&self) -> Value {
        let mut line = json!({ "now": self.now.micros(), "seed": hex(self.seed.bytes()) });
        let (name, value) = match &self.act {
            Act::First => ("first", json!(true)),
            Act::Tick => ("tick", json!(true)),
            Act::Answer => ("answer", json!(true)),
            Act::Http(request) => ("http", http(request)),
        };
        line[name] = value;
        line
    }
}

fn http(request: &Request) -> Value {
    let headers: Vec<Value> =
        request.headers.iter().map(|(name, value)| json!([name, String::from_utf8_lossy(value)])).collect();
    let body = match &request.body {
        Body::Full(bytes) => json!(Base64::encode_string(bytes)),
        _ => Value::Null,
    };
    let peer = request.peer.map(|peer| peer.to_string());
    json!({ "method": request.method.name(), "target": request.target, "headers": headers, "body": body, "peer": peer })
}

/// Two digits a byte.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The bytes of such digits.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map(digit).collect()
}
