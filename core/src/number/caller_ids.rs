//! Caller ids: numbers to show on outgoing calls, once the carrier confirms them.
//!
//! This sets the flag. Unverified numbers are refused by `call/operations.rs`, `campaign/operations.rs` and
//! `campaign/dialer.rs`; `call/place.rs` is the last guard.

use alloc::string::ToString;

use super::rows::NumberRow;
use super::tables::{Number, NumberType, OneNumber, Verification};
use super::{insert, row_of};
use crate::account::plan;
use crate::carrier::{Ask, CarrierAnswer};
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::key::Kind;
use crate::numbering;
use crate::record::{Iso, Rest, Stored};
use crate::store::Scope;

/// `POST /user/phone-numbers/caller-ids`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let number = ctx.body::<OneNumber>()?.phone_number;
    let account = ctx.account();
    if let Some(count) = row_of(account, &number, true)? {
        return again(ctx, count);
    }
    ctx.plan_room(Kind::Number, "phone numbers", plan::of(account)?.numbers.into(), Refusal::Forbidden)?;
    // A carrier that does not answer has not confirmed: the caller id stays unverified.
    let verified = ctx.carrier(&Ask::Verified(&number))? == CarrierAnswer::Verified(true);
    let (count, created_at) = account.allot(Kind::Number, ctx.now)?;
    let stored = NumberRow {
        country_code: numbering::country_of(&number).map(ToString::to_string),
        phone_number: number,
        r#type: NumberType::CallerId,
        nickname: None,
        sms_capable: false,
        verified,
        carrier_id: None,
        releasing: false,
        created_at: Iso(created_at),
        trunk: None,
        rest: Rest::default(),
    };
    insert(account, count, &stored, &[])?;
    Ok(Reply::created(&message_data("Caller id created successfully.", &Number::of(ctx.id(count), &stored))))
}

/// Handles a caller id that the account already has: the carrier is asked again unless it is verified.
fn again(ctx: &Ctx<'_>, count: u32) -> Handled {
    let account = ctx.account();
    let row = account.find(Kind::Number, count)?.ok_or(NumberRow::DAMAGED)?;
    let mut stored = NumberRow::read(&row.public)?;
    if stored.verified {
        return Err(Refusal::Declined("This caller id is already there.".into()).into());
    }
    stored.verified = ctx.carrier(&Ask::Verified(&stored.phone_number))? == CarrierAnswer::Verified(true);
    account.replace(Kind::Number, count, &row, &stored.row(&row.private))?;
    Ok(Reply::created(&message_data("Caller id updated successfully.", &Number::of(ctx.id(count), &stored))))
}

/// Sets `verified` of a caller id as the request body says.
pub fn set_verified(ctx: &Ctx<'_>, account: Scope<'_>, count: u32) -> Handled {
    const MISSING: Refusal = Refusal::NotFound("Caller id not found.");
    let row = account.find(Kind::Number, count)?.ok_or(MISSING)?;
    let mut stored = NumberRow::read(&row.public)?;
    if stored.r#type != NumberType::CallerId {
        return Err(MISSING.into());
    }
    let shown = |stored: &NumberRow| Number::of(id::of(account.space(), count), stored);
    let word: Verification = ctx.body()?;
    ctx.if_match(&shown(&stored))?;
    stored.verified = word.verified;
    account.replace(Kind::Number, count, &row, &stored.row(&row.private))?;
    Ok(Reply::ok(&message_data("Caller id updated successfully.", &shown(&stored))))
}
