//! [`Front`]: what all listeners share, and who serves the requests that they take in.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ipnet::IpNet;
use switchboard_core::http::request::Door;
use tokio::sync::watch;
use tokio::time::Instant;

use super::pass::NodeLink;
use crate::host::Host;
use crate::metrics::Metrics;
use crate::room::Holder;
use crate::rooms::Rooms;

/// How often running requests are counted while their end is waited for.
const LOOK: Duration = Duration::from_millis(5);

/// Who comes in at a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// Clients, through a door of the service.
    Clients(Door),
    /// Other nodes, with requests of their clients.
    Nodes,
}

/// Who serves requests at the moment.
#[derive(Clone)]
pub enum Serving {
    /// This process.
    Here(Arc<Host>),
    /// The node that others reach at this address, HOST:PORT.
    There(Arc<str>),
    /// Nobody: a node is about to.
    Nobody,
    /// Nobody, and this process stops: no request is kept waiting.
    Gone,
}

/// What all listeners share.
pub struct Front {
    /// Rooms for connections, and for requests that are passed on.
    pub rooms: Arc<Rooms>,
    /// Counters and gauges.
    pub metrics: Arc<Metrics>,
    trust_proxy: Vec<IpNet>,
    serving: watch::Sender<Serving>,
    /// Requests that this process carries out.
    running: AtomicUsize,
    pub(super) passing: Option<NodeLink>,
}

/// A request that this process carries out.
pub struct Running(Arc<Front>);

impl Front {
    /// Listens for one host that serves everything.
    pub fn over(host: Arc<Host>) -> Arc<Self> {
        let front =
            Self::new(Arc::clone(&host.rooms), Arc::clone(&host.metrics), &host.service.setup.config.trust_proxy);
        front.set(Serving::Here(host));
        Arc::new(front)
    }

    /// Listens for whoever serves, at first for nobody. Of a trusted proxy, connections count for the service.
    pub fn new(rooms: Arc<Rooms>, metrics: Arc<Metrics>, trust_proxy: &[IpNet]) -> Self {
        Self {
            rooms,
            metrics,
            trust_proxy: trust_proxy.to_vec(),
            serving: watch::Sender::new(Serving::Nobody),
            running: AtomicUsize::new(0),
            passing: None,
        }
    }

    /// Passes requests on to other nodes, which know `secret`, while they serve.
    pub fn passing(self, secret: &str) -> Result<Self, String> {
        Ok(Self { passing: Some(NodeLink::new(secret)?), ..self })
    }

    /// Says who serves from now on.
    pub fn set(&self, serving: Serving) {
        self.metrics.serves(matches!(serving, Serving::Here(_)));
        self.serving.send_replace(serving);
    }

    /// Says which other node serves, if one does.
    pub fn follow(&self, address: Option<&str>) {
        self.serving.send_if_modified(|serving| {
            let is_known = match (&*serving, address) {
                (Serving::There(known), Some(address)) => **known == *address,
                (Serving::Nobody | Serving::Gone, None) => true,
                _ => false,
            };
            if !is_known {
                self.metrics.serves(false);
                *serving = address.map_or(Serving::Nobody, |address| Serving::There(address.into()));
            }
            !is_known
        });
    }

    /// Returns who serves, and who will.
    pub fn watch(&self) -> watch::Receiver<Serving> {
        self.serving.subscribe()
    }

    /// Returns the host that carries a request out here, if this process serves; the request counts as running until the
    /// other part is dropped.
    pub fn here(self: &Arc<Self>) -> Option<(Arc<Host>, Running)> {
        // Counted first: who waits for the end of all sees it, or it sees that nobody serves here.
        self.running.fetch_add(1, Ordering::SeqCst);
        let running = Running(Arc::clone(self));
        match &*self.serving.borrow() {
            Serving::Here(host) => Some((Arc::clone(host), running)),
            _ => None,
        }
    }

    /// Waits until no request runs here, but no longer than `patience`.
    pub async fn idle(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.running.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Returns the holder of what a client holds before it is known who it is: its address, or the service for a trusted
    /// proxy, which carries many clients.
    pub fn holder(&self, client: IpAddr) -> Holder {
        let trusted = self.trust_proxy.iter().any(|net| net.contains(&client));
        if trusted { Holder::Service } else { Holder::nobody(client) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
