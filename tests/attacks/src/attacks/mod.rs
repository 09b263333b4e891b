//! The table of attacks.

mod bodies;
mod connections;
mod detaches;
mod files;
mod hold;
mod lists;
mod logins;
mod names;
mod recordings;
mod resets;
mod storage;
mod streams;
mod unfold;
mod uploads;
mod visits;

use std::time::Duration;

use crate::{Attack, Ground};

/// Defaults that most attacks share.
const USUAL: Attack = Attack {
    name: "",
    what: "",
    share: Duration::from_secs(6),
    arguments: &["--engine", "none"],
    ground: Ground::Usual,
    imports: false,
    log_lines_max: 1_000,
    fills: &[],
    prepare: unfold::prepare,
    check: None,
};

/// All attacks, in the order in which they are run.
pub const ATTACKS: [Attack; 21] = [
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
        fills: &["bodies"],
        prepare: bodies::of_a_key,
        ..USUAL
    },
    Attack {
        name: "bodies_keys",
        what: "the same by each of four accounts, half as many over HTTP/1.1",
        fills: &["bodies"],
        prepare: bodies::of_four_keys,
        ..USUAL
    },
    Attack {
        name: "lists",
        what: "lists of 200 rows of a megabyte, taken slowly or not at all by 50 connections",
        fills: &["lists"],
        prepare: lists::slowly,
        ..USUAL
    },
    Attack {
        name: "csv",
        what: "lists of 100,000 leads as CSV, taken slowly or not at all by 50 connections",
        fills: &["lists"],
        prepare: lists::as_csv,
        ..USUAL
    },
    Attack {
        name: "pages",
        what: "pages of 100 rows of a megabyte, by two clients",
        fills: &["large_reads"],
        prepare: lists::pages,
        ..USUAL
    },
    Attack {
        name: "names",
        what: "600 requests at once by six accounts to hosts whose names do not resolve",
        share: Duration::from_secs(10),
        ground: Ground::NoNames,
        fills: &["lookups"],
        prepare: names::prepare,
        ..USUAL
    },
    Attack {
        name: "logins",
        what: "3,000 logins of 150 addresses",
        fills: &["hashes"],
        prepare: logins::prepare,
        ..USUAL
    },
    Attack {
        name: "files",
        what: "60 PDFs that take long to read",
        fills: &["readers"],
        prepare: files::prepare,
        ..USUAL
    },
    Attack {
        name: "connections_one",
        what: "700 connections of one address that stay open, idle or amid their head, where there is room for 512",
        arguments: &["--engine", "none", "--max-connections", "512"],
        fills: &["connections"],
        prepare: connections::of_one_address,
        ..USUAL
    },
    Attack {
        name: "connections_many",
        what: "the same, and 60 connections of each of ten more addresses",
        arguments: &["--engine", "none", "--max-connections", "512"],
        fills: &["connections"],
        prepare: connections::of_many_addresses,
        ..USUAL
    },
    Attack {
        name: "storage",
        what: "rows of a megabyte, stored for as long as they are taken",
        fills: &["stored"],
        prepare: storage::prepare,
        check: Some(storage::check),
        ..USUAL
    },
    Attack {
        name: "uploads",
        what: "four silent uploads of 64 MB by each of four accounts",
        imports: true,
        fills: &["uploads"],
        prepare: uploads::silent,
        ..USUAL
    },
    Attack {
        name: "drips",
        what: "the same at 40 KiB a second, which is more than the least rate",
        imports: true,
        fills: &["uploads"],
        prepare: uploads::dripping,
        ..USUAL
    },
    Attack {
        name: "recordings",
        what: "recordings of 256 MiB that an engine uploads of 160 calls of four accounts, half of them silent, half at 40 KiB a second",
        fills: &["recording_uploads"],
        prepare: recordings::prepare,
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
    Attack {
        name: "visits",
        what: "strangers of 100 addresses who talk in 1,000 conversations, without a pause",
        prepare: visits::prepare,
        check: Some(visits::check),
        ..USUAL
    },
    Attack {
        name: "visits_slow",
        what: "the same, with a model that thinks for two seconds",
        arguments: &visits::SLOWLY,
        fills: &["model_requests"],
        prepare: visits::slowly,
        check: Some(visits::check),
        ..USUAL
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use switchboard_core::budget::BUDGETS;

    /// Budgets that no attack here uses up, with the test elsewhere that does: its file and its name.
    const ELSEWHERE: [(&str, &str, &str); 14] = [
        ("writes", "tests/hosts/shares.rs", "writes_of_an_account_and_of_strangers_leave_others_their_turn"),
        ("admin_connections", "tests/hosts/limits.rs", "the_operators_own_address_has_room_for_so_many"),
        ("answers", "tests/hosts/limits.rs", "answers_that_nobody_takes_use_up_a_share"),
        ("recording_downloads", "tests/hosts/recordings.rs", "an_address_has_a_share_of_the_downloads"),
        ("streams", "tests/hosts/limits.rs", "an_account_with_all_the_streams_it_may_have_leaves_others_theirs"),
        ("asking", "tests/hosts/receivers.rs", "endpoints_that_hang_keep_only_their_own_account_waiting"),
        ("user_requests", "tests/hosts/receivers.rs", "addresses_of_users_that_hang_do_not_keep_the_operators_waiting"),
        ("operator_requests", "tests/hosts/receivers.rs", "an_account_has_a_share_of_the_operators_requests"),
        ("model_bytes", "tests/hosts/receivers.rs", "questions_to_models_and_their_answers_use_up_a_share"),
        (
            "operator_lookups",
            "host-native/src/names.rs",
            "a_look_up_holds_its_place_until_it_ends_and_leaves_others_theirs",
        ),
        ("node_connections", "tests/nodes/tests/several.rs", "there_is_room_for_so_many_connections_of_nodes"),
        ("passed", "tests/nodes/tests/several.rs", "an_address_passes_on_no_more_than_its_share"),
        ("loads", "host-native/src/store.rs", "an_account_that_waits_for_rows_leaves_others_their_turn"),
        ("steps", "core/src/store/tx.rs", "a_step_reads_and_changes_so_much"),
    ];

    #[test]
    fn every_budget_is_attacked() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (budget, file, test) in ELSEWHERE {
            let text = std::fs::read_to_string(root.join(file)).expect("a file of tests");
            assert!(text.contains(&format!("fn {test}(")), "{budget}: {file} has no {test}");
        }
        for budget in BUDGETS {
            let here = ATTACKS.iter().any(|attack| attack.fills.contains(&budget.name));
            let elsewhere = ELSEWHERE.iter().any(|(name, ..)| *name == budget.name);
            assert!(here != elsewhere, "{}: an attack here, or a test elsewhere", budget.name);
        }
    }
}
