//! [`Cluster`]: the nodes of a store in PostgreSQL, as one of them sees them, and its share of the accounts.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use switchboard_core::service::Service;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;
use tokio_postgres::{Client, Error};

use super::duty::Duty;
use super::fence::{Id, draw};
use super::link::DatabaseLink;
use super::lookout::{Look, Lookout, Sighting};
use super::picture::RowMemory;
use super::target::DatabaseTarget;
use super::{Driver, Node, Postgres, ownership, recut, schema};
use crate::clock::Clock;
use crate::store::{SlotMap, Store, StoreError, failed};

/// How long another node must not have been heard of before its rows are taken: longer than it may answer without being
/// heard of, even if its clock runs slower by half.
pub(super) const SILENCE: Duration = Duration::from_secs(7);
/// How often others are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(100);
/// How far a machine's clock may be from the database's.
pub(super) const APART_MAX: Duration = Duration::from_secs(10);
/// How far it may be without a warning.
const APART: Duration = Duration::from_secs(1);
/// Lanes that are remembered because they did not begin.
const UNBEGUN_MAX: usize = 64;
/// Things that have happened and were not taken notice of: more are waited for.
const EVENTS: usize = 4;
pub(super) const SHOWN: &str = "INSERT INTO node (id, address, release) VALUES ($1, $2, $3) \
    ON CONFLICT (id) DO UPDATE SET seen = now(), load = $4 \
    RETURNING (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, current_setting('synchronous_standby_names') <> ''";
/// Has a node give its accounts to others, as when the operator drains it, or no longer.
pub(super) const SET_ASIDE: &str = "UPDATE node SET is_draining = $2 WHERE id = $1";
pub(super) const GONE: &str = "DELETE FROM node WHERE id = $1";
pub(super) const LONG_GONE: &str = "DELETE FROM node WHERE seen < now() - interval '1 hour'";
/// How long a database may take to hear that a node leaves: one that holds commits up holds no node up.
const LEAVING: Duration = Duration::from_secs(1);
const WHAT: &str = "the store cannot be opened";
const ANOTHER: &str = "another switchboard runs on it";

/// A process that may serve, as others see it.
#[derive(Clone)]
pub(super) struct Presence {
    pub id: Id,
    /// Where others reach it; empty for one that nobody does.
    pub address: String,
    /// How much of its time it commits.
    pub duty: Arc<Duty>,
    /// What its lanes have for rows.
    pub memory: RowMemory,
    /// Whether each read is confirmed by the database, rather than by a lease.
    pub confirms_reads: bool,
    /// Lanes that it was about to make, the last ones that did not begin: if they are there, nobody writes in their name.
    unbegun: Arc<Mutex<VecDeque<Id>>>,
    /// Whether it takes no more rows.
    is_leaving: Arc<AtomicBool>,
}

/// What a process sees of the database as it shows itself.
pub(super) struct DatabaseView {
    /// How far this machine's clock is from the database's, at least.
    pub apart: Duration,
    /// Whether commits wait for a standby.
    pub has_standby: bool,
}

/// A node among those of a store.
pub struct Cluster {
    target: DatabaseTarget,
    driver: Driver,
    clock: Arc<Clock>,
    presence: Presence,
    secret: String,
}

/// What has happened among the nodes of a store.
pub enum ClusterEvent {
    /// This node has the rows of more slots.
    Taken(Store),
    /// The lane with this id has too many slots: it is to be given up, but for so many.
    Excess(Id, usize),
    /// These two lanes are small: one is to be made of them.
    Small([Id; 2]),
}

/// What happens among the nodes of a store, one thing after the other.
pub struct ClusterEvents {
    events: mpsc::Receiver<Sighting>,
    driver: Driver,
    watching: AbortHandle,
}

impl Presence {
    /// Draws an id for a process that others reach at an address.
    pub fn of(address: &str) -> Result<Self, StoreError> {
        Ok(Self {
            id: draw()?,
            address: address.to_owned(),
            duty: Arc::default(),
            memory: RowMemory::default(),
            confirms_reads: false,
            unbegun: Arc::default(),
            is_leaving: Arc::default(),
        })
    }

    /// Shows that the process is there, and forgets those that no longer are; returns what it sees of the database, `None`
    /// if it shows nothing.
    pub async fn show(&self, link: &DatabaseLink) -> Result<Option<DatabaseView>, Error> {
        if self.address.is_empty() || self.is_leaving() {
            return Ok(None);
        }
        let (id, load, before) = (self.id.as_slice(), self.duty.read(), here());
        let shown = link.client.query_one(SHOWN, &[&id, &self.address, &Service::version(), &load]).await?;
        let apart = apart(before, shown.get(0));
        link.client.execute(LONG_GONE, &[]).await?;
        Ok(Some(DatabaseView { apart, has_standby: shown.get(1) }))
    }

    /// Has the process give what it serves to others, for as long as any of them serves; or no longer.
    pub async fn set_aside(&self, link: &DatabaseLink, is_aside: bool) -> Result<(), Error> {
        link.client.execute(SET_ASIDE, &[&self.id.as_slice(), &is_aside]).await.map(drop)
    }

    /// Notes a lane that may have been made, and did not begin.
    pub fn note_unbegun(&self, lane: Id) {
        let mut unbegun = self.unbegun.lock();
        unbegun.push_back(lane);
        if unbegun.len() > UNBEGUN_MAX {
            unbegun.pop_front();
        }
    }

    /// Returns whether a lane is one of those.
    pub fn is_unbegun(&self, lane: &Id) -> bool {
        self.unbegun.lock().contains(lane)
    }

    /// Takes no more rows.
    pub fn leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
    }

    /// Returns whether it takes no more rows.
    pub fn is_leaving(&self) -> bool {
        self.is_leaving.load(Ordering::Relaxed)
    }
}

impl Cluster {
    /// Joins the nodes of the store of a URL; others reach this one at `address`, HOST:PORT, and nobody does if it is
    /// empty. Writes carry the times of `clock`.
    pub fn join(url: &str, address: &str, clock: Arc<Clock>) -> Result<Self, StoreError> {
        let target = DatabaseTarget::of(url)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(failed(WHAT))?;
        let presence = Presence::of(address)?;
        let secret = runtime.block_on(joined(&target, &presence))?;
        Ok(Self { target, driver: Driver::of(runtime), clock, presence, secret })
    }

    /// Has each read confirmed by a sign of life that is acknowledged after it, rather than by a lease.
    #[must_use]
    pub fn confirming_reads(mut self, confirms: bool) -> Self {
        self.presence.confirms_reads = confirms;
        self
    }

    /// Returns what nodes of this store know each other by.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns whether the database of a URL is on this machine, as far as the URL says.
    pub fn is_near(url: &str) -> Result<bool, StoreError> {
        Ok(DatabaseTarget::of(url)?.is_near())
    }

    /// Begins to look at the other nodes and to take this one's share of the slots. `mapped` is told at once who has which
    /// of them, whenever that changes: whoever passes requests on must not wait for anything else.
    pub fn watch(&self, mapped: impl Fn(Arc<SlotMap>) + Send + Sync + 'static) -> Result<ClusterEvents, StoreError> {
        let (tell, events) = mpsc::channel(EVENTS);
        let lookout = Lookout::of(self.look(), Box::new(mapped), tell);
        let watching = self.driver.runtime()?.spawn(lookout.run()).abort_handle();
        Ok(ClusterEvents { events, driver: self.driver.clone(), watching })
    }

    /// Takes no more rows, and tells the others that this node's share is theirs.
    pub async fn leave(&self) {
        self.presence.leave();
        let (target, id) = (self.target.clone(), self.presence.id);
        let Ok(runtime) = self.driver.runtime() else { return };
        let left = runtime.spawn(async move {
            if let Ok(link) = DatabaseLink::to(&target).await {
                // Without this they wait until it was silent for a while.
                let _ = tokio::time::timeout(LEAVING, link.client.execute(GONE, &[&id.as_slice()])).await;
            }
        });
        let _ = left.await;
    }

    fn look(&self) -> Look {
        Look::of(self.target.clone(), Arc::clone(&self.clock), self.presence.clone())
    }

    /// Takes the rows of all slots over from a node that was stopped or is not heard of any more, and gives up if one is.
    pub(super) async fn alone(&self) -> Result<Postgres, StoreError> {
        let mut look = self.look();
        let taken = self.driver.runtime()?.spawn(async move {
            loop {
                look.again().await.map_err(|why| StoreError::of(WHAT, &why))?;
                if look.has_heard() {
                    return Err(StoreError::of(WHAT, &ANOTHER));
                }
                if look.silent().len() == look.lanes().len() {
                    let taken = look.take(usize::MAX).await?.ok_or_else(|| StoreError::of(WHAT, &ANOTHER))?;
                    if taken.slots.is_all() {
                        return Ok(taken);
                    }
                    // Another node has taken some of them since.
                    ownership::end(&taken, 0, &[]).await;
                    return Err(StoreError::of(WHAT, &ANOTHER));
                }
                tokio::time::sleep(LOOK).await;
            }
        });
        let node = taken.await.map_err(failed(WHAT))??;
        Ok(living(node, &self.driver))
    }
}

impl ClusterEvents {
    /// Waits for what happens next; `None` once nothing will.
    pub async fn next(&mut self) -> Option<ClusterEvent> {
        Some(match self.events.recv().await? {
            Sighting::Taken(node) => ClusterEvent::Taken(Store::of(living(*node, &self.driver))),
            Sighting::Excess(lane, keep) => ClusterEvent::Excess(lane, keep),
            Sighting::Small(lanes) => ClusterEvent::Small(lanes),
        })
    }
}

impl Drop for ClusterEvents {
    fn drop(&mut self) {
        // Who no longer looks must not get rows.
        self.watching.abort();
    }
}

/// Has a node show that it lives.
pub(super) fn living(node: Node, driver: &Driver) -> Postgres {
    let node = Arc::new(node);
    if let Ok(runtime) = driver.runtime() {
        runtime.spawn(ownership::live(Arc::downgrade(&node)));
    }
    // Where there is no room for another one, that of all connections does.
    let commits = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Postgres { node, driver: driver.clone(), commits: commits.map_or_else(|_| driver.clone(), Driver::of) }
}

/// Checks the database and this machine's clock; returns the secret of the nodes.
async fn joined(target: &DatabaseTarget, presence: &Presence) -> Result<String, StoreError> {
    let link = DatabaseLink::to(target).await.map_err(|error| error.of(&format!("{WHAT}: {}", target.shown())))?;
    schema::check(&link.client).await?;
    compare_clocks(&link.client).await?;
    presence.show(&link).await.map_err(|error| recut::refused(&error))?;
    let secret = "SELECT value FROM meta WHERE name = 'secret'";
    Ok(link.client.query_one(secret, &[]).await.map_err(|error| recut::refused(&error))?.get(0))
}

/// Refuses a machine whose clock is far from the database's: what it writes would say another time than the other nodes.
async fn compare_clocks(client: &Client) -> Result<(), StoreError> {
    let before = here();
    let now = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
    let apart = apart(before, client.query_one(now, &[]).await.map_err(|error| recut::refused(&error))?.get(0));
    if apart > APART_MAX {
        let why = format!("this machine's clock is {} s from the database's: set it", apart.as_secs());
        return Err(StoreError::of(WHAT, &why));
    }
    if apart > APART {
        tracing::warn!(apart_ms = apart.as_millis(), "this machine's clock is not the database's");
    }
    Ok(())
}

/// Returns this machine's time, since 1970.
fn here() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns how far this machine's clock is from the database's, at least, whose time was asked for after `before` and is
/// `there`, microseconds since 1970.
fn apart(before: Duration, there: i64) -> Duration {
    let there = Duration::from_micros(u64::try_from(there).unwrap_or_default());
    // Between the two readings here lies the one there.
    before.saturating_sub(there).max(there.saturating_sub(here()))
}
