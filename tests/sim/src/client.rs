//! Requests as the clients of a world make them.

use serde_json::Value;
use switchboard_core::http::reply::Content;
use switchboard_core::http::request::{Body, Door, Method, Request};

/// A request being put together.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    target: String,
    body: Option<Value>,
    key: Option<String>,
}

impl Ask {
    /// A GET.
    pub fn get(target: impl Into<String>) -> Self {
        Self { method: Method::Get, target: target.into(), body: None, key: None }
    }

    /// A DELETE.
    pub fn delete(target: impl Into<String>) -> Self {
        Self { method: Method::Delete, ..Self::get(target) }
    }

    /// A POST.
    pub fn post(target: impl Into<String>, body: Value) -> Self {
        Self { method: Method::Post, body: Some(body), ..Self::get(target) }
    }

    /// A PUT.
    pub fn put(target: impl Into<String>, body: Value) -> Self {
        Self { method: Method::Put, body: Some(body), ..Self::get(target) }
    }

    /// With an idempotency key.
    pub fn keyed(self, key: String) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Whether it may be made again without a second effect.
    pub const fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    /// The request, by whoever holds a token.
    pub fn by(&self, token: &str) -> Request {
        let mut headers = vec![("authorization", format!("Bearer {token}").into_bytes()), ("host", b"sim".to_vec())];
        if self.body.is_some() {
            headers.push(("content-type", b"application/json".to_vec()));
        }
        headers.extend(self.key.iter().map(|key| ("idempotency-key", key.clone().into_bytes())));
        let body = self.body.as_ref().map_or(Body::None, |body| Body::Full(body.to_string().into_bytes()));
        Request { method: self.method, target: self.target.clone(), headers, body, peer: None, door: Door::Main }
    }
}

/// What a client hears of its request.
#[derive(Clone, Debug)]
pub enum Heard {
    /// An answer.
    Said(u16, Value),
    /// Nothing: the connection broke, or there was none. What was asked for may have been done.
    Nothing,
}

impl Heard {
    /// An answer of the service.
    pub fn of(status: u16, content: &Content) -> Self {
        let Content::Json(bytes) = content else { return Self::Said(status, Value::Null) };
        Self::Said(status, serde_json::from_slice(bytes).unwrap_or(Value::Null))
    }

    /// Its status; 0 where there is none.
    pub const fn status(&self) -> u16 {
        match self {
            Self::Said(status, _) => *status,
            Self::Nothing => 0,
        }
    }

    /// Whether the request should be made again: it was not, or may not have been, carried out.
    pub const fn is_lost(&self) -> bool {
        matches!(self.status(), 0 | 503)
    }
}

/// Who asked, and what for.
#[derive(Clone, Debug)]
pub enum Client {
    /// An engine asks for calls.
    Claim {
        /// Which engine.
        engine: usize,
        /// How many at most.
        capacity: u64,
    },
    /// An engine says what happened in a call.
    Report {
        /// Which engine.
        engine: usize,
        /// The call's id.
        call: u64,
        /// What it says.
        saying: Saying,
    },
    /// An engine brings a call.
    Bring {
        /// Which engine.
        engine: usize,
    },
    /// An engine has a tool asked.
    Tool {
        /// Which engine.
        engine: usize,
        /// The call's id.
        call: u64,
    },
    /// A person acts.
    Person {
        /// Who.
        person: usize,
        /// The request, and how often it may be made again: one with an idempotency key is.
        again: Option<(Ask, u32)>,
    },
}

/// What an engine says of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saying {
    /// Nothing new: it renews the lease.
    Renewal,
    /// What happened next.
    Truth,
    /// A sequence number too far.
    Gap,
    /// What it said before.
    Again,
    /// Something about a call of somebody else.
    Stranger,
    /// An event that the call's state does not allow.
    Wrong,
}
