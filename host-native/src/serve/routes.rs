//! [`Routes`]: who serves which accounts, this process or other nodes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::host::Host;
use crate::store::{LaneId, MappedLane, SlotMap};

/// How often running requests are counted while their end is waited for.
const LOOK: Duration = Duration::from_millis(5);

/// Who serves an account at the moment.
#[derive(Clone)]
pub enum Serving {
    /// This process.
    Here(Arc<OwnHost>),
    /// The node that others reach at this address, HOST:PORT.
    There(Arc<str>),
    /// Nobody: a node is about to.
    Nobody,
    /// Nobody, and this process stops: no request is kept waiting.
    Gone,
}

/// A host of this process, and the requests that it carries out.
pub struct OwnHost {
    /// The host.
    pub host: Arc<Host>,
    lane: Option<LaneId>,
    running: AtomicUsize,
}

/// A request that a host of this process carries out.
pub struct Running(Arc<OwnHost>);

impl OwnHost {
    /// Takes a host for one that serves its lane.
    pub fn of(host: Arc<Host>) -> Arc<Self> {
        let lane = host.store.lane();
        Arc::new(Self { host, lane, running: AtomicUsize::new(0) })
    }

    /// Takes a host for the one that serves everything.
    pub fn sole(host: Arc<Host>) -> Arc<Self> {
        Arc::new(Self { host, lane: None, running: AtomicUsize::new(0) })
    }

    /// Counts a request until the result is dropped.
    pub fn run(self: &Arc<Self>) -> Running {
        self.running.fetch_add(1, Ordering::SeqCst);
        Running(Arc::clone(self))
    }

    /// Waits until no request runs, but no longer than `patience`.
    pub async fn idle(&self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.running.load(Ordering::SeqCst) > 0 && Instant::now() < until {
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Who serves which accounts.
#[derive(Clone, Default)]
pub struct Routes {
    /// Hosts of this process. One without a lane serves everything.
    own: Vec<Arc<OwnHost>>,
    /// Where other nodes reach this process.
    address: Option<Arc<str>>,
    map: Arc<SlotMap>,
    /// Whether the process stops, and no request is kept waiting.
    is_gone: bool,
}

impl Routes {
    /// Begins without anybody, for a process that others reach at an address, if they do.
    pub fn at(address: Option<Arc<str>>) -> Self {
        Self { address, ..Self::default() }
    }

    /// Adds a host.
    pub fn begin(&mut self, own: Arc<OwnHost>) {
        self.own.push(own);
    }

    /// Removes the host of a lane.
    pub fn end(&mut self, lane: LaneId) -> Option<Arc<OwnHost>> {
        let at = self.own.iter().position(|own| own.lane == Some(lane))?;
        Some(self.own.remove(at))
    }

    /// Takes notice of who has which slots.
    pub fn map(&mut self, map: Arc<SlotMap>) {
        self.map = map;
    }

    /// Keeps no request waiting from now on.
    pub fn give_up(&mut self) {
        self.is_gone = true;
    }

    /// Returns the hosts of this process.
    pub fn own(&self) -> &[Arc<OwnHost>] {
        &self.own
    }

    /// Returns where other nodes are that serve, each once.
    pub fn others(&self) -> Vec<Arc<str>> {
        let mut others: Vec<_> = self.map.lanes().iter().filter_map(|lane| self.other(lane)).collect();
        others.sort();
        others.dedup();
        others
    }

    /// Returns whether the accounts are shared out between several writers.
    pub fn is_shared(&self) -> bool {
        self.map.lanes().len() > 1
    }

    /// Returns whether no request is kept waiting any more.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Returns whether each account is served, by this process or another one.
    pub fn is_served(&self) -> bool {
        self.map.free() == 0 && self.map.lanes().iter().all(|lane| self.has(lane.id) || self.other(lane).is_some())
    }

    /// Returns the host that serves everything, if one does.
    pub fn sole(&self) -> Option<&Arc<OwnHost>> {
        self.own.first().filter(|own| own.lane.is_none())
    }

    /// Returns who serves an account; of a request that names none any does.
    pub fn of(&self, account: Option<u32>) -> Serving {
        if let Some(sole) = self.sole() {
            return Serving::Here(Arc::clone(sole));
        }
        let serving = match (self.own.as_slice(), account) {
            (_, Some(account)) => self.of_account(account),
            ([first, ..], None) => Serving::Here(Arc::clone(first)),
            ([], None) => {
                self.map.lanes().iter().find_map(|lane| self.other(lane)).map_or(Serving::Nobody, Serving::There)
            }
        };
        if self.is_gone && matches!(serving, Serving::Nobody) { Serving::Gone } else { serving }
    }

    fn of_account(&self, account: u32) -> Serving {
        let Some(lane) = self.map.of_account(account) else { return Serving::Nobody };
        match self.own.iter().find(|own| own.lane == Some(lane.id)) {
            Some(own) => Serving::Here(Arc::clone(own)),
            None => self.other(lane).map_or(Serving::Nobody, Serving::There),
        }
    }

    /// Returns whether a node at an address serves an account; of none, whether it serves any.
    fn is_at(&self, account: Option<u32>, address: &str) -> bool {
        match account {
            Some(_) => matches!(self.of(account), Serving::There(there) if *there == *address),
            None => self.map.lanes().iter().any(|lane| lane.address.as_deref() == Some(address)),
        }
    }

    fn has(&self, lane: LaneId) -> bool {
        self.own.iter().any(|own| own.lane == Some(lane))
    }

    /// Returns where a lane of another process is reached.
    fn other(&self, lane: &MappedLane) -> Option<Arc<str>> {
        lane.address.clone().filter(|address| Some(address) != self.address.as_ref())
    }
}

/// Whoever serves an account, now and later.
pub struct Destination {
    routes: watch::Receiver<Routes>,
    account: Option<u32>,
}

impl Destination {
    /// Follows who serves an account; of a request that names none any does.
    pub fn of(routes: watch::Receiver<Routes>, account: Option<u32>) -> Self {
        Self { routes, account }
    }

    /// Waits until somebody serves; `None` once nobody will.
    pub async fn somebody(&mut self) -> Option<Serving> {
        let account = self.account;
        let found = self.routes.wait_for(|routes| !matches!(routes.of(account), Serving::Nobody)).await;
        found.ok().map(|routes| routes.of(account)).filter(|serving| !matches!(serving, Serving::Gone))
    }

    /// Waits until the node at an address does not serve it any more.
    pub async fn left(&mut self, address: &str) {
        let account = self.account;
        // Whoever says who serves lives as long as the requests.
        let _ = self.routes.wait_for(|routes| !routes.is_at(account, address)).await;
    }
}
