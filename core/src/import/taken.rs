//! What becomes of a record: judged and stored like a body that was sent.

use crate::id;
use crate::json::{Members, Number, Value};
use crate::lead::{self, tables::NewLead};
use crate::record::{Errors, Record, Source, check};
use crate::store::Scope;
use crate::suppression::{self, NewSuppressed};
use crate::time::Timestamp;
use crate::view::Stop;

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was stored.
    Created,
    /// Its number is there already.
    Duplicate,
    /// It is wrong.
    Rejected(Errors),
}

/// Takes a line of an import: a body without its campaign, judged and stored like one that was sent.
pub fn lead(
    account: Scope<'_>,
    campaign: u32,
    allow_dupplicate: bool,
    mut members: Members,
    now: Timestamp,
) -> Result<Taken, Stop> {
    let id = id::of(account.space(), campaign);
    members.set("campaign_id", Value::Number(Number::Unsigned(id)));
    if matches!(members.get("allow_dupplicate"), None | Some(Value::Null)) {
        members.set("allow_dupplicate", Value::Bool(allow_dupplicate));
    }
    let new: NewLead = match lead::judge(members).finish() {
        Ok(new) => new,
        Err(errors) => return Ok(Taken::Rejected(errors)),
    };
    if !lead::duplicates(account, campaign, &new)?.is_empty() {
        return Ok(Taken::Duplicate);
    }
    lead::enter(account, campaign, new, now)?;
    Ok(Taken::Created)
}

/// Takes a line of an import, judged and stored like a body that was sent.
pub fn number(account: Scope<'_>, members: Members, now: Timestamp) -> Result<Taken, Stop> {
    let new: NewSuppressed = match check(NewSuppressed::TABLE, members, Source::Body).finish() {
        Ok(new) => new,
        Err(errors) => return Ok(Taken::Rejected(errors)),
    };
    if suppression::has(account, &new.phone_number)? {
        return Ok(Taken::Duplicate);
    }
    suppression::insert(account, new, now)?;
    Ok(Taken::Created)
}
