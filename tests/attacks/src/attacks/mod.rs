//! Every attack.

mod bodies;
mod connections;
mod detaches;
mod files;
mod hold;
mod lists;
mod logins;
mod names;
mod resets;
mod storage;
mod streams;
mod unfold;
mod uploads;

use std::time::Duration;

use crate::{Attack, Ground};

/// What most attacks share.
const USUAL: Attack = Attack {
    name: "",
    what: "",
    share: Duration::from_secs(6),
    arguments: &["--engine", "none"],
    ground: Ground::Usual,
    imports: false,
    log_lines_max: 1_000,
    prepare: unfold::prepare,
    check: None,
};

/// Every attack.
pub const ATTACKS: [Attack; 15] = [
    Attack {
        name: "unfold",
        what: "templates that fill in to gigabytes: prompts of calls, headers of tools",
        arguments: &["--engine", "simulated"],
        check: Some(unfold::check),
        ..USUAL
    },
    Attack {
        name: "bodies_one",
        what: "unfinished logins over HTTP/2, 100 streams of a mebibyte on each of 60 connections, of one address",
        prepare: bodies::of_one_address,
        ..USUAL
    },
    Attack { name: "bodies_many", what: "the same, of 60 addresses", prepare: bodies::of_many_addresses, ..USUAL },
    Attack {
        name: "bodies_key",
        what: "1,000 unfinished bodies of a mebibyte by one account, over HTTP/1.1 and HTTP/2",
        prepare: bodies::of_a_key,
        ..USUAL
    },
    Attack {
        name: "lists",
        what: "lists of 200 rows of a megabyte, taken slowly or not at all by 50 connections",
        prepare: lists::slowly,
        ..USUAL
    },
    Attack { name: "pages", what: "pages of 100 rows of a megabyte, by two clients", prepare: lists::pages, ..USUAL },
    Attack {
        name: "names",
        what: "600 requests at once by six accounts to hosts whose names do not resolve",
        share: Duration::from_secs(10),
        ground: Ground::NoNames,
        prepare: names::prepare,
        ..USUAL
    },
    Attack { name: "logins", what: "3,000 logins of 150 addresses", prepare: logins::prepare, ..USUAL },
    Attack { name: "files", what: "60 PDFs that take long to read", prepare: files::prepare, ..USUAL },
    Attack {
        name: "connections_one",
        what: "700 connections of one address that stay open, idle or amid their head, where there is room for 512",
        arguments: &["--engine", "none", "--max-connections", "512"],
        prepare: connections::of_one_address,
        ..USUAL
    },
    Attack {
        name: "connections_many",
        what: "the same, and 60 connections of each of ten more addresses",
        arguments: &["--engine", "none", "--max-connections", "512"],
        prepare: connections::of_many_addresses,
        ..USUAL
    },
    Attack {
        name: "storage",
        what: "rows of a megabyte, stored for as long as they are taken",
        prepare: storage::prepare,
        check: Some(storage::check),
        ..USUAL
    },
    Attack {
        name: "uploads",
        what: "four silent uploads of 64 MB by each of four accounts",
        imports: true,
        prepare: uploads::prepare,
        ..USUAL
    },
    Attack {
        name: "detaches",
        what: "deletes of tools that are attached to hundreds of assistants of a megabyte",
        prepare: detaches::prepare,
        ..USUAL
    },
    Attack {
        name: "resets",
        what: "2,000 connections reset at once or amid a request, and streams of HTTP/2 reset at once",
        log_lines_max: 50,
        prepare: resets::prepare,
        ..USUAL
    },
];
