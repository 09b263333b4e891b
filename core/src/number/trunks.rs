//! SIP trunks: numbers of a telephone system that the account connects itself.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::insert;
use super::operations::named;
use super::rows::{NumberRow, TrunkSettings, facet_of_type};
use super::tables::{NewTrunk, NumberType, Trunk};
use crate::account::plan;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message_data};
use crate::http::route::Handled;
use crate::json::{self, Members};
use crate::key::{self, Kind, Unique};
use crate::limits::PLAN_ROWS_MAX;
use crate::numbering;
use crate::record::{Iso, Rest, Secret, Stored};
use crate::root::{self, Owner};
use crate::store::{Row, Scope};
use crate::view::Stop;

const MISSING: &str = "SIP trunk not found.";
const TAKEN: &str = "This phone number is already in use.";

/// Returns the members that an update is merged into, the password in clear.
fn members(settings: TrunkSettings, password: &[u8]) -> Result<Members, Stop> {
    let password = String::from_utf8(password.to_vec()).map_err(|_| TrunkSettings::DAMAGED)?;
    Ok(json::members(&settings.into_body(Some(Secret(password)).filter(|password| !password.0.is_empty()))))
}

fn shown(id: u64, stored: &NumberRow) -> Result<Trunk, Stop> {
    let trunk = stored.trunk.clone().ok_or(TrunkSettings::DAMAGED)?;
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
        created_at: stored.created_at,
    })
}

/// Builds the row of a trunk; returns its password, which is stored in the private part, beside it.
fn stored(new: &NewTrunk, created_at: Iso) -> (NumberRow, Vec<u8>) {
    let country =
        new.country_code.clone().or_else(|| numbering::country_of(&new.phone_number).map(ToString::to_string));
    let password = new.sip_password.as_ref().map_or_else(Vec::new, |Secret(text)| text.as_bytes().to_vec());
    let stored = NumberRow {
        phone_number: new.phone_number.clone(),
        r#type: NumberType::Sip,
        nickname: new.nickname.clone(),
        country_code: country,
        sms_capable: false,
        verified: true,
        carrier_id: None,
        releasing: false,
        created_at,
        trunk: Some(TrunkSettings::new(new, Rest::default())),
        rest: Rest::default(),
    };
    (stored, password)
}

/// `GET /user/phone-numbers/sip-trunks`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let rows = ctx.account().list(Kind::Number, &facet_of_type(NumberType::Sip), PLAN_ROWS_MAX)?;
    let trunks = rows
        .into_iter()
        .map(|(count, row)| shown(ctx.id(count), &NumberRow::read(&row.public)?))
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
    let (stored, password) = stored(&new, Iso(created_at));
    insert(account, count, &stored, &password)?;
    root::own(account, &new.phone_number, Owner { account: ctx.caller().account, count, claim: 0 })?;
    Ok(Reply::created(&message_data("SIP trunk created successfully.", &shown(ctx.id(count), &stored)?)))
}

fn trunk(ctx: &Ctx<'_>) -> Result<(u32, Row, NumberRow), Halt> {
    let (count, row, stored) = named(ctx, MISSING)?;
    if stored.r#type == NumberType::Sip { Ok((count, row, stored)) } else { Err(Refusal::NotFound(MISSING).into()) }
}

/// `GET /user/phone-numbers/sip-trunks/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (count, _, stored) = trunk(ctx)?;
    Ok(Reply::ok(&data(&shown(ctx.id(count), &stored)?)))
}

/// `PUT /user/phone-numbers/sip-trunks/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, row, before) = trunk(ctx)?;
    let settings = before.trunk.clone().ok_or(TrunkSettings::DAMAGED)?;
    let kept = settings.rest.clone();
    let new: NewTrunk = ctx.update(members(settings, &row.private)?)?;
    ctx.if_match(&data(&shown(ctx.id(count), &before)?))?;
    let account = ctx.account();
    if new.phone_number != before.phone_number {
        rename(account, ctx.caller().account, count, &before.phone_number, &new.phone_number)?;
    }
    let (after, password) = stored(&new, before.created_at);
    let after = NumberRow { trunk: Some(TrunkSettings::new(&new, kept)), rest: before.rest, ..after };
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
