//! Every storage key of the service, in one file, with its order stated.
//!
//! A key is `scope (5 bytes) · table (1 byte) · rest`. The scope is the account, or the root for what
//! belongs to none; within a table the rest is ordered as its constructor says. Numbers are big-endian, so
//! byte order is numeric order. No other file formats a key.

use alloc::vec::Vec;
use core::ops::Range;

use crate::collection::Facet;
use crate::time::Timestamp;

/// A key of the byte map.
pub type Key = Vec<u8>;

/// Whose part of the map: the unit of consistency, and of sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// What belongs to no account: accounts, plans, e-mail addresses, number ownership, jobs.
    Root,
    /// One account, by its number.
    Account(u32),
}

/// The resource kinds; the number is part of stored keys and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// An account (root space).
    Account = 1,
    /// A plan (root space).
    Plan = 2,
    /// An engine token (root space).
    EngineToken = 3,
    /// An API key.
    ApiKey = 4,
    /// A session of a login.
    Session = 5,
    /// An assistant.
    Assistant = 6,
    /// A mid-call tool.
    Tool = 7,
    /// A phone number, caller id or SIP trunk.
    Number = 8,
    /// A knowledgebase.
    Knowledgebase = 9,
    /// A document of a knowledgebase.
    Document = 10,
    /// A call.
    Call = 11,
    /// A campaign.
    Campaign = 12,
    /// A lead that stands on its own.
    Lead = 13,
    /// A text message.
    Message = 14,
    /// A webhook delivery.
    Delivery = 15,
    /// An event of the account's feed.
    Event = 16,
    /// A number that is not to be called.
    DoNotCall = 17,
    /// An import of leads or of numbers not to be called.
    Import = 18,
    /// A secret that signs webhooks.
    Secret = 19,
}

/// One past the largest [`Kind`].
pub const KINDS: usize = 20;

impl Kind {
    /// The kind with this stored number.
    pub fn from_u8(number: u8) -> Option<Self> {
        use Kind::{
            Account, ApiKey, Assistant, Call, Campaign, Delivery, DoNotCall, Document, EngineToken, Event, Import,
            Knowledgebase, Lead, Message, Number, Plan, Secret, Session, Tool,
        };
        let all = [
            Account,
            Plan,
            EngineToken,
            ApiKey,
            Session,
            Assistant,
            Tool,
            Number,
            Knowledgebase,
            Document,
            Call,
            Campaign,
            Lead,
            Message,
            Delivery,
            Event,
            DoNotCall,
            Import,
            Secret,
        ];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

#[derive(Clone, Copy)]
#[repr(u8)]
enum Table {
    Ledger = 1,
    Row = 2,
    Set = 3,
    Day = 4,
    Unique = 5,
    Part = 6,
    Used = 7,
    Idempotency = 8,
    IdempotencyExpiry = 9,
    Phones = 10,
    Profile = 11,
    Indexed = 12,
    Segment = 13,
    Posting = 14,
    Passage = 15,
    Due = 16,
    Job = 17,
    DueHead = 18,
    Event = 19,
    Address = 20,
    Retry = 21,
    Dialer = 22,
    Secrets = 23,
    CallEvent = 24,
    ImportError = 25,
    Email = 32,
    Owner = 33,
    DueAccount = 34,
    Operator = 35,
    Waiting = 36,
    Cursor = 37,
    Attached = 38,
}

fn key(space: Space, table: Table, room: usize) -> Key {
    let mut key = Vec::with_capacity(6 + room);
    match space {
        Space::Root => key.extend_from_slice(&[0; 5]),
        Space::Account(number) => {
            key.push(1);
            key.extend_from_slice(&number.to_be_bytes());
        }
    }
    key.push(table as u8);
    key
}

fn with(mut key: Key, parts: &[&[u8]]) -> Key {
    for part in parts {
        key.extend_from_slice(part);
    }
    key
}

/// The smallest key after every key that begins with `prefix`.
fn after(prefix: &[u8]) -> Key {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            break;
        }
    }
    end
}

fn below(prefix: Key) -> Range<Key> {
    let end = after(&prefix);
    prefix..end
}

/// The space that a key belongs to.
pub fn space_of(key: &[u8]) -> Option<Space> {
    let (first, rest) = key.split_first()?;
    let number = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
    match first {
        0 => Some(Space::Root),
        1 => Some(Space::Account(number)),
        _ => None,
    }
}

/// The ledger: counts of every kind and the last time, one row a space.
pub fn ledger(space: Space) -> Key {
    key(space, Table::Ledger, 0)
}

/// A row, ordered by kind and count.
pub fn row(space: Space, kind: Kind, count: u32) -> Key {
    with(key(space, Table::Row, 5), &[&[kind as u8], &count.to_be_bytes()])
}

/// Kind and count of a row key.
pub fn read_row(key: &[u8]) -> Option<(Kind, u32)> {
    if key.len() != 11 || key[5] != Table::Row as u8 {
        return None;
    }
    Some((Kind::from_u8(key[6])?, u32::from_be_bytes(key[7..].try_into().ok()?)))
}

fn set(space: Space, kind: Kind, facet: &Facet) -> Key {
    let value = facet.value();
    let length = u8::try_from(value.len()).unwrap_or(u8::MAX);
    with(key(space, Table::Set, value.len() + 8), &[&[kind as u8, facet.tag(), length], value])
}

/// The head of a set of ids; its chunks follow it.
pub fn head(space: Space, kind: Kind, facet: &Facet) -> Key {
    with(set(space, kind, facet), &[&[0]])
}

/// A chunk of a set: newest first, right behind the head.
pub fn chunk(space: Space, kind: Kind, facet: &Facet, chunk: u32) -> Key {
    with(set(space, kind, facet), &[&[1], &(!chunk).to_be_bytes()])
}

/// Whether a key is a row's.
pub fn is_row(key: &[u8]) -> bool {
    key.get(5) == Some(&(Table::Row as u8))
}

/// Whether a key belongs to a set.
pub fn is_set(key: &[u8]) -> bool {
    key.get(5) == Some(&(Table::Set as u8))
}

/// The whole map.
pub fn everything() -> Range<Key> {
    Vec::new()..Vec::from([u8::MAX; 32])
}

/// The first id of a UTC day, ordered by day.
pub fn day(space: Space, kind: Kind, day: u64) -> Key {
    with(key(space, Table::Day, 9), &[&[kind as u8], &day.to_be_bytes()])
}

/// The days from `day` on.
pub fn days_from(space: Space, kind: Kind, from: u64) -> Range<Key> {
    let end = after(&with(key(space, Table::Day, 1), &[&[kind as u8]]));
    day(space, kind, from)..end
}

/// What is unique within a space and leads to a row.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Unique {
    /// An assistant's uuid.
    AssistantUuid = 1,
    /// A phone number within the account: its row.
    Number = 2,
    /// A campaign's leads by number: campaign count, then digits, then lead count.
    LeadPhone = 3,
    /// A plan's name (root space).
    PlanName = 4,
    /// A message being sent, by the identity of its request.
    Message = 5,
    /// A number that is not to be called.
    DoNotCall = 6,
    /// A call that an engine brings, by the identity of its request.
    Arrival = 7,
}

/// The row of a unique value.
pub fn unique(space: Space, index: Unique, value: &[u8]) -> Key {
    with(key(space, Table::Unique, value.len() + 1), &[&[index as u8], value])
}

/// Where a lead with this number stands in a campaign, ordered by campaign, number and lead.
pub fn lead_phone(space: Space, campaign: u32, phone: &str, lead: u32) -> Key {
    let parts: [&[u8]; 4] = [&campaign.to_be_bytes(), phone.as_bytes(), &[0], &lead.to_be_bytes()];
    unique(space, Unique::LeadPhone, &parts.concat())
}

/// The leads of a campaign with this number.
pub fn lead_phones(space: Space, campaign: u32, phone: &str) -> Range<Key> {
    let parts: [&[u8]; 3] = [&campaign.to_be_bytes(), phone.as_bytes(), &[0]];
    below(unique(space, Unique::LeadPhone, &parts.concat()))
}

/// All lead numbers of a campaign.
pub fn lead_phones_of(space: Space, campaign: u32) -> Range<Key> {
    below(unique(space, Unique::LeadPhone, &campaign.to_be_bytes()))
}

/// The count of the lead at the end of a [`lead_phone`] key.
pub fn read_lead_phone(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(key.len().checked_sub(4)?..)?.try_into().ok()?))
}

/// One part of something large, ordered by owner and part.
pub fn part(space: Space, kind: Kind, count: u32, part: u32) -> Key {
    with(key(space, Table::Part, 9), &[&[kind as u8], &count.to_be_bytes(), &part.to_be_bytes()])
}

/// All parts of one owner.
pub fn parts(space: Space, kind: Kind, count: u32) -> Range<Key> {
    below(with(key(space, Table::Part, 5), &[&[kind as u8], &count.to_be_bytes()]))
}

/// A rejected line of an import, ordered by import and place.
pub fn import_error(space: Space, import: u32, seq: u32) -> Key {
    with(key(space, Table::ImportError, 8), &[&import.to_be_bytes(), &seq.to_be_bytes()])
}

/// The rejected lines of an import.
pub fn import_errors(space: Space, import: u32) -> Range<Key> {
    below(with(key(space, Table::ImportError, 4), &[&import.to_be_bytes()]))
}

/// When a credential was last used.
pub fn used(space: Space, kind: Kind, count: u32) -> Key {
    with(key(space, Table::Used, 5), &[&[kind as u8], &count.to_be_bytes()])
}

/// The first answer to an idempotency key, by the key's digest.
pub fn idempotency(space: Space, digest: &[u8; 32]) -> Key {
    with(key(space, Table::Idempotency, 32), &[digest])
}

/// Idempotency keys by the time they are forgotten.
pub fn idempotency_expiry(space: Space, at: Timestamp, digest: &[u8; 32]) -> Key {
    with(key(space, Table::IdempotencyExpiry, 40), &[&at.micros().to_be_bytes(), digest])
}

/// The idempotency keys that are forgotten by `now`, this very microsecond included.
pub fn idempotency_expired(space: Space, now: Timestamp) -> Range<Key> {
    key(space, Table::IdempotencyExpiry, 0)
        ..with(key(space, Table::IdempotencyExpiry, 8), &[&(now.micros() + 1).to_be_bytes()])
}

/// The digest at the end of an [`idempotency_expiry`] key.
pub fn read_idempotency_expiry(key: &[u8]) -> Option<[u8; 32]> {
    key.get(14..)?.try_into().ok()
}

/// The time in an [`idempotency_expiry`] key.
pub fn read_idempotency_time(key: &[u8]) -> Option<Timestamp> {
    Some(Timestamp::from_micros(u64::from_be_bytes(key.get(6..14)?.try_into().ok()?)))
}

/// A block of the packed column of lead numbers.
pub fn phones(space: Space, kind: Kind, block: u32) -> Key {
    with(key(space, Table::Phones, 5), &[&[kind as u8], &block.to_be_bytes()])
}

/// What an account's own operations need to know of it: plan, balance, zone, suspension.
pub fn profile(account: u32) -> Key {
    key(Space::Account(account), Table::Profile, 0)
}

/// What of a document is searchable, ordered by knowledgebase and document.
pub fn indexed(space: Space, base: u32, document: u32) -> Key {
    with(key(space, Table::Indexed, 8), &[&base.to_be_bytes(), &document.to_be_bytes()])
}

/// The searchable documents of a knowledgebase.
pub fn indexed_of(space: Space, base: u32) -> Range<Key> {
    below(with(key(space, Table::Indexed, 4), &[&base.to_be_bytes()]))
}

/// The document at the end of an [`indexed`] key.
pub fn read_indexed(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(10..)?.try_into().ok()?))
}

/// A segment of a document's index, ordered by knowledgebase, document and segment.
pub fn segment(space: Space, base: u32, document: u32, segment: u16) -> Key {
    let parts: [&[u8]; 3] = [&base.to_be_bytes(), &document.to_be_bytes(), &segment.to_be_bytes()];
    with(key(space, Table::Segment, 10), &parts)
}

/// The segments of a document.
pub fn segments(space: Space, base: u32, document: u32) -> Range<Key> {
    below(with(key(space, Table::Segment, 8), &[&base.to_be_bytes(), &document.to_be_bytes()]))
}

/// The segment at the end of a [`segment`] key.
pub fn read_segment(key: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(key.get(14..)?.try_into().ok()?))
}

/// Where a term stands in a segment, ordered by knowledgebase, term, document and segment. No term has a zero
/// byte, so none begins another's keys.
pub fn posting(space: Space, base: u32, term: &str, document: u32, segment: u16) -> Key {
    let (base, document, segment) = (base.to_be_bytes(), document.to_be_bytes(), segment.to_be_bytes());
    with(key(space, Table::Posting, term.len() + 11), &[&base, term.as_bytes(), &[0], &document, &segment])
}

/// Where a term stands in a knowledgebase.
pub fn postings(space: Space, base: u32, term: &str) -> Range<Key> {
    below(with(key(space, Table::Posting, term.len() + 5), &[&base.to_be_bytes(), term.as_bytes(), &[0]]))
}

/// Document and segment at the end of a [`posting`] key.
pub fn read_posting(key: &[u8]) -> Option<(u32, u16)> {
    let (document, segment) = key.get(key.len().checked_sub(6)?..)?.split_at(4);
    Some((u32::from_be_bytes(document.try_into().ok()?), u16::from_be_bytes(segment.try_into().ok()?)))
}

/// The text of a passage, ordered by knowledgebase, document, segment and place in the segment.
pub fn passage(space: Space, base: u32, document: u32, segment: u16, place: u8) -> Key {
    let (base, document, segment) = (base.to_be_bytes(), document.to_be_bytes(), segment.to_be_bytes());
    with(key(space, Table::Passage, 11), &[&base, &document, &segment, &[place]])
}

/// The passages of a document, in the order of its text.
pub fn passages(space: Space, base: u32, document: u32) -> Range<Key> {
    below(with(key(space, Table::Passage, 8), &[&base.to_be_bytes(), &document.to_be_bytes()]))
}

/// The passages of a segment.
pub fn passages_of(space: Space, base: u32, document: u32, segment: u16) -> Range<Key> {
    let (base, document, segment) = (base.to_be_bytes(), document.to_be_bytes(), segment.to_be_bytes());
    below(with(key(space, Table::Passage, 10), &[&base, &document, &segment]))
}

/// The account of an e-mail address (lower case).
pub fn email(address: &str) -> Key {
    with(key(Space::Root, Table::Email, address.len()), &[address.as_bytes()])
}

/// The owner of a phone number in the whole installation.
pub fn owner(e164: &str) -> Key {
    with(key(Space::Root, Table::Owner, e164.len()), &[e164.as_bytes()])
}

/// A planned task of a lane, ordered by the time it is due.
pub fn due(space: Space, lane: u8, at: Timestamp, task: &[u8]) -> Key {
    with(key(space, Table::Due, 9 + task.len()), &[&[lane], &at.micros().to_be_bytes(), task])
}

/// The planned tasks of a lane, the one due first first.
pub fn dues(space: Space, lane: u8) -> Range<Key> {
    below(with(key(space, Table::Due, 1), &[&[lane]]))
}

/// Time and task of a [`due`] key.
pub fn read_due(key: &[u8]) -> Option<(Timestamp, &[u8])> {
    let at = u64::from_be_bytes(key.get(7..15)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), key.get(15..)?))
}

/// A planned task, by what it is.
pub fn job(space: Space, task: &[u8]) -> Key {
    with(key(space, Table::Job, task.len()), &[task])
}

/// When each lane of an account is next due, as the root knows it.
pub fn due_head(space: Space) -> Key {
    key(space, Table::DueHead, 0)
}

/// A lane of an account that has something to do, ordered by the time that is due.
pub fn due_account(at: Timestamp, account: u32, lane: u8) -> Key {
    with(key(Space::Root, Table::DueAccount, 13), &[&at.micros().to_be_bytes(), &account.to_be_bytes(), &[lane]])
}

/// All lanes with something to do, the one due first first.
pub fn due_accounts() -> Range<Key> {
    below(key(Space::Root, Table::DueAccount, 0))
}

/// Time, account and lane of a [`due_account`] key.
pub fn read_due_account(key: &[u8]) -> Option<(Timestamp, u32, u8)> {
    let at = u64::from_be_bytes(key.get(6..14)?.try_into().ok()?);
    Some((Timestamp::from_micros(at), u32::from_be_bytes(key.get(14..18)?.try_into().ok()?), *key.get(18)?))
}

/// When the work of a changed key is due: tells a host to come back by then.
pub fn due_of(key: &[u8]) -> Option<Timestamp> {
    let is_due = key.starts_with(&[0; 5]) && key.get(5) == Some(&(Table::DueAccount as u8));
    is_due.then(|| read_due_account(key)).flatten().map(|(at, ..)| at)
}

/// A call that waits for an engine, ordered by account, mode and call.
pub fn waiting(account: u32, mode: u8, call: u32) -> Key {
    with(key(Space::Root, Table::Waiting, 9), &[&account.to_be_bytes(), &[mode], &call.to_be_bytes()])
}

/// The calls of an account that wait in a mode.
pub fn waiting_in(account: u32, mode: u8) -> Range<Key> {
    below(with(key(Space::Root, Table::Waiting, 5), &[&account.to_be_bytes(), &[mode]]))
}

/// The calls that wait, from an account on.
pub fn waiting_from(account: u32) -> Range<Key> {
    let start = with(key(Space::Root, Table::Waiting, 4), &[&account.to_be_bytes()]);
    start..after(&key(Space::Root, Table::Waiting, 0))
}

/// Account, mode and call of a [`waiting`] key.
pub fn read_waiting(key: &[u8]) -> Option<(u32, u8, u32)> {
    let account = u32::from_be_bytes(key.get(6..10)?.try_into().ok()?);
    Some((account, *key.get(10)?, u32::from_be_bytes(key.get(11..)?.try_into().ok()?)))
}

/// After which account the next claim looks first.
pub fn cursor() -> Key {
    key(Space::Root, Table::Cursor, 0)
}

/// When an engine last asked for calls, by its token.
pub fn attached(token: u32) -> Key {
    with(key(Space::Root, Table::Attached, 4), &[&token.to_be_bytes()])
}

/// All engines that ever asked.
pub fn all_attached() -> Range<Key> {
    below(key(Space::Root, Table::Attached, 0))
}

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

/// The digest of the operator's token.
pub fn operator() -> Key {
    key(Space::Root, Table::Operator, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_holds_its_keys_and_no_neighbour() {
        let space = Space::Account(1);
        let range = lead_phones(space, 7, "+40");
        assert!(range.contains(&lead_phone(space, 7, "+40", 0)));
        assert!(range.contains(&lead_phone(space, 7, "+40", u32::MAX)));
        assert!(!range.contains(&lead_phone(space, 7, "+401", 0)));
        assert!(!range.contains(&lead_phone(space, 8, "+40", 0)));
        assert_eq!(after(&[1, 255, 255]), [2]);
    }

    #[test]
    fn sets_of_like_values_do_not_mix() {
        let space = Space::Account(u32::MAX);
        let one = head(space, Kind::Call, &Facet::new(1, b"1"));
        let ten = head(space, Kind::Call, &Facet::new(1, b"10"));
        assert!(!ten.starts_with(&one[..one.len() - 1]));
        assert!(chunk(space, Kind::Call, &Facet::ALL, 2) < chunk(space, Kind::Call, &Facet::ALL, 1));
    }

    #[test]
    fn keys_say_what_they_are() {
        let key = row(Space::Account(9), Kind::Lead, 77);
        assert_eq!(space_of(&key), Some(Space::Account(9)));
        assert_eq!(read_row(&key), Some((Kind::Lead, 77)));
        let space = Space::Account(9);
        assert_eq!(read_indexed(&indexed(space, 1, 5)), Some(5));
        assert_eq!(read_segment(&segment(space, 1, 5, 6)), Some(6));
        assert_eq!(read_posting(&posting(space, 1, "word", 5, 6)), Some((5, 6)));
        assert!(!postings(space, 1, "wor").contains(&posting(space, 1, "word", 0, 0)));
        assert!(passages(space, 1, 5).contains(&passage(space, 1, 5, u16::MAX, 31)));
        let at = Timestamp::from_seconds(5);
        assert_eq!(read_due(&due(Space::Account(9), 1, at, &[3, 4])), Some((at, &[3, 4][..])));
        assert_eq!(due_of(&due_account(at, 9, 1)), Some(at));
        assert_eq!(due_of(&due(Space::Account(9), 1, at, &[3])), None);
        assert_eq!(read_retry(&retry(Space::Account(9), 1, at, 7)), Some((at, 7)));
        assert_eq!(topic_of(&waiting(1, 2, 3)), Some(Topic::Waiting));
        assert_eq!(topic_of(&event(Space::Account(4), 1)), Some(Topic::Feed(4)));
        assert_eq!(topic_of(&call_event(Space::Account(4), 5, 1)), Some(Topic::Call(4, 5)));
        assert_eq!(topic_of(&event(Space::Root, 1)), None);
        assert_eq!(read_lead_phone(&lead_phone(Space::Root, 1, "+1", 42)), Some(42));
    }
}
