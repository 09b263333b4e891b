//! Mid-call tools.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{Got, House, assistant, tool, with};

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
