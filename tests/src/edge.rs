//! [`EdgeNode`]: a node at the edge, step by step, over the store protocol of a real server.

use std::time::Duration;

use serde_json::Value;
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::remote::{Do, EdgeRequest, NodeEvent};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use tokio::runtime::Runtime;

/// The token by which regions know it, as `--store-token`.
pub const STORE_TOKEN: &str = "a-store-token-for-tests-0123456789";

/// A node with the region that it talks to.
pub struct EdgeNode {
    service: Service,
    region: String,
    runtime: Runtime,
}

/// A node's response, with the requests that it sent to the region.
#[derive(Debug)]
pub struct EdgeReply {
    /// Its status.
    pub status: u16,
    /// Its body; null if that is no JSON.
    pub json: Value,
    /// Paths of what the region was asked.
    pub asked: Vec<&'static str>,
    /// Whether the region gave the response.
    pub passed: bool,
    /// Whether it says when to come back.
    pub retry_after: bool,
}

impl EdgeNode {
    /// Creates one of the region at a URL.
    ///
    /// # Panics
    /// If it gets no runtime.
    pub fn new(region: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        Self { service: Service::new(Config::default()), region: region.to_owned(), runtime }
    }

    /// Sends a request to a path of the region; `None` if it does not answer.
    ///
    /// # Panics
    /// If there is no client.
    pub fn send(&self, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Option<(u16, Vec<u8>)> {
        self.runtime.block_on(async {
            let client = switchboard::send::client().expect("TLS").timeout(Duration::from_secs(30)).build();
            let mut request = client.expect("a client").post(format!("{}{path}", self.region)).body(body);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let reply = request.send().await.ok()?;
            Some((reply.status().as_u16(), reply.bytes().await.ok()?.to_vec()))
        })
    }

    /// Sends a message of the store protocol; `None` if it is not answered.
    pub fn ask(&self, path: &str, body: Vec<u8>) -> Option<(u16, Vec<u8>)> {
        let bearer = format!("Bearer {STORE_TOKEN}");
        self.send(path, &[("authorization", &bearer), ("switchboard-release", &Service::version())], body)
    }

    /// Advances a visit until the node has to do something other than read its body.
    pub fn advance(&self, visit: &mut EdgeRequest, body: &[u8], came: NodeEvent) -> Do {
        match visit.next(&self.service, came) {
            Do::ReadBody(_) => visit.next(&self.service, NodeEvent::Body(Body::Full(body.to_vec()))),
            other => other,
        }
    }

    /// Goes on to the end.
    pub fn finish(&self, visit: &mut EdgeRequest, body: &[u8], mut next: Do) -> EdgeReply {
        let mut asked = Vec::new();
        loop {
            let came = match next {
                Do::Ask { path, body } => {
                    asked.push(path);
                    self.ask(path, body).map_or(NodeEvent::Lost, |(status, body)| NodeEvent::Answer { status, body })
                }
                Do::Pass { head, otherwise } => {
                    let sent = [&head, body].concat();
                    let (status, bytes) = self.ask("/store/pass", sent).unwrap_or((otherwise.status, otherwise.body));
                    let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                    return EdgeReply { status, json, asked, passed: true, retry_after: false };
                }
                Do::Reply(answer) => {
                    let json = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
                    let retry_after = answer.headers.iter().any(|(name, _)| *name == "retry-after");
                    return EdgeReply { status: answer.status, json, asked, passed: false, retry_after };
                }
                Do::ReadBody(_) => unreachable!("a body is read once"),
            };
            next = self.advance(visit, body, came);
        }
    }

    /// Asks for something, with a body of JSON.
    pub fn call(&self, method: Method, target: &str, key: &str, body: &[u8]) -> EdgeReply {
        let mut visit = visit(method, target, key, body, "application/json");
        let next = self.advance(&mut visit, body, NodeEvent::Begin);
        self.finish(&mut visit, body, next)
    }
}

/// Begins a request.
pub fn visit(method: Method, target: &str, key: &str, body: &[u8], media: &str) -> EdgeRequest {
    let mut headers = vec![("authorization", format!("Bearer {key}").into_bytes()), ("host", b"edge.example".to_vec())];
    headers.push(("content-type", media.as_bytes().to_vec()));
    headers.push(("content-length", body.len().to_string().into_bytes()));
    let state = if body.is_empty() { Body::None } else { Body::Pending };
    let request = Request { method, target: target.into(), headers, body: state, peer: None, door: Door::Main };
    EdgeRequest::new(request, Seed::new([9; 32]))
}
