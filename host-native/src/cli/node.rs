//! One of several nodes over a PostgreSQL: it serves its share of the accounts, and passes the other requests on.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use switchboard::serve::{self, Entrance, Front, Routes};
use switchboard::settings::ReadsName;
use switchboard::store::{Cluster, ClusterEvent, ClusterEvents, LaneId, Store, StoreEnd};
use switchboard_core::http::reply::Reply;
use switchboard_core::seed::Seed;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::block_in_place;
use tokio::time::timeout;

use super::Failed;
use super::reign::{self, Reign};
use super::run::{Process, Signals, WriterThread, bind};
use super::simulated::{BuiltInEngine, SimulatedEngine};

/// How long running requests, and what jobs send, are waited for before the rows are given up.
const FINISH: Duration = Duration::from_millis(400);
/// How long another node is waited for.
const ANOTHER: Duration = Duration::from_millis(500);
/// How long those that are there may need to take over.
const SUCCESSOR: Duration = Duration::from_secs(5);
/// How long other nodes may take to see who has taken over.
const SEEN: Duration = Duration::from_millis(500);
/// Lanes that have ended and were not taken notice of.
const ENDS: usize = 16;

/// A node whose listeners are open.
struct Node<'p> {
    process: &'p Process,
    cluster: Cluster,
    events: Option<ClusterEvents>,
    front: Arc<Front>,
    address: SocketAddr,
    engine: Option<BuiltInEngine>,
    attached: Option<SimulatedEngine>,
    reigns: BTreeMap<LaneId, Reign>,
    /// Hosts that have ended, whose threads end with the last handle.
    writers: Vec<WriterThread>,
    tell_end: mpsc::Sender<(LaneId, StoreEnd)>,
    is_announced: bool,
}

/// Serves the store of a URL with other nodes, until a signal stops it.
pub async fn run(process: &Process, url: &str) -> Result<Vec<WriterThread>, Failed> {
    let (mut listeners, address) = process.listeners()?;
    let for_nodes = bind(process.settings.node_listen.unwrap_or((address.ip(), 0).into()), "--node-listen")?;
    let reached = reached(process, &for_nodes, url)?;
    listeners.push((for_nodes, Entrance::Nodes));
    let cluster = block_in_place(|| Cluster::join(url, &reached, Arc::clone(&process.clock)))?;
    let cluster = cluster.confirming_reads(process.settings.reads == Some(ReadsName::Confirmed));
    let front = Arc::new(process.front()?.passing(cluster.secret(), &reached)?);
    let (stop, stopping) = watch::channel(false);
    let serving = tokio::spawn(serve::serve(Arc::clone(&front), listeners, stopping));
    let (tell_end, ends) = mpsc::channel(ENDS);
    let (reigns, writers) = (BTreeMap::new(), Vec::new());
    // Valid at each of them.
    let engine = BuiltInEngine::of(&process.settings, &Seed::new(Sha256::digest(cluster.secret()).into()));
    let mut node = Node {
        process,
        cluster,
        events: None,
        front,
        address,
        engine,
        attached: None,
        reigns,
        writers,
        tell_end,
        is_announced: false,
    };
    let lived = node.live(ends).await;
    if let Some(engine) = node.attached.take() {
        engine.end().await?;
    }
    let front = Arc::clone(&node.front);
    front.change(|routes| {
        if !routes.is_served() {
            routes.give_up();
        }
    });
    let _ = stop.send(true);
    serving.await?;
    process.retire();
    lived.map(|()| node.writers)
}

/// Returns where other nodes reach the listener for them.
fn reached(process: &Process, listener: &TcpListener, url: &str) -> Result<String, Failed> {
    let (bound, settings) = (listener.local_addr()?, &process.settings);
    if let Some(address) = &settings.node_address {
        return Ok(address.clone());
    }
    if bound.ip().is_unspecified() {
        return Err(format!("other nodes cannot reach {bound}: --node-address HOST:PORT says where they do").into());
    }
    // Whoever chose it knows what it is; by itself it would send what others pass on to their own machine.
    if bound.ip().is_loopback() && settings.node_listen.is_none() && !Cluster::is_near(url)? {
        return Err(format!(
            "nodes on other machines cannot reach {bound}: --node-listen ADDR is an address of this machine in the network \
             of the nodes, or {} if it stays the only one",
            SocketAddr::from((bound.ip(), 0))
        )
        .into());
    }
    Ok(bound.to_string())
}

impl Node<'_> {
    /// Serves this node's share, until it is told to stop.
    async fn live(&mut self, mut ends: mpsc::Receiver<(LaneId, StoreEnd)>) -> Result<(), Failed> {
        let front = Arc::clone(&self.front);
        let mut events = self.cluster.watch(move |map| front.change(|routes| routes.map(map)))?;
        let (mut signals, mut routes) = (Signals::new()?, self.front.watch());
        loop {
            tokio::select! {
                event = events.next() => match event.ok_or("the database is not looked at any more")? {
                    ClusterEvent::Taken(store) => self.begin(store).await?,
                    ClusterEvent::Excess(lane, keep) => self.give(lane, keep).await?,
                    ClusterEvent::Small(lanes) => self.merge(lanes).await?,
                },
                Some((lane, why)) = ends.recv() => self.ended(lane, why)?,
                _ = routes.wait_for(Routes::is_served), if !self.is_announced => self.announce(None)?,
                () = signals.stop() => return self.resign(events).await,
            }
        }
    }

    fn announce(&mut self, secrets: Option<&Reply>) -> Result<(), Failed> {
        if secrets.is_some() || !self.is_announced {
            self.is_announced = true;
            self.process.announce(self.address, secrets)?;
        }
        Ok(())
    }

    /// Serves the accounts of a lane.
    async fn begin(&mut self, store: Store) -> Result<(), Failed> {
        let lane = store.lane().ok_or("a node has lanes")?;
        let (reign, secrets) = match self.reign(store).await {
            Ok(begun) => begun,
            Err(error) if reign::is_passing(&error) => {
                // As if its node had died: they are taken again, by this one or another.
                tracing::warn!(%error, "accounts that this node took are given up");
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        tracing::info!("this node serves");
        let (ended, tell_end) = (reign.ended(), self.tell_end.clone());
        tokio::spawn(async move { tell_end.send((lane, ended.await)).await });
        self.reigns.insert(lane, reign);
        if let Some(engine) = self.engine.as_ref().filter(|_| self.attached.is_none()) {
            self.attached = Some(engine.attach(&self.process.settings, self.address)?);
        }
        self.announce(secrets.as_ref())
    }

    /// Begins to serve a store; returns the owner's secrets if it was empty.
    async fn reign(&self, store: Store) -> Result<(Reign, Option<Reply>), Failed> {
        let heir = block_in_place(|| Reign::host(self.process, store, self.engine.as_ref()))?;
        Ok(Reign::begin(heir, &self.front).await?)
    }

    /// Takes notice of a lane that has ended.
    fn ended(&mut self, lane: LaneId, why: StoreEnd) -> Result<(), Failed> {
        if let StoreEnd::Broken(why) = why {
            // Whoever supervises the process starts it again.
            return Err(format!("the store has ended: {why}").into());
        }
        // One that was given up is known to have ended.
        let Some(reign) = self.reigns.remove(&lane) else { return Ok(()) };
        self.front.end(lane);
        reign.stop();
        tracing::warn!("another node serves: this one passes requests on to it");
        // What its tasks still want fails at once.
        tokio::spawn(reign.end());
        Ok(())
    }

    /// Gives a lane up but for some of its slots: requests that come meanwhile wait for whoever takes them.
    async fn give(&mut self, lane: LaneId, keep: usize) -> Result<(), Failed> {
        let Some(mut reign) = self.reigns.remove(&lane) else { return Ok(()) };
        tracing::info!(keep, "another node takes some of the accounts");
        let kept = self.hand_over(&mut reign, lane, keep).await?;
        self.writers.push(reign.end().await?);
        match kept {
            Some(store) => self.begin(store).await,
            None => Ok(()),
        }
    }

    /// Makes one lane of two: requests that come meanwhile wait.
    async fn merge(&mut self, [one, other]: [LaneId; 2]) -> Result<(), Failed> {
        let Some(mut first) = self.reigns.remove(&one) else { return Ok(()) };
        let Some(mut second) = self.reigns.remove(&other) else {
            self.reigns.insert(one, first);
            return Ok(());
        };
        let (quiet, also) = tokio::join!(self.quiet(&mut first, one), self.quiet(&mut second, other));
        quiet.and(also)?;
        second.retire().await;
        let kept = first.hand_over(usize::MAX, vec![other]).await;
        for reign in [first, second] {
            self.writers.push(reign.end().await?);
        }
        match kept {
            Some(store) => self.begin(store).await,
            None => Ok(()),
        }
    }

    async fn hand_over(&self, reign: &mut Reign, lane: LaneId, keep: usize) -> Result<Option<Store>, Failed> {
        self.quiet(reign, lane).await?;
        Ok(reign.hand_over(keep, Vec::new()).await)
    }

    /// Takes nothing more for a lane, and waits for what runs.
    async fn quiet(&self, reign: &mut Reign, lane: LaneId) -> Result<(), Failed> {
        let own = self.front.end(lane);
        reign.stop();
        let idle = async {
            if let Some(own) = own {
                own.idle(FINISH).await;
            }
        };
        let ((), settled) = tokio::join!(idle, reign.settle(FINISH));
        settled
    }

    /// Gives all rows up, and waits for the nodes that take them: requests that come meanwhile are passed on to them.
    async fn resign(&mut self, events: ClusterEvents) -> Result<(), Failed> {
        tracing::info!("stopping: other nodes serve what comes from now on");
        self.cluster.leave().await;
        if let Some(engine) = &self.attached {
            engine.stop();
        }
        // To the end of the process: what is passed on while the last connections close must find whoever serves.
        self.events = Some(events);
        let mut reigns = std::mem::take(&mut self.reigns);
        for (lane, reign) in &mut reigns {
            self.hand_over(reign, *lane, 0).await?;
        }
        let mut routes = self.front.watch();
        // A node that serves takes what this one has given up; how long that takes is its machine's.
        let another = timeout(ANOTHER, routes.wait_for(|routes| !routes.others().is_empty())).await.is_ok();
        if another && timeout(SUCCESSOR, routes.wait_for(Routes::is_served)).await.is_ok() {
            // Until all of them have seen it, they pass on what is theirs by now.
            tokio::time::sleep(SEEN).await;
        } else {
            tracing::info!("no other node has taken over");
        }
        for reign in reigns.into_values() {
            self.writers.push(reign.end().await?);
        }
        Ok(())
    }
}
