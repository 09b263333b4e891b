//! Durable work: rows written in the same commit as what caused them, done when they are due.
//!
//! [`tick`] takes a few due tasks of a few accounts; a task that asks for something outside is leased while
//! it waits, and runs again from its start with the answer. A host that dies leaves the lease to lapse: at
//! least once. Each account has lanes of its own, so that neither its slow work nor a neighbour's waits for
//! what hangs.

mod queue;
mod task;

use alloc::vec::Vec;

pub use queue::{add, add_all, cancel};
pub use task::{Lane, Task};

use crate::account::root;
use crate::key::{self, Kind, Space};
use crate::limits::{ACCOUNTS_PER_TICK, JOBS_PER_TURN, SLICE_ROWS};
use crate::output::{Answer, Asks, Output, Send, Ticket};
use crate::seed::Seed;
use crate::service::Service;
use crate::store::{Scope, Tx};
use crate::time::Timestamp;
use crate::view::{Order, Scene, Stop};
use crate::{call, campaign, http::idempotency, import, knowledge, number, tool, webhook};
use queue::Job;

/// How long an asking task is left alone, seconds: longer than any send takes.
const LEASE_SECONDS: u64 = 90;
/// Waits between tries, seconds; the last one repeats.
const WAITS: [u64; 5] = [60, 300, 1_800, 7_200, 21_600];

/// What a task came to.
pub enum Progress {
    /// There is nothing left to do.
    Done,
    /// There is more to do at once.
    More,
    /// It waits for what it asked.
    Waits,
    /// It waits for what it asked, which may take so many seconds.
    WaitsFor(u64),
    /// It is tried again later.
    Later,
    /// It is next due then.
    At(Timestamp),
}

/// What a task works with.
pub struct Work<'a> {
    /// The service.
    pub service: &'a Service,
    /// The account that the task belongs to.
    pub account: Scope<'a>,
    /// The time.
    pub now: Timestamp,
    /// Randomness of this task.
    pub seed: Seed,
    /// What it asks for.
    pub asks: &'a Asks<'a>,
    /// Tries that came to nothing.
    pub attempt: u32,
}

/// Does what is due.
pub fn tick(service: &Service, scene: &Scene<'_>) -> Result<Output, Stop> {
    let tx = Tx::new(scene.view);
    let root = tx.scope(Space::Root);
    let mut sends = Vec::new();
    for (at, _) in root.scan(key::due_accounts(), Order::Ascending, ACCOUNTS_PER_TICK)? {
        let (due, account, lane) = key::read_due_account(&at).ok_or(queue::DAMAGED)?;
        if due > scene.now {
            break;
        }
        let lane = Lane::from_u8(lane).ok_or(queue::DAMAGED)?;
        let turn = Turn { service, scene, tx: &tx, account: root::space_of(root, account) };
        sends.extend(turn.lane(lane)?);
        // A slice may be a millisecond's work: what waits behind it gets its turn first.
        if lane == Lane::Slice {
            break;
        }
    }
    finish(&tx, sends)
}

/// Goes on with a task whose question was answered.
pub fn answered(service: &Service, scene: &Scene<'_>, ticket: &Ticket, answer: &Answer) -> Result<Output, Stop> {
    let tx = Tx::new(scene.view);
    let Ticket::Job { account, task, lease } = ticket else { return Ok(Output::default()) };
    let turn = Turn { service, scene, tx: &tx, account: tx.scope(Space::Account(*account)) };
    let sends = match Job::find(turn.account, task)? {
        // An answer that comes after its lease is too late: another try is under way.
        Some(job) if job.lease == *lease && *lease != 0 => turn.run(job, core::slice::from_ref(answer))?,
        _ => Vec::new(),
    };
    queue::sync(turn.account)?;
    finish(&tx, sends)
}

fn finish(tx: &Tx<'_>, sends: Vec<Send>) -> Result<Output, Stop> {
    let next = tx.scope(Space::Root).scan(key::due_accounts(), Order::Ascending, 1)?;
    let wake = next.first().and_then(|(at, _)| key::read_due_account(at)).map(|(due, ..)| due);
    Ok(Output { changes: tx.changes(), sends, wake, ..Output::default() })
}

/// One account's turn.
struct Turn<'a> {
    service: &'a Service,
    scene: &'a Scene<'a>,
    tx: &'a Tx<'a>,
    account: Scope<'a>,
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
            sends.extend(self.run(job, &[])?);
        }
        queue::sync(self.account)?;
        Ok(sends)
    }

    fn run(&self, job: Job, answers: &[Answer]) -> Result<Vec<Send>, Stop> {
        let asks = Asks::of(answers);
        let seed =
            self.scene.seed.child(&alloc::format!("job-{:02x?}-{:?}", job.task.to_bytes(), self.account.space()));
        let work = Work {
            service: self.service,
            account: self.tx.scope(self.account.space()),
            now: self.scene.now,
            seed,
            asks: &asks,
            attempt: job.attempt,
        };
        job.remove(self.account)?;
        let progress = perform(&work, &job.task)?;
        let now = self.scene.now;
        let (due, attempt, lease) = match progress {
            Progress::Done => return Ok(Vec::new()),
            Progress::More => (now, 0, 0),
            Progress::At(at) => (at, 0, 0),
            Progress::Later => {
                (now.plus_seconds(WAITS[(job.attempt as usize).min(WAITS.len() - 1)]), job.attempt + 1, 0)
            }
            Progress::Waits => (now.plus_seconds(LEASE_SECONDS), job.attempt, seed.number("lease", 1..=u32::MAX)),
            Progress::WaitsFor(seconds) => (now.plus_seconds(seconds), job.attempt, seed.number("lease", 1..=u32::MAX)),
        };
        let Space::Account(account) = self.account.space() else { return Err(queue::DAMAGED) };
        let ticket = Ticket::Job { account, task: job.task.clone(), lease };
        Job { due, attempt, lease, ..job }.enter(self.account)?;
        Ok(asks.sends().into_iter().map(|send| Send { ticket: ticket.clone(), ..send }).collect())
    }
}

fn perform(work: &Work<'_>, task: &Task) -> Result<Progress, Stop> {
    match task {
        Task::SettlePurchase { number, micros, claim } => number::settle_purchase(work, number, *micros, *claim),
        Task::Release(count) => number::settle_release(work, *count),
        Task::DropParts(kind, count) => drop_parts(work.account, *kind, *count),
        Task::DropLeads(campaign) => crate::lead::drop_slice(work.account, *campaign, work.now),
        Task::SweepIdempotency => idempotency::sweep_all(work.account, work.now),
        Task::Watch(count) => call::watch(work, *count),
        Task::Conclude(count) => call::conclude(work, *count),
        Task::Deliver(count) => webhook::deliver(work, *count),
        Task::SweepEvents => webhook::sweep(work.account, work.now),
        Task::Dial(count) => campaign::dial(work, *count),
        Task::Ingest(count) => knowledge::ingest(work, *count),
        Task::Index(count) => knowledge::index(work, *count),
        Task::DropPassages(base, count) => knowledge::drop_passages(work, *base, *count),
        Task::Import(count) => import::slice(work, *count),
        Task::Detach(kind, count) => detach(work, *kind, *count),
        Task::EmptyEvents(kind, count) => webhook::empty(work.account, (*kind, *count), work.now),
        Task::EmptyOldEvents { kind, count, from } => {
            webhook::empty_old(work.account, (*kind, *count), *from, work.now)
        }
    }
}

/// Goes on with a deletion whose request did not come back.
fn detach(work: &Work<'_>, kind: Kind, count: u32) -> Result<Progress, Stop> {
    let done = match kind {
        Kind::Tool => tool::detach_all(work.account, count, work.now)?,
        Kind::Knowledgebase => knowledge::detach_all(work.account, count, work.now)?,
        Kind::Number => number::detach_all(work.account, count, work.now)?,
        _ => return Err(queue::DAMAGED),
    };
    Ok(if done { Progress::Done } else { Progress::More })
}

fn drop_parts(account: Scope<'_>, kind: Kind, count: u32) -> Result<Progress, Stop> {
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
    Ok(if done { Progress::Done } else { Progress::More })
}
