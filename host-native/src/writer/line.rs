//! [`WriterLine`]: the group that is decided, and the one before it, whose commit is under way.

use std::collections::BTreeSet;

use switchboard_core::key::Topic;
use switchboard_core::view::Stop;

use super::committer::Committer;
use super::group::InputGroup;
use super::{FAILED, Failure, Queued, WriterContext};
use crate::store::{Store, StoreError, Write, caught};

/// Inputs of a group after which its commit begins, if none is under way: those that wait are decided meanwhile.
const ENOUGH: usize = 32;

/// Decides groups and has them committed, one after the other.
pub(super) struct WriterLine<'p> {
    parts: &'p WriterContext,
    committer: Committer,
    /// The group that takes inputs.
    group: InputGroup,
    /// Its write, once it has an input or a commit before it is under way.
    write: Option<Write<'p>>,
    /// The group before it, until its commit has ended.
    under_way: Option<InputGroup>,
    /// News of commits of which it was not known whether they were made: the next one knows.
    owed: BTreeSet<Topic>,
}

impl<'p> WriterLine<'p> {
    /// Creates it without a group.
    pub fn new(parts: &'p WriterContext, committer: Committer) -> Self {
        let (group, owed) = (InputGroup::default(), BTreeSet::new());
        Self { parts, committer, group, write: None, under_way: None, owed }
    }

    /// Takes an input into the group.
    pub fn take(&mut self, queued: Queued) {
        self.look();
        if self.write.is_none() {
            self.settle();
            match caught("a write cannot begin", || self.parts.store.begin()).and_then(|begun| begun) {
                Ok(write) => self.write = Some(write),
                Err(error) => {
                    self.group.refuse(queued, Failure::Unavailable);
                    let group = std::mem::take(&mut self.group);
                    return self.ended(group, Err(error));
                }
            }
        }
        if let Some(write) = &mut self.write {
            self.group.step(self.parts, write, queued);
        }
    }

    /// Returns whether the group may take one more input before it is committed.
    pub fn has_room(&self) -> bool {
        !self.group.is_full() && (self.under_way.is_some() || self.group.len() < ENOUGH)
    }

    /// Commits the group, unless a commit is under way and more inputs may come until it has ended.
    pub fn commit(&mut self) {
        if self.under_way.is_some() && self.group.is_full() {
            self.settle();
        }
        if self.under_way.is_some() || self.group.is_empty() {
            return;
        }
        let (group, write) = (std::mem::take(&mut self.group), self.write.take());
        let made = caught("a commit failed", || match write {
            Some(write) if write.is_changed() => self.begin_commit(write, group.len()),
            Some(write) => write.abort().map(|()| Begun::Made),
            None => Ok(Begun::Made),
        });
        match made.and_then(|made| made) {
            Ok(Begun::UnderWay) => self.under_way = Some(group),
            Ok(Begun::Made) => self.ended(group, Ok(())),
            Err(error) => self.ended(group, Err(error)),
        }
    }

    /// Commits a write, beside the decisions of the next group: but a lone input's client waits for nothing but its
    /// commit.
    fn begin_commit(&mut self, write: Write<'p>, inputs: usize) -> Result<Begun, StoreError> {
        let commit = write.into_commit()?;
        if inputs == 1 {
            return commit.make().map(|()| Begun::Made);
        }
        self.write = Some(self.parts.store.begin_over(&commit));
        self.committer.begin(commit);
        Ok(Begun::UnderWay)
    }

    /// Takes the result of the commit under way, if it has ended.
    pub fn look(&mut self) {
        if self.under_way.is_some()
            && let Some(made) = self.committer.made()
            && let Some(group) = self.under_way.take()
        {
            self.ended(group, made);
        }
    }

    /// Waits for the commit under way.
    fn settle(&mut self) {
        if let Some(group) = self.under_way.take() {
            let made = self.committer.wait();
            self.ended(group, made);
        }
    }

    /// Tells a group's callers what became of its commit. If that failed, so has the group that was decided over it.
    fn ended(&mut self, mut group: InputGroup, made: Result<(), StoreError>) {
        let mut over = InputGroup::default();
        match made {
            Ok(()) => {
                self.owed.append(&mut group.topics);
                std::mem::take(&mut self.owed).iter().for_each(|topic| self.parts.news.publish(*topic));
            }
            Err(error) => {
                over = std::mem::take(&mut self.group);
                self.write = None;
                let failure = self.failure(&error, &mut group);
                group.fail(&failure);
                over.fail(&failure);
            }
        }
        if self.group.is_empty() {
            // Its snapshot is not kept for inputs that may never come.
            self.write = None;
        }
        for group in [group, over].into_iter().filter(|group| !group.is_empty()) {
            self.parts.metrics.group(group.len());
            if let Some(due) = group.wake {
                self.parts.wake.send_if_modified(|wake| {
                    let sooner = wake.is_none_or(|at| due < at);
                    if sooner {
                        *wake = Some(due);
                    }
                    sooner
                });
            }
            group.tell();
        }
    }

    /// Returns what callers are told of a commit that failed.
    fn failure(&mut self, error: &StoreError, group: &mut InputGroup) -> Failure {
        if matches!(error, StoreError::Outdated) {
            // Each of them is loaded for, and runs again.
            return Failure::Stopped(Stop::Missing(Vec::new()));
        }
        if let Some(more) = FAILED.more() {
            tracing::error!(%error, more, "a commit failed; nothing of it was acknowledged");
        }
        self.owed.append(&mut group.topics);
        recover(&self.parts.store, error);
        Failure::Unavailable
    }

    /// Has the store do what can wait until nobody writes.
    pub fn rest(&self) {
        if self.under_way.is_some() {
            return;
        }
        let store = &self.parts.store;
        if let Err(error) = caught("the store cannot rest", || store.rest()).and_then(|done| done) {
            tracing::error!(%error, "the store failed; nothing that was acknowledged is lost");
            recover(store, &error);
        }
    }

    /// Commits what there is.
    pub fn end(mut self) {
        while self.under_way.is_some() || !self.group.is_empty() {
            self.settle();
            self.commit();
        }
        self.rest();
    }
}

/// What became of a commit that was begun.
enum Begun {
    Made,
    UnderWay,
}

/// Reopens the store after a full disk, since that may have room again. After any other failure nothing is written
/// until the operator has looked at the disk and restarted the service.
fn recover(store: &Store, error: &StoreError) {
    if !matches!(error, StoreError::DiskFull(_)) {
        return;
    }
    store.give_up_reserve();
    match store.reopen() {
        Ok(()) => tracing::warn!("the disk is full: the store was opened again, and serves what was committed"),
        Err(error) => tracing::error!(%error, "the disk is full: the next write tries to open the store again"),
    }
}
