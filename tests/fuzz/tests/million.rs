//! A million inputs, five hundred histories of two accounts, and a thousand requests that arrive several times at once.

use switchboard_fuzz::run::{Order, Report, run, run_until_succeeded};
use switchboard_fuzz::target::shares;
use switchboard_fuzz::town::Town;
use switchboard_fuzz::{corpus, report, target};

/// Seed of every test run; `cargo xtask fuzz` accepts any.
const SEED: u64 = 1;

fn holds(shares: Vec<(&'static str, u64)>) {
    told(&run(&Town::new(), &Order { seed: SEED, from: 0, shares, shrink: true }));
}

#[track_caller]
fn told(done: &Report) {
    println!("{}", report::table(done));
    let failures: Vec<String> = done.failures.iter().map(|failure| report::failure(failure, SEED)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_million_inputs_break_no_promise() {
    holds(shares(1_000_000));
}

#[test]
fn five_hundred_histories_show_no_account_to_another() {
    holds(vec![("tenancy", 500)]);
}

#[test]
fn a_thousand_repeated_requests_have_one_effect_each() {
    let done = run_until_succeeded(&Town::new(), "idempotency", 1_000, SEED);
    told(&done);
    assert!(done.succeeded() >= 1_000);
}

/// Runs the corpus unmodified, in addition to what is drawn from it.
#[test]
fn the_corpus_breaks_no_promise() {
    let town = Town::new();
    for (name, _) in target::NAMES {
        let target = target::named(&town, name);
        for input in corpus::of(name) {
            let said = switchboard_fuzz::run::judged(&*target, &input);
            assert!(said.is_ok(), "{name} {:016x}: {said:?}", corpus::digest(&input));
        }
    }
}
