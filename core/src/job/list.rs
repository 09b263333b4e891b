//! The waiting and running jobs, for the operator's list. They are read from the lanes, so the number examined is
//! bounded.

use alloc::vec::Vec;

use super::aside::{JobState, ShownJob, shown};
use super::queue::planned;
use super::task::{JobKind, Lane};
use crate::key;
use crate::limits::JOBS_LISTED_MAX;
use crate::root;
use crate::store::Scope;
use crate::view::{Order, Stop};

/// Filter of the list.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// State to list; [`JobState::SetAside`] matches nothing here.
    pub state: JobState,
    /// Only this kind; `None`: all.
    pub kind: Option<JobKind>,
    /// Only this account, by number; `None`: all.
    pub account: Option<u32>,
}

/// Returns the waiting or running jobs that match: by account in the order in which accounts are next due, then by lane
/// and due time. At most [`JOBS_LISTED_MAX`] jobs and as many due rows of accounts are examined.
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

/// Returns the accounts with scheduled jobs, each once, or just `only`.
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
