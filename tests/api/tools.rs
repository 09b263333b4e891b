//! Mid-call tools: creating, changing, attaching and testing them, and requests for engines.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_tests::house::{Got, House, assistant, tool, with};
use switchboard_tests::line::Line;

const NAME: &str = "Tool name must contain only lowercase letters and underscores, and start with a letter.";
const NAME_FIELD: &str = "The name field must contain only lowercase letters and underscores, and start with a letter.";

fn create(house: &mut House, changes: &Value) -> Got {
    house.post("/user/tools", &with(tool("look"), changes)).send()
}

#[test]
fn one_is_created_and_shown_whole() {
    let mut house = House::default();
    let set = json!({
        "method": "POST", "timeout": 30, "endpoint": "https://a.example/{city}?who={{customer_phone}}",
        "headers": [{ "name": "X-Key", "value": "secret" }],
        "schema": [{ "name": "city", "type": "string", "description": "Where to" }],
    });
    let got = create(&mut house, &set).expect(201);
    let at = house.now.iso();
    let mut want = with(tool("look"), &set);
    let more = json!({ "id": got.id(), "created_at": at, "updated_at": at });
    want.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    assert_eq!(got.json, json!({ "message": "Tool created successfully", "data": want }));
    assert_eq!(house.get("/user/tools/1").expect(200).json, want);
    let second = create(&mut house, &json!({})).expect(201).json["data"].clone();
    let defaults = json!([second["timeout"], second["headers"], second["schema"]]);
    assert_eq!(defaults, json!([10, [], []]));
    assert_eq!(house.get("/user/tools").expect(200).json, json!([want, second]), "a bare array, oldest first");
}

#[test]
fn static_fields_forms_and_optional_parameters_are_shown_where_they_were_set() {
    let mut house = House::default();
    let set = json!({
        "method": "POST", "body_format": "form", "static_fields": [{ "key": "source", "value": "phone" }],
        "schema": [
            { "name": "city", "type": "string", "description": "Where to", "required": false },
            { "name": "days", "type": "number", "description": "How long" },
        ],
    });
    let got = create(&mut house, &set).expect(201);
    let tool = house.get(&format!("/user/tools/{}", got.id())).expect(200).json;
    for (name, value) in set.as_object().expect("an object") {
        assert_eq!(&tool[name], value, "{name}");
    }
    let path = format!("/user/tools/{}", got.id());
    house.put(&path, &json!({ "static_fields": [], "body_format": null })).send().expect(200);
    let tool = house.get(&path).expect(200).json;
    assert_eq!((tool.get("static_fields"), tool.get("body_format")), (None, None));
    let id = create(&mut house, &set).expect(201).id();
    let assistant = house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": [id] })));
    let line = Line::attach(&mut house);
    house.make_call(assistant);
    let function = line.take(&mut house).claimed["assistant"]["functions"][0].clone();
    assert_eq!(function["parameters"]["required"], json!(["days"]));
    for (changes, field) in [
        (json!({ "static_fields": [{ "key": "city", "value": "x" }] }), "static_fields.0.key"),
        (json!({ "static_fields": [{ "value": "x" }] }), "static_fields.0.key"),
        (
            json!({ "static_fields": [{ "key": "a", "value": "x" }, { "key": "a", "value": "y" }] }),
            "static_fields.1.key",
        ),
        (json!({ "body_format": "xml" }), "body_format"),
    ] {
        create(&mut house, &with(set.clone(), &changes)).wrong(&[field]);
    }
}

#[test]
fn what_a_creation_must_keep_to() {
    let header = |name: &str, value: &str| json!({ "headers": [{ "name": name, "value": value }] });
    let parameter = |name: &str| json!({ "name": name, "type": "string", "description": "abc" });
    let schema = |entries: &[Value]| json!({ "schema": entries });
    let cases = [
        (json!({ "description": "x".repeat(256) }), "description"),
        (json!({ "endpoint": "tools.example" }), "endpoint"),
        (json!({ "endpoint": "https://{host}.example/" }), "endpoint"),
        (json!({ "method": "get" }), "method"),
        (json!({ "timeout": 0 }), "timeout"),
        (json!({ "timeout": 31 }), "timeout"),
        (json!({ "headers": [{ "name": "X-Key" }] }), "headers.0.value"),
        (json!({ "headers": [{ "value": "x" }] }), "headers.0.name"),
        (header("Host", "x"), "headers.0.name"),
        (header("content-length", "1"), "headers.0.name"),
        (header("Transfer-Encoding", "chunked"), "headers.0.name"),
        (header("connection", "close"), "headers.0.name"),
        (header("Webhook-Id", "1"), "headers.0.name"),
        (header("a b", "x"), "headers.0.name"),
        (header("X-Key", "a\r\nb"), "headers.0.value"),
        (header("X-Key", &"x".repeat(2_049)), "headers.0.value"),
        (schema(&[parameter("a")]), "schema.0.name"),
        (schema(&[parameter(&"a".repeat(33))]), "schema.0.name"),
        (schema(&[parameter("a1")]), "schema.0.name"),
        (schema(&[parameter("_a")]), "schema.0.name"),
        (schema(&[parameter("ab"), parameter("ab")]), "schema.1.name"),
        (schema(&[with(parameter("ab"), &json!({ "type": "bool" }))]), "schema.0.type"),
        (schema(&[with(parameter("ab"), &json!({ "description": "ab" }))]), "schema.0.description"),
        (schema(&vec![parameter("ab"); 51]), "schema"),
    ];
    let mut house = House::default();
    for (changes, field) in cases {
        let got = create(&mut house, &changes);
        got.wrong(&[field]);
        assert_eq!(got.json["message"], got.json["errors"][field][0], "{changes}");
    }
    house.post("/user/tools", &json!({})).send().wrong(&["name", "description", "endpoint", "method"]);
    assert_eq!(house.get("/user/tools").json, json!([]));
}

#[test]
fn a_bad_name_is_told_in_two_sentences() {
    let mut house = House::default();
    for name in ["Look", "look1", "_look", "look up", "look-up"] {
        let got = create(&mut house, &json!({ "name": name })).expect(422);
        assert_eq!(got.json, json!({ "message": NAME_FIELD, "errors": { "name": [NAME] } }), "{name}");
    }
    create(&mut house, &json!({ "name": "x".repeat(65) })).wrong(&["name"]);
    let id = create(&mut house, &json!({ "name": "x".repeat(64) })).expect(201).id();
    let got = house.put(&format!("/user/tools/{id}"), &json!({ "name": "Look" })).send().expect(422);
    assert_eq!(got.json, json!({ "message": "Validation failed", "errors": { "name": [NAME] } }));
}

#[test]
fn an_update_changes_what_it_supplies_and_replaces_lists() {
    let mut house = House::default();
    let lists = json!({
        "headers": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
        "schema": [{ "name": "city", "type": "string", "description": "Where to" }],
    });
    let mut want = create(&mut house, &lists).expect(201).json["data"].clone();
    house.now = house.now.plus_seconds(5);
    let changes = json!({ "timeout": 5, "headers": [{ "name": "C", "value": "3" }], "schema": [] });
    let got = house.put("/user/tools/1", &changes).send().expect(200);
    want.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
    want["updated_at"] = json!(house.now.iso());
    assert_eq!(got.json, json!({ "message": "Tool updated successfully", "data": want }));
    house.call(Method::Patch, "/user/tools/1").json(&json!({ "method": "DELETE" })).send().expect(200);
    want["method"] = json!("DELETE");
    assert_eq!(house.get("/user/tools/1").json, want);
    house.put("/user/tools/1", &json!({ "timeout": null })).send().wrong(&["timeout"]);
    house.put("/user/tools/9", &json!({})).send().message(404, "Tool not found");
    house.get("/user/tools/9").message(404, "Tool not found");
}

#[test]
fn attached_tools_have_names_of_their_own() {
    let mut house = House::default();
    let attach = |house: &mut House, ids: &[u64]| {
        house.post("/user/assistant", &with(assistant(), &json!({ "tool_ids": ids }))).send()
    };
    let [one, same, other] = ["look", "look", "ask"].map(|name| house.make("/user/tools", &tool(name)));
    attach(&mut house, &[one, same]).wrong(&["tool_ids.1"]);
    attach(&mut house, &[one, one]).wrong(&["tool_ids.1"]);
    let id = attach(&mut house, &[one, other]).expect(201).id();
    house.put(&format!("/user/tools/{other}"), &json!({ "name": "look" })).send().wrong(&["name"]);
    house.put(&format!("/user/tools/{same}"), &json!({ "name": "ask" })).send().expect(200);
    house.put(&format!("/user/assistant/{id}"), &json!({ "tool_ids": [] })).send().expect(200);
    house.put(&format!("/user/tools/{other}"), &json!({ "name": "look" })).send().expect(200);
}

#[test]
fn a_deleted_one_is_detached_from_every_assistant() {
    let mut house = House::default();
    let [one, other] = ["look", "ask"].map(|name| house.make("/user/tools", &tool(name)));
    let holder = house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": [one, other] })));
    house.delete(&format!("/user/tools/{one}")).message(200, "Tool deleted successfully");
    assert_eq!(house.get(&format!("/user/assistant/{holder}")).json["tool_ids"], json!([other]));
    house.delete(&format!("/user/tools/{one}")).message(404, "Tool not found");
}

#[test]
fn a_read_only_key_sees_no_header_values() {
    let mut house = House::default();
    let header = json!([{ "name": "Authorization", "value": "Bearer hidden" }]);
    create(&mut house, &json!({ "headers": header })).expect(201);
    let made = house.post("/user/api-keys", &json!({ "name": "eyes", "read_only": true })).send().expect(201);
    let token = made.json["api_key"]["token"].as_str().expect("a token").to_owned();
    for path in ["/user/tools", "/user/tools/1"] {
        assert!(String::from_utf8_lossy(&house.get(path).bytes).contains("hidden"));
        let got = house.call(Method::Get, path).token(&token).send().expect(200);
        let text = String::from_utf8_lossy(&got.bytes).into_owned();
        assert!(!text.contains("hidden") && text.contains("****"), "{text}");
    }
}

#[test]
fn a_plan_allows_so_many() {
    let mut house = House::default();
    let operator = house.operator.clone();
    house.post("/admin/plans", &json!({ "name": "one", "tools": 1 })).token(&operator).send().expect(201);
    house.put("/admin/accounts/1", &json!({ "plan": "one" })).token(&operator).send().expect(200);
    create(&mut house, &json!({})).expect(201);
    let says = "You have reached your plan limit of 1 mid call tools. Please upgrade your plan to create more tools.";
    create(&mut house, &json!({})).message(422, says);
}

#[test]
fn a_test_makes_the_real_request() {
    let mut house = House::default();
    let schema = json!([
        { "name": "city", "type": "string", "description": "The city" },
        { "name": "days", "type": "number", "description": "How many" },
        { "name": "wet", "type": "boolean", "description": "Whether" },
    ]);
    let changes = json!({
        "endpoint": "https://tools.example/{city}", "schema": schema, "timeout": 7,
        "headers": [{ "name": "X-Key", "value": "k" }, { "name": "Authorization", "value": "Bearer one-two-three" }],
    });
    let id = house.make("/user/tools", &with(tool("weather"), &changes));
    let path = format!("/user/tools/{id}/test");
    let ask = |house: &mut House, answer: Result<HttpIn, SendError>, body: &Value| {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let noted = Rc::clone(&seen);
        house.outside(move |request| {
            noted.borrow_mut().push(request.clone());
            answer.clone()
        });
        let got = house.post(&path, body).send();
        (got, seen.take())
    };
    let good = HttpIn {
        status: 201,
        headers: vec![("content-type".into(), "text/plain".into())],
        body: b"sunny".to_vec(),
        duration_ms: 42,
        ..HttpIn::default()
    };
    let (got, seen) = ask(&mut house, Ok(good.clone()), &json!({}));
    assert_eq!(
        got.expect(200).json,
        json!({
            "status": 201, "duration_ms": 42, "headers": { "content-type": "text/plain" }, "body": "sunny",
            "request": {
                "method": "GET", "url": "https://tools.example/test?days=1&wet=true", "body": "",
                "headers": { "X-Key": "k", "Authorization": "Bearer ****" },
            },
        })
    );
    assert_eq!((seen[0].url.as_str(), seen[0].timeout_ms), ("https://tools.example/test?days=1&wet=true", 7_000));
    assert_eq!(seen[0].headers[0].1.0, "k");
    let (_, seen) = ask(&mut house, Ok(good), &json!({ "arguments": { "city": "Iași", "days": 2.5, "more": 1 } }));
    assert_eq!(seen[0].url, "https://tools.example/Ia%C8%99i?days=2.5&wet=true");
    for (answer, status) in [(SendError::TimedOut, 504), (SendError::Unreachable, 502), (SendError::Refused, 502)] {
        let (got, _) = ask(&mut house, Err(answer), &json!({}));
        assert!(got.expect(status).json["message"].is_string());
    }
    let (got, seen) = ask(&mut house, Err(SendError::TimedOut), &json!({ "arguments": { "city": ".." } }));
    assert_eq!((got.status, seen.len()), (502, 0));
    let (got, _) = ask(&mut house, Err(SendError::TimedOut), &json!({ "arguments": { "city": ["x"] } }));
    got.wrong(&["arguments.city"]);
    house.post("/user/tools/99/test", &json!({})).send().message(404, "Tool not found");
}

#[test]
fn an_engine_has_the_attached_tools_asked() {
    let mut house = House::default();
    let id = house.make(
        "/user/tools",
        &with(tool("weather"), &json!({ "endpoint": "https://tools.example/?to={{customer_phone}}&n={{name}}" })),
    );
    house.make("/user/tools", &tool("other"));
    let assistant =
        house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": [id], "variables": { "name": "x" } })));
    house.make_call(assistant);
    let line = Line::attach(&mut house);
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    house.outside(|request| {
        assert_eq!(request.url, "https://tools.example/?to=%2B40700000001&n=x");
        Ok(HttpIn { status: 500, body: b"down".to_vec(), duration_ms: 3, ..HttpIn::default() })
    });
    let call = held.id;
    let run = |house: &mut House, name: &str| {
        let path = format!("/engine/calls/{call}/tools/{name}");
        house.post(&path, &json!({ "arguments": {} })).token(&line.token).send()
    };
    assert_eq!(run(&mut house, "weather").expect(200).json, json!({ "status": 500, "body": "down", "duration_ms": 3 }));
    run(&mut house, "other").message(404, "Tool not found");
    let events = house.get(&format!("/user/calls/{}/events?after=3", held.id)).json;
    assert_eq!((&events["data"][0]["type"], &events["data"][0]["name"]), (&json!("tool"), &json!("weather")));
    house.outside(|_| Err(SendError::TimedOut));
    run(&mut house, "weather").expect(504);
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
    run(&mut house, "weather").expect(409);
}
