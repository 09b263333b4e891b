//! [`Script`]: inputs with their times and random seeds.

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use switchboard_core::http::request::{Body, Request};
use switchboard_core::seed::Seed;
use switchboard_core::time::Timestamp;

/// Settings and the inputs under them.
#[derive(Clone, Debug)]
pub struct Script {
    /// Settings of the service, one JSON object.
    pub settings: Value,
    /// Inputs, in the order in which hosts play them.
    pub lines: Vec<Line>,
}

/// One input with its context.
#[derive(Clone, Debug)]
pub struct Line {
    /// Time; it does not advance during the line.
    pub now: Timestamp,
    /// Seed used for every draw during the line.
    pub seed: Seed,
    /// Input that is played.
    pub act: Act,
}

/// Input of a line.
#[derive(Clone, Debug)]
pub enum Act {
    /// First start: an empty store gets its owner.
    First,
    /// A request; its body is complete, or there is none.
    Http(Request),
    /// A tick: durable work may be due.
    Tick,
    /// The oldest pending send is performed, and its answer processed.
    Answer,
}

impl Script {
    /// Serializes the script as one JSON object per line, for hosts that are not written in Rust.
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

/// Formats bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Parses hexadecimal digits; `None` for anything else.
pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map(digit).collect()
}
