//! The requests of an engine (docs/api.md, The engine interface), and the meaning of their answers. Nothing is retried
//! here.

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};

use super::UnfitSettings;
use super::command::EngineCommand;

/// Name under which the engine claims calls.
pub const NAME: &str = "simulated";
/// Edition of the interface that it speaks.
pub const PROTOCOL: u32 = 2;
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
/// Longest pause that the service may ask for: half a lease, so that waiting alone loses no call.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(15);
/// States of a call that is not over.
const RUNNING: [&str; 3] = ["initiated", "ringing", "in-progress"];

/// Client of the service's engine interface.
pub struct ServiceClient {
    client: Client,
    base: String,
    token: HeaderValue,
}

/// The service did not carry out a request; the same one may be sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unanswered {
    /// Status of the answer; `None` without one.
    pub status: Option<u16>,
    /// How long to wait at least, as the service says.
    pub retry_after: Duration,
}

/// Answer to a claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimReply {
    /// Claimed calls, each with its assistant.
    pub calls: Vec<Value>,
    /// Commands to calls that the engine has.
    pub commands: Vec<EngineCommand>,
}

/// Answer to a heartbeat.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeartbeatReply {
    /// Calls that are not this engine's any more.
    pub lost: Vec<u64>,
    /// Commands to the others.
    pub commands: Vec<EngineCommand>,
    /// Whether the operator drains the engine.
    pub drain: bool,
}

/// Result of reporting events.
#[derive(Clone, Debug, PartialEq)]
pub enum EventsReply {
    /// The service has taken them.
    Taken {
        /// Whether the call is over.
        over: bool,
        /// What the service wants done.
        commands: Vec<EngineCommand>,
    },
    /// Nothing was taken; the service expects this number.
    Conflict(u64),
    /// This engine has no such call.
    Gone,
    /// The service is unreachable or failing: the same events may be sent again.
    Away(Unanswered),
    /// The service rejected them, with this status.
    Refused(u16),
}

/// Result of asking for a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolOutcome {
    /// The events were taken, and the tool's endpoint answered with this status.
    Asked(u16),
    /// The tool did not answer, or could not be asked; the service expects this number next, where it says so.
    NotAsked(Option<u64>),
    /// Nothing was taken; the service expects this number.
    Conflict(u64),
    /// The same request may be sent again, under its key.
    Away(Unanswered),
}

/// A complete answer.
struct Answer {
    status: u16,
    retry_after: Duration,
    body: Value,
}

impl Answer {
    fn unanswered(&self) -> Unanswered {
        Unanswered { status: Some(self.status), retry_after: self.retry_after }
    }

    /// Returns whether the service is failing, or wants fewer requests.
    fn is_temporary(&self) -> bool {
        matches!(self.status, 408 | 429 | 500..)
    }
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

    /// Claims calls, waiting for them and for commands; with a capacity of 0 for commands alone.
    pub async fn claim(&self, capacity: usize) -> Result<ClaimReply, Unanswered> {
        let body = json!({
            "engine": NAME,
            "protocol": PROTOCOL,
            "modes": ["pipeline", "multimodal", "dualplex"],
            "capacity": capacity.min(CLAIM_CALLS_MAX),
            "wait": CLAIM_WAIT_SECONDS,
        });
        let request = self.request("/engine/claim", &body);
        let within = ANSWER + Duration::from_secs(CLAIM_WAIT_SECONDS);
        match sent(request, within, CLAIM_BYTES_MAX).await {
            Some(mut answer) if answer.status == 200 => match answer.body["calls"].take() {
                Value::Array(calls) => Ok(ClaimReply { calls, commands: EngineCommand::list(&answer.body, None) }),
                _ => Err(answer.unanswered()),
            },
            Some(answer) => Err(answer.unanswered()),
            None => Err(Unanswered::default()),
        }
    }

    /// Renews the leases of calls, and says what there is to know of the engine.
    pub async fn heartbeat(&self, calls: &[u64], about: &Value) -> Result<HeartbeatReply, Unanswered> {
        let mut body = about.clone();
        body["calls"] = calls.into();
        match sent(self.request("/engine/heartbeat", &body), ANSWER, REPLY_BYTES_MAX).await {
            Some(answer) if answer.status == 200 => {
                let lost = answer.body["lost"].as_array().map(Vec::as_slice).unwrap_or_default();
                let lost = lost.iter().filter_map(Value::as_u64).collect();
                let drain = answer.body["drain"] == true;
                Ok(HeartbeatReply { lost, commands: EngineCommand::list(&answer.body, None), drain })
            }
            Some(answer) => Err(answer.unanswered()),
            None => Err(Unanswered::default()),
        }
    }

    /// Reports events of a call; an empty report only renews the lease.
    pub async fn events(&self, call: u64, events: &[Value]) -> EventsReply {
        let request = self.request(&format!("/engine/calls/{call}/events"), &json!({ "events": events }));
        let Some(answer) = sent(request, ANSWER, REPLY_BYTES_MAX).await else {
            return EventsReply::Away(Unanswered::default());
        };
        match answer.status {
            200 => taken(&answer.body, call),
            404 => EventsReply::Gone,
            409 => answer.body["next_seq"].as_u64().map_or(EventsReply::Refused(409), EventsReply::Conflict),
            _ if answer.is_temporary() => EventsReply::Away(answer.unanswered()),
            status => EventsReply::Refused(status),
        }
    }

    /// Has the service call a tool; `body` holds arguments and the events that led to it, `key` makes the request one,
    /// however often it is sent.
    pub async fn tool(&self, call: u64, name: &str, body: &Value, key: &str) -> ToolOutcome {
        let request = self.request(&format!("/engine/calls/{call}/tools/{name}"), body).header("Idempotency-Key", key);
        let within = ANSWER + Duration::from_secs(TOOL_SECONDS);
        let Some(answer) = sent(request, within, REPLY_BYTES_MAX).await else {
            return ToolOutcome::Away(Unanswered::default());
        };
        let status = answer.body["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let next_seq = answer.body["next_seq"].as_u64();
        match (answer.status, status, next_seq) {
            (200, Some(status), _) => ToolOutcome::Asked(status),
            // The events were taken, and the tool was refused.
            (_, _, Some(next_seq)) if answer.body["call_status"].is_string() => ToolOutcome::NotAsked(Some(next_seq)),
            (409, _, Some(next_seq)) => ToolOutcome::Conflict(next_seq),
            // 409 without a number: the first request with this key is still running.
            (409 | 408 | 429 | 500 | 503, _, _) => ToolOutcome::Away(answer.unanswered()),
            _ => ToolOutcome::NotAsked(None),
        }
    }

    /// Searches the knowledgebase of a call's assistant; returns the best passage.
    pub async fn knowledge(&self, call: u64, query: &str) -> Option<String> {
        let body = json!({ "query": query, "limit": PASSAGES });
        let request = self.request(&format!("/engine/calls/{call}/knowledge"), &body);
        let answer = sent(request, ANSWER, REPLY_BYTES_MAX).await.filter(|answer| answer.status == 200)?;
        let passage = answer.body["data"][0]["text"].as_str().filter(|text| !text.trim().is_empty());
        passage.map(String::from)
    }

    fn request(&self, path: &str, body: &Value) -> RequestBuilder {
        self.client
            .post(format!("{}{path}", self.base))
            .header(AUTHORIZATION, &self.token)
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_string())
    }
}

/// Returns the answer to a request; `None` if no complete one came.
async fn sent(request: RequestBuilder, within: Duration, bytes_max: usize) -> Option<Answer> {
    match tokio::time::timeout(within, answer(request, bytes_max)).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::debug!(error = &error as &dyn std::error::Error, "the service did not answer");
            None
        }
        Err(_) => None,
    }
}

/// Returns an answer, its body cut off after `bytes_max`.
async fn answer(request: RequestBuilder, bytes_max: usize) -> reqwest::Result<Answer> {
    let mut reply = request.send().await?;
    let seconds = reply.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let retry_after = Duration::from_secs(seconds.unwrap_or(0)).min(RETRY_AFTER_MAX);
    let mut body = Vec::new();
    while let Some(chunk) = reply.chunk().await? {
        let room = bytes_max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            break;
        }
    }
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Answer { status: reply.status().as_u16(), retry_after, body })
}

fn taken(answer: &Value, call: u64) -> EventsReply {
    let over = answer["call_status"].as_str().is_some_and(|status| !RUNNING.contains(&status));
    EventsReply::Taken { over, commands: EngineCommand::list(answer, Some(call)) }
}
