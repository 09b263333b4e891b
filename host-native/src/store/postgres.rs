//! [`Postgres`]: rows in a PostgreSQL, of which a node holds in memory what it uses.
//!
//! One node writes the rows of a slot, under a [`fence`]; so what it holds of them is true until it is replaced, and its
//! reads ask nobody. A node that could not be heard of for [`LEASE`] stops answering; whoever takes over waits longer.

mod cluster;
mod coalescer;
mod duty;
mod fence;
mod fill;
mod link;
mod load;
mod lookout;
mod map;
mod nodes;
mod ownership;
mod past;
mod picture;
mod place;
mod recut;
mod rows;
mod schema;
mod seals;
mod share;
mod shared;
#[cfg(test)]
mod simulated;
mod tails;
mod target;
mod whole;
mod write;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use switchboard_core::store::Change;
use switchboard_core::view::Read;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, watch};
use tokio::time::Instant;

use super::backend::{Backend, BoxFuture, LaneFigures, Learner, NotedKeys, OpenWrite, Picture, StoreEnd};
use super::{StoreError, failed};
use crate::clock::Clock;
use crate::seal::KeyId;

use cluster::Presence;
pub use cluster::{Cluster, ClusterEvent, ClusterEvents};
use coalescer::Coalescer;
pub use fence::Id as LaneId;
use fence::{Changes, Fence, Id, Uncommitted};
pub use fill::DatabaseFill;
use link::DatabaseLink;
use load::Loader;
pub use map::{MappedLane, SlotMap};
pub use nodes::{NodeSign, SharedOut, StoreNode, StoreNodes};
use picture::{Now, Rows};
use place::Slots;
use rows::KnownRows;
use shared::{LogPoint, SharedChanges};
use tails::Tails;
use target::DatabaseTarget;
use whole::Whole;
use write::Driven;

/// How long a node may answer from its memory after it was last heard of.
const LEASE: Duration = Duration::from_secs(4);
/// How long a commit may stay in doubt before its callers are told so.
const DOUBT: Duration = LEASE;

/// Rows in a PostgreSQL.
pub(super) struct Postgres {
    node: Arc<Node>,
    driver: Driver,
    /// Drives the connection of commits while one is waited for, on the thread that waits: no other is woken for it.
    commits: Driver,
}

/// Drives connections, and nothing else: signs of life must not wait for requests.
#[derive(Clone)]
struct Driver(Option<Arc<Runtime>>);

impl Driver {
    fn of(runtime: Runtime) -> Self {
        Self(Some(Arc::new(runtime)))
    }

    fn runtime(&self) -> Result<&Runtime, StoreError> {
        self.0.as_deref().ok_or_else(|| StoreError::Failed("the store is closed".into()))
    }
}

impl Drop for Driver {
    /// Ends the last one without waiting, so that it may happen within another runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take().and_then(Arc::into_inner) {
            runtime.shutdown_background();
        }
    }
}

/// What a node has of the database.
struct Node {
    /// The id of its lane.
    id: Id,
    target: DatabaseTarget,
    slots: Arc<Slots>,
    rows: Arc<RwLock<Rows>>,
    lane: Arc<Mutex<Lane>>,
    loader: Mutex<Loader>,
    tails: Tails,
    /// The connection for signs of life, unless one is under way.
    signs: Mutex<Option<DatabaseLink>>,
    confirmations: Coalescer,
    /// Commits that the rows at hand have.
    seq: watch::Sender<i64>,
    lease: Lease,
    /// Why the node has ended, once it has.
    ended: watch::Sender<Option<StoreEnd>>,
    clock: Arc<Clock>,
    presence: Presence,
    /// Is told of what other lanes have changed.
    told: OnceLock<Learner>,
}

/// The right to write, and what became of the last commit.
struct Lane {
    fence: Fence,
    unsettled: Option<Unsettled>,
    /// Writes that have begun.
    begun: u64,
    /// The last change of shared rows after the last of them, if that one has ended well.
    reached: Option<LogPoint>,
}

impl Lane {
    fn of(fence: Fence) -> Self {
        Self { fence, unsettled: None, begun: 0, reached: None }
    }
}

/// A commit in doubt.
struct Unsettled {
    changes: Vec<Change>,
    /// The mark of what is shared of it.
    mark: Option<Id>,
}

/// Until when the node may answer, by its own clock.
struct Lease {
    began: Instant,
    until: AtomicU64,
}

impl Lease {
    fn of(began: Instant) -> Self {
        let lease = Self { began, until: AtomicU64::new(0) };
        lease.renew(began);
        lease
    }

    /// Renews it after a sign of life that was sent at this moment, and acknowledged.
    fn renew(&self, sent: Instant) {
        let until = (sent + LEASE).saturating_duration_since(self.began).as_millis();
        self.until.fetch_max(u64::try_from(until).unwrap_or(u64::MAX), Ordering::AcqRel);
    }

    fn holds(&self) -> bool {
        !self.left().is_zero()
    }

    fn left(&self) -> Duration {
        Duration::from_millis(self.until.load(Ordering::Acquire)).saturating_sub(self.began.elapsed())
    }
}

impl Postgres {
    /// Makes the tables of a store; returns whether they were missing.
    pub fn init(url: &str) -> Result<bool, StoreError> {
        let target = DatabaseTarget::of(url)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(failed("the tables cannot be made"))?.block_on(schema::init(&target))
    }

    /// Opens the store of a URL alone: takes its rows over from a node that was stopped or is not heard of any more, and
    /// gives up if one is.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let cluster = Cluster::join(url, "", Arc::new(Clock::at(None)))?;
        let waiting =
            tokio::runtime::Builder::new_current_thread().build().map_err(failed("the store cannot be opened"))?;
        waiting.block_on(cluster.alone())
    }

    /// Returns all rows of the store of a URL at one moment, and the keys that they are sealed with, whoever serves it.
    pub fn look(url: &str) -> Result<(Arc<dyn Picture>, NotedKeys), StoreError> {
        let target = DatabaseTarget::of(url)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let (whole, keys) = Whole::look(&target, runtime.map_err(failed("the store cannot be opened"))?)?;
        Ok((Arc::new(whole), keys))
    }

    /// Returns which database a URL names, for people.
    pub fn shown(url: &str) -> String {
        DatabaseTarget::of(url).map_or_else(|error| error.to_string(), |target| target.shown())
    }

    fn runtime(&self) -> Result<&Runtime, StoreError> {
        self.driver.runtime()
    }
}

impl Drop for Postgres {
    /// Gives the rows up, so that who comes next need not wait.
    fn drop(&mut self) {
        if self.node.ended.borrow().is_some() {
            return;
        }
        let (node, driver) = (Arc::clone(&self.node), self.driver.clone());
        let stopping =
            std::thread::spawn(move || driver.runtime().map(|runtime| runtime.block_on(ownership::end(&node, 0, &[]))));
        let _ = stopping.join();
    }
}

impl Node {
    /// Ends the node: it answers and writes nothing any more.
    fn end(&self, why: StoreEnd) -> StoreError {
        let error = ended(&why);
        self.end_once(why);
        error
    }

    /// Ends the node; returns whether it had not ended before.
    fn end_once(&self, why: StoreEnd) -> bool {
        self.ended.send_if_modified(|ended| {
            let is_first = ended.is_none();
            ended.get_or_insert(why);
            is_first
        })
    }

    fn confirm(&self) -> Result<(), StoreError> {
        if let Some(why) = &*self.ended.borrow() {
            return Err(ended(why));
        }
        if self.lease.holds() { Ok(()) } else { Err(StoreError::Unavailable("the database is not reached".into())) }
    }

    /// Makes a connection for one task.
    async fn link(&self) -> Result<DatabaseLink, StoreError> {
        DatabaseLink::to(&self.target).await.map_err(|error| error.of("the store cannot be opened"))
    }

    /// Commits changes that were decided after this change of shared rows; `lane` is the right to do so. Returns the last
    /// change of them then.
    async fn commit(&self, lane: &mut Lane, changes: Vec<Change>, after: LogPoint) -> Result<LogPoint, StoreError> {
        self.confirm()?;
        if self.settle(lane).await? {
            return Err(StoreError::Outdated);
        }
        let parts = Changes { after, ..parted(&self.rows.read().known, &changes)? };
        let mark = parts.shared.mark;
        let sent = Instant::now();
        let clock = i64::try_from(self.clock.unpaced().micros()).unwrap_or(i64::MAX);
        match lane.fence.commit(&parts, clock, sent + DOUBT).await {
            Ok(seq) => {
                self.lease.renew(sent);
                self.presence.duty.took(sent.elapsed());
                self.apply(changes, mark, seq);
                parts.put.keys.iter().for_each(|key| self.tails.note(&place::row_of(key)));
                Ok(mark.map_or(after, |mark| after.next(mark)))
            }
            // What it was decided after was found to be gone meanwhile.
            Err(Uncommitted::Replaced) if self.rows.read().at.shared != after => Err(StoreError::Outdated),
            Err(Uncommitted::Unknown(why)) => {
                lane.unsettled = Some(Unsettled { changes, mark });
                Err(StoreError::unavailable("what became of a commit is not known", &why))
            }
            Err(uncommitted) => Err(self.failed(uncommitted).await),
        }
    }

    /// Learns what became of a commit in doubt; returns whether it was made, so that the rows at hand are others now.
    async fn settle(&self, lane: &mut Lane) -> Result<bool, StoreError> {
        if !lane.fence.is_in_doubt() {
            return Ok(false);
        }
        let sent = Instant::now();
        let is_made = lane.fence.settle(sent + DOUBT, "an earlier commit is in doubt").await;
        let is_made = match is_made {
            Ok(is_made) => is_made,
            Err(uncommitted) => return Err(self.failed(uncommitted).await),
        };
        self.lease.renew(sent);
        if let Some(Unsettled { changes, mark }) = lane.unsettled.take().filter(|_| is_made) {
            self.apply(changes, mark, lane.fence.seq());
        }
        Ok(is_made)
    }

    async fn failed(&self, uncommitted: Uncommitted) -> StoreError {
        match uncommitted {
            Uncommitted::Replaced => self.replaced().await,
            Uncommitted::Outdated => StoreError::Outdated,
            Uncommitted::Strange(why) => self.end(StoreEnd::Broken(format!("the database is not what it was: {why}"))),
            Uncommitted::Refused(error) => error,
            Uncommitted::Unknown(why) => StoreError::unavailable("what became of a commit is not known", &why),
        }
    }

    fn apply(&self, changes: Vec<Change>, mark: Option<Id>, seq: i64) {
        self.rows.write().apply(changes, mark, seq);
        self.seq.send_replace(seq);
    }
}

/// Returns the error of a node that has ended.
fn ended(why: &StoreEnd) -> StoreError {
    let what = "this node has ended";
    match why {
        StoreEnd::Replaced => StoreError::unavailable(what, why),
        StoreEnd::Broken(_) => StoreError::of(what, why),
    }
}

/// Parts changes by what is known of their keys, and finds their places.
fn parted(known: &KnownRows, changes: &[Change]) -> Result<Changes, StoreError> {
    let mut parts = Changes { shared: SharedChanges::of(changes)?, ..Changes::default() };
    for change in changes {
        match change {
            Change::Put(key, value) => {
                let pairs = match known.has(key) {
                    Some(true) => &mut parts.updated,
                    Some(false) => &mut parts.inserted,
                    None => &mut parts.put,
                };
                pairs.push(place::stored(key), value.clone());
            }
            Change::Delete(key) => match known.has(key) {
                Some(true) => parts.deleted.push(place::stored(key)),
                Some(false) => {}
                None => parts.cleared.push(place::stored(key)),
            },
        }
    }
    Ok(parts)
}

impl Backend for Postgres {
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError> {
        self.node.confirm()?;
        Ok(Arc::new(Now::of(self.node.rows.read_arc(), &self.node.slots, Arc::default())))
    }

    fn whole(&self) -> Result<Arc<dyn Picture>, StoreError> {
        let runtime = self.runtime()?.handle();
        Ok(Arc::new(runtime.block_on(Whole::begin(&self.node.target, runtime.clone()))?))
    }

    fn begin(&self) -> Result<Box<dyn OpenWrite>, StoreError> {
        Ok(Box::new(Driven::begin(&self.node, self.runtime()?.handle(), &self.commits)))
    }

    fn load(&self, reads: Vec<Read>) -> BoxFuture<Result<(), StoreError>> {
        let node = Arc::clone(&self.node);
        let task = self.runtime().map(|runtime| runtime.spawn(async move { node.load(reads).await }));
        Box::pin(async move { task?.await.map_err(failed(load::UNREAD))? })
    }

    fn confirm(&self) -> Result<(), StoreError> {
        self.node.confirm()
    }

    fn is_current(&self, shared: i64) -> BoxFuture<Result<bool, StoreError>> {
        let (loading, node) = (self.load(Vec::new()), Arc::clone(&self.node));
        Box::pin(async move {
            loading.await?;
            Ok(node.rows.read().at.shared.seq == shared)
        })
    }

    fn tell_learned(&self, learner: Learner) {
        let _ = self.node.told.set(learner);
    }

    fn ended(&self) -> BoxFuture<StoreEnd> {
        let mut ended = self.node.ended.subscribe();
        Box::pin(async move {
            let why = ended.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
            why.unwrap_or(StoreEnd::Replaced)
        })
    }

    fn retire(&self) -> BoxFuture<()> {
        let node = Arc::clone(&self.node);
        let task = self.runtime().map(|runtime| runtime.spawn(async move { ownership::retire(&node).await }));
        Box::pin(async move {
            if let Ok(task) = task {
                let _ = task.await;
            }
        })
    }

    fn hand_over(&self, keep: usize, others: Vec<Id>) -> BoxFuture<Option<Box<dyn Backend>>> {
        let (node, driver) = (Arc::clone(&self.node), self.driver.clone());
        let task =
            self.runtime().map(|runtime| runtime.spawn(async move { ownership::end(&node, keep, &others).await }));
        Box::pin(async move {
            let kept = task.ok()?.await.ok()??;
            Some(Box::new(cluster::living(kept, &driver)) as Box<dyn Backend>)
        })
    }

    fn lane(&self) -> Option<Id> {
        Some(self.node.id)
    }

    fn lane_figures(&self) -> Option<LaneFigures> {
        let rows = self.node.rows.read();
        Some(LaneFigures {
            slots: self.node.slots.count(),
            commits: u64::try_from(rows.at.seq).unwrap_or_default(),
            row_bytes: rows.known.bytes(),
            lease: self.node.lease.left(),
        })
    }

    fn confirm_read(&self) -> Option<BoxFuture<Result<(), StoreError>>> {
        if !self.node.presence.confirms_reads {
            return None;
        }
        let node = Arc::clone(&self.node);
        let task = self.runtime().map(|runtime| runtime.spawn(async move { node.confirm_read().await }));
        Some(Box::pin(async move { task?.await.map_err(failed("a read cannot be confirmed"))? }))
    }

    fn is_whole(&self) -> bool {
        self.node.slots.is_all()
    }

    fn nodes(&self) -> Option<StoreNodes> {
        Some(StoreNodes::of(self.node.target.clone()))
    }

    fn seals(&self) -> Result<Vec<(KeyId, bool)>, StoreError> {
        self.runtime()?.block_on(async { seals::read(&self.node.link().await?.client).await })
    }

    fn check(&mut self) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn reopen(&self) -> Result<(), StoreError> {
        Ok(())
    }

    fn reserve(&mut self) {}

    fn is_full(&self) -> bool {
        false
    }

    fn give_up_reserve(&self) {}

    fn folder(&self) -> Option<&Path> {
        None
    }

    fn bytes(&self) -> u64 {
        0
    }
}
