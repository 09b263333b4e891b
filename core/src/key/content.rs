//! Which keys count as what an account stores.

use super::{Space, Table, space_of};

/// What an account stores: resources and their parts, kept answers, events, and the search index. Sets, columns and
/// other indexes follow from rows and are small beside them; queues and counts are the service's own.
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

/// The account to whose stored bytes a key and its value count, if they do.
pub fn content_of(key: &[u8]) -> Option<u32> {
    let is_content = CONTENT.iter().any(|table| key.get(5) == Some(&(*table as u8)));
    match space_of(key).filter(|_| is_content)? {
        Space::Account(account) => Some(account),
        Space::Root => None,
    }
}

/// Whether a key is a ledger's.
pub fn is_ledger(key: &[u8]) -> bool {
    key.len() == 6 && key[5] == Table::Ledger as u8
}
