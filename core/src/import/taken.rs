//! Imported records: each is checked and stored like the body of a request.

use super::numbers;
use crate::id;
use crate::json::{JsonNumber, Members, Value};
use crate::lead::{self, tables::NewLead};
use crate::numbering::dialing::DialingCountry;
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
    (campaign, allow_dupplicate): (u32, bool),
    home: Option<DialingCountry>,
    members: Members,
    now: Timestamp,
) -> Result<Taken, Stop> {
    let new = match check_lead(account, (campaign, allow_dupplicate), home, members) {
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
    (campaign, allow_dupplicate): (u32, bool),
    home: Option<DialingCountry>,
    mut members: Members,
) -> Result<NewLead, Errors> {
    let id = id::of(account.space(), campaign);
    members.set("campaign_id", Value::Number(JsonNumber::Unsigned(id)));
    if matches!(members.get("allow_dupplicate"), None | Some(Value::Null)) {
        members.set("allow_dupplicate", Value::Bool(allow_dupplicate));
    }
    let unread = numbers::read(&mut members, home);
    let mut checked = lead::check_new(members);
    numbers::explain(&mut checked.errors, unread);
    checked.finish()
}

/// Checks a record with a number not to be called.
pub fn check_number(home: Option<DialingCountry>, mut members: Members) -> Result<NewSuppressed, Errors> {
    let unread = numbers::read(&mut members, home);
    let mut checked = check(NewSuppressed::TABLE, members, MemberSource::Body);
    numbers::explain(&mut checked.errors, unread);
    checked.finish()
}

/// Adds a number not to be called from a record.
pub fn number(
    account: Scope<'_>,
    home: Option<DialingCountry>,
    members: Members,
    now: Timestamp,
) -> Result<Taken, Stop> {
    let new = match check_number(home, members) {
        Ok(new) => new,
        Err(errors) => return Ok(Taken::Rejected(errors)),
    };
    if suppression::has(account, &new.phone_number)? {
        return Ok(Taken::Duplicate);
    }
    suppression::insert(account, new, now)?;
    Ok(Taken::Created)
}
