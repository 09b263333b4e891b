//! Requests as the clients of a world send them.

use serde_json::Value;
use switchboard_core::http::reply::Content;
use switchboard_core::http::request::{Body, Door, Method, Request};

/// A request under construction.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    target: String,
    body: Option<Value>,
    key: Option<String>,
}

impl Ask {
    /// Creates a GET without a body.
    pub fn get(target: impl Into<String>) -> Self {
        Self { method: Method::Get, target: target.into(), body: None, key: None }
    }

    /// Creates a DELETE without a body.
    pub fn delete(target: impl Into<String>) -> Self {
        Self { method: Method::Delete, ..Self::get(target) }
    }

    /// Creates a POST with a JSON body.
    pub fn post(target: impl Into<String>, body: Value) -> Self {
        Self { method: Method::Post, body: Some(body), ..Self::get(target) }
    }

    /// Creates a PUT with a JSON body.
    pub fn put(target: impl Into<String>, body: Value) -> Self {
        Self { method: Method::Put, body: Some(body), ..Self::get(target) }
    }

    /// Adds an idempotency key.
    pub fn keyed(self, key: String) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Returns whether it has an idempotency key, so that a retry has no second effect.
    pub const fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// Builds the request with a bearer token.
    pub fn by(&self, token: &str) -> Request {
        let mut request = self.by_anybody();
        request.headers.push(("authorization", format!("Bearer {token}").into_bytes()));
        request
    }

    /// Builds the request without a token.
    pub fn by_anybody(&self) -> Request {
        let mut headers = vec![("host", b"sim".to_vec())];
        if self.body.is_some() {
            headers.push(("content-type", b"application/json".to_vec()));
        }
        headers.extend(self.key.iter().map(|key| ("idempotency-key", key.clone().into_bytes())));
        let body = self.body.as_ref().map_or(Body::None, |body| Body::Full(body.to_string().into_bytes()));
        Request { method: self.method, target: self.target.clone(), headers, body, peer: None, door: Door::Main }
    }
}

/// What a client learns about its request.
#[derive(Clone, Debug)]
pub enum Heard {
    /// An answer: status and body.
    Said(u16, Value),
    /// No answer: the connection broke, or there was none. The request may have been executed.
    Nothing,
}

impl Heard {
    /// Wraps an answer of the service; anything but JSON becomes null.
    pub fn of(status: u16, content: &Content) -> Self {
        let Content::Json(bytes) = content else { return Self::Said(status, Value::Null) };
        Self::Said(status, serde_json::from_slice(bytes).unwrap_or(Value::Null))
    }

    /// Returns the status; 0 without an answer.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Said(status, _) => *status,
            Self::Nothing => 0,
        }
    }

    /// Returns whether the request should be retried: it was not, or may not have been, executed.
    pub const fn is_lost(&self) -> bool {
        matches!(self.status(), 0 | 503)
    }
}

/// The sender of a request, and its purpose.
#[derive(Clone, Debug)]
pub enum Client {
    /// An engine claims calls.
    Claim {
        /// Index of the engine.
        engine: usize,
        /// Most calls that it takes.
        capacity: u64,
    },
    /// An engine reports events of a call.
    Report {
        /// Index of the engine.
        engine: usize,
        /// Id of the call.
        call: u64,
        /// Kind of report, which decides the expected answer.
        saying: Saying,
    },
    /// An engine creates an inbound call.
    Bring {
        /// Index of the engine.
        engine: usize,
    },
    /// An engine has a tool called.
    Tool {
        /// Index of the engine.
        engine: usize,
        /// Id of the call.
        call: u64,
    },
    /// A person sends a request about their account.
    Person {
        /// Index of the person.
        person: usize,
        /// The request and its remaining retries, if it has an idempotency key.
        again: Option<(Ask, u32)>,
    },
    /// Somebody talks to an assistant.
    Talk {
        /// Index of the talker.
        talker: usize,
        /// The message; `None` for the request that begins the conversation.
        message: Option<String>,
    },
}

/// Kind of an engine's report about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying {
    /// No events: renews the lease.
    Renewal,
    /// The next events of the script.
    Truth,
    /// Events with a gap in their sequence numbers.
    Gap,
    /// Events that were reported before.
    Again,
    /// Events of a call that belongs to another engine.
    Stranger,
    /// An event that the state of the call does not allow.
    Wrong,
}
