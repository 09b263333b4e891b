//! [`Front`]: what all listeners share, and who serves the requests that they take in.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::http::request;
use ipnet::IpNet;
use switchboard_core::account::token::{Token, TokenKind};
use switchboard_core::engine::parts;
use switchboard_core::http::request::Door;
use switchboard_core::service::figures::StoreFigures;
use tokio::sync::watch;

use super::pass::NodeLink;
use super::routes::{Destination, OwnHost, Routes, Running, Serving};
use super::waiting::Calls;
use crate::host::Host;
use crate::metrics::Metrics;
use crate::room::Holder;
use crate::rooms::Rooms;
use crate::store::LaneId;

/// Who comes in at a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entrance {
    /// Clients, through a door of the service.
    Clients(Door),
    /// Other nodes, with requests of their clients.
    Nodes,
}

/// What all listeners share.
pub struct Front {
    /// Rooms for connections, and for requests that are passed on.
    pub rooms: Arc<Rooms>,
    /// Counters and gauges.
    pub metrics: Arc<Metrics>,
    trust_proxy: Vec<IpNet>,
    routes: watch::Sender<Routes>,
    pub(super) passing: Option<NodeLink>,
    pub(super) calls: Arc<Calls>,
    /// Claims that were asked of all writers.
    claims: AtomicUsize,
}

impl Front {
    /// Listens for one host that serves everything.
    pub fn over(host: Arc<Host>) -> Arc<Self> {
        let front =
            Self::new(Arc::clone(&host.rooms), Arc::clone(&host.metrics), &host.service.setup.config.trust_proxy);
        front.change(|routes| routes.begin(OwnHost::sole(host)));
        Arc::new(front)
    }

    /// Listens for whoever serves, at first for nobody. Of a trusted proxy, connections count for the service.
    pub fn new(rooms: Arc<Rooms>, metrics: Arc<Metrics>, trust_proxy: &[IpNet]) -> Self {
        let routes = watch::Sender::new(Routes::default());
        Self {
            rooms,
            metrics,
            trust_proxy: trust_proxy.to_vec(),
            routes,
            passing: None,
            calls: Arc::default(),
            claims: AtomicUsize::new(0),
        }
    }

    /// Passes requests on to other nodes, which know `secret` and reach this one at `address`, while they serve.
    pub fn passing(self, secret: &str, address: &str) -> Result<Self, String> {
        let routes = watch::Sender::new(Routes::at(Some(address.into())));
        Ok(Self { passing: Some(NodeLink::new(secret)?), routes, ..self })
    }

    /// Returns whose turn it is to be asked first: another one each time.
    pub(super) fn next_turn(&self) -> usize {
        self.claims.fetch_add(1, Ordering::Relaxed)
    }

    /// Changes who serves.
    pub fn change(&self, change: impl FnOnce(&mut Routes)) {
        self.routes.send_modify(|routes| {
            change(routes);
            self.metrics.serves(!routes.own().is_empty());
        });
    }

    /// Has the host of a lane serve no more, and returns it.
    pub fn end(&self, lane: LaneId) -> Option<Arc<OwnHost>> {
        let mut ended = None;
        self.change(|routes| ended = routes.end(lane));
        ended
    }

    /// Has a host serve its lane, or everything.
    pub fn begin(&self, host: Arc<Host>) {
        self.calls.tell_of(&host);
        self.change(|routes| routes.begin(OwnHost::of(host)));
    }

    /// Returns who serves, and who will.
    pub fn watch(&self) -> watch::Receiver<Routes> {
        self.routes.subscribe()
    }

    /// Returns the host of this process that serves a request, if one does; the request counts as running until the other
    /// part is dropped.
    pub fn here(&self, account: impl FnOnce() -> Option<u32>) -> Option<(Arc<Host>, Running)> {
        // Counted while nobody can change who serves: who waits for the end of all sees it.
        let routes = self.routes.borrow();
        let own = match routes.sole() {
            Some(own) => Arc::clone(own),
            None => match routes.of(account()) {
                Serving::Here(own) => own,
                _ => return None,
            },
        };
        Some((Arc::clone(&own.host), own.run()))
    }

    /// Updates the metrics of what this process's accounts hold, and of its lanes.
    pub(super) async fn tell_stored(&self) {
        let mut all = StoreFigures::default();
        for own in self.own() {
            match own.host.figures().await {
                Ok(figures) => all.add(&figures),
                Err(failure) => tracing::warn!(?failure, "what the store holds cannot be counted"),
            }
        }
        self.metrics.stored(&all);
        self.metrics.lanes(self.own().iter().filter_map(|own| {
            let store = &own.host.store;
            Some((store.lane()?, store.lane_figures()?))
        }));
    }

    /// Returns who serves an account.
    pub(super) fn serving(&self, account: u32) -> Serving {
        self.routes.borrow().of(Some(account))
    }

    /// Returns the hosts of this process.
    pub(super) fn own(&self) -> Vec<Arc<OwnHost>> {
        self.routes.borrow().own().to_vec()
    }

    /// Returns where other nodes are that serve.
    pub(super) fn others(&self) -> Vec<Arc<str>> {
        self.routes.borrow().others()
    }

    /// Returns whether the accounts are shared out between several writers.
    pub(super) fn is_shared(&self) -> bool {
        self.routes.borrow().is_shared()
    }

    /// Returns whether no request is kept waiting any more.
    pub(super) fn is_gone(&self) -> bool {
        self.routes.borrow().is_gone()
    }

    /// Returns how long a time of the service is on a clock on the wall: it may have a pace of its own.
    pub(super) fn real(&self, seconds: u64) -> Duration {
        let own = self.routes.borrow().own().first().map(Arc::clone);
        own.map_or(Duration::from_secs(seconds), |own| {
            let clock = &own.host.clock;
            clock.until(clock.now().plus_seconds(seconds))
        })
    }

    /// Follows who serves an account.
    pub fn to(&self, account: Option<u32>) -> Destination {
        Destination::of(self.routes.subscribe(), account)
    }

    /// Returns the holder of what a client holds before it is known who it is: its address, or the service for a trusted
    /// proxy, which carries many clients.
    pub fn holder(&self, client: IpAddr) -> Holder {
        let trusted = self.trust_proxy.iter().any(|net| net.contains(&client));
        if trusted { Holder::Service } else { Holder::nobody(client) }
    }
}

/// Returns the account that the path or the token of a request names, whether or not there is one.
pub fn account_in(head: &request::Parts) -> Option<u32> {
    parts::account_in(head.uri.path()).or_else(|| account_of_token(&head.headers))
}

fn account_of_token(headers: &HeaderMap) -> Option<u32> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    let token = Token::parse(token.trim()).filter(|_| scheme.eq_ignore_ascii_case("bearer"))?;
    match token.kind {
        TokenKind::ApiKey | TokenKind::Session | TokenKind::Web => Some(token.account),
        TokenKind::Operator | TokenKind::Engine => None,
    }
}
