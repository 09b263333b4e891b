//! Leads as they are stored. A lead is listed; a secondary contact is a lead's row too, but only its lead names it.

use alloc::string::String;
use alloc::vec::Vec;

use super::phones;
use super::tables::{Contact, Lead, LeadCampaign, LeadStatus};
use crate::collection::{Facet, subtract};
use crate::id;
use crate::job::{self, Task, TaskOutcome};
use crate::json::{self, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::{SECONDARY_CONTACTS_MAX, SLICE_ROWS};
use crate::record;
use crate::record::{Choice, Iso, Sql, Stored, Variables, choice, count, counts, iso, text, variables};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use crate::{campaign, webhook};

/// Facet tag of the campaign.
const CAMPAIGN: u8 = 2;

/// Returns the facet of the leads in a state.
pub fn facet_of_status(status: LeadStatus) -> Facet {
    Facet::new(1, status.word().as_bytes())
}

/// Returns the facet of a campaign's leads.
pub fn facet_of_campaign(count: u32) -> Facet {
    Facet::id(CAMPAIGN, count)
}

/// Returns the campaign among the facets of a lead; a secondary contact has none.
pub fn campaign_among(facets: &[Facet]) -> Option<u32> {
    let facet = facets.iter().find(|facet| facet.tag() == CAMPAIGN)?;
    Some(u32::from_be_bytes(facet.value().try_into().ok()?))
}

record! {
    /// A lead as it is stored; other rows are named by their local ids.
    pub struct LeadRow stored as "a lead" {
        /// Local id of its campaign.
        campaign: u32 = count().required(),
        /// Number to call, E.164.
        phone_number: String = text(0, 16).required(),
        /// Its own variables; a secondary contact's are laid over those of its lead.
        variables: Variables = variables(),
        /// Current state; set by the dialer, or by the API.
        status: LeadStatus = choice::<LeadStatus>().required(),
        /// When it was created.
        created_at: Iso = iso().required(),
        /// When it last changed.
        updated_at: Iso = iso().required(),
        /// Local ids of its secondary contacts, in the order in which they are tried.
        contacts: Vec<u32> = counts(SECONDARY_CONTACTS_MAX),
        /// Local id of the lead, for a secondary contact.
        parent: Option<u32> = count(),
        /// See [`Dial::rounds`]; absent, like the next three, while all of them have their defaults.
        rounds: Option<u32> = count().sparse(),
        /// See [`Dial::person`].
        person: Option<u32> = count().sparse(),
        /// See [`Dial::call`].
        call: Option<u32> = count().sparse(),
        /// See [`Dial::due`].
        due: Option<Iso> = iso().sparse(),
    }
}

/// Progress of the dialer with a lead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dial {
    /// Rounds that ended without reaching anybody.
    pub rounds: u32,
    /// Index of the person to call in this round: 0 is the lead, then its secondary contacts.
    pub person: u32,
    /// Local id of the call that is under way; 0 for none.
    pub call: u32,
    /// When it is called next, if that is planned.
    pub due: Option<Timestamp>,
}

impl LeadRow {
    /// Builds its row; a secondary contact has no facets, for it is not listed.
    pub fn row(&self) -> Row {
        let facets = if self.parent.is_none() {
            [facet_of_status(self.status), facet_of_campaign(self.campaign)].into()
        } else {
            Vec::new()
        };
        Row::open(facets, self.to_json())
    }

    /// Returns the dialer's progress with it.
    pub fn dial(&self) -> Dial {
        Dial {
            rounds: self.rounds.unwrap_or(0),
            person: self.person.unwrap_or(0),
            call: self.call.unwrap_or(0),
            due: self.due.map(|due| due.0),
        }
    }

    /// Returns the lead with the dialer's progress replaced.
    pub fn with_dial(self, dial: Dial) -> Self {
        let given = |number| (dial != Dial::default()).then_some(number);
        Self {
            rounds: given(dial.rounds),
            person: given(dial.person),
            call: given(dial.call),
            due: dial.due.map(Iso),
            ..self
        }
    }

    fn contact(&self, id: u64) -> Contact {
        Contact {
            id,
            phone_number: self.phone_number.clone(),
            variables: self.variables.clone(),
            status: self.status,
            created_at: Sql(self.created_at.0),
            updated_at: Sql(self.updated_at.0),
        }
    }
}

/// Builds the lead object that the API shows, with its campaign and secondary contacts.
pub fn show(account: Scope<'_>, count: u32, lead: &LeadRow) -> Result<Lead, Stop> {
    let space = account.space();
    let name = campaign::name_of(account, lead.campaign)?.ok_or(Stop::Corrupt("a lead's campaign is not there"))?;
    let rows = account.rows(Kind::Lead, &lead.contacts)?;
    let contacts = lead
        .contacts
        .iter()
        .zip(&rows)
        .map(|(count, row)| Ok(LeadRow::read(Row::public_of(row)?)?.contact(id::of(space, *count))));
    Ok(Lead {
        id: id::of(space, count),
        campaign_id: id::of(space, lead.campaign),
        phone_number: lead.phone_number.clone(),
        variables: lead.variables.clone(),
        status: lead.status,
        created_at: Sql(lead.created_at.0),
        updated_at: Sql(lead.updated_at.0),
        campaign: LeadCampaign { id: id::of(space, lead.campaign), name },
        secondary_contacts: contacts.collect::<Result<_, Stop>>()?,
    })
}

/// Finds a lead of the account. A lead of a deleted campaign counts as deleted, although its row may wait to be cleaned
/// up.
pub fn find(account: Scope<'_>, count: u32) -> Result<Option<(Row, LeadRow)>, Stop> {
    let Some(row) = account.find(Kind::Lead, count)? else { return Ok(None) };
    let stored = LeadRow::read(&row.public)?;
    let there = account.find(Kind::Campaign, stored.campaign)?.is_some();
    Ok(there.then_some((row, stored)))
}

/// Returns whether a lead exists.
pub fn is_there(account: Scope<'_>, count: u32) -> Result<bool, Stop> {
    Ok(find(account, count)?.is_some())
}

/// Stores a new lead; a secondary contact is not listed.
pub fn insert(account: Scope<'_>, count: u32, lead: &LeadRow) -> Result<(), Stop> {
    account.put(key::lead_phone(account.space(), lead.campaign, &lead.phone_number, count), Vec::new())?;
    if lead.parent.is_some() {
        return account.put(key::row(account.space(), Kind::Lead, count), lead.row().to_bytes());
    }
    phones::set(account, count, Some(&lead.phone_number))?;
    campaign::count_lead(account, None, Some((lead.campaign, lead.status)))?;
    account.insert(Kind::Lead, count, lead.created_at.0, &lead.row())
}

/// Stores a changed lead, and keeps the indexes of its number and of its next call up to date.
pub fn replace(account: Scope<'_>, count: u32, row: &Row, before: &LeadRow, after: &LeadRow) -> Result<(), Stop> {
    if (before.campaign, &before.phone_number) != (after.campaign, &after.phone_number) {
        account.delete(key::lead_phone(account.space(), before.campaign, &before.phone_number, count))?;
        account.put(key::lead_phone(account.space(), after.campaign, &after.phone_number, count), Vec::new())?;
        if after.parent.is_none() {
            phones::set(account, count, Some(&after.phone_number))?;
        }
    }
    if (before.campaign, before.due) != (after.campaign, after.due) {
        unplan(account, count, before)?;
        if let Some(Iso(at)) = after.due {
            account.put(key::retry(account.space(), after.campaign, at, count), Vec::new())?;
        }
    }
    if after.parent.is_none() {
        let (from, to) = ((before.campaign, before.status), (after.campaign, after.status));
        campaign::count_lead(account, Some(from), Some(to))?;
    }
    account.replace(Kind::Lead, count, row, &after.row())
}

fn unplan(account: Scope<'_>, count: u32, lead: &LeadRow) -> Result<(), Stop> {
    match lead.due {
        Some(Iso(at)) => account.delete(key::retry(account.space(), lead.campaign, at, count)),
        None => Ok(()),
    }
}

/// Removes a lead and its secondary contacts; a secondary contact is also taken out of its lead.
pub fn remove(account: Scope<'_>, count: u32, row: &Row, lead: &LeadRow) -> Result<(), Stop> {
    for (contact, row) in lead.contacts.iter().zip(account.rows(Kind::Lead, &lead.contacts)?) {
        let stored = LeadRow::read(Row::public_of(&row)?)?;
        account.delete(key::lead_phone(account.space(), stored.campaign, &stored.phone_number, *contact))?;
        account.delete(key::row(account.space(), Kind::Lead, *contact))?;
    }
    account.delete(key::lead_phone(account.space(), lead.campaign, &lead.phone_number, count))?;
    unplan(account, count, lead)?;
    if let Some(parent) = lead.parent {
        account.delete(key::row(account.space(), Kind::Lead, count))?;
        forget_contact(account, parent, count)
    } else {
        phones::set(account, count, None)?;
        campaign::count_lead(account, Some((lead.campaign, lead.status)), None)?;
        account.remove(Kind::Lead, count, row)
    }
}

fn forget_contact(account: Scope<'_>, parent: u32, count: u32) -> Result<(), Stop> {
    let Some(row) = account.find(Kind::Lead, parent)? else { return Ok(()) };
    let mut lead = LeadRow::read(&row.public)?;
    let place = lead.contacts.iter().position(|contact| *contact == count);
    lead.contacts.retain(|contact| *contact != count);
    // The turn stays with the same person: those behind the removed one move up.
    let mut dial = lead.dial();
    if place.is_some_and(|place| place + 1 < dial.person as usize) {
        dial.person -= 1;
        lead = lead.with_dial(dial);
    }
    account.replace(Kind::Lead, parent, &row, &lead.row())
}

/// Returns whether a campaign already has a number, in a lead or contact other than `but`.
pub fn has_phone(account: Scope<'_>, campaign: u32, phone: &str, but: Option<u32>) -> Result<bool, Stop> {
    let found = account.scan(key::lead_phones(account.space(), campaign, phone), Order::Ascending, 2)?;
    Ok(found.iter().any(|(key, _)| key::read_lead_phone(key) != but))
}

/// Takes the leads of a deleted campaign out of every list at once; a job deletes their rows in slices.
pub fn drop_campaign(account: Scope<'_>, campaign: u32, now: Timestamp) -> Result<(), Stop> {
    let sets: Vec<Facet> =
        core::iter::once(Facet::ALL).chain(LeadStatus::ALL.iter().map(|status| facet_of_status(*status))).collect();
    subtract(account, Kind::Lead, &facet_of_campaign(campaign), &sets)?;
    job::add(account, now, Task::DropLeads(campaign))?;
    webhook::erase(account, &[(Kind::Campaign, campaign)], now)
}

/// Deletes one slice of a dropped campaign's leads: at most [`SLICE_ROWS`], and no more than fit the limit of feed
/// events that one slice may empty.
pub fn drop_slice(account: Scope<'_>, campaign: u32, now: Timestamp) -> Result<TaskOutcome, Stop> {
    let slice = account.scan(key::lead_phones_of(account.space(), campaign), Order::Ascending, SLICE_ROWS)?;
    let planned = account.scan(key::retries(account.space(), campaign), Order::Ascending, SLICE_ROWS)?;
    let done = slice.len() < SLICE_ROWS && planned.len() < SLICE_ROWS;
    for (key, _) in planned {
        account.delete(key)?;
    }
    let mut left = webhook::EVENTS_AT_ONCE;
    for (key, _) in slice {
        let count = key::read_lead_phone(&key).ok_or(LeadRow::DAMAGED)?;
        left -= webhook::empty_some(account, (Kind::Lead, count), left, now)?;
        if left == 0 {
            return Ok(TaskOutcome::More);
        }
        account.delete(key::row(account.space(), Kind::Lead, count))?;
        account.delete(key)?;
    }
    Ok(if done { TaskOutcome::Done } else { TaskOutcome::More })
}

/// Returns the lead as payloads of calls show it, with its campaign whole; `None` if there is no such lead. `campaign` is
/// that of the call, which is the lead's unless that was moved.
pub fn webhook_json(account: Scope<'_>, count: u32, campaign: Option<&[u8]>) -> Result<Option<Vec<u8>>, Stop> {
    const DAMAGED: Stop = Stop::Corrupt("a campaign has an unknown form");
    let Some((_, lead)) = find(account, count)? else { return Ok(None) };
    let shown = show(account, count, &lead)?;
    let campaign = campaign.map(|campaign| json::parse(campaign).map_err(|_| DAMAGED)).transpose()?;
    let own = campaign.filter(|campaign| campaign.member("id").and_then(Value::as_u64) == Some(shown.campaign_id));
    let Ok(Value::Object(mut members)) = json::parse(&shown.to_json()) else { return Err(DAMAGED) };
    if let Some(own) = own {
        members.set("campaign", own);
    } else if let Some(whole) = campaign::webhook_json(account, lead.campaign)? {
        members.set("campaign", json::parse(&whole).map_err(|_| DAMAGED)?);
    }
    Ok(Some(members.to_json()))
}

/// Returns the JSON of a lead, for `If-Match` and lists.
pub fn json(account: Scope<'_>, count: u32, lead: &LeadRow) -> Result<Vec<u8>, Stop> {
    Ok(show(account, count, lead)?.to_json())
}
