//! Jobs that were set aside: removed from their lanes and kept, with their last error, until the operator decides.
//!
//! The job's own row says that it is set aside, so that it is not scheduled again. The operator's list shows a row of
//! the root space, indexed by kind and account.

use alloc::string::String;
use alloc::vec::Vec;

use super::queue::{DAMAGED, Job, QueuePosition, planned, sync};
use super::task::{JobKind, Lane, Task};
use crate::checksum::CRC32;
use crate::collection::{Facet, Query, count, page};
use crate::id;
use crate::json::ToJson;
use crate::key::{self, Kind, Space};
use crate::limits::JOBS_LISTED_MAX;
use crate::record;
use crate::record::{Choice, Iso, choice, id as id_column, int, iso, text};
use crate::root;
use crate::store::{Row, Scope, Tx};
use crate::time::Timestamp;
use crate::view::{Order, Stop, View};

/// Error shown for a job whose row cannot be read.
const UNKNOWN: &str = "The job has an unknown form.";

crate::choice! {
    /// State of a job.
    pub enum JobState {
        /// It waits for its due time or its turn.
        Waiting = "waiting",
        /// It has started, or waits for an answer from outside.
        Running = "running",
        /// It failed too often, and waits for the operator.
        SetAside = "set_aside",
    }
}

record! {
    /// A unit of durable work of an account.
    pub struct ShownJob {
        /// Id of the job; it stays the same while the same work is scheduled.
        id: u64 = id_column().required(),
        /// What the job does.
        kind: JobKind = choice::<JobKind>().required(),
        /// Account that the job belongs to, by id.
        account_id: Option<u64> = id_column(),
        /// Resource that the job works on, as kind and id, for example `call 4294967297`; `account` for account-wide
        /// clean-up.
        reference: String = text(0, 255).required(),
        /// When it is next due; for a job that was set aside, when it was last due.
        due_at: Iso = iso().required(),
        /// Failed runs in a row, since the last one that succeeded.
        attempts: u32 = int(0, u32::MAX as i64).required(),
        /// State of the job.
        state: JobState = choice::<JobState>().required(),
        /// Error of the last failed run; null if none has failed since the last success.
        last_error: Option<String> = text(0, 255),
        /// When it was scheduled.
        created_at: Iso = iso().required(),
    }
}

/// Returns the filter of the jobs set aside that are of this kind.
pub fn facet_of_kind(kind: JobKind) -> Facet {
    Facet::new(1, kind.word().as_bytes())
}

/// Returns the filter of the jobs set aside that belong to this account, by number.
pub fn facet_of_account(account: u32) -> Facet {
    Facet::id(2, account)
}

/// Returns a job as the operator sees it.
pub(super) fn shown(account: u32, job: &Job) -> ShownJob {
    let state = match job.standing {
        QueuePosition::Planned => JobState::Waiting,
        QueuePosition::Asked(_) | QueuePosition::Trial(_) => JobState::Running,
        QueuePosition::Aside(_) => JobState::SetAside,
    };
    ShownJob {
        id: id_of(account, &job.task.to_bytes()),
        kind: job.task.kind(),
        account_id: Some(id::user(account)),
        reference: job.task.reference(Space::Account(account)),
        due_at: Iso(job.due),
        attempts: job.faults,
        state,
        last_error: job.error.clone(),
        created_at: Iso(job.created_at),
    }
}

/// Returns the filter of the jobs set aside by the lower half of their ids.
fn facet_of_id(own: u32) -> Facet {
    Facet::id(3, own)
}

/// Returns the id of a job: account number × 2^32 + CRC-32 of the task's bytes, which differs between tasks that differ
/// only in their count.
pub fn id_of(account: u32, task: &[u8]) -> u64 {
    id::of(Space::Account(account), own_id(task))
}

fn own_id(task: &[u8]) -> u32 {
    // An id is never 0.
    CRC32.checksum(task).max(1)
}

/// Sets a job aside that has already been removed from its lane.
pub(crate) fn enter(account: Scope<'_>, mut job: Job) -> Result<(), Stop> {
    let (root, number) = (root::of(account), account.account_number()?);
    let (count, at) = root.allot(Kind::Job, account.now())?;
    job.standing = QueuePosition::Aside(count);
    job.put(account)?;
    store(root, number, count, at, &shown(number, &job), job.task.to_bytes())
}

/// Sets aside a job whose bytes are not a task of this release.
pub(super) fn unknown(account: Scope<'_>, due: Timestamp, task: &[u8]) -> Result<(), Stop> {
    let (root, number) = (root::of(account), account.account_number()?);
    let (count, at) = root.allot(Kind::Job, account.now())?;
    let kept = ShownJob {
        id: id_of(number, task),
        kind: JobKind::Unknown,
        account_id: Some(id::user(number)),
        reference: "unknown".into(),
        due_at: Iso(due),
        attempts: 0,
        state: JobState::SetAside,
        last_error: Some(UNKNOWN.into()),
        created_at: Iso(at),
    };
    account.put(key::job(account.space(), task), count.to_be_bytes().to_vec())?;
    store(root, number, count, at, &kept, task.to_vec())
}

fn store(
    root: Scope<'_>,
    account: u32,
    count: u32,
    at: Timestamp,
    shown: &ShownJob,
    task: Vec<u8>,
) -> Result<(), Stop> {
    let facets = Vec::from([facet_of_kind(shown.kind), facet_of_account(account), facet_of_id(own_id(&task))]);
    root.insert(Kind::Job, count, at, &Row { facets, public: shown.to_json(), private: task })
}

/// Deletes the row in the root space.
pub(super) fn forget(account: Scope<'_>, count: u32) -> Result<(), Stop> {
    let root = root::of(account);
    match root.find(Kind::Job, count)? {
        Some(row) => root.remove(Kind::Job, count, &row),
        None => Ok(()),
    }
}

/// A job that the operator selected by id.
pub enum Named {
    /// It was set aside. Holds its task.
    Aside(Task),
    /// It was set aside and this release does not know its task. Holds the task's bytes.
    Unknown(Vec<u8>),
    /// It is waiting or running.
    Going,
}

/// Finds the job with this id, and its account.
pub fn named(root: Scope<'_>, id: u64) -> Result<Option<(Scope<'_>, Named)>, Stop> {
    let (Ok(number), Ok(own)) = (u32::try_from(id >> 32), u32::try_from(id & u64::from(u32::MAX))) else {
        return Ok(None);
    };
    let account = root::space_of(root, number);
    let facets = Vec::from([facet_of_account(number), facet_of_id(own)]);
    let found = page(root, Kind::Job, &Query::of(facets, Order::Ascending, 0, 1))?;
    let Some(count) = found.ids.first() else {
        return Ok(is_going(account, own)?.then_some((account, Named::Going)));
    };
    let row = root.find(Kind::Job, *count)?.ok_or(DAMAGED)?;
    let named = Task::from_bytes(&row.private).map_or(Named::Unknown(row.private), Named::Aside);
    Ok(Some((account, named)))
}

/// Returns whether one of the first [`JOBS_LISTED_MAX`] jobs of each lane has this id.
fn is_going(account: Scope<'_>, own: u32) -> Result<bool, Stop> {
    for lane in Lane::ALL {
        let jobs = planned(account, lane, JOBS_LISTED_MAX)?;
        if jobs.iter().any(|job| own_id(&job.task.to_bytes()) == own) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts a job that was set aside back into its lane, due now and with its faults cleared.
pub fn retry(account: Scope<'_>, task: &Task) -> Result<(), Stop> {
    let job = Job::find(account, task)?.ok_or(DAMAGED)?;
    if let QueuePosition::Aside(count) = job.standing {
        forget(account, count)?;
        let (due, standing) = (account.now(), QueuePosition::Planned);
        Job { due, standing, attempt: 0, faults: 0, ..job }.put(account)?;
        sync(account)?;
    }
    Ok(())
}

/// Deletes a job whose task this release does not know.
pub fn drop_unknown(account: Scope<'_>, task: &[u8]) -> Result<(), Stop> {
    let at = key::job(account.space(), task);
    let row = account.get(at.clone())?.unwrap_or_default();
    if let Ok(count) = row.try_into().map(u32::from_be_bytes) {
        forget(account, count)?;
    }
    account.delete(at)
}

/// Job figures for metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of jobs set aside, by kind; every kind is listed.
    pub set_aside: Vec<(&'static str, u64)>,
    /// Failed runs since the installation was set up.
    pub faults: u64,
}

/// Reads the figures from a host's view.
pub fn figures(view: &dyn View) -> Result<Figures, Stop> {
    let tx = Tx::new(view);
    let root = tx.scope(Space::Root);
    let of = |kind: &JobKind| Ok((kind.word(), count(root, Kind::Job, &facet_of_kind(*kind))?));
    let set_aside = JobKind::ALL.iter().map(of).collect::<Result<Vec<_>, Stop>>()?;
    Ok(Figures { set_aside, faults: faults(root)? })
}

fn faults(root: Scope<'_>) -> Result<u64, Stop> {
    let bytes = root.get(key::job_faults())?;
    Ok(bytes.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes))
}

/// Counts a failed run.
pub(crate) fn note_fault(account: Scope<'_>) -> Result<(), Stop> {
    let root = root::of(account);
    root.put(key::job_faults(), (faults(root)? + 1).to_be_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_an_account_that_differ_in_their_count_alone_have_ids_of_their_own() {
        let mut ids = alloc::collections::BTreeSet::new();
        for count in (0..2_000).chain([u32::MAX / 2, u32::MAX]) {
            for task in [Task::Watch(count), Task::Deliver(count), Task::Dial(count), Task::Import(count)] {
                let id = id_of(7, &task.to_bytes());
                assert_eq!(id >> 32, 7);
                ids.insert(id);
            }
        }
        assert_eq!(ids.len(), 4 * 2_002);
    }
}
