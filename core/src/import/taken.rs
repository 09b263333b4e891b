//! Imported records: each is checked and stored like the body of a request.

use crate::id;
use crate::json::{JsonNumber, Members, Value};
use crate::lead::{self, tables::NewLead};
use crate::record::format::dialed;
use crate::record::{Errors, MemberSource, Record, check};
use crate::store::Scope;
use crate::suppression::{self, NewSuppressed};
use crate::time::Timestamp;
use crate::view::Stop;

/// Result of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The record was stored.
    Created,
    /// Its number is there already.
    Duplicate,
    /// The record has these errors.
    Rejected(Errors),
}

/// Creates a lead from a record, a body without its campaign.
pub fn lead(
    account: Scope<'_>,
    campaign: u32,
    allow_dupplicate: bool,
    members: Members,
    now: Timestamp,
) -> Result<Taken, Stop> {
    let new = match check_lead(account, campaign, allow_dupplicate, members) {
        Ok(new) => new,
        Err(errors) => return Ok(Taken::Rejected(errors)),
    };
    if !lead::duplicates(account, campaign, &new)?.is_empty() {
        return Ok(Taken::Duplicate);
    }
    lead::enter(account, campaign, new, now)?;
    Ok(Taken::Created)
}

/// Checks a record, a body of a lead without its campaign.
pub fn check_lead(
    account: Scope<'_>,
    campaign: u32,
    allow_dupplicate: bool,
    mut members: Members,
) -> Result<NewLead, Errors> {
    let id = id::of(account.space(), campaign);
    members.set("campaign_id", Value::Number(JsonNumber::Unsigned(id)));
    if matches!(members.get("allow_dupplicate"), None | Some(Value::Null)) {
        members.set("allow_dupplicate", Value::Bool(allow_dupplicate));
    }
    tidy_phones(&mut members);
    lead::check_new(members).finish()
}

/// Drops the blanks, dots, dashes and brackets of the numbers of a lead and of its secondary contacts.
fn tidy_phones(members: &mut Members) {
    for (name, value) in &mut members.0 {
        match (name.as_str(), value) {
            ("phone_number", Value::Text(number)) => *number = dialed(number),
            ("secondary_contacts", Value::List(contacts)) => {
                contacts.iter_mut().for_each(|contact| {
                    if let Value::Object(contact) = contact {
                        tidy_phones(contact);
                    }
                });
            }
            _ => {}
        }
    }
}

/// Checks a record with a number not to be called.
pub fn check_number(members: Members) -> Result<NewSuppressed, Errors> {
    check(NewSuppressed::TABLE, members, MemberSource::Body).finish()
}

/// Adds a number not to be called from a record.
pub fn number(account: Scope<'_>, members: Members, now: Timestamp) -> Result<Taken, Stop> {
    let new = match check_number(members) {
        Ok(new) => new,
        Err(errors) => return Ok(Taken::Rejected(errors)),
    };
    if suppression::has(account, &new.phone_number)? {
        return Ok(Taken::Duplicate);
    }
    suppression::insert(account, new, now)?;
    Ok(Taken::Created)
}
