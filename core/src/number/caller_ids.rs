//! Caller ids: numbers to show on outgoing calls, once the carrier confirms them.

use alloc::string::ToString;

use super::tables::{Number, NumberType, OneNumber};
use super::{Stored, insert, row_of};
use crate::account::root;
use crate::carrier::{Ask, Told, numbering};
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::key::Kind;

/// `POST /user/phone-numbers/caller-ids`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let number = ctx.body::<OneNumber>()?.phone_number;
    let account = ctx.account();
    if row_of(account, &number, true)?.is_some() {
        return Err(Refusal::Declined("This caller id is already there.".into()).into());
    }
    ctx.plan_room(Kind::Number, "phone numbers", root::plan(account)?.numbers.into(), Refusal::Forbidden)?;
    // A carrier that does not answer has not confirmed: the caller id stays unverified.
    let verified = ctx.carrier(&Ask::Verified(&number))? == Told::Verified(true);
    let (count, created_at) = account.allot(Kind::Number, ctx.now)?;
    let stored = Stored {
        country_code: numbering::country_of(&number).map(ToString::to_string),
        phone_number: number,
        kind: NumberType::CallerId,
        nickname: None,
        sms_capable: false,
        verified,
        carrier_id: None,
        releasing: false,
        created_at,
        trunk: None,
    };
    insert(account, count, &stored, &[])?;
    Ok(Reply::created(&message_data("Caller id created successfully.", &Number::of(ctx.id(count), &stored))))
}
