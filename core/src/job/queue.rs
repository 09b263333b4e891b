//! The rows of the queue: each account's tasks by lane and time, and in the root the accounts by time.

use alloc::vec::Vec;

use super::task::{Lane, Task};
use crate::account::root;
use crate::key::{self, Space};
use crate::limits::ASKING_MAX;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

pub(super) const DAMAGED: Stop = Stop::Corrupt("a job has an unknown form");

/// A planned task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub task: Task,
    pub due: Timestamp,
    /// Tries that came to nothing.
    pub attempt: u32,
    /// Which question it waits for; 0 while it waits for none.
    pub lease: u32,
}

/// Plans a task of an account for `at`, which may be `now`. A task that is planned already is moved to the
/// earlier time; one that waits for an answer runs when that comes.
pub fn add(account: Scope<'_>, at: Timestamp, task: Task) -> Result<(), Stop> {
    add_all(account, at, Vec::from([task]))
}

/// Plans several tasks for the same time.
pub fn add_all(account: Scope<'_>, at: Timestamp, tasks: Vec<Task>) -> Result<(), Stop> {
    let mut lanes = Vec::new();
    for task in tasks {
        let known = Job::find(account, &task)?;
        if known.as_ref().is_some_and(|job| job.lease != 0 || job.due <= at) {
            continue;
        }
        if let Some(job) = &known {
            job.remove(account)?;
        }
        lanes.push(task.lane());
        Job { task, due: at, attempt: known.map_or(0, |job| job.attempt), lease: 0 }.put(account)?;
    }
    if lanes.is_empty() {
        return Ok(());
    }
    // Most tasks are due after others: then the account's next times stay as they are.
    let head = account.get(key::due_head(account.space()))?.unwrap_or_default();
    if lanes.iter().any(|lane| next_of(&head, *lane).is_none_or(|next| at < next)) { sync(account) } else { Ok(()) }
}

/// Strikes a task out.
pub fn cancel(account: Scope<'_>, task: &Task) -> Result<(), Stop> {
    if let Some(job) = Job::find(account, task)? {
        job.remove(account)?;
        sync(account)?;
    }
    Ok(())
}

impl Job {
    /// A task's row.
    pub fn find(account: Scope<'_>, task: &Task) -> Result<Option<Self>, Stop> {
        let Some(bytes) = account.get(key::job(account.space(), &task.to_bytes()))? else { return Ok(None) };
        Self::read(task.clone(), &bytes).map(Some).ok_or(DAMAGED)
    }

    fn read(task: Task, bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let due = Timestamp::from_micros(u64::from_le_bytes(bytes.get(..8)?.try_into().ok()?));
        Some(Self { task, due, attempt: number(8)?, lease: number(12)? })
    }

    fn lane(&self) -> Lane {
        if self.lease == 0 { self.task.lane() } else { Lane::Leased }
    }

    /// Takes it out of the queue.
    pub fn remove(&self, account: Scope<'_>) -> Result<(), Stop> {
        let task = self.task.to_bytes();
        account.delete(key::due(account.space(), self.lane() as u8, self.due, &task))?;
        account.delete(key::job(account.space(), &task))
    }

    /// Puts it into the queue; what was planned for the task meanwhile stays, if it is earlier.
    pub fn enter(mut self, account: Scope<'_>) -> Result<(), Stop> {
        if let Some(planned) = Self::find(account, &self.task)? {
            planned.remove(account)?;
            if self.lease == 0 {
                self.due = self.due.min(planned.due);
            }
        }
        self.put(account)
    }

    fn put(&self, account: Scope<'_>) -> Result<(), Stop> {
        let task = self.task.to_bytes();
        let row =
            [&self.due.micros().to_le_bytes()[..], &self.attempt.to_le_bytes(), &self.lease.to_le_bytes()].concat();
        account.put(key::due(account.space(), self.lane() as u8, self.due, &task), Vec::new())?;
        account.put(key::job(account.space(), &task), row)
    }
}

/// The tasks of a lane that are due, the earliest first, at most `most`.
pub(super) fn due(account: Scope<'_>, lane: Lane, now: Timestamp, most: usize) -> Result<Vec<Job>, Stop> {
    let mut jobs = Vec::new();
    for (at, _) in account.scan(key::dues(account.space(), lane as u8), Order::Ascending, most)? {
        let (due, task) = key::read_due(&at).ok_or(DAMAGED)?;
        if due > now {
            break;
        }
        let task = Task::from_bytes(task).ok_or(DAMAGED)?;
        match Job::find(account, &task)? {
            Some(job) => jobs.push(job),
            None => account.delete(at)?,
        }
    }
    Ok(jobs)
}

/// How many more questions an account may have under way.
pub(super) fn room(account: Scope<'_>) -> Result<usize, Stop> {
    let leased = account.scan(key::dues(account.space(), Lane::Leased as u8), Order::Ascending, ASKING_MAX)?;
    Ok(ASKING_MAX - leased.len())
}

/// When a lane is next due, as its account's head says.
fn next_of(head: &[u8], lane: Lane) -> Option<Timestamp> {
    let bytes = head.get(lane as usize * 8..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes)).filter(|micros| *micros != u64::MAX).map(Timestamp::from_micros)
}

/// Enters the account's next times in the root. An account with too many questions under way waits in the
/// asking lane until an answer comes, or a lease lapses.
pub(super) fn sync(account: Scope<'_>) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Err(Stop::Corrupt("a job belongs to an account")) };
    let head = key::due_head(account.space());
    let old = account.get(head.clone())?.unwrap_or_default();
    let mut new = Vec::with_capacity(8 * Lane::ALL.len());
    for lane in Lane::ALL {
        let first = account.scan(key::dues(account.space(), lane as u8), Order::Ascending, 1)?;
        let mut next = first.first().and_then(|(at, _)| key::read_due(at)).map(|(due, _)| due);
        if lane == Lane::Asking && next.is_some() && room(account)? == 0 {
            next = None;
        }
        new.extend_from_slice(&next.map_or(u64::MAX, Timestamp::micros).to_be_bytes());
        let before = next_of(&old, lane);
        if before != next {
            root::replan(account, number, lane as u8, before, next)?;
        }
    }
    if new == old { Ok(()) } else { account.put(head, new) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;
    use crate::store::Tx;
    use proptest::prelude::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    #[test]
    fn a_task_planned_twice_is_one_and_the_earlier_time_wins() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let account = tx.scope(Space::Account(3));
        for seconds in [50, 90, 20, 70] {
            add(account, at(seconds), Task::Dial(1)).expect("sound");
        }
        add(account, at(30), Task::Dial(2)).expect("sound");
        let planned = due(account, Lane::Quick, at(100), 10).expect("sound");
        assert_eq!(planned.iter().map(|job| job.due).collect::<Vec<_>>(), [at(20), at(30)]);
        let roots = tx.scope(Space::Root).scan(key::due_accounts(), Order::Ascending, 10).expect("sound");
        assert_eq!(
            roots.iter().filter_map(|(key, _)| key::read_due_account(key)).collect::<Vec<_>>(),
            [(at(20), 3, 0)]
        );
        cancel(account, &Task::Dial(1)).expect("sound");
        cancel(account, &Task::Dial(2)).expect("sound");
        let roots = tx.scope(Space::Root).scan(key::due_accounts(), Order::Ascending, 10).expect("sound");
        assert!(roots.is_empty());
    }

    proptest! {
        #[test]
        fn the_next_times_are_those_of_the_tasks(
            acts in prop::collection::vec((0_u32..4, 0_usize..3, prop::option::of(0_u64..20)), 1..40),
        ) {
            let memory = Memory::default();
            let tx = Tx::new(&memory);
            let account = tx.scope(Space::Account(0));
            let roots = || tx.scope(Space::Root).scan(key::due_accounts(), Order::Ascending, 10);
            for (count, lane, due) in acts {
                let task = [Task::Watch(count), Task::Deliver(count), Task::Import(count)][lane].clone();
                match due {
                    Some(due) => add(account, at(due), task),
                    None => cancel(account, &task),
                }.expect("sound");
                let told = roots();
                sync(account).expect("sound");
                prop_assert_eq!(told, roots());
            }
        }
    }

    #[test]
    fn an_account_that_asks_too_much_waits_in_its_own_lane() {
        let memory = Memory::default();
        let tx = Tx::new(&memory);
        let account = tx.scope(Space::Account(0));
        for count in 0..40 {
            let lease = u32::from(count < 32);
            Job { task: Task::Deliver(count), due: at(10), attempt: 0, lease }.enter(account).expect("sound");
        }
        add(account, at(10), Task::Dial(1)).expect("sound");
        let lanes = || {
            let roots = tx.scope(Space::Root).scan(key::due_accounts(), Order::Ascending, 10).expect("sound");
            roots.iter().filter_map(|(key, _)| Some(key::read_due_account(key)?.2)).collect::<Vec<_>>()
        };
        assert_eq!(lanes(), [Lane::Quick as u8, Lane::Leased as u8]);
        Job::find(account, &Task::Deliver(0)).expect("sound").expect("planned").remove(account).expect("sound");
        sync(account).expect("sound");
        assert_eq!(lanes(), [Lane::Quick as u8, Lane::Asking as u8, Lane::Leased as u8]);
    }
}
