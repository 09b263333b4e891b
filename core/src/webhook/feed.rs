//! An account's feed: every event once, in order and without gaps, kept for 30 days.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::erase::{self, EMPTIED, Mention};
use super::tables::{Delivery, EventHead, EventMentions, EventQuery};
use crate::collection::Query;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{ObjectFn, Reply};
use crate::http::route::Handled;
use crate::http::stream::{self, Frame};
use crate::id;
use crate::job::{self, Task, TaskOutcome};
use crate::json::{Array, Object, Raw, ToJson};
use crate::key::{self, Kind, Topic};
use crate::limits::{EVENTS_BYTES_MAX, EVENTS_SECONDS, SLICE_ROWS, STREAM_BYTES_MAX};
use crate::record::{Iso, Rest, Stored};
use crate::store::{Ledger, Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

const DAMAGED: Stop = EventHead::DAMAGED;
const TOO_OLD: &str = "Events are kept for 30 days; the oldest one that is kept comes later.";

/// An event that was just published.
pub struct Published {
    /// Sequence number in the feed.
    pub seq: u32,
    /// Id of the event, which its webhooks carry.
    pub id: String,
}

/// Appends an event to the feed; `shown` names the call and leads that its payload shows.
pub fn publish(
    account: Scope<'_>,
    event: &str,
    payload: &[u8],
    shown: &[Mention],
    now: Timestamp,
) -> Result<Published, Stop> {
    let (seq, at) = account.allot(Kind::Event, now)?;
    let id = format!("evt_{:x}", id::of(account.space(), seq));
    let head = EventHead { seq, id, event: event.into(), created_at: Iso(at), rest: Rest::default() };
    account.put(key::event(account.space(), seq), bytes_of(&head, payload))?;
    erase::index(account, seq, shown)?;
    job::add(account, at.plus_seconds(EVENTS_SECONDS), Task::SweepEvents)?;
    Ok(Published { seq, id: head.id })
}

/// Bytes between the head of a stored event and its payload.
const PAYLOAD: &[u8] = b",\"payload\":";

/// Builds the stored bytes of an event, with the payload as the last member.
pub fn bytes_of(head: &EventHead, payload: &[u8]) -> Vec<u8> {
    let mut bytes = head.to_json();
    bytes.pop();
    bytes.reserve(PAYLOAD.len() + payload.len() + 1);
    bytes.extend_from_slice(PAYLOAD);
    bytes.extend_from_slice(payload);
    bytes.push(b'}');
    bytes
}

/// Returns the payload of an event, or `None` if the event was forgotten or a row that it shows was deleted.
pub fn payload(account: Scope<'_>, seq: u32) -> Result<Option<Vec<u8>>, Stop> {
    let Some(bytes) = account.get(key::event(account.space(), seq))? else { return Ok(None) };
    // The payload is the last member, and the ones before it never contain these bytes.
    let at = bytes.windows(PAYLOAD.len()).position(|window| window == PAYLOAD).ok_or(DAMAGED)?;
    let payload = bytes.get(at + PAYLOAD.len()..bytes.len() - 1);
    Ok(payload.filter(|payload| *payload != EMPTIED).map(<[u8]>::to_vec))
}

/// `GET /user/events`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: EventQuery = ctx.asks()?;
    let account = ctx.account();
    let after = stream::after(ctx)?.or(query.after);
    let first = account.scan(key::events(account.space(), 0), Order::Ascending, 1)?;
    let last = Ledger::load(account)?.last(Kind::Event);
    let oldest = first.first().and_then(|(at, _)| key::read_event(at)).unwrap_or(last.saturating_add(1));
    if after.is_some_and(|after| after.saturating_add(1) < oldest) {
        return Err(Refusal::Gone(TOO_OLD.into()).into());
    }
    let rows = read(ctx, account, key::events(account.space(), after.unwrap_or(0)), query.limit as usize)?;
    if stream::wanted(ctx) {
        let frames = rows.iter().map(|(at, bytes)| Some(Frame { seq: key::read_event(at)?, name: None, data: bytes }));
        let frames = frames.collect::<Option<Vec<_>>>().ok_or(DAMAGED)?;
        return Ok(stream::reply(Topic::Feed(ctx.caller().account), after.unwrap_or(0), &frames));
    }
    Ok(Reply::ok(&ObjectFn(|o: &mut Object<'_>| {
        let mut array = Array::open(o.name("data"));
        rows.iter().for_each(|(_, bytes)| array.entry(Raw(bytes)));
        array.close();
        o.member("last_seq", last);
    })))
}

/// Reads the events of a range: at most `limit`, and at most [`EVENTS_BYTES_MAX`] bytes, for a live stream
/// [`STREAM_BYTES_MAX`], but always the first one. They may be long, so a few are read at a time.
pub fn read(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    mut range: Range<key::Key>,
    limit: usize,
) -> Result<Vec<(key::Key, Vec<u8>)>, Stop> {
    const AT_ONCE: usize = 8;
    let most = if stream::wanted(ctx) { STREAM_BYTES_MAX } else { EVENTS_BYTES_MAX };
    let (mut rows, mut bytes): (Vec<(key::Key, Vec<u8>)>, usize) = (Vec::new(), 0);
    loop {
        let slice = account.scan(range.clone(), Order::Ascending, AT_ONCE.min(limit - rows.len()))?;
        let Some((last, _)) = slice.last() else { return Ok(rows) };
        range.start = [last.as_slice(), &[0]].concat();
        for row in slice {
            bytes += row.1.len();
            if !rows.is_empty() && bytes > most {
                return Ok(rows);
            }
            rows.push(row);
        }
    }
}

/// Deletes one slice of the events and deliveries that are older than 30 days.
pub fn sweep(account: Scope<'_>, now: Timestamp) -> Result<TaskOutcome, Stop> {
    for (at, bytes) in account.scan(key::events(account.space(), 0), Order::Ascending, SLICE_ROWS / 4)? {
        let event = EventMentions::read(&bytes)?;
        let until = event.created_at.0.plus_seconds(EVENTS_SECONDS);
        if until > now {
            return Ok(TaskOutcome::At(until));
        }
        drop_deliveries(account, now)?;
        let seq = key::read_event(&at).ok_or(DAMAGED)?;
        erase::unindex(account, seq, event.payload.as_ref())?;
        account.delete(at)?;
    }
    let left = account.scan(key::events(account.space(), 0), Order::Ascending, 1)?;
    Ok(if left.is_empty() { TaskOutcome::Done } else { TaskOutcome::More })
}

/// Deletes the oldest deliveries if they are that old: three at a time, for an event has at most two.
fn drop_deliveries(account: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
    let oldest = crate::collection::page(account, Kind::Delivery, &Query::of(Vec::new(), Order::Ascending, 0, 3))?;
    for (count, bytes) in oldest.ids.iter().zip(account.rows(Kind::Delivery, &oldest.ids)?) {
        let row = Row::from_bytes(&bytes)?;
        if Delivery::MEMBERS.created_at.read(&row.public)?.0.plus_seconds(EVENTS_SECONDS) <= now {
            job::cancel(account, &Task::Deliver(*count))?;
            account.remove(Kind::Delivery, *count, &row)?;
        }
    }
    Ok(())
}
