//! Listing, reading, deleting and placing calls, in the order of API.md.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::tables::{AnsweredBy, Call, CallQuery, CallStatus, CallType, NewCall, Placed, PlacedCall};
use crate::account::profile::Profile;
use crate::collection::{Facet, Query};
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::id;
use crate::json::{self, Raw, ToJson, Value};
use crate::key::Kind;
use crate::record::{Choice, Sql};
use crate::store::Row;
use crate::view::{Order, Stop};
use crate::{assistant, number};

const MISSING: &str = "Call not found";

/// The filters of calls.
mod tag {
    pub const STATUS: u8 = 1;
    pub const TYPE: u8 = 2;
    pub const PHONE: u8 = 3;
    pub const ASSISTANT: u8 = 4;
    pub const CAMPAIGN: u8 = 5;
}

/// The facets of a call.
pub fn facets(call: &Call) -> Vec<Facet> {
    let mut facets = Vec::from([
        Facet::new(tag::STATUS, call.status.word().as_bytes()),
        Facet::new(tag::TYPE, call.r#type.word().as_bytes()),
        Facet::id(tag::ASSISTANT, id::count(call.assistant_id)),
    ]);
    facets.extend(call.client_phone_number.as_deref().map(|phone| Facet::new(tag::PHONE, phone.as_bytes())));
    facets.extend(call.campaign_id.map(|id| Facet::id(tag::CAMPAIGN, id::count(id))));
    facets
}

/// `GET /user/calls`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: CallQuery = ctx.asks()?;
    let account = ctx.account();
    let mut facets = Vec::new();
    facets.extend(query.status.map(|status| Facet::new(tag::STATUS, status.word().as_bytes())));
    facets.extend(query.r#type.map(|kind| Facet::new(tag::TYPE, kind.word().as_bytes())));
    facets.extend(query.phone_number.as_deref().map(|phone| Facet::new(tag::PHONE, plus(phone).as_bytes())));
    // An id of nobody's is in no set: the page is empty.
    facets.extend(query.assistant_id.map(|id| Facet::id(tag::ASSISTANT, ctx.own(id).unwrap_or(0))));
    facets.extend(query.campaign_id.map(|id| Facet::id(tag::CAMPAIGN, ctx.own(id).unwrap_or(0))));
    let range = account.dates(Kind::Call, query.date_from.as_deref(), query.date_to.as_deref())?;
    let query = Query::page(facets, range, Order::Descending, query.per_page, query.page);
    page::list(ctx, account, Kind::Call, &query, page::public)
}

/// A number in a query may lack its `+`, or carry the space that a `+` became on its way.
fn plus(text: &str) -> String {
    alloc::format!("+{}", text.trim().trim_start_matches('+'))
}

/// `GET /user/calls/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = ctx.named(Kind::Call, MISSING)?;
    Ok(Reply::ok_raw(row.public))
}

/// `DELETE /user/calls/{id}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Call, MISSING)?;
    ctx.if_match(&Raw(&row.public))?;
    let running = CallStatus::ALL
        .iter()
        .filter(|status| status.is_running())
        .any(|status| row.facets.contains(&Facet::new(tag::STATUS, status.word().as_bytes())));
    if running {
        return Err(Refusal::Conflict("The call is still running.".into()).into());
    }
    ctx.account().remove(Kind::Call, count, &row)?;
    Ok(Reply::ok(&message("Call deleted successfully")))
}

/// `POST /user/make_call`
pub fn make_call(ctx: &Ctx<'_>) -> Handled {
    let new: NewCall = ctx.body()?;
    let account = ctx.account();
    let assistant = match ctx.own(new.assistant_id) {
        Some(count) => account.find(Kind::Assistant, count)?,
        None => None,
    };
    let assistant = assistant.ok_or(Refusal::NotFound(assistant::MISSING))?;
    if Profile::of(account)?.state.balance.is_some_and(|balance| balance <= 0) {
        return Err(Refusal::Payment("Insufficient balance.".into()).into());
    }
    let (name, phone) = caller(ctx, &assistant)?;
    let (count, at) = account.allot(Kind::Call, ctx.now)?;
    let id = ctx.id(count);
    let call = Call {
        id,
        assistant_name: name,
        campaign_name: None,
        r#type: CallType::Outbound,
        duration: 0,
        assistant_phone_number: phone,
        client_phone_number: Some(new.phone_number),
        status: CallStatus::Initiated,
        transcript: String::new(),
        variables: new.variables,
        evaluation: None,
        webhook_response: None,
        carrier_cost: 0.0,
        total_cost: 0.0,
        answered_by: AnsweredBy::Unknown,
        recording_url: None,
        created_at: Sql(at),
        updated_at: Sql(at),
        assistant_id: new.assistant_id,
        campaign_id: None,
        lead_id: None,
    };
    account.insert(Kind::Call, count, at, &Row::open(facets(&call), call.to_json()))?;
    let status = CallStatus::Initiated;
    Ok(Reply::ok(&PlacedCall {
        message: "Call initiated successfully".into(),
        call_id: id,
        status,
        data: Placed { id, status },
    }))
}

/// Name and number of the assistant, as they are now.
fn caller(ctx: &Ctx<'_>, assistant: &Row) -> Result<(String, Option<String>), Stop> {
    const DAMAGED: Stop = Stop::Corrupt("an assistant has an unknown form");
    let value = json::parse(&assistant.public).map_err(|_| DAMAGED)?;
    let name = value.member("name").and_then(Value::as_text).ok_or(DAMAGED)?.to_string();
    let phone = match value.member("phone_number_id").and_then(Value::as_u64).and_then(|id| ctx.own(id)) {
        Some(count) => number::e164_of(ctx.account(), count)?,
        None => None,
    };
    Ok((name, phone))
}
