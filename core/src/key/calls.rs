//! Keys of what happens: events of calls, the feed, webhooks, the dialer; and what they are news of.

use core::ops::Range;

use super::{Key, Kind, Space, Table, after, below, key, space_of, with};
use crate::time::Timestamp;

/// An event of a call, in order.
pub fn call_event(space: Space, call: u32, seq: u32) -> Key {
    with(key(space, Table::CallEvent, 8), &[&call.to_be_bytes(), &seq.to_be_bytes()])
}

/// The events of a call after one of them.
pub fn call_events(space: Space, call: u32, after_seq: u32) -> Range<Key> {
    let end = after(&with(key(space, Table::CallEvent, 4), &[&call.to_be_bytes()]));
    call_event(space, call, after_seq.saturating_add(1))..end
}

/// Call and sequence number of a [`call_event`] key.
pub fn read_call_event(key: &[u8]) -> Option<(u32, u32)> {
    let call = u32::from_be_bytes(key.get(6..10)?.try_into().ok()?);
    Some((call, u32::from_be_bytes(key.get(10..)?.try_into().ok()?)))
}

/// An event of the account's feed, in order.
pub fn event(space: Space, seq: u32) -> Key {
    with(key(space, Table::Event, 4), &[&seq.to_be_bytes()])
}

/// The events of the feed after one of them.
pub fn events(space: Space, after_seq: u32) -> Range<Key> {
    event(space, after_seq.saturating_add(1))..after(&key(space, Table::Event, 0))
}

/// The sequence number of an [`event`] key.
pub fn read_event(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(6..)?.try_into().ok()?))
}

/// That an event of the feed shows a call or a lead, ordered by what it shows and event.
pub fn mention(space: Space, kind: Kind, count: u32, seq: u32) -> Key {
    with(key(space, Table::Mention, 9), &[&[kind as u8], &count.to_be_bytes(), &seq.to_be_bytes()])
}

/// The events that show a call or a lead.
pub fn mentions(space: Space, kind: Kind, count: u32) -> Range<Key> {
    below(with(key(space, Table::Mention, 5), &[&[kind as u8], &count.to_be_bytes()]))
}

/// The sequence number of the event of a [`mention`] key.
pub fn read_mention(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(11..)?.try_into().ok()?))
}

/// From which event on the feed is indexed by what it shows.
pub fn mentions_since(space: Space) -> Key {
    key(space, Table::Mention, 0)
}

/// What is known of a webhook address of an assistant, by which webhook it is.
pub fn address(space: Space, assistant: u32, webhook: u8) -> Key {
    with(key(space, Table::Address, 5), &[&assistant.to_be_bytes(), &[webhook]])
}

/// A lead that is tried again, ordered by campaign and time.
pub fn retry(space: Space, campaign: u32, at: Timestamp, lead: u32) -> Key {
    with(key(space, Table::Retry, 16), &[&campaign.to_be_bytes(), &at.micros().to_be_bytes(), &lead.to_be_bytes()])
}

/// The leads of a campaign that are tried again.
pub fn retries(space: Space, campaign: u32) -> Range<Key> {
    below(with(key(space, Table::Retry, 4), &[&campaign.to_be_bytes()]))
}

/// Time and lead of a [`retry`] key.
pub fn read_retry(key: &[u8]) -> Option<(Timestamp, u32)> {
    let at = u64::from_be_bytes(key.get(10..18)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), u32::from_be_bytes(key.get(18..)?.try_into().ok()?)))
}

/// What a campaign's dialer remembers.
pub fn dialer(space: Space, campaign: u32) -> Key {
    with(key(space, Table::Dialer, 4), &[&campaign.to_be_bytes()])
}

/// The secrets that sign an account's webhooks.
pub fn secrets(space: Space) -> Key {
    key(space, Table::Secrets, 0)
}

/// What somebody may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// A call to claim.
    Waiting,
    /// An event in an account's feed.
    Feed(u32),
    /// An event of a call: account and call.
    Call(u32, u32),
}

/// What a changed key is news of.
pub fn topic_of(at: &[u8]) -> Option<Topic> {
    match (space_of(at)?, *at.get(5)?) {
        (Space::Root, table) if table == Table::Waiting as u8 => Some(Topic::Waiting),
        (Space::Account(account), table) if table == Table::Event as u8 => Some(Topic::Feed(account)),
        (Space::Account(account), table) if table == Table::CallEvent as u8 => {
            Some(Topic::Call(account, read_call_event(at)?.0))
        }
        _ => None,
    }
}
