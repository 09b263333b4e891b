//! Members of a body that an operation does not know: named where they are ignored, refused where that is asked for.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::http::route::{BodyKind, Route, Who};
use switchboard_core::key::Kind;
use switchboard_core::limits::{IGNORED_BYTES_MAX, UNKNOWN_MAX};
use switchboard_core::record::Ref;
use switchboard_core::service::routes::ROUTES;
use switchboard_core::setup::Config;
use switchboard_tests::drawn::for_all;
use switchboard_tests::house::{Call, House, assistant, tool, with};
use switchboard_tests::places::Places;
use switchboard_tests::strategy;

use crate::refusals::bodies::valid;
use crate::refusals::stage::filled;

const IGNORED: &str = "x-ignored-members";
const STRAY: &str = "no_such_member";

/// Number of drawn resources of each kind that are sent back.
const SENT_BACK: u32 = 40;

fn strict(call: Call<'_>) -> Call<'_> {
    call.header("prefer", "handling=strict")
}

#[test]
fn what_is_ignored_is_named() {
    let mut house = House::default();
    let body = with(
        assistant(),
        &json!({
            "sytem_prompt": "Hi", "id": 9, "created_at": null,
            "post_call_schema": [{ "name": "city", "type": "string", "description": "The city", "typ": "bool" }],
            "variables": { "any": 1 }, "zone ü": [],
        }),
    );
    let got = house.post("/user/assistant", &body).send().expect(201);
    assert_eq!(got.header(IGNORED), Some(r#""post_call_schema.0.typ", "sytem_prompt", "zone %C3%BC""#));
    let got = house.post("/user/assistant", &assistant()).send().expect(201);
    assert_eq!(got.header(IGNORED), None);
    house.post("/user/assistant", &json!({ "sytem_prompt": 1 })).send().expect(422);
    assert_eq!(house.get("/user/assistants").json.as_array().expect("a list").len(), 2);
}

#[test]
fn a_replay_names_them_too() {
    let mut house = House::default();
    let body = with(tool("look"), &json!({ "tiemout": 3 }));
    let mut send = || house.post("/user/tools", &body).header("idempotency-key", "k").send().expect(201);
    let (first, second) = (send(), send());
    assert_eq!(second.header("idempotency-replayed"), Some("true"));
    assert_eq!(first.header(IGNORED), Some(r#""tiemout""#));
    assert_eq!(second.header(IGNORED), first.header(IGNORED));
}

#[test]
fn scripts_of_other_origins_see_them() {
    let mut house = House::with(Config { cors_origins: vec!["https://app.example".into()], ..Config::default() });
    let got = house.post("/user/tools", &tool("look")).header("origin", "https://app.example").send().expect(201);
    let exposed = got.header("access-control-expose-headers").expect("a list");
    assert!(exposed.split(", ").any(|name| name == "X-Ignored-Members"), "{exposed}");
}

#[test]
fn strict_handling_refuses_them_beside_the_fields_that_failed() {
    let mut house = House::default();
    let body = with(assistant(), &json!({ "sytem_prompt": "Hi", "name": 5, "id": 9 }));
    let got = strict(house.post("/user/assistant", &body)).send().expect(422);
    let want = json!({
        "name": ["The name field must be a string."],
        "sytem_prompt": ["The sytem prompt field is not known."],
    });
    assert_eq!(got.json, json!({ "message": "Validation failed", "errors": want }));
    let id = house.make("/user/assistant", &assistant());
    let before = house.get(&format!("/user/assistant/{id}")).json;
    let body = json!({ "name": "New", "filler": true });
    strict(house.put(&format!("/user/assistant/{id}"), &body)).send().expect(422).wrong(&["filler"]);
    assert_eq!(house.get(&format!("/user/assistant/{id}")).json, before);
    house.put(&format!("/user/assistant/{id}"), &body).header("prefer", "handling=lenient").send().expect(200);
}

/// They are found with the fields, so before what the body names is looked for.
#[test]
fn what_costs_money_is_always_strict() {
    let mut house = House::default();
    let call = json!({ "phone_number": "+40700000001", "assistant_id": 9, "scheduled_at": "2027-01-01" });
    let got = house.post("/user/make_call", &call).send().expect(422);
    assert_eq!(got.json["message"], "The scheduled at field is not known.");
    got.wrong(&["scheduled_at"]);
    let message = json!({ "from": 9, "to": "+40700000001", "body": "Hi", "media": [] });
    house.post("/user/sms", &message).send().expect(422).wrong(&["media"]);
    let offer = json!({ "phone_number": "+40700000001", "nickname": "Desk" });
    let got = house.post("/user/phone-numbers/purchase", &offer).send().expect(422);
    let errors = json!({ "nickname": ["The nickname field is not known."] });
    assert_eq!(got.json, json!({ "message": "The nickname field is not known.", "errors": errors }));
    let offer = json!({ "phone_number": "40", "nickname": "Desk" });
    house.post("/user/phone-numbers/purchase", &offer).send().expect(422).wrong(&["phone_number", "nickname"]);
}

#[test]
fn a_flood_of_them_is_cut() {
    let mut house = House::default();
    let many: Map<String, Value> = (0..20_000).map(|at| (format!("{at:a>40}"), json!(1))).collect();
    let body = with(tool("look"), &Value::Object(many));
    let got = house.post("/user/tools", &body).send().expect(201);
    let named = got.header(IGNORED).expect("names");
    assert!(named.len() <= IGNORED_BYTES_MAX && named.ends_with(", \"...\""), "{named}");
    let got = strict(house.post("/user/tools", &body)).send().expect(422);
    assert_eq!(got.json["errors"].as_object().expect("errors").len(), UNKNOWN_MAX);
}

/// Sends each operation a valid body with one stray member, whatever else it takes.
#[test]
fn every_operation_names_a_stray_member_or_refuses_it() {
    let mut walked = 0;
    for route in ROUTES.iter().filter(|route| matches!(route.body, BodyKind::Json(..) | BodyKind::Document(_))) {
        let (mut house, places) = filled(House::default());
        let Some(sent) = valid(route.id, &mut house, &places) else { continue };
        let mut body: Value = serde_json::from_slice(&sent.bytes).expect("JSON");
        body[STRAY] = json!({ "a": 1 });
        let mut send = |strictly: bool| {
            let token = token(route, &house, &places);
            let call = house.call(route.method, &places.path(route.paths[0])).token(&token).json(&body);
            if strictly { strict(call).send() } else { call.send() }
        };
        let refused = send(true);
        assert_eq!(refused.status, 422, "{}: {}", route.id, refused.json);
        refused.wrong(&[STRAY]);
        let got = send(false);
        if route.strict {
            got.expect(422).wrong(&[STRAY]);
        } else if got.status < 300 {
            assert_eq!(got.header(IGNORED), Some("\"no_such_member\""), "{}", route.id);
        }
        walked += 1;
    }
    assert!(walked >= 30, "only {walked} operations were asked");
}

fn token(route: &Route, house: &House, places: &Places) -> String {
    match route.who {
        Who::Operator => house.operator.clone(),
        Who::Engine => places.engine.clone(),
        Who::User | Who::Visitor | Who::Anyone => house.key.clone(),
    }
}

/// Reads a resource, without the envelope.
fn read(house: &mut House, target: &str, token: &str) -> Value {
    let got = house.call(Method::Get, target).token(token).send().expect(200);
    if got.json["data"].is_object() { got.json["data"].clone() } else { got.json }
}

/// Sends a resource back as it was read, in strict mode; nothing but its time of change may differ after.
fn send_back(house: &mut House, target: &str, token: &str) -> Result<(), TestCaseError> {
    let before = read(house, target, token);
    let got = strict(house.put(target, &before).token(token)).send();
    prop_assert_eq!(got.status, 200, "{}: {} to {}", target, got.json, before);
    let mut after = read(house, target, token);
    if before.get("updated_at").is_some() {
        after["updated_at"] = before["updated_at"].clone();
    }
    prop_assert_eq!(after, before, "{}", target);
    Ok(())
}

#[test]
fn each_resource_may_be_sent_back_as_it_was_read() {
    let (mut house, places) = filled(House::default());
    let mut sent = 0;
    for route in ROUTES.iter().filter(|route| route.method == Method::Put) {
        let reads = |other: &&Route| other.method == Method::Get && other.paths[0] == route.paths[0];
        if !ROUTES.iter().any(|other| reads(&other)) {
            continue;
        }
        let token = token(route, &house, &places);
        send_back(&mut house, &places.path(route.paths[0]), &token).unwrap_or_else(|why| panic!("{}: {why}", route.id));
        sent += 1;
    }
    assert!(sent >= 9, "only {sent} operations were asked");
}

/// Draws resources of each kind that has a create and an update.
#[test]
fn any_resource_may_be_sent_back_as_it_was_read() {
    let kinds = [
        ("/user/assistant", "createAssistant"),
        ("/user/tools", "createTool"),
        ("/user/phone-numbers/sip-trunks", "createTrunk"),
        ("/user/knowledgebases", "createKnowledgebase"),
        ("/user/campaigns", "createCampaign"),
        ("/user/leads", "createLead"),
    ];
    let (mut house, places) = filled(House::default());
    let known = known(&mut house, &places);
    for (path, id) in kinds {
        let route = ROUTES.iter().find(|route| route.id == id).expect("an operation");
        let (BodyKind::Json(table, _), stored) = (route.body, std::cell::Cell::new(0)) else { panic!("{id}") };
        let drawn = strategy::body(table, &|what| known.get(&name(what)).cloned().unwrap_or_else(|| vec![1]));
        for_all(SENT_BACK, &drawn, |mut body| {
            let (mut house, places) = filled(House::default());
            if let Some(assistant) = body.get_mut("assistant_id") {
                *assistant = json!(places.id("/user/assistant"));
            }
            let got = strict(house.post(route.paths[0], &Value::Object(body))).send();
            if got.status < 300 {
                stored.set(stored.get() + 1);
                let key = house.key.clone();
                send_back(&mut house, &format!("{path}/{}", got.id()), &key)?;
            }
            Ok(())
        });
        assert!(stored.get() >= SENT_BACK / 8, "{id}: only {} drawn bodies were stored", stored.get());
    }
}

/// Returns ids of the catalogue, and of the account's resources, for references to name.
fn known(house: &mut House, places: &Places) -> BTreeMap<String, Vec<u64>> {
    let mut ids = |target: &str| -> Vec<u64> {
        let rows = house.get(target).expect(200).json;
        rows.as_array().expect("a list").iter().filter_map(|row| row["id"].as_u64()).collect()
    };
    let mut known = BTreeMap::from([
        (name(Ref::Language), ids("/user/assistants/languages")),
        (name(Ref::Voice), ids("/user/assistants/voices")),
        (name(Ref::LlmModel), ids("/user/assistants/models")),
        (name(Ref::MultimodalModel), ids("/user/assistants/models?type=multimodal")),
        (name(Ref::SynthesizerProvider), ids("/user/assistants/synthesizer-providers")),
        (name(Ref::TranscriberProvider), ids("/user/assistants/transcriber-providers")),
    ]);
    for (kind, path) in [
        (Kind::Assistant, "/user/assistant"),
        (Kind::Tool, "/user/tools"),
        (Kind::Number, "/user/phone-numbers/sip-trunks"),
        (Kind::Knowledgebase, "/user/knowledgebases"),
        (Kind::Campaign, "/user/campaign"),
        (Kind::Folder, "/user/folder"),
        (Kind::Label, "/user/label"),
    ] {
        known.insert(name(Ref::Row(kind)), vec![places.id(path)]);
    }
    known
}

fn name(what: Ref) -> String {
    format!("{what:?}")
}
