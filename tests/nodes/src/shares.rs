//! How nodes share the accounts: what they say of it, and waiting until it is so.

use std::time::{Duration, Instant};

use serde_json::Value;
use switchboard_tests::server::{Server, call, send};

use crate::Site;

/// How long nodes may take to share the accounts anew.
const PATIENCE: Duration = Duration::from_secs(30);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(50);
/// Nodes that have accounts.
const SERVING: &str = "SELECT count(DISTINCT l.node) FROM switchboard.lane l JOIN switchboard.slot s ON s.lane = l.id \
    WHERE NOT l.dead";
/// Places of accounts that nobody has.
const FREE: &str = "SELECT count(*) FROM switchboard.slot s LEFT JOIN switchboard.lane l ON l.id = s.lane AND NOT l.dead \
    WHERE l.id IS NULL";

/// Waits until each of these nodes has accounts, and nobody's are left.
///
/// # Panics
/// If that takes too long.
pub fn spread(site: &Site, nodes: &[&Server]) {
    let count = nodes.len().to_string();
    wait(&format!("not each of {count} nodes has a share"), || site.value(SERVING) == count && site.value(FREE) == "0");
}

/// Returns whether a node serves any accounts itself.
pub fn serves(node: &Server, token: &str) -> bool {
    let metrics = send("GET", &format!("{}/metrics", node.text("url")), token, &[], []).2;
    String::from_utf8_lossy(&metrics).lines().any(|line| line == "switchboard_serves 1")
}

/// Returns the nodes that one of them knows.
///
/// # Panics
/// If it does not say.
pub fn nodes_of(node: &Server, token: &str) -> Vec<Value> {
    let (status, listed) = call("GET", &format!("{}/admin/nodes", node.text("url")), token, None);
    assert_eq!(status, 200, "{listed}");
    listed["data"].as_array().cloned().unwrap_or_else(|| panic!("{listed}"))
}

/// Waits until as many nodes as are named are in these states; returns them in that order.
///
/// # Panics
/// If that takes too long.
pub fn in_states(node: &Server, token: &str, states: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    wait(&format!("the nodes are not {states:?}"), || {
        found = nodes_of(node, token);
        found.sort_by_key(|node| states.iter().position(|state| node["state"] == *state));
        found.iter().map(|node| node["state"].as_str()).eq(states.iter().copied().map(Some))
    });
    found
}

/// Returns the number of accounts of a node, as told by [`nodes_of`].
///
/// # Panics
/// If it is not told.
pub fn accounts_of(node: &Value) -> u64 {
    node["lanes"].as_array().expect("lanes").iter().map(|lane| lane["accounts"].as_u64().expect("a number")).sum()
}

/// Starts a second node that has no accounts, ever: it passes on all that it is asked to the first.
///
/// # Panics
/// If the first one does not keep all.
pub fn second_that_passes_on(site: &Site, first: &Server) -> Server {
    let token = first.text("admin_token");
    let before = in_states(first, token, &["serving"]);
    let second = site.node("second");
    let joined = in_states(first, token, &["serving", "serving"]);
    let id = joined.iter().map(|node| &node["id"]).find(|id| **id != before[0]["id"]).and_then(Value::as_str);
    let path = format!("/admin/nodes/{}/drain", id.expect("another id"));
    let (status, refused) = call("POST", &format!("{}{path}", first.text("url")), token, None);
    assert_eq!(status, 202, "{refused}");
    wait("the second node keeps accounts", || {
        let nodes = in_states(first, token, &["serving", "draining"]);
        nodes[1]["lanes"].as_array().is_some_and(Vec::is_empty) && site.value(FREE) == "0"
    });
    second
}

/// Waits until something is so.
///
/// # Panics
/// If that takes too long: `otherwise`.
pub fn wait(otherwise: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{otherwise}");
        std::thread::sleep(PAUSE);
    }
}
