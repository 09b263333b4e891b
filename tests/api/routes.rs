//! A walk over the route table: rules that hold for every operation.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use switchboard_core::http::refusal::Form;
use switchboard_core::http::request::{Body, Method};
use switchboard_core::http::route::{ReplyForm, Route, Who};
use switchboard_core::service::routes::ROUTES;
use switchboard_core::setup::Config;
use switchboard_tests::house::{House, assistant, campaign};
use switchboard_tests::places::Places;

/// Ids of operations without a token; the list may only shrink.
const ANONYMOUS: [&str; 15] = [
    "login",
    "loginByCode",
    "home",
    "health",
    "ready",
    "openapi",
    "docs",
    "console",
    "widget",
    "getWidget",
    "callWidget",
    "startConversation",
    "getOpenConversation",
    "sendMessage",
    "getRecording",
];

fn methods(route: &Route) -> Vec<Method> {
    let mut methods = vec![route.method];
    methods.extend((route.method == Method::Get).then_some(Method::Head));
    methods.extend(route.patch.then_some(Method::Patch));
    methods
}

/// Returns every operation with each of its methods and patterns, those below `/api` too.
fn walk() -> Vec<(&'static Route, Method, String)> {
    let mut all = Vec::new();
    for route in ROUTES {
        for (method, pattern) in methods(route).into_iter().flat_map(|m| route.paths.iter().map(move |p| (m, *p))) {
            all.push((route, method, pattern.to_owned()));
            if matches!(route.who, Who::User | Who::Visitor) || route.id == "login" {
                all.push((route, method, format!("/api{pattern}")));
            }
        }
    }
    all
}

fn target(places: &Places, pattern: &str) -> String {
    match pattern.strip_prefix("/api") {
        Some(pattern) => format!("/api{}", places.path(pattern)),
        None => places.path(pattern),
    }
}

fn token(house: &House, places: &Places, route: &Route) -> String {
    match route.who {
        Who::Operator => house.operator.clone(),
        Who::Engine => places.engine.clone(),
        Who::User | Who::Visitor | Who::Anyone => house.key.clone(),
    }
}

fn filled() -> (House, Places) {
    let mut house = House::default();
    let key = house.key.clone();
    let places = Places::of(&mut house, &key);
    (house, places)
}

#[test]
fn every_operation_but_a_few_asks_for_a_token() {
    let (mut house, places) = filled();
    let before = house.store.rows().clone();
    for (route, method, pattern) in walk() {
        let got = house.call(method, &target(&places, &pattern)).without("authorization").send();
        if ANONYMOUS.contains(&route.id) {
            assert_ne!(got.status, 401, "{}", route.id);
            continue;
        }
        assert_eq!((got.status, got.header("www-authenticate")), (401, Some("Bearer")), "{method:?} {pattern}");
        if method != Method::Head {
            let says = "Unauthenticated.";
            let want = match route.form {
                Form::Message | Form::Error => json!({ "message": says }),
                Form::Status => json!({ "status": false, "error": says, "message": says }),
                Form::Success => {
                    json!({ "success": false, "error": says, "error_code": "UNAUTHENTICATED", "message": says })
                }
            };
            assert_eq!(got.json, want);
        }
    }
    assert!(*house.store.rows() == before, "a refusal stores nothing");
}

#[test]
fn the_operators_token_is_nothing_to_users_and_the_other_way_round() {
    let (mut house, places) = filled();
    for (route, method, pattern) in walk().into_iter().filter(|(route, ..)| route.who != Who::Anyone) {
        let wrong =
            if matches!(route.who, Who::User | Who::Visitor) { house.operator.clone() } else { house.key.clone() };
        let got = house.call(method, &target(&places, &pattern)).token(&wrong).send();
        assert_eq!(got.status, 401, "{method:?} {pattern}");
    }
}

#[test]
fn a_strangers_id_is_answered_like_one_that_never_was() {
    let (mut house, places) = filled();
    let stranger = house.account("stranger@example.com");
    let theirs = Places::of(&mut house, &stranger);
    let before = house.store.rows().clone();
    for (route, method, pattern) in walk() {
        if route.who != Who::User || !pattern.contains('{') {
            continue;
        }
        let mut reply = |target: &str| {
            let got = house.call(method, target).header("x-request-id", "walk").send();
            (got.status, got.bytes, got.headers)
        };
        let nowhere = reply(&target(&Places::all("4000000"), &pattern));
        assert_eq!(nowhere.0, 404, "{method:?} {pattern}");
        for places in [&theirs, &Places::all("0"), &Places::all("18446744073709551616")] {
            assert_eq!(reply(&target(places, &pattern)), nowhere, "{method:?} {pattern}");
        }
        if pattern.contains("{document_id}") {
            let base = places.id("/user/knowledgebases");
            let within = |id: &str| pattern.replace("{id}", &base.to_string()).replace("{document_id}", id);
            let theirs = theirs.value("{document_id}");
            assert_eq!(reply(&within(theirs)), reply(&within("4000000")), "{method:?} {pattern}");
        }
    }
    assert!(*house.store.rows() == before, "a refusal stores nothing");
}

#[test]
fn a_strangers_id_in_a_body_is_answered_like_one_that_never_was() {
    let (mut house, places) = filled();
    let stranger = house.account("stranger@example.com");
    let theirs = Places::of(&mut house, &stranger);
    let (assistant_id, number) = ("/user/assistant", "/user/phone-numbers");
    let url = json!({ "webhook_url": "https://a.example" });
    let body = |extra: Value, name: &str, id: Value| switchboard_tests::house::with(extra, &json!({ name: id }));
    let own = places.id("/user/assistant");
    let cases = [
        ("/user/assistants/enable-inbound-webhook", url.clone(), "assistant_id", assistant_id, 404),
        ("/user/assistants/disable-inbound-webhook", json!({}), "assistant_id", assistant_id, 404),
        ("/user/assistants/enable-webhook", url, "assistant_id", assistant_id, 404),
        ("/user/assistants/disable-webhook", json!({}), "assistant_id", assistant_id, 404),
        ("/user/make_call", json!({ "phone_number": "+40700000009" }), "assistant_id", assistant_id, 404),
        ("/user/campaigns", json!({ "name": "C" }), "assistant_id", assistant_id, 404),
        ("/user/campaigns/update-status", json!({ "action": "stop" }), "campaign_id", "/user/campaign", 404),
        ("/user/leads", json!({ "phone_number": "+40700000009" }), "campaign_id", "/user/campaign", 422),
        ("/user/sms", json!({ "to": "+40700000009", "body": "Hi" }), "from", number, 400),
        ("/user/assistant", assistant(), "knowledgebase_id", "/user/knowledgebases", 422),
        ("/user/assistant", assistant(), "phone_number_id", number, 422),
    ];
    for (path, extra, name, start, status) in cases {
        let theirs = house.post(path, &body(extra.clone(), name, json!(theirs.id(start)))).send();
        let nowhere = house.post(path, &body(extra, name, json!(4_000_000))).send();
        assert_eq!((theirs.status, &theirs.json), (nowhere.status, &nowhere.json), "{path} {name}");
        assert_eq!(theirs.status, status, "{path} {name}: {}", theirs.json);
    }
    for (path, extra, name, start) in [
        ("/user/assistant", assistant(), "tool_ids", "/user/tools"),
        ("/user/campaigns", campaign(own), "phone_number_ids", number),
    ] {
        let got = house.post(path, &body(extra, name, json!([theirs.id(start)]))).send();
        got.wrong(&[&format!("{name}.0")]);
    }
}

#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let (mut house, places) = filled();
    let mut allowed: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (_, method, pattern) in walk() {
        allowed.entry(target(&places, &pattern)).or_insert_with(|| ["OPTIONS"].into()).insert(method.name());
    }
    let all = [Method::Get, Method::Head, Method::Post, Method::Put, Method::Patch, Method::Delete, Method::Other];
    for (target, names) in &allowed {
        for method in all.into_iter().filter(|method| !names.contains(method.name())) {
            let got = house.call(method, target).without("authorization").send();
            assert_eq!(got.status, 405, "{method:?} {target}");
            assert_eq!(&got.header("allow").expect("Allow").split(", ").collect::<BTreeSet<_>>(), names, "{target}");
        }
        let got = house.call(Method::Options, target).without("authorization").send();
        assert_eq!((got.status, got.bytes.len()), (204, 0), "{target}");
        assert_eq!(&got.header("allow").expect("Allow").split(", ").collect::<BTreeSet<_>>(), names, "{target}");
    }
}

#[test]
fn a_body_over_the_limit_and_one_of_another_type_change_nothing() {
    let (mut house, places) = filled();
    let login = json!({ "email": "owner@localhost", "password": house.password });
    let session = house.post("/user/login", &login).without("authorization").send().expect(200);
    // An API key may not log out; a session may do everything.
    session.json["token"].as_str().expect("a token").clone_into(&mut house.key);
    let before = house.store.rows().clone();
    for (route, method, pattern) in walk().into_iter().filter(|(_, method, _)| method.is_write()) {
        let (token, target) = (token(&house, &places, route), target(&places, &pattern));
        let mut status = |body: Body, media: &str| {
            house.call(method, &target).token(&token).header("content-type", media).raw(body).send().status
        };
        assert_eq!(status(Body::TooLarge, "application/json"), 413, "{method:?} {pattern}");
        assert_eq!(
            status(Body::Full(b"x=1".to_vec()), "application/x-www-form-urlencoded"),
            415,
            "{method:?} {pattern}"
        );
        assert_eq!(status(Body::Cut, "application/json"), 400, "{method:?} {pattern}");
    }
    assert!(*house.store.rows() == before, "a refusal stores nothing");
}

#[test]
fn whoever_finds_the_address_is_told_what_answers_there() {
    let mut house = House::default();
    let mut ask = |accept: &str| {
        house.call(Method::Get, "/").without("authorization").header("accept", accept).send().expect(200)
    };
    let release = switchboard_core::service::Service::version();
    let want = json!({ "name": "Switchboard", "release": release, "docs": "http://test/docs" });
    for accept in ["*/*", "application/json", "text/html;q=0.5, application/json"] {
        assert_eq!(ask(accept).json, want, "{accept}");
    }
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    assert_eq!(ask(browser).json, Value::Null, "the host has a page for browsers");
    house.call(Method::Post, "/").without("authorization").send().expect(405);
    house.get("/api").message(404, "Not found.");
}

#[test]
fn the_console_may_ask_what_the_operator_set_up_and_nobody_else() {
    let config = Config { public_url: Some("https://voice.example/".into()), ..Config::default() };
    let mut house = House::with(config);
    let key = house.key.clone();
    let policy = |house: &mut House, target: &str| {
        let got = house.call(Method::Get, target).without("authorization").header("accept", "text/html").send();
        got.expect(200).header("content-security-policy").expect("a policy").to_owned()
    };
    let before = policy(&mut house, "/console/calls");
    assert!(before.starts_with("default-src 'none'; script-src 'self'; style-src 'self'; "), "{before}");
    assert!(before.ends_with("; media-src 'self' blob: https://voice.example; connect-src 'self'"), "{before}");
    Places::of(&mut house, &key);
    let engine = "; connect-src 'self' https://media.example";
    for target in ["/", "/console", "/console/calls"] {
        assert!(policy(&mut house, target).ends_with(engine), "an engine with a web leg is attached: {target}");
    }
    house.now = house.now.plus_seconds(61);
    assert_eq!(policy(&mut house, "/"), before, "it has gone");
}

#[test]
fn a_head_request_gets_the_headers_of_a_get() {
    let (mut house, places) = filled();
    for (route, method, pattern) in walk() {
        // Only a host has the bodies of these.
        let is_hosts = matches!(route.shape, ReplyForm::Media(_) | ReplyForm::Object(_) | ReplyForm::Status)
            || ["getStore", "listNodes"].contains(&route.id);
        if method != Method::Get || is_hosts {
            continue;
        }
        let (token, target) = (token(&house, &places, route), target(&places, &pattern));
        let mut ask = |method| house.call(method, &target).token(&token).header("x-request-id", "walk").send();
        let (get, mut head) = (ask(Method::Get).expect(200), ask(Method::Head).expect(200));
        assert!(head.bytes.is_empty() && !get.bytes.is_empty(), "{pattern}");
        assert_eq!(head.header("content-length"), Some(get.bytes.len().to_string().as_str()), "{pattern}");
        head.headers.retain(|(name, _)| !["content-length", "content-type"].contains(name));
        assert_eq!(head.headers, get.headers, "{pattern}");
        assert_eq!(get.header("etag").is_some(), route.etag, "{pattern}");
    }
}

#[test]
fn an_unknown_path_is_not_found_with_or_without_a_token() {
    let mut house = House::default();
    for path in
        ["", "//", "/user", "/user/", "/user/nope", "/user/tools/", "/user//tools", "/api/admin/plans", "/api/healthz"]
    {
        house.get(path).message(404, "Not found.");
        house.call(Method::Get, path).without("authorization").send().message(404, "Not found.");
    }
}
