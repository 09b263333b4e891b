//! The scheduler of durable work: ticks when something is due, performs what jobs send, and commits the answers.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use switchboard_core::http::caller::Credential;
use switchboard_core::outside::{Answer, SendError, Work};
use switchboard_core::step::{Output, Send, Ticket};
use switchboard_core::time::Timestamp;
use tokio::sync::watch;

use super::Host;
use crate::room::Holder;
use crate::writer::{Care, Failure, WriterInput};

/// How often the last use of keys is written to the store.
const USED_EVERY: Duration = Duration::from_mins(1);
/// Number of ticks that begin one task at a time, after a start or a panic: as many as the tasks one tick takes.
const CAREFUL_TICKS: u32 = 64;
/// How long a stopping service waits for the sends of its jobs.
const CARRIED: Duration = Duration::from_secs(3);

impl Host {
    /// Runs the scheduler: ticks when durable work is due, until told to stop.
    pub async fn schedule(self: Arc<Self>, mut stop: watch::Receiver<bool>) {
        let mut wake = self.wake.clone();
        let mut used = tokio::time::interval(USED_EVERY);
        // The first task may be what killed the previous process.
        self.be_careful();
        // Tick at once: work may have come due while no process ran.
        self.plan.send_replace(Some(Timestamp::default()));
        loop {
            let due = *wake.borrow_and_update();
            let wait = due.map(|at| self.clock.until(at));
            tokio::select! {
                _ = stop.changed() => break,
                _ = wake.changed() => {}
                _ = used.tick() => self.write_used().await,
                () = tokio::time::sleep(wait.unwrap_or(Duration::MAX)), if wait.is_some() => self.tick().await,
            }
        }
        self.finish_carried().await;
        self.write_used().await;
    }

    /// Waits for the sends of jobs; those that take longer than `CARRIED` are handed back to their jobs.
    async fn finish_carried(&self) {
        if tokio::time::timeout(CARRIED, self.carried.write()).await.is_err() {
            self.hand_back();
            drop(self.carried.write().await);
        }
    }

    /// Hands the sends of jobs back to them.
    pub fn hand_back(&self) {
        self.hand_back.send_replace(true);
    }

    async fn write_used(&self) {
        // Last uses can wait until the disk has room.
        if self.store.is_full() {
            return;
        }
        let used: Vec<Credential> =
            std::mem::take(&mut *self.used.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect();
        if !used.is_empty()
            && let Err(failure) = self.decide(Holder::Service, WriterInput::Used(used)).await
        {
            tracing::warn!(?failure, "the last use of some keys was not noted");
        }
    }

    async fn tick(self: &Arc<Self>) {
        self.plan.send_replace(None);
        let care = self.care();
        match self.decide(Holder::Service, WriterInput::Tick(care)).await {
            Ok(mut output) if care == Care::Careful => {
                self.careful.store(self.careful.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
                // Await each send, so that what was begun ends or panics before the next task is begun.
                let sends = std::mem::take(&mut output.sends);
                self.plan_after(output);
                for send in sends {
                    Arc::clone(self).carry(send).await;
                }
            }
            Ok(output) => self.plan_after(output),
            // Retry a failed tick in a second.
            Err(failure) => {
                self.take_care(&failure);
                self.plan.send_replace(Some(self.clock.now().plus_seconds(1)));
            }
        }
    }

    /// Returns whether the next tick marks each task before it is begun.
    fn care(&self) -> Care {
        if self.careful.load(Ordering::Relaxed) > 0 { Care::Careful } else { Care::Usual }
    }

    /// Becomes careful after a panic: which of a step's tasks caused it is not known.
    pub(super) fn take_care(&self, failure: &Failure) {
        if matches!(failure, Failure::Panicked) {
            self.be_careful();
        }
    }

    fn be_careful(&self) {
        self.careful.store(CAREFUL_TICKS, Ordering::Relaxed);
        self.careful_claims.store(CAREFUL_TICKS, Ordering::Relaxed);
    }

    pub(super) fn plan_after(self: &Arc<Self>, output: Output) {
        self.tell(output.notice);
        if let Some(due) = output.wake {
            self.plan.send_modify(|wake| *wake = Some(wake.map_or(due, |at| at.min(due))));
        }
        for send in output.sends {
            let host = Arc::clone(self);
            tokio::spawn(async move { host.carry(send).await });
        }
    }

    /// Performs a job's send and commits its answer. If there is no room for it, or no time before the service stops,
    /// the answer is `Failed` and the job is planned anew.
    async fn carry(self: Arc<Self>, send: Send) {
        let Ticket::Job { account, .. } = send.ticket else { return };
        let holder = Holder::Account(account);
        let _carried = self.carried.read().await;
        let mut stopping = self.hand_back.subscribe();
        let answer = match send.work {
            Work::Yield => Answer::Yielded,
            work => tokio::select! {
                answer = self.perform_one(work, holder) => answer,
                _ = stopping.wait_for(|stopping| *stopping) => Answer::Failed(SendError::Busy),
            },
        };
        if let Ok(output) = self.decide(holder, WriterInput::Answered(send.ticket, answer)).await {
            self.plan_after(output);
        }
    }
}
