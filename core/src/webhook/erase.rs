//! Erases deleted calls and leads from the feed: their events keep sequence number, id and name, their payloads are
//! emptied, and their deliveries are not sent again (docs/api.md, Deleting what was said).
//!
//! Each event is indexed by the call and the leads that its payload shows. Events older than the index are found by
//! reading them.

use alloc::vec::Vec;

use super::activation::FirstUse;
use super::rows::{facet_of_call, facet_of_conversation};
use super::tables::{EventHead, EventMentions, PayloadMentions};
use super::{deliveries, feed};
use crate::id;
use crate::job::{self, Task, TaskOutcome};
use crate::key::{self, Kind, Space};
use crate::record::Stored;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Payload of an emptied event.
pub const EMPTIED: &[u8] = br#"{"deleted":true}"#;
/// Most events that one step empties: each may have half a megabyte.
pub const EVENTS_AT_ONCE: usize = 8;
/// Most events older than the index that one step reads.
const READ_AT_ONCE: usize = 16;

const DAMAGED: Stop = Stop::Corrupt("the index of the feed has an unknown form");

/// A call or lead that a payload shows, by its local id; also a campaign, for all of its leads.
pub type Mention = (Kind, u32);

/// Returns the call and leads that a payload shows.
fn of_payload(space: Space, payload: Option<&PayloadMentions>) -> Vec<Mention> {
    let Some(payload) = payload else { return Vec::new() };
    if let Some(uuid) = &payload.conversation_id {
        let Space::Account(account) = space else { return Vec::new() };
        return id::count_of_uuid(account, uuid).map(|count| (Kind::Conversation, count)).into_iter().collect();
    }
    let own = |id: Option<u64>| id.and_then(|id| id::local(space, id));
    let is_of_call = payload.by.as_deref() == Some(FirstUse::Call.word());
    let call = own(payload.id).or(own(payload.call_id)).or(own(payload.reference.filter(|_| is_of_call)));
    let lead = payload.lead.as_ref();
    let contacts = lead.into_iter().flat_map(|lead| &lead.secondary_contacts).map(|contact| contact.id);
    let leads = lead.map(|lead| lead.id).into_iter().chain(contacts).filter_map(own);
    call.map(|call| (Kind::Call, call)).into_iter().chain(leads.map(|lead| (Kind::Lead, lead))).collect()
}

/// Adds a published event to the index.
pub fn index(account: Scope<'_>, seq: u32, mentions: &[Mention]) -> Result<(), Stop> {
    let since = key::mentions_since(account.space());
    if account.get(since.clone())?.is_none() {
        account.put(since, seq.to_be_bytes().to_vec())?;
    }
    for (kind, count) in mentions {
        account.put(key::mention(account.space(), *kind, *count, seq), Vec::new())?;
    }
    Ok(())
}

/// Removes an event that is being forgotten from the index.
pub fn unindex(account: Scope<'_>, seq: u32, payload: Option<&PayloadMentions>) -> Result<(), Stop> {
    for (kind, count) in of_payload(account.space(), payload) {
        account.delete(key::mention(account.space(), kind, count, seq))?;
    }
    Ok(())
}

/// Empties the events that show deleted rows: a few at once, the others in slices by jobs.
pub fn erase(account: Scope<'_>, deleted: &[Mention], now: Timestamp) -> Result<(), Stop> {
    let mut left = EVENTS_AT_ONCE;
    for (kind, count) in deleted {
        left -= some(account, (*kind, *count), left, now)?;
        if left == 0 {
            job::add(account, now, Task::EmptyEvents(*kind, *count))?;
        }
    }
    let Some(from) = oldest_unindexed(account)? else { return Ok(()) };
    for (kind, count) in deleted {
        job::add(account, now, Task::EmptyOldEvents { kind: *kind, count: *count, from })?;
    }
    Ok(())
}

/// Empties at most `most` events that show a row; returns how many.
pub fn some(account: Scope<'_>, deleted: Mention, most: usize, now: Timestamp) -> Result<usize, Stop> {
    let shown = account.scan(key::mentions(account.space(), deleted.0, deleted.1), Order::Ascending, most)?;
    for (at, _) in &shown {
        empty(account, key::read_mention(at).ok_or(DAMAGED)?, now)?;
        account.delete(at.clone())?;
    }
    Ok(shown.len())
}

/// Empties one slice of the indexed events that show a row.
pub fn slice(account: Scope<'_>, deleted: Mention, now: Timestamp) -> Result<TaskOutcome, Stop> {
    let emptied = some(account, deleted, EVENTS_AT_ONCE, now)?;
    Ok(if emptied < EVENTS_AT_ONCE { TaskOutcome::Done } else { TaskOutcome::More })
}

/// Returns the oldest event, if it is older than the index.
fn oldest_unindexed(account: Scope<'_>) -> Result<Option<u32>, Stop> {
    let oldest = account.scan(key::events(account.space(), 0), Order::Ascending, 1)?;
    let Some(oldest) = oldest.first().and_then(|(at, _)| key::read_event(at)) else { return Ok(None) };
    Ok((oldest < indexed_since(account)?).then_some(oldest))
}

fn indexed_since(account: Scope<'_>) -> Result<u32, Stop> {
    match account.get(key::mentions_since(account.space()))? {
        Some(bytes) => Ok(u32::from_be_bytes(bytes.try_into().map_err(|_| DAMAGED)?)),
        None => Ok(u32::MAX),
    }
}

/// Searches one slice of the events older than the index, starting at `from`. A campaign stands for all of its leads.
pub fn old_slice(account: Scope<'_>, deleted: Mention, from: u32, now: Timestamp) -> Result<TaskOutcome, Stop> {
    let space = account.space();
    let mut range = key::events(space, from.saturating_sub(1));
    range.end = range.end.min(key::event(space, indexed_since(account)?));
    if range.is_empty() {
        return Ok(TaskOutcome::Done);
    }
    let events = account.scan(range, Order::Ascending, READ_AT_ONCE)?;
    for (at, bytes) in &events {
        let EventMentions { payload, .. } = EventMentions::read(bytes)?;
        let lead = payload.as_ref().and_then(|payload| payload.lead.as_ref());
        let campaign = lead.and_then(|lead| lead.campaign_id);
        let shows = match deleted {
            (Kind::Campaign, count) => campaign.and_then(|id| id::local(space, id)) == Some(count),
            mention => of_payload(space, payload.as_ref()).contains(&mention),
        };
        if shows {
            empty(account, key::read_event(at).ok_or(DAMAGED)?, now)?;
        }
    }
    let Some(last) = events.last().and_then(|(at, _)| key::read_event(at)).filter(|_| events.len() == READ_AT_ONCE)
    else {
        return Ok(TaskOutcome::Done);
    };
    let (kind, count) = deleted;
    job::add(account, now, Task::EmptyOldEvents { kind, count, from: last + 1 })?;
    Ok(TaskOutcome::Done)
}

/// Empties an event, removes it from the index, and gives up its deliveries.
fn empty(account: Scope<'_>, seq: u32, now: Timestamp) -> Result<(), Stop> {
    let at = key::event(account.space(), seq);
    let Some(bytes) = account.get(at.clone())? else { return Ok(()) };
    let EventMentions { payload, .. } = EventMentions::read(&bytes)?;
    unindex(account, seq, payload.as_ref())?;
    for (kind, count) in of_payload(account.space(), payload.as_ref()) {
        match kind {
            Kind::Call => deliveries::give_up(account, &facet_of_call(count), seq, now)?,
            Kind::Conversation => deliveries::give_up(account, &facet_of_conversation(count), seq, now)?,
            _ => {}
        }
    }
    let mut head = EventHead::read(&bytes)?;
    head.rest.0.remove(EventMentions::MEMBERS.payload.name());
    account.put(at, feed::bytes_of(&head, EMPTIED))
}
