//! [`TwoLanes`]: a store in PostgreSQL whose accounts two lanes share, both in this process, without HTTP.

use std::sync::Arc;

use switchboard::clock::Clock;
use switchboard::store::{Cluster, ClusterEvent, ClusterEvents, Store};
use switchboard_core::http::request::Request;
use switchboard_core::view::View;

use super::{Inner, Placing, SETTLED};
use crate::Failed;
use crate::writes::queued;

/// A store in PostgreSQL whose accounts two lanes share.
pub struct TwoLanes(Vec<OneLane>);

struct OneLane {
    store: Arc<Store>,
    /// Those of its own accounts.
    requests: Vec<Request>,
    _node: (Cluster, ClusterEvents),
}

impl TwoLanes {
    /// Shares out the accounts of a store that one lane had.
    pub fn of(inner: Inner) -> Result<Self, Failed> {
        let Inner { url, store, all, .. } = inner;
        drop(store);
        let join = |number| Cluster::join(&url, &format!("127.0.0.1:{number}"), Arc::new(Clock::default()));
        // Both are there before one takes its share.
        let nodes = [join(1)?, join(2)?];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let taken = nodes.into_iter().map(|node| OneLane::of(node, &all, &runtime));
        Ok(Self(taken.collect::<Result<_, _>>()?))
    }

    /// Returns how many calls a second these clients place.
    pub fn create(&self, clients: u32) -> Result<f64, Failed> {
        let clients = clients / u32::try_from(self.0.len())?;
        std::thread::scope(|scope| {
            let lanes: Vec<_> = self
                .0
                .iter()
                .map(|lane| {
                    scope.spawn(move || {
                        let rate = queued(Arc::clone(&lane.store), &lane.requests, clients);
                        rate.map_err(|error| error.to_string())
                    })
                })
                .collect();
            let rates = lanes.into_iter().map(|lane| lane.join().map_err(|_| "a lane panicked")?.map_err(Failed::from));
            rates.sum()
        })
    }
}

impl OneLane {
    fn of(node: Cluster, all: &[Placing], runtime: &tokio::runtime::Runtime) -> Result<Self, Failed> {
        let mut events = node.watch(|_| {})?;
        let taken = runtime.block_on(async { tokio::time::timeout(SETTLED, events.next()).await })?;
        let Some(ClusterEvent::Taken(store)) = taken else { return Err("a node gets no account".into()) };
        let snapshot = store.snapshot()?;
        let own = all.iter().filter(|placing| snapshot.view(None).owns(placing.account));
        let requests: Vec<_> = own.map(Placing::request).collect();
        if requests.is_empty() || requests.len() == all.len() {
            return Err("the accounts are not shared out".into());
        }
        drop(snapshot);
        Ok(Self { store: Arc::new(store), requests, _node: (node, events) })
    }
}
