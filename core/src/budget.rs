//! Budgets: every place where bytes accumulate or requests wait, with its bounds.
//!
//! One table, read by the core and by hosts. A host keeps a counter for each row that it enforces and reports how full
//! it is in its metrics (`switchboard_budget_used` and its neighbours, labelled with the row's name). Nothing
//! accumulates outside this table: a new queue, buffer or cache that grows with what strangers send needs a row here
//! first.
//!
//! Shares: an account's requests together never hold more than `account`; requests without a token hold at most
//! `address` for one address (an IPv6 address counts by its /64) and `nobody` for all of them; the operator, engines
//! and the service's own work are bounded by `all` alone. Some shares shrink as a budget fills ([`Budget::shrinks`]). A
//! used-up share is 429 and a used-up budget is 503, both with `Retry-After`; exceeding a size limit is 413.

use crate::account::plan::STORAGE_BYTES;
use crate::limits::step::READ_BYTES_MAX;

/// Amount of a budget that the free disk space alone bounds.
pub const DISK: u64 = u64::MAX;

/// Unit that a budget counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes held at once.
    Bytes,
    /// Items held at once, such as connections or requests.
    Places,
}

/// Row of the table: a budget and its shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Label in metrics and documents.
    pub name: &'static str,
    /// Unit of the amounts below, `waiting` and `waiting_each` aside.
    pub unit: Unit,
    /// Total that all holders together may hold.
    pub all: u64,
    /// Share of one account.
    pub account: u64,
    /// Share of one address, for requests without a token.
    pub address: u64,
    /// Share of all requests without a token.
    pub nobody: u64,
    /// How many may wait for a place, served by holder in turn; 0: none waits, what does not fit is refused.
    pub waiting: u64,
    /// How many of the waiting one holder may have.
    pub waiting_each: u64,
    /// Whether shares shrink as the budget fills: a holder must then leave as much free as it already holds, so that a
    /// few holders cannot keep others out. For budgets where nobody waits for a turn, or a turn takes minutes; among
    /// connections the longest idle one is closed instead.
    pub shrinks: bool,
    /// What the budget holds, for metrics and documents.
    pub what: &'static str,
}

const MIB: u64 = 1 << 20;

/// Heads and bodies of requests, until they are answered.
pub const BODIES: Budget = Budget {
    name: "bodies",
    unit: Unit::Bytes,
    all: 256 * MIB,
    account: 128 * MIB,
    address: 16 * MIB,
    nobody: 64 * MIB,
    waiting: 0,
    waiting_each: 0,
    shrinks: true,
    what: "bodies of requests, from their first byte until they are answered; a head of more than 4 KiB counts too",
};

/// Bodies of more than a mebibyte, while they arrive.
pub const UPLOADS: Budget = Budget {
    name: "uploads",
    unit: Unit::Places,
    all: 16,
    account: 4,
    address: 0,
    nobody: 0,
    waiting: 64,
    waiting_each: 8,
    shrinks: true,
    what: "bodies that have grown beyond a mebibyte and are still coming in: documents and imports",
};

/// Recordings of calls that engines upload.
pub const RECORDING_UPLOADS: Budget = Budget {
    name: "recording_uploads",
    unit: Unit::Places,
    all: 32,
    account: 8,
    address: 0,
    nobody: 0,
    waiting: 256,
    waiting_each: 32,
    shrinks: true,
    what: "recordings being uploaded; each takes up to 2 MiB of `bodies`, 10 MiB where they go to a bucket",
};

/// Recordings of calls that are being played.
pub const RECORDING_DOWNLOADS: Budget = Budget {
    name: "recording_downloads",
    unit: Unit::Places,
    all: 128,
    account: 32,
    address: 16,
    nobody: 64,
    waiting: 0,
    waiting_each: 0,
    shrinks: true,
    what: "recordings being sent; each takes a place of its address and one of its account, and 512 KiB of `answers`",
};

/// Large replies, until their client has read them.
pub const ANSWERS: Budget = Budget {
    name: "answers",
    unit: Unit::Bytes,
    all: 128 * MIB,
    account: 32 * MIB,
    address: 8 * MIB,
    nobody: 32 * MIB,
    waiting: 0,
    waiting_each: 0,
    shrinks: true,
    what: "answers of more than 64 KiB, until their client has taken them",
};

/// Lists that are written in pieces.
pub const LISTS: Budget = Budget {
    name: "lists",
    unit: Unit::Places,
    all: 64,
    account: 4,
    address: 0,
    nobody: 0,
    waiting: 0,
    waiting_each: 0,
    shrinks: true,
    what: "lists of more than a mebibyte, JSON or CSV, read from the store as their client takes them; each holds two pieces",
};

/// Reads of accounts that have just read much.
pub const LARGE_READS: Budget = Budget {
    name: "large_reads",
    unit: Unit::Places,
    all: 1,
    account: 1,
    address: 0,
    nobody: 0,
    waiting: 4_096,
    waiting_each: 256,
    shrinks: false,
    what: "reads of accounts that were given an answer, or a piece of one, of 256 KiB or more within the last second",
};

/// Open connections (`--max-connections`).
pub const CONNECTIONS: Budget = Budget {
    name: "connections",
    unit: Unit::Places,
    all: 16_384,
    account: 0,
    address: 1_024,
    nobody: 16_384,
    waiting: 1_024,
    waiting_each: 16,
    shrinks: false,
    what: "open connections (`--max-connections`), of which an address gets a sixteenth, but no fewer than 64",
};

/// Open connections at the operator's own address (`--admin-listen`).
pub const ADMIN_CONNECTIONS: Budget = Budget {
    name: "admin_connections",
    unit: Unit::Places,
    all: 256,
    account: 0,
    address: 64,
    nobody: 256,
    waiting: 64,
    waiting_each: 16,
    shrinks: false,
    what: "open connections at the operator's own address (`--admin-listen`)",
};

/// Open connections of other nodes (`--node-listen`).
pub const NODE_CONNECTIONS: Budget = Budget {
    name: "node_connections",
    unit: Unit::Places,
    all: 2_048,
    account: 0,
    address: 0,
    nobody: 0,
    waiting: 1_024,
    waiting_each: 1_024,
    shrinks: false,
    what: "open connections of other nodes (`--node-listen`), which pass requests on",
};

/// Requests that are passed on to the node that serves.
pub const PASSED: Budget = Budget {
    name: "passed",
    unit: Unit::Places,
    all: 2_048,
    account: 0,
    address: 512,
    nobody: 2_048,
    waiting: 4_096,
    waiting_each: 256,
    shrinks: false,
    what: "requests that are passed on to the node that serves, until their answer is sent",
};

/// Open live streams of events, and turns of conversations that their callers follow.
pub const STREAMS: Budget = Budget {
    name: "streams",
    unit: Unit::Places,
    all: 4_096,
    account: 256,
    address: 32,
    nobody: 1_024,
    waiting: 0,
    waiting_each: 0,
    shrinks: true,
    what: "live streams, and turns that their caller follows",
};

/// Requests in the queue of the writer.
pub const WRITES: Budget = Budget {
    name: "writes",
    unit: Unit::Places,
    all: 4_096,
    account: 1_024,
    address: 8,
    nobody: 64,
    waiting: 4_096,
    waiting_each: 256,
    shrinks: false,
    what: "requests in the writer's queue",
};

/// Steps whose rows are read from a database.
pub const LOADS: Budget = Budget {
    name: "loads",
    unit: Unit::Places,
    all: 64,
    account: 16,
    address: 0,
    nobody: 64,
    waiting: 4_096,
    waiting_each: 256,
    shrinks: false,
    what: "steps that wait for rows which the node has not at hand, where the store is a PostgreSQL; rows of no account, such as tokens, count for the service",
};

/// Requests that wait for a tool, a carrier or a file reader.
pub const ASKING: Budget = Budget {
    name: "asking",
    unit: Unit::Places,
    all: 1_024,
    account: 16,
    address: 8,
    nobody: 64,
    waiting: 4_096,
    waiting_each: 256,
    shrinks: false,
    what: "requests that wait for something outside other than a model: a tool, a carrier, a file reader",
};

/// Outgoing HTTP requests to addresses that users chose.
pub const USER_REQUESTS: Budget = Budget {
    name: "user_requests",
    unit: Unit::Places,
    all: 256,
    account: 32,
    address: 0,
    nobody: 0,
    waiting: 65_536,
    waiting_each: 512,
    shrinks: false,
    what: "HTTP requests to addresses that users chose: tools, webhooks, websites",
};

/// Outgoing HTTP requests to what the operator set up.
pub const OPERATOR_REQUESTS: Budget = Budget {
    name: "operator_requests",
    unit: Unit::Places,
    all: 128,
    account: 16,
    address: 0,
    nobody: 0,
    waiting: 65_536,
    waiting_each: 512,
    shrinks: false,
    what: "HTTP requests to what the operator set up: carrier, calendar",
};

/// Questions to language models of the operator's.
pub const MODEL_REQUESTS: Budget = Budget {
    name: "model_requests",
    unit: Unit::Places,
    all: 1_024,
    account: 256,
    address: 0,
    nobody: 0,
    waiting: 65_536,
    waiting_each: 1_024,
    shrinks: false,
    what: "questions to the operator's language models, which may think for a minute",
};

/// Questions to language models and their answers.
pub const MODEL_BYTES: Budget = Budget {
    name: "model_bytes",
    unit: Unit::Bytes,
    all: 64 * MIB,
    account: 24 * MIB,
    address: 0,
    nobody: 0,
    waiting: 0,
    waiting_each: 0,
    shrinks: true,
    what: "questions to language models until they are answered, and answers until their turn is over",
};

/// DNS look-ups for requests to addresses that users chose.
pub const LOOKUPS: Budget = Budget {
    name: "lookups",
    unit: Unit::Places,
    all: 64,
    account: 8,
    address: 0,
    nobody: 0,
    waiting: 4_096,
    waiting_each: 64,
    shrinks: false,
    what: "names being looked up for requests to addresses that users chose, a thread each until its end",
};

/// DNS look-ups for requests to what the operator set up.
pub const OPERATOR_LOOKUPS: Budget = Budget {
    name: "operator_lookups",
    unit: Unit::Places,
    all: 16,
    account: 4,
    address: 0,
    nobody: 0,
    waiting: 4_096,
    waiting_each: 64,
    shrinks: false,
    what: "names being looked up for requests to what the operator set up, a thread each until its end",
};

/// Password hashes under way.
pub const HASHES: Budget = Budget {
    name: "hashes",
    unit: Unit::Places,
    all: 2,
    account: 1,
    address: 1,
    nobody: 2,
    waiting: 512,
    waiting_each: 2,
    shrinks: false,
    what: "password hashes under way, 19 MiB each; one that waits takes no place among those that ask outside",
};

/// Processes that read uploaded files and fetched pages.
pub const READERS: Budget = Budget {
    name: "readers",
    unit: Unit::Places,
    all: 2,
    account: 1,
    address: 0,
    nobody: 0,
    waiting: 65_536,
    waiting_each: 64,
    shrinks: false,
    what: "processes that read uploaded files and fetched pages, 512 MiB each",
};

/// Bytes that one step reads, and as many that it changes.
pub const STEPS: Budget = Budget {
    name: "steps",
    unit: Unit::Bytes,
    all: READ_BYTES_MAX as u64,
    account: READ_BYTES_MAX as u64,
    address: 0,
    nobody: READ_BYTES_MAX as u64,
    waiting: 0,
    waiting_each: 0,
    shrinks: false,
    what: "what one step reads, and as much that it changes; one that goes beyond stores nothing",
};

/// Rows that accounts store, with their keys.
pub const STORED: Budget = Budget {
    name: "stored",
    unit: Unit::Bytes,
    all: DISK,
    account: STORAGE_BYTES.unsigned_abs(),
    address: 0,
    nobody: 0,
    waiting: 0,
    waiting_each: 0,
    shrinks: false,
    what: "rows with their keys, on disk; the share is `storage_bytes` of the account's plan",
};

/// All budgets, in the order in which the documents list them.
pub const BUDGETS: &[&Budget] = &[
    &CONNECTIONS,
    &ADMIN_CONNECTIONS,
    &NODE_CONNECTIONS,
    &PASSED,
    &BODIES,
    &UPLOADS,
    &RECORDING_UPLOADS,
    &RECORDING_DOWNLOADS,
    &ANSWERS,
    &LISTS,
    &LARGE_READS,
    &STREAMS,
    &WRITES,
    &LOADS,
    &ASKING,
    &USER_REQUESTS,
    &OPERATOR_REQUESTS,
    &MODEL_REQUESTS,
    &MODEL_BYTES,
    &LOOKUPS,
    &OPERATOR_LOOKUPS,
    &HASHES,
    &READERS,
    &STEPS,
    &STORED,
];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn a_share_never_exceeds_its_budget() {
        for budget in BUDGETS {
            let Budget { name, all, account, address, nobody, waiting, waiting_each, .. } = **budget;
            assert!(account <= all && nobody <= all && address <= nobody, "{name}");
            assert!(waiting_each <= waiting, "{name}");
        }
        let names: BTreeSet<_> = BUDGETS.iter().map(|budget| budget.name).collect();
        assert_eq!(names.len(), BUDGETS.len());
    }

    #[test]
    fn what_may_be_in_memory_at_once_fits_a_gibibyte() {
        // Steps are short-lived, and stored rows are on disk.
        let held = BUDGETS
            .iter()
            .filter(|budget| budget.unit == Unit::Bytes && ![STEPS.name, STORED.name].contains(&budget.name));
        let bytes: u64 = held.map(|budget| budget.all).sum();
        let hashes = HASHES.all * 19 * MIB;
        assert!(bytes + hashes <= 512 * MIB, "{bytes} bytes leave too little for the store's cache and connections");
    }
}
