//! Runs each attack with its duration before a commit, one after the other, on a server of its own.

use std::sync::{Mutex, PoisonError};

use switchboard_attacks::{Spans, attack, trial};

/// One attack at a time, or the measurements would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

fn share(name: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let row = trial::run(&[attack(name)], Spans::SHARE);
    match &row.skipped {
        Some(why) => println!("{name}: not run: {why}"),
        None => row.expect(),
    }
}

#[test]
fn templates_that_unfold() {
    share("unfold");
}

#[test]
fn strangers_of_one_address_who_end_no_body() {
    share("bodies_one");
}

#[test]
fn strangers_of_many_addresses_who_end_no_body() {
    share("bodies_many");
}

#[test]
fn an_account_that_ends_no_body() {
    share("bodies_key");
}

#[test]
fn accounts_that_end_no_body() {
    share("bodies_keys");
}

#[test]
fn uploads_that_drip() {
    share("drips");
}

#[test]
fn lists_that_are_taken_slowly() {
    share("lists");
}

#[test]
fn many_rows_as_csv_that_are_taken_slowly() {
    share("csv");
}

#[test]
fn pages_of_large_rows() {
    share("pages");
}

#[test]
fn names_that_do_not_resolve() {
    share("names");
}

#[test]
fn logins_of_many_addresses() {
    share("logins");
}

#[test]
fn files_that_take_long_to_read() {
    share("files");
}

#[test]
fn connections_of_one_address() {
    share("connections_one");
}

#[test]
fn connections_of_many_addresses() {
    share("connections_many");
}

#[test]
fn an_account_that_stores_all_it_can() {
    share("storage");
}

#[test]
fn silent_uploads() {
    share("uploads");
}

#[test]
fn deletes_that_detach() {
    share("detaches");
}

#[test]
fn connections_and_streams_that_are_reset() {
    share("resets");
}

#[test]
fn strangers_who_talk() {
    share("visits");
}

#[test]
fn strangers_who_talk_to_a_slow_model() {
    share("visits_slow");
}
