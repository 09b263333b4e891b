//! The requests of an engine (docs/api.md, The engine interface), and the meaning of their answers. Nothing is retried
//! here.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Map, Value, json};

use super::UnfitSettings;

/// Name under which the engine claims calls.
const NAME: &str = "simulated";
/// How long the service may hold a claim open until calls arrive, seconds.
const CLAIM_WAIT_SECONDS: u64 = 30;
/// Most calls of one claim: each may bring a prompt of megabytes.
const CLAIM_CALLS_MAX: usize = 16;
/// Timeout for an answer, on top of the time that the service may take.
const ANSWER: Duration = Duration::from_secs(15);
/// Longest timeout of a tool in the service, seconds.
const TOOL_SECONDS: u64 = 30;
/// Largest answer to a claim, bytes.
const CLAIM_BYTES_MAX: usize = 256 << 20;
/// Largest other answer, bytes: a tool's may carry 1 MiB, escaped.
const REPLY_BYTES_MAX: usize = 8 << 20;
/// Passages requested per search.
const PASSAGES: u32 = 3;
/// States of a call that is not over.
const RUNNING: [&str; 3] = ["initiated", "ringing", "in-progress"];

/// Client of the service's engine interface.
pub struct ServiceClient {
    client: Client,
    base: String,
    token: HeaderValue,
}

/// Result of reporting events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventsReply {
    /// The service has taken them.
    Taken {
        /// Whether the call is over.
        over: bool,
        /// Whether the engine is to hang up.
        hang_up: bool,
    },
    /// Nothing was taken; the service expects this number.
    Conflict(u64),
    /// This engine has no such call.
    Gone,
    /// The service is unreachable or failing: the same events may be sent again.
    Away,
    /// The service rejected them, with this status.
    Refused(u16),
}

impl ServiceClient {
    /// Creates a client for the service at a URL.
    pub fn new(client: Client, url: &str, token: &str) -> Result<Self, UnfitSettings> {
        let base = url.trim_end_matches('/').to_string();
        let parsed = Url::parse(&base).map_err(|_| UnfitSettings::Url)?;
        if !["http", "https"].contains(&parsed.scheme()) || parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(UnfitSettings::Url);
        }
        let mut token = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| UnfitSettings::Token)?;
        token.set_sensitive(true);
        Ok(Self { client, base, token })
    }

    /// Claims calls, waiting for them; an error carries the status, if any.
    pub async fn claim(&self, capacity: usize) -> Result<Vec<Value>, Option<u16>> {
        let body = json!({
            "engine": NAME,
            "modes": ["pipeline", "multimodal", "dualplex"],
            "capacity": capacity.min(CLAIM_CALLS_MAX),
            "wait": CLAIM_WAIT_SECONDS,
        });
        let within = ANSWER + Duration::from_secs(CLAIM_WAIT_SECONDS);
        match self.post("/engine/claim", &body, within, CLAIM_BYTES_MAX).await {
            Some((200, mut answer)) => match answer["calls"].take() {
                Value::Array(calls) => Ok(calls),
                _ => Err(Some(200)),
            },
            answer => Err(answer.map(|(status, _)| status)),
        }
    }

    /// Reports events of a call; an empty report only renews the lease.
    pub async fn events(&self, call: u64, events: &[Value]) -> EventsReply {
        let path = format!("/engine/calls/{call}/events");
        match self.post(&path, &json!({ "events": events }), ANSWER, REPLY_BYTES_MAX).await {
            Some((200, answer)) => taken(&answer),
            Some((404, _)) => EventsReply::Gone,
            Some((409, answer)) => answer["next_seq"].as_u64().map_or(EventsReply::Refused(409), EventsReply::Conflict),
            None | Some((408 | 429 | 500.., _)) => EventsReply::Away,
            Some((status, _)) => EventsReply::Refused(status),
        }
    }

    /// Has the service call a tool; returns the status of the tool's endpoint, if it was reached.
    ///
    /// Never to be retried: the endpoint may have acted.
    pub async fn tool(&self, call: u64, name: &str, arguments: &Map<String, Value>) -> Option<u16> {
        let path = format!("/engine/calls/{call}/tools/{name}");
        let within = ANSWER + Duration::from_secs(TOOL_SECONDS);
        let (status, answer) = self.post(&path, &json!({ "arguments": arguments }), within, REPLY_BYTES_MAX).await?;
        if status != 200 {
            tracing::debug!(call, name, status, "a tool was not asked");
            return None;
        }
        answer["status"].as_u64().and_then(|status| u16::try_from(status).ok())
    }

    /// Searches the knowledgebase of a call's assistant; returns the best passage.
    pub async fn knowledge(&self, call: u64, query: &str) -> Option<String> {
        let path = format!("/engine/calls/{call}/knowledge");
        let body = json!({ "query": query, "limit": PASSAGES });
        let (status, answer) = self.post(&path, &body, ANSWER, REPLY_BYTES_MAX).await?;
        let passage = answer["data"][0]["text"].as_str().filter(|text| status == 200 && !text.trim().is_empty());
        passage.map(String::from)
    }

    /// Returns status and body; `None` if no complete answer came.
    async fn post(&self, path: &str, body: &Value, within: Duration, bytes_max: usize) -> Option<(u16, Value)> {
        let request = self
            .client
            .post(format!("{}{path}", self.base))
            .header(AUTHORIZATION, &self.token)
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string());
        match tokio::time::timeout(within, answer(request, bytes_max)).await {
            Ok(Ok((status, body))) => Some((status, serde_json::from_slice(&body).unwrap_or(Value::Null))),
            Ok(Err(error)) => {
                tracing::debug!(path, error = &error as &dyn std::error::Error, "the service did not answer");
                None
            }
            Err(_) => None,
        }
    }
}

/// Returns status and body, cut off after `bytes_max`.
async fn answer(request: RequestBuilder, bytes_max: usize) -> reqwest::Result<(u16, Vec<u8>)> {
    let mut reply = request.send().await?;
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await? {
        let room = bytes_max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            break;
        }
    }
    Ok((reply.status().as_u16(), body))
}

fn taken(answer: &Value) -> EventsReply {
    let commands = answer["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
    EventsReply::Taken {
        over: answer["call_status"].as_str().is_some_and(|status| !RUNNING.contains(&status)),
        hang_up: commands.iter().any(|command| command["type"] == "hangup"),
    }
}
