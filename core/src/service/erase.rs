//! Erasure of an account that is being deleted: a job of its own, a bounded part per run, until nothing is left.
//!
//! Its calls are hung up and its numbers are given back first. What must be ended outside (a call that an engine has, a
//! number that the carrier has not taken back) is waited for; everything else does not wait for numbers. Recordings go
//! first, since only their rows say where they are.

use core::ops::Range;

use crate::job::queue::clear;
use crate::job::{Task, TaskContext, TaskOutcome};
use crate::key::{self, Key, Kind};
use crate::limits::SLICE_ROWS;
use crate::store::Scope;
use crate::view::{Order, Stop};
use crate::{call, campaign, number, root};

/// Calls that are hung up, or numbers that are given back, in one step.
const ENDED: usize = 64;
/// Pause before another look at what ends outside, seconds.
const LOOK_SECONDS: u64 = 5;
/// Rows read at a time: one may have a mebibyte.
const READ_ROWS: usize = 8;
/// Bytes read in one step, after which it ends.
const READ_BYTES: usize = 1 << 20;
/// First bytes of tasks that may be removed: those before belong to purchases and releases of numbers.
const REMOVABLE: [u8; 1] = [3];

/// Erases the next part of the account.
pub fn slice(work: &TaskContext<'_>) -> Result<TaskOutcome, Stop> {
    let (account, now) = (work.account, work.now);
    let is_ended =
        call::hang_up_all(account, ENDED, now)? && number::give_back_all(account, ENDED, now, campaign::lose_number)?;
    if !is_ended {
        return Ok(TaskOutcome::More);
    }
    if call::is_engaged(account)? {
        return Ok(TaskOutcome::At(now.plus_seconds(LOOK_SECONDS)));
    }
    if let Some(outcome) = call::recording::drop_next(work)? {
        return Ok(outcome);
    }
    if !clear(account, &REMOVABLE, SLICE_ROWS, gives_back)? {
        return Ok(TaskOutcome::More);
    }
    for range in key::without_numbers(account.space()) {
        if !erase(account, &range)? {
            return Ok(TaskOutcome::More);
        }
    }
    if number::has_any(account)? {
        return Ok(TaskOutcome::At(now.plus_seconds(LOOK_SECONDS)));
    }
    end(account)
}

/// Returns whether a task is needed to give a number back.
fn gives_back(task: &Task) -> bool {
    matches!(task, Task::Detach(Kind::Number, _))
}

/// Deletes rows of a range until it is empty or a step has enough; returns whether nothing was left to delete.
fn erase(account: Scope<'_>, range: &Range<Key>) -> Result<bool, Stop> {
    let (mut rows, mut bytes) = (0, 0);
    loop {
        let found = account.scan(range.clone(), Order::Ascending, READ_ROWS)?;
        let is_last = found.len() < READ_ROWS;
        for (at, value) in found.into_iter().filter(|(at, _)| !key::outlasts(at)) {
            (rows, bytes) = (rows + 1, bytes + value.len());
            account.delete(at)?;
        }
        if is_last || rows >= SLICE_ROWS || bytes >= READ_BYTES {
            return Ok(rows == 0);
        }
    }
}

/// Deletes what is left of the account, its profile last.
fn end(account: Scope<'_>) -> Result<TaskOutcome, Stop> {
    if !clear(account, &[], SLICE_ROWS, |_| false)? || !erase(account, &key::all_of(account.space()))? {
        return Ok(TaskOutcome::More);
    }
    account.delete(key::ledger(account.space()))?;
    if let key::Space::Account(number) = account.space() {
        account.delete(key::profile(number))?;
    }
    root::forget(account)?;
    Ok(TaskOutcome::Done)
}
