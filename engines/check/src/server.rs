//! The service's side of the connections: requests are read, answered by the stage, and held where they are to wait.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::cases::RequestKind;
use crate::stage::{CheckStage, SeenRequest, StageAnswer};

/// Largest body that is read, bytes: that of a recording is not kept.
const BODY_BYTES_MAX: usize = 32 << 20;
/// How often a parked claim looks whether there is something for it.
const LOOK: Duration = Duration::from_millis(10);
/// Longest wait of a claim.
const WAIT_MAX: Duration = Duration::from_secs(30);

/// A service that listens on loopback; the stage says how it answers.
#[derive(Debug)]
pub struct CheckServer {
    /// Its URL.
    pub url: String,
    stage: Arc<Mutex<CheckStage>>,
    listening: JoinHandle<()>,
}

impl Drop for CheckServer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

impl CheckServer {
    /// Listens on an address.
    pub async fn start(listen: SocketAddr, token: &str, stage: CheckStage) -> std::io::Result<Self> {
        let listener = TcpListener::bind(listen).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let stage = Arc::new(Mutex::new(stage));
        let (shared, bearer) = (Arc::clone(&stage), format!("Bearer {token}"));
        let listening = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&shared), bearer.clone(), stream));
            }
        });
        Ok(Self { url, stage, listening })
    }

    /// Returns the stage.
    pub fn stage(&self) -> MutexGuard<'_, CheckStage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn serve(stage: Arc<Mutex<CheckStage>>, bearer: String, stream: TcpStream) {
    let service = service_fn(|request| {
        let (stage, bearer) = (Arc::clone(&stage), &bearer);
        async move { respond(&stage, bearer, request).await.ok_or("the connection breaks") }
    });
    let http = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), service);
    // A connection that breaks is what some cases are about.
    let _ = http.await;
}

async fn respond(stage: &Mutex<CheckStage>, bearer: &str, request: Request<Incoming>) -> Option<Response<Full<Bytes>>> {
    let seen = read(bearer, request).await?;
    match answer(stage, &seen).await {
        StageAnswer::Broken => None,
        StageAnswer::Reply(status, body, retry_after, pause) => {
            tokio::time::sleep(pause).await;
            let mut reply = Response::builder().status(status).header(CONTENT_TYPE, "application/json");
            if let Some(seconds) = retry_after {
                reply = reply.header(RETRY_AFTER, seconds);
            }
            reply.body(Full::from(body.to_string())).ok()
        }
    }
}

async fn read(bearer: &str, request: Request<Incoming>) -> Option<SeenRequest> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, BODY_BYTES_MAX).collect().await.ok()?.to_bytes();
    let path = head.uri.path();
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let call = parts.get(2).and_then(|id| id.parse().ok());
    let kind = match (head.method.as_str(), parts.as_slice()) {
        ("GET", ["engine"]) => RequestKind::Interface,
        ("POST", ["engine", "claim"]) => RequestKind::Claim,
        ("POST", ["engine", "heartbeat"]) => RequestKind::Heartbeat,
        ("POST", ["engine", "calls"]) => RequestKind::Bring,
        ("POST", ["engine", "calls", _, "events"]) => RequestKind::Events,
        ("POST", ["engine", "calls", _, "tools", _]) => RequestKind::Tool,
        ("POST", ["engine", "calls", _, "knowledge"]) => RequestKind::Knowledge,
        ("PUT", ["engine", "calls", _, "recording"]) => RequestKind::Recording,
        _ => RequestKind::Other,
    };
    let header = |name| head.headers.get(name).and_then(|value: &hyper::http::HeaderValue| value.to_str().ok());
    let shown = String::from_utf8_lossy(&body);
    Some(SeenRequest {
        kind,
        call,
        tool: parts.get(4).copied().unwrap_or_default().into(),
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        key: header("idempotency-key").map(String::from),
        is_authorized: header(AUTHORIZATION.as_str()) == Some(bearer),
        text: format!("{} {path} {shown}", head.method),
    })
}

/// Has the stage answer, and holds a claim until there is something for it or its wait is over.
async fn answer(stage: &Mutex<CheckStage>, seen: &SeenRequest) -> StageAnswer {
    let wait = Duration::from_secs(seen.body["wait"].as_u64().unwrap_or(0)).min(WAIT_MAX);
    let (began, mut waited) = (Instant::now(), false);
    loop {
        let now = Instant::now();
        let answer = stage.lock().unwrap_or_else(PoisonError::into_inner).answer(seen, waited, now);
        if let Some(answer) = answer {
            return answer;
        }
        if now >= began + wait {
            return StageAnswer::Reply(200, json!({ "calls": [], "commands": [] }), None, Duration::ZERO);
        }
        waited = true;
        tokio::time::sleep(LOOK).await;
    }
}
