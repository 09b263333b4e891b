//! Operations on leads, in the order of docs/api.md: create, list, read, change and delete.

use alloc::string::String;
use alloc::vec::Vec;

use super::creation::{self, DUPLICATE, check_people};
use super::phones;
use super::recall;
use super::rows::{self, Dial, LeadRow, facet_of_campaign, facet_of_status};
use super::states::{LeadEvent, MOVES};
use super::tables::{ChangedLead, LeadQuery, NewLead};
use crate::collection::Query;
use crate::http::csv;
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::query;
use crate::http::refs;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::job::{self, Task};
use crate::json::Raw;
use crate::key::Kind;
use crate::record::{Cell, Errors, Iso, MemberSource, Record, Stored, check, variables};
use crate::store::Row;
use crate::view::{Order, Stop};
use crate::webhook;

const MISSING: &str = "Lead not found";
const AUTOMATIC: &str = "This status is assigned automatically and cannot be set manually";

/// `POST /user/lead`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let mut checked = creation::check_new(ctx.members()?);
    refs::check(ctx, &mut checked, None)?;
    let new: NewLead = ctx.finish(checked)?;
    let account = ctx.account();
    let campaign = ctx.own(new.campaign_id).ok_or(Refusal::NotFound(MISSING))?;
    let errors = creation::duplicates(account, campaign, &new)?;
    if !errors.is_empty() {
        return Err(Refusal::Invalid(errors).into());
    }
    let (count, lead) = creation::enter(account, campaign, new, ctx.now)?;
    job::add(account, ctx.now, Task::Dial(campaign))?;
    Ok(Reply::ok(&message_data("Lead created successfully", &rows::show(account, count, &lead)?)))
}

/// `GET /user/leads`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: LeadQuery = ctx.asks()?;
    let account = ctx.account();
    let mut facets = Vec::new();
    facets.extend(query.status.map(facet_of_status));
    facets.extend(query.campaign_id.map(|id| facet_of_campaign(ctx.own(id).unwrap_or(0))));
    let range = account.dates(Kind::Lead, query.date_from.as_deref(), query.date_to.as_deref())?;
    let show = |count: u32, row: &[u8], out: &mut Vec<u8>| -> Result<(), Stop> {
        out.extend_from_slice(&rows::json(account, count, &LeadRow::read(Row::public_of(row)?)?)?);
        Ok(())
    };
    let part: Option<String> = query.phone_number.map(|text| query::phone_number(&text).split_off(1));
    let rows = Query::page(facets, range, Order::Descending, query.per_page, query.page);
    let Some(part) = part.filter(|part| !part.is_empty()) else {
        return page::or_csv(ctx, account, Kind::Lead, (&rows, query.separator), show);
    };
    if csv::is_wanted(ctx.route, ctx.request) {
        let mut column = phones::PhoneColumn::of(account);
        let keep = |count| column.contains(count, &part);
        return csv::reply(ctx, (account, Kind::Lead), (&rows, query.separator), keep, show);
    }
    page::of(ctx, account, Kind::Lead, &rows, || Ok(phones::page(account, &rows, &part)?), show)
}

fn named(ctx: &Ctx<'_>) -> Result<(u32, Row, LeadRow), Halt> {
    let count = ctx.param(0).ok_or(Refusal::NotFound(MISSING))?;
    let (row, stored) = rows::find(ctx.account(), count)?.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    Ok((count, row, stored))
}

/// `GET /user/leads/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (count, _, lead) = named(ctx)?;
    Ok(Reply::ok(&rows::show(ctx.account(), count, &lead)?))
}

/// `PUT /user/leads/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, row, before) = named(ctx)?;
    let mut checked = check(ChangedLead::TABLE, ctx.members()?, MemberSource::Body);
    check_people(&mut checked);
    if let Cell::Text(word) = checked.get("status")
        && !["created", "completed", "reached-max-retries", before.status.word()].contains(&word.as_str())
    {
        checked.errors.add("status", AUTOMATIC);
    }
    refs::check(ctx, &mut checked, None)?;
    let change: ChangedLead = ctx.finish(checked)?;
    // The present status changes nothing.
    let status = change.status.filter(|status| *status != before.status);
    let account = ctx.account();
    let campaign = change.campaign_id.and_then(|id| ctx.own(id)).unwrap_or(before.campaign);
    let mut after = before.clone();
    after.campaign = campaign;
    after.phone_number = change.phone_number.unwrap_or(after.phone_number);
    let waiting = recall::waiting(account, count, &before)?;
    if let Some(status) = status {
        after.status = MOVES.next(after.status, LeadEvent::set(status)).unwrap_or(status);
        after = after.with_dial(anew(&before, waiting.is_some()));
    }
    change.variables.merge_into(&mut after.variables);
    check_change(ctx, count, &before, &after)?;
    ctx.if_match(&Raw(&rows::json(account, count, &before)?))?;
    after.updated_at = Iso(ctx.now.max(before.updated_at.0));
    rows::replace(account, count, &row, &before, &after)?;
    // Secondary contacts move to the campaign of their lead.
    for (contact, bytes) in after.contacts.iter().zip(account.rows(Kind::Lead, &after.contacts)?) {
        let row = Row::from_bytes(&bytes)?;
        let own = LeadRow::read(&row.public)?;
        rows::replace(account, *contact, &row, &own, &LeadRow { campaign, ..own.clone() })?;
    }
    let elsewhere = (before.campaign, &before.phone_number) != (after.campaign, &after.phone_number);
    if elsewhere || status.is_some() && before.parent.is_none() {
        recall::call_off(account, waiting, before.parent.unwrap_or(count), ctx.now)?;
    }
    job::add(account, ctx.now, Task::Dial(after.campaign))?;
    Ok(Reply::ok(&message("Lead updated successfully")))
}

/// Returns the dialer's progress after the API set a status: from the start. A call that an engine has claimed goes on
/// and stays recorded, so that the lead is not called twice at once.
fn anew(lead: &LeadRow, called_off: bool) -> Dial {
    let Dial { person, call, .. } = lead.dial();
    if call == 0 || called_off { Dial::default() } else { Dial { person, call, ..Dial::default() } }
}

/// Refuses a number that the campaign already has, another campaign for a secondary contact alone, and too many
/// variables.
fn check_change(ctx: &Ctx<'_>, count: u32, before: &LeadRow, after: &LeadRow) -> Result<(), Halt> {
    let mut errors = Errors::default();
    if after.parent.is_some() && before.campaign != after.campaign {
        errors.say("campaign_id", "field of a secondary contact is that of its lead.");
    }
    let moved = (before.campaign, &before.phone_number) != (after.campaign, &after.phone_number);
    if moved && rows::has_phone(ctx.account(), after.campaign, &after.phone_number, Some(count))? {
        errors.say("phone_number", DUPLICATE);
    }
    if before.campaign != after.campaign {
        for row in ctx.account().rows(Kind::Lead, &after.contacts)? {
            let phone = LeadRow::read(Row::public_of(&row)?)?.phone_number;
            // They move along and are not found under the new campaign yet.
            if before.phone_number != after.phone_number && phone == after.phone_number {
                errors.say("phone_number", DUPLICATE);
            }
            if rows::has_phone(ctx.account(), after.campaign, &phone, None)? {
                errors.add("campaign_id", "The campaign already has a secondary contact of this lead.");
            }
        }
    }
    if let Some(says) = variables::over_bounds(&after.variables.0) {
        errors.say("variables", &says);
    }
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Invalid(errors).into()) }
}

/// `DELETE /user/leads/{id}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (count, row, lead) = named(ctx)?;
    let account = ctx.account();
    ctx.if_match(&Raw(&rows::json(account, count, &lead)?))?;
    let waiting = recall::waiting(account, count, &lead)?;
    rows::remove(account, count, &row, &lead)?;
    let deleted = core::iter::once(count).chain(lead.contacts.iter().copied());
    webhook::erase(account, &deleted.map(|count| (Kind::Lead, count)).collect::<Vec<_>>(), ctx.now)?;
    recall::call_off(account, waiting, lead.parent.unwrap_or(count), ctx.now)?;
    Ok(Reply::ok(&message("Lead deleted successfully")))
}
