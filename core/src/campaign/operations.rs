//! Operations on campaigns: create, change, start, stop and delete.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::MISSING;
use super::progress::SumsOf;
use super::rows::{changed, facet_of_assistant, facet_of_number, row, with_seconds};
use super::running::DialerCampaign;
use super::states::{CampaignEvent, MOVES};
use super::sums;
use super::tables::{Action, Campaign, CampaignStatus, NewCampaign, Switch, SwitchReply, SwitchThis, Switched};
use crate::account::plan::{self, Plan};
use crate::account::profile::Profile;
use crate::assistant;
use crate::assistant::rows::{detach, facet_of_type};
use crate::assistant::tables::Direction;
use crate::call;
use crate::call::reasons::EndedReason;
use crate::call::states::CallEvent;
use crate::collection::{Facet, Query, ids, page};
use crate::http::ctx::Ctx;
use crate::http::list;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::http::{etag, refs};
use crate::job::{self, Task, TaskOutcome};
use crate::json::Raw;
use crate::key::Kind;
use crate::lead;
use crate::limits::PLAN_ROWS_MAX;
use crate::number::UNVERIFIED;
use crate::outside::Unwritten;
use crate::record::{Cell, Checked, Choice, Iso, MemberSource, Record, Stored, check, check_update};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use crate::webhook::{FirstUse, activate};

const NO_ASSISTANT: &str = "Assistant not found or not an outbound assistant.";
const INACTIVE: &str = "The campaign's assistant is not active. Set its status to \"active\".";
const BALANCE: &str = "Insufficient balance.";
/// Calls that are cancelled in one step: each moves its lead on and may send a webhook.
const CALLED_OFF_AT_ONCE: usize = 10;
/// Most calls at once of a campaign that says nothing of them, if the plan allows so many.
const LINES: u32 = 3;

/// Applies an event to a campaign's state; returns the new state, or `None` if the state does not allow it.
pub fn shift(
    account: Scope<'_>,
    count: u32,
    event: CampaignEvent,
    now: Timestamp,
) -> Result<Option<CampaignStatus>, Stop> {
    let Some(row) = account.find(Kind::Campaign, count)? else { return Ok(None) };
    let Some(next) = MOVES.next(Campaign::MEMBERS.status.read(&row.public)?, event) else { return Ok(None) };
    let moved = changed(&row, now, |campaign| campaign.status = next)?;
    account.replace(Kind::Campaign, count, &row, &moved)?;
    sums::change(account, count, |sums| {
        sums.next_at = None;
        if event == CampaignEvent::Start {
            sums.started_at = Some(now);
            sums.finished_at_start = sums.finished();
        }
    })?;
    Ok(Some(next))
}

/// Stops a running campaign and cancels its queued calls.
pub fn halt(account: Scope<'_>, count: u32, now: Timestamp) -> Result<(), Stop> {
    match shift(account, count, CampaignEvent::Stop, now)? {
        Some(_) => cancel_calls(account, (count, 0), EndedReason::CampaignStopped, now),
        None => Ok(()),
    }
}

/// Stops the running campaigns of an assistant that is being deleted.
pub fn stop_those_of(account: Scope<'_>, assistant: u32, now: Timestamp) -> Result<(), Stop> {
    for count in ids(account, Kind::Campaign, &facet_of_assistant(assistant), PLAN_ROWS_MAX)? {
        halt(account, count, now)?;
    }
    Ok(())
}

/// Wakes the dialers of an assistant's campaigns, after a change that may let them call.
pub fn wake_those_of(account: Scope<'_>, assistant: u32, now: Timestamp) -> Result<(), Stop> {
    for count in ids(account, Kind::Campaign, &facet_of_assistant(assistant), PLAN_ROWS_MAX)? {
        super::wake(account, count, now)?;
    }
    Ok(())
}

/// Goes on to cancel a campaign's queued calls, which were placed after the call `after`; does nothing if the campaign
/// was started again.
pub fn call_off(account: Scope<'_>, campaign: u32, after: u32, now: Timestamp) -> Result<TaskOutcome, Stop> {
    let row = account.find(Kind::Campaign, campaign)?;
    let status = row.map(|row| Campaign::MEMBERS.status.read(&row.public)).transpose()?;
    let reason = match status {
        Some(CampaignStatus::InProgress) => return Ok(TaskOutcome::Done),
        Some(_) => EndedReason::CampaignStopped,
        None => EndedReason::CampaignDeleted,
    };
    cancel_calls(account, (campaign, after), reason, now)?;
    Ok(TaskOutcome::Done)
}

/// Cancels the calls placed after the call `after` that no engine has claimed, [`CALLED_OFF_AT_ONCE`] of them now and the
/// others by a job; claimed ones run to their end.
fn cancel_calls(
    account: Scope<'_>,
    (campaign, after): (u32, u32),
    reason: EndedReason,
    now: Timestamp,
) -> Result<(), Stop> {
    let facets = Vec::from([call::facet_of_line(campaign)]);
    let query = Query { range: after + 1..u32::MAX, ..Query::of(facets, Order::Ascending, 0, CALLED_OFF_AT_ONCE + 1) };
    let lines = page(account, Kind::Call, &query)?.ids;
    let slice = &lines[..lines.len().min(CALLED_OFF_AT_ONCE)];
    for count in slice {
        let Some(mut call) = call::CallRow::find(account, *count)?.filter(|call| call.live.engine.is_none()) else {
            continue;
        };
        call::ending::end_call(account, &mut call, CallEvent::Fail, reason, now)?;
    }
    match slice.last() {
        Some(after) if slice.len() < lines.len() => job::add(account, now, Task::CallOff { campaign, after: *after }),
        _ => Ok(()),
    }
}

/// Detaches a number from a slice of its assistants and, once none is left, from its campaigns; returns whether all is
/// done.
pub fn lose_number(account: Scope<'_>, number: u32, now: Timestamp) -> Result<bool, Stop> {
    let of_assistants = assistant::rows::facet_of_number(number);
    let done = detach(account, &of_assistants, now, |assistant| assistant.phone_number_id = None)?;
    if !done {
        return Ok(false);
    }
    let id = crate::id::of(account.space(), number);
    for (count, row) in account.list(Kind::Campaign, &facet_of_number(number), PLAN_ROWS_MAX)? {
        let without = changed(&row, now, |campaign| campaign.phone_number_ids.retain(|number| *number != id))?;
        account.replace(Kind::Campaign, count, &row, &without)?;
    }
    Ok(true)
}

/// `GET /user/campaigns`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    let campaigns = match ctx.rest() {
        Some(Unwritten::Rows { rows, .. }) => rows.clone(),
        _ => ids(account, Kind::Campaign, &Facet::ALL, PLAN_ROWS_MAX)?,
    };
    let sums = SumsOf::read(account, &campaigns, ctx.now)?;
    let write = |count, row: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(&sums.shown(count, Row::public_of(row)?)?);
        Ok(())
    };
    list::reply(ctx, account, Kind::Campaign, || Ok(list::array(campaigns.clone())), write)
}

/// `POST /user/campaigns`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let mut checked = check(NewCampaign::TABLE, ctx.members()?, MemberSource::Body);
    refs::check(ctx, &mut checked, None)?;
    check_hours(&mut checked);
    let plan = plan::of(ctx.account())?;
    check_lines(&mut checked, &plan, None);
    let mut new: NewCampaign = ctx.finish(checked)?;
    check_assistant(ctx, new.assistant_id)?;
    let account = ctx.account();
    ctx.plan_room(Kind::Campaign, "campaigns", plan.campaigns.into(), Refusal::Forbidden)?;
    let (count, at) = account.allot(Kind::Campaign, ctx.now)?;
    let zone = zone(ctx, new.timezone.take())?;
    let row = row(&Campaign::new(new, zone, lines(&plan), ctx.id(count), at));
    account.insert(Kind::Campaign, count, at, &row)?;
    sums::begin(account, count)?;
    let shown = shown(ctx, count, &row)?;
    Ok(Reply::created(&message_data("Campaign created successfully", &Raw(&shown))))
}

/// Checks that the end of the hours is after their start, in either form, `HH:MM` or `HH:MM:SS`.
fn check_hours(checked: &mut Checked) {
    let (Cell::Text(start), Cell::Text(end)) =
        (checked.get("allowed_hours_start_time"), checked.get("allowed_hours_end_time"))
    else {
        return;
    };
    if with_seconds(start) >= with_seconds(end) {
        checked.errors.say("allowed_hours_end_time", "field must be after the allowed hours start time field.");
    }
}

fn lines(plan: &Plan) -> u32 {
    LINES.min(plan.parallel_calls)
}

/// Checks that the plan allows so many calls at once. A campaign keeps what it has when its plan shrinks.
fn check_lines(checked: &mut Checked, plan: &Plan, had: Option<u32>) {
    if let Cell::Int(lines) = *checked.get("max_calls_in_parallel")
        && lines > plan.parallel_calls.into()
        && had.is_none_or(|had| lines != i64::from(had))
    {
        let says = format!("field must be between 1 and {}, as the plan allows.", plan.parallel_calls);
        checked.errors.say("max_calls_in_parallel", &says);
    }
}

fn check_assistant(ctx: &Ctx<'_>, id: u64) -> Result<(), Halt> {
    let row = match ctx.own(id) {
        Some(count) => ctx.account().find(Kind::Assistant, count)?,
        None => None,
    };
    match row {
        Some(row) if row.facets.contains(&facet_of_type(Direction::Outbound)) => Ok(()),
        _ => Err(Refusal::NotFound(NO_ASSISTANT).into()),
    }
}

/// Returns the zone of a campaign's hours: `given`, or the account's.
fn zone(ctx: &Ctx<'_>, given: Option<String>) -> Result<String, Stop> {
    given.map_or_else(|| Ok(Profile::of(ctx.account())?.own.timezone), Ok)
}

/// Returns a campaign as the API shows it.
fn shown(ctx: &Ctx<'_>, count: u32, row: &Row) -> Result<Vec<u8>, Stop> {
    SumsOf::read(ctx.account(), &[count], ctx.now)?.shown(count, &row.public)
}

/// `GET /user/campaigns/{id}`: a change of its progress alone leaves the part of its entity tag that `If-Match` is held
/// against.
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Campaign, MISSING)?;
    let shown = shown(ctx, count, &row)?;
    let tag = etag::in_parts(&row.public, &shown);
    Ok(Reply::ok_raw(shown).header("etag", tag))
}

/// `PUT /user/campaigns/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, before) = ctx.named(Kind::Campaign, MISSING)?;
    let supplied = ctx.members()?;
    let old = Campaign::read(&before.public)?;
    let mut checked = check_update(NewCampaign::TABLE, Campaign::members(&before.public)?, supplied.clone());
    refs::check(ctx, &mut checked, Some(&supplied))?;
    check_hours(&mut checked);
    let plan = plan::of(ctx.account())?;
    check_lines(&mut checked, &plan, Some(old.max_calls_in_parallel));
    let mut new: NewCampaign = ctx.finish(checked)?;
    if supplied.get(Campaign::MEMBERS.assistant_id.name()).is_some() {
        check_assistant(ctx, new.assistant_id)?;
    }
    ctx.if_match_part(&before.public)?;
    let zone = zone(ctx, new.timezone.take())?;
    let after = row(&Campaign {
        status: old.status,
        created_at: old.created_at,
        updated_at: Iso(ctx.now.max(old.updated_at.0)),
        rest: old.rest,
        ..Campaign::new(new, zone, lines(&plan), old.id, ctx.now)
    });
    ctx.account().replace(Kind::Campaign, count, &before, &after)?;
    super::wake(ctx.account(), count, ctx.now)?;
    let shown = shown(ctx, count, &after)?;
    Ok(Reply::ok(&message_data("Campaign updated successfully", &Raw(&shown))))
}

/// `DELETE /user/campaigns/{id}`: deletes its leads too, and keeps its calls.
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Campaign, MISSING)?;
    ctx.if_match_part(&row.public)?;
    let account = ctx.account();
    cancel_calls(account, (count, 0), EndedReason::CampaignDeleted, ctx.now)?;
    job::cancel(account, &Task::Dial(count))?;
    lead::drop_campaign(account, count, ctx.now)?;
    sums::end(account, count)?;
    account.remove(Kind::Campaign, count, &row)?;
    Ok(Reply::ok(&message("Campaign deleted successfully")))
}

/// `POST /user/campaigns/update-status`
pub fn switch(ctx: &Ctx<'_>) -> Handled {
    let mut checked = ctx.checked::<Switch>()?;
    let starts = |cell: &Cell| match cell {
        Cell::Text(word) => Action::of(word).map(Action::starts),
        _ => None,
    };
    if let (Some(action), Some(status)) = (starts(checked.get("action")), starts(checked.get("status")))
        && action != status
    {
        checked.errors.say("status", "field and the action field ask for different things.");
    }
    let body: Switch = ctx.finish(checked)?;
    let count = ctx.own(body.campaign_id).ok_or(Refusal::NotFoundUnsuccessful(MISSING))?;
    let row = ctx.account().find(Kind::Campaign, count)?.ok_or(Refusal::NotFoundUnsuccessful(MISSING))?;
    apply(ctx, count, &row, body.action.or(body.status).is_some_and(Action::starts))
}

/// `PATCH /user/campaigns/{id}/status`
pub fn switch_this(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Campaign, MISSING)?;
    let body: SwitchThis = ctx.body()?;
    apply(ctx, count, &row, body.status.starts())
}

/// Starts or stops a campaign; changes nothing where it runs already, or does not run.
fn apply(ctx: &Ctx<'_>, count: u32, row: &Row, starts: bool) -> Handled {
    let account = ctx.account();
    let status = Campaign::MEMBERS.status.read(&row.public)?;
    let runs = status == CampaignStatus::InProgress;
    let (event, says) = if starts {
        (CampaignEvent::Start, "Campaign started successfully.")
    } else {
        (CampaignEvent::Stop, "Campaign stopped successfully.")
    };
    if starts && !runs {
        check_start(ctx, count, row)?;
    }
    let changed = if starts == runs { None } else { shift(account, count, event, ctx.now)? };
    match changed {
        Some(_) if starts => super::wake(account, count, ctx.now)?,
        Some(_) => cancel_calls(account, (count, 0), EndedReason::CampaignStopped, ctx.now)?,
        None => {}
    }
    let data = Switched { campaign_id: ctx.id(count), status: changed.unwrap_or(status) };
    Ok(Reply::ok(&SwitchReply { message: says.into(), success: true, data }))
}

/// Checks that a campaign can start: its assistant is active, or becomes it with this first use, its caller id is
/// verified, and the balance positive.
fn check_start(ctx: &Ctx<'_>, count: u32, row: &Row) -> Result<(), Halt> {
    let account = ctx.account();
    let campaign = DialerCampaign::of(account, count, row)?;
    if activate(account, campaign.assistant, FirstUse::Campaign, count, ctx.now)? {
        wake_those_of(account, campaign.assistant, ctx.now)?;
    } else if !campaign.has_active_assistant(account)? {
        return Err(Refusal::Unsuccessful(INACTIVE.into()).into());
    }
    if campaign.is_unverified(account)? {
        return Err(Refusal::Unsuccessful(UNVERIFIED.into()).into());
    }
    if Profile::of(account)?.state.is_used_up() {
        return Err(Refusal::Unsuccessful(BALANCE.into()).into());
    }
    Ok(())
}
