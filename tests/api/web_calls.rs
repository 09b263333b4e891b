//! docs/api.md, Web calls: a page gets a token, and its browser shows it to an engine, once and in time.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{Got, House, assistant, tool, with};

/// A house with an assistant and an engine that has a web leg; returns the assistant's id and the engine's token.
fn open(legs: &Value) -> (House, u64, String) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let operator = house.operator.clone();
    let made = house.post("/admin/engine-tokens", &json!({ "name": "T" })).token(&operator).send().expect(201);
    let token = made.json["token"].as_str().expect("a token").to_owned();
    beat(&mut house, &token, "one", legs);
    (house, id, token)
}

fn beat(house: &mut House, token: &str, name: &str, about: &Value) {
    let mut body = json!({ "engine": name });
    for (member, value) in about.as_object().expect("an object") {
        body[member] = value.clone();
    }
    house.post("/engine/heartbeat", &body).token(token).send().expect(200);
}

fn web(url: &str, running: u32) -> Value {
    json!({ "legs": ["web"], "web_url": url, "capacity": 10, "running": running })
}

fn make(house: &mut House, assistant: u64) -> Got {
    house.post("/user/web_calls", &json!({ "assistant_id": assistant })).send()
}

fn show(house: &mut House, engine: &str, token: &Value) -> Got {
    let body = json!({ "type": "web", "token": token, "engine": "one", "protocol": 2 });
    house.post("/engine/calls", &body).token(engine).send()
}

fn status(house: &mut House, id: &Value) -> (Value, Value) {
    let call = house.get(&format!("/user/calls/{id}")).expect(200).json;
    (call["status"].clone(), call["ended_reason"].clone())
}

#[test]
fn a_browser_gets_into_its_call_once() {
    let (mut house, assistant, engine) = open(&web("https://media.example/web", 0));
    let body = json!({ "assistant_id": assistant, "variables": { "name": "Ana" } });
    let made = house.post("/user/web_calls", &body).send().expect(201);
    assert_eq!(made.header("cache-control"), Some("no-store"));
    assert_eq!(made.json["engine_url"], "https://media.example/web");
    assert_eq!(made.json["expires_at"], house.now.plus_seconds(60).iso());
    let token = made.json["token"].clone();
    assert!(
        !house.store.rows().values().any(|row| String::from_utf8_lossy(row).contains(token.as_str().expect("text")))
    );
    let call = house.get(&format!("/user/calls/{}", made.json["call_id"])).expect(200).json;
    assert_eq!(
        (&call["type"], &call["status"], &call["variables"]["name"]),
        (&json!("web"), &json!("initiated"), &json!("Ana"))
    );
    let entered = show(&mut house, &engine, &token).expect(201).json;
    assert_eq!((&entered["call"]["id"], &entered["telephony"]["kind"]), (&made.json["call_id"], &json!("web")));
    assert_eq!(entered["assistant"]["greeting"], call_greeting(&mut house, assistant));
    show(&mut house, &engine, &token).message(409, "The token was used, or its time is over.");
    let events = format!("/engine/calls/{}/events", made.json["call_id"]);
    let said = json!({ "events": [{ "seq": 1, "type": "answered" }, { "seq": 2, "type": "ended", "by": "customer" }] });
    house.post(&events, &said).token(&engine).send().expect(200);
    assert_eq!(status(&mut house, &made.json["call_id"]).1, "customer_hung_up");
}

fn call_greeting(house: &mut House, assistant: u64) -> Value {
    house.get(&format!("/user/assistant/{assistant}")).expect(200).json["initial_message"].clone()
}

#[test]
fn a_token_lasts_a_minute() {
    let (mut house, assistant, engine) = open(&web("https://media.example/web", 0));
    let made = make(&mut house, assistant).expect(201).json;
    house.now = house.now.plus_seconds(59);
    house.tick();
    assert_eq!(status(&mut house, &made["call_id"]).0, "initiated");
    house.now = house.now.plus_seconds(1);
    show(&mut house, &engine, &made["token"]).expect(409);
    house.tick();
    assert_eq!(status(&mut house, &made["call_id"]), (json!("failed"), json!("token_expired")));
    show(&mut house, &engine, &made["token"]).expect(409);
}

#[test]
fn nobody_else_gets_in() {
    let (mut house, assistant, engine) = open(&web("https://media.example/web", 0));
    let made = make(&mut house, assistant).expect(201).json;
    let token = made["token"].as_str().expect("text");
    let other = make(&mut house, assistant).expect(201).json["token"].as_str().expect("text").to_owned();
    for wrong in ["sbw_", "x", &house.key.clone(), &engine.clone(), &token.replace('A', "B"), &other[..other.len() - 1]]
    {
        show(&mut house, &engine, &json!(wrong)).expect(404);
    }
    let operator = house.operator.clone();
    let strange = json!({ "name": "S", "account_ids": [(assistant >> 32) + 1] });
    house.account("other@example.com");
    let strange = with_account(&mut house, &operator, strange);
    show(&mut house, &strange, &json!(token)).message(404, "Web call not found");
    // As a bearer token it is nothing.
    for path in ["/user/me", "/engine", "/admin/plans"] {
        house.call(Method::Get, path).token(token).send().expect(401);
    }
    show(&mut house, &engine, &json!(token)).expect(201);
}

/// Makes an engine token of another account than the first.
fn with_account(house: &mut House, operator: &str, mut body: Value) -> String {
    let accounts = house.call(Method::Get, "/admin/accounts").token(operator).send().expect(200).json;
    let first = body["account_ids"][0].clone();
    let other = accounts["data"].as_array().expect("a list").iter().find(|account| account["id"] != first);
    body["account_ids"] = json!([other.expect("another account")["id"]]);
    let made = house.post("/admin/engine-tokens", &body).token(operator).send().expect(201);
    made.json["token"].as_str().expect("a token").to_owned()
}

#[test]
fn a_token_is_for_the_origin_that_asked_for_it() {
    let (mut house, assistant, engine) = open(&web("https://media.example/web", 0));
    let body = json!({ "assistant_id": assistant });
    let made = house.post("/user/web_calls", &body).header("origin", "https://shop.example").send().expect(201).json;
    let mut from = |origin: Value| {
        let body = json!({ "type": "web", "token": made["token"], "origin": origin });
        house.post("/engine/calls", &body).token(&engine).send()
    };
    from(json!("https://evil.example")).message(403, "The token is for a page of another origin.");
    from(json!("https://shop.example")).expect(201);
}

#[test]
fn the_least_loaded_engine_with_a_web_leg_is_named() {
    let (mut house, assistant, engine) = open(&json!({ "legs": ["sip"], "web_url": "https://sip.example" }));
    make(&mut house, assistant).expect(503);
    beat(&mut house, &engine, "two", &json!({ "legs": ["web"] }));
    make(&mut house, assistant).expect(503);
    beat(&mut house, &engine, "three", &web("https://three.example", 10));
    make(&mut house, assistant).expect(503);
    for (name, running, want) in [("four", 5, "four"), ("five", 3, "five"), ("six", 4, "five")] {
        beat(&mut house, &engine, name, &web(&format!("https://{name}.example"), running));
        let url = make(&mut house, assistant).expect(201).json["engine_url"].clone();
        assert_eq!(url, format!("https://{want}.example"));
    }
    // One that is busy otherwise comes last, and one that was not heard of for a minute does not come.
    let mut busy = web("https://five.example", 3);
    busy["load"] = json!(0.9);
    beat(&mut house, &engine, "five", &busy);
    assert_eq!(make(&mut house, assistant).expect(201).json["engine_url"], "https://six.example");
    house.now = house.now.plus_seconds(60);
    make(&mut house, assistant).message(503, "No voice engine that takes browsers is attached.");
}

#[test]
fn a_web_call_names_its_token_or_an_assistant() {
    let (mut house, _, engine) = open(&web("https://media.example/web", 0));
    let got = house.post("/engine/calls", &json!({ "type": "web" })).token(&engine).send();
    got.wrong(&["assistant_id"]);
    make(&mut house, 77).expect(404);
}

/// A house with an engine that has a web leg, and an assistant whose widget may talk; returns the assistant's id and UUID
/// and the engine's token.
fn embedded(settings: &Value) -> (House, (u64, String), String) {
    let (mut house, _, engine) = open(&web("https://media.example/web", 0));
    let [shown, hidden] = ["shown", "hidden"].map(|name| house.make("/user/tools", &tool(name)));
    let widget = json!({ "enabled": true, "voice": true, "allowed_origins": ["https://shop.example"],
        "variables": { "customer_name": "guest" }, "tool_ids": [shown] });
    let transfer = json!({ "type": "call_transfer", "phone_number": "+40700000009" });
    let more = json!({ "tools": [{ "type": "end_call" }, transfer], "tool_ids": [hidden],
        "widget_settings": with(widget, settings) });
    let id = house.make("/user/assistant", &with(assistant(), &more));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let uuid = house.get(&format!("/user/assistant/{id}")).json["uuid"].as_str().expect("a UUID").to_owned();
    (house, (id, uuid), engine)
}

/// A visitor asks for a call.
fn visit(house: &mut House, uuid: &str, from: &str) -> Got {
    let call = house.call(Method::Post, &format!("/widgets/{uuid}/web_calls")).without("authorization");
    call.header("origin", "https://shop.example").from(from).send()
}

fn can_talk(house: &mut House, uuid: &str) -> Value {
    house.call(Method::Get, &format!("/widgets/{uuid}")).without("authorization").send().expect(200).json["voice"]
        .clone()
}

#[test]
fn a_visitor_talks_as_the_widget_allows() {
    let (mut house, (_, uuid), engine) = embedded(&json!({}));
    assert_eq!(can_talk(&mut house, &uuid), true);
    let made = visit(&mut house, &uuid, "198.51.100.1").expect(200);
    let members: Vec<_> = made.json.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(members, ["engine_url", "expires_at", "status", "token"], "nothing of the account is told");
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let entered = show(&mut house, &engine, &made.json["token"]).expect(201).json;
    let call = &entered["call"];
    assert_eq!((&call["type"], &call["variables"]), (&json!("web"), &json!({ "customer_name": "guest" })));
    let functions = entered["assistant"]["functions"].as_array().expect("a list");
    let names: Vec<_> = functions.iter().map(|function| function["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["shown", "end_call"], "a stranger has neither other tools nor transfers");
    let ask = |house: &mut House, name: &str| {
        let target = format!("/engine/calls/{}/tools/{name}", call["id"]);
        house.post(&target, &json!({ "arguments": {} })).token(&engine).send().status
    };
    assert_ne!(ask(&mut house, "shown"), 404);
    assert_eq!(ask(&mut house, "hidden"), 404);
}

#[test]
fn what_may_not_talk_is_missing() {
    let (mut house, (id, uuid), engine) = embedded(&json!({}));
    let foreign = house.call(Method::Post, &format!("/widgets/{uuid}/web_calls")).without("authorization");
    foreign.header("origin", "https://evil.example").send().expect(403);
    let before = house.store.rows().len();
    for settings in [json!({ "voice": false }), json!({ "voice": true, "enabled": false })] {
        house.put(&format!("/user/assistant/{id}"), &json!({ "widget_settings": settings })).send().expect(200);
        let refused = visit(&mut house, &uuid, "198.51.100.1").expect(404).json;
        assert_eq!(refused["message"], "Assistant not found");
    }
    assert_eq!(house.store.rows().len(), before, "nothing was counted");
    house.put(&format!("/user/assistant/{id}"), &json!({ "widget_settings": { "enabled": true } })).send().expect(200);
    beat(&mut house, &engine, "one", &json!({ "legs": [], "web_url": null }));
    assert_eq!(can_talk(&mut house, &uuid), false, "there is no engine that takes browsers");
    visit(&mut house, &uuid, "198.51.100.1").expect(503);
}

#[test]
fn calls_of_visitors_are_counted_by_address_and_by_what_they_cost() {
    let (mut house, (_, uuid), engine) = embedded(&json!({ "daily_cost_max": 0.5 }));
    for _ in 0..10 {
        visit(&mut house, &uuid, "198.51.100.1").expect(200);
    }
    assert!(visit(&mut house, &uuid, "198.51.100.1").expect(429).json["retry_after"].as_u64() <= Some(60));
    // What calls cost is known when they are over.
    for cost in [0.3, 0.2] {
        let made = visit(&mut house, &uuid, "198.51.100.2").expect(200).json;
        let entered = show(&mut house, &engine, &made["token"]).expect(201).json;
        let events = format!("/engine/calls/{}/events", entered["call"]["id"]);
        let said = json!({ "events": [{ "seq": 1, "type": "answered" }, { "seq": 2, "type": "ended", "by": "customer" },
            { "seq": 3, "type": "cost", "total_cost": cost }] });
        house.post(&events, &said).token(&engine).send().expect(200);
    }
    let wait = visit(&mut house, &uuid, "198.51.100.3").expect(429).json["retry_after"].as_u64().expect("a number");
    house.now = house.now.plus_seconds(wait);
    beat(&mut house, &engine, "one", &web("https://media.example/web", 0));
    visit(&mut house, &uuid, "198.51.100.3").expect(200);
}
