//! Budgets: every place where bytes gather or requests wait, and what bounds it.
//!
//! One table, read by the core and by hosts. A host keeps a room for each row that it enforces and shows how full it
//! is in its metrics (`switchboard_budget_used` and its neighbours, labelled with the row's name). What is not here
//! gathers nowhere: whoever adds a queue, a buffer or a cache that grows with what strangers send adds a row first.
//!
//! Shares: an account's requests together never hold more than `account`; requests without a token hold at most
//! `address` for one address (an IPv6 address counts by its /64) and `nobody` for all of them; the operator, engines
//! and the service's own work are bounded by `all` alone. Some shares shrink as a budget fills ([`Budget::shrinks`]). A
//! share that is used up is 429, a budget that is used up is 503, both with `Retry-After`; what exceeds a limit of its
//! own is 413.

use crate::account::plan::STORAGE_BYTES;
use crate::limits::step::READ_BYTES_MAX;

/// As much as there is room for on the disk.
pub const DISK: u64 = u64::MAX;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Things at once.
    Places,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Its label in metrics and documents.
    pub name: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// What all together may hold.
    pub all: u64,
    /// The share of an account.
    pub account: u64,
    /// The share of an address, for requests without a token.
    pub address: u64,
    /// The share of all requests without a token.
    pub nobody: u64,
    /// How many may wait for a place, each holder in turn; 0: nobody waits, what does not fit is refused.
    pub waiting: u64,
    /// How many of those one holder may have.
    pub waiting_each: u64,
    /// What gathers there.
    pub what: &'static str,
}

impl Budget {
    /// Whether shares shrink as it fills: whoever holds something already must leave as much free as it holds then, so
    /// that no few holders keep others out. So it is where nobody waits for a turn, or a turn takes minutes; of
    /// connections the idlest gives way instead.
    pub fn shrinks(&self) -> bool {
        self.account > 0 && (self.waiting == 0 || *self == UPLOADS)
    }
}

const MIB: u64 = 1 << 20;

/// Requests being read: heads and bodies.
pub const BODIES: Budget = Budget {
    name: "bodies",
    unit: Unit::Bytes,
    all: 256 * MIB,
    account: 128 * MIB,
    address: 16 * MIB,
    nobody: 64 * MIB,
    waiting: 0,
    waiting_each: 0,
    what: "bodies of requests, from their first byte until they are answered; a head of more than 4 KiB counts too",
};

/// Bodies of more than a mebibyte.
pub const UPLOADS: Budget = Budget {
    name: "uploads",
    unit: Unit::Places,
    all: 16,
    account: 4,
    address: 0,
    nobody: 0,
    waiting: 64,
    waiting_each: 8,
    what: "bodies that have grown beyond a mebibyte and are still coming in: documents and imports",
};

/// Answers being written.
pub const ANSWERS: Budget = Budget {
    name: "answers",
    unit: Unit::Bytes,
    all: 128 * MIB,
    account: 32 * MIB,
    address: 8 * MIB,
    nobody: 32 * MIB,
    waiting: 0,
    waiting_each: 0,
    what: "answers of more than 64 KiB, until their client has taken them",
};

/// Lists that are written piece by piece.
pub const LISTS: Budget = Budget {
    name: "lists",
    unit: Unit::Places,
    all: 64,
    account: 4,
    address: 0,
    nobody: 0,
    waiting: 0,
    waiting_each: 0,
    what: "lists of more than a mebibyte, read from the store as their client takes them; each holds two pieces",
};

/// Reads of those who read much.
pub const LARGE_READS: Budget = Budget {
    name: "large_reads",
    unit: Unit::Places,
    all: 1,
    account: 1,
    address: 0,
    nobody: 0,
    waiting: 4_096,
    waiting_each: 256,
    what: "reads of accounts that were given an answer, or a piece of one, of 256 KiB or more within the last second",
};

/// Connections.
pub const CONNECTIONS: Budget = Budget {
    name: "connections",
    unit: Unit::Places,
    all: 16_384,
    account: 0,
    address: 1_024,
    nobody: 16_384,
    waiting: 0,
    waiting_each: 0,
    what: "open connections (`--max-connections`), of which an address gets a sixteenth, but no fewer than 64",
};

/// Connections at an address of the operator's own (`--admin-listen`).
pub const ADMIN_CONNECTIONS: Budget = Budget {
    name: "admin_connections",
    unit: Unit::Places,
    all: 256,
    account: 0,
    address: 64,
    nobody: 256,
    waiting: 0,
    waiting_each: 0,
    what: "open connections at the operator's own address (`--admin-listen`)",
};

/// Live streams.
pub const STREAMS: Budget = Budget {
    name: "streams",
    unit: Unit::Places,
    all: 4_096,
    account: 256,
    address: 0,
    nobody: 0,
    waiting: 0,
    waiting_each: 0,
    what: "live streams",
};

/// Requests that wait to write.
pub const WRITES: Budget = Budget {
    name: "writes",
    unit: Unit::Places,
    all: 4_096,
    account: 1_024,
    address: 32,
    nobody: 256,
    waiting: 4_096,
    waiting_each: 256,
    what: "requests in the writer's queue",
};

/// Requests that wait for something outside.
pub const ASKING: Budget = Budget {
    name: "asking",
    unit: Unit::Places,
    all: 1_024,
    account: 16,
    address: 8,
    nobody: 64,
    waiting: 4_096,
    waiting_each: 256,
    what: "requests that wait for something outside: a tool, a carrier, a file reader",
};

/// Requests to addresses that users chose.
pub const USER_REQUESTS: Budget = Budget {
    name: "user_requests",
    unit: Unit::Places,
    all: 256,
    account: 32,
    address: 0,
    nobody: 0,
    waiting: 65_536,
    waiting_each: 512,
    what: "HTTP requests to addresses that users chose: tools, webhooks, websites",
};

/// Requests to what the operator set up.
pub const OPERATOR_REQUESTS: Budget = Budget {
    name: "operator_requests",
    unit: Unit::Places,
    all: 128,
    account: 16,
    address: 0,
    nobody: 0,
    waiting: 65_536,
    waiting_each: 512,
    what: "HTTP requests to what the operator set up: model, carrier, calendar",
};

/// Name look-ups.
pub const LOOKUPS: Budget = Budget {
    name: "lookups",
    unit: Unit::Places,
    all: 64,
    account: 8,
    address: 0,
    nobody: 0,
    waiting: 4_096,
    waiting_each: 64,
    what: "names being looked up for requests to addresses that users chose, a thread each until its end",
};

/// Look-ups of the operator's own names.
pub const OPERATOR_LOOKUPS: Budget = Budget {
    name: "operator_lookups",
    unit: Unit::Places,
    all: 16,
    account: 4,
    address: 0,
    nobody: 0,
    waiting: 4_096,
    waiting_each: 64,
    what: "names being looked up for requests to what the operator set up, a thread each until its end",
};

/// Password hashes.
pub const HASHES: Budget = Budget {
    name: "hashes",
    unit: Unit::Places,
    all: 2,
    account: 1,
    address: 1,
    nobody: 2,
    waiting: 512,
    waiting_each: 2,
    what: "password hashes under way, 19 MiB each; one that waits takes no place among those that ask outside",
};

/// Processes that read files.
pub const READERS: Budget = Budget {
    name: "readers",
    unit: Unit::Places,
    all: 2,
    account: 1,
    address: 0,
    nobody: 0,
    waiting: 65_536,
    waiting_each: 64,
    what: "processes that read uploaded files and fetched pages, 512 MiB each",
};

/// One step.
pub const STEPS: Budget = Budget {
    name: "steps",
    unit: Unit::Bytes,
    all: READ_BYTES_MAX as u64,
    account: READ_BYTES_MAX as u64,
    address: 0,
    nobody: READ_BYTES_MAX as u64,
    waiting: 0,
    waiting_each: 0,
    what: "what one step reads, and as much that it changes; one that goes beyond stores nothing",
};

/// What accounts store.
pub const STORED: Budget = Budget {
    name: "stored",
    unit: Unit::Bytes,
    all: DISK,
    account: STORAGE_BYTES.unsigned_abs(),
    address: 0,
    nobody: 0,
    waiting: 0,
    waiting_each: 0,
    what: "rows with their keys, on disk; the share is `storage_bytes` of the account's plan",
};

/// All rows, in the order of the documents.
pub const BUDGETS: &[&Budget] = &[
    &CONNECTIONS,
    &ADMIN_CONNECTIONS,
    &BODIES,
    &UPLOADS,
    &ANSWERS,
    &LISTS,
    &LARGE_READS,
    &STREAMS,
    &WRITES,
    &ASKING,
    &USER_REQUESTS,
    &OPERATOR_REQUESTS,
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
        // Steps come and go, and what is stored is on disk.
        let held = BUDGETS
            .iter()
            .filter(|budget| budget.unit == Unit::Bytes && ![STEPS.name, STORED.name].contains(&budget.name));
        let bytes: u64 = held.map(|budget| budget.all).sum();
        let hashes = HASHES.all * 19 * MIB;
        assert!(bytes + hashes <= 512 * MIB, "{bytes} bytes leave too little for the store's cache and connections");
    }
}
