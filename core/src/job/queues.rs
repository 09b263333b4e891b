//! How much work of each kind waits, runs and was set aside.

use alloc::vec::Vec;

use super::aside::{JobState, facet_of_kind};
use super::list::{Wanted, going};
use super::task::JobKind;
use crate::collection::counts;
use crate::key::Kind;
use crate::record;
use crate::record::{Choice, Iso, choice, int, iso};
use crate::store::Scope;
use crate::view::Stop;

record! {
    /// The jobs of one kind.
    pub struct JobQueue {
        /// Kind of the jobs.
        name: JobKind = choice::<JobKind>().required(),
        /// Number of jobs that wait for their due time or their turn.
        waiting: u32 = int(0, u32::MAX as i64).required(),
        /// When the oldest of them was scheduled; null where none waits.
        oldest_at: Option<Iso> = iso(),
        /// Number of jobs that have started, or wait for an answer from outside.
        running: u32 = int(0, u32::MAX as i64).required(),
        /// Number of jobs that failed too often, and wait for the operator.
        set_aside: u32 = int(0, u32::MAX as i64).required(),
    }
}

/// Returns the queue of every kind. Of the jobs that wait or run at most
/// [`JOBS_LISTED_MAX`](crate::limits::JOBS_LISTED_MAX) each are counted.
pub fn queues(root: Scope<'_>) -> Result<Vec<JobQueue>, Stop> {
    let facets: Vec<_> = JobKind::ALL.iter().map(|kind| facet_of_kind(*kind)).collect();
    let mut queues = Vec::new();
    for (name, set_aside) in JobKind::ALL.iter().zip(counts(root, Kind::Job, &facets)?) {
        let set_aside = u32::try_from(set_aside).unwrap_or(u32::MAX);
        queues.push(JobQueue { name: *name, waiting: 0, oldest_at: None, running: 0, set_aside });
    }
    for state in [JobState::Waiting, JobState::Running] {
        for job in going(root, &Wanted { state, kind: None, account: None })? {
            let Some(queue) = queues.iter_mut().find(|queue| queue.name == job.kind) else { continue };
            if state == JobState::Running {
                queue.running += 1;
                continue;
            }
            queue.waiting += 1;
            let is_older = queue.oldest_at.is_none_or(|oldest| job.created_at.0 < oldest.0);
            queue.oldest_at = if is_older { Some(job.created_at) } else { queue.oldest_at };
        }
    }
    Ok(queues)
}
