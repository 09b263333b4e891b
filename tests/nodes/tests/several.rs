//! Several nodes at once: any of them may be asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};
use switchboard::serve;
use switchboard_core::budget::{NODE_CONNECTIONS, PASSED};
use switchboard_nodes::shares::{second_that_passes_on, wait};
use switchboard_nodes::streams::follow;
use switchboard_nodes::{Agency, Site, own_address, signal};
use switchboard_postgres::{Flow, Proxy};
use switchboard_tests::house::assistant;
use switchboard_tests::server::{Folder, Server, Starting, call, send};

fn free() -> SocketAddr {
    TcpListener::bind(own_address()).and_then(|listener| listener.local_addr()).expect("a free port")
}

#[test]
fn nodes_that_start_at_once_make_one_store() {
    let site = Site::new();
    let starting = ["one", "two", "three"].map(|name| site.begin(name, site.instance.address()));
    let nodes = starting.map(Starting::wait);
    let owners: Vec<&Server> = nodes.iter().filter(|node| node.ready["api_key"].is_string()).collect();
    let [owner] = owners[..] else { panic!("{} nodes made an owner", owners.len()) };
    let key = owner.text("api_key");
    let seen: Vec<Value> = nodes.iter().map(|node| node.ask("GET", "/api/user/me", key, None)).collect();
    assert!(seen.iter().all(|me| *me == seen[0]), "{seen:?}");
}

#[test]
fn what_one_node_acknowledged_every_node_shows() {
    let site = Site::new();
    let nodes = ["first", "second", "third"].map(|name| site.node(name));
    let key = Agency::of(&nodes[0]).key;
    for round in 0..20 {
        let at = |count: usize| &nodes[(round + count) % nodes.len()];
        let made = at(0).ask("POST", "/api/user/assistant", &key, Some(&assistant()));
        let path = format!("/api/user/assistant/{}", made["data"]["id"]);
        assert_eq!(at(1).ask("GET", &path, &key, None), at(2).ask("GET", &path, &key, None));
    }
}

/// A commit whose rows are all known to be there or not, of which none goes, takes a statement with fewer parts.
#[test]
fn a_row_behind_the_last_one_of_its_kind_is_known_to_be_new() {
    let site = Site::new();
    let node = site.node("node");
    let agency = Agency::of(&node);
    site.instance.set("log_statement", "all").expect("a setting");
    let assistant = node.ask("POST", "/api/user/assistant", &agency.key, Some(&assistant()));
    let (number, url) = ("+40700000001", format!("{}/api/user/make_call", node.text("url")));
    let wanted = json!({ "phone_number": number, "assistant_id": assistant["data"]["id"] });
    // Its digits, as PostgreSQL shows bytes.
    let stored = "3430373030303030303031";
    wait("it always asks whether one is there", || {
        assert_eq!(call("POST", &url, &agency.key, Some(&wanted)).0, 200);
        std::thread::sleep(Duration::from_millis(200));
        let log = site.instance.log();
        let mut commits = log.split(" LOG:  ").filter(|said| said.contains("WITH f AS") && said.contains(stored));
        commits.any(|said| !said.contains("ON CONFLICT") && !said.contains("DELETE"))
    });
}

#[test]
fn bodies_pass_as_they_come() {
    let site = Site::new();
    let (first, second) = (site.node("first"), site.node("second"));
    let key = Agency::of(&first).key;
    let lines = "A line of a long document.\n".repeat(20_000);
    let (boundary, bases) = ("a-boundary", "/api/user/knowledgebases");
    let made = second.ask("POST", bases, &key, Some(&json!({ "name": "Manual" })));
    let documents = format!("{bases}/{}/documents", made["data"]["id"]);
    let form = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nManual\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"type\"\r\n\r\ntxt\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"manual.txt\"\r\nContent-Type: text/plain\r\n\r\n\
         {lines}\r\n--{boundary}--\r\n"
    );
    let media = format!("multipart/form-data; boundary={boundary}");
    let url = format!("{}{documents}", second.text("url"));
    let (status, _, answer) = send("POST", &url, &key, &[("content-type", &media)], form);
    let answer = String::from_utf8_lossy(&answer);
    assert!(matches!(status, 200..=202), "{status} {answer}");
    assert_eq!(
        first.ask("GET", &documents, &key, None)["data"][0]["name"],
        second.ask("GET", &documents, &key, None)["data"][0]["name"]
    );
}

/// Each call asks for rows that are not there yet, and others make them meanwhile.
#[test]
fn many_calls_at_once_are_placed_by_a_node_that_knows_nothing_yet() {
    let site = Site::new();
    let node = site.node("first");
    let key = node.text("api_key");
    let made = node.ask("POST", "/api/user/assistant", key, Some(&assistant()));
    let place = json!({ "assistant_id": made["data"]["id"], "phone_number": "+14155550100" });
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| (0..10).for_each(|_| drop(node.ask("POST", "/api/user/make_call", key, Some(&place)))));
        }
    });
    assert_eq!(node.ask("GET", "/api/user/calls?per_page=1", key, None)["total"], 320);
}

#[test]
fn a_stranger_at_the_address_for_nodes_is_refused() {
    let site = Site::new();
    let reached = free().to_string();
    let node = site.begin_with("first", site.instance.address(), &["--node-listen", &reached]).wait();
    let key = node.text("api_key");
    let me = format!("http://{reached}/api/user/me");
    for shown in ["", "Bearer 00000000000000000000000000000000"] {
        let headers = [("switchboard-node", shown), ("switchboard-client", "192.0.2.1"), ("switchboard-door", "admin")];
        let (status, _, answer) = send("GET", &me, key, &headers, String::new());
        assert_eq!(status, 403, "{}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(call("GET", &me, key, None).0, 403);
    node.ask("GET", "/api/user/me", key, None);
}

#[test]
fn each_node_shows_figures_of_its_own() {
    let site = Site::new();
    let first = site.node("first");
    let second = second_that_passes_on(&site, &first);
    let metrics = |node: &Server, token: &str| {
        let (status, _, text) = send("GET", &format!("{}/metrics", node.text("url")), token, &[], String::new());
        (status, String::from_utf8(text).expect("text"))
    };
    let token = first.text("admin_token");
    let [one, other] = [&first, &second].map(|node| metrics(node, token).1);
    assert!(one.contains("\nswitchboard_serves 1\n") && other.contains("\nswitchboard_serves 0\n"));
    for of_lane in ["slots", "commits_total", "row_bytes", "lease_seconds"] {
        let line = format!("\nswitchboard_lane_{of_lane}{{lane=\"");
        assert!(one.contains(&line) && !other.contains(&line), "{line} {one} {other}");
    }
    assert_eq!(metrics(&second, first.text("api_key")).0, metrics(&first, first.text("api_key")).0);
    assert_ne!(metrics(&second, "nobody").0, 200);
}

#[test]
fn nodes_that_were_given_one_address_say_so() {
    let (site, folder) = (Site::new(), Folder::new());
    let (url, address) = (site.url(), free().to_string());
    let arguments = ["--store", &url, "--node-address", &address, "--engine", "none"];
    let nodes = ["first", "second"].map(|name| {
        let log = folder.path(&format!("{name}.log"));
        let file = std::fs::File::create(&log).expect("a file");
        (Server::start_logging(&folder.path(name), &arguments, &[], file), log)
    });
    wait("the nodes do not say that they have one address", || {
        nodes.iter().all(|(_, log)| {
            let said = std::fs::read_to_string(log).unwrap_or_default();
            said.contains("reached at the address of this one") && said.contains(&address)
        })
    });
}

#[test]
fn what_happens_at_one_node_wakes_who_waits_at_another() {
    let site = Site::new();
    let (first, second) = (site.node("first"), site.node("second"));
    let (key, token) = (Agency::of(&first).key, first.text("admin_token"));
    let engine = first.ask("POST", "/admin/engine-tokens", token, Some(&json!({ "name": "E" })));
    let own = engine["token"].as_str().expect("a token");
    let made = first.ask("POST", "/api/user/assistant", &key, Some(&assistant()));
    let claim = json!({ "engine": "E", "capacity": 1, "wait": 30 });
    let claimed = std::thread::scope(|scope| {
        let claiming = scope.spawn(|| second.ask("POST", "/engine/claim", own, Some(&claim)));
        let place = json!({ "assistant_id": made["data"]["id"], "phone_number": "+14155550100" });
        let call = first.ask("POST", "/api/user/make_call", &key, Some(&place))["call_id"].clone();
        let claimed = claiming.join().expect("a claim");
        assert_eq!(claimed["calls"][0]["call"]["id"], call, "{claimed}");
        call
    });
    let mut lines = follow(&second, &format!("/api/user/calls/{claimed}/events"), &key, 0);
    let events = json!({ "events": [{ "seq": 1, "type": "ringing" }] });
    first.ask("POST", &format!("/engine/calls/{claimed}/events"), own, Some(&events));
    assert!(lines.by_ref().take(50).any(|line| line.contains("ringing")), "it is told of");
}

#[test]
fn there_is_room_for_so_many_connections_of_nodes() {
    // The test itself holds as many.
    serve::room(2 * NODE_CONNECTIONS.all);
    let (site, reached) = (Site::new(), free());
    let node = site.begin_with("first", site.instance.address(), &["--node-listen", &reached.to_string()]).wait();
    let held: Vec<TcpStream> =
        (0..NODE_CONNECTIONS.all + 8).map(|_| TcpStream::connect(reached).expect("a connection")).collect();
    // Those that find no room are turned away, or one that was idle for a while gives way to them.
    let until = Instant::now() + Duration::from_secs(30);
    while held.iter().filter(|stream| is_open(stream)).count() as u64 > NODE_CONNECTIONS.all {
        assert!(Instant::now() < until, "there is room for more");
        std::thread::sleep(Duration::from_millis(50));
    }
    // Clients have an address of their own.
    node.ask("GET", "/api/user/me", node.text("api_key"), None);
    drop(held);
}

/// Returns whether the other end has neither closed a connection nor said anything.
fn is_open(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    stream.peek(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
}

/// On a machine that is so busy that the node which stands still is replaced meanwhile, it is tried again.
#[test]
fn an_address_passes_on_no_more_than_its_share() {
    assert!((0..5).any(|_| passes_on_its_share()), "the node that stands still is replaced each time");
}

/// Returns whether the first node still had its accounts at the end.
fn passes_on_its_share() -> bool {
    const MORE: usize = 32;
    let (passed, waiting) = (PASSED.address, PASSED.waiting_each);
    let site = Site::new();
    let first = site.node("first");
    let key = Agency::of(&first).key;
    let second = second_that_passes_on(&site, &first);
    let address: SocketAddr = second.text("url").trim_start_matches("http://").parse().expect("an address");
    let head = format!("GET /api/user/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n");
    // Making the connections may take longer than the first node may be silent.
    let mut streams: Vec<TcpStream> =
        (0..passed + waiting + MORE as u64).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    // It has all accounts, and answers nothing for a moment.
    signal(&first, Signal::STOP);
    streams.iter_mut().for_each(|stream| stream.write_all(head.as_bytes()).expect("it is sent"));
    // Who has room is held until the first node goes on, which is not given up within these seconds.
    let until = Instant::now() + Duration::from_secs(4);
    while streams.iter().filter(|stream| !is_open(stream)).count() < MORE && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    // And no more than these are refused.
    std::thread::sleep(Duration::from_millis(250));
    let mut answered = 0;
    for stream in streams.iter().filter(|stream| !is_open(stream)) {
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).expect("a line");
        if line.contains(" 200 ") {
            return false;
        }
        assert!(line.contains(" 429 "), "{line}");
        answered += 1;
    }
    assert_eq!(answered, MORE, "{passed} are passed on, and {waiting} wait");
    signal(&first, Signal::CONT);
    // Another node, and so another address, is served meanwhile; and this one once there is room.
    let serves = |node: &Server| match call("GET", &format!("{}/api/user/me", node.text("url")), &key, None) {
        (200, _) => true,
        (503, _) => false,
        (status, json) => panic!("{status} {json}"),
    };
    let still_has = serves(&first);
    drop(streams);
    still_has && serves(&second)
}

/// While the database is out of reach for a moment a lease answers reads; one that is to be confirmed is not answered.
#[test]
fn reads_are_confirmed_by_the_database_where_no_clock_is_trusted() {
    for (how, answers) in [("leased", true), ("confirmed", false)] {
        let site = Site::new();
        let proxy = Proxy::open(site.instance.address(), 1).expect("a proxy");
        let node = site.begin_with("node", proxy.address(), &["--reads", how]).wait();
        let (url, key) = (format!("{}/api/user/me", node.text("url")), node.text("api_key"));
        assert_eq!(call("GET", &url, key, None).0, 200);
        // Many at once are confirmed together.
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..32).map(|_| scope.spawn(|| call("GET", &url, key, None).0)).collect();
            assert!(asked.into_iter().all(|one| one.join().expect("an answer") == 200));
        });
        [Flow::ToServer, Flow::ToClient].into_iter().for_each(|flow| proxy.swallow(flow));
        let began = Instant::now();
        let (status, said) = call("GET", &url, key, None);
        assert_eq!(status, if answers { 200 } else { 503 }, "{how}, after {:?}: {said}", began.elapsed());
        proxy.heal().expect("it goes on");
        wait("reads are not answered again", || call("GET", &url, key, None).0 == 200);
    }
}

/// Keys are marked, answered and, once they have expired, swept; those of the operator stand in shared rows. A day takes two
/// seconds.
#[test]
fn what_has_an_idempotency_key_is_done_once_whoever_is_asked_and_whenever() {
    let (site, now) = (Site::new(), SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs());
    let pace = format!("43200@{now}");
    let begin = |name| site.begin_with(name, site.instance.address(), &["--pace", &pace]).wait();
    let nodes = ["first", "second", "third"].map(begin);
    let of = |name: &str| nodes.iter().find_map(|node| node.ready[name].as_str()).expect("an owner");
    let (token, key) = (of("admin_token"), of("api_key"));
    let post = |node: &Server, path: &str, token: &str, once: &str, body: &Value| {
        let (status, _, answer) =
            send("POST", &format!("{}{path}", node.text("url")), token, &[("idempotency-key", once)], body.to_string());
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&answer));
    };
    for day in 0..2 {
        std::thread::scope(|scope| {
            for (worker, node) in nodes.iter().enumerate() {
                scope.spawn(move || {
                    for number in 0..4 {
                        let once = format!("{day}.{worker}.{number}");
                        let body = json!({ "email": format!("a{once}@example.com") });
                        post(node, "/admin/accounts", token, &once, &body);
                        post(node, "/api/user/assistant", key, &once, &assistant());
                    }
                });
            }
        });
        std::thread::sleep(Duration::from_secs(3));
    }
    assert_eq!(nodes[0].ask("GET", "/api/user/assistants/get", key, None)["total"], 24);
}
