//! Accounts shared out between nodes: each serves some, any may be asked for all.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use switchboard_nodes::shares::{accounts_of, in_states, nodes_of, serves, spread, wait};
use switchboard_nodes::streams::FeedReader;
use switchboard_nodes::{Agency, Load, Site, signal};
use switchboard_tests::house::{assistant, trunk};
use switchboard_tests::server::{Server, call, send};

/// Leads that are made between two events.
const BETWEEN: usize = 20;
/// Accounts: so many that each of three nodes has some.
const ACCOUNTS: usize = 12;

/// Makes accounts, one at each node in turn; returns them.
fn accounts(nodes: &[&Server], token: &str) -> Vec<Agency> {
    // Any node takes what is another one's.
    let of = |number| nodes[number % nodes.len()];
    (0..ACCOUNTS).map(|number| Agency::opened(of(number), of(number + 1), token, number)).collect()
}

/// Starts two nodes that share some accounts.
fn two_nodes() -> (Site, [Server; 2], Vec<Agency>) {
    let site = Site::new();
    let nodes = ["first", "second"].map(|name| site.node(name));
    spread(&site, &nodes.each_ref());
    let agencies = accounts(&nodes.each_ref(), nodes[0].text("admin_token"));
    (site, nodes, agencies)
}

/// Makes an assistant; returns its id.
fn assistant_of(node: &Server, agency: &Agency) -> Value {
    node.ask("POST", "/api/user/assistant", &agency.key, Some(&assistant()))["data"]["id"].clone()
}

/// Places a call; returns its id.
fn place(node: &Server, agency: &Agency, assistant: &Value) -> Value {
    let call = json!({ "assistant_id": assistant, "phone_number": "+14155550100" });
    node.ask("POST", "/api/user/make_call", &agency.key, Some(&call))["call_id"].clone()
}

#[test]
fn any_node_takes_what_is_for_another() {
    let (_site, [first, second], agencies) = two_nodes();
    let (nodes, token) = ([&first, &second], first.text("admin_token"));
    for (number, agency) in agencies.iter().enumerate() {
        let [here, there] = [nodes[number % 2], nodes[(number + 1) % 2]];
        let me = here.ask("GET", "/api/user/me", &agency.key, None);
        assert_eq!(me, there.ask("GET", "/api/user/me", &agency.key, None));
        assert_eq!(me["email"], format!("agency{number}@example.com"));
        // Found by its e-mail, wherever its rows are.
        let password = json!({ "email": me["email"], "password": "wrong" });
        let (status, refused) = call("POST", &format!("{}/api/user/login", there.text("url")), "", Some(&password));
        assert_eq!(status, 401, "{refused}");
    }
    for node in nodes {
        let listed = node.ask("GET", "/admin/accounts?per_page=100", token, None);
        let emails: BTreeSet<_> =
            listed["data"].as_array().expect("rows").iter().map(|row| row["email"].as_str()).collect();
        assert_eq!(emails.len(), ACCOUNTS + 1, "{listed}");
    }
    // A plan is the operator's, and all of them decide by it.
    let plan = json!({ "name": "small", "assistants": 1 });
    first.ask("POST", "/admin/plans", token, Some(&plan));
    for (number, agency) in agencies.iter().enumerate() {
        let path = format!("/admin/accounts/{}", first.ask("GET", "/api/user/me", &agency.key, None)["id"]);
        nodes[number % 2].ask("PUT", &path, token, Some(&json!({ "plan": "small" })));
        let url = format!("{}/api/user/assistant", nodes[(number + 1) % 2].text("url"));
        let (status, refused) = call("POST", &url, &agency.key, Some(&assistant()));
        assert_eq!(status, 403, "it has one: {refused}");
    }
}

/// The rows of the next account may be another node's, and again another's once the password of this one is hashed.
#[test]
fn accounts_made_at_once_are_each_made_at_the_first_try() {
    let site = Site::new();
    let nodes = ["first", "second", "third"].map(|name| site.node(name));
    spread(&site, &nodes.each_ref());
    let token = nodes[0].text("admin_token");
    let made = std::thread::scope(|scope| {
        let of = |number: usize| {
            let (node, key) = (nodes[number % nodes.len()].text("url"), format!("once-{number}"));
            let body = json!({ "email": format!("agency{number}@example.com") }).to_string();
            let headers = [("idempotency-key", &*key)];
            let (status, _, answer) = send("POST", &format!("{node}/admin/accounts"), token, &headers, body.clone());
            assert_eq!(status, 201, "{}", String::from_utf8_lossy(&answer));
            let (status, _, again) = send("POST", &format!("{node}/admin/accounts"), token, &headers, body);
            assert!(status == 409 && String::from_utf8_lossy(&again).contains("showed a token"), "{status}");
            serde_json::from_slice::<Value>(&answer).expect("JSON")["id"].as_u64().expect("an id")
        };
        let threads: Vec<_> = (0..ACCOUNTS).map(|number| scope.spawn(move || of(number))).collect();
        threads.into_iter().map(|thread| thread.join().expect("it is made")).collect::<BTreeSet<u64>>()
    });
    assert_eq!(made.len(), ACCOUNTS, "each has an id of its own");
    for id in made {
        nodes[0].ask("GET", &format!("/admin/accounts/{id}"), token, None);
    }
}

#[test]
fn engines_serve_the_accounts_of_all_nodes() {
    let (_site, [first, second], agencies) = two_nodes();
    let (nodes, token) = ([&first, &second], first.text("admin_token"));
    let engine = first.ask("POST", "/admin/engine-tokens", token, Some(&json!({ "name": "E", "telephony": true })));
    let own = engine["token"].as_str().expect("a token");
    // Each account places a call while the engine waits at one node.
    let mut calls = Vec::new();
    for agency in &agencies {
        let claim = json!({ "engine": "E", "capacity": 1, "wait": 30, "protocol": 2 });
        let claimed = std::thread::scope(|scope| {
            let claiming = scope.spawn(|| second.ask("POST", "/engine/claim", own, Some(&claim)));
            let placed = place(&first, agency, &assistant_of(&first, agency));
            let claimed = claiming.join().expect("a claim");
            assert_eq!(claimed["calls"].as_array().map(Vec::len), Some(1), "{claimed}");
            assert_eq!(claimed["calls"][0]["call"]["id"], placed);
            placed
        });
        calls.push(claimed);
    }
    // One heartbeat renews them all, and says which are not its own.
    let strange = json!(u64::MAX >> 33);
    let named: Vec<_> = calls.iter().cloned().chain([strange.clone()]).collect();
    for node in nodes {
        let beat = json!({ "engine": "E", "calls": named, "version": "1.0" });
        let renewed = node.ask("POST", "/engine/heartbeat", own, Some(&beat));
        assert_eq!(renewed["lost"], json!([strange]), "{renewed}");
        let engines = node.ask("GET", "/admin/engines", token, None);
        assert_eq!(engines["data"][0]["version"], "1.0", "{engines}");
    }
    // A hang-up reaches it, wherever it waits.
    for (number, (agency, id)) in agencies.iter().zip(&calls).enumerate() {
        let report = |node: &Server, seq: u32, kind: &str| {
            let events = json!({ "events": [{ "seq": seq, "type": kind }] });
            node.ask("POST", &format!("/engine/calls/{id}/events"), own, Some(&events))
        };
        for (seq, kind) in (1..).zip(["dialing", "ringing", "answered"]) {
            report(nodes[(number + seq as usize) % 2], seq, kind);
        }
        let claim = json!({ "engine": "E", "capacity": 0, "wait": 30, "protocol": 2 });
        std::thread::scope(|scope| {
            let claiming = scope.spawn(|| nodes[number % 2].ask("POST", "/engine/claim", own, Some(&claim)));
            nodes[(number + 1) % 2].ask("POST", &format!("/api/user/calls/{id}/hangup"), &agency.key, Some(&json!({})));
            let told = claiming.join().expect("a claim");
            assert_eq!(told["commands"][0]["call_id"], *id, "{told}");
        });
        report(nodes[number % 2], 4, "ended");
        let shown = nodes[(number + 1) % 2].ask("GET", &format!("/api/user/calls/{id}"), &agency.key, None);
        assert_eq!(shown["status"], "completed", "{shown}");
    }
    // Trunks of all accounts are in one list.
    for (number, agency) in agencies.iter().enumerate() {
        let made = trunk(&format!("+4021555{number:04}"));
        nodes[number % 2].ask("POST", "/api/user/phone-numbers/sip-trunks", &agency.key, Some(&made));
    }
    for node in nodes {
        let listed = node.ask("GET", "/engine/trunks", own, None);
        assert_eq!(listed["trunks"].as_array().map(Vec::len), Some(ACCOUNTS), "{listed}");
    }
}

/// Whoever asks one node takes calls of the others too, however many wait there; and keeps them while one stands still.
#[test]
fn calls_of_all_nodes_have_their_turn_and_their_lease() {
    let (site, [first, second], agencies) = two_nodes();
    let token = first.text("admin_token");
    let engine = first.ask("POST", "/admin/engine-tokens", token, Some(&json!({ "name": "E" })));
    let own = engine["token"].as_str().expect("a token");
    for agency in &agencies {
        let assistant = assistant_of(&first, agency);
        (0..3).for_each(|_| drop(place(&first, agency, &assistant)));
    }
    // The account of a call, and its slot.
    let node_of = |call: u64| {
        let account = u32::try_from(call >> 32).expect("an account");
        let slot = account.wrapping_mul(0x9E37_79B1) >> 22;
        site.value(&format!(
            "SELECT l.node FROM switchboard.slot s JOIN switchboard.lane l ON l.id = s.lane WHERE s.id = {slot}"
        ))
    };
    let claim = |capacity: u32| {
        let claim = json!({ "engine": "E", "capacity": capacity, "wait": 0, "protocol": 2 });
        let claimed = first.ask("POST", "/engine/claim", own, Some(&claim));
        let calls = claimed["calls"].as_array().expect("calls").clone();
        calls.iter().map(|entry| entry["call"]["id"].as_u64().expect("an id")).collect::<Vec<_>>()
    };
    let mut calls: Vec<u64> = (0..4).flat_map(|_| claim(1)).collect();
    let nodes: BTreeSet<_> = calls.iter().map(|call| node_of(*call)).collect();
    assert_eq!(nodes.len(), 2, "{calls:?}");
    while calls.len() < 3 * ACCOUNTS {
        let more = claim(100);
        assert!(!more.is_empty(), "{} of all calls", calls.len());
        calls.extend(more);
    }
    signal(&second, Signal::STOP);
    let beat = json!({ "engine": "E", "calls": calls });
    let renewed = first.ask("POST", "/engine/heartbeat", own, Some(&beat));
    signal(&second, Signal::CONT);
    assert_eq!(renewed["lost"], json!([]), "{renewed}");
}

#[test]
fn a_node_that_is_drained_gives_its_accounts_up_and_refuses_nobody() {
    let (_site, [first, second], agencies) = two_nodes();
    let token = &*first.text("admin_token").to_owned();
    let [one, other] = <[Value; 2]>::try_from(in_states(&first, token, &["serving", "serving"])).expect("two");
    assert!(accounts_of(&one) > 0 && accounts_of(&other) > 0, "{one} {other}");
    assert_eq!(accounts_of(&one) + accounts_of(&other), ACCOUNTS as u64 + 1);
    let loads: Vec<_> =
        (0_u64..).zip(&agencies).map(|(at, agency)| Load::of(&first, agency, at * 100_000, 2)).collect();
    loads.iter().for_each(|load| load.more(BETWEEN));
    // Each of them may be asked, also the one that goes.
    let id = one["id"].as_str().expect("an id").to_owned();
    let drain = |id: &str| call("POST", &format!("{}/admin/nodes/{id}/drain", second.text("url")), token, None);
    assert_eq!(drain(&id).0, 202);
    let drained =
        |nodes: &[Value]| nodes.iter().find(|node| node["id"] == *id).is_some_and(|node| node["lanes"] == json!([]));
    let until = Instant::now() + Duration::from_secs(30);
    while !drained(&in_states(&first, token, &["draining", "serving"])) {
        assert!(Instant::now() < until, "it keeps accounts");
        std::thread::sleep(Duration::from_millis(100));
    }
    loads.iter().for_each(|load| load.more(BETWEEN));
    let shown = nodes_of(&first, token);
    let stays = shown.iter().find(|node| node["id"] != *id).expect("the other one");
    assert_eq!(accounts_of(stays), ACCOUNTS as u64 + 1, "{shown:?}");
    assert!(stays["load"].as_f64().is_some_and(|load| load > 0.0 && load <= 1.0), "{stays}");
    assert!(stays["lanes"][0]["seq"].as_u64() > Some(0), "{stays}");
    for (load, agency) in loads.into_iter().zip(&agencies) {
        let loaded = load.end();
        loaded.is_stored(agency, &second);
        assert_eq!(loaded.refused, 0);
    }
    let (status, refused) = drain(stays["id"].as_str().expect("an id"));
    assert_eq!(status, 409, "{refused}");
    let (status, refused) = drain("01890a5d-ac96-774b-bcce-b302099a8057");
    assert_eq!(status, 404, "{refused}");
    // It serves again rather than have nobody do so.
    let (staying, drained) = if serves(&first, token) { (first, second) } else { (second, first) };
    assert!(!serves(&drained, token), "it passes on all that it is asked");
    staying.kill();
    let me = drained.ask("GET", "/api/user/me", &agencies[0].key, None);
    assert_eq!(me["email"], "agency0@example.com");
    // Lanes of the other one are taken as each of them is silent for long enough.
    wait("the drained one has not all accounts again", || {
        let nodes = in_states(&drained, token, &["draining", "gone"]);
        (accounts_of(&nodes[0]), accounts_of(&nodes[1])) == (ACCOUNTS as u64 + 1, 0)
    });
}

#[test]
fn a_live_stream_ends_when_its_account_moves_and_is_taken_up_where_it_was() {
    let (_site, [first, second], agencies) = two_nodes();
    let (nodes, token) = ([&first, &second], first.text("admin_token"));
    // A call that is cancelled while it waits for an engine stands in the feed at once.
    let happen = |node: &Server, agency: &Agency| {
        let id = place(node, agency, &assistant_of(node, agency));
        node.ask("POST", &format!("/api/user/calls/{id}/hangup"), &agency.key, Some(&json!({})));
        let feed = node.ask("GET", "/api/user/events", &agency.key, None);
        feed["last_seq"].as_u64().filter(|last| *last > 0).unwrap_or_else(|| panic!("nothing happened: {feed}"))
    };
    // Each is read at the node that has it, and at the one that passes it on.
    let mut readers: Vec<_> =
        agencies.iter().flat_map(|agency| nodes.map(|node| (agency, FeedReader::new(node, &agency.key)))).collect();
    let read = |readers: &mut [(&Agency, FeedReader)], node: &Server| {
        for pair in readers.chunks_mut(2) {
            let last = happen(node, pair[0].0);
            pair.iter_mut().for_each(|(_, reader)| reader.read_until(last));
        }
    };
    read(&mut readers, &first);
    let serving = in_states(&first, token, &["serving", "serving"]);
    let goes = serving.iter().find(|node| accounts_of(node) > 1).expect("one of them has some");
    second.ask("POST", &format!("/admin/nodes/{}/drain", goes["id"].as_str().expect("an id")), token, None);
    wait("it keeps accounts", || accounts_of(&in_states(&first, token, &["draining", "serving"])[0]) == 0);
    read(&mut readers, &second);
    for (_, reader) in &readers {
        assert!(reader.seen.iter().copied().eq(1..=reader.seen.len() as u64), "each once: {:?}", reader.seen);
    }
    // One of those that moved is the owner's, perhaps.
    let ended = readers.iter().filter(|(_, reader)| reader.ends > 0).count() as u64;
    assert!(ended.div_ceil(2) + 1 >= accounts_of(goes), "{ended} ended, {goes}");
}

/// Whoever shows no token is refused by its head: nothing of its body is waited for, or asked of other nodes.
#[test]
fn strangers_ask_nothing_of_all_accounts() {
    let site = Site::new();
    let (first, second) = (site.node("first"), site.node("second"));
    spread(&site, &[&first, &second]);
    let until = Instant::now() + Duration::from_secs(10);
    while !serves(&second, first.text("admin_token")) {
        assert!(Instant::now() < until, "its lane does not begin");
        std::thread::sleep(Duration::from_millis(50));
    }
    for path in ["/engine/claim", "/engine/heartbeat", "/engine/checks/7"] {
        let address = second.text("url").trim_start_matches("http://");
        let mut stream = TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(4))).expect("a socket");
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).expect("it is sent");
        // Its sender is heard out for a moment, and refused.
        stream.shutdown(Shutdown::Write).expect("a socket");
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("an answer");
        assert!(line.contains(" 401 "), "{path}: {line}");
    }
}

#[test]
fn a_node_that_joins_takes_its_share_and_refuses_nobody() {
    let site = Site::new();
    let first = site.node("first");
    let token = first.text("admin_token");
    let agencies = accounts(&[&first], token);
    let loads: Vec<_> =
        (0_u64..).zip(&agencies).map(|(at, agency)| Load::of(&first, agency, at * 100_000, 2)).collect();
    loads.iter().for_each(|load| load.more(BETWEEN));
    let began = Instant::now();
    let second = site.node("second");
    spread(&site, &[&first, &second]);
    println!("the second has its share after {:?}", began.elapsed());
    loads.iter().for_each(|load| load.more(BETWEEN));
    let third = site.node("third");
    spread(&site, &[&first, &second, &third]);
    loads.iter().for_each(|load| load.turn_to(&third));
    loads.iter().for_each(|load| load.more(BETWEEN));
    // And gives it back when it leaves.
    loads.iter().for_each(|load| load.turn_to(&first));
    assert_eq!(third.stop(), Some(0));
    loads.iter().for_each(|load| load.more(BETWEEN));
    for (load, agency) in loads.into_iter().zip(&agencies) {
        let loaded = load.end();
        loaded.is_stored(agency, &second);
        assert_eq!(loaded.refused, 0);
    }
}

#[test]
fn the_accounts_of_a_node_that_dies_are_served_by_the_others() {
    let site = Site::new();
    let nodes = ["first", "second", "third"].map(|name| site.node(name));
    spread(&site, &nodes.each_ref());
    let [first, second, third] = nodes;
    let agencies = accounts(&[&first, &second], first.text("admin_token"));
    let loads: Vec<_> =
        (0_u64..).zip(&agencies).map(|(at, agency)| Load::of(&third, agency, at * 100_000, 2)).collect();
    loads.iter().for_each(|load| load.more(BETWEEN));
    second.kill();
    loads.iter().for_each(|load| load.more(BETWEEN));
    spread(&site, &[&first, &third]);
    let mut longest = Duration::ZERO;
    for (load, agency) in loads.into_iter().zip(&agencies) {
        let loaded = load.end();
        loaded.is_stored(agency, &first);
        // Each client had one request under way whose end is not known.
        assert!(loaded.refused <= 2, "{} refused", loaded.refused);
        longest = longest.max(loaded.longest);
    }
    println!("nothing for at most {longest:?}");
}
