//! What goes through a node that does not have the account: limits, recordings, conversations, nodes at the edge.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_nodes::shares::spread;
use switchboard_nodes::{Agency, Site};
use switchboard_tests::edge::{EdgeNode, STORE_TOKEN};
use switchboard_tests::house::{assistant, with};
use switchboard_tests::server::{Folder, Server, ask, call, send};

/// Accounts: so many that each of two nodes has some.
const ACCOUNTS: usize = 6;

/// Two nodes that share some accounts.
struct Pair {
    /// Whose database they use.
    _site: Site,
    nodes: [Server; 2],
    agencies: Vec<Agency>,
}

impl Pair {
    fn with(arguments: &[&str]) -> Self {
        let site = Site::new();
        let nodes = ["first", "second"].map(|name| site.begin_with(name, site.instance.address(), arguments).wait());
        spread(&site, &nodes.each_ref());
        let token = nodes[0].text("admin_token");
        let agencies = (0..ACCOUNTS).map(|number| Agency::opened(&nodes[0], &nodes[1], token, number)).collect();
        Self { _site: site, nodes, agencies }
    }

    /// Returns the URLs of both, the first of them first for every other number.
    fn urls(&self, number: usize) -> [&str; 2] {
        [number, number + 1].map(|at| self.nodes[at % 2].text("url"))
    }
}

/// Sixty a minute, of which twelve are there at once: whichever node is asked, and whichever has the account.
#[test]
fn a_rate_limit_is_one_over_all_nodes() {
    let pair = Pair::with(&["--rate-limit", "60"]);
    for (number, agency) in pair.agencies.iter().enumerate() {
        // What set the account up was of the same minute.
        let urls = pair.urls(number);
        let made = ask("POST", &format!("{}/api/user/api-keys", urls[0]), &agency.key, Some(&json!({ "name": "New" })));
        let key = made["api_key"]["token"].as_str().expect("a token");
        let admitted = (0..40).filter(|turn| {
            let (status, said) = call("GET", &format!("{}/api/user/me", urls[turn % 2]), key, None);
            assert!(matches!(status, 200 | 429), "{status} {said}");
            status == 200
        });
        let admitted = admitted.count();
        // As many as one node alone lets through, and what has come back meanwhile; twice as many if each counted.
        assert!((10..=15).contains(&admitted), "{admitted} were let through");
    }
}

#[test]
fn recordings_are_kept_and_played_through_any_node() {
    let folder = Folder::new();
    let place = folder.path("recordings").display().to_string();
    let pair = Pair::with(&["--recordings", &place]);
    let token = pair.nodes[0].text("admin_token");
    let made = ask("POST", &format!("{}/admin/engine-tokens", pair.urls(0)[0]), token, Some(&json!({ "name": "E" })));
    let engine = made["token"].as_str().expect("a token");
    for (number, agency) in pair.agencies.iter().enumerate() {
        let [here, there] = pair.urls(number);
        let recorded = with(assistant(), &json!({ "record": true }));
        let id = ask("POST", &format!("{here}/api/user/assistant"), &agency.key, Some(&recorded))["data"]["id"].clone();
        let place = json!({ "assistant_id": id, "phone_number": "+14155550100" });
        let id = ask("POST", &format!("{there}/api/user/make_call"), &agency.key, Some(&place))["call_id"].clone();
        let claim = json!({ "engine": "E", "capacity": 1, "wait": 10 });
        let claimed = ask("POST", &format!("{here}/engine/claim"), engine, Some(&claim));
        assert_eq!(claimed["calls"][0]["call"]["id"], id, "{claimed}");
        let audio: Vec<u8> = (0..300_000_u32).map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
        let target = format!("{here}/engine/calls/{id}/recording");
        let (status, _, kept) = send("PUT", &target, engine, &[("content-type", "audio/wav")], audio.clone());
        assert_eq!(status, 201, "{}", String::from_utf8_lossy(&kept));
        let url = serde_json::from_slice::<Value>(&kept).expect("JSON")["url"].as_str().expect("a URL").to_owned();
        let path = url.strip_prefix(here).unwrap_or_else(|| panic!("{url} is not of {here}"));
        for node in [here, there] {
            let (status, _, played) = send("GET", &format!("{node}{path}"), "", &[("range", "bytes=99000-199999")], []);
            assert!(status == 206 && played == audio[99_000..200_000], "{status}, {} bytes", played.len());
        }
    }
}

/// As many as the account's plan allows, wherever they begin; each goes on wherever the next thing is said.
#[test]
fn conversations_go_on_at_any_node_and_are_counted_once() {
    let pair = Pair::with(&[]);
    let operator = pair.nodes[0].text("admin_token");
    let plan = json!({ "conversations_daily": 3 });
    ask("PUT", &format!("{}/admin/plans/standard", pair.urls(1)[0]), operator, Some(&plan));
    for (number, agency) in pair.agencies.iter().enumerate() {
        let [here, there] = pair.urls(number);
        let id =
            ask("POST", &format!("{here}/api/user/assistant"), &agency.key, Some(&assistant()))["data"]["id"].clone();
        let begin = |url: &str| {
            let begin = json!({ "assistant_id": id, "type": "test" });
            call("POST", &format!("{url}/api/conversations"), &agency.key, Some(&begin))
        };
        let begun: Vec<_> = [here, there, here].into_iter().map(begin).collect();
        assert!(begun.iter().all(|(status, _)| *status == 200), "{begun:?}");
        assert_eq!([begin(there).0, begin(here).0], [403, 403], "each node counts");
        let talk = format!("/api/conversations/{}", begun[0].1["conversation_id"].as_str().expect("a UUID"));
        for (said, url) in ["One", "Two", "Three", "Four"].into_iter().zip([there, here].into_iter().cycle()) {
            ask("POST", &format!("{url}{talk}/messages"), &agency.key, Some(&json!({ "message": said })));
        }
        let [seen, same] = [here, there].map(|url| ask("GET", &format!("{url}{talk}"), &agency.key, None));
        assert_eq!(seen, same);
        let text = seen.to_string();
        assert!(["One", "Two", "Three", "Four"].iter().all(|said| text.contains(said)), "{text}");
    }
}

#[test]
fn a_node_at_the_edge_may_talk_to_any_node() {
    let pair = Pair::with(&["--store-token", STORE_TOKEN]);
    for (number, agency) in pair.agencies.iter().enumerate() {
        let urls = pair.urls(number);
        let [one, other] = urls.map(EdgeNode::new);
        let tool =
            json!({ "name": "look", "description": "d", "endpoint": "https://tools.example/x", "method": "GET" });
        let made = one.call(Method::Post, "/api/user/tools", &agency.key, tool.to_string().as_bytes());
        assert_eq!((made.status, made.passed), (201, false), "{made:?}");
        assert_eq!(made.asked.last(), Some(&"/store/commit"), "{made:?}");
        let path = format!("/api/user/tools/{}", made.json["data"]["id"]);
        let seen = other.call(Method::Get, &path, &agency.key, b"");
        assert_eq!((seen.status, &seen.asked), (200, &vec!["/store/read"]), "{seen:?}");
        for url in urls {
            assert_eq!(ask("GET", &format!("{url}{path}"), &agency.key, None), seen.json);
        }
        // What an edge node does not execute itself is passed on, and on again.
        let login = json!({ "email": format!("agency{number}@example.com"), "password": "wrong" }).to_string();
        let refused = other.call(Method::Post, "/api/user/login", "", login.as_bytes());
        assert_eq!((refused.status, refused.passed), (401, true), "{refused:?}");
    }
}
