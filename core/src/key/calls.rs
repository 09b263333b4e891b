//! Keys of events of calls, the feed, webhooks and the dialer; and the topics that changed keys wake.

use core::ops::Range;

use super::{Key, Kind, Space, Table, after, below, key, read_partial, space_of, with};
use crate::time::Timestamp;

/// Returns the key of an event of a call; keys sort by call and sequence number.
pub fn call_event(space: Space, call: u32, seq: u32) -> Key {
    with(key(space, Table::CallEvent, 8), &[&call.to_be_bytes(), &seq.to_be_bytes()])
}

/// Returns the range of a call's events after the sequence number `after_seq`.
pub fn call_events(space: Space, call: u32, after_seq: u32) -> Range<Key> {
    let end = after(&with(key(space, Table::CallEvent, 4), &[&call.to_be_bytes()]));
    call_event(space, call, after_seq.saturating_add(1))..end
}

/// Parses call and sequence number of a [`call_event`] key.
pub fn read_call_event(key: &[u8]) -> Option<(u32, u32)> {
    let call = u32::from_be_bytes(key.get(6..10)?.try_into().ok()?);
    Some((call, u32::from_be_bytes(key.get(10..)?.try_into().ok()?)))
}

/// Returns the key of a call that an engine brought, by what the network calls it: the UTC day (days since 1970), the
/// engine's token, the trunk, and a digest of its id; keys sort by day.
pub fn brought(space: Space, day: u64, token: u32, trunk: u64, digest: &[u8; 32]) -> Key {
    let parts: [&[u8]; 4] = [&day.to_be_bytes(), &token.to_be_bytes(), &trunk.to_be_bytes(), digest];
    with(key(space, Table::Brought, 52), &parts)
}

/// Returns the range of the [`brought`] keys of the days before this one.
pub fn brought_before(space: Space, day: u64) -> Range<Key> {
    let start = key(space, Table::Brought, 0);
    start.clone()..with(start, &[&day.to_be_bytes()])
}

/// Returns the key of an event of the account's feed; keys sort by sequence number.
pub fn event(space: Space, seq: u32) -> Key {
    with(key(space, Table::Event, 4), &[&seq.to_be_bytes()])
}

/// Returns the range of the feed's events after the sequence number `after_seq`.
pub fn events(space: Space, after_seq: u32) -> Range<Key> {
    event(space, after_seq.saturating_add(1))..after(&key(space, Table::Event, 0))
}

/// Parses the sequence number of an [`event`] key.
pub fn read_event(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(6..)?.try_into().ok()?))
}

/// Returns the index key of a feed event that mentions a call or a lead; keys sort by what is mentioned, then event.
pub fn mention(space: Space, kind: Kind, count: u32, seq: u32) -> Key {
    with(key(space, Table::Mention, 9), &[&[kind as u8], &count.to_be_bytes(), &seq.to_be_bytes()])
}

/// Returns the range of the feed events that mention a call or a lead.
pub fn mentions(space: Space, kind: Kind, count: u32) -> Range<Key> {
    below(with(key(space, Table::Mention, 5), &[&[kind as u8], &count.to_be_bytes()]))
}

/// Parses the sequence number of the event in a [`mention`] key.
pub fn read_mention(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(11..)?.try_into().ok()?))
}

/// Returns the key of the first feed event that [`mention`] keys cover.
pub fn mentions_since(space: Space) -> Key {
    key(space, Table::Mention, 0)
}

/// Returns the key of the failure record of an assistant's webhook address: since when it fails, and which URL.
pub fn address(space: Space, assistant: u32, webhook: u8) -> Key {
    with(key(space, Table::Address, 5), &[&assistant.to_be_bytes(), &[webhook]])
}

/// Returns the range of the [`address`] keys of an account.
pub fn addresses(space: Space) -> Range<Key> {
    below(key(space, Table::Address, 0))
}

/// Parses assistant and webhook of an [`address`] key.
pub fn read_address(key: &[u8]) -> Option<(u32, u8)> {
    let (webhook, assistant) = key.get(6..11)?.split_last()?;
    Some((u32::from_be_bytes(assistant.try_into().ok()?), *webhook))
}

/// Returns the key of the sums of an account's calls for each of the last days.
pub fn call_days(space: Space) -> Key {
    key(space, Table::CallDays, 0)
}

/// Returns the key of a lead that waits for a retry; keys sort by campaign and time.
pub fn retry(space: Space, campaign: u32, at: Timestamp, lead: u32) -> Key {
    with(key(space, Table::Retry, 16), &[&campaign.to_be_bytes(), &at.micros().to_be_bytes(), &lead.to_be_bytes()])
}

/// Returns the range of the leads of a campaign that wait for a retry, soonest first.
pub fn retries(space: Space, campaign: u32) -> Range<Key> {
    below(with(key(space, Table::Retry, 4), &[&campaign.to_be_bytes()]))
}

/// Parses time and lead of a [`retry`] key.
pub fn read_retry(key: &[u8]) -> Option<(Timestamp, u32)> {
    let at = u64::from_be_bytes(key.get(10..18)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), u32::from_be_bytes(key.get(18..)?.try_into().ok()?)))
}

/// Returns the key of the sums of a campaign, which hold the state of its dialer.
pub fn dialer(space: Space, campaign: u32) -> Key {
    with(key(space, Table::Dialer, 4), &[&campaign.to_be_bytes()])
}

/// Parses the campaign of a [`dialer`] key; `None` for another key.
pub fn read_dialer(key: &[u8]) -> Option<u32> {
    let is_dialer = key.len() == 10 && key[5] == Table::Dialer as u8;
    is_dialer.then(|| Some(u32::from_be_bytes(key[6..].try_into().ok()?))).flatten()
}

/// Returns the key of the secrets that sign an account's webhooks.
pub fn secrets(space: Space) -> Key {
    key(space, Table::Secrets, 0)
}

/// Topic that a request can wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Topic {
    /// A call that an engine may claim, a command to one that it has, or the check of a trunk.
    Waiting,
    /// The list of SIP trunks.
    Trunks,
    /// An event in the feed of this account.
    Feed(u32),
    /// An event of a call, by account and call.
    Call(u32, u32),
}

/// Returns the topic that a changed key wakes, if any.
pub fn topic_of(at: &[u8]) -> Option<Topic> {
    match (space_of(at)?, *at.get(5)?) {
        (Space::Root, table) if table == Table::Waiting as u8 || table == Table::Command as u8 => Some(Topic::Waiting),
        (Space::Root, table) if table == Table::TrunksVersion as u8 => Some(Topic::Trunks),
        (Space::Account(account), table) if table == Table::Event as u8 => Some(Topic::Feed(account)),
        (Space::Account(account), table) if table == Table::CallEvent as u8 => {
            Some(Topic::Call(account, read_call_event(at)?.0))
        }
        (Space::Memory, table) if table == Table::TrunkCheck as u8 => Some(Topic::Waiting),
        (Space::Memory, _) => read_partial(at).map(|(account, call)| Topic::Call(account, call)),
        _ => None,
    }
}
