//! [`Lookout`]: looks at the nodes of a store again and again, and takes this one's share of the slots.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::RwLock;
use switchboard_core::time::Timestamp;
use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;
use tokio_postgres::{Error, Row};

use super::cluster::{APART_MAX, DatabaseView, LOOK, Presence, SILENCE};
use super::coalescer::Coalescer;
use super::fence::{Fence, Id};
use super::link::{DatabaseLink, id_in, told};
use super::load::Loader;
use super::map::{MappedLane, SlotMap};
use super::picture::Rows;
use super::recut::{EndedLanes, NewLane, Recut, queues, recut, refused};
use super::share::{ShareStep, Shares};
use super::tails::Tails;
use super::target::DatabaseTarget;
use super::{Lane, Lease, Node, ownership, shared};
use crate::clock::Clock;
use crate::sparse::Sparse;
use crate::store::StoreError;

/// How often a node shows that it is there.
const PRESENCE: Duration = Duration::from_secs(1);
/// How long the nodes must have been the same before one gives slots to another.
const CALM: Duration = Duration::from_secs(2);
/// How long slots stay free before any node takes them.
const LEFT: Duration = Duration::from_secs(3);
/// How long a node that took what others left gives nothing up, and how long it waits for a lane to be given up.
const PATIENCE: Duration = Duration::from_mins(1);
/// Lanes that live.
pub(super) const LANES: &str = "SELECT id, node, address, seq, beat FROM lane WHERE NOT dead ORDER BY id";
/// Slots and their lanes, of which some may have ended.
pub(super) const SLOTS: &str = "SELECT id, lane FROM slot WHERE lane IS NOT NULL";
/// Processes that have shown themselves lately.
pub(super) const NODES: &str =
    "SELECT id, seen::text, is_draining, address FROM node WHERE seen > now() - interval '1 minute' ORDER BY id";
static UNREACHED: Sparse = Sparse::new();
static TWIN: Sparse = Sparse::new();

/// A lane that lives, as far as the database knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Living {
    pub id: Id,
    pub node: Id,
    pub address: Option<String>,
    pub seq: i64,
    pub beat: i64,
}

/// What a node said last, and since when.
struct Shown {
    said: String,
    since: Instant,
    is_draining: bool,
}

/// Is told who has which slots.
pub(super) type Mapper = Box<dyn Fn(Arc<SlotMap>) + Send + Sync>;

/// What there is to do.
pub(super) enum Sighting {
    Taken(Box<Node>),
    Excess(Id, usize),
    Small([Id; 2]),
}

/// A look at lanes and nodes.
pub(super) struct Look {
    target: DatabaseTarget,
    clock: Arc<Clock>,
    presence: Presence,
    link: Option<DatabaseLink>,
    shown: Option<Instant>,
    /// Living lanes, and since when each was seen as it is.
    lanes: Vec<(Living, Instant)>,
    /// Nodes that have shown themselves.
    nodes: BTreeMap<Id, Shown>,
    map: Arc<SlotMap>,
    /// Whether a lane was seen to move on.
    has_heard: bool,
    /// Whether commits waited for a standby when it was last looked.
    had_standby: bool,
    /// Whether it gives its accounts to others, since this machine's clock was far from the database's.
    is_apart: bool,
}

impl Look {
    pub fn of(target: DatabaseTarget, clock: Arc<Clock>, presence: Presence) -> Self {
        let (lanes, nodes, map) = (Vec::new(), BTreeMap::new(), Arc::default());
        Self {
            target,
            clock,
            presence,
            link: None,
            shown: None,
            lanes,
            nodes,
            map,
            has_heard: false,
            had_standby: false,
            is_apart: false,
        }
    }

    /// Looks again; the error is a phrase.
    pub async fn again(&mut self) -> Result<(), String> {
        let looked = tokio::time::timeout(SILENCE / 2, self.looked()).await;
        let looked = looked.unwrap_or_else(|_| Err("it does not answer".to_owned()));
        if looked.is_err() {
            self.link = None;
            // Whoever serves may not be heard for the same reason.
            let now = Instant::now();
            self.lanes.iter_mut().for_each(|(_, since)| *since = now);
            self.nodes.values_mut().for_each(|shown| shown.since = now);
        }
        looked
    }

    async fn looked(&mut self) -> Result<(), String> {
        let link = match self.link.take() {
            Some(link) => link,
            None => DatabaseLink::to(&self.target).await.map_err(|error| error.to_string())?,
        };
        if self.shown.is_none_or(|shown| shown.elapsed() >= PRESENCE) {
            if let Some(seen) = self.presence.show(&link).await.map_err(|error| told(&error))? {
                self.judge(&link, &seen).await.map_err(|error| told(&error))?;
            }
            self.shown = Some(Instant::now());
        }
        let (lanes, nodes) = tokio::try_join!(link.client.query(LANES, &[]), link.client.query(NODES, &[]))
            .map_err(|error| told(&error))?;
        self.note_lanes(lanes.iter().filter_map(living).collect());
        // A lane has the same slots for as long as it lives.
        if self.map.lanes().iter().map(|lane| lane.id).ne(self.lanes.iter().map(|(lane, _)| lane.id)) {
            let slots = link.client.query(SLOTS, &[]).await.map_err(|error| told(&error))?;
            self.map = Arc::new(mapped(self.lanes.iter().map(|(lane, _)| lane), &slots));
        }
        self.note_nodes(&nodes);
        self.link = Some(link);
        Ok(())
    }

    /// Tells of a database that has lost its standby, and gives up what it serves for as long as the clock here is set to
    /// another time: the next node would have to go on from that.
    async fn judge(&mut self, link: &DatabaseLink, seen: &DatabaseView) -> Result<(), Error> {
        if !seen.has_standby && self.had_standby {
            tracing::error!(
                "PostgreSQL no longer waits for a standby (synchronous_standby_names is empty): a failover may lose what is \
                 acknowledged from now on"
            );
        }
        self.had_standby = seen.has_standby;
        let is_apart = seen.apart > APART_MAX;
        // One that the operator drains stays so.
        let is_drained = !self.is_apart && self.nodes.get(&self.presence.id).is_some_and(|shown| shown.is_draining);
        if is_apart != self.is_apart && !is_drained {
            self.presence.set_aside(link, is_apart).await?;
            if is_apart {
                tracing::error!(
                    apart_seconds = seen.apart.as_secs(),
                    "this machine's clock is not the database's any more: this node gives its accounts to others until it is"
                );
            } else {
                tracing::warn!("this machine's clock is the database's again: this node takes accounts");
            }
            self.is_apart = is_apart;
        }
        Ok(())
    }

    /// Notes which lanes live.
    fn note_lanes(&mut self, lanes: Vec<Living>) {
        let now = Instant::now();
        let before = std::mem::take(&mut self.lanes);
        for lane in lanes {
            let known = before.iter().find(|(known, _)| known.id == lane.id);
            let since = known.filter(|(known, _)| *known == lane).map_or(now, |(_, since)| *since);
            self.has_heard |= known.is_some_and(|(known, _)| *known != lane);
            self.lanes.push((lane, since));
        }
    }

    fn note_nodes(&mut self, nodes: &[Row]) {
        let now = Instant::now();
        let before = std::mem::take(&mut self.nodes);
        for row in nodes {
            let (Some(id), said) = (id_in(row, 0), row.get::<_, String>(1)) else { continue };
            let known = before.get(&id);
            let since = known.filter(|shown| shown.said == said).map_or(now, |shown| shown.since);
            // One that only once was there may have had the address before this one.
            if known.is_some_and(|shown| shown.said != said) && id != self.presence.id && self.is_own(row.get(3)) {
                self.warn_of_twin();
            }
            self.nodes.insert(id, Shown { said, since, is_draining: row.get(2) });
        }
    }

    fn is_own(&self, address: &str) -> bool {
        !address.is_empty() && address == self.presence.address
    }

    fn warn_of_twin(&self) {
        if let Some(more) = TWIN.more() {
            tracing::error!(
                address = self.presence.address,
                more,
                "another node says that it is reached at the address of this one: requests for its accounts come here or \
                 go astray; give each its own --node-address"
            );
        }
    }

    pub fn lanes(&self) -> &[(Living, Instant)] {
        &self.lanes
    }

    /// Returns whether a lane was seen to move on.
    pub fn has_heard(&self) -> bool {
        self.has_heard
    }

    /// Returns the lanes that were not heard of for long enough, and those of this node that were made and could not begin:
    /// nobody else may write in their name, so nobody has to be waited for.
    pub fn silent(&self) -> Vec<Living> {
        let silent =
            self.lanes.iter().filter(|(lane, since)| since.elapsed() >= SILENCE || self.presence.is_unbegun(&lane.id));
        silent.map(|(lane, _)| lane.clone()).collect()
    }

    /// Returns the ids of the nodes that take accounts, this one's first if it does. Those whose lanes are silent do not,
    /// nor those that are drained, unless all are.
    fn takers(&self) -> Vec<Id> {
        let silent = self.silent();
        let others = self.nodes.iter().filter(|(id, shown)| {
            **id != self.presence.id && shown.since.elapsed() < SILENCE && silent.iter().all(|lane| lane.node != **id)
        });
        let there: Vec<_> = std::iter::once(self.presence.id).chain(others.map(|(id, _)| *id)).collect();
        let is_drained = |id: &Id| self.nodes.get(id).is_some_and(|shown| shown.is_draining);
        let takers: Vec<_> = there.iter().filter(|id| !is_drained(id)).copied().collect();
        if takers.is_empty() { there } else { takers }
    }

    /// Returns the lanes of this node that are heard of, and their slots.
    fn own(&self) -> Vec<(Id, usize)> {
        let is_own = |(lane, since): &&(Living, Instant)| {
            lane.node == self.presence.id && since.elapsed() < SILENCE && !self.presence.is_unbegun(&lane.id)
        };
        let own = self.lanes.iter().filter(is_own);
        own.map(|(lane, _)| (lane.id, self.map.slots_of(&lane.id))).collect()
    }

    /// Takes at most so many slots of lanes that are silent, and of nobody; `None` if there are none, a lane was not
    /// silent, or another node was quicker.
    pub async fn take(&mut self, most: usize) -> Result<Option<Node>, StoreError> {
        let silent = self.silent();
        let Some(link) = &mut self.link else { return Ok(None) };
        match recut(&mut link.client, &self.presence, EndedLanes::Silent(&silent), most).await? {
            Recut::Made(lane) => begun(link, lane, &self.target, &self.clock, &self.presence).await,
            Recut::NoneFree | Recut::Moved => Ok(None),
        }
    }
}

/// Reads a row of [`LANES`].
pub(super) fn living(row: &Row) -> Option<Living> {
    Some(Living {
        id: id_in(row, 0)?,
        node: id_in(row, 1).unwrap_or_default(),
        address: row.get(2),
        seq: row.get(3),
        beat: row.get(4),
    })
}

/// Maps the rows of [`SLOTS`] to lanes.
pub(super) fn mapped<'l>(lanes: impl Iterator<Item = &'l Living>, slots: &[Row]) -> SlotMap {
    let lanes = lanes.map(|lane| {
        let address = lane.address.as_deref().map(Arc::from);
        MappedLane { id: lane.id, node: lane.node, address }
    });
    let slots = slots.iter().filter_map(|row| Some((u16::try_from(row.get::<_, i32>(0)).ok()?, id_in(row, 1)?)));
    SlotMap::of(lanes.collect(), slots)
}

/// Begins to live with a lane that was just made; `None` if another node has taken it meanwhile, or may have.
pub(super) async fn begun(
    link: &DatabaseLink,
    lane: NewLane,
    target: &DatabaseTarget,
    clock: &Arc<Clock>,
    presence: &Presence,
) -> Result<Option<Node>, StoreError> {
    let id = lane.id;
    let begun = begin(link, lane, target, clock, presence).await;
    if !matches!(begun, Ok(Some(_))) {
        presence.note_unbegun(id);
    }
    begun
}

async fn begin(
    link: &DatabaseLink,
    lane: NewLane,
    target: &DatabaseTarget,
    clock: &Arc<Clock>,
    presence: &Presence,
) -> Result<Option<Node>, StoreError> {
    // What was said of these accounts is in the past of this node.
    clock.not_before(Timestamp::from_micros(u64::try_from(lane.clock).unwrap_or_default()));
    let last = shared::last(&link.client).await.map_err(|error| refused(&error))?;
    let known = queues(&link.client, &lane.slots).await?;
    // Taking the slots may have taken longer than a lease.
    let (sent, warnings) = (Instant::now(), link.warnings());
    let sign = ownership::beat(link, &lane.id).await.map_err(|error| refused(&error))?;
    // A lane that the standby may not have is gone if that takes over, and another one lives.
    if sign.is_none() || link.warnings() != warnings {
        return Ok(None);
    }
    let fence = Fence::of(target.clone(), lane.id, lane.token);
    Ok(Some(Node {
        rows: Arc::new(RwLock::new(Rows::of(known, last, &presence.memory))),
        lane: Arc::new(Mutex::new(Lane::of(fence))),
        loader: Mutex::new(Loader::of(target.clone(), lane.id)),
        tails: Tails::default(),
        signs: Mutex::default(),
        confirmations: Coalescer::default(),
        seq: tokio::sync::watch::Sender::new(0),
        lease: Lease::of(sent),
        ended: tokio::sync::watch::Sender::new(None),
        clock: Arc::clone(clock),
        presence: presence.clone(),
        told: OnceLock::new(),
        slots: Arc::new(lane.slots),
        id: lane.id,
        target: target.clone(),
    }))
}

/// Looks, and tells what it sees.
pub(super) struct Lookout {
    look: Look,
    /// Is told who has which slots.
    map: Mapper,
    tell: mpsc::Sender<Sighting>,
    mapped: Arc<SlotMap>,
    takers: (Vec<Id>, Instant),
    free: (usize, Instant),
    /// The lane that is being given up, and since when.
    given: Option<(Id, Instant)>,
    /// When slots were taken that others had left.
    left: Option<Instant>,
}

impl Lookout {
    pub fn of(look: Look, map: Mapper, tell: mpsc::Sender<Sighting>) -> Self {
        let now = Instant::now();
        Self {
            look,
            map,
            tell,
            mapped: Arc::default(),
            takers: (Vec::new(), now),
            free: (0, now),
            given: None,
            left: None,
        }
    }

    /// Looks until nobody listens any more.
    pub async fn run(mut self) {
        loop {
            let seen = match self.look.again().await {
                Ok(()) => self.step().await,
                Err(why) => {
                    if let Some(more) = UNREACHED.more() {
                        tracing::warn!(why, more, "the database is not reached");
                    }
                    None
                }
            };
            // Who has taken a lane must know of it first, and not pass requests for it to whoever had it.
            let is_taken = matches!(seen, Some(Sighting::Taken(_)));
            if is_taken {
                // What is not seen now is seen the next time.
                let _ = self.look.again().await;
            }
            self.show();
            // There may be more.
            if let Some(seen) = seen
                && self.tell.send(seen).await.is_err()
            {
                return;
            }
            if self.tell.is_closed() {
                return;
            }
            if !is_taken {
                tokio::time::sleep(LOOK).await;
            }
        }
    }

    /// Tells who has which slots, if that has changed.
    fn show(&mut self) {
        if self.look.map != self.mapped {
            self.mapped = Arc::clone(&self.look.map);
            (self.map)(Arc::clone(&self.mapped));
        }
    }

    async fn step(&mut self) -> Option<Sighting> {
        let now = Instant::now();
        let (takers, own) = (self.look.takers(), self.look.own());
        if self.takers.0 != takers {
            self.takers = (takers, now);
        }
        let silent: usize = self.look.silent().iter().map(|lane| self.look.map.slots_of(&lane.id)).sum();
        let free = self.look.map.free() + silent;
        if self.free.0 != free {
            self.free = (free, now);
        }
        self.given =
            self.given.filter(|(id, since)| since.elapsed() < PATIENCE && own.iter().any(|(own, _)| own == id));
        if self.look.presence.is_leaving() {
            return None;
        }
        let are_left = free > 0 && self.free.1.elapsed() >= LEFT;
        let is_calm = self.takers.1.elapsed() >= CALM
            && self.given.is_none()
            && self.left.is_none_or(|left| left.elapsed() >= PATIENCE);
        let takes = self.takers.0.first() == Some(&self.look.presence.id);
        let shares = Shares { nodes: self.takers.0.len(), takes, own: &own, free, are_left, is_calm };
        if !takes && self.given.is_some() {
            return None;
        }
        match shares.step() {
            ShareStep::Rest => None,
            ShareStep::Take(slots) => {
                self.left = if are_left { Some(now) } else { self.left };
                match self.look.take(slots).await {
                    Ok(node) => node.map(|node| Sighting::Taken(Box::new(node))),
                    Err(error) => {
                        tracing::warn!(%error, "this node could not take its share");
                        self.look.link = None;
                        None
                    }
                }
            }
            ShareStep::Give(id, keep) => {
                self.given = Some((id, now));
                Some(Sighting::Excess(id, keep))
            }
            ShareStep::Merge(lanes) => {
                self.given = Some((lanes[0], now));
                Some(Sighting::Small(lanes))
            }
        }
    }
}
