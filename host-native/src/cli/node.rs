//! One of several nodes over a PostgreSQL: it serves while it is its turn, and passes requests on meanwhile.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use switchboard::serve::{self, Entrance, Front, Serving};
use switchboard::store::{Standby, Store, StoreEnd};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::block_in_place;

use super::Failed;
use super::reign::Reign;
use super::run::{Process, Signals, WriterThread, bind};

/// How long running requests are waited for before the rows are given up.
const FINISH: Duration = Duration::from_millis(200);
/// How long another node is waited for that takes over.
const SUCCESSOR: Duration = Duration::from_millis(500);

/// A node whose listeners are open.
struct Node<'p> {
    process: &'p Process,
    standby: Arc<Standby>,
    front: Arc<Front>,
    address: SocketAddr,
    signals: Signals,
    is_announced: bool,
}

/// Why a node stops.
enum End {
    /// A signal told it to.
    Told(Option<WriterThread>),
    /// Something is wrong with the store.
    Broken(String),
}

/// Serves the store of a URL with other nodes, until a signal stops it.
pub async fn run(process: &Process, url: &str) -> Result<Option<WriterThread>, Failed> {
    let (mut listeners, address) = process.listeners()?;
    let for_nodes = bind(process.settings.node_listen.unwrap_or((address.ip(), 0).into()), "--node-listen")?;
    let reached = reached(process, &for_nodes)?;
    listeners.push((for_nodes, Entrance::Nodes));
    let standby = Arc::new(block_in_place(|| Standby::join(url, &reached, Arc::clone(&process.clock)))?);
    let front = Arc::new(process.front()?.passing(standby.secret())?);
    let (stop, stopping) = watch::channel(false);
    let serving = tokio::spawn(serve::serve(Arc::clone(&front), listeners, stopping));
    let signals = Signals::new()?;
    let mut node = Node { process, standby, front, address, signals, is_announced: false };
    let end = node.live().await;
    if !matches!(*node.front.watch().borrow(), Serving::There(_)) {
        node.front.set(Serving::Gone);
    }
    let _ = stop.send(true);
    serving.await?;
    process.retire();
    match end? {
        End::Told(writer) => Ok(writer),
        // Whoever supervises the process starts it again.
        End::Broken(why) => Err(format!("the store has ended: {why}").into()),
    }
}

/// Returns where other nodes reach the listener for them.
fn reached(process: &Process, listener: &TcpListener) -> Result<String, Failed> {
    let bound = listener.local_addr()?;
    match &process.settings.node_address {
        Some(address) => Ok(address.clone()),
        None if bound.ip().is_unspecified() => {
            Err(format!("other nodes cannot reach {bound}: --node-address HOST:PORT says where they do").into())
        }
        None => Ok(bound.to_string()),
    }
}

impl Node<'_> {
    /// Serves whenever it is this node's turn, until it is told to stop.
    async fn live(&mut self) -> Result<End, Failed> {
        loop {
            let Some(store) = self.turn().await? else {
                tracing::info!("stopping: running requests finish, nothing new is taken");
                return Ok(End::Told(None));
            };
            tracing::info!("this node serves");
            let heir = block_in_place(|| Reign::host(self.process, store))?;
            let (reign, secrets) = Reign::begin(self.process, heir, &self.front, self.address).await?;
            if secrets.is_some() || !self.is_announced {
                self.is_announced = true;
                self.process.announce(self.address, secrets.as_ref())?;
            }
            let ended = tokio::select! {
                () = self.signals.stop() => None,
                why = reign.ended() => Some(why),
            };
            match ended {
                None => return self.resign(reign).await,
                Some(StoreEnd::Replaced) => {
                    tracing::warn!("another node serves: this one passes requests on to it");
                    self.front.set(Serving::Nobody);
                    reign.stop();
                    // What its tasks still want fails at once.
                    tokio::spawn(reign.end());
                }
                Some(StoreEnd::Broken(why)) => {
                    reign.stop();
                    return Ok(End::Broken(why));
                }
            }
        }
    }

    /// Waits until it is this node's turn, and returns the store; `None` if it is to stop.
    async fn turn(&mut self) -> Result<Option<Store>, Failed> {
        let standby = Arc::clone(&self.standby);
        let mut leading = pin!(standby.lead(seen(&self.front)));
        let mut serving = self.front.watch();
        loop {
            tokio::select! {
                store = &mut leading => return Ok(Some(store?)),
                () = self.signals.stop() => return Ok(None),
                _ = serving.wait_for(|serving| matches!(serving, Serving::There(_))), if !self.is_announced => {
                    self.is_announced = true;
                    self.process.announce(self.address, None)?;
                }
            }
        }
    }

    /// Gives the rows up, and waits for the node that takes them: requests that come meanwhile are passed on to it.
    async fn resign(&self, reign: Reign) -> Result<End, Failed> {
        tracing::info!("stopping: another node serves what comes from now on");
        self.front.set(Serving::Nobody);
        reign.stop();
        self.front.idle(FINISH).await;
        reign.hand_over().await;
        let (standby, seen) = (Arc::clone(&self.standby), seen(&self.front));
        // To the end of the process: what is passed on while the last connections close must find whoever serves.
        tokio::spawn(async move { standby.follow(seen).await });
        let mut serving = self.front.watch();
        let successor = serving.wait_for(|serving| matches!(serving, Serving::There(_)));
        if tokio::time::timeout(SUCCESSOR, successor).await.is_err() {
            tracing::info!("no other node has taken over");
            self.front.set(Serving::Gone);
        }
        let writer = reign.end().await?;
        Ok(End::Told(Some(writer)))
    }
}

/// Returns what tells the listeners who serves.
fn seen(front: &Arc<Front>) -> impl FnMut(Option<&str>) + Send + 'static {
    let front = Arc::clone(front);
    move |address| front.follow(address)
}
