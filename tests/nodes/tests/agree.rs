//! One script on the native host over PostgreSQL, and over memory, and histories that are drawn: the same replies, the same
//! rows.

use switchboard::store::Store;
use switchboard_nodes::Site;
use switchboard_proof::subject::{Databases, Native};
use switchboard_proof::{agree, history, scene};

/// Drawn histories per test run; `cargo xtask hosts` plays any number.
const HISTORIES: u64 = 32;

#[test]
fn the_native_server_over_postgresql_agrees() {
    let (script, said) = scene::record();
    let site = Site::new();
    let store = Store::of_url(&site.login.url(site.instance.address())).expect("a store");
    let native = Native::over(&script.settings, store);
    let url = native.url();
    if let Some(difference) = said.difference(&native.play(&script, &url)) {
        panic!("{difference}");
    }
}

#[test]
fn drawn_histories_over_postgresql_agree() {
    let databases = Databases::start().expect("a PostgreSQL");
    for number in 0..HISTORIES {
        let (script, said) = history::draw(number);
        let played = agree::over(&databases, &script).expect("a store");
        if let Some(difference) = said.difference(&played) {
            panic!("history {number}: {difference}");
        }
    }
}
