//! Calls that an engine reports: from a telephone or a browser (docs/api.md, Bringing calls).

use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use super::claim::{entry, lend};
use super::compiled;
use super::incoming;
use super::tables::{Arrival, NewArrival};
use super::telephony::{self, is_of_trunk};
use crate::account::profile::Profile;
use crate::assistant::rows::{facet_of_number, facet_of_type};
use crate::assistant::tables::{Assistant, Direction, InboundEvent, Status};
use crate::call::ending::end_call;
use crate::call::reasons::EndedReason;
use crate::call::states::CallEvent;
use crate::call::tables::CallType;
use crate::call::web;
use crate::call::{CallAssistant, CallRow, CallSpec, place};
use crate::campaign::wake_those_of;
use crate::collection::{Query, page};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::json::{Members, Raw};
use crate::key::{self, Kind, Space, Unique};
use crate::number::{self, CallerNumber};
use crate::record::format::dialed;
use crate::record::{Errors, MemberTuple, Secret, is_e164};
use crate::root;
use crate::store::{Row, Scope};
use crate::view::{Order, Stop};
use crate::webhook::{FirstUse, activate};

const NOBODY: &str = "No active inbound assistant holds this number.";
const NOT_ON_TRUNK: &str = "The number is not on this trunk.";
const ENDED: &str = "The call with this external_id is over, or has other numbers.";
const MISSING: &str = "Assistant not found";
const LARGE: &str = "The assistant of the call is larger than 1 MiB.";
/// Calls of earlier days that are forgotten with each new one.
const FORGOTTEN: usize = 8;
const LOST: Stop = Stop::Corrupt("an arriving call was not noted");

/// `POST /engine/calls`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let body: NewArrival = ctx.body()?;
    telephony::shows_credentials(ctx)?;
    let network = Network::of(ctx, &body)?;
    if ctx.answered() == 0
        && let Some(again) = network.as_ref().map_or(Ok(None), |network| network.again(ctx))?
    {
        return Ok(again);
    }
    if let Some(Secret(token)) = body.token.as_ref().filter(|_| body.r#type == Arrival::Web) {
        return enter(ctx, &body, token);
    }
    let (account, assistant, row) = match body.r#type {
        Arrival::Inbound => called(ctx, body.to.as_deref().unwrap_or_default(), body.trunk_id)?,
        Arrival::Web => visited(ctx, body.assistant_id.ok_or_else(unnamed)?)?,
    };
    ctx.works_for(account.space());
    let mut call =
        if ctx.answered() == 0 { arrive(ctx, account, assistant, &row, body)? } else { noted(ctx, account)? };
    if let Some(network) = network.filter(|_| ctx.answered() == 0) {
        network.note(ctx, account, call.count)?;
    }
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
    Ok(Reply::created(&Raw(&entry(ctx, account, &mut call, &compiled)?)).header("cache-control", "no-store"))
}

/// Refuses a web call that names neither its token nor an assistant.
fn unnamed() -> Refusal {
    let mut errors = Errors::default();
    errors.say("assistant_id", "field is required when type is web and there is no token.");
    Refusal::Invalid(errors)
}

/// Lends a web call that was made to the engine that its browser talks to.
fn enter(ctx: &Ctx<'_>, body: &NewArrival, token: &str) -> Handled {
    let (account, mut call) = web::shown(ctx, token, body.origin.as_deref())?;
    ctx.works_for(account.space());
    let compiled = compiled::compile(ctx, account, &call)?.ok_or(Refusal::Unprocessable(LARGE.into()))?;
    call.live.engine_name.clone_from(&body.engine);
    call.live.protocol = body.protocol;
    lend(ctx, ctx.engine(), account, &mut call, &Members::default())?;
    Ok(Reply::created(&Raw(&entry(ctx, account, &mut call, &compiled)?)).header("cache-control", "no-store"))
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
        client_phone_number: body.from.as_deref().map(dialed).filter(|number| is_e164(number)),
        variables: body.variables.0,
        campaign: None,
        lead: None,
        main: None,
    };
    let (count, _) = place(account, new, ctx.now)?;
    let mut call = CallRow::find(account, count)?.ok_or(LOST)?;
    // The network may say what is no number: an extension, or that the caller withholds it.
    call.shown.from_raw = body.from.filter(|_| call.shown.client_phone_number.is_none());
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

/// What the network calls a call that an engine brings, and the numbers that it told.
struct Network {
    account: u32,
    at: key::Key,
    numbers: [u8; 32],
}

impl Network {
    /// Returns it of a call with an `external_id` to somebody.
    fn of(ctx: &Ctx<'_>, body: &NewArrival) -> Result<Option<Self>, Stop> {
        let Some(external_id) = &body.external_id else { return Ok(None) };
        let Some(account) = account_of(ctx, body)? else { return Ok(None) };
        let (day, digest) = (ctx.now.seconds() / 86_400, Sha256::digest(external_id).into());
        let (token, trunk) = (ctx.engine().token, body.trunk_id.unwrap_or(0));
        let at = key::brought(Space::Account(account), day, token, trunk, &digest);
        let number = |text: &Option<String>| text.clone().unwrap_or_default();
        let numbers = [number(&body.from), number(&body.to)].join("\n");
        Ok(Some(Self { account, at, numbers: Sha256::digest(numbers).into() }))
    }

    /// Answers with the call that was brought before, if it was: 409 if it is over, or the numbers are others.
    fn again(&self, ctx: &Ctx<'_>) -> Result<Option<Reply>, Halt> {
        let account = root::space_of(ctx.root(), self.account);
        let Some(row) = account.get(self.at.clone())? else { return Ok(None) };
        let (count, numbers) = row.split_first_chunk().ok_or(LOST)?;
        let count = u32::from_be_bytes(*count);
        let is_own = |call: &CallRow| call.status().is_running() && call.live.engine == Some(ctx.engine().token);
        let call = CallRow::find(account, count)?.filter(|call| is_own(call) && numbers == self.numbers);
        let mut call = call.ok_or(Refusal::Conflict(ENDED.into()))?;
        let compiled = compiled::compile(ctx, account, &call)?.ok_or(Refusal::Unprocessable(LARGE.into()))?;
        let entry = entry(ctx, account, &mut call, &compiled)?;
        Ok(Some(Reply::ok(&Raw(&entry)).header("cache-control", "no-store")))
    }

    /// Notes the call, and forgets a few of earlier days.
    fn note(&self, ctx: &Ctx<'_>, account: Scope<'_>, count: u32) -> Result<(), Stop> {
        let past = key::brought_before(account.space(), ctx.now.seconds() / 86_400);
        for (at, _) in account.scan(past, Order::Ascending, FORGOTTEN)? {
            account.delete(at)?;
        }
        account.put(self.at.clone(), [&count.to_be_bytes()[..], &self.numbers].concat())
    }
}

/// Returns the account that a call is for, as the number, the trunk or the assistant says it, which may not be there.
fn account_of(ctx: &Ctx<'_>, body: &NewArrival) -> Result<Option<u32>, Stop> {
    let named = match body.r#type {
        Arrival::Inbound => body.trunk_id,
        Arrival::Web => body.assistant_id,
    };
    match (named, &body.to) {
        (Some(id), _) => Ok(Some(id::split(id).0)),
        (None, Some(to)) => Ok(root::owner(ctx.root(), &dialed(to))?.map(|owner| owner.account)),
        (None, None) => Ok(None),
    }
}

/// Finds the inbound assistant that holds a number and is active, or becomes it with this first use, in any account
/// that the engine serves; 403 if the number is not on the trunk over which the call came.
fn called<'c>(ctx: &'c Ctx<'_>, to: &str, trunk: Option<u64>) -> Result<(Scope<'c>, u32, Row), Halt> {
    let missing = || Halt::from(Refusal::NotFound(NOBODY));
    let (number, holder) = if let Some(trunk) = trunk {
        id::split(trunk)
    } else {
        let owner = root::owner(ctx.root(), &dialed(to))?.filter(|owner| owner.count > 0).ok_or_else(missing)?;
        (owner.account, owner.count)
    };
    if !ctx.engine().serves(number) {
        return Err(missing());
    }
    let account = root::space_of(ctx.root(), number);
    if trunk.is_some() {
        let (_, stored) = number::find(account, holder)?.ok_or_else(missing)?;
        if !is_of_trunk(&stored, to) {
            return Err(Refusal::Forbidden(NOT_ON_TRUNK.into()).into());
        }
    }
    let facets = Vec::from([facet_of_number(holder), facet_of_type(Direction::Inbound)]);
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
