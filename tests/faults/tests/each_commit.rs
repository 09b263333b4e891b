//! Each fault's share of every commit. `SEED` in the environment repeats a run.

use switchboard_faults::{fault, seed_of};

/// Tests a claim as often as before each commit.
fn share(name: &str) {
    let fault = fault(name);
    (fault.run)(fault.share, seed_of(name)).expect();
}

#[test]
fn no_acknowledged_write_is_lost_on_kill() {
    share("kills");
}

#[test]
fn no_commit_is_lost_or_torn_on_a_power_cut() {
    share("cuts");
}

#[test]
fn nor_on_a_second_cut_during_recovery() {
    share("recuts");
}

#[test]
fn a_cut_while_a_store_is_made_leaves_none_half_made() {
    share("creation");
}

#[test]
fn nor_while_a_store_gets_its_log() {
    share("upgrade");
}

#[test]
fn a_full_disk_loses_nothing() {
    share("full");
}

#[test]
fn a_broken_disk_loses_nothing_that_was_acknowledged() {
    share("broken");
}

#[test]
fn damage_is_named_or_every_row_is_right() {
    share("damage");
}

#[test]
fn a_server_on_a_full_disk_serves_reads_and_recovers() {
    share("disks");
}

#[test]
fn a_server_that_may_not_write_says_so() {
    share("readonly");
}

#[test]
fn slow_connections_are_closed() {
    share("slow");
}

#[test]
fn connections_over_the_limit_are_turned_away() {
    share("flood");
}
