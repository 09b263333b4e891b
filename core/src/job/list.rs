//! The jobs that wait or run, for the operator's list: read from the lanes, and so bounded.

use alloc::vec::Vec;

use super::aside::{JobState, ShownJob, shown};
use super::queue::planned;
use super::task::{JobKind, Lane};
use crate::key;
use crate::limits::JOBS_LISTED_MAX;
use crate::root;
use crate::store::Scope;
use crate::view::{Order, Stop};

/// What is listed.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Waiting or running.
    pub state: JobState,
    /// One kind.
    pub kind: Option<JobKind>,
    /// One account, by its number.
    pub account: Option<u32>,
}

/// The jobs that wait or run: by account in the order in which these are due, then by lane and time. The first
/// [`JOBS_LISTED_MAX`] jobs are looked at, and of as many accounts.
pub fn going(root: Scope<'_>, wanted: &Wanted) -> Result<Vec<ShownJob>, Stop> {
    let lanes: &[Lane] = match wanted.state {
        JobState::Running => &[Lane::Leased],
        JobState::Waiting => &[Lane::Quick, Lane::Asking, Lane::Slice],
        JobState::SetAside => &[],
    };
    let mut found = Vec::new();
    let mut left = JOBS_LISTED_MAX;
    for number in accounts(root, wanted.account)? {
        for lane in lanes {
            let jobs = planned(root::space_of(root, number), *lane, left)?;
            left -= jobs.len();
            let fits = jobs.iter().filter(|job| wanted.kind.is_none_or(|kind| kind == job.task.kind()));
            found.extend(fits.map(|job| shown(number, job)));
            if left == 0 {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// The accounts that have something to do, each once.
fn accounts(root: Scope<'_>, only: Option<u32>) -> Result<Vec<u32>, Stop> {
    if let Some(only) = only {
        return Ok([only].into());
    }
    let mut numbers: Vec<u32> = Vec::new();
    let mut known = alloc::collections::BTreeSet::new();
    for (at, _) in root.scan(key::due_accounts(), Order::Ascending, JOBS_LISTED_MAX)? {
        if let Some((_, number, _)) = key::read_due_account(&at)
            && known.insert(number)
        {
            numbers.push(number);
        }
    }
    Ok(numbers)
}
