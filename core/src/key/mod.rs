//! All storage keys of the service, each with its sort order.
//!
//! A key is `scope (5 bytes) · table (1 byte) · rest`. The scope is the account, or the root for what belongs to none;
//! within a table the rest sorts as its constructor says. Numbers are big-endian, so byte order is numeric order. No
//! other file builds or parses a key.

use alloc::vec::Vec;
use core::ops::Range;

mod calls;
mod content;
mod erased;
mod facet;
mod memory;
mod order;
mod queue;
mod recordings;
mod search;
mod series;

pub use calls::*;
pub use content::*;
pub use erased::*;
pub use facet::Facet;
pub use memory::*;
pub use order::Order;
pub use queue::*;
pub use recordings::*;
pub use search::*;
pub use series::*;

use crate::numbered::numbered;
use crate::time::Timestamp;

/// Key of the byte map.
pub type Key = Vec<u8>;

/// Part of the map with one owner: the unit of consistency and of sharding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Space {
    /// Rows that belong to no account: accounts, plans, e-mail addresses, number ownership, jobs.
    Root,
    /// Rows of one account, by its number.
    Account(u32),
    /// Rows that a host may keep in memory alone, so that changing them writes nothing to disk: a restart loses them,
    /// and what they say is then built anew.
    Memory,
}

numbered! {
    /// Kind of a resource; its number is part of stored keys and never changes.
    pub enum Kind {
        /// Account of a customer (root space).
        Account = 1,
        /// Plan of accounts (root space).
        Plan = 2,
        /// Token of an engine (root space).
        EngineToken = 3,
        /// API key of an account.
        ApiKey = 4,
        /// Session that a login began.
        Session = 5,
        /// Assistant: how calls are held.
        Assistant = 6,
        /// Tool that assistants use during a call.
        Tool = 7,
        /// Phone number, caller id or SIP trunk.
        Number = 8,
        /// Knowledgebase that assistants search.
        Knowledgebase = 9,
        /// Document of a knowledgebase.
        Document = 10,
        /// Call, inbound or outbound.
        Call = 11,
        /// Campaign that calls its leads.
        Campaign = 12,
        /// Lead, or secondary contact of one; only leads are filed in lists.
        Lead = 13,
        /// Text message (SMS).
        Message = 14,
        /// Delivery of a webhook, its retries included.
        Delivery = 15,
        /// Event of the account's feed.
        Event = 16,
        /// Number that must not be called.
        DoNotCall = 17,
        /// Import of leads, or of numbers that must not be called.
        Import = 18,
        /// Secret that signs webhooks.
        Secret = 19,
        /// Job that was set aside after repeated failures (root space).
        Job = 20,
        /// Folder of assistants.
        Folder = 21,
        /// Label of assistants.
        Label = 22,
        /// Conversation by text.
        Conversation = 23,
    }
}

/// Number of slots for an array indexed by [`Kind`]: one more than the largest.
pub const KINDS: usize = Kind::ALL[Kind::ALL.len() - 1] as usize + 1;

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
    Visit = 26,
    Visited = 27,
    Recording = 28,
    RecordingAccount = 29,
    Logins = 31,
    Mention = 48,
    Email = 32,
    Owner = 33,
    DueAccount = 34,
    Operator = 35,
    Waiting = 36,
    Cursor = 37,
    JobFaults = 39,
    Prices = 40,
    Command = 41,
    Lease = 42,
    LeaseDue = 43,
    Restored = 44,
    Engine = 45,
    Drained = 46,
    Partial = 47,
    Trunk = 49,
    TrunksVersion = 50,
    Brought = 51,
    TrunkCheck = 52,
    Registration = 53,
    CallDays = 54,
    LoginCode = 55,
}

fn key(space: Space, table: Table, room: usize) -> Key {
    let mut key = Vec::with_capacity(6 + room);
    match space {
        Space::Root => key.extend_from_slice(&[0; 5]),
        Space::Account(number) => {
            key.push(1);
            key.extend_from_slice(&number.to_be_bytes());
        }
        Space::Memory => key.extend_from_slice(&[2, 0, 0, 0, 0]),
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

/// Returns the smallest key after every key that begins with `prefix`.
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

/// Returns the space of a key; `None` for bytes that are no key.
pub fn space_of(key: &[u8]) -> Option<Space> {
    let (first, rest) = key.split_first()?;
    let number = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
    match first {
        0 => Some(Space::Root),
        1 => Some(Space::Account(number)),
        2 => Some(Space::Memory),
        _ => None,
    }
}

/// Returns the keys of the table that a key stands in; `None` for bytes that are no key.
pub fn table_of(key: &[u8]) -> Option<Range<Key>> {
    Some(below(key.get(..6)?.to_vec()))
}

/// Returns the key of a space's ledger: its last count of each kind, its last time and its stored bytes.
pub fn ledger(space: Space) -> Key {
    key(space, Table::Ledger, 0)
}

/// Returns the keys of the rows of a kind, which sort by count.
pub fn rows(space: Space, kind: Kind) -> Series {
    Series::new(with(key(space, Table::Row, 5), &[&[kind as u8]]), Order::Ascending)
}

/// Returns the key of one row.
pub fn row(space: Space, kind: Kind, count: u32) -> Key {
    rows(space, kind).only(count)
}

/// Parses kind and count of a [`row`] key.
pub fn read_row(key: &[u8]) -> Option<(Kind, u32)> {
    if key.len() != 11 || key[5] != Table::Row as u8 {
        return None;
    }
    Some((Kind::from_u8(key[6])?, u32::from_be_bytes(key[7..].try_into().ok()?)))
}

/// Returns the range in which the later rows of a row's kind stand; `None` for a key that is no [`row`].
pub fn rows_behind(row: &[u8]) -> Option<Range<Key>> {
    read_row(row)?;
    Some([row, &[0]].concat()..after(&row[..7]))
}

fn set(space: Space, kind: Kind, facet: &Facet) -> Key {
    let value = facet.value();
    let length = u8::try_from(value.len()).unwrap_or(u8::MAX);
    with(key(space, Table::Set, value.len() + 8), &[&[kind as u8, facet.tag(), length], value])
}

/// Returns the key of the head of a set of ids; its chunks follow it.
pub fn head(space: Space, kind: Kind, facet: &Facet) -> Key {
    with(set(space, kind, facet), &[&[0]])
}

/// Returns the keys of the chunks of a set, which sort newest first, right after the head.
pub fn chunks(space: Space, kind: Kind, facet: &Facet) -> Series {
    Series::new(with(set(space, kind, facet), &[&[1]]), Order::Descending)
}

/// Returns the key of one chunk of a set.
pub fn chunk(space: Space, kind: Kind, facet: &Facet, chunk: u32) -> Key {
    chunks(space, kind, facet).only(chunk)
}

/// Returns the range of a set, head first, from the key of its head or of one of its chunks; `None` for other keys.
pub fn set_of(key: &[u8]) -> Option<Range<Key>> {
    let length = usize::from(*key.get(8).filter(|_| is_set(key))?);
    let (set, place) = key.split_at_checked(9 + length)?;
    let is_whole = matches!(place, [0] | [1, _, _, _, _]);
    is_whole.then(|| [set, &[0]].concat()..[set, &[2]].concat())
}

/// Returns whether a key is that of a [`row`].
pub fn is_row(key: &[u8]) -> bool {
    key.get(5) == Some(&(Table::Row as u8))
}

/// Returns whether a key is that of a head or chunk of a set.
pub fn is_set(key: &[u8]) -> bool {
    key.get(5) == Some(&(Table::Set as u8))
}

/// Kinds of rows that may hold secrets, and the tables that have such rows (a deleted assistant is kept as a part);
/// then the tables in which every value may be secret.
const SECRET_KINDS: [Kind; 3] = [Kind::Assistant, Kind::Tool, Kind::Number];
const KINDS_IN: [Table; 2] = [Table::Row, Table::Part];
const SECRET_TABLES: [Table; 4] = [Table::Idempotency, Table::Secrets, Table::Recording, Table::RecordingAccount];

/// Returns whether the value of a key may hold secrets that are needed in clear: header values of tools (and stored
/// replies that show them), keys of calendars, passwords of SIP trunks, secrets that sign webhooks and links,
/// keys of recordings. A host encrypts such values at rest.
pub fn holds_secrets(key: &[u8]) -> bool {
    let is = |tables: &[Table]| tables.iter().any(|table| key.get(5) == Some(&(*table as u8)));
    is(&SECRET_TABLES) || (is(&KINDS_IN) && SECRET_KINDS.iter().any(|kind| key.get(6) == Some(&(*kind as u8))))
}

/// Returns the ranges of a space that cover every key for which [`holds_secrets`] is true.
pub fn secret_ranges(space: Space) -> impl Iterator<Item = Range<Key>> {
    let of = move |table| SECRET_KINDS.map(|kind| below(with(key(space, table, 1), &[&[kind as u8]])));
    let tables = SECRET_TABLES.map(|table| below(key(space, table, 0)));
    KINDS_IN.into_iter().flat_map(of).chain(tables)
}

/// Returns the range of all keys after those of a space.
pub fn behind(space: Space) -> Range<Key> {
    let start = after(&key(space, Table::Ledger, 0)[..5]);
    start..everything().end
}

/// Returns the range of a space.
pub fn space(space: Space) -> Range<Key> {
    below(key(space, Table::Ledger, 0)[..5].to_vec())
}

/// Returns the range of the whole map.
pub fn everything() -> Range<Key> {
    Vec::new()..Vec::from([u8::MAX; 32])
}

/// Returns the key of the first count created on a UTC day (days since 1970); keys sort by day.
pub fn day(space: Space, kind: Kind, day: u64) -> Key {
    with(key(space, Table::Day, 9), &[&[kind as u8], &day.to_be_bytes()])
}

/// Returns the range of the [`day`] keys from the day `from` on.
pub fn days_from(space: Space, kind: Kind, from: u64) -> Range<Key> {
    let end = after(&with(key(space, Table::Day, 1), &[&[kind as u8]]));
    day(space, kind, from)..end
}

/// Unique index of a space: its values lead to rows.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Unique {
    /// UUID of an assistant.
    AssistantUuid = 1,
    /// Phone number of the account's own.
    Number = 2,
    /// Leads of a campaign by phone number: campaign count, number, zero byte, lead count.
    LeadPhone = 3,
    /// Name of a plan (root space).
    PlanName = 4,
    /// Message being sent, by the identity of its request.
    Message = 5,
    /// Number that must not be called.
    DoNotCall = 6,
    /// Call that an engine brings, by the identity of its request.
    Arrival = 7,
    /// Name of a folder, in lower case.
    FolderName = 8,
    /// Name of a label, in lower case.
    LabelName = 9,
    /// Conversation of an assistant and a customer: assistant count, digest of the customer's identifier.
    Customer = 10,
}

/// Returns the key of a value in a unique index.
pub fn unique(space: Space, index: Unique, value: &[u8]) -> Key {
    with(key(space, Table::Unique, value.len() + 1), &[&[index as u8], value])
}

/// Returns the key of a lead's phone number in a campaign; keys sort by campaign, number and lead.
pub fn lead_phone(space: Space, campaign: u32, phone: &str, lead: u32) -> Key {
    let parts: [&[u8]; 4] = [&campaign.to_be_bytes(), phone.as_bytes(), &[0], &lead.to_be_bytes()];
    unique(space, Unique::LeadPhone, &parts.concat())
}

/// Returns the range of the leads of a campaign with this phone number.
pub fn lead_phones(space: Space, campaign: u32, phone: &str) -> Range<Key> {
    let parts: [&[u8]; 3] = [&campaign.to_be_bytes(), phone.as_bytes(), &[0]];
    below(unique(space, Unique::LeadPhone, &parts.concat()))
}

/// Returns the range of all [`lead_phone`] keys of a campaign.
pub fn lead_phones_of(space: Space, campaign: u32) -> Range<Key> {
    below(unique(space, Unique::LeadPhone, &campaign.to_be_bytes()))
}

/// Parses the count of the lead at the end of a [`lead_phone`] key.
pub fn read_lead_phone(key: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(key.get(key.len().checked_sub(4)?..)?.try_into().ok()?))
}

/// Returns the key of the visits of a network address on a UTC day (days since 1970); keys sort by day.
pub fn visit(space: Space, day: u64, network: &[u8; 16]) -> Key {
    with(key(space, Table::Visit, 24), &[&day.to_be_bytes(), network])
}

/// Returns the range of the [`visit`] keys of the days before this one.
pub fn visits_before(space: Space, day: u64) -> Range<Key> {
    key(space, Table::Visit, 0)..visit(space, day, &[0; 16])
}

/// Returns the key of what was used of an assistant on a UTC day by those who visited it; count 0 is the whole account.
/// Keys sort by day.
pub fn visited(space: Space, day: u64, assistant: u32) -> Key {
    with(key(space, Table::Visited, 12), &[&day.to_be_bytes(), &assistant.to_be_bytes()])
}

/// Returns the range of the [`visited`] keys of the days before this one.
pub fn visited_before(space: Space, day: u64) -> Range<Key> {
    key(space, Table::Visited, 0)..visited(space, day, 0)
}

/// Returns the key of a part of something large; keys sort by owner and part.
pub fn part(space: Space, kind: Kind, count: u32, part: u32) -> Key {
    with(key(space, Table::Part, 9), &[&[kind as u8], &count.to_be_bytes(), &part.to_be_bytes()])
}

/// Returns the range of all parts of one owner.
pub fn parts(space: Space, kind: Kind, count: u32) -> Range<Key> {
    below(with(key(space, Table::Part, 5), &[&[kind as u8], &count.to_be_bytes()]))
}

/// Returns the key of a rejected line of an import; keys sort by import and position.
pub fn import_error(space: Space, import: u32, seq: u32) -> Key {
    with(key(space, Table::ImportError, 8), &[&import.to_be_bytes(), &seq.to_be_bytes()])
}

/// Returns the range of the rejected lines of an import.
pub fn import_errors(space: Space, import: u32) -> Range<Key> {
    below(with(key(space, Table::ImportError, 4), &[&import.to_be_bytes()]))
}

/// Returns the key of the time at which a credential was last used.
pub fn used(space: Space, kind: Kind, count: u32) -> Key {
    with(key(space, Table::Used, 5), &[&[kind as u8], &count.to_be_bytes()])
}

/// Returns the key of the stored reply to an idempotency key, by the digest of that key.
pub fn idempotency(space: Space, digest: &[u8; 32]) -> Key {
    with(key(space, Table::Idempotency, 32), &[digest])
}

/// Returns the key of an idempotency key's expiry; keys sort by time.
pub fn idempotency_expiry(space: Space, at: Timestamp, digest: &[u8; 32]) -> Key {
    with(key(space, Table::IdempotencyExpiry, 40), &[&at.micros().to_be_bytes(), digest])
}

/// Returns the range of the expiries of all idempotency keys.
pub fn idempotency_expiries(space: Space) -> Range<Key> {
    key(space, Table::IdempotencyExpiry, 0)..with(key(space, Table::IdempotencyExpiry, 8), &[&u64::MAX.to_be_bytes()])
}

/// Parses the digest at the end of an [`idempotency_expiry`] key.
pub fn read_idempotency_expiry(key: &[u8]) -> Option<[u8; 32]> {
    key.get(14..)?.try_into().ok()
}

/// Parses the time in an [`idempotency_expiry`] key.
pub fn read_idempotency_time(key: &[u8]) -> Option<Timestamp> {
    Some(Timestamp::from_micros(u64::from_be_bytes(key.get(6..14)?.try_into().ok()?)))
}

/// Returns the key of a block of the packed column of lead phone numbers; keys sort by block.
pub fn phones(space: Space, kind: Kind, block: u32) -> Key {
    with(key(space, Table::Phones, 5), &[&[kind as u8], &block.to_be_bytes()])
}

/// Returns the key of what an account's own operations need to know about it: plan, balance, zone, suspension.
pub fn profile(account: u32) -> Key {
    key(Space::Account(account), Table::Profile, 0)
}

/// Returns the key of an account's recent logins; in the root, of those with e-mails that no account has.
pub fn logins(space: Space) -> Key {
    key(space, Table::Logins, 0)
}

/// Returns the key of the account number for an e-mail address (lower case).
pub fn email(address: &str) -> Key {
    with(key(Space::Root, Table::Email, address.len()), &[address.as_bytes()])
}

/// Returns the key of the owner of a phone number in the whole installation.
pub fn owner(e164: &str) -> Key {
    with(key(Space::Root, Table::Owner, e164.len()), &[e164.as_bytes()])
}

/// Returns the key of the digest of the operator's token.
pub fn operator() -> Key {
    key(Space::Root, Table::Operator, 0)
}

/// Returns the key of the operator's price list.
pub fn prices() -> Key {
    key(Space::Root, Table::Prices, 0)
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
        let last = chunk(space, Kind::Call, &Facet::new(1, b"1"), u32::MAX);
        for key in [&one, &last] {
            let set = set_of(key).expect("its set");
            assert_eq!(set.start, one);
            assert!(set.contains(&last) && set.contains(&chunk(space, Kind::Call, &Facet::new(1, b"1"), 0)));
            assert!(!set.contains(&ten) && !set.contains(&head(space, Kind::Call, &Facet::new(1, b"2"))));
            assert_eq!(set_of(&key[..key.len() - 1]), None);
        }
        assert_eq!(set_of(&row(space, Kind::Call, 1)), None);
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
