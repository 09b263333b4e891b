//! Durable work: rows written in the same commit as what caused them, done when they are due.
//!
//! [`tick`] takes a few due jobs; a job that asks for something outside is leased while it waits, and runs
//! again from its start with the answers. A host that dies leaves the lease to lapse: at least once.

use alloc::vec::Vec;

use crate::key::{self, Kind, Space};
use crate::limits::{JOBS_PER_TICK, SLICE_ROWS};
use crate::output::{Answer, Asks, Output, Send, Ticket};
use crate::service::Service;
use crate::store::{Scope, Tx};
use crate::time::Timestamp;
use crate::view::{Order, Scene, Stop};
use crate::{http::idempotency, number};

/// How long an asking job is left alone, seconds.
const LEASE_SECONDS: u64 = 60;
/// Waits between tries, seconds; the last one repeats.
const WAITS: [u64; 5] = [60, 300, 1_800, 7_200, 21_600];

/// What there is to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Find out what an unanswered purchase came to.
    SettlePurchase {
        /// The number.
        number: alloc::string::String,
        /// What was taken off the balance, millionths of a dollar.
        micros: i64,
        /// Which purchase.
        claim: u32,
    },
    /// Give a number back, by its count.
    Release(u32),
    /// Delete the parts of something large, by kind and count.
    DropParts(Kind, u32),
    /// Delete the leads of a campaign that is gone, by its count.
    DropLeads(u32),
    /// Forget idempotency keys.
    SweepIdempotency,
}

/// A task of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Job {
    account: u32,
    due: Timestamp,
    attempt: u32,
    task: Task,
}

/// What a task came to.
pub enum Progress {
    /// There is nothing left to do.
    Done,
    /// There is more to do at once.
    More,
    /// It waits for what it asked.
    Waits,
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
    pub seed: crate::seed::Seed,
    /// What it asks for.
    pub asks: &'a Asks<'a>,
}

/// Plans a task of an account for `at`, which may be `now`.
pub fn add(account: Scope<'_>, now: Timestamp, at: Timestamp, task: Task) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Err(Stop::Corrupt("a job belongs to an account")) };
    let root = account.other(Space::Root);
    let (count, _) = root.allot(Kind::Job, now)?;
    save(root, count, &Job { account: number, due: at, attempt: 0, task })
}

fn save(root: Scope<'_>, count: u32, job: &Job) -> Result<(), Stop> {
    root.put(key::due(job.due, count), Vec::new())?;
    root.put(key::row(Space::Root, Kind::Job, count), job.to_bytes())
}

fn drop(root: Scope<'_>, count: u32, job: &Job) -> Result<(), Stop> {
    root.delete(key::due(job.due, count))?;
    root.delete(key::row(Space::Root, Kind::Job, count))
}

fn find(root: Scope<'_>, count: u32) -> Result<Option<Job>, Stop> {
    let Some(bytes) = root.get(key::row(Space::Root, Kind::Job, count))? else { return Ok(None) };
    Job::from_bytes(&bytes).map(Some).ok_or(Stop::Corrupt("a job has an unknown form"))
}

/// Does what is due.
pub fn tick(service: &Service, scene: &Scene<'_>) -> Result<Output, Stop> {
    let tx = Tx::new(scene.view);
    let root = tx.scope(Space::Root);
    let mut sends = Vec::new();
    for (at, _) in root.scan(key::jobs(), Order::Ascending, JOBS_PER_TICK)? {
        let (due, count) = key::read_due(&at).ok_or(Stop::Corrupt("a job's key has an unknown form"))?;
        if due > scene.now {
            break;
        }
        let Some(job) = find(root, count)? else {
            root.delete(at)?;
            continue;
        };
        sends.extend(run(service, scene, &tx, count, job, &[])?);
    }
    finish(&tx, sends)
}

/// Goes on with a job whose question was answered.
pub fn answered(service: &Service, scene: &Scene<'_>, ticket: Ticket, answer: &Answer) -> Result<Output, Stop> {
    let tx = Tx::new(scene.view);
    let Ticket::Job { job: count, attempt } = ticket else { return Ok(Output::default()) };
    let sends = match find(tx.scope(Space::Root), count)? {
        // An answer that comes after its lease is too late: another try is under way.
        Some(job) if job.attempt == attempt => run(service, scene, &tx, count, job, core::slice::from_ref(answer))?,
        _ => Vec::new(),
    };
    finish(&tx, sends)
}

fn finish(tx: &Tx<'_>, sends: Vec<Send>) -> Result<Output, Stop> {
    let next = tx.scope(Space::Root).scan(key::jobs(), Order::Ascending, 1)?;
    let wake = next.first().and_then(|(at, _)| key::read_due(at)).map(|(due, _)| due);
    Ok(Output { changes: tx.changes(), sends, wake, ..Output::default() })
}

fn run(
    service: &Service,
    scene: &Scene<'_>,
    tx: &Tx<'_>,
    count: u32,
    job: Job,
    answers: &[Answer],
) -> Result<Vec<Send>, Stop> {
    let root = tx.scope(Space::Root);
    let asks = Asks::of(answers);
    let seed = scene.seed.child(&alloc::format!("job-{count}"));
    let work = Work { service, account: tx.scope(Space::Account(job.account)), now: scene.now, seed, asks: &asks };
    let progress = perform(&work, &job.task)?;
    drop(root, count, &job)?;
    let wait = WAITS[(job.attempt as usize).min(WAITS.len() - 1)];
    let (due, attempt) = match progress {
        Progress::Done => return Ok(Vec::new()),
        Progress::More => (scene.now, 0),
        Progress::At(at) => (at, 0),
        Progress::Later => (scene.now.plus_seconds(wait), job.attempt + 1),
        Progress::Waits => (scene.now.plus_seconds(LEASE_SECONDS), job.attempt + 1),
    };
    save(root, count, &Job { due, attempt, ..job })?;
    let ticket = Ticket::Job { job: count, attempt };
    Ok(asks.sends().into_iter().map(|send| Send { ticket, ..send }).collect())
}

fn perform(work: &Work<'_>, task: &Task) -> Result<Progress, Stop> {
    match task {
        Task::SettlePurchase { number, micros, claim } => number::settle_purchase(work, number, *micros, *claim),
        Task::Release(count) => number::settle_release(work, *count),
        Task::DropParts(kind, count) => drop_parts(work.account, *kind, *count),
        Task::DropLeads(campaign) => crate::lead::drop_slice(work.account, *campaign),
        Task::SweepIdempotency => idempotency::sweep_all(work.account, work.now),
    }
}

fn drop_parts(account: Scope<'_>, kind: Kind, count: u32) -> Result<Progress, Stop> {
    // One part is up to a mebibyte: few at a time keep a slice short.
    let parts = account.scan(key::parts(account.space(), kind, count), Order::Ascending, SLICE_ROWS / 32)?;
    let done = parts.is_empty();
    for (key, _) in parts {
        account.delete(key)?;
    }
    Ok(if done { Progress::Done } else { Progress::More })
}

impl Job {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&self.account.to_le_bytes());
        bytes.extend_from_slice(&self.due.micros().to_le_bytes());
        bytes.extend_from_slice(&self.attempt.to_le_bytes());
        match &self.task {
            Task::SettlePurchase { number, micros, claim } => {
                bytes.push(1);
                bytes.extend_from_slice(&micros.to_le_bytes());
                bytes.extend_from_slice(&claim.to_le_bytes());
                bytes.extend_from_slice(number.as_bytes());
            }
            Task::Release(count) => {
                bytes.push(2);
                bytes.extend_from_slice(&count.to_le_bytes());
            }
            Task::DropParts(kind, count) => {
                bytes.extend_from_slice(&[3, *kind as u8]);
                bytes.extend_from_slice(&count.to_le_bytes());
            }
            Task::DropLeads(count) => {
                bytes.push(4);
                bytes.extend_from_slice(&count.to_le_bytes());
            }
            Task::SweepIdempotency => bytes.push(5),
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let due = Timestamp::from_micros(u64::from_le_bytes(bytes.get(4..12)?.try_into().ok()?));
        let task = match bytes.get(16)? {
            1 => {
                let micros = i64::from_le_bytes(bytes.get(17..25)?.try_into().ok()?);
                let phone = core::str::from_utf8(bytes.get(29..)?).ok()?.into();
                Task::SettlePurchase { number: phone, micros, claim: number(25)? }
            }
            2 => Task::Release(number(17)?),
            3 => Task::DropParts(Kind::from_u8(*bytes.get(17)?)?, number(18)?),
            4 => Task::DropLeads(number(17)?),
            5 => Task::SweepIdempotency,
            _ => return None,
        };
        Some(Self { account: number(0)?, due, attempt: number(12)?, task })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_read_back() {
        let tasks = [
            Task::SettlePurchase { number: "+1".into(), micros: -5, claim: 8 },
            Task::Release(7),
            Task::DropParts(Kind::Document, 9),
            Task::DropLeads(1),
            Task::SweepIdempotency,
        ];
        for task in tasks {
            let job = Job { account: 3, due: Timestamp::from_seconds(9), attempt: 2, task };
            assert_eq!(Job::from_bytes(&job.to_bytes()), Some(job));
        }
        assert_eq!(Job::from_bytes(&[0; 17]), None);
    }
}
