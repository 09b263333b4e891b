//! SIP trunks: numbers that a user's own telephone system brings along.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::operations::named;
use super::tables::{NewTrunk, NumberType, Trunk};
use super::{Stored, insert, tag};
use crate::account::plan;
use crate::collection::Facet;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message_data};
use crate::http::route::Handled;
use crate::json::{Members, ToJson, Value, parse};
use crate::key::{self, Kind, Unique};
use crate::limits::PLAN_ROWS_MAX;
use crate::numbering;
use crate::record::Record;
use crate::record::{Iso, Secret, Source, check};
use crate::root::{self, Owner};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const MISSING: &str = "SIP trunk not found.";
const TAKEN: &str = "This phone number is already in use.";
const DAMAGED: Stop = Stop::Corrupt("a trunk has an unknown form");

/// The trunk's settings as members, its password with them.
fn members(stored: &Stored, password: &[u8]) -> Result<Members, Stop> {
    let Some(Value::Object(mut members)) = stored.trunk.clone() else { return Err(DAMAGED) };
    if !password.is_empty() {
        members.set("sip_password", Value::Text(core::str::from_utf8(password).map_err(|_| DAMAGED)?.to_string()));
    }
    Ok(members)
}

fn shown(id: u64, stored: &Stored) -> Result<Trunk, Stop> {
    let mut members = members(stored, &[])?;
    // The password is required by a rule that only its presence satisfies; it is never shown.
    members.set("sip_password", Value::Text("***".into()));
    let trunk: NewTrunk = check(NewTrunk::TABLE, members, Source::Body).finish().map_err(|_| DAMAGED)?;
    Ok(Trunk {
        id,
        phone_number: trunk.phone_number,
        nickname: trunk.nickname,
        sip_username: trunk.sip_username,
        sip_address: trunk.sip_address,
        sip_calling_format: trunk.sip_calling_format,
        inbound_authorization_type: trunk.inbound_authorization_type,
        allowed_inbound_ips: trunk.allowed_inbound_ips,
        country_code: trunk.country_code,
        outbound_proxy: trunk.outbound_proxy,
        created_at: Iso(stored.created_at),
    })
}

fn stored(new: &NewTrunk, created_at: Timestamp) -> Result<(Stored, Vec<u8>), Stop> {
    let Ok(Value::Object(mut settings)) = parse(&new.to_json()) else { return Err(DAMAGED) };
    settings.remove("sip_password");
    let country =
        new.country_code.clone().or_else(|| numbering::country_of(&new.phone_number).map(ToString::to_string));
    let password = new.sip_password.as_ref().map_or_else(Vec::new, |Secret(text)| text.as_bytes().to_vec());
    Ok((
        Stored {
            phone_number: new.phone_number.clone(),
            kind: NumberType::Sip,
            nickname: new.nickname.clone(),
            country_code: country,
            sms_capable: false,
            verified: true,
            carrier_id: None,
            releasing: false,
            created_at,
            trunk: Some(Value::Object(settings)),
        },
        password,
    ))
}

/// `GET /user/phone-numbers/sip-trunks`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let rows =
        ctx.account().list(Kind::Number, &Facet::new(tag::TYPE, NumberType::Sip.word().as_bytes()), PLAN_ROWS_MAX)?;
    let trunks = rows
        .into_iter()
        .map(|(count, row)| shown(ctx.id(count), &Stored::of(&row.public)?))
        .collect::<Result<Vec<_>, Stop>>()?;
    Ok(Reply::ok(&data(&trunks)))
}

/// `POST /user/phone-numbers/sip-trunks`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let new: NewTrunk = ctx.body()?;
    let account = ctx.account();
    if root::owner(account, &new.phone_number)?.is_some() {
        return Err(Refusal::Conflict(TAKEN.into()).into());
    }
    ctx.plan_room(Kind::Number, "phone numbers", plan::of(account)?.numbers.into(), Refusal::Forbidden)?;
    let (count, created_at) = account.allot(Kind::Number, ctx.now)?;
    let (stored, password) = stored(&new, created_at)?;
    insert(account, count, &stored, &password)?;
    root::own(account, &new.phone_number, Owner { account: ctx.caller().account, count, claim: 0 })?;
    Ok(Reply::created(&message_data("SIP trunk created successfully.", &shown(ctx.id(count), &stored)?)))
}

fn trunk(ctx: &Ctx<'_>) -> Result<(u32, Row, Stored), Halt> {
    let (count, row, stored) = named(ctx, MISSING)?;
    if stored.kind == NumberType::Sip { Ok((count, row, stored)) } else { Err(Refusal::NotFound(MISSING).into()) }
}

/// `GET /user/phone-numbers/sip-trunks/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (count, _, stored) = trunk(ctx)?;
    Ok(Reply::ok(&data(&shown(ctx.id(count), &stored)?)))
}

/// `PUT /user/phone-numbers/sip-trunks/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, row, before) = trunk(ctx)?;
    let new: NewTrunk = ctx.update(members(&before, &row.private)?)?;
    ctx.if_match(&data(&shown(ctx.id(count), &before)?))?;
    let account = ctx.account();
    if new.phone_number != before.phone_number {
        rename(account, ctx.caller().account, count, &before.phone_number, &new.phone_number)?;
    }
    let (after, password) = stored(&new, before.created_at)?;
    account.replace(Kind::Number, count, &row, &after.row(&password))?;
    Ok(Reply::ok(&message_data("SIP trunk updated successfully.", &shown(ctx.id(count), &after)?)))
}

fn rename(account: Scope<'_>, owner: u32, count: u32, old: &str, new: &str) -> Result<(), Halt> {
    if root::owner(account, new)?.is_some() {
        return Err(Refusal::Conflict(TAKEN.into()).into());
    }
    root::disown(account, old)?;
    root::own(account, new, Owner { account: owner, count, claim: 0 })?;
    let unique = |number: &str| key::unique(account.space(), Unique::Number, &[b"n", number.as_bytes()].concat());
    account.delete(unique(old))?;
    Ok(account.put(unique(new), count.to_be_bytes().to_vec())?)
}
