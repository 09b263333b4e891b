//! Each fault's share of every commit. `SEED` in the environment repeats a run.

use switchboard::store::Store;
use switchboard_faults::seed_of;
use switchboard_nodes::faults::FAULTS;
use switchboard_nodes::{Agency, Load, Site};

/// Tests a claim as often as before each commit.
fn share(name: &str) {
    let fault = FAULTS.iter().find(|fault| fault.name == name).expect("a fault");
    (fault.run)(fault.share, seed_of(name)).expect();
}

#[test]
fn nothing_is_lost_when_a_node_is_killed() {
    share("kills");
}

#[test]
fn nor_when_all_are() {
    share("all");
}

#[test]
fn a_node_that_stood_still_writes_nothing_more() {
    share("pauses");
}

#[test]
fn no_read_is_older_than_what_was_acknowledged() {
    share("reads");
}

#[test]
fn nobody_is_refused_when_a_node_stops_in_order() {
    share("stops");
}

#[test]
fn time_goes_on_over_nodes_whose_clocks_differ() {
    share("clocks");
}

#[test]
fn links_break_and_answers_are_lost() {
    share("links");
}

#[test]
fn postgresql_is_killed_and_comes_back() {
    share("databases");
}

#[test]
fn a_synchronous_standby_takes_over() {
    share("standbys");
}

#[test]
fn a_database_that_went_back_in_time_ends_the_nodes() {
    share("past");
}

#[test]
fn a_standby_that_stands_still_holds_commits_up_and_loses_none() {
    share("waits");
}

#[test]
fn a_cancelled_wait_for_the_standby_is_not_believed() {
    share("cancels");
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    share("disks");
}

#[test]
fn a_node_waits_for_a_connection_that_others_hold() {
    share("connections");
}

#[test]
fn nothing_is_lost_or_doubled_while_nodes_die_under_many_accounts() {
    share("soak");
}

#[test]
fn a_tool_does_not_open_a_store_that_a_node_serves() {
    let site = Site::new();
    let first = site.node("first");
    let agency = Agency::of(&first);
    let load = Load::begin(&first, &agency);
    let refused = Store::of_url(&site.url()).err().expect("the first one lives").to_string();
    assert!(refused.contains("another switchboard runs on it"), "{refused}");
    load.more(200);
    load.end().is_stored(&agency, &first);
    assert_eq!(first.stop(), Some(0));
    drop(Store::of_url(&site.url()).expect("it was given up"));
}
