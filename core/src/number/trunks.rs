//! SIP trunks: numbers of a telephone system that the account connects itself.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::operations::named as named_number;
use super::registration::{self, Registration};
use super::rows::{NumberRow, TrunkSettings, facet_of_type};
use super::tables::{NewTrunk, NumberType, Trunk};
use super::{insert, unique_value};
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

fn shown(id: u64, stored: &NumberRow, registration: Option<Registration>) -> Result<Trunk, Stop> {
    let trunk = stored.trunk.clone().ok_or(TrunkSettings::DAMAGED)?;
    Ok(Trunk {
        id,
        phone_number: trunk.phone_number,
        sip_trunk_type: trunk.sip_trunk_type,
        nickname: trunk.nickname,
        sip_username: trunk.sip_username,
        sip_address: trunk.sip_address,
        sip_calling_format: trunk.sip_calling_format,
        inbound_authorization_type: trunk.inbound_authorization_type,
        allowed_inbound_ips: trunk.allowed_inbound_ips,
        country_code: trunk.country_code,
        outbound_proxy: trunk.outbound_proxy,
        inbound_trunk_id: None,
        outbound_trunk_id: None,
        registration,
        created_at: stored.created_at,
        updated_at: trunk.updated_at.unwrap_or(stored.created_at),
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
        trunk: Some(TrunkSettings::new(new, None, Rest::default())),
        rest: Rest::default(),
    };
    (stored, password)
}

/// `GET /user/phone-numbers/sip-trunks`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let rows = ctx.account().list(Kind::Number, &facet_of_type(NumberType::Sip), PLAN_ROWS_MAX)?;
    let mut registrations = registration::of_account(ctx.account())?;
    let trunks = rows
        .into_iter()
        .map(|(count, row)| shown(ctx.id(count), &NumberRow::read(&row.public)?, registrations.remove(&count)))
        .collect::<Result<Vec<_>, Stop>>()?;
    Ok(Reply::ok(&data(&trunks)))
}

/// `POST /user/phone-numbers/sip-trunks`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let new: NewTrunk = ctx.body()?;
    let account = ctx.account();
    let (mut stored, password) = stored(&new, Iso(ctx.now));
    free(account, &stored)?;
    ctx.plan_room(Kind::Number, "phone numbers", plan::of(account)?.numbers.into(), Refusal::Forbidden)?;
    let (count, created_at) = account.allot(Kind::Number, ctx.now)?;
    stored.created_at = Iso(created_at);
    insert(account, count, &stored, &password)?;
    own(account, ctx.caller().account, count, &stored)?;
    Ok(Reply::created(&message_data("SIP trunk created successfully.", &shown(ctx.id(count), &stored, None)?)))
}

/// Refuses a number that somebody has, or an extension that the account has at this address.
fn free(account: Scope<'_>, stored: &NumberRow) -> Result<(), Halt> {
    let is_taken = if stored.is_extension() {
        account.get(key::unique(account.space(), Unique::Number, &unique_value(stored)))?.is_some()
    } else {
        root::owner(account, &stored.phone_number)?.is_some()
    };
    if is_taken { Err(Refusal::Conflict(TAKEN.into()).into()) } else { Ok(()) }
}

/// Notes in the root who has a number; an extension belongs to its account alone.
fn own(account: Scope<'_>, owner: u32, count: u32, stored: &NumberRow) -> Result<(), Stop> {
    if stored.is_extension() {
        return Ok(());
    }
    root::own(account, &stored.phone_number, Owner { account: owner, count, claim: 0 })
}

fn trunk(ctx: &Ctx<'_>) -> Result<(u32, Row, NumberRow), Halt> {
    let (count, row, stored) = named_number(ctx, MISSING)?;
    if stored.r#type == NumberType::Sip { Ok((count, row, stored)) } else { Err(Refusal::NotFound(MISSING).into()) }
}

/// Returns the count of the trunk that the path names, or 404.
pub fn named(ctx: &Ctx<'_>) -> Result<u32, Halt> {
    trunk(ctx).map(|(count, ..)| count)
}

fn registration(ctx: &Ctx<'_>, count: u32) -> Result<Option<Registration>, Stop> {
    Ok(registration::of_account(ctx.account())?.remove(&count))
}

/// `GET /user/phone-numbers/sip-trunks/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (count, _, stored) = trunk(ctx)?;
    Ok(Reply::ok(&data(&shown(ctx.id(count), &stored, registration(ctx, count)?)?)))
}

/// `PUT /user/phone-numbers/sip-trunks/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, row, before) = trunk(ctx)?;
    let settings = before.trunk.clone().ok_or(TrunkSettings::DAMAGED)?;
    let kept = settings.rest.clone();
    let new: NewTrunk = ctx.update(members(settings, &row.private)?)?;
    ctx.if_match(&data(&shown(ctx.id(count), &before, registration(ctx, count)?)?))?;
    let account = ctx.account();
    let (after, password) = stored(&new, before.created_at);
    let trunk = Some(TrunkSettings::new(&new, Some(Iso(ctx.now)), kept));
    let after = NumberRow { trunk, rest: before.rest.clone(), ..after };
    rename(account, ctx.caller().account, count, (&before, &after))?;
    account.replace(Kind::Number, count, &row, &after.row(&password))?;
    root::list_trunk(account, count, true)?;
    // It was about the settings before.
    registration::forget(account, count)?;
    Ok(Reply::ok(&message_data("SIP trunk updated successfully.", &shown(ctx.id(count), &after, None)?)))
}

fn rename(account: Scope<'_>, owner: u32, count: u32, (before, after): (&NumberRow, &NumberRow)) -> Result<(), Halt> {
    let (old, new) = (unique_value(before), unique_value(after));
    if old == new {
        return Ok(());
    }
    free(account, after)?;
    if !before.is_extension() {
        root::disown(account, &before.phone_number)?;
    }
    own(account, owner, count, after)?;
    account.delete(key::unique(account.space(), Unique::Number, &old))?;
    Ok(account.put(key::unique(account.space(), Unique::Number, &new), count.to_be_bytes().to_vec())?)
}
