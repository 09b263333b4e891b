//! [`LaneWrite`]: a commit of a lane that has begun, and [`NextLaneWrite`], the one after it. [`Driven`]: either of them,
//! for a thread that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

use switchboard_core::store::Change;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;

use super::picture::Now;
use super::shared::LogPoint;
use super::{Driver, Lane, Node, seals};
use crate::seal::KeyId;
use crate::store::StoreError;
use crate::store::backend::{BoxFuture, NextWrite, OpenWrite, Picture, SealState};

/// What a write is decided on: the rows at hand.
struct Ground {
    node: Arc<Node>,
    /// Whether a shared row was looked at.
    is_shared: Arc<AtomicBool>,
}

impl Ground {
    fn of(node: &Arc<Node>) -> Self {
        Self { node: Arc::clone(node), is_shared: Arc::default() }
    }

    fn picture(&self) -> Now {
        let Self { node, is_shared } = self;
        Now::of(node.rows.read_arc(), &node.slots, Arc::clone(is_shared))
    }
}

/// A commit that has begun.
pub(super) struct LaneWrite {
    ground: Ground,
    lane: OwnedMutexGuard<Lane>,
    /// The last change of shared rows before it began.
    after: LogPoint,
}

impl LaneWrite {
    /// Begins one; waits while another one is open.
    pub async fn begin(node: &Arc<Node>) -> Self {
        let lane = Arc::clone(&node.lane).lock_owned().await;
        let after = node.rows.read().at.shared;
        Self::of(Ground::of(node), lane, after)
    }

    fn of(ground: Ground, mut lane: OwnedMutexGuard<Lane>, after: LogPoint) -> Self {
        lane.begun += 1;
        lane.reached = None;
        Self { ground, lane, after }
    }

    /// Returns the rows at hand.
    pub fn picture(&self) -> Now {
        self.ground.picture()
    }

    /// Returns the commit after this one, which takes its place in the queue: nobody comes between, not even who gives the
    /// lane up.
    pub fn next(&self) -> NextLaneWrite {
        let ground = Ground::of(&self.ground.node);
        let mut lane: BoxFuture<_> = Box::pin(Arc::clone(&ground.node.lane).lock_owned());
        let _ = lane.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        NextLaneWrite { ground, lane, before: self.lane.begun }
    }

    /// Commits changes.
    pub async fn commit(mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        let mut reached = self.after;
        if !changes.is_empty() {
            reached = self.ground.node.commit(&mut self.lane, changes, reached).await?;
        }
        self.lane.reached = Some(reached);
        Ok(())
    }

    /// Ends without a change. What was looked at is told to callers, as after a commit.
    pub async fn abort(mut self) -> Result<(), StoreError> {
        let node = &self.ground.node;
        if node.presence.confirms_reads {
            node.confirm_read().await?;
        }
        node.confirm()?;
        if self.ground.is_shared.load(Ordering::Relaxed) {
            let is_other = node.settle(&mut self.lane).await?;
            node.load(Vec::new()).await?;
            if is_other || node.rows.read().at.shared != self.after {
                return Err(StoreError::Outdated);
            }
        }
        self.lane.reached = Some(self.after);
        Ok(())
    }
}

/// The commit after one that is under way. The rows at hand get what that one changes once it was made.
pub(super) struct NextLaneWrite {
    ground: Ground,
    lane: BoxFuture<OwnedMutexGuard<Lane>>,
    /// The number of the write before it.
    before: u64,
}

impl NextLaneWrite {
    /// Returns the rows at hand.
    pub fn picture(&self) -> Now {
        self.ground.picture()
    }

    /// Begins it, if the one before was made. Should others have changed shared rows since that one began, this one's commit
    /// is refused: the log is not where that one left it.
    pub async fn begin(self) -> Result<LaneWrite, StoreError> {
        let lane = self.lane.await;
        match lane.reached {
            Some(after) if lane.begun == self.before => Ok(LaneWrite::of(self.ground, lane, after)),
            _ => Err(StoreError::Outdated),
        }
    }
}

/// A write of a thread that waits for it.
pub(super) struct Driven<W> {
    write: W,
    runtime: Handle,
    /// Drives the connection of commits meanwhile.
    commits: Driver,
}

impl Driven<LaneWrite> {
    /// Begins a commit; waits while another one is open.
    pub fn begin(node: &Arc<Node>, runtime: &Handle, commits: &Driver) -> Self {
        let write = runtime.block_on(LaneWrite::begin(node));
        Self { write, runtime: runtime.clone(), commits: commits.clone() }
    }
}

impl OpenWrite for Driven<LaneWrite> {
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError> {
        Ok(Arc::new(self.write.picture()))
    }

    fn next(&self) -> Box<dyn NextWrite> {
        let Self { write, runtime, commits } = self;
        Box::new(Driven { write: write.next(), runtime: runtime.clone(), commits: commits.clone() })
    }

    fn commit(self: Box<Self>, changes: Vec<Change>, seals: Vec<(KeyId, SealState)>) -> Result<(), StoreError> {
        let Self { write, runtime, commits } = *self;
        if !seals.is_empty() {
            let node = &write.ground.node;
            runtime.block_on(async { seals::note(&node.link().await?.client, seals).await })?;
        }
        commits.runtime()?.block_on(write.commit(changes))
    }

    fn abort(self: Box<Self>) -> Result<(), StoreError> {
        self.runtime.block_on(self.write.abort())
    }
}

impl NextWrite for Driven<NextLaneWrite> {
    fn picture(&self) -> Result<Arc<dyn Picture>, StoreError> {
        Ok(Arc::new(self.write.picture()))
    }

    fn begin(self: Box<Self>) -> Result<Box<dyn OpenWrite>, StoreError> {
        let Self { write, runtime, commits } = *self;
        let write = runtime.block_on(write.begin())?;
        Ok(Box::new(Driven { write, runtime, commits }))
    }
}
