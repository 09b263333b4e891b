//! Logging in by the one-time code that `switchboard dev` shows (docs/api.md, One-time codes).

use serde_json::json;
use switchboard_core::setup::{Config, OneTimeCode};
use switchboard_core::time::Timestamp;
use switchboard_tests::house::{Call, House};

const CODE: &str = "a code of a test";
/// SHA-256 of it.
const DIGEST: [u8; 32] = [
    0x43, 0xf2, 0xe1, 0xbd, 0xe6, 0x7d, 0x51, 0xeb, 0x46, 0x56, 0x0b, 0x13, 0xf3, 0x4f, 0xf3, 0x40, 0xca, 0xe5, 0x52,
    0x63, 0x7f, 0x21, 0xe1, 0xac, 0xbc, 0xeb, 0xba, 0x5a, 0xda, 0xc9, 0xde, 0x2c,
];
const LOCAL: (&str, &str) = ("127.0.0.1", "localhost:8080");

fn house() -> House {
    let until = Timestamp::from_seconds(1_790_000_600);
    let config = Config {
        login_code: Some(OneTimeCode { digest: DIGEST, until }),
        trust_proxy: vec!["127.0.0.9/32".parse().expect("a net")],
        ..Config::default()
    };
    House::with(config)
}

fn ask<'h>(house: &'h mut House, code: &str, (peer, host): (&str, &str)) -> Call<'h> {
    let call = house.post("/user/login/code", &json!({ "code": code })).without("authorization").without("host");
    call.from(peer).header("host", host)
}

#[test]
fn a_code_logs_the_owner_in_once() {
    let mut house = house();
    let got = ask(&mut house, CODE, LOCAL).send().expect(200);
    assert_eq!(
        (&got.json["user"]["email"], got.header("cache-control")),
        (&json!("owner@localhost"), Some("no-store"))
    );
    let token = got.json["token"].as_str().expect("a token").to_owned();
    house.post("/user/logout", &json!({})).token(&token).send().expect(200);
    ask(&mut house, CODE, LOCAL).send().message(404, "Code not found.");
}

#[test]
fn every_other_code_is_answered_alike() {
    let mut all = house();
    let before = all.store.rows().clone();
    for (code, from) in [
        ("another code", LOCAL),
        (CODE, ("192.168.1.5", "localhost:8080")),
        (CODE, ("127.0.0.1", "evil.example")),
        // A proxy that is known speaks for somebody else.
        (CODE, ("127.0.0.9", "localhost:8080")),
    ] {
        ask(&mut all, code, from).send().message(404, "Code not found.");
    }
    all.now = all.now.plus_seconds(600);
    ask(&mut all, CODE, LOCAL).send().message(404, "Code not found.");
    assert!(*all.store.rows() == before, "a refusal stores nothing");
    ask(&mut House::default(), CODE, LOCAL).send().message(404, "Code not found.");
    let mut suspended = house();
    let operator = suspended.operator.clone();
    suspended.put("/admin/accounts/1", &json!({ "suspended": true })).token(&operator).send().expect(200);
    ask(&mut suspended, CODE, LOCAL).send().message(404, "Code not found.");
    ask(&mut house(), "", LOCAL).send().wrong(&["code"]);
}

#[test]
fn the_console_may_ask_to_be_remembered() {
    let mut house = house();
    let body = json!({ "code": CODE, "remember": true });
    ask(&mut house, CODE, LOCAL).json(&body).send().wrong(&["remember"]);
    let call = ask(&mut house, CODE, LOCAL).json(&body).header("origin", "http://localhost:8080");
    let got = call.send().expect(200);
    assert!(got.json["csrf"].is_string() && got.header("set-cookie").is_some(), "the code was not used up before");
}
