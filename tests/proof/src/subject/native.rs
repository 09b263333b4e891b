//! The native host: redb, its writer, its listener; driven over real sockets.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use reqwest::{Client, Method};
use serde_json::Value;
use switchboard::clock::Clock;
use switchboard::edge::EdgeToken;
use switchboard::host::{Host, HostOptions};
use switchboard::metrics::Metrics;
use switchboard::room::Holder;
use switchboard::rooms::Rooms;
use switchboard::send::{Outside, client};
use switchboard::serve::{self, Entrance, Front};
use switchboard::store::Store;
use switchboard::writer::{Care, WriterInput};
use switchboard_core::http::request::{Body, Door, Request};
use switchboard_core::step::Send;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::configured;
use super::rows::rows_of;
use crate::outside;
use crate::said::{Said, Transcript};
use crate::script::{Act, Line, Script};

/// Token that edge nodes present to the region.
pub const STORE_TOKEN: &str = "the-store-token-of-a-proof-0123456789";

/// A native host with its listener.
pub struct Native {
    runtime: Runtime,
    host: Arc<Host>,
    stop: watch::Sender<bool>,
    address: SocketAddr,
    client: Client,
    pending: VecDeque<Send>,
}

impl Native {
    /// Starts a host over a new store in a folder.
    ///
    /// # Panics
    /// If it cannot start.
    pub fn start(settings: &Value, folder: &Path) -> Self {
        Self::over(settings, Store::open(folder).expect("a store opens"))
    }

    /// Starts a host over an empty store.
    ///
    /// # Panics
    /// If it cannot start.
    pub fn over(settings: &Value, store: Store) -> Self {
        let configured = configured(settings);
        let rooms = Arc::new(Rooms::default());
        let means = HostOptions {
            vault: None,
            config: configured.config,
            store,
            rate_limits: configured.rate_limits,
            clock: Arc::new(Clock::scripted()),
            outside: Outside::Script(Box::new(outside::answer)),
            edge: Some(EdgeToken::new(STORE_TOKEN).expect("it is long enough")),
            metrics: Arc::new(Metrics::of(&rooms)),
            rooms,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let (host, _) = Host::start(means).expect("the host starts");
        let (stop, stopping) = watch::channel(false);
        let listener = runtime.block_on(async { serve::bind(SocketAddr::from(([127, 0, 0, 1], 0))) });
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("an address");
        runtime.spawn(serve::serve(
            Front::over(Arc::clone(&host)),
            vec![(listener, Entrance::Clients(Door::Main))],
            stopping,
        ));
        let client = client().expect("TLS").build().expect("a client");
        Self { runtime, host, stop, address, client, pending: VecDeque::new() }
    }

    /// Returns its base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Plays a script, sending requests to `front`: its own listener, or an edge node before it.
    pub fn play(mut self, script: &Script, front: &str) -> Transcript {
        let said = script.lines.iter().map(|line| self.line(line, front)).collect();
        let _ = self.stop.send(true);
        Transcript { said, rows: rows_of(&self.host.store) }
    }

    fn line(&mut self, line: &Line, front: &str) -> Said {
        self.host.clock.set(line.now, line.seed);
        match &line.act {
            Act::Http(request) => self.runtime.block_on(send(&self.client, front, request)),
            Act::First => {
                let reply = self.runtime.block_on(self.host.first_start()).expect("a first start");
                Said::first(reply.expect("an owner"))
            }
            Act::Tick => self.decide(WriterInput::Tick(Care::Usual)),
            Act::Answer => match self.pending.pop_front() {
                None => Said::Decided { wake: None, sends: Vec::new() },
                Some(send) => {
                    let answer = self.runtime.block_on(self.host.perform_one(send.work, Holder::Service));
                    self.decide(WriterInput::Answered(send.ticket, answer))
                }
            },
        }
    }

    fn decide(&mut self, input: WriterInput) -> Said {
        let output =
            self.runtime.block_on(self.host.decide(Holder::Service, input)).expect("no step of a script stops");
        Said::decided(output, &mut self.pending)
    }
}

/// Sends a request over a socket.
async fn send(client: &Client, front: &str, request: &Request) -> Said {
    let method = Method::from_bytes(request.method.name().as_bytes()).expect("a method");
    let mut sent = client.request(method.clone(), format!("{front}{}", request.target));
    for (name, value) in &request.headers {
        sent = sent.header(*name, value.as_slice());
    }
    if let Body::Full(bytes) = &request.body {
        sent = sent.body(bytes.clone());
    }
    let reply = sent.send().await.expect("an answer");
    let status = reply.status().as_u16();
    let text = |value: &reqwest::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers: Vec<_> = reply.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    let body = reply.bytes().await.expect("a whole body").to_vec();
    Said::reply(status, headers, body, method == Method::HEAD)
}
