//! Which keys count towards the stored bytes of an account.

use super::{Space, Table, space_of};

/// Tables that count: resources and their parts, stored replies, events, and the search index. Sets, columns and other
/// indexes derive from rows and are small beside them; queues and counts belong to the service itself.
const CONTENT: [Table; 10] = [
    Table::Row,
    Table::Part,
    Table::Idempotency,
    Table::Indexed,
    Table::Segment,
    Table::Posting,
    Table::Passage,
    Table::Event,
    Table::CallEvent,
    Table::ImportError,
];

/// Returns the account towards whose stored bytes a key and its value count, if any.
pub fn content_of(key: &[u8]) -> Option<u32> {
    let is_content = CONTENT.iter().any(|table| key.get(5) == Some(&(*table as u8)));
    match space_of(key).filter(|_| is_content)? {
        Space::Account(account) => Some(account),
        Space::Root | Space::Memory => None,
    }
}

/// Returns whether a key is that of a ledger.
pub fn is_ledger(key: &[u8]) -> bool {
    key.len() == 6 && key[5] == Table::Ledger as u8
}
