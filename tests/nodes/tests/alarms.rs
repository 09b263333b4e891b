//! What a node does, and says, when its database or its machine is no longer what it was.

use switchboard_nodes::shares::{serves, wait};
use switchboard_nodes::{Agency, Load, NodeLog, Site};
use switchboard_postgres::Proxy;
use switchboard_tests::house::assistant;
use switchboard_tests::server::{Server, call};

const HOUR: i64 = 3_600;
/// Leads that are made before a fault.
const BETWEEN: usize = 20;

/// A node that has written something, and its log.
fn serving(site: &Site) -> (Server, NodeLog, Agency) {
    let (node, log) = site.node_telling("node", site.instance.address());
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
    (node, log, agency)
}

fn ends(mut node: Server) {
    wait("it goes on", || node.has_ended());
}

/// Asks for an assistant to be made; returns the status.
fn write(node: &Server, key: &str) -> u16 {
    call("POST", &format!("{}/api/user/assistant", node.text("url")), key, Some(&assistant())).0
}

#[test]
fn rows_that_another_program_took_away_stop_the_node() {
    let site = Site::new();
    let (node, log, agency) = serving(&site);
    site.value("DELETE FROM switchboard.kv");
    assert_eq!(write(&node, &agency.key), 503, "it was not made");
    log.says("rows were changed by another program");
    ends(node);
}

/// A machine that is copied as it runs has two processes with one right to write.
#[test]
fn a_process_ends_when_another_one_writes_in_its_name() {
    let site = Site::new();
    let (node, log, _) = serving(&site);
    site.value("UPDATE switchboard.lane SET seq = seq + 1");
    log.says("another process writes in the name of this one: its machine was copied");
    ends(node);
}

#[test]
fn a_standby_that_is_no_longer_waited_for_is_told() {
    let site = Site::new();
    let _standby = site.instance.standby("standby").expect("a standby");
    site.instance.synchronize_with("standby").expect("a setting");
    site.instance.wait_until_synchronous("standby").expect("it is synchronous");
    let (node, log, agency) = serving(&site);
    site.instance.set("synchronous_standby_names", "").expect("a setting");
    log.says("PostgreSQL no longer waits for a standby");
    assert_eq!(write(&node, &agency.key), 201, "it goes on");
}

/// What it takes accounts by is there, and what it reads on to serve them is not.
#[test]
fn a_node_that_loses_the_database_while_it_takes_accounts_goes_on() {
    let site = Site::new();
    let proxy = Proxy::open(site.instance.address(), 0).expect("a proxy");
    let (node, log) = site.node_telling("node", proxy.address());
    let agency = Agency::of(&node);
    proxy.refuse();
    // Whoever looks finds that the accounts are nobody's.
    site.value("UPDATE switchboard.lane SET dead = true");
    log.says("the rows were not given up");
    proxy.heal().expect("it goes on");
    wait("it does not serve", || write(&node, &agency.key) == 201);
}

/// A role that does not wait for the disk is seen with the next connection; those that are open wait as before.
#[test]
fn a_database_that_keeps_commits_no_more_gets_none() {
    let site = Site::new();
    let (node, log, agency) = serving(&site);
    let role = &site.login.name;
    let run = |sql: &str| site.instance.run_in("calls", sql).expect("it is done");
    let cut = || site.instance.disconnect("switchboard").expect("it is done");
    run(&format!("ALTER ROLE {role} SET synchronous_commit = off"));
    assert_eq!(write(&node, &agency.key), 201);
    cut();
    assert_eq!(write(&node, &agency.key), 503);
    log.says("synchronous_commit = off");
    run(&format!("ALTER ROLE {role} RESET synchronous_commit"));
    cut();
    wait("it writes no more", || write(&node, &agency.key) == 201);
}

#[test]
fn a_database_that_went_back_in_time_stops_the_node() {
    let site = Site::new();
    let standby = site.instance.standby("standby").expect("a standby");
    let proxy = Proxy::open(site.instance.address(), 1).expect("a proxy");
    let (node, log) = site.node_telling("node", proxy.address());
    let agency = Agency::of(&node);
    let _paused = site.instance.pause_sender("standby").expect("it sends");
    assert_eq!(write(&node, &agency.key), 201);
    site.instance.kill().expect("it ran");
    standby.promote().expect("it becomes the primary");
    proxy.turn_to(standby.address());
    proxy.cut();
    log.says("the database went back in time");
    ends(node);
}

#[test]
fn a_node_whose_clock_is_set_to_another_time_gives_its_accounts_to_others_until_it_is_right() {
    let site = Site::new();
    let (first, log, shown) = site.node_shown("first");
    let second = site.node("second");
    let token = first.text("admin_token");
    let lanes = |state: &str| {
        let listed = second.ask("GET", "/admin/nodes", token, None);
        let nodes = listed["data"].as_array().unwrap_or_else(|| panic!("{listed}"));
        let node = nodes.iter().find(|node| node["state"] == state)?;
        Some(node["lanes"].as_array()?.len())
    };
    wait("not both serve", || serves(&first, token) && serves(&second, token));
    shown.shift(HOUR).expect("a file");
    log.says("this machine's clock is not the database's any more");
    wait("it keeps accounts", || lanes("draining") == Some(0) && lanes("serving").is_some_and(|lanes| lanes > 0));
    second.ask("GET", "/api/user/me", first.text("api_key"), None);
    shown.shift(0).expect("a file");
    log.says("this machine's clock is the database's again");
    wait("not both serve again", || lanes("draining").is_none() && serves(&first, token) && serves(&second, token));
}
