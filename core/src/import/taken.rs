//! Imported records: each is checked and stored like the body of a request.

use crate::id;
use crate::json::{JsonNumber, Members, Value};
use crate::lead::{self, tables::NewLead};
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
    mut members: Members,
    now: Timestamp,
) -> Result<Taken, Stop> {
    let id = id::of(account.space(), campaign);
    members.set("campaign_id", Value::Number(JsonNumber::Unsigned(id)));
    if matches!(members.get("allow_dupplicate"), None | Some(Value::Null)) {
        members.set("allow_dupplicate", Value::Bool(allow_dupplicate));
    }
    let new: NewLead = match lead::check_new(members).finish() {
        Ok(new) => new,
        Err(errors) => return Ok(Taken::Rejected(errors)),
    };
    if !lead::duplicates(account, campaign, &new)?.is_empty() {
        return Ok(Taken::Duplicate);
    }
    lead::enter(account, campaign, new, now)?;
    Ok(Taken::Created)
}

/// Adds a number not to be called from a record.
pub fn number(account: Scope<'_>, members: Members, now: Timestamp) -> Result<Taken, Stop> {
    let new: NewSuppressed = match check(NewSuppressed::TABLE, members, MemberSource::Body).finish() {
        Ok(new) => new,
        Err(errors) => return Ok(Taken::Rejected(errors)),
    };
    if suppression::has(account, &new.phone_number)? {
        return Ok(Taken::Duplicate);
    }
    suppression::insert(account, new, now)?;
    Ok(Taken::Created)
}
