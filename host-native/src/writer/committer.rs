//! [`Committer`]: the thread that makes a commit while the writer decides the next group.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::Message;
use crate::store::{Commit, StoreError, caught};

/// A commit, and the writer's queue, which is told of its end.
type Job = (Commit, Option<Arc<SyncSender<Message>>>);
type Made = Result<(), StoreError>;

/// Makes one commit at a time.
pub(super) struct Committer {
    /// `None` once the thread is to end.
    jobs: Option<SyncSender<Job>>,
    made: Receiver<Made>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts the thread; it ends when this is dropped.
    pub fn start() -> std::io::Result<Self> {
        let (jobs, given) = sync_channel::<Job>(1);
        let (done, made) = sync_channel(1);
        let run = move || {
            for (commit, queue) in given {
                if done.send(make(commit)).is_err() {
                    return;
                }
                if let Some(queue) = queue {
                    // A queue that is full wakes the writer without it.
                    let _ = queue.try_send(Message::Committed);
                }
            }
        };
        let thread = std::thread::Builder::new().name("committer".into()).spawn(run)?;
        Ok(Self { jobs: Some(jobs), made, thread: Some(thread) })
    }

    /// Begins a commit, after which `queue` is told; the one before has ended.
    pub fn begin(&self, commit: Commit, queue: Option<Arc<SyncSender<Message>>>) {
        // If the thread is gone, so are the results: the next one says so.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send((commit, queue)));
    }

    /// Returns the result of the commit that was begun, if it has ended.
    pub fn made(&self) -> Option<Made> {
        self.made.try_recv().ok()
    }

    /// Waits for the result of the commit that was begun.
    pub fn wait(&self) -> Made {
        self.made.recv().unwrap_or_else(|_| Err(StoreError::of("a commit failed", &"its thread has ended")))
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Makes a commit. A damaged store may make redb panic: the thread goes on, and the group's callers get an error.
fn make(commit: Commit) -> Made {
    caught("a commit failed", || commit.make()).and_then(|made| made)
}
