//! What a database does to its nodes: it fails over, hangs, fills up, has no connection left, and forgets.

use std::time::{Duration, Instant};

use switchboard_nodes::{Agency, Load, Site};
use switchboard_postgres::{HeldConnections, Instance, Proxy, SmallDisk};
use switchboard_tests::server::Server;

/// Leads that are made between two faults.
const BETWEEN: usize = 100;
const SEED: u64 = 20_261_128;
/// Longer than a node answers without being heard of.
const OUTAGE: Duration = Duration::from_secs(6);
const STANDBY: &str = "second";

/// Makes a standby that commits wait for.
fn synchronous(primary: &Instance) -> Instance {
    let standby = primary.standby(STANDBY).expect("a standby");
    primary.synchronize_with(STANDBY).expect("a setting");
    primary.wait_until_synchronous(STANDBY).expect("it is synchronous");
    standby
}

/// Starts a node that reaches the database over an address that can move.
fn node(site: &Site) -> (Proxy, Server) {
    let proxy = Proxy::open(site.instance.address(), SEED).expect("a proxy");
    let node = site.begin("node", proxy.address()).wait();
    (proxy, node)
}

fn fail_over(site: &Site, standby: &Instance, proxy: &Proxy) {
    site.instance.kill().expect("it ran");
    standby.promote().expect("it becomes the primary");
    proxy.turn_to(standby.address());
    proxy.cut();
}

#[test]
fn a_synchronous_standby_takes_over() {
    let site = Site::new();
    let standby = synchronous(&site.instance);
    let (proxy, node) = node(&site);
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    fail_over(&site, &standby, &proxy);
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}

#[test]
fn a_database_that_went_back_in_time_ends_the_node() {
    let site = Site::new();
    let standby = site.instance.standby(STANDBY).expect("a standby");
    let (proxy, mut node) = node(&site);
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    let paused = site.instance.pause_sender(STANDBY).expect("it sends");
    load.more(BETWEEN);
    drop(load.end());
    site.instance.kill().expect("it ran");
    drop(paused);
    standby.promote().expect("it becomes the primary");
    proxy.turn_to(standby.address());
    proxy.cut();
    let patience = Instant::now() + Duration::from_mins(1);
    while !node.has_ended() {
        assert!(Instant::now() < patience, "the node goes on over rows that it does not know");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_standby_that_stands_still_holds_commits_up_and_loses_none() {
    let site = Site::new();
    let standby = synchronous(&site.instance);
    let (_proxy, node) = node(&site);
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    let paused = standby.pause_receiver().expect("it receives");
    std::thread::sleep(OUTAGE);
    drop(paused);
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}

#[test]
fn a_cancelled_wait_for_the_standby_is_not_believed() {
    let site = Site::new();
    let standby = synchronous(&site.instance);
    let (proxy, node) = node(&site);
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    let paused = standby.pause_receiver().expect("it receives");
    let mut cancelled = 0;
    let until = Instant::now() + Duration::from_secs(2);
    while Instant::now() < until {
        cancelled += site.instance.cancel("switchboard", "SyncRep").expect("it is asked");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(cancelled > 0, "a commit waited");
    site.instance.kill().expect("it ran");
    drop(paused);
    standby.promote().expect("it becomes the primary");
    proxy.turn_to(standby.address());
    proxy.cut();
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}

#[test]
fn a_full_disk_refuses_and_loses_nothing() {
    let disk = SmallDisk::new(160 << 20).expect("a small disk");
    let site = Site::with(Instance::options().on(disk));
    let node = site.node("node");
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    let disk = site.instance.disk().expect("it has one");
    disk.fill(0).expect("it is filled");
    std::thread::sleep(Duration::from_secs(2));
    disk.free().expect("it is freed");
    site.instance.recover().expect("it comes back");
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}

#[test]
fn a_node_waits_for_a_connection_that_others_hold() {
    let site = Site::with(Instance::options().set("max_connections", "12"));
    let (proxy, node) = node(&site);
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    // Those of the node are cut, and others are quicker.
    proxy.refuse();
    proxy.cut();
    let held = HeldConnections::fill(&site.login.config(site.instance.address())).expect("they are held");
    proxy.heal().expect("it takes connections again");
    std::thread::sleep(Duration::from_secs(2));
    drop(held);
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}
