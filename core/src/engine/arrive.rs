//! Calls that an engine reports: from a telephone or a browser (docs/api.md, Bringing calls).

use alloc::vec::Vec;

use super::claim::{entry, lend};
use super::compiled;
use super::incoming;
use super::tables::{Arrival, NewArrival};
use crate::account::profile::Profile;
use crate::assistant::rows::{facet_of_number, facet_of_type};
use crate::assistant::tables::{Assistant, Direction, InboundEvent, Status};
use crate::call::ending::end_call;
use crate::call::reasons::EndedReason;
use crate::call::states::CallEvent;
use crate::call::tables::CallType;
use crate::call::{CallAssistant, CallRow, CallSpec, place};
use crate::campaign::wake_those_of;
use crate::collection::{Query, page};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::json::{Members, Raw};
use crate::key::{self, Kind, Unique};
use crate::number::CallerNumber;
use crate::record::MemberTuple;
use crate::root;
use crate::store::{Row, Scope};
use crate::view::{Order, Stop};
use crate::webhook::{FirstUse, activate};

const NOBODY: &str = "No active inbound assistant holds this number.";
const MISSING: &str = "Assistant not found";
const LARGE: &str = "The assistant of the call is larger than 1 MiB.";
const LOST: Stop = Stop::Corrupt("an arriving call was not noted");

/// `POST /engine/calls`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let body: NewArrival = ctx.body()?;
    let (account, assistant, row) = match body.r#type {
        Arrival::Inbound => called(ctx, body.to.as_deref().unwrap_or_default())?,
        Arrival::Web => visited(ctx, body.assistant_id.unwrap_or(0))?,
    };
    ctx.works_for(account.space());
    let mut call =
        if ctx.answered() == 0 { arrive(ctx, account, assistant, &row, body)? } else { noted(ctx, account)? };
    let (url, events) =
        (Assistant::MEMBERS.inbound_webhook_url, Assistant::MEMBERS.inbound_webhook_events).read(&row.public)?;
    let is_asked = call.shown.r#type == CallType::Inbound && events.contains(&InboundEvent::Incoming);
    let url = url.filter(|_| is_asked);
    if let Some(url) = url {
        let asked = incoming::ask(ctx, account, &mut call, &url)?;
        incoming::apply_webhook_answer(ctx, account, &mut call, &url, &asked)?;
    }
    account.delete(note(ctx, account))?;
    let Some(mut compiled) = compiled::compile(ctx, account, &call)? else {
        let refusal = Refusal::Unprocessable(LARGE.into());
        if ctx.answered() == 0 {
            return Err(refusal.into());
        }
        // The call was committed before its webhook was asked: it is kept, as failed.
        end_call(account, &mut call, CallEvent::Fail, EndedReason::AssistantTooLarge, ctx.now)?;
        return Ok(ctx.refused(refusal));
    };
    let is_inbound = call.shown.r#type == CallType::Inbound;
    if is_inbound && activate(account, assistant, FirstUse::Call, call.count, ctx.now)? {
        wake_those_of(account, assistant, ctx.now)?;
        // The engine gets the assistant as it is from here on: active, which takes no more room.
        compiled = compiled::compile(ctx, account, &call)?.unwrap_or(compiled);
    }
    Ok(Reply::created(&Raw(&entry(account, &mut call, &compiled, ctx.now)?)))
}

fn note(ctx: &Ctx<'_>, account: Scope<'_>) -> key::Key {
    key::unique(account.space(), Unique::Arrival, ctx.uuid("arrival").as_bytes())
}

/// Creates the call, leased to the engine that reports it, and notes its id for the next run, which has the webhook's
/// answer.
fn arrive(ctx: &Ctx<'_>, account: Scope<'_>, count: u32, row: &Row, body: NewArrival) -> Result<CallRow, Halt> {
    if Profile::of(account)?.state.suspended {
        return Err(Refusal::NotFound(NOBODY).into());
    }
    let mut caller = CallAssistant::of(account, count, row)?;
    let kind = match body.r#type {
        Arrival::Inbound => CallType::Inbound,
        Arrival::Web => CallType::Web,
    };
    if kind == CallType::Web {
        caller.number = CallerNumber::Shown(None);
    }
    let new = CallSpec {
        kind,
        caller,
        client_phone_number: body.from,
        variables: body.variables.0,
        campaign: None,
        lead: None,
        main: None,
    };
    let (count, _) = place(account, new, ctx.now)?;
    let mut call = CallRow::find(account, count)?.ok_or(LOST)?;
    call.live.engine_name = body.engine;
    call.live.protocol = body.protocol;
    lend(ctx, ctx.engine(), account, &mut call, &Members::default())?;
    account.put(note(ctx, account), call.count.to_be_bytes().to_vec())?;
    Ok(call)
}

fn noted(ctx: &Ctx<'_>, account: Scope<'_>) -> Result<CallRow, Stop> {
    let count = account.get(note(ctx, account))?.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)));
    CallRow::find(account, count.ok_or(LOST)?)?.ok_or(LOST)
}

/// Finds the inbound assistant that holds a number and is active, or becomes it with this first use, in any account
/// that the engine serves.
fn called<'c>(ctx: &'c Ctx<'_>, number: &str) -> Result<(Scope<'c>, u32, Row), Halt> {
    let missing = || Halt::from(Refusal::NotFound(NOBODY));
    let owner = root::owner(ctx.root(), number)?.filter(|owner| owner.count > 0).ok_or_else(missing)?;
    if !ctx.engine().serves(owner.account) {
        return Err(missing());
    }
    let account = root::space_of(ctx.root(), owner.account);
    let facets = Vec::from([facet_of_number(owner.count), facet_of_type(Direction::Inbound)]);
    let holders = page(account, Kind::Assistant, &Query::of(facets, Order::Ascending, 0, 1))?.ids;
    let count = *holders.first().ok_or_else(missing)?;
    let row = account.find(Kind::Assistant, count)?.ok_or_else(missing)?;
    let its = Assistant::MEMBERS;
    let (status, activates_on_use) = (its.status, its.activates_on_use).read(&row.public)?;
    if status == Status::Active || activates_on_use { Ok((account, count, row)) } else { Err(missing()) }
}

/// Finds the assistant that the visitor of a web page talks to.
fn visited<'c>(ctx: &'c Ctx<'_>, assistant: u64) -> Result<(Scope<'c>, u32, Row), Halt> {
    let missing = || Halt::from(Refusal::NotFound(MISSING));
    let (number, count) = id::split(assistant);
    let account = root::space_of(ctx.root(), number);
    let row = account.find(Kind::Assistant, count)?.filter(|_| ctx.engine().serves(number)).ok_or_else(missing)?;
    Ok((account, count, row))
}
