//! First use of an assistant (docs/api.md, Activation): one that its owner never switched becomes active when a campaign
//! starts with it or when it takes a call, with an event in the feed.

use alloc::vec::Vec;

use super::feed;
use crate::assistant::rows::changed;
use crate::assistant::states::{AssistantEvent, MOVES};
use crate::assistant::tables::Assistant;
use crate::choice;
use crate::id;
use crate::json::Object;
use crate::key::Kind;
use crate::record::MemberTuple;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

choice! {
    /// What an assistant is first used by.
    pub enum FirstUse {
        /// A campaign that starts with it.
        Campaign = "campaign",
        /// An inbound call to its number.
        Call = "call",
    }
}

/// Makes an assistant active that waits for its first use; returns whether it did. `reference` is the local id of the
/// campaign or call. One that is active, was switched by its owner or is gone stays as it is.
pub fn activate(
    account: Scope<'_>,
    assistant: u32,
    by: FirstUse,
    reference: u32,
    now: Timestamp,
) -> Result<bool, Stop> {
    let Some(row) = account.find(Kind::Assistant, assistant)? else { return Ok(false) };
    let its = Assistant::MEMBERS;
    let (status, activates) = (its.status, its.activates_on_use).read(&row.public)?;
    let Some(next) = MOVES.next(status, AssistantEvent::Use).filter(|_| activates) else { return Ok(false) };
    let active = changed(&row, now, |assistant| {
        assistant.status = next;
        assistant.activates_on_use = false;
    })?;
    account.replace(Kind::Assistant, assistant, &row, &active)?;
    let mut payload = Vec::new();
    let mut object = Object::open(&mut payload);
    object.member("assistant_id", id::of(account.space(), assistant));
    object.member("by", by).member("reference", id::of(account.space(), reference));
    object.close();
    let shown = match by {
        FirstUse::Call => Vec::from([(Kind::Call, reference)]),
        FirstUse::Campaign => Vec::new(),
    };
    feed::publish(account, "assistant.activated", &payload, &shown, now)?;
    Ok(true)
}
