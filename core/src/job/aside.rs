//! Jobs that were set aside: out of their lanes, kept with what is known of them until the operator decides.
//!
//! The job's own row says that it is set aside, so that it is not planned again; a row of the root, filed by kind and
//! account, is what the operator's list shows.

use alloc::string::String;
use alloc::vec::Vec;

use crc::{CRC_32_ISO_HDLC, Crc};

use super::queue::{DAMAGED, Job, Standing, planned, sync};
use super::task::{JobKind, Lane, Task};
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

/// Its table is made once: a list asks for thousands.
static CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);
/// What is said of a job whose row cannot be read.
const UNKNOWN: &str = "The job has an unknown form.";

crate::choice! {
    /// Where a job stands.
    pub enum JobState {
        /// It waits for its time or its turn.
        Waiting = "waiting",
        /// It was begun, or waits for an answer from outside.
        Running = "running",
        /// It came to nothing too often.
        SetAside = "set_aside",
    }
}

record! {
    /// A job.
    pub struct ShownJob {
        /// Its id: the same as long as the same work is planned.
        id: u64 = id_column().required(),
        /// What it does.
        kind: JobKind = choice::<JobKind>().required(),
        /// Whose it is, by the account's id.
        account_id: Option<u64> = id_column(),
        /// What it is about.
        reference: String = text(0, 255).required(),
        /// When it is next due; of one that was set aside, when it last was.
        due_at: Iso = iso().required(),
        /// Runs in a row that came to nothing.
        attempts: u32 = int(0, u32::MAX as i64).required(),
        /// Where it stands.
        state: JobState = choice::<JobState>().required(),
        /// What is known of the last run that came to nothing.
        last_error: Option<String> = text(0, 255),
        /// When it was planned.
        created_at: Iso = iso().required(),
    }
}

/// The filter of the jobs that were set aside by kind.
pub fn facet_of_kind(kind: JobKind) -> Facet {
    Facet::new(1, kind.word().as_bytes())
}

/// The same by account.
pub fn facet_of_account(account: u32) -> Facet {
    Facet::id(2, account)
}

/// A job as the operator sees it.
pub(super) fn shown(account: u32, job: &Job) -> ShownJob {
    let state = match job.standing {
        Standing::Planned => JobState::Waiting,
        Standing::Asked(_) | Standing::Trial(_) => JobState::Running,
        Standing::Aside(_) => JobState::SetAside,
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

/// The filter of the jobs that were set aside by the account's part of their ids.
fn facet_of_id(own: u32) -> Facet {
    Facet::id(3, own)
}

/// The id of a job: its account's number × 2^32 + a checksum of its task's bytes, which tells tasks that differ in their
/// count alone apart.
pub fn id_of(account: u32, task: &[u8]) -> u64 {
    id::of(Space::Account(account), own_id(task))
}

fn own_id(task: &[u8]) -> u32 {
    // No id is 0.
    CHECKSUM.checksum(task).max(1)
}

fn number_of(account: Scope<'_>) -> Result<u32, Stop> {
    match account.space() {
        Space::Account(number) => Ok(number),
        Space::Root => Err(DAMAGED),
    }
}

/// Sets a job aside that stands in no lane.
pub(crate) fn enter(account: Scope<'_>, mut job: Job) -> Result<(), Stop> {
    let (root, number) = (root::of(account), number_of(account)?);
    let (count, at) = root.allot(Kind::Job, account.now())?;
    job.standing = Standing::Aside(count);
    job.put(account)?;
    store(root, number, count, at, &shown(number, &job), job.task.to_bytes())
}

/// Keeps what is known of a job whose bytes name no task of this release.
pub(super) fn unknown(account: Scope<'_>, due: Timestamp, task: &[u8]) -> Result<(), Stop> {
    let (root, number) = (root::of(account), number_of(account)?);
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

/// Takes the row of the root away.
pub(super) fn forget(account: Scope<'_>, count: u32) -> Result<(), Stop> {
    let root = root::of(account);
    match root.find(Kind::Job, count)? {
        Some(row) => root.remove(Kind::Job, count, &row),
        None => Ok(()),
    }
}

/// A job that the operator names.
pub enum Named {
    /// It was set aside: its task.
    Aside(Task),
    /// It was set aside, and no release that runs knows what it is: its bytes.
    Unknown(Vec<u8>),
    /// It waits or runs.
    Going,
}

/// The job with this id, and its account.
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

/// Whether one of the first [`JOBS_LISTED_MAX`] jobs of each lane has this id.
fn is_going(account: Scope<'_>, own: u32) -> Result<bool, Stop> {
    for lane in Lane::ALL {
        let jobs = planned(account, lane, JOBS_LISTED_MAX)?;
        if jobs.iter().any(|job| own_id(&job.task.to_bytes()) == own) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Puts a job that was set aside into its lane, as if it had never come to nothing.
pub fn retry(account: Scope<'_>, task: &Task) -> Result<(), Stop> {
    let job = Job::find(account, task)?.ok_or(DAMAGED)?;
    if let Standing::Aside(count) = job.standing {
        forget(account, count)?;
        let (due, standing) = (account.now(), Standing::Planned);
        Job { due, standing, attempt: 0, faults: 0, ..job }.put(account)?;
        sync(account)?;
    }
    Ok(())
}

/// Deletes a job that no release knows.
pub fn drop_unknown(account: Scope<'_>, task: &[u8]) -> Result<(), Stop> {
    let at = key::job(account.space(), task);
    let row = account.get(at.clone())?.unwrap_or_default();
    if let Ok(count) = row.try_into().map(u32::from_be_bytes) {
        forget(account, count)?;
    }
    account.delete(at)
}

/// What metrics tell of jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// How many of each kind are set aside.
    pub set_aside: Vec<(&'static str, u64)>,
    /// How often a run came to nothing, ever.
    pub faults: u64,
}

/// Reads them from a host's view.
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

/// Counts a run that came to nothing.
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
