//! [`SimulatedProcess`]: a host reduced to its store: it looks at the others, takes its share, and serves what it has.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use switchboard_core::key;
use switchboard_core::store::Change;
use switchboard_core::view::Stop;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::Instant;

use super::super::cluster::{GONE, Presence};
use super::super::fence::Id;
use super::super::link::DatabaseLink;
use super::super::lookout::{Look, Lookout, Sighting};
use super::super::map::SlotMap;
use super::super::picture::Now;
use super::super::write::{LaneWrite, NextLaneWrite};
use super::super::{Node, StoreEnd, ownership};
use super::{Database, below, moment};
use crate::clock::{Clock, Reading, TimeSource};
use crate::store::StoreError;
use crate::store::backend::Picture;

/// Sightings that wait.
const SIGHTINGS: usize = 4;

/// What a client asks for.
#[derive(Clone, Copy, Debug)]
pub enum NodeAsk {
    /// Adds one to the count of an account; told is the new count.
    Add(u32),
    /// Reads the count of an account.
    Look(u32),
    /// Gives a number to an account, unless another one has it; told is who has it.
    Claim(u32, u32),
}

impl NodeAsk {
    pub fn account(self) -> u32 {
        match self {
            Self::Add(account) | Self::Look(account) | Self::Claim(account, _) => account,
        }
    }
}

/// Why nothing is told: what was asked for may have been done all the same.
#[derive(Debug)]
pub enum Untold {
    /// The process does not have the account's rows.
    Elsewhere,
    Failed,
}

impl From<StoreError> for Untold {
    fn from(_: StoreError) -> Self {
        Self::Failed
    }
}

/// A host with a clock of its own.
pub struct SimulatedProcess {
    presence: Presence,
    database: Arc<Database>,
    map: Mutex<Arc<SlotMap>>,
    lanes: Mutex<Vec<Arc<Node>>>,
    lines: Mutex<HashMap<Id, Arc<Line>>>,
    /// Lanes that it gives up, or has given up.
    given: Mutex<HashSet<Id>>,
    tasks: Mutex<Vec<AbortHandle>>,
    /// Why its lanes have ended, but for those that others have.
    broken: Mutex<Vec<String>>,
    is_still: AtomicBool,
    waiting: Mutex<Vec<Waker>>,
}

struct VirtualTime {
    began: Instant,
    ahead: Duration,
}

impl TimeSource for VirtualTime {
    fn read(&self) -> Reading {
        let monotonic = self.began.elapsed();
        Reading { system: Duration::from_hours(500_000) + self.ahead + monotonic, monotonic }
    }
}

impl SimulatedProcess {
    /// Starts one whose clock is so far ahead.
    pub fn start(database: &Arc<Database>, ahead: Duration) -> Arc<Self> {
        let mut presence = Presence::of("simulated:1").expect("an id");
        presence.confirms_reads = below(4) == 0;
        let clock = Arc::new(Clock::over(VirtualTime { began: Instant::now(), ahead }, None));
        let process = Arc::new(Self {
            presence: presence.clone(),
            database: Arc::clone(database),
            map: Mutex::default(),
            lanes: Mutex::default(),
            lines: Mutex::default(),
            given: Mutex::default(),
            tasks: Mutex::default(),
            broken: Mutex::default(),
            is_still: AtomicBool::new(false),
            waiting: Mutex::default(),
        });
        let (tell, mut sightings) = mpsc::channel(SIGHTINGS);
        let own = Arc::clone(&process);
        let mapper = Box::new(move |map| *own.map.lock() = map);
        let lookout = Lookout::of(Look::of(database.target(), clock, presence), mapper, tell);
        process.spawn(lookout.run());
        let own = Arc::clone(&process);
        process.spawn(async move {
            while let Some(sighting) = sightings.recv().await {
                match sighting {
                    Sighting::Taken(node) => own.take(*node),
                    Sighting::Excess(id, keep) => own.give(&id, keep).await,
                    Sighting::Small(lanes) => own.merge(lanes).await,
                }
            }
        });
        process
    }

    pub fn id(&self) -> Id {
        self.presence.id
    }

    /// Returns the process that has an account's rows, as far as this one knows.
    pub fn owner_of(&self, account: u32) -> Option<Id> {
        self.map.lock().of_account(account).map(|lane| lane.node)
    }

    /// Returns its lanes that have not ended.
    pub fn lanes(&self) -> Vec<Arc<Node>> {
        let mut lanes = self.lanes.lock();
        lanes.retain(|node| {
            let ended = node.ended.borrow().clone();
            if let Some(StoreEnd::Broken(why)) = &ended {
                self.broken.lock().push(why.clone());
            }
            ended.is_none()
        });
        lanes.clone()
    }

    /// Returns why lanes of it have ended, but for those that others have.
    pub fn broken(&self) -> Vec<String> {
        self.broken.lock().clone()
    }

    /// Returns whether it gives a lane up.
    pub fn gives(&self, lane: &Id) -> bool {
        self.given.lock().contains(lane)
    }

    /// Serves what is asked, if it has the account's rows.
    pub async fn serve(self: Arc<Self>, ask: NodeAsk) -> Result<u64, Untold> {
        let node = self.lanes().into_iter().find(|node| node.slots.has(ask.account())).ok_or(Untold::Elsewhere)?;
        let line = Arc::clone(self.lines.lock().entry(node.id).or_default());
        match ask {
            NodeAsk::Add(account) => decide(&node, &line, &count_of(account), |count| Some(count + 1)).await,
            NodeAsk::Look(account) => look(&node, account).await,
            NodeAsk::Claim(account, number) => {
                decide(&node, &line, &owner_of(number), |owner| (owner == 0).then_some(account.into())).await
            }
        }
    }

    /// Runs something as long as the process lives, and not while it stands still.
    pub fn spawn<T: Send + 'static>(self: &Arc<Self>, task: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        let (process, mut task): (_, Pin<Box<_>>) = (Arc::downgrade(self), Box::pin(task));
        let task = tokio::spawn(std::future::poll_fn(move |context| {
            if let Some(process) = process.upgrade()
                && process.is_still.load(Ordering::Relaxed)
            {
                process.waiting.lock().push(context.waker().clone());
                return Poll::Pending;
            }
            task.as_mut().poll(context)
        }));
        self.tasks.lock().push(task.abort_handle());
        task
    }

    /// Stands still until it goes on.
    pub fn stand_still(&self) {
        self.is_still.store(true, Ordering::Relaxed);
    }

    /// Goes on.
    pub fn go_on(&self) {
        self.is_still.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.waiting.lock()).into_iter().for_each(Waker::wake);
    }

    /// Ends at once.
    pub fn kill(&self) {
        self.tasks.lock().iter().for_each(AbortHandle::abort);
        self.lanes.lock().clear();
    }

    /// Stops in order: gives everything up, and ends.
    pub async fn leave(self: Arc<Self>) {
        self.presence.leave();
        if let Ok(link) = DatabaseLink::to(&self.database.target()).await {
            let _ = link.client.execute(GONE, &[&self.presence.id.as_slice()]).await;
        }
        for node in self.lanes() {
            ownership::end(&node, 0, &[]).await;
        }
        self.kill();
    }

    fn take(self: &Arc<Self>, node: Node) {
        let node = Arc::new(node);
        self.spawn(ownership::live(Arc::downgrade(&node)));
        self.lanes.lock().push(node);
    }

    async fn give(self: &Arc<Self>, id: &Id, keep: usize) {
        let node = self.lanes().into_iter().find(|node| node.id == *id);
        self.given.lock().insert(*id);
        if let Some(node) = node
            && let Some(kept) = ownership::end(&node, keep, &[]).await
        {
            self.take(kept);
        }
    }

    async fn merge(self: &Arc<Self>, lanes: [Id; 2]) {
        let [one, other] = lanes.map(|id| self.lanes().into_iter().find(|node| node.id == id));
        let (Some(one), Some(other)) = (one, other) else { return };
        self.given.lock().extend(lanes);
        ownership::retire(&other).await;
        if let Some(kept) = ownership::end(&one, usize::MAX, &[other.id]).await {
            self.take(kept);
        }
    }
}

/// Commits of a lane, the next of which may be decided while one is under way.
#[derive(Default)]
struct Line(tokio::sync::Mutex<Option<UnderWay>>);

/// A commit that is under way: what it puts, the one after it, and whether it was made.
struct UnderWay {
    put: (key::Key, u64),
    next: NextLaneWrite,
    made: oneshot::Receiver<bool>,
}

/// Returns the number in a row that is at hand, 0 if there is none; the error says that it has to be read.
fn known(rows: &dyn Picture, key: &[u8]) -> Result<u64, Stop> {
    let mut number = 0;
    rows.get(key, &mut |value| {
        number = value.try_into().map_or(0, u64::from_be_bytes);
        Ok(())
    })?;
    Ok(number)
}

fn put(key: &[u8], value: u64) -> Change {
    Change::Put(key.to_vec(), value.to_be_bytes().to_vec())
}

/// Returns the key of an account's count.
pub fn count_of(account: u32) -> key::Key {
    key::profile(account)
}

/// Returns the key of who has a number.
pub fn owner_of(number: u32) -> key::Key {
    key::owner(&format!("+1415555{number:04}"))
}

async fn read(node: &Node, stop: Stop) -> Result<(), StoreError> {
    match stop {
        Stop::Missing(reads) => node.load(reads).await,
        stop => Err(StoreError::Failed(format!("{stop:?}"))),
    }
}

/// Decides over the number in a row, and puts another one there, or nothing; returns the number that is there then.
async fn decide(node: &Arc<Node>, line: &Line, key: &[u8], change: impl Fn(u64) -> Option<u64>) -> Result<u64, Untold> {
    loop {
        let mut turn = line.0.lock().await;
        let (write, number) = match turn.take() {
            None => {
                let write = LaneWrite::begin(node).await;
                let number = known(&write.picture(), key);
                (Ok(write), number)
            }
            Some(UnderWay { put, next, made }) => {
                moment().await;
                let number = if put.0 == key { Ok(put.1) } else { known(&next.picture(), key) };
                // What was decided over one that failed is worth nothing.
                let is_made = made.await.unwrap_or(false);
                // Somebody else may learn meanwhile what other lanes have changed.
                if below(4) == 0 {
                    let _ = node.load(Vec::new()).await;
                }
                (if is_made { next.begin().await } else { Err(StoreError::Outdated) }, number)
            }
        };
        let done = match (write, number) {
            (Err(error), _) => Err(error),
            (Ok(write), Err(stop)) => {
                drop((write, turn));
                read(node, stop).await?;
                continue;
            }
            (Ok(write), Ok(number)) => match change(number) {
                None => write.abort().await.map(|()| number),
                Some(changed) => {
                    let (tell, made) = oneshot::channel();
                    *turn = Some(UnderWay { put: (key.to_vec(), changed), next: write.next(), made });
                    drop(turn);
                    let done = write.commit(vec![put(key, changed)]).await;
                    let _ = tell.send(done.is_ok());
                    // If nobody decides over it, the next one's turn is not kept.
                    if let Ok(mut turn) = line.0.try_lock() {
                        *turn = None;
                    }
                    done.map(|()| changed)
                }
            },
        };
        match done {
            Ok(told) => return Ok(told),
            Err(StoreError::Outdated) => node.load(Vec::new()).await?,
            Err(error) => return Err(error.into()),
        }
    }
}

async fn look(node: &Node, account: u32) -> Result<u64, Untold> {
    let key = count_of(account);
    loop {
        let rows = Now::of(node.rows.read_arc(), &node.slots, Arc::default());
        let count = known(&rows, &key);
        drop(rows);
        match count {
            Ok(count) => {
                moment().await;
                if node.presence.confirms_reads {
                    node.confirm_read().await?;
                } else {
                    node.confirm()?;
                }
                return Ok(count);
            }
            Err(stop) => read(node, stop).await?,
        }
    }
}
