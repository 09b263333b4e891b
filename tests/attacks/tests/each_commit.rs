//! Each attack's share of every commit: one after the other, on a server of its own.

use std::sync::{Mutex, PoisonError};

use switchboard_attacks::{Spans, attack, trial};

/// Figures count only where nothing else is measured.
static ALONE: Mutex<()> = Mutex::new(());

/// How often times may be measured: a machine that does something else for a second makes one measurement too long,
/// and a defence that is missing all of them.
const MEASURED_MAX: usize = 3;

fn share(name: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for measured in 1..=MEASURED_MAX {
        let row = trial::run(&[attack(name)], Spans::SHARE);
        if let Some(why) = &row.skipped {
            return println!("{name}: not run: {why}");
        }
        // Whatever is no matter of time counts at once.
        if row.holds() || !row.failures.is_empty() || measured == MEASURED_MAX {
            return row.expect();
        }
        println!("{name}: measured again: {:?}", row.late);
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
fn names_that_do_not_resolve() {
    share("names");
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
fn an_account_that_stores_all_it_can() {
    share("storage");
}

#[test]
fn silent_uploads() {
    share("uploads");
}

#[test]
fn connections_and_streams_that_are_reset() {
    share("resets");
}
