//! Execution of durable work: maps each [`Task`] to the resource that performs it.
//!
//! [`tick`] runs a few due tasks of a few accounts; [`answered`] continues one that waited for an answer.
//!
//! A failing run affects only its own task. One that stops is rolled back within the tick, and the others continue. One
//! that panics or kills the process cannot report it. Therefore a host that has just started, or whose last step
//! panicked, starts one task at a time ([`Scene::careful`](crate::view::Scene)), after committing a mark; a task that
//! has failed once is started like that on every host. A mark whose lease expires counts as a fault, and so does a
//! question that is never answered. After [`JOB_FAULTS_MAX`] faults in a row the job is set aside.

use alloc::vec::Vec;
use core::cell::Cell;

use crate::account::storage;
use crate::http::idempotency;
use crate::http::notice::Notice;
use crate::job::queue::{Job, QueuePosition};
use crate::job::{Lane, Task, TaskContext, TaskOutcome, aside, cancel, queue};
use crate::key::{self, Kind, Space};
use crate::limits::{ACCOUNTS_PER_TICK, JOB_FAULTS_MAX, JOBS_PER_TURN, SLICE_ROWS};
use crate::outside::{self, Answer, AskedWork, SendError};
use crate::root;
use crate::seed::Seed;
use crate::setup::Setup;
use crate::step::{Output, Send, Ticket};
use crate::store::{Scope, Tx};
use crate::view::{Order, Scene, Stop};
use crate::{call, campaign, conversation, folder, import, knowledge, number, tool, webhook};

/// Lease of a task that waits for an answer, seconds: longer than any send takes.
const LEASE_SECONDS: u64 = 90;
/// Backoff between tries that the task itself retries, seconds; the last value repeats.
const WAITS: [u64; 5] = [60, 300, 1_800, 7_200, 21_600];

/// Backoff after faults, seconds; the fault after the last value sets the job aside.
const FAULT_WAITS: [u64; JOB_FAULTS_MAX as usize - 1] = [1, 60, 300, 1_800];
/// Delay of a task for which the host had no room (`POSTPONED_SECONDS`) or the account no storage (`FULL_SECONDS`),
/// seconds.
const POSTPONED_SECONDS: u64 = 10;
const FULL_SECONDS: u64 = 300;
const DROPPED: &str = "The operator gave it up.";
const OVER_STORAGE: &str = "The account has used up its storage.";
const LAPSED: &str = "It was begun and did not come to an end.";
const OVER_BUDGET: &str = "It wanted to read or change more than a step may.";

/// Runs what is due, at most [`ACCOUNTS_PER_TICK`] lanes of accounts.
pub fn tick(setup: &Setup, scene: &Scene<'_>) -> Result<Output, Stop> {
    let tx = Tx::at(scene.view, scene.now);
    let root = tx.scope(Space::Root);
    let (mut sends, notice) = (Vec::new(), Cell::default());
    for (at, _) in root.scan(key::due_accounts(), Order::Ascending, ACCOUNTS_PER_TICK)? {
        let Some((due, account, lane)) = key::read_due_account(&at) else {
            root.delete(at)?;
            continue;
        };
        if due > scene.now {
            break;
        }
        let Some(lane) = Lane::from_u8(lane) else {
            root.delete(at)?;
            continue;
        };
        let turn = Turn { setup, scene, tx: &tx, account: root::space_of(root, account), notice: &notice };
        if !queue::is_next(turn.account, lane, due)? {
            root.delete(at)?;
        }
        sends.extend(turn.lane(lane)?);
        // A slice may take a millisecond, so the tick ends after one and waiting requests go first.
        let is_begun = scene.careful && !sends.is_empty();
        if lane == Lane::Slice || is_begun || tx.is_half_spent() {
            break;
        }
    }
    let looked = call::lease::tick(&tx, scene.now)?;
    let output = finish(&tx, sends, notice.get())?;
    Ok(Output { wake: output.wake.into_iter().chain(looked).min(), ..output })
}

/// Continues a task whose question was answered, or one that was started on its own.
pub fn answered(setup: &Setup, scene: &Scene<'_>, ticket: &Ticket, answer: &Answer) -> Result<Output, Stop> {
    let tx = Tx::at(scene.view, scene.now);
    let Ticket::Job { account, task, lease } = ticket else { return Ok(Output::default()) };
    let notice = Cell::default();
    let turn = Turn { setup, scene, tx: &tx, account: tx.scope(Space::Account(*account)), notice: &notice };
    let sends = match Job::find(turn.account, task)? {
        // An answer that arrives after its lease has expired is ignored: another try is under way.
        Some(job) if job.standing == QueuePosition::Asked(*lease) && is_postponed(answer) => {
            turn.postpone(job, POSTPONED_SECONDS)?;
            Vec::new()
        }
        Some(job) if job.standing == QueuePosition::Asked(*lease) => turn.run(job, core::slice::from_ref(answer))?,
        Some(job) if job.standing == QueuePosition::Trial(*lease) => turn.run(job, &[])?,
        _ => Vec::new(),
    };
    queue::sync(turn.account)?;
    finish(&tx, sends, notice.get())
}

/// Returns whether the question was never sent, because the host had no room or is stopping.
fn is_postponed(answer: &Answer) -> bool {
    matches!(answer, Answer::Failed(SendError::ShareUsed | SendError::Busy))
}

fn finish(tx: &Tx<'_>, sends: Vec<Send>, notice: Option<Notice>) -> Result<Output, Stop> {
    let next = tx.scope(Space::Root).scan(key::due_accounts(), Order::Ascending, 1)?;
    let wake = next.first().and_then(|(at, _)| key::read_due_account(at)).map(|(due, ..)| due);
    Ok(Output { changes: tx.finish()?, sends, wake, notice, spent: tx.spent_bytes(), ..Output::default() })
}

/// One account's turn within a tick.
struct Turn<'a> {
    setup: &'a Setup,
    scene: &'a Scene<'a>,
    tx: &'a Tx<'a>,
    account: Scope<'a>,
    notice: &'a Cell<Option<Notice>>,
}

impl Turn<'_> {
    fn lane(&self, lane: Lane) -> Result<Vec<Send>, Stop> {
        let most = match lane {
            Lane::Slice => 1,
            Lane::Asking => JOBS_PER_TURN.min(queue::room(self.account)?),
            Lane::Quick | Lane::Leased => JOBS_PER_TURN,
        };
        let mut sends = Vec::new();
        for job in queue::due(self.account, lane, self.scene.now, most)? {
            if job.standing != QueuePosition::Planned {
                job.remove(self.account)?;
                self.fault(job, LAPSED)?;
            } else if self.scene.careful || job.faults > 0 {
                sends.push(self.begin(job)?);
                if self.scene.careful {
                    break;
                }
            } else {
                sends.extend(self.run(job, &[])?);
            }
            if self.tx.is_half_spent() {
                break;
            }
        }
        queue::sync(self.account)?;
        Ok(sends)
    }

    /// Marks a task as started. Once that is committed it runs in a step of its own, so that a crash can be attributed
    /// to it.
    fn begin(&self, job: Job) -> Result<Send, Stop> {
        let lease = self.seed(&job).number("trial", 1..=u32::MAX);
        let ticket = self.ticket(&job, lease)?;
        job.remove(self.account)?;
        let due = self.scene.now.plus_seconds(LEASE_SECONDS);
        Job { due, standing: QueuePosition::Trial(lease), ..job }.put(self.account)?;
        Ok(Send { ticket, work: outside::Work::Yield })
    }

    /// Runs a task; if it stops, its changes are rolled back.
    fn run(&self, job: Job, answers: &[Answer]) -> Result<Vec<Send>, Stop> {
        let is_full = Cell::new(false);
        let done = self.account.attempt(|| {
            let sends = self.carry_out(job.clone(), answers)?;
            is_full.set(job.task.grows() && self.is_over_storage()?);
            if is_full.get() { Err(Stop::OverBudget) } else { Ok(sends) }
        })?;
        match done {
            Ok(sends) => Ok(sends),
            Err(_) if is_full.get() => self.end_full(job).map(|()| Vec::new()),
            Err(stop) => {
                job.remove(self.account)?;
                self.fault(job, if let Stop::Corrupt(says) = stop { says } else { OVER_BUDGET })?;
                Ok(Vec::new())
            }
        }
    }

    /// Reschedules a failed job that has been removed from its lane, or sets it aside.
    fn fault(&self, job: Job, says: &str) -> Result<(), Stop> {
        aside::note_fault(self.account)?;
        let wait = FAULT_WAITS.get(job.faults as usize);
        let job = Job { faults: job.faults + 1, error: Some(says.into()), standing: QueuePosition::Planned, ..job };
        if let Some(seconds) = wait {
            return Job { due: self.scene.now.plus_seconds(*seconds), ..job }.put(self.account);
        }
        if let Space::Account(account) = self.account.space() {
            self.notice.set(Some(Notice::JobSetAside { account, kind: job.task.kind() }));
        }
        aside::enter(self.account, job)
    }

    /// Reschedules a job that was not run; this does not count as a fault.
    fn postpone(&self, job: Job, seconds: u64) -> Result<(), Stop> {
        job.remove(self.account)?;
        Job { due: self.scene.now.plus_seconds(seconds), standing: QueuePosition::Planned, ..job }.enter(self.account)
    }

    fn is_over_storage(&self) -> Result<bool, Stop> {
        match self.account.space() {
            Space::Account(account) => storage::is_over(self.tx, account),
            Space::Root | Space::Memory => Ok(false),
        }
    }

    /// Ends a task as failed if the account has no storage left; a campaign is postponed instead.
    fn end_full(&self, job: Job) -> Result<(), Stop> {
        if let Task::Dial(_) = job.task {
            return self.postpone(job, FULL_SECONDS);
        }
        let asks = AskedWork::of(&[]);
        end(&self.work(&job, &asks), &job.task, OVER_STORAGE)?;
        cancel(self.account, &job.task)
    }

    fn work<'w>(&'w self, job: &Job, asks: &'w AskedWork<'w>) -> TaskContext<'w> {
        TaskContext {
            setup: self.setup,
            account: self.tx.scope(self.account.space()),
            now: self.scene.now,
            seed: self.seed(job),
            asks,
            attempt: job.attempt,
        }
    }

    fn seed(&self, job: &Job) -> Seed {
        self.scene.seed.child(&alloc::format!("job-{:02x?}-{:?}", job.task.to_bytes(), self.account.space()))
    }

    fn ticket(&self, job: &Job, lease: u32) -> Result<Ticket, Stop> {
        let Space::Account(account) = self.account.space() else { return Err(queue::DAMAGED) };
        Ok(Ticket::Job { account, task: job.task.clone(), lease })
    }

    fn carry_out(&self, job: Job, answers: &[Answer]) -> Result<Vec<Send>, Stop> {
        let asks = AskedWork::of(answers);
        let work = self.work(&job, &asks);
        job.remove(self.account)?;
        let progress = perform(&work, &job.task)?;
        let now = self.scene.now;
        let (due, attempt, asked) = match progress {
            TaskOutcome::Done => return Ok(Vec::new()),
            TaskOutcome::More => (now, 0, false),
            TaskOutcome::At(at) => (at, 0, false),
            TaskOutcome::Later => {
                (now.plus_seconds(WAITS[(job.attempt as usize).min(WAITS.len() - 1)]), job.attempt + 1, false)
            }
            TaskOutcome::Waits => (now.plus_seconds(LEASE_SECONDS), job.attempt, true),
            TaskOutcome::WaitsFor(seconds) => (now.plus_seconds(seconds), job.attempt, true),
        };
        if !asked {
            // The run succeeded, so earlier faults are cleared.
            Job { due, attempt, standing: QueuePosition::Planned, faults: 0, error: None, ..job }
                .enter(self.account)?;
            return Ok(Vec::new());
        }
        let lease = work.seed.number("lease", 1..=u32::MAX);
        let ticket = self.ticket(&job, lease)?;
        Job { due, attempt, standing: QueuePosition::Asked(lease), ..job }.enter(self.account)?;
        Ok(asks.unanswered().into_iter().map(|work| Send { ticket: ticket.clone(), work }).collect())
    }
}

/// Gives up a task that was set aside, on the operator's request: its resource ends as failed, if it can be read.
pub(super) fn give_up(work: &TaskContext<'_>, task: &Task) -> Result<(), Stop> {
    // A resource that cannot be read stays as it is; the job is removed in any case.
    let _ = work.account.attempt(|| end(work, task, DROPPED))?;
    cancel(work.account, task)
}

/// Ends the task's resource as failed, with this reason if the resource shows one.
fn end(work: &TaskContext<'_>, task: &Task, reason: &str) -> Result<(), Stop> {
    match task {
        Task::Watch(count) | Task::Conclude(count) => call::give_up(work, *count),
        Task::Deliver(count) => webhook::give_up(work.account, *count),
        Task::Ingest(count) | Task::Index(count) => knowledge::give_up(work, *count, reason),
        Task::Import(count) => import::give_up(work, *count, reason),
        Task::Dial(count) => campaign::halt(work.account, *count, work.now),
        Task::EndConversation(count) => conversation::give_up(work, *count),
        Task::SettlePurchase { .. }
        | Task::Release(_)
        | Task::DropParts(..)
        | Task::DropLeads(_)
        | Task::CallOff { .. }
        | Task::SweepIdempotency
        | Task::SweepEvents
        | Task::DropPassages(..)
        | Task::Detach(..)
        | Task::DropRecordings(_)
        | Task::EraseAccount
        | Task::EmptyEvents(..)
        | Task::EmptyOldEvents { .. } => Ok(()),
    }
}

fn perform(work: &TaskContext<'_>, task: &Task) -> Result<TaskOutcome, Stop> {
    match task {
        Task::SettlePurchase { number, micros, claim } => number::settle_purchase(work, number, *micros, *claim),
        Task::Release(count) => number::settle_release(work, *count, campaign::lose_number),
        Task::DropParts(kind, count) => drop_parts(work.account, *kind, *count),
        Task::DropLeads(campaign) => crate::lead::drop_slice(work.account, *campaign, work.now),
        Task::SweepIdempotency => idempotency::sweep_all(work.account, work.now),
        Task::Watch(count) => call::watch(work, *count),
        Task::Conclude(count) => call::conclude(work, *count),
        Task::Deliver(count) => webhook::deliver(work, *count, call::answered_webhook),
        Task::SweepEvents => webhook::sweep(work.account, work.now),
        Task::Dial(count) => campaign::dial(work, *count),
        Task::CallOff { campaign, after } => campaign::call_off(work.account, *campaign, *after, work.now),
        Task::Ingest(count) => knowledge::ingest(work, *count),
        Task::Index(count) => knowledge::index(work, *count),
        Task::DropPassages(base, count) => knowledge::drop_passages(work, *base, *count),
        Task::Import(count) => import::slice(work, *count),
        Task::EndConversation(count) => conversation::conclude(work, *count),
        Task::DropRecordings(count) => call::recording::drop(work, *count),
        Task::Detach(kind, count) => detach(work, *kind, *count),
        Task::EraseAccount => super::erase::slice(work),
        Task::EmptyEvents(kind, count) => webhook::empty(work.account, (*kind, *count), work.now),
        Task::EmptyOldEvents { kind, count, from } => {
            webhook::empty_old(work.account, (*kind, *count), *from, work.now)
        }
    }
}

/// Continues a deletion whose request did not come back.
fn detach(work: &TaskContext<'_>, kind: Kind, count: u32) -> Result<TaskOutcome, Stop> {
    let done = match kind {
        Kind::Tool => tool::detach_all(work.account, count, work.now)?,
        Kind::Knowledgebase => knowledge::detach_all(work.account, count, work.now)?,
        Kind::Number => number::detach_all(work.account, count, work.now, campaign::lose_number)?,
        kind => match folder::of(kind) {
            Some(grouping) => grouping.detach_all(work.account, count, work.now)?,
            None => return Err(queue::DAMAGED),
        },
    };
    Ok(if done { TaskOutcome::Done } else { TaskOutcome::More })
}

fn drop_parts(account: Scope<'_>, kind: Kind, count: u32) -> Result<TaskOutcome, Stop> {
    let parts = if kind == Kind::Call {
        account.scan(key::call_events(account.space(), count, 0), Order::Ascending, SLICE_ROWS)?
    } else {
        // One part is up to a mebibyte: few at a time keep a slice short.
        account.scan(key::parts(account.space(), kind, count), Order::Ascending, SLICE_ROWS / 32)?
    };
    let done = parts.is_empty();
    for (key, _) in parts {
        account.delete(key)?;
    }
    Ok(if done { TaskOutcome::Done } else { TaskOutcome::More })
}
