//! Release of a number: one commit marks it, then the carrier releases it, the next commit removes it.

use super::operations::named;
use super::rows::NumberRow;
use super::tables::NumberType;
use super::{MISSING, remove, shown};
use crate::carrier::{Ask, CarrierAnswer};
use crate::collection::{Facet, count, ids};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Form, Invalid, Refusal};
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::job::{self, Task, TaskContext, TaskOutcome};
use crate::json::Raw;
use crate::key::Kind;
use crate::limits::PLAN_ROWS_MAX;
use crate::record::Stored;
use crate::root;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const RELEASING: &str = "The carrier is still releasing this phone number.";
const SILENT: &str = "The carrier did not confirm the release. It is asked again until it does.";
const RELEASED: &str = "Phone number released successfully.";
/// Delay before the carrier is asked again, seconds.
const AGAIN_SECONDS: u64 = 60;

/// Removes references to the number with this count, a bounded part per call; returns whether none is left.
pub type Lose = fn(Scope<'_>, u32, Timestamp) -> Result<bool, Stop>;

/// `DELETE /user/phone-numbers/{id}`
pub fn release(ctx: &Ctx<'_>, lose: Lose) -> Handled {
    let account = ctx.account();
    let found = named(ctx, MISSING);
    if found.is_err() && ctx.answered() > 0 {
        // The job has released and removed it before the answer of the carrier arrived here.
        return Ok(Reply::ok(&message(RELEASED)));
    }
    let (count, row, stored) = found?;
    if ctx.answered() == 0 {
        ctx.if_match(&Raw(&shown(ctx.id(count), &stored)))?;
        if stored.releasing {
            return Err(Refusal::Declined(RELEASING.into()).into());
        }
    }
    let Some(carrier_id) = stored.carrier_id.clone().filter(|_| stored.r#type == NumberType::Normal) else {
        ctx.detached(Kind::Number, count, detach_all(account, count, ctx.now, lose)?)?;
        return Ok(Reply::ok(&message(RELEASED)));
    };
    if ctx.answered() == 0 {
        begin(account, count, &row, &stored, ctx.now.plus_seconds(AGAIN_SECONDS))?;
    }
    match ctx.carrier(&Ask::Release(&carrier_id))? {
        CarrierAnswer::Released => {
            ctx.detached(Kind::Number, count, detach_all(account, count, ctx.now, lose)?)?;
            Ok(Reply::ok(&message(RELEASED)))
        }
        _ => Ok(Refusal::BadGateway(SILENT.into()).reply(Form::Error, Invalid::First)),
    }
}

/// Marks a number as being released, and plans the job that asks the carrier.
fn begin(account: Scope<'_>, count: u32, row: &Row, stored: &NumberRow, at: Timestamp) -> Result<(), Stop> {
    let marked = NumberRow { releasing: true, ..stored.clone() };
    account.replace(Kind::Number, count, row, &marked.row(&row.private))?;
    job::add(account, at, Task::Release(count))
}

/// Gives back the numbers of an account that is being deleted, at most `most` per call; returns whether each is deleted or
/// the carrier is being asked.
pub fn give_back_all(account: Scope<'_>, most: usize, now: Timestamp, lose: Lose) -> Result<bool, Stop> {
    let mut begun = 0;
    for count in ids(account, Kind::Number, &Facet::ALL, PLAN_ROWS_MAX)? {
        let Some(row) = account.find(Kind::Number, count)? else { continue };
        let stored = NumberRow::read(&row.public)?;
        let is_bought = stored.r#type == NumberType::Normal && stored.carrier_id.is_some();
        if is_bought && stored.releasing && job::is_planned(account, &Task::Release(count))? {
            continue;
        }
        if begun == most || !is_bought && !detach_all(account, count, now, lose)? {
            return Ok(false);
        }
        if is_bought {
            begin(account, count, &row, &stored, now)?;
        }
        begun += 1;
    }
    Ok(true)
}

/// Returns whether an account has a number, or may come to have one that it is buying.
pub fn has_any(account: Scope<'_>) -> Result<bool, Stop> {
    Ok(count(account, Kind::Number, &Facet::ALL)? > 0 || job::is_any_planned(account, &Task::PURCHASES)?)
}

/// Removes references to a number, and deletes it once none is left; past calls keep it. Returns whether it is deleted.
pub fn detach_all(account: Scope<'_>, count: u32, now: Timestamp, lose: Lose) -> Result<bool, Stop> {
    let Some(row) = account.find(Kind::Number, count)? else { return Ok(true) };
    let stored = NumberRow::read(&row.public)?;
    let done = lose(account, count, now)?;
    if done {
        if stored.r#type != NumberType::CallerId && !stored.is_extension() {
            root::disown(account, &stored.phone_number)?;
        }
        remove(account, count, &row, &stored)?;
    }
    Ok(done)
}

/// Job that repeats a release which the carrier did not confirm.
pub fn settle(work: &TaskContext<'_>, count: u32, lose: Lose) -> Result<TaskOutcome, Stop> {
    let Some(row) = work.account.find(Kind::Number, count)? else { return Ok(TaskOutcome::Done) };
    let stored = NumberRow::read(&row.public)?;
    let Some(carrier_id) = stored.carrier_id.as_deref().filter(|_| stored.releasing) else {
        return Ok(TaskOutcome::Done);
    };
    match work.setup.config.carrier.ask(work.asks, &work.seed, &Ask::Release(carrier_id)) {
        None => Ok(TaskOutcome::Waits),
        Some(CarrierAnswer::Released) => {
            if !detach_all(work.account, count, work.now, lose)? {
                job::add(work.account, work.now, Task::Detach(Kind::Number, count))?;
            }
            Ok(TaskOutcome::Done)
        }
        Some(_) => Ok(TaskOutcome::Later),
    }
}
