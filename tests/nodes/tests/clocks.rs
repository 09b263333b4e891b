//! Nodes whose clocks are set an hour ahead and behind while they run: time goes on from where it was, whoever serves.

use serde_json::json;
use switchboard_nodes::{Agency, Load, Site, expect_order};
use switchboard_tests::house::assistant;
use switchboard_tests::server::Server;

const HOUR: i64 = 3_600;
/// Leads that are made between two faults.
const BETWEEN: usize = 50;

/// Expects of every event of the feed that it stands there once, in order, and no earlier than the one before.
fn is_told_in_order(node: &Server, key: &str) -> usize {
    let mut events: Vec<(u64, String)> = Vec::new();
    loop {
        let after = events.last().map_or(0, |(seq, _)| *seq);
        let found = node.ask("GET", &format!("/api/user/events?after={after}&limit=100"), key, None);
        let told = found["data"].as_array().unwrap_or_else(|| panic!("{found}"));
        if told.is_empty() {
            return events.len();
        }
        for event in told {
            let time = event["created_at"].as_str().unwrap_or_else(|| panic!("{event}"));
            events.push((event["seq"].as_u64().expect("a number"), time.to_owned()));
            if let [.., (before, earlier), (seq, later)] = &events[..] {
                assert!(*seq == before + 1 && earlier <= later, "{event}");
            }
        }
    }
}

#[test]
fn time_goes_on_where_the_node_before_was() {
    let site = Site::new();
    let first = site.node_ahead("first", HOUR);
    let (agency, token) = (Agency::of(&first), first.text("admin_token").to_owned());
    let engine = first.ask("POST", "/admin/engine-tokens", &token, Some(&json!({ "name": "E", "telephony": true })));
    let own = engine["token"].as_str().expect("a token");
    let made = first.ask("POST", "/api/user/assistant", &agency.key, Some(&assistant()));
    let body = json!({ "assistant_id": made["data"]["id"], "phone_number": "+14155550100" });
    let place = |node: &Server| node.ask("POST", "/api/user/make_call", &agency.key, Some(&body))["call_id"].clone();
    let placed = place(&first);
    let claim = json!({ "engine": "E", "capacity": 1, "wait": 30, "protocol": 2 });
    let claimed = first.ask("POST", "/engine/claim", own, Some(&claim));
    assert_eq!(claimed["calls"][0]["call"]["id"], placed);
    let load = Load::begin(&first, &agency);
    load.more(BETWEEN);

    // The next one is an hour behind it, and the one after that an hour behind that.
    let mut serving = first;
    for (name, ahead) in [("second", 0), ("third", -HOUR)] {
        serving = follow(&site, serving, name, ahead, &load);
        expect_order(&agency.leads(&serving));
        let path = format!("/api/user/calls/{}/hangup", place(&serving));
        serving.ask("POST", &path, &agency.key, Some(&json!({})));
        // Whoever has the call keeps it.
        let beat = json!({ "engine": "E", "calls": [placed], "capacity": 1, "running": 1 });
        let renewed = serving.ask("POST", "/engine/heartbeat", own, Some(&beat));
        assert_eq!(renewed["lost"], json!([]), "{name}: {renewed}");
        is_lent_to_nobody_else(&serving, own);
    }
    let events = json!({ "events": [{ "seq": 1, "type": "dialing" }, { "seq": 2, "type": "ringing" }] });
    serving.ask("POST", &format!("/engine/calls/{placed}/events"), own, Some(&events));
    // One that is ahead again may find that it has rung for an hour, but it rings nobody twice.
    serving = follow(&site, serving, "fourth", HOUR, &load);
    is_lent_to_nobody_else(&serving, own);
    load.end().is_stored(&agency, &serving);
    println!("leads of {:?}", expect_order(&agency.leads(&serving)));
    assert!(is_told_in_order(&serving, &agency.key) >= 2, "calls that were hung up are told of");
}

/// Kills a node, and has another one with such a clock follow it.
fn follow(site: &Site, serving: Server, name: &str, ahead: i64, load: &Load) -> Server {
    serving.kill();
    let next = site.node_ahead(name, ahead);
    load.turn_to(&next);
    load.more(BETWEEN);
    next
}

/// Expects that another engine is lent no call.
fn is_lent_to_nobody_else(node: &Server, token: &str) {
    let claim = json!({ "engine": "F", "capacity": 1, "wait": 0, "protocol": 2 });
    assert_eq!(node.ask("POST", "/engine/claim", token, Some(&claim))["calls"], json!([]));
}

#[test]
fn a_node_does_not_start_with_another_time_than_the_database() {
    let site = Site::new();
    for (name, ahead) in [("ahead", HOUR), ("behind", -HOUR)] {
        let (starting, _) = site.begin_shown(name, ahead);
        assert_eq!(starting.outcome().err(), Some(Some(1)), "{name}");
    }
}

#[test]
fn a_node_with_another_time_takes_nothing_from_one_that_lives() {
    let site = Site::new();
    let first = site.node("first");
    let agency = Agency::of(&first);
    let load = Load::begin(&first, &agency);
    load.more(BETWEEN);
    let others = [site.node_ahead("second", HOUR), site.node_ahead("third", -HOUR)];
    for node in &others {
        load.turn_to(node);
        load.more(BETWEEN);
        expect_order(&agency.leads(node));
    }
    let loaded = load.end();
    loaded.is_stored(&agency, &first);
    assert_eq!(loaded.refused, 0, "accounts move without a refusal");
}
