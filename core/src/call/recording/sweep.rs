//! Deletion of objects: of deleted recordings and calls, of what an upload replaced, of uploads that came to no end.

use super::rows::{CallObject, ObjectState, RecordingAccount};
use crate::job::{self, Task, TaskContext, TaskOutcome};
use crate::key::{self, Kind};
use crate::limits::{OBJECT_TRIES_MAX, RECORDING_UPLOAD_SECONDS};
use crate::outside::{Answer, Work};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

const UNDELETED: Stop = Stop::Corrupt("a recording could not be deleted from where recordings are kept");

/// Plans the deletion of the objects of a call that are not its recording, if it has any object.
pub fn plan(account: Scope<'_>, call: u32, at: Timestamp) -> Result<(), Stop> {
    if account.scan(key::recordings(account.space(), call), Order::Ascending, 1)?.is_empty() {
        return Ok(());
    }
    job::add(account, at, Task::DropRecordings(call))
}

/// Returns when the upload of an object has taken longer than one may.
pub fn lapse(object: &CallObject) -> Timestamp {
    object.row.began_at.plus_seconds(RECORDING_UPLOAD_SECONDS)
}

/// Deletes the next object of a call that is not its recording. An upload that may be under way is left alone.
pub fn drop(work: &TaskContext<'_>, call: u32) -> Result<TaskOutcome, Stop> {
    if let Some(outcome) = answered(work)? {
        return Ok(outcome);
    }
    let is_there = work.account.find(Kind::Call, call)?.is_some();
    let mut later: Option<Timestamp> = None;
    for object in CallObject::all(work.account, call)? {
        match object.row.state {
            ObjectState::Kept if is_there => {}
            ObjectState::Pending if lapse(&object) > work.now => {
                later = Some(later.map_or(lapse(&object), |at| at.min(lapse(&object))));
            }
            _ => return ask(work, &object),
        }
    }
    Ok(later.map_or(TaskOutcome::Done, TaskOutcome::At))
}

/// Deletes the next object of an account that is being erased; `None` if it has none.
pub fn drop_next(work: &TaskContext<'_>) -> Result<Option<TaskOutcome>, Stop> {
    if let Some(outcome) = answered(work)? {
        return Ok(Some(outcome));
    }
    let rows = work.account.scan(key::all_recordings(work.account.space()), Order::Ascending, 1)?;
    let Some((at, row)) = rows.first() else { return Ok(None) };
    let object = CallObject::read(at, row)?;
    if object.row.state == ObjectState::Pending && lapse(&object) > work.now {
        return Ok(Some(TaskOutcome::At(lapse(&object))));
    }
    ask(work, &object).map(Some)
}

/// Asks the host to delete an object.
fn ask(work: &TaskContext<'_>, object: &CallObject) -> Result<TaskOutcome, Stop> {
    if !work.setup.config.keeps_recordings {
        return failed(work);
    }
    let name = object.name(work.account.space());
    work.asks.ask(|| Work::DeleteObject(name));
    Ok(TaskOutcome::Waits)
}

/// Acts on the host's answer; `None` if it was not asked yet. The next object is for the next run.
fn answered(work: &TaskContext<'_>) -> Result<Option<TaskOutcome>, Stop> {
    match work.asks.next() {
        None => Ok(None),
        Some(Answer::ObjectDeleted(name)) => {
            forget(work.account, &name)?;
            Ok(Some(TaskOutcome::More))
        }
        Some(_) => failed(work).map(Some),
    }
}

/// Tries again later, or gives up, so that the operator hears of it.
fn failed(work: &TaskContext<'_>) -> Result<TaskOutcome, Stop> {
    if work.attempt < OBJECT_TRIES_MAX { Ok(TaskOutcome::Later) } else { Err(UNDELETED) }
}

/// Deletes the row of an object that is gone.
fn forget(account: Scope<'_>, name: &str) -> Result<(), Stop> {
    let Some(object) = CallObject::named(account, name)? else { return Ok(()) };
    account.delete(key::recording(account.space(), object.call, object.upload))?;
    if let Some(mut own) = RecordingAccount::load(account)? {
        own.bytes -= i64::from(object.row.bytes);
        own.save(account)?;
    }
    Ok(())
}
