//! Listing, reading, deleting, placing and hanging up calls, in the order of docs/api.md.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::command::announce;
use super::ending::{complete, end_call};
use super::partial;
use super::place::{CallAssistant, CallSpec, place};
use super::reasons::EndedReason;
use super::recording::{self, ShownLinks};
use super::rows::{CallRow, facet_of_engaged, formatted, tag};
use super::states::CallEvent;
use super::tables::{Call, CallQuery, CallStatus, CallType, EventsQuery, NewCall, Placed, PlacedCall};
use super::watch::plan;
use crate::account::attached;
use crate::account::profile::Profile;
use crate::collection::{Facet, Query, count, ids};
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::query;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, data, message};
use crate::http::route::Handled;
use crate::http::stream::{self, Frame};
use crate::job::{self, Task};
use crate::json::{Members, Raw, ToJson};
use crate::key::{self, Kind, Topic};
use crate::limits::{EVENTS_PAGE_MAX, PLAN_ROWS_MAX};
use crate::number::{CallerNumber, UNVERIFIED};
use crate::record::{Choice, Errors, Stored};
use crate::root;
use crate::store::{Row, Scope};
use crate::suppression;
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use crate::{assistant, webhook};

pub(super) const MISSING: &str = "Call not found";
const NO_ENGINE: &str = "No voice engine is attached to place the call.";
const SUPPRESSED: &str = "The phone number is on the account's list of numbers not to be called.";

/// `GET /user/calls`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: CallQuery = ctx.asks()?;
    let account = ctx.account();
    let mut facets = Vec::new();
    facets.extend(query.status.map(|status| Facet::new(tag::STATUS, status.word().as_bytes())));
    facets.extend(query.r#type.map(|kind| Facet::new(tag::TYPE, kind.word().as_bytes())));
    facets.extend(
        query.phone_number.as_deref().map(|phone| Facet::new(tag::PHONE, query::phone_number(phone).as_bytes())),
    );
    // The id of another account's row matches nothing: the page is empty.
    facets.extend(query.assistant_id.map(|id| Facet::id(tag::ASSISTANT, ctx.own(id).unwrap_or(0))));
    facets.extend(query.campaign_id.map(|id| Facet::id(tag::CAMPAIGN, ctx.own(id).unwrap_or(0))));
    let range = account.dates(Kind::Call, query.date_from.as_deref(), query.date_to.as_deref())?;
    let rows = Query::page(facets, range, Order::Descending, query.per_page, query.page);
    let mut links = ShownLinks::of(ctx, account);
    let reply = page::or_csv(ctx, account, Kind::Call, (&rows, query.separator), |count, row, out| {
        links.write(count, &complete_public(Row::public_of(row)?)?, out)
    })?;
    Ok(links.finish(reply))
}

/// Returns the call object of a stored call. One of a release that had fewer members gets the others as null.
fn complete_public(public: &[u8]) -> Result<Cow<'_, [u8]>, Stop> {
    // The last member that every release wrote: no text of the call stands behind it.
    const BEFORE: &[u8] = b"\"lead_id\":";
    const ADDED: &[u8] = b",\"cost_breakdown\":";
    let tail = public.windows(BEFORE.len()).rposition(|window| window == BEFORE).map_or(public, |at| &public[at..]);
    if tail.windows(ADDED.len()).any(|window| window == ADDED) {
        return Ok(Cow::Borrowed(public));
    }
    Ok(Cow::Owned(Call::read(public)?.to_json()))
}

/// `GET /user/calls/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Call, MISSING)?;
    let (mut links, mut body) = (ShownLinks::of(ctx, ctx.account()), Vec::new());
    links.write(count, &shown(ctx, count, row)?, &mut body)?;
    Ok(links.finish(Reply::ok_raw(body)))
}

/// Returns the call object. While a call runs, its transcript is assembled from its events on each read, so that no
/// event has to rewrite all of it.
pub(super) fn shown(ctx: &Ctx<'_>, count: u32, row: Row) -> Result<Vec<u8>, Stop> {
    if !is_running(&row) {
        return Ok(complete_public(&row.public)?.into_owned());
    }
    let account = ctx.account();
    let mut call = CallRow::of(count, row)?;
    if call.live.transcript_bytes > 0 {
        let lines = call.transcript(account)?;
        call.shown.transcript = formatted(&lines);
    }
    Ok(call.shown.to_json())
}

fn is_running(row: &Row) -> bool {
    let running = CallStatus::ALL.iter().filter(|status| status.is_running());
    running.map(|status| Facet::new(tag::STATUS, status.word().as_bytes())).any(|facet| row.facets.contains(&facet))
}

/// `DELETE /user/calls/{id}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Call, MISSING)?;
    let running = is_running(&row);
    ctx.if_match(&Raw(&shown(ctx, count, row)?))?;
    if running {
        return Err(Refusal::Conflict("The call is still running.".into()).into());
    }
    let account = ctx.account();
    let mut call = CallRow::find(account, count)?.ok_or(Refusal::NotFound(MISSING))?;
    // Pending work after the call is given up: the end of the call is still reported, but without a transcript.
    complete(account, &mut call, ctx.now)?;
    let row = account.find(Kind::Call, count)?.ok_or(Refusal::NotFound(MISSING))?;
    account.remove(Kind::Call, count, &row)?;
    webhook::erase(account, &[(Kind::Call, count)], ctx.now)?;
    recording::plan(account, count, ctx.now)?;
    // A call may have many events: a job deletes them in slices.
    job::add(account, ctx.now, Task::DropParts(Kind::Call, count))?;
    Ok(Reply::ok(&message("Call deleted successfully")))
}

/// `POST /user/make_call`
pub fn make_call(ctx: &Ctx<'_>) -> Handled {
    let new: NewCall = ctx.body()?;
    let account = ctx.account();
    let count = ctx.own(new.assistant_id).ok_or(Refusal::NotFound(assistant::MISSING))?;
    let assistant = account.find(Kind::Assistant, count)?.ok_or(Refusal::NotFound(assistant::MISSING))?;
    if suppression::has(account, &new.phone_number)? {
        let mut errors = Errors::default();
        errors.add("phone_number", SUPPRESSED);
        return Err(Refusal::Invalid(errors).into());
    }
    if Profile::of(account)?.state.is_used_up() {
        return Err(Refusal::Payment("Insufficient balance.".into()).into());
    }
    if ctx.setup.config.refuse_without_engine && !attached::any(ctx.root(), ctx.now)? {
        return Err(Refusal::NoEngine(NO_ENGINE).into());
    }
    let caller = CallAssistant::of(account, count, &assistant)?;
    if caller.number == CallerNumber::Unverified {
        return Err(Refusal::Unprocessable(UNVERIFIED.into()).into());
    }
    let (call, _) = place(
        account,
        CallSpec {
            kind: CallType::Outbound,
            caller,
            client_phone_number: Some(new.phone_number),
            variables: new.variables.0,
            campaign: None,
            lead: None,
            main: None,
        },
        ctx.now,
    )?;
    let (id, status) = (ctx.id(call), CallStatus::Initiated);
    Ok(Reply::ok(&PlacedCall {
        message: "Call initiated successfully".into(),
        call_id: id,
        status,
        data: Placed { id, status },
    }))
}

/// `POST /user/calls/{id}/hangup`
pub fn hangup(ctx: &Ctx<'_>) -> Handled {
    let (count, _) = ctx.named(Kind::Call, MISSING)?;
    let account = ctx.account();
    let mut call = CallRow::find(account, count)?.ok_or(Refusal::NotFound(MISSING))?;
    if !call.status().is_running() {
        return Err(Refusal::Conflict("The call is already over.".into()).into());
    }
    let is_claimed = call.live.engine.is_some();
    hang_up(account, &mut call, ctx.now)?;
    let said = if is_claimed { "The engine is told to hang up." } else { "The call was called off." };
    Ok(Reply::ok(&message(said)))
}

/// Calls off a running call that no engine has; of another one tells the engine, once.
fn hang_up(account: Scope<'_>, call: &mut CallRow, now: Timestamp) -> Result<(), Stop> {
    if call.live.engine.is_none() {
        return end_call(account, call, CallEvent::Fail, EndedReason::Hangup, now).map(drop);
    }
    if call.live.hangup_at.is_none() {
        call.live.hangup_at = Some(now);
        call.note(account, now.max(call.live.last_at), "hangup", &Members::default())?;
        call.save(account, now)?;
        announce(account, call)?;
        plan(account, call)?;
    }
    Ok(())
}

/// Hangs up the running calls of an account that is being deleted, at most `most` per call; returns whether each has been
/// told.
pub fn hang_up_all(account: Scope<'_>, most: usize, now: Timestamp) -> Result<bool, Stop> {
    let mut told = 0;
    let claimed = ids(account, Kind::Call, &facet_of_engaged(), PLAN_ROWS_MAX)?;
    for count in root::waiting_of(account, most)?.into_iter().chain(claimed) {
        let is_to_hear = |call: &CallRow| call.status().is_running() && call.live.hangup_at.is_none();
        let Some(mut call) = CallRow::find(account, count)?.filter(is_to_hear) else { continue };
        if told == most {
            return Ok(false);
        }
        hang_up(account, &mut call, now)?;
        told += 1;
    }
    Ok(told < most)
}

/// Returns whether an engine still has a call of the account.
pub fn is_engaged(account: Scope<'_>) -> Result<bool, Stop> {
    Ok(count(account, Kind::Call, &facet_of_engaged())? > 0)
}

/// `GET /user/calls/{id}/events`
pub fn events(ctx: &Ctx<'_>) -> Handled {
    let (count, _) = ctx.named(Kind::Call, MISSING)?;
    let query: EventsQuery = ctx.asks()?;
    let account = ctx.account();
    let after = stream::after(ctx)?.or(query.after).unwrap_or(0);
    let range = key::call_events(account.space(), count, after);
    let rows = webhook::read(ctx, account, range, EVENTS_PAGE_MAX)?;
    if stream::wanted(ctx) {
        let frames = rows
            .iter()
            .filter_map(|(at, bytes)| Some(Frame { seq: key::read_call_event(at)?.1, name: None, data: bytes }));
        let topic = Topic::Call(ctx.caller().account, count);
        let reply = stream::reply(topic, after, &frames.collect::<Vec<_>>());
        return Ok(stream::with_passing(reply, partial::of(account, count)?, stream::passed(ctx)?));
    }
    let shown: Vec<Raw<'_>> = rows.iter().map(|(_, bytes)| Raw(bytes)).collect();
    Ok(Reply::ok(&data(&shown)))
}
