//! A node at the edge, step by step, over the store protocol of a real server.

use serde_json::json;
use switchboard_core::account::token::{Token, TokenKind};
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::remote::wire::{CommitCall, PassCall, ReadCall, WireMessage};
use switchboard_core::remote::{Do, NodeEvent};
use switchboard_core::service::Service;
use switchboard_tests::edge::{EdgeNode, STORE_TOKEN, visit};

use crate::server::{Folder, Server, call, send};

fn tool(name: &str) -> Vec<u8> {
    json!({ "name": name, "description": "d", "endpoint": "https://tools.example/x", "method": "GET" })
        .to_string()
        .into_bytes()
}

fn start(folder: &Folder) -> Server {
    Server::start(&folder.path("data"), &["--store-token", STORE_TOKEN, "--engine", "none"])
}

#[test]
fn a_node_reads_and_writes_what_the_region_shows() {
    let folder = Folder::new();
    let server = start(&folder);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let node = EdgeNode::new(&url);
    let made = node.call(Method::Post, "/api/user/tools", &key, &tool("from_the_edge"));
    assert_eq!((made.status, made.passed), (201, false), "{}", made.json);
    assert_eq!(made.asked.last(), Some(&"/store/commit"), "nothing is acknowledged before its commit");
    let id = made.json["data"]["id"].as_u64().expect("an id");
    let (status, there) = call("GET", &format!("{url}/api/user/tools/{id}"), &key, None);
    let here = node.call(Method::Get, &format!("/api/user/tools/{id}"), &key, b"");
    assert_eq!((status, there), (here.status, here.json));
    assert_eq!(here.asked, ["/store/read"], "token, rate limit and row are one round");
    let list = node.call(Method::Get, "/api/user/tools", &key, b"");
    assert_eq!((list.status, list.asked.len()), (200, 2), "a list is its head, then its rows");
    assert!(made.asked.len() <= 6, "{:?}", made.asked);
    // An invalid body is refused at the node, without a commit.
    let wrong = node.call(Method::Post, "/api/user/tools", &key, br#"{"name":1}"#);
    assert_eq!(wrong.status, 422);
    assert!(!wrong.asked.contains(&"/store/commit"));
    let nowhere = node.call(Method::Get, "/api/user/nothing", &key, b"");
    assert_eq!((nowhere.status, nowhere.asked.len()), (404, 0), "what has no route asks nobody");
    let malformed = node.call(Method::Get, "/api/user/me", "sbk_nothing", b"");
    assert_eq!((malformed.status, malformed.asked.len()), (401, 0), "nor does a token that is none");
}

#[test]
fn a_deleted_key_fails_on_the_next_request() {
    let folder = Folder::new();
    let server = start(&folder);
    let (url, owner) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let node = EdgeNode::new(&url);
    let (status, made) = call("POST", &format!("{url}/api/user/api-keys"), &owner, Some(&json!({ "name": "edge" })));
    assert_eq!(status, 201, "{made}");
    let key = made["api_key"]["token"].as_str().or(made["token"].as_str()).expect("a token").to_owned();
    assert_eq!(node.call(Method::Get, "/user/me", &key, b"").status, 200);
    let id = made["api_key"]["id"].as_u64().expect("an id");
    assert_eq!(call("DELETE", &format!("{url}/api/user/api-keys/{id}"), &owner, None).0, 200);
    assert_eq!(node.call(Method::Get, "/user/me", &key, b"").status, 401);
}

#[test]
fn a_forged_token_takes_nothing_from_the_rate_limit_of_a_real_one() {
    let folder = Folder::new();
    let server =
        Server::start(&folder.path("data"), &["--store-token", STORE_TOKEN, "--engine", "none", "--rate-limit", "12"]);
    let key = server.text("api_key").to_owned();
    let node = EdgeNode::new(server.text("url"));
    let known = Token::parse(&key).expect("a key");
    let forged = Token::new(TokenKind::ApiKey, known.account, known.count, &[7; 32]);
    for _ in 0..5 {
        assert_eq!(node.call(Method::Get, "/user/me", forged.text(), b"").status, 401);
    }
    // A burst of two, then no more: the rate limit holds at the edge as well.
    let statuses: Vec<u16> = (0..3).map(|_| node.call(Method::Get, "/user/me", &key, b"").status).collect();
    assert_eq!(statuses, [200, 200, 429]);
}

#[test]
fn what_came_in_between_runs_the_step_again() {
    let folder = Folder::new();
    let server = start(&folder);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let node = EdgeNode::new(&url);
    let body = tool("one");
    let mut slow = visit(Method::Post, "/user/tools", &key, &body, "application/json");
    let mut next = node.advance(&mut slow, &body, NodeEvent::Begin);
    // The slow visit has read everything; before it commits, another request commits first.
    while let Do::Ask { path: "/store/read", body: message } = next {
        let (status, answer) = node.ask("/store/read", message).expect("an answer");
        next = node.advance(&mut slow, &body, NodeEvent::Answer { status, body: answer });
    }
    let quick = node.call(Method::Post, "/user/tools", &key, &tool("two"));
    assert_eq!(quick.status, 201);
    let late = node.finish(&mut slow, &body, next);
    assert_eq!(late.status, 201, "{}", late.json);
    assert!(late.asked.iter().filter(|path| **path == "/store/commit").count() == 2, "{:?}", late.asked);
    assert_ne!(late.json["data"]["id"], quick.json["data"]["id"]);
    let (_, list) = call("GET", &format!("{url}/api/user/tools"), &key, None);
    assert_eq!(list.as_array().or(list["data"].as_array()).map(Vec::len), Some(2), "{list}");
}

#[test]
fn what_takes_longer_is_handed_over() {
    let folder = Folder::new();
    let server = start(&folder);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let node = EdgeNode::new(&url);
    let login = json!({ "email": server.text("email"), "password": server.text("password") }).to_string();
    let login = node.call(Method::Post, "/user/login", "", login.as_bytes());
    assert_eq!((login.status, login.passed), (200, true), "{}", login.json);
    let made = node.call(Method::Post, "/user/knowledgebases", &key, br#"{"name":"Hours"}"#);
    assert_eq!(made.status, 201);
    let text = "We open at nine. ".repeat(100_000);
    let form = format!(
        "--b\r\ncontent-disposition: form-data; name=\"name\"\r\n\r\nHours\r\n--b\r\ncontent-disposition: form-data; name=\"type\"\r\n\r\ntxt\r\n--b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"h.txt\"\r\ncontent-type: text/plain\r\n\r\n{text}\r\n--b--\r\n"
    );
    let media = "multipart/form-data; boundary=b";
    let mut upload = visit(Method::Post, "/user/knowledgebases/1/documents", &key, form.as_bytes(), media);
    let next = node.advance(&mut upload, form.as_bytes(), NodeEvent::Begin);
    let uploaded = node.finish(&mut upload, form.as_bytes(), next);
    assert_eq!((uploaded.status, uploaded.passed), (201, true), "{}", uploaded.json);
    let engine = node.call(Method::Post, "/engine/claim", "sbe_none", b"{}");
    assert_eq!((engine.status, engine.passed, engine.asked.len()), (401, true, 0));
}

#[test]
fn the_protocol_is_closed_without_its_token_and_names_what_is_wrong() {
    let folder = Folder::new();
    let server = start(&folder);
    let url = server.text("url").to_owned();
    let node = EdgeNode::new(&url);
    let (bearer, release) = (format!("Bearer {STORE_TOKEN}"), Service::version());
    let message = ReadCall::default().to_bytes();
    let send = |path, token: &str, release: &str, body: &[u8]| {
        node.send(path, &[("authorization", token), ("switchboard-release", release)], body.to_vec())
            .expect("an answer")
            .0
    };
    assert_eq!(send("/store/read", &bearer, &release, &message), 200);
    assert_eq!(send("/store/read", "Bearer another", &release, &message), 401);
    assert_eq!(send("/store/read", &bearer, "0.0.0", &message), 412);
    assert_eq!(send("/store/read", &bearer, &release, b"\x01\xff"), 400);
    assert_eq!(send("/store/commit", &bearer, &release, &CommitCall::default().to_bytes()), 204);
    assert_eq!(send("/store/pass", &bearer, &release, &[0xff; 8]), 413);
    assert_eq!(send("/store/pass", &bearer, &release, &[0, 0, 0, 9, 1]), 400);
    assert_eq!(send("/store/other", &bearer, &release, b""), 400);
    assert_eq!(send("/store/commit", &bearer, &release, &vec![1; (16 << 20) + 1]), 413);
    assert_eq!(call("GET", &format!("{url}/store/read"), STORE_TOKEN, None).0, 405);
    let closed = Folder::new();
    let closed = Server::start(&closed.path("data"), &[]);
    assert_eq!(call("POST", &format!("{}/store/read", closed.text("url")), STORE_TOKEN, None).0, 404);
}

#[test]
fn the_region_says_how_long_the_body_is_that_a_passed_head_stands_for() {
    let folder = Folder::new();
    let server = start(&folder);
    let (url, authorization) = (server.text("url"), format!("Bearer {}", server.text("api_key")));
    let headers = Vec::from([("authorization", authorization.into_bytes()), ("accept", b"text/csv".to_vec())]);
    let asked = |method| {
        let target = "/user/leads".to_owned();
        let headers = headers.clone();
        let request = Request { method, target, headers, body: Body::None, peer: None, door: Door::Main };
        let message = PassCall { request, rates: Vec::new() }.to_bytes();
        let sent = [&u32::try_from(message.len()).expect("a short one").to_be_bytes()[..], &message].concat();
        let (release, media) = (Service::version(), "application/octet-stream");
        let own = [("switchboard-release", &*release), ("content-type", media)];
        send("POST", &format!("{url}/store/pass"), STORE_TOKEN, &own, sent)
    };
    let (status, _, body) = asked(Method::Get);
    assert!(status == 200 && !body.is_empty());
    let (status, head, nothing) = asked(Method::Head);
    let length = format!("\"switchboard-length\": \"{}\"", body.len());
    assert!(status == 200 && nothing.is_empty() && head.contains(&length), "{status} {head}");
}

#[test]
fn a_lost_region_is_503_with_a_time_to_come_back() {
    let folder = Folder::new();
    let server = start(&folder);
    let (url, key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    let node = EdgeNode::new(&url);
    server.kill();
    let lost = node.call(Method::Get, "/user/me", &key, b"");
    assert_eq!((lost.status, lost.retry_after), (503, true), "{}", lost.json);
    assert_eq!(node.call(Method::Post, "/engine/claim", "sbe_none", b"{}").status, 503);
}
