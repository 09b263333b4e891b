//! Staying signed in to the console by a cookie, which never suffices by itself (docs/api.md, Staying signed in).

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::setup::Config;
use switchboard_tests::house::{Call, Got, House, tool};

const HOST: &str = "localhost:8080";
const ORIGIN: &str = "http://localhost:8080";

/// A browser that is signed in.
struct Browser {
    house: House,
    cookie: String,
    csrf: String,
}

fn login<'h>(house: &'h mut House, host: &str, body: &Value) -> Call<'h> {
    let call = house.post("/user/login", body).without("authorization").without("host");
    call.from("127.0.0.1").header("host", host)
}

fn remembering(house: &House) -> Value {
    json!({ "email": "owner@localhost", "password": house.password, "remember": true })
}

impl Browser {
    fn new() -> Self {
        let mut house = House::default();
        let body = remembering(&house);
        let got = login(&mut house, HOST, &body).header("origin", ORIGIN).send().expect(200);
        let set = got.header("set-cookie").expect("a cookie");
        let (cookie, rest) = set.split_once("; ").expect("its attributes");
        assert_eq!(rest, "Path=/; Max-Age=86400; HttpOnly; SameSite=Strict");
        assert_eq!(cookie, format!("switchboard_session={}", got.json["token"].as_str().expect("a token")));
        let csrf = got.json["csrf"].as_str().expect("a text").to_owned();
        assert!(!got.json["token"].as_str().expect("a token").contains(&csrf), "it is not the token");
        Self { house, cookie: cookie.to_owned(), csrf }
    }

    fn ask(&mut self, method: Method, target: &str, headers: &[(&str, &str)]) -> Call<'_> {
        let cookie = self.cookie.clone();
        let call = self.house.call(method, target).without("authorization").without("host");
        let call = call.from("127.0.0.1").header("host", HOST).header("cookie", &cookie);
        headers.iter().fold(call, |call, (name, value)| call.header(name, value))
    }

    fn write(&mut self, headers: &[(&str, &str)]) -> Got {
        let name = format!("tool_{}", "a".repeat(1 + self.house.store.rows().len() % 20));
        self.ask(Method::Post, "/user/tools", headers).json(&tool(&name)).send()
    }
}

#[test]
fn a_remembered_session_reads_and_writes_for_its_own_pages() {
    let mut browser = Browser::new();
    let own = [("sec-fetch-site", "same-origin")];
    let me = browser.ask(Method::Get, "/user/me", &own).send().expect(200);
    assert_eq!((&me.json["email"], me.header("cache-control")), (&json!("owner@localhost"), Some("private, no-cache")));
    let csrf = browser.csrf.clone();
    browser.write(&[own[0], ("x-csrf-token", &csrf)]).expect(201);
    browser.write(&[("origin", ORIGIN), ("x-csrf-token", &csrf)]).expect(201);
    // As an owner, not as a stranger.
    let assistant = browser.house.make("/user/assistant", &switchboard_tests::house::assistant());
    let uuid = browser.house.get(&format!("/user/assistant/{assistant}")).json["uuid"].clone();
    let talk = json!({ "assistant_id": uuid, "type": "test" });
    let begin = |headers: &[(&str, &str)], browser: &mut Browser| {
        browser.ask(Method::Post, "/conversations", headers).json(&talk).send()
    };
    begin(&[own[0], ("x-csrf-token", &csrf)], &mut browser).expect(200);
    begin(&[own[0]], &mut browser).expect(404);
}

#[test]
fn a_cookie_alone_is_nothing() {
    let mut browser = Browser::new();
    let csrf = browser.csrf.clone();
    let before = browser.house.store.rows().clone();
    let shown = ("x-csrf-token", &*csrf);
    for headers in [
        &[("sec-fetch-site", "same-origin")][..],
        &[("origin", ORIGIN)],
        &[shown],
        &[("sec-fetch-site", "same-site"), shown],
        &[("sec-fetch-site", "cross-site"), shown],
        &[("sec-fetch-site", "none"), shown],
        &[("origin", "http://localhost:8081"), shown],
        &[("origin", "https://localhost:8080"), shown],
        &[("origin", "null"), shown],
        &[("sec-fetch-site", "same-origin"), ("origin", "http://evil.example"), shown],
        &[("sec-fetch-site", "same-origin"), ("x-csrf-token", "")],
        &[("sec-fetch-site", "same-origin"), ("x-csrf-token", "AAAA")],
    ] {
        browser.write(headers).message(401, "Unauthenticated.");
    }
    for headers in [
        &[("sec-fetch-site", "same-site")][..],
        &[("sec-fetch-site", "cross-site")],
        &[("origin", "http://localhost:8081")],
    ] {
        browser.ask(Method::Get, "/user/me", headers).send().message(401, "Unauthenticated.");
    }
    // A name of somebody else's that leads here.
    let cookie = browser.cookie.clone();
    for host in ["evil.example", "evil.example:8080", "localhost.evil.example", ""] {
        let call = browser.house.call(Method::Get, "/user/me").without("authorization").without("host");
        let call = call.from("127.0.0.1").header("host", host).header("cookie", &cookie);
        call.header("sec-fetch-site", "same-origin").send().message(401, "Unauthenticated.");
    }
    assert!(*browser.house.store.rows() == before, "a refusal stores nothing");
    // It opens nothing of the operator's and of engines.
    for (method, target) in [(Method::Get, "/admin/plans"), (Method::Get, "/metrics"), (Method::Get, "/engine")] {
        browser.ask(method, target, &[("sec-fetch-site", "same-origin")]).send().message(401, "Unauthenticated.");
    }
}

#[test]
fn an_authorization_header_counts_before_the_cookie() {
    let mut browser = Browser::new();
    let got = browser.ask(Method::Get, "/user/me", &[("authorization", "Bearer nonsense")]).send();
    got.message(401, "Unauthenticated.");
    let key = format!("Bearer {}", browser.house.key);
    let got = browser.ask(Method::Get, "/user/me", &[("authorization", &key), ("sec-fetch-site", "cross-site")]).send();
    assert_eq!(got.expect(200).header("cache-control"), None);
}

#[test]
fn logging_out_ends_the_session_and_its_cookie() {
    let mut browser = Browser::new();
    let csrf = browser.csrf.clone();
    let own = [("sec-fetch-site", "same-origin"), ("x-csrf-token", &*csrf)];
    browser.ask(Method::Post, "/user/logout", &own[..1]).send().expect(401);
    let got = browser.ask(Method::Post, "/user/logout", &own).send().expect(200);
    let want = "switchboard_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict";
    assert_eq!(got.header("set-cookie"), Some(want));
    browser.ask(Method::Get, "/user/me", &own[..1]).send().expect(401);
    let mut browser = Browser::new();
    browser.house.now = browser.house.now.plus_seconds(86_401);
    browser.ask(Method::Get, "/user/me", &[]).send().expect(401);
}

#[test]
fn only_the_services_own_pages_are_remembered() {
    let mut house = House::default();
    let body = remembering(&house);
    for (host, headers) in [
        (HOST, &[][..]),
        (HOST, &[("origin", "http://evil.example")]),
        (HOST, &[("sec-fetch-site", "cross-site")]),
        ("evil.example", &[("origin", "http://evil.example")]),
    ] {
        let call = login(&mut house, host, &body);
        let got = headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send();
        got.wrong(&["remember"]);
        assert_eq!(got.header("set-cookie"), None);
    }
    let forget = json!({ "email": "owner@localhost", "password": house.password, "remember": false });
    let got = login(&mut house, "evil.example", &forget).send().expect(200);
    assert_eq!((&got.json["csrf"], got.header("set-cookie")), (&Value::Null, None));
}

#[test]
fn behind_https_the_cookie_is_secure_and_bound_to_its_host() {
    let mut house = House::with(Config { public_url: Some("https://voice.example".into()), ..Config::default() });
    let body = remembering(&house);
    let got = login(&mut house, "voice.example", &body).header("origin", "https://voice.example").send().expect(200);
    let set = got.header("set-cookie").expect("a cookie");
    assert!(set.starts_with("__Host-switchboard_session=sbs_") && set.ends_with("; Secure"), "{set}");
    let cookie = set.split(';').next().expect("a value").to_owned();
    let call = house.call(Method::Get, "/user/me").without("authorization").header("cookie", &cookie);
    call.header("sec-fetch-site", "same-origin").send().expect(200);
}
