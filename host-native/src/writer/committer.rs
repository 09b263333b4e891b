//! [`Committer`]: the thread that makes a commit while the writer decides the next group.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::queue::WriterQueue;
use crate::store::{Commit, StoreError, caught};

type Made = Result<(), StoreError>;

/// Makes one commit at a time.
pub(super) struct Committer {
    /// `None` once the thread is to end.
    jobs: Option<SyncSender<Commit>>,
    made: Receiver<Made>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts the thread, which tells `queue` of each commit's end; it ends when this is dropped.
    pub fn start(queue: Arc<WriterQueue>) -> std::io::Result<Self> {
        let (jobs, given) = sync_channel(1);
        let (done, made) = sync_channel(1);
        let run = move || {
            for commit in given {
                if done.send(make(commit)).is_err() {
                    return;
                }
                queue.tell_committed();
            }
        };
        let thread = std::thread::Builder::new().name("committer".into()).spawn(run)?;
        Ok(Self { jobs: Some(jobs), made, thread: Some(thread) })
    }

    /// Begins a commit; the one before has ended.
    pub fn begin(&self, commit: Commit) {
        // If the thread is gone, so are the results: the next one says so.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(commit));
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
