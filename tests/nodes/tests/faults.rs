//! Nodes, links and databases that die under load: what was acknowledged is stored.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use switchboard::store::Store;
use switchboard_nodes::{Agency, Load, Site};
use switchboard_postgres::{Loss, Proxy};
use switchboard_tests::server::Server;

/// Leads that are made between two faults.
const BETWEEN: usize = 200;

fn signal(node: &Server, signal: Signal) {
    let id = Pid::from_raw(i32::try_from(node.pid()).expect("a process id")).expect("a process");
    kill_process(id, signal).expect("it runs");
}

#[test]
fn a_node_is_killed_and_another_takes_over() {
    let site = Site::new();
    let first = site.node("first");
    let agency = Agency::of(&first);
    let load = Load::begin(&first, &agency);
    load.more(BETWEEN);
    first.kill();
    let second = site.node("second");
    load.turn_to(&second);
    load.more(BETWEEN);
    load.end().is_stored(&agency, &second);
}

#[test]
fn the_node_that_serves_is_killed_and_its_clients_wait() {
    let site = Site::new();
    let first = site.node("first");
    let (second, third) = (site.node("second"), site.node("third"));
    let agency = Agency::of(&first);
    // One of them takes over, the other passes requests on to it.
    let loads = [Load::begin(&second, &agency), Load::begin_at(&third, &agency, 5_000_000)];
    loads.iter().for_each(|load| load.more(BETWEEN));
    first.kill();
    loads.iter().for_each(|load| load.more(BETWEEN));
    let [one, other] = loads.map(Load::end);
    println!("nothing for at most {:?}", one.longest.max(other.longest));
    // Each client had one request under way whose end is not known.
    assert!(one.refused + other.refused <= 32, "{} and {} refused", one.refused, other.refused);
    one.and(other).is_stored(&agency, &third);
}

#[test]
fn a_node_that_stops_in_order_is_followed_at_once() {
    let site = Site::new();
    let first = site.node("first");
    let agency = Agency::of(&first);
    let load = Load::begin(&first, &agency);
    load.more(BETWEEN);
    assert_eq!(first.stop(), Some(0));
    let second = site.node("second");
    load.turn_to(&second);
    load.more(BETWEEN);
    let loaded = load.end();
    loaded.is_stored(&agency, &second);
    assert!(loaded.longest < Duration::from_secs(7), "nobody's silence was waited for: {:?}", loaded.longest);
}

#[test]
fn nobody_is_refused_when_the_node_that_serves_stops_in_order() {
    let site = Site::new();
    let first = site.node("first");
    let agency = Agency::of(&first);
    let second = site.node("second");
    let third = site.node("third");
    let load = Load::begin(&third, &agency);
    load.more(BETWEEN);
    assert_eq!(first.stop(), Some(0));
    load.more(BETWEEN);
    let first = site.node("first");
    // Whichever of the two serves now.
    assert_eq!(second.stop(), Some(0));
    load.more(BETWEEN);
    let loaded = load.end();
    loaded.is_stored(&agency, &first);
    assert_eq!(loaded.refused, 0);
    assert!(loaded.longest < Duration::from_secs(7), "nobody's silence was waited for: {:?}", loaded.longest);
}

#[test]
fn a_node_that_stood_still_writes_nothing_more() {
    let site = Site::new();
    let first = site.node("first");
    let agency = Agency::of(&first);
    let load = Load::begin(&first, &agency);
    load.more(BETWEEN);
    signal(&first, Signal::STOP);
    let second = site.node("second");
    load.turn_to(&second);
    load.more(BETWEEN);
    signal(&first, Signal::CONT);
    // It passes on what it is asked.
    load.turn_to(&first);
    load.more(BETWEEN);
    load.end().is_stored(&agency, &first);
}

#[test]
fn a_tool_does_not_open_a_store_that_a_node_serves() {
    let site = Site::new();
    let first = site.node("first");
    let agency = Agency::of(&first);
    let load = Load::begin(&first, &agency);
    let refused = Store::of_url(&site.url()).err().expect("the first one lives").to_string();
    assert!(refused.contains("another switchboard runs on it"), "{refused}");
    load.more(BETWEEN);
    load.end().is_stored(&agency, &first);
    assert_eq!(first.stop(), Some(0));
    drop(Store::of_url(&site.url()).expect("it was given up"));
}

#[test]
fn links_break_and_answers_are_lost() {
    let seed = 20_261_127;
    println!("seed {seed}");
    let site = Site::new();
    let proxy = Proxy::open(site.instance.address(), seed).expect("a proxy");
    let node = site.begin("first", proxy.address()).wait();
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    for _ in 0..10 {
        load.more(BETWEEN / 4);
        proxy.cut();
        load.more(BETWEEN / 4);
        proxy.lose_next(Loss::Answer);
    }
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}

#[test]
fn postgresql_is_killed_and_comes_back() {
    let site = Site::new();
    let node = site.node("first");
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    for _ in 0..3 {
        load.more(BETWEEN);
        site.instance.kill().expect("it ran");
        site.instance.start().expect("it starts again");
    }
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}

#[test]
fn a_database_that_is_away_for_longer_than_a_lease_is_waited_for() {
    let site = Site::new();
    let node = site.node("first");
    let agency = Agency::of(&node);
    let load = Load::begin(&node, &agency);
    load.more(BETWEEN);
    site.instance.stop().expect("it ran");
    std::thread::sleep(Duration::from_secs(6));
    site.instance.start().expect("it starts again");
    load.more(BETWEEN);
    load.end().is_stored(&agency, &node);
}
