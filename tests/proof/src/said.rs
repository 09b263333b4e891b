//! What a host said to a script, and how it differs from another.

use std::collections::VecDeque;

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use switchboard_core::http::reply::Reply;
use switchboard_core::outside::Work;
use switchboard_core::remote::CompleteReply;
use switchboard_core::step::{Output, Send, Ticket};
use switchboard_core::time::Timestamp;

use crate::script::{hex, unhex};

/// Headers of the connection rather than the service, ignored in comparisons.
const OF_THE_CONNECTION: [&str; 5] = ["date", "connection", "keep-alive", "transfer-encoding", "content-length"];

/// Response of a host to one line.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// The reply to a request, or to the first start.
    Reply {
        /// HTTP status of the reply.
        status: u16,
        /// Headers sorted by name and value, without those of the connection.
        headers: Vec<(String, String)>,
        /// Body of the reply, byte for byte.
        body: Vec<u8>,
    },
    /// Output of a tick or of an answer.
    Decided {
        /// Time of the next tick, if one is planned.
        wake: Option<Timestamp>,
        /// Work for the outside, as JSON.
        sends: Vec<Value>,
    },
}

/// A row of the store: key and value.
pub type Row = (Vec<u8>, Vec<u8>);

/// All responses of a host, and its rows at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transcript {
    /// Responses, one per line of the script.
    pub said: Vec<Said>,
    /// Rows, sorted by key.
    pub rows: Vec<Row>,
}

impl Said {
    /// Creates a reply; `head` tells that the request was a `HEAD`, whose `content-length` is compared.
    pub fn reply(status: u16, headers: impl IntoIterator<Item = (String, String)>, body: Vec<u8>, head: bool) -> Self {
        let kept = |name: &str| !OF_THE_CONNECTION.contains(&name) || head && name == "content-length";
        let mut headers: Vec<_> = headers.into_iter().filter(|(name, _)| kept(name)).collect();
        headers.sort();
        Self::Reply { status, headers, body }
    }

    /// Converts a reply of the core.
    pub fn answered(answered: CompleteReply, head: bool) -> Self {
        let headers = answered.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
        Self::reply(answered.status, headers, answered.body, head)
    }

    /// Converts the reply of a first start, which has no headers.
    pub fn first(reply: Reply) -> Self {
        let CompleteReply { status, body, .. } = reply.into();
        Self::Reply { status, headers: Vec::new(), body }
    }

    /// Converts the output of a step without a request; its sends are appended to `pending`.
    pub fn decided(output: Output, pending: &mut VecDeque<Send>) -> Self {
        let sends = output.sends.iter().map(send).collect();
        pending.extend(output.sends);
        Self::Decided { wake: output.wake, sends }
    }

    /// Parses a line from a host that is not written in Rust.
    pub fn from_json(line: &Value) -> Option<Self> {
        if let Some(status) = line["status"].as_u64() {
            let pair = |pair: &Value| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned()));
            return Some(Self::Reply {
                status: u16::try_from(status).ok()?,
                headers: line["headers"].as_array().into_iter().flatten().map(pair).collect::<Option<_>>()?,
                body: Base64::decode_vec(line["body"].as_str()?).ok()?,
            });
        }
        let wake = line.get("wake")?.as_u64().map(Timestamp::from_micros);
        Some(Self::Decided { wake, sends: line["sends"].as_array()?.clone() })
    }
}

fn send(send: &Send) -> Value {
    let mut said = match &send.work {
        Work::HashPassword { .. } => json!({ "kind": "hash" }),
        Work::Yield => json!({ "kind": "yield" }),
        Work::DeleteObject(name) => json!({ "kind": "delete", "name": name }),
        Work::VerifyPassword { .. } => json!({ "kind": "verify" }),
        Work::Extract { .. } => json!({ "kind": "extract" }),
        Work::Http(out) => {
            let headers: Vec<Value> = out.headers.iter().map(|(name, value)| json!([name, value.0])).collect();
            let body = Base64::encode_string(&out.body);
            json!({ "kind": "http", "method": out.method, "url": out.url, "headers": headers, "body": body })
        }
    };
    if let Ticket::Job { account, task, lease } = &send.ticket {
        said["account"] = json!(account);
        said["task"] = json!(hex(&task.to_bytes()));
        said["lease"] = json!(lease);
    }
    said
}

impl Transcript {
    /// Parses the output of a host that is not written in Rust; each transcript ends with its rows.
    pub fn all_of(text: &str) -> Result<Vec<Self>, String> {
        let (mut whole, mut transcript) = (Vec::new(), Self::default());
        for line in text.lines() {
            let value: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line}"))?;
            if let Some(rows) = value["dump"].as_array() {
                let row = |row: &Value| Some((unhex(row[0].as_str()?)?, unhex(row[1].as_str()?)?));
                transcript.rows = rows.iter().map(row).collect::<Option<_>>().ok_or("a row is no pair of digits")?;
                whole.push(std::mem::take(&mut transcript));
            } else {
                transcript.said.push(Said::from_json(&value).ok_or_else(|| format!("not a line: {line}"))?);
            }
        }
        Ok(whole)
    }

    /// Describes the first difference from another transcript; `None` if they are equal.
    pub fn difference(&self, other: &Self) -> Option<String> {
        for (at, (one, two)) in self.said.iter().zip(&other.said).enumerate() {
            if one != two {
                return Some(format!("line {at}:\n  {}\n  {}", show(one), show(two)));
            }
        }
        if self.said.len() != other.said.len() {
            return Some(format!("{} lines, and {}", self.said.len(), other.said.len()));
        }
        let differs = self.rows.iter().zip(&other.rows).find(|(one, two)| one != two);
        if let Some(((key, value), (other_key, other_value))) = differs {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            return Some(format!("row {} {}\n and {} {}", hex(key), text(value), hex(other_key), text(other_value)));
        }
        (self.rows.len() != other.rows.len()).then(|| format!("{} rows, and {}", self.rows.len(), other.rows.len()))
    }
}

fn show(said: &Said) -> String {
    match said {
        Said::Reply { status, headers, body } => {
            format!("{status} {headers:?} {}", String::from_utf8_lossy(&body[..body.len().min(2_000)]))
        }
        Said::Decided { wake, sends } => format!("{wake:?} {}", json!(sends)),
    }
}
