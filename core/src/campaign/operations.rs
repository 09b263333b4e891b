//! Campaigns: created, changed, switched and deleted.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::DAMAGED;
use super::running::{Running, status};
use super::states::{CampaignEvent, MOVES};
use super::tables::{Action, Campaign, CampaignStatus, NewCampaign, Switch, SwitchReply, Switched};
use crate::account::plan;
use crate::account::profile::Profile;
use crate::assistant;
use crate::assistant::stored::{detach, facet_of_type};
use crate::assistant::tables::{Direction, Status};
use crate::call;
use crate::call::ending::by_service;
use crate::call::states::CallEvent;
use crate::collection::{Facet, ids};
use crate::http::ctx::Ctx;
use crate::http::refs;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::http::{list, page};
use crate::json::{self, Members, Raw, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::PLAN_ROWS_MAX;
use crate::number::UNVERIFIED;
use crate::record::{Cell, Checked, Iso, Record, Source, check, check_update};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const MISSING: &str = "Campaign not found";
const NO_ASSISTANT: &str = "Assistant not found or not an outbound assistant.";
const RUNNING: &str = "The campaign is already running.";
const NOT_RUNNING: &str = "The campaign is not running.";
const INACTIVE: &str = "The campaign's assistant is not active.";
const BALANCE: &str = "Insufficient balance.";
/// Calls of a campaign that may wait for an engine.
const LINES_MAX: usize = 10;

fn facet_of_assistant(count: u32) -> Facet {
    Facet::id(1, count)
}

fn facet_of_number(count: u32) -> Facet {
    Facet::id(2, count)
}

fn facets(members: &Members) -> Result<Vec<Facet>, Stop> {
    let count = |value: &Value| value.as_u64().map(crate::id::count).ok_or(DAMAGED);
    let mut facets = Vec::from([facet_of_assistant(count(members.get("assistant_id").ok_or(DAMAGED)?)?)]);
    for number in members.get("phone_number_ids").and_then(Value::as_list).unwrap_or_default() {
        let facet = facet_of_number(count(number)?);
        if !facets.contains(&facet) {
            facets.push(facet);
        }
    }
    Ok(facets)
}

fn changed(row: &Row, now: Timestamp, change: impl FnOnce(&mut Members)) -> Result<Row, Stop> {
    let mut members = row.members(DAMAGED)?;
    change(&mut members);
    let before = members.time("updated_at").ok_or(DAMAGED)?;
    members.set("updated_at", Value::Text(now.max(before).iso()));
    Ok(Row::open(facets(&members)?, members.to_json()))
}

/// Moves a campaign, if its state allows that; gives where it stands then.
pub fn shift(
    account: Scope<'_>,
    count: u32,
    event: CampaignEvent,
    now: Timestamp,
) -> Result<Option<CampaignStatus>, Stop> {
    let Some(row) = account.find(Kind::Campaign, count)? else { return Ok(None) };
    let Some(next) = MOVES.next(status(&row.members(DAMAGED)?), event) else { return Ok(None) };
    let moved = changed(&row, now, |members| members.set("status", Value::Text(next.word().into())))?;
    account.replace(Kind::Campaign, count, &row, &moved)?;
    Ok(Some(next))
}

/// An assistant that goes stops the campaigns that run with it.
pub fn stop_those_of(account: Scope<'_>, assistant: u32, now: Timestamp) -> Result<(), Stop> {
    for count in ids(account, Kind::Campaign, &facet_of_assistant(assistant), PLAN_ROWS_MAX)? {
        if shift(account, count, CampaignEvent::Stop, now)?.is_some() {
            call_off(account, count, now)?;
        }
    }
    Ok(())
}

/// An assistant that changed may let its campaigns call.
pub fn wake_those_of(account: Scope<'_>, assistant: u32, now: Timestamp) -> Result<(), Stop> {
    for count in ids(account, Kind::Campaign, &facet_of_assistant(assistant), PLAN_ROWS_MAX)? {
        super::wake(account, count, now)?;
    }
    Ok(())
}

/// Calls off the calls of a campaign that no engine has: those that run end by themselves.
fn call_off(account: Scope<'_>, campaign: u32, now: Timestamp) -> Result<(), Stop> {
    for count in ids(account, Kind::Call, &call::facet_of_line(campaign), LINES_MAX)? {
        let Some(mut call) = call::Stored::find(account, count)?.filter(|call| call.live.engine.is_none()) else {
            continue;
        };
        call::ending::over(account, &mut call, CallEvent::Fail, &by_service("campaign-stopped"), now)?;
    }
    Ok(())
}

/// Takes a number away from some of its assistants and, once none has it, from its campaigns; tells whether that is done.
pub fn lose_number(account: Scope<'_>, number: u32, now: Timestamp) -> Result<bool, Stop> {
    let of_assistants = assistant::stored::facet_of_number(number);
    let done = detach(account, &of_assistants, now, |members| members.set("phone_number_id", Value::Null))?;
    if !done {
        return Ok(false);
    }
    let id = crate::id::of(account.space(), number);
    for (count, row) in account.list(Kind::Campaign, &facet_of_number(number), PLAN_ROWS_MAX)? {
        let without = changed(&row, now, |members| {
            if let Some((_, Value::List(numbers))) = members.0.iter_mut().find(|(name, _)| name == "phone_number_ids") {
                numbers.retain(|number| number.as_u64() != Some(id));
            }
        })?;
        account.replace(Kind::Campaign, count, &row, &without)?;
    }
    Ok(true)
}

/// `GET /user/campaigns`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    let rows = || Ok(list::array(ids(account, Kind::Campaign, &Facet::ALL, PLAN_ROWS_MAX)?));
    list::reply(ctx, account, Kind::Campaign, rows, page::public)
}

/// `POST /user/campaigns`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let mut checked = check(NewCampaign::TABLE, ctx.members()?, Source::Body);
    refs::judge(ctx, &mut checked, None)?;
    judge_hours(&mut checked);
    let new: NewCampaign = ctx.finish(checked)?;
    judge_assistant(ctx, new.assistant_id)?;
    let account = ctx.account();
    ctx.plan_room(Kind::Campaign, "campaigns", plan::of(account)?.campaigns.into(), Refusal::Forbidden)?;
    let (count, at) = account.allot(Kind::Campaign, ctx.now)?;
    let row = row(ctx, new, ctx.id(count), CampaignStatus::Draft, at, at)?;
    account.insert(Kind::Campaign, count, at, &row)?;
    Ok(Reply::created(&message_data("Campaign created successfully", &Raw(&row.public))))
}

/// The end of the hours is after their start, whichever of the two forms each has.
fn judge_hours(checked: &mut Checked) {
    let (Cell::Text(start), Cell::Text(end)) =
        (checked.get("allowed_hours_start_time"), checked.get("allowed_hours_end_time"))
    else {
        return;
    };
    if with_seconds(start) >= with_seconds(end) {
        checked.errors.say("allowed_hours_end_time", "field must be after the allowed hours start time field.");
    }
}

fn with_seconds(clock: &str) -> String {
    if clock.len() == 5 { alloc::format!("{clock}:00") } else { clock.to_string() }
}

fn judge_assistant(ctx: &Ctx<'_>, id: u64) -> Result<(), Halt> {
    let row = match ctx.own(id) {
        Some(count) => ctx.account().find(Kind::Assistant, count)?,
        None => None,
    };
    match row {
        Some(row) if row.facets.contains(&facet_of_type(Direction::Outbound)) => Ok(()),
        _ => Err(Refusal::NotFound(NO_ASSISTANT).into()),
    }
}

fn row(
    ctx: &Ctx<'_>,
    new: NewCampaign,
    id: u64,
    status: CampaignStatus,
    created_at: Timestamp,
    updated_at: Timestamp,
) -> Result<Row, Stop> {
    let timezone = match new.timezone {
        Some(zone) => zone,
        None => Profile::of(ctx.account())?.timezone,
    };
    let campaign = Campaign {
        id,
        name: new.name,
        status,
        assistant_id: new.assistant_id,
        timezone,
        max_calls_in_parallel: new.max_calls_in_parallel,
        allowed_hours_start_time: with_seconds(&new.allowed_hours_start_time),
        allowed_hours_end_time: with_seconds(&new.allowed_hours_end_time),
        allowed_days: new.allowed_days,
        max_retries: new.max_retries,
        retry_interval: new.retry_interval,
        retry_on_voicemail: new.retry_on_voicemail,
        retry_on_goal_incomplete: new.retry_on_goal_incomplete,
        goal_completion_variable: new.goal_completion_variable,
        mark_complete_when_no_leads: new.mark_complete_when_no_leads,
        phone_number_ids: new.phone_number_ids,
        created_at: Iso(created_at),
        updated_at: Iso(updated_at),
    };
    let Ok(Value::Object(members)) = json::parse(&campaign.to_json()) else { return Err(DAMAGED) };
    Ok(Row::open(facets(&members)?, campaign.to_json()))
}

/// `GET /user/campaigns/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = ctx.named(Kind::Campaign, MISSING)?;
    Ok(Reply::ok_raw(row.public))
}

/// `PUT /user/campaigns/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, before) = ctx.named(Kind::Campaign, MISSING)?;
    let supplied = ctx.members()?;
    let old = before.members(DAMAGED)?;
    let time = |name: &str| old.time(name).ok_or(DAMAGED);
    let (created_at, updated_at, status) = (time("created_at")?, time("updated_at")?, status(&old));
    let mut checked = check_update(NewCampaign::TABLE, old, supplied.clone());
    refs::judge(ctx, &mut checked, Some(&supplied))?;
    judge_hours(&mut checked);
    let new: NewCampaign = ctx.finish(checked)?;
    if supplied.get("assistant_id").is_some() {
        judge_assistant(ctx, new.assistant_id)?;
    }
    ctx.if_match(&Raw(&before.public))?;
    let after = row(ctx, new, ctx.id(count), status, created_at, ctx.now.max(updated_at))?;
    ctx.account().replace(Kind::Campaign, count, &before, &after)?;
    super::wake(ctx.account(), count, ctx.now)?;
    Ok(Reply::ok(&message_data("Campaign updated successfully", &Raw(&after.public))))
}

/// `DELETE /user/campaigns/{id}`: its leads go, its calls stay.
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Campaign, MISSING)?;
    ctx.if_match(&Raw(&row.public))?;
    let account = ctx.account();
    call_off(account, count, ctx.now)?;
    crate::job::cancel(account, &crate::job::Task::Dial(count))?;
    crate::lead::drop_campaign(account, count, ctx.now)?;
    account.delete(key::dialer(account.space(), count))?;
    account.remove(Kind::Campaign, count, &row)?;
    Ok(Reply::ok(&message("Campaign deleted successfully")))
}

/// `POST /user/campaigns/update-status`
pub fn switch(ctx: &Ctx<'_>) -> Handled {
    let body: Switch = ctx.body()?;
    let account = ctx.account();
    let count = ctx.own(body.campaign_id).ok_or(Refusal::NotFoundUnsuccessful(MISSING))?;
    let row = account.find(Kind::Campaign, count)?.ok_or(Refusal::NotFoundUnsuccessful(MISSING))?;
    let (event, says, refused) = match body.action {
        Action::Start => (CampaignEvent::Start, "Campaign started successfully.", RUNNING),
        Action::Stop => (CampaignEvent::Stop, "Campaign stopped successfully.", NOT_RUNNING),
    };
    if body.action == Action::Start {
        judge_start(ctx, count, &row)?;
    }
    let status = shift(account, count, event, ctx.now)?.ok_or(Refusal::Unsuccessful(refused.into()))?;
    match body.action {
        Action::Start => super::wake(account, count, ctx.now)?,
        Action::Stop => call_off(account, count, ctx.now)?,
    }
    let data = Switched { campaign_id: body.campaign_id, status };
    Ok(Reply::ok(&SwitchReply { message: says.into(), success: true, data }))
}

/// A campaign starts with an active assistant, with a number that it may show, and with money left.
fn judge_start(ctx: &Ctx<'_>, count: u32, row: &Row) -> Result<(), Halt> {
    let account = ctx.account();
    let assistant = row.members(DAMAGED)?.get("assistant_id").and_then(Value::as_u64).and_then(|id| ctx.own(id));
    let assistant =
        account.find(Kind::Assistant, assistant.unwrap_or(0))?.map(|row| row.members(DAMAGED)).transpose()?;
    let status = assistant.as_ref().and_then(|members| members.get("status")).and_then(Value::as_text);
    if status != Some(Status::Active.word()) {
        return Err(Refusal::Unsuccessful(INACTIVE.into()).into());
    }
    if Running::of(account, count, row)?.is_unverified(account)? {
        return Err(Refusal::Unsuccessful(UNVERIFIED.into()).into());
    }
    if Profile::of(account)?.state.balance.is_some_and(|balance| balance <= 0) {
        return Err(Refusal::Unsuccessful(BALANCE.into()).into());
    }
    Ok(())
}
