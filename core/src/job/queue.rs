//! Rows of the queue: each account's tasks by lane and due time, and in the root space the accounts by next due time.
//!
//! An unreadable row never blocks others: it is removed from its lane, and set aside if it holds a task's bytes.

use alloc::string::String;
use alloc::vec::Vec;

use super::aside;
use super::task::{Lane, Task};
use crate::key;
use crate::limits::ASKING_MAX;
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

pub(crate) const DAMAGED: Stop = Stop::Corrupt("a job has an unknown form");
/// Longest error text stored with a job, bytes.
const ERROR_BYTES_MAX: usize = 255;

/// Position of a job in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueuePosition {
    /// Waiting in the lane of its task.
    Planned,
    /// Waiting for the answer to the question with this lease number.
    Asked(u32),
    /// Started on its own under this lease number, and not finished yet.
    Trial(u32),
    /// Set aside. Holds the count of its row in the root space.
    Aside(u32),
}

/// A scheduled task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub task: Task,
    pub due: Timestamp,
    /// Failed tries, as counted by the task itself: selects the backoff.
    pub attempt: u32,
    pub standing: QueuePosition,
    /// When it was scheduled; moving it to an earlier time resets it.
    pub created_at: Timestamp,
    /// Runs in a row that stopped, panicked or were never answered.
    pub faults: u32,
    /// Error of the last fault; `None` if there has been none since the last success.
    pub error: Option<String>,
}

/// Schedules a task of an account for `at`, which may be now. A task that is already scheduled is moved to the earlier
/// time. A task that waits for an answer, is backing off after a fault or was set aside is left as it is.
pub fn add(account: Scope<'_>, at: Timestamp, task: Task) -> Result<(), Stop> {
    add_all(account, at, Vec::from([task]))
}

/// Schedules several tasks for the same time; see [`add`].
pub fn add_all(account: Scope<'_>, at: Timestamp, tasks: Vec<Task>) -> Result<(), Stop> {
    let mut lanes = Vec::new();
    for task in tasks {
        let known = Job::find(account, &task)?;
        if known.as_ref().is_some_and(|job| job.standing != QueuePosition::Planned || job.faults > 0 || job.due <= at) {
            continue;
        }
        if let Some(job) = &known {
            job.remove(account)?;
        }
        lanes.push(task.lane());
        let new = Job::new(task, at, account.now());
        Job { attempt: known.as_ref().map_or(0, |job| job.attempt), ..new }.put(account)?;
    }
    if lanes.is_empty() {
        return Ok(());
    }
    // Most new tasks are due after existing ones and leave the account's next due times unchanged.
    let head = account.get(key::due_head(account.space()))?.unwrap_or_default();
    if lanes.iter().any(|lane| next_of(&head, *lane).is_none_or(|next| at < next)) { sync(account) } else { Ok(()) }
}

/// Removes a task, whatever its state.
pub fn cancel(account: Scope<'_>, task: &Task) -> Result<(), Stop> {
    if let Some(job) = Job::find(account, task)? {
        job.remove(account)?;
        if let QueuePosition::Aside(count) = job.standing {
            aside::forget(account, count)?;
        }
        sync(account)?;
    }
    Ok(())
}

/// Returns whether a task is scheduled, whatever its state.
pub fn is_planned(account: Scope<'_>, task: &Task) -> Result<bool, Stop> {
    Ok(Job::find(account, task)?.is_some())
}

/// Returns whether a task whose stored bytes begin like this is scheduled.
pub fn is_any_planned(account: Scope<'_>, prefix: &[u8]) -> Result<bool, Stop> {
    let first = account.scan(key::jobs_from(account.space(), prefix), Order::Ascending, 1)?;
    Ok(first.first().is_some_and(|(at, _)| key::read_job(at).starts_with(prefix)))
}

impl Job {
    /// Returns a job for a task that is scheduled for the first time.
    pub fn new(task: Task, due: Timestamp, created_at: Timestamp) -> Self {
        Self { task, due, attempt: 0, standing: QueuePosition::Planned, created_at, faults: 0, error: None }
    }

    /// Returns the job of a task; an unreadable row counts as none.
    pub fn find(account: Scope<'_>, task: &Task) -> Result<Option<Self>, Stop> {
        let bytes = account.get(key::job(account.space(), &task.to_bytes()))?;
        Ok(bytes.and_then(|bytes| Self::read(task.clone(), &bytes)))
    }

    /// Reads a stored row. Bytes: due (8) · attempt (4) · lease (4) · standing (1) · created at (8) · faults (4) ·
    /// error. Rows of the oldest format end after the lease.
    fn read(task: Task, bytes: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let time =
            |at: usize| Some(Timestamp::from_micros(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?)));
        let (due, lease) = (time(0)?, number(12)?);
        let standing = match bytes.get(16).copied().unwrap_or(0) {
            0 if lease == 0 => QueuePosition::Planned,
            0 => QueuePosition::Asked(lease),
            1 => QueuePosition::Trial(lease),
            2 => QueuePosition::Aside(lease),
            _ => return None,
        };
        let error = bytes.get(29..).filter(|error| !error.is_empty());
        Some(Self {
            task,
            due,
            attempt: number(8)?,
            standing,
            created_at: time(17).unwrap_or(due),
            faults: number(25).unwrap_or(0),
            error: error.map(|error| String::from_utf8_lossy(error).into_owned()),
        })
    }

    fn to_bytes(&self) -> Vec<u8> {
        let (standing, lease) = match self.standing {
            QueuePosition::Planned => (0, 0),
            QueuePosition::Asked(lease) => (0, lease),
            QueuePosition::Trial(lease) => (1, lease),
            QueuePosition::Aside(count) => (2, count),
        };
        let error = self.error.as_deref().unwrap_or_default();
        let error = &error[..error.floor_char_boundary(ERROR_BYTES_MAX)];
        [
            &self.due.micros().to_le_bytes()[..],
            &self.attempt.to_le_bytes(),
            &lease.to_le_bytes(),
            &[standing],
            &self.created_at.micros().to_le_bytes(),
            &self.faults.to_le_bytes(),
            error.as_bytes(),
        ]
        .concat()
    }

    /// Returns the lane in which it waits; `None` once it was set aside.
    fn lane(&self) -> Option<Lane> {
        match self.standing {
            QueuePosition::Planned => Some(self.task.lane()),
            QueuePosition::Asked(_) | QueuePosition::Trial(_) => Some(Lane::Leased),
            QueuePosition::Aside(_) => None,
        }
    }

    /// Deletes its rows from the queue.
    pub fn remove(&self, account: Scope<'_>) -> Result<(), Stop> {
        let task = self.task.to_bytes();
        if let Some(lane) = self.lane() {
            account.delete(key::due(account.space(), lane as u8, self.due, &task))?;
        }
        account.delete(key::job(account.space(), &task))
    }

    /// Puts it into the queue; if the task was scheduled again in the meantime, the earlier due time is kept.
    pub fn enter(mut self, account: Scope<'_>) -> Result<(), Stop> {
        if let Some(planned) = Self::find(account, &self.task)? {
            planned.remove(account)?;
            if self.standing == QueuePosition::Planned {
                self.due = self.due.min(planned.due);
            }
        }
        self.put(account)
    }

    /// Writes its rows.
    pub fn put(&self, account: Scope<'_>) -> Result<(), Stop> {
        let task = self.task.to_bytes();
        if let Some(lane) = self.lane() {
            account.put(key::due(account.space(), lane as u8, self.due, &task), Vec::new())?;
        }
        account.put(key::job(account.space(), &task), self.to_bytes())
    }
}

/// Removes the jobs of an account whose stored bytes sort from `from` on, at most `most`, except for those that `keep`
/// names; returns whether none is left.
pub(crate) fn clear(account: Scope<'_>, from: &[u8], most: usize, keep: impl Fn(&Task) -> bool) -> Result<bool, Stop> {
    let found = account.scan(key::jobs_from(account.space(), from), Order::Ascending, most)?;
    let is_last = found.len() < most;
    let mut kept = 0;
    for (at, _) in &found {
        let bytes = key::read_job(at);
        match Task::from_bytes(bytes) {
            Some(task) if keep(&task) => kept += 1,
            Some(task) => cancel(account, &task)?,
            None => aside::drop_unknown(account, bytes)?,
        }
    }
    Ok(is_last || kept == most)
}

/// Returns at most `most` due tasks of a lane, earliest first; stale and unreadable rows are removed on the way.
pub(crate) fn due(account: Scope<'_>, lane: Lane, now: Timestamp, most: usize) -> Result<Vec<Job>, Stop> {
    let mut jobs = Vec::new();
    for (at, _) in account.scan(key::dues(account.space(), lane as u8), Order::Ascending, most)? {
        let Some((due, bytes)) = key::read_due(&at) else {
            account.delete(at)?;
            continue;
        };
        if due > now {
            break;
        }
        let Some(task) = Task::from_bytes(bytes) else {
            aside::unknown(account, due, bytes)?;
            account.delete(at)?;
            continue;
        };
        match account.get(key::job(account.space(), bytes))? {
            Some(row) => match Job::read(task.clone(), &row) {
                Some(job) if job.lane() == Some(lane) && job.due == due => jobs.push(job),
                // The job has moved to another lane or time.
                Some(_) => account.delete(at)?,
                // Its row is unreadable, so it starts afresh.
                None => {
                    let job = Job::new(task, due, now);
                    account.delete(at)?;
                    job.put(account)?;
                    jobs.push(job);
                }
            },
            None => account.delete(at)?,
        }
    }
    Ok(jobs)
}

/// Returns at most `most` tasks of a lane, due or not; unreadable rows are skipped.
pub(crate) fn planned(account: Scope<'_>, lane: Lane, most: usize) -> Result<Vec<Job>, Stop> {
    let mut jobs = Vec::new();
    for (at, _) in account.scan(key::dues(account.space(), lane as u8), Order::Ascending, most)? {
        if let Some(task) = key::read_due(&at).and_then(|(_, bytes)| Task::from_bytes(bytes)) {
            jobs.extend(Job::find(account, &task)?);
        }
    }
    Ok(jobs)
}

/// Returns how many more questions an account may have in flight.
pub(crate) fn room(account: Scope<'_>) -> Result<usize, Stop> {
    let leased = account.scan(key::dues(account.space(), Lane::Leased as u8), Order::Ascending, ASKING_MAX)?;
    Ok(ASKING_MAX - leased.len())
}

/// Returns when a lane is next due, from the account's head row: a big-endian `u64` of microseconds per lane.
fn next_of(head: &[u8], lane: Lane) -> Option<Timestamp> {
    let bytes = head.get(lane as usize * 8..)?.first_chunk()?;
    Some(u64::from_be_bytes(*bytes)).filter(|micros| *micros != u64::MAX).map(Timestamp::from_micros)
}

/// Returns whether the account's head says that the lane is next due at `at`; if not, the root key is stale.
pub(crate) fn is_next(account: Scope<'_>, lane: Lane, at: Timestamp) -> Result<bool, Stop> {
    let head = account.get(key::due_head(account.space()))?.unwrap_or_default();
    Ok(next_of(&head, lane) == Some(at))
}

/// Updates the account's next due times in the root space. With too many questions in flight, the asking lane is left
/// out until an answer arrives or a lease expires.
pub(crate) fn sync(account: Scope<'_>) -> Result<(), Stop> {
    let number = account.account_number()?;
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
    if new == old {
        Ok(())
    } else if new.iter().all(|byte| *byte == u8::MAX) {
        // Nothing is due: an account that was erased has no row.
        account.delete(head)
    } else {
        account.put(head, new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Space;
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

    #[test]
    fn a_row_reads_back_and_so_does_one_of_the_format_s_beginning() {
        let job = Job::new(Task::Dial(7), at(5), at(3));
        for standing in
            [QueuePosition::Planned, QueuePosition::Asked(9), QueuePosition::Trial(9), QueuePosition::Aside(9)]
        {
            for (faults, error) in [(0, None), (4, Some("Why".into()))] {
                let job = Job { standing, faults, error, attempt: 2, ..job.clone() };
                assert_eq!(Job::read(job.task.clone(), &job.to_bytes()), Some(job));
            }
        }
        let old = [&at(5).micros().to_le_bytes()[..], &2_u32.to_le_bytes(), &0_u32.to_le_bytes()].concat();
        assert_eq!(Job::read(Task::Dial(7), &old), Some(Job { attempt: 2, created_at: at(5), ..job.clone() }));
        let long = Job { error: Some("ă".repeat(300)), ..job };
        assert!(long.to_bytes().len() <= 29 + ERROR_BYTES_MAX);
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
            let standing = if count < 32 { QueuePosition::Asked(1) } else { QueuePosition::Planned };
            let job = Job::new(Task::Deliver(count), at(10), at(1));
            Job { standing, ..job }.enter(account).expect("sound");
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
