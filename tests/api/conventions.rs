//! docs/api.md, Conventions: tokens, bodies, errors, order of checks, conditional requests, headers.

use serde_json::{Value, json};
use switchboard_core::carrier::Carrier;
use switchboard_core::http::request::{Body, Method};
use switchboard_core::setup::Config;
use switchboard_tests::house::{House, assistant, campaign, lead, tool, trunk, with};

/// Sends a body exactly as written, without a content type.
fn raw(house: &mut House, method: Method, target: &str, body: &str) -> switchboard_tests::house::Got {
    house.call(method, target).body(body.as_bytes().to_vec()).send()
}

#[test]
fn user_paths_answer_below_api_as_well() {
    let mut house = House::default();
    let made = house.make("/api/user/tools", &tool("look"));
    for path in ["/user/me".to_owned(), format!("/user/tools/{made}"), "/user/assistants/voices?mode=dualplex".into()] {
        assert_eq!(house.get(&path).expect(200).bytes, house.get(&format!("/api{path}")).expect(200).bytes);
    }
}

#[test]
fn a_token_comes_as_bearer_whatever_the_case_and_only_so() {
    let mut house = House::default();
    let key = house.key.clone();
    for good in [format!("bearer {key}"), format!("BEARER {key}")] {
        house.call(Method::Get, "/user/me").without("authorization").header("authorization", &good).send().expect(200);
    }
    let flipped = format!("{}{}", &key[..key.len() - 1], if key.ends_with('0') { '1' } else { '0' });
    for bad in ["", "Bearer", "Bearer ", "Bearer nonsense", &key, &format!("Basic {key}"), &format!("Bearer {flipped}")]
    {
        let got = house.call(Method::Get, "/user/me").without("authorization").header("authorization", bad).send();
        got.message(401, "Unauthenticated.");
        assert_eq!(got.header("www-authenticate"), Some("Bearer"));
    }
    let twice = format!("Bearer {key}");
    house.call(Method::Get, "/user/me").header("authorization", &twice).send().expect(400);
}

#[test]
fn a_suspended_account_is_shut_out() {
    let mut house = House::default();
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "suspended": true })).token(&operator).send().expect(200);
    assert!(house.get("/user/me").expect(403).json["message"].is_string());
    let login = json!({ "email": "owner@localhost", "password": house.password });
    house.post("/user/login", &login).without("authorization").send().message(403, "This account is suspended.");
    house.put("/admin/accounts/1", &json!({ "suspended": false })).token(&operator).send().expect(200);
    house.get("/user/me").expect(200);
}

#[test]
fn malformed_json_is_told_where() {
    let mut house = House::default();
    let nested = |levels: usize| format!("{}{}", "{\"a\":".repeat(levels - 1) + "{}", "}".repeat(levels - 1));
    let bodies = [
        ("{", "line 1 column 1"),
        ("{\n \"name\": }", "line 2 column 10"),
        ("{\"name\":\"a\",\n\"name\":\"b\"}", "line 2 column"),
        ("{\"x\":{\"y\":1,\"y\":1}}", "line 1 column"),
        ("{} {}", "line 1 column 4"),
        ("{\"name\": 01}", "line 1 column"),
        ("{'name': 1}", "line 1 column 2"),
        (&nested(33), "line 1 column"),
    ];
    for (body, place) in bodies {
        let got = raw(&mut house, Method::Post, "/user/api-keys", body).expect(400);
        let says = got.json["message"].as_str().expect("a message");
        assert!(says.contains(place) && got.json.as_object().map(serde_json::Map::len) == Some(1), "{body}: {says}");
    }
    house.call(Method::Post, "/user/api-keys").body(b"{\"name\":\"\xff\"}".to_vec()).send().expect(400);
    raw(&mut house, Method::Post, "/user/api-keys", &nested(32)).wrong(&["name"]);
}

#[test]
fn a_body_is_an_object_and_no_body_an_empty_one() {
    let mut house = House::default();
    for body in ["[]", "1", "\"x\"", "null", "true", "[{\"name\":\"x\"}]"] {
        let got = raw(&mut house, Method::Post, "/user/api-keys", body).expect(422);
        assert!(got.json["message"].is_string() && got.json.get("errors").is_none(), "{body}");
    }
    house.call(Method::Post, "/user/api-keys").send().wrong(&["name"]);
    house.call(Method::Post, "/user/api-keys").raw(Body::Full(Vec::new())).send().wrong(&["name"]);
    house.post("/user/api-keys", &json!({ "name": "x", "nobody": { "knows": ["this"] } })).send().expect(201);
}

#[test]
fn a_body_is_json_by_its_type_or_without_one() {
    let mut house = House::default();
    let cases = [
        (None, 201),
        (Some("application/json"), 201),
        (Some("Application/JSON; charset=utf-8"), 201),
        (Some("text/plain"), 415),
        (Some("application/x-www-form-urlencoded"), 415),
        (Some("multipart/form-data; boundary=x"), 415),
    ];
    for (media, status) in cases {
        let call = house.call(Method::Post, "/user/api-keys").body(b"{\"name\":\"x\"}".to_vec());
        let call = if let Some(media) = media { call.header("content-type", media) } else { call };
        let got = call.send();
        assert_eq!(got.status, status, "{media:?}");
        assert!(got.json["message"].is_string(), "{media:?}");
    }
    // Without a body, its type does not matter.
    house.call(Method::Delete, "/user/tools/5").header("content-type", "text/plain").send().expect(404);
}

#[test]
fn a_body_too_large_or_cut_short_stores_nothing() {
    let mut house = House::default();
    let before = house.store.rows().clone();
    let large = format!("{{\"name\":\"x\",\"pad\":\"{}\"}}", "x".repeat(1 << 20));
    raw(&mut house, Method::Post, "/user/api-keys", &large).expect(413);
    house.call(Method::Post, "/user/api-keys").raw(Body::TooLarge).send().expect(413);
    house.call(Method::Post, "/user/api-keys").raw(Body::Cut).send().expect(400);
    let announced = |length| (Body::Pending, length);
    for (path, (body, length), status) in [
        ("/user/api-keys", announced("1048577"), 413),
        ("/user/knowledgebases/1/documents", announced("99999999"), 404),
    ] {
        let got = house.call(Method::Post, path).header("content-length", length).raw(body).send();
        assert_eq!(got.status, status, "{path}");
    }
    assert!(*house.store.rows() == before);
    let fits = format!("{{\"name\":\"x\",\"pad\":\"{}\"}}", "x".repeat((1 << 20) - 21));
    assert_eq!(fits.len(), 1 << 20);
    raw(&mut house, Method::Post, "/user/api-keys", &fits).expect(201);
}

#[test]
fn a_word_that_does_not_fit_is_told_the_valid_ones() {
    let mut house = House::default();
    let mut errors = |changes: Value| {
        house.post("/user/assistant", &with(assistant(), &changes)).send().expect(422).json["errors"].take()
    };
    let words = errors(json!({ "type": "sideways", "tools": [{ "type": "fly" }] }));
    assert_eq!(words["type"], json!(["The selected type is invalid: inbound or outbound."]));
    let tools = "The selected tools.0.type is invalid: call_transfer, warm_call_transfer, \
        assistant_transfer, end_call, dtmf_input, collect_keypad or calendar_integration.";
    assert_eq!(words["tools.0.type"], json!([tools]));
    let ids = errors(json!({ "language_id": 999_999 }));
    assert_eq!(ids["language_id"], json!(["The selected language id is invalid."]), "ids are not listed");
}

#[test]
fn numbers_and_booleans_may_come_as_text() {
    let mut house = House::default();
    let mut judge = |field: &str, value: &Value| {
        let got = house.post("/user/assistant", &with(assistant(), &json!({ field: value }))).send();
        if got.status == 422 {
            got.wrong(&[field]);
        }
        got.status == 201
    };
    for good in [json!(60), json!("60"), json!(60.0), json!(6e1)] {
        assert!(judge("max_duration", &good), "{good}");
    }
    for bad in [json!(" 60"), json!("+60"), json!("060"), json!("60 "), json!("0x3c"), json!(60.5), json!(true)] {
        assert!(!judge("max_duration", &bad), "{bad}");
    }
    for good in [json!(0.5), json!("0.5"), json!("1"), json!("5e-1"), json!(1)] {
        assert!(judge("voice_stability", &good), "{good}");
    }
    for bad in [json!(".5"), json!("0.5 "), json!("00.5"), json!("1."), json!("NaN"), json!(true)] {
        assert!(!judge("voice_stability", &bad), "{bad}");
    }
    for good in [json!(true), json!(0), json!(1), json!("0"), json!("1")] {
        assert!(judge("record", &good), "{good}");
    }
    for bad in [json!("true"), json!("yes"), json!(2), json!("01"), json!([])] {
        assert!(!judge("record", &bad), "{bad}");
    }
    for bad in [json!(5), json!(true), json!(["x"])] {
        assert!(!judge("system_prompt", &bad), "{bad}");
    }
    for absent in ["max_duration", "voice_stability", "record", "voice_mail_message", "tool_ids", "variables"] {
        assert!(judge(absent, &Value::Null), "{absent}");
    }
    for absent in ["voice_mail_message", "reengagement_prompt", "ambient_sound", "webhook_url"] {
        assert!(judge(absent, &json!("")), "{absent}");
    }
}

#[test]
fn every_failing_field_is_told_at_once_in_the_order_of_its_table() {
    let mut house = House::default();
    let body = json!({ "post_call_schema": [{ "name": "Ab" }], "mode": "x", "name": "", "tools": [{ "type": "end" }] });
    let got = house.post("/user/assistant", &body).send();
    got.wrong(&[
        "name",
        "voice_id",
        "language_id",
        "type",
        "mode",
        "timezone",
        "initial_message",
        "system_prompt",
        "tools.0.type",
        "post_call_schema.0.name",
        "post_call_schema.0.type",
        "post_call_schema.0.description",
    ]);
    assert_eq!(got.json["errors"]["voice_id"], json!(["The voice id field is required."]));
    assert_eq!(got.json["errors"]["post_call_schema.0.name"].as_array().map(Vec::len), Some(2), "both rules");
    let text = String::from_utf8(got.bytes).expect("text");
    let places: Vec<_> =
        ["\"name\"", "\"voice_id\"", "\"mode\"", "\"tools.0", "\"post_call_schema.0.name", "0.description"]
            .map(|name| text.find(name).expect(name))
            .into();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn what_an_error_says_first_depends_on_the_operation() {
    let mut house = House::default();
    let held = house.make("/user/assistant", &assistant());
    let campaign_id = house.make("/user/campaigns", &campaign(held));
    let tool_id = house.make("/user/tools", &tool("look"));
    let lead_id = house.make("/user/leads", &lead(campaign_id, "+40700000001"));
    let trunk_id = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000002"));
    let (failed, given) = ("Validation failed", "The given data was invalid.");
    let name = "The name field must be a string.";
    let cases = [
        (Method::Post, "/user/assistant".to_owned(), "name", failed),
        (Method::Put, format!("/user/assistant/{held}"), "name", failed),
        (Method::Put, format!("/user/tools/{tool_id}"), "name", failed),
        (Method::Post, "/user/leads".into(), "phone_number", failed),
        (Method::Put, format!("/user/leads/{lead_id}"), "phone_number", failed),
        (Method::Post, "/user/assistants/enable-inbound-webhook".into(), "webhook_url", given),
        (Method::Post, "/user/assistants/disable-inbound-webhook".into(), "assistant_id", given),
        (Method::Post, "/user/assistants/enable-webhook".into(), "webhook_url", given),
        (Method::Post, "/user/assistants/disable-webhook".into(), "assistant_id", given),
        (Method::Post, "/user/campaigns".into(), "name", given),
        (Method::Put, format!("/user/campaigns/{campaign_id}"), "name", given),
        (Method::Post, "/user/campaigns/update-status".into(), "action", given),
        (Method::Post, "/user/phone-numbers/sip-trunks".into(), "sip_address", given),
        (Method::Put, format!("/user/phone-numbers/sip-trunks/{trunk_id}"), "sip_address", given),
        (Method::Post, "/user/api-keys".into(), "name", name),
        (Method::Post, "/user/knowledgebases".into(), "name", name),
    ];
    for (method, path, field, says) in cases {
        let got = house.call(method, &path).json(&json!({ field: [5] })).send().expect(422);
        assert_eq!(got.json["message"], says, "{path}");
        assert!(got.json["errors"][field].is_array(), "{path}: {}", got.json);
    }
    let got = house.get("/user/calls?per_page=0").expect(422);
    assert_eq!(got.json["message"], got.json["errors"]["per_page"][0]);
}

#[test]
fn checks_come_in_their_order() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let own = format!("/user/assistant/{id}");
    let (stale, bad) = (Some("\"x\""), Some("{"));
    let (wrong, good) = (Some("{\"name\":5}"), Some("{\"name\":\"B\"}"));
    let cases = [
        ("a method before a token", Method::Post, own.as_str(), false, bad, stale, 405),
        ("a token before a resource", Method::Put, "/user/assistant/9", false, bad, stale, 401),
        ("a resource before a body", Method::Put, "/user/assistant/9", true, bad, stale, 404),
        ("a body before its fields", Method::Put, &own, true, bad, stale, 400),
        ("fields before If-Match", Method::Put, &own, true, wrong, stale, 422),
        ("If-Match before the change", Method::Put, &own, true, good, stale, 412),
        ("all good", Method::Put, &own, true, good, None, 200),
        ("fields before the assistant they name", Method::Post, "/user/make_call", true, wrong, None, 422),
    ];
    for (what, method, path, token, body, tag, status) in cases {
        let call = house.call(method, path);
        let call = if token { call } else { call.without("authorization") };
        let call = if let Some(body) = body { call.body(body.as_bytes().to_vec()) } else { call };
        let call = if let Some(tag) = tag { call.header("if-match", tag) } else { call };
        assert_eq!(call.send().status, status, "{what}");
    }
    let call = house.make_call(id);
    let running = format!("/user/calls/{call}");
    house.call(Method::Delete, &running).header("if-match", "\"x\"").send().expect(412);
    house.delete(&running).expect(409);
}

#[test]
fn what_is_wrong_in_a_query_is_told_by_parameter() {
    let mut house = House::default();
    let cases = [
        ("/user/assistants/get?per_page=0", "per_page"),
        ("/user/assistants/get?per_page=101", "per_page"),
        ("/user/assistants/get?page=0", "page"),
        ("/user/assistants/get?page=x", "page"),
        ("/user/assistants/get?type=web", "type"),
        ("/user/assistants/models?type=tts", "type"),
        ("/user/assistants/voices?gender=loud", "gender"),
        ("/user/calls?status=created", "status"),
        ("/user/calls?type=phone", "type"),
        ("/user/calls?assistant_id=x", "assistant_id"),
        ("/user/calls?date_from=2026-02-30", "date_from"),
        ("/user/calls?date_from=2026-1-1", "date_from"),
        ("/user/calls?date_from=2026-02-02&date_to=2026-02-01", "date_to"),
        ("/user/leads?status=initiated", "status"),
        ("/user/leads?date_to=tomorrow", "date_to"),
        ("/user/phone-numbers/search?country_code=FR", "country_code"),
        ("/user/phone-numbers/search?contains=12345678901", "contains"),
        ("/user/phone-numbers/search?contains=12a", "contains"),
    ];
    for (target, field) in cases {
        let got = house.get(target);
        got.wrong(&[field]);
        assert_eq!(got.json["message"], got.json["errors"][field][0], "{target}");
    }
    for good in [
        "/user/calls?nobody=knows&per_page=5",
        "/user/calls?per_page=0&per_page=5",
        "/user/calls?status=&date_from=&page=",
        "/user/calls?date_from=2026-02-01&date_to=2026-02-01",
        "/user/calls?assistant_id=4000000&campaign_id=8589934593",
        "/user/leads?campaign_id=4000000",
    ] {
        let got = house.get(good).expect(200);
        assert_eq!(got.json["total"], 0, "{good}");
    }
    house.get("/user/calls?status=%ff").expect(400);
}

#[test]
fn a_carrier_failure_has_the_form_of_its_operation() {
    let twilio = switchboard_core::carrier::twilio::Twilio {
        base_url: "https://carrier.test".into(),
        account_sid: "AC1".into(),
        auth_token: switchboard_core::record::Secret("t".into()),
        number_price_cents: 115,
    };
    let mut house = House::with(Config { carrier: Carrier::Twilio(twilio), ..Config::default() });
    assert!(house.get("/user/phone-numbers/search").expect(502).json["error"].is_string());
}
