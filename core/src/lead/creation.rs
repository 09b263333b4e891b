//! Creation of a lead, the same for a request and for a line of an import. It reads nothing outside the account and
//! wakes no dialer: the caller does, once it is done.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::rows::{self, LeadRow};
use super::tables::{LeadStatus, NewLead};
use crate::json::{Members, Value};
use crate::key::Kind;
use crate::record::{Cell, Checked, Errors, Iso, MemberSource, Record, Rest, Variables, check};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Error for a number that the campaign already has.
pub const DUPLICATE: &str = "field is already used by a lead of this campaign.";

/// Checks the body of a creation against its table, and what the table cannot express.
pub fn check_new(members: Members) -> Checked {
    let mut checked = check(NewLead::TABLE, members, MemberSource::Body);
    check_people(&mut checked);
    checked
}

/// Checks that `customer_name` and `email` are strings (docs/api.md, Creating a lead).
pub fn check_people(checked: &mut Checked) {
    let mut wrong = Vec::new();
    let mut check_variables = |path: &str, cell: &Cell| {
        let Cell::Object(members) = cell else { return };
        for name in ["customer_name", "email"] {
            if members.get(name).is_some_and(|value| !matches!(value, Value::Text(_) | Value::Null)) {
                wrong.push(format!("{path}.{name}"));
            }
        }
    };
    check_variables("variables", checked.get("variables"));
    if let Cell::List(contacts) = checked.get("secondary_contacts") {
        for (at, contact) in contacts.iter().enumerate() {
            if let Cell::Record(cells) = contact {
                cells.iter().for_each(|cell| check_variables(&format!("secondary_contacts.{at}.variables"), cell));
            }
        }
    }
    wrong
        .iter()
        .filter(|field| !checked.errors.has(field))
        .cloned()
        .collect::<Vec<_>>()
        .iter()
        .for_each(|field| checked.errors.say(field, "field must be a string."));
}

/// Returns an error for each number that the campaign already has, or that is in the body twice; none if
/// `allow_dupplicate`.
pub fn duplicates(account: Scope<'_>, campaign: u32, new: &NewLead) -> Result<Errors, Stop> {
    let mut errors = Errors::default();
    if new.allow_dupplicate {
        return Ok(errors);
    }
    let mut seen = BTreeSet::new();
    let contacts = new
        .secondary_contacts
        .iter()
        .enumerate()
        .map(|(at, contact)| (format!("secondary_contacts.{at}.phone_number"), &contact.phone_number));
    for (field, phone) in core::iter::once((String::from("phone_number"), &new.phone_number)).chain(contacts) {
        if !seen.insert(phone) || rows::has_phone(account, campaign, phone, None)? {
            errors.say(&field, DUPLICATE);
        }
    }
    Ok(errors)
}

/// Stores a checked lead with its secondary contacts; returns its local id and row.
pub fn enter(account: Scope<'_>, campaign: u32, new: NewLead, now: Timestamp) -> Result<(u32, LeadRow), Stop> {
    let (count, at) = account.allot(Kind::Lead, now)?;
    let lead = |phone_number: String, variables: Variables, contacts: Vec<u32>, parent| LeadRow {
        campaign,
        phone_number,
        variables,
        status: LeadStatus::Created,
        created_at: Iso(at),
        updated_at: Iso(at),
        contacts,
        parent,
        rounds: None,
        person: None,
        call: None,
        due: None,
        rest: Rest::default(),
    };
    let mut contacts = Vec::new();
    for contact in new.secondary_contacts {
        let (number, _) = account.allot(Kind::Lead, now)?;
        rows::insert(account, number, &lead(contact.phone_number, contact.variables, Vec::new(), Some(count)))?;
        contacts.push(number);
    }
    let main = lead(new.phone_number, new.variables, contacts, None);
    rows::insert(account, count, &main)?;
    Ok((count, main))
}
