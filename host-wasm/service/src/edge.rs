//! The edge as a value: what to do about a request, one step after another. It does nothing itself.

use switchboard_core::http::request::{Body, Method, Request};

pub use crate::settings::Settings;

/// What the shell must do next.
pub enum Do {
    /// POST these bytes to this path of the region and come back with [`Came::Answer`] or [`Came::Lost`].
    Ask {
        /// Where to.
        path: &'static str,
        /// What.
        body: Vec<u8>,
    },
    /// Read the request's body, at most so many bytes; come back with [`Came::Body`].
    ReadBody(usize),
    /// Hand the whole request to the region and stream its answer back.
    Pass {
        /// What goes before the body of the request.
        head: Vec<u8>,
        /// The answer if the region cannot be reached.
        fallback: Answered,
    },
    /// Answer.
    Reply(Answered),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// What came of the step before.
pub enum Came {
    /// There was none.
    Begin,
    /// The region answered.
    Answer {
        /// With this status.
        status: u16,
        /// And this body.
        body: Vec<u8>,
    },
    /// The region cannot be reached, or did not answer in time or in bounds.
    Lost,
    /// The request's body.
    Body(Body),
}

/// What an instance keeps between requests.
pub struct Edge {
    _settings: Settings,
}

/// One request.
pub struct Visit {
    request: Request,
    echo: Vec<u8>,
}

impl Edge {
    /// The edge of these settings.
    pub fn new(settings: Settings) -> Self {
        Self { _settings: settings }
    }

    /// A request has come; its body is `None` or `Pending`.
    pub fn visit(&self, head: Request, _seed: [u8; 32]) -> Visit {
        Visit { request: head, echo: Vec::new() }
    }
}

impl Visit {
    /// What to do after what came of the step before.
    pub fn next(&mut self, _edge: &Edge, came: Came) -> Do {
        let path = self.request.target.split('?').next().unwrap_or_default();
        match (self.request.method, path, came) {
            (_, "/edge-hello", _) => Do::Reply(reply(200, br#"{"message":"Hello"}"#.to_vec())),
            (Method::Post, "/edge-echo", Came::Begin) => Do::ReadBody(1 << 20),
            (_, _, Came::Begin) => Do::Pass {
                head: format!("{} {}\n", self.request.method.name(), self.request.target).into_bytes(),
                fallback: reply(503, br#"{"message":"The region does not answer"}"#.to_vec()),
            },
            (_, _, Came::Body(Body::Full(bytes))) => {
                self.echo.clone_from(&bytes);
                Do::Ask { path: "/store/read", body: bytes }
            }
            (_, _, Came::Body(Body::TooLarge)) => Do::Reply(reply(413, br#"{"message":"Too large"}"#.to_vec())),
            (_, _, Came::Body(_)) => Do::Reply(reply(400, br#"{"message":"No body"}"#.to_vec())),
            (_, _, Came::Answer { status: 200, .. }) => Do::Reply(reply(200, std::mem::take(&mut self.echo))),
            (_, _, Came::Answer { .. } | Came::Lost) => Do::Reply(reply(503, br#"{"message":"Lost"}"#.to_vec())),
        }
    }
}

fn reply(status: u16, body: Vec<u8>) -> Answered {
    Answered { status, headers: vec![("content-type".into(), b"application/json".to_vec())], body }
}
