//! Lists of assistants, the catalogue that assistants draw on, and their webhook switches.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{House, assistant, trunk, with};

fn ids(list: &Value) -> Vec<u64> {
    list.as_array().expect("a list").iter().map(|entry| entry["id"].as_u64().expect("an id")).collect()
}

fn list(house: &mut House, path: &str) -> Vec<Value> {
    house.get(path).expect(200).json.as_array().expect("a bare array").clone()
}

#[test]
fn lists_are_oldest_first_and_filtered_by_type() {
    let mut house = House::default();
    for n in 0..12 {
        let direction = if n % 3 == 0 { "inbound" } else { "outbound" };
        house.make("/user/assistant", &with(assistant(), &json!({ "type": direction })));
    }
    let page = house.get("/user/assistants/get").expect(200).json;
    assert_eq!((ids(&page["data"]), &page["per_page"], &page["total"]), ((1..=10).collect(), &json!(10), &json!(12)));
    assert_eq!(page["data"][0], house.get("/user/assistant/1").json, "the whole stored form");
    let page = house.get("/user/assistants/get?type=inbound&per_page=2&page=2").expect(200).json;
    assert_eq!((ids(&page["data"]), &page["total"]), (vec![7, 10], &json!(4)));
    let all = house.get("/user/assistants").expect(200).json;
    assert_eq!((ids(&all), &all[0]), ((1..=12).collect(), &house.get("/user/assistant/1").json));
    let outbound = house.get("/user/assistants/outbound").expect(200).json;
    assert_eq!(ids(&outbound), [2, 3, 5, 6, 8, 9, 11, 12]);
    let names: Vec<_> = outbound[0].as_object().expect("an object").keys().map(String::as_str).collect();
    let mut want = [
        "id",
        "user_id",
        "name",
        "type",
        "mode",
        "status",
        "voice_id",
        "language_id",
        "timezone",
        "initial_message",
        "system_prompt",
        "variables",
        "webhook_url",
        "is_webhook_active",
        "created_at",
        "updated_at",
    ];
    want.sort_unstable();
    assert_eq!(names, want);
}

#[test]
fn models_come_by_type_and_fit_their_members() {
    let mut house = House::default();
    let models = list(&mut house, "/user/assistants/models");
    assert_eq!(models, list(&mut house, "/user/assistants/models?type=llm"));
    assert!(models.iter().all(|model| model["id"].is_u64() && model["name"].is_string()));
    let multimodal = list(&mut house, "/user/assistants/models?type=multimodal");
    assert_eq!(multimodal, list(&mut house, "/user/assistants/models?type=dualplex"));
    assert!(multimodal.iter().all(|model| model["code"].is_string()) && !multimodal.is_empty());
    for model in models {
        let body = with(assistant(), &json!({ "llm_model_id": model["id"] }));
        house.post("/user/assistant", &body).send().expect(201);
    }
}

#[test]
fn users_see_nothing_that_is_for_engines_alone() {
    let voice =
        ["accent", "age", "gender", "id", "language_id", "modes", "name", "preview_url", "synthesizer_provider_id"];
    let mut house = House::default();
    for (path, members) in [
        ("models", &["id", "name"][..]),
        ("models?type=multimodal", &["code", "id", "name"]),
        ("voices", &voice),
        ("languages", &["id", "iso_2", "name"]),
        ("synthesizer-providers", &["code", "id", "name"]),
        ("transcriber-providers", &["code", "id", "name"]),
    ] {
        let entries = list(&mut house, &format!("/user/assistants/{path}"));
        assert!(!entries.is_empty(), "{path}");
        for entry in entries {
            let names: Vec<_> = entry.as_object().expect("an object").keys().map(String::as_str).collect();
            assert_eq!(names, members, "{path}");
        }
    }
}

#[test]
fn voices_are_filtered_and_fit_their_modes() {
    let mut house = House::default();
    let all = list(&mut house, "/user/assistants/voices");
    let members =
        ["accent", "age", "gender", "id", "language_id", "modes", "name", "preview_url", "synthesizer_provider_id"];
    assert!(all.iter().all(|voice| voice.as_object().is_some_and(|voice| voice.keys().eq(members))));
    let has = |voice: &Value, mode: &str| voice["modes"].as_array().is_some_and(|modes| modes.contains(&json!(mode)));
    for mode in ["pipeline", "multimodal", "dualplex"] {
        let fits = list(&mut house, &format!("/user/assistants/voices?mode={mode}"));
        assert_eq!(fits, all.iter().filter(|voice| has(voice, mode)).cloned().collect::<Vec<_>>());
        let model = if mode == "pipeline" { "llm_model_id" } else { "multimodal_model_id" };
        let body = with(assistant(), &json!({ "mode": mode, "voice_id": fits[0]["id"], model: 1 }));
        house.post("/user/assistant", &body).send().expect(201);
    }
    let female = list(&mut house, "/user/assistants/voices?gender=female&mode=pipeline&language_id=28");
    assert!(!female.is_empty() && female.iter().all(|voice| voice["gender"] == "female" && has(voice, "pipeline")));
    assert!(female.iter().all(|voice| voice["language_id"] == 28 || voice["language_id"].is_null()));
    let searched = list(&mut house, "/user/assistants/voices?search=ALINA&synthesizer_provider_id=4");
    assert!(searched.iter().any(|voice| voice["name"] == "Alina"));
    assert_eq!(list(&mut house, "/user/assistants/voices?search=nobody%20at%20all"), Vec::<Value>::new());
}

#[test]
fn languages_and_providers_are_listed() {
    let mut house = House::default();
    let languages = list(&mut house, "/user/assistants/languages");
    assert!(languages.iter().all(|one| one.as_object().is_some_and(|one| one.keys().eq(["id", "iso_2", "name"]))));
    for path in ["/user/assistants/synthesizer-providers", "/user/assistants/transcriber-providers"] {
        let all = list(&mut house, path);
        assert!(all.iter().all(|one| one.as_object().is_some_and(|one| one.keys().eq(["code", "id", "name"]))));
        let some = list(&mut house, &format!("{path}?language_id=28"));
        assert!(!some.is_empty() && some.len() <= all.len() && some.iter().all(|one| all.contains(one)));
        house.get(&format!("{path}?language_id=x")).wrong(&["language_id"]);
    }
}

#[test]
fn numbers_for_assistants_tell_which_are_free() {
    let mut house = House::default();
    let offer = house.get("/user/phone-numbers/search").json["data"][0]["phone_number"].clone();
    let normal = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": offer }));
    let sip = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000002"));
    let caller = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" }));
    let holder = json!({ "type": "inbound", "phone_number_id": normal });
    house.make("/user/assistant", &with(assistant(), &holder));
    let shown = list(&mut house, "/user/assistants/phone-numbers");
    let want = json!({
        "id": normal, "phone_number": offer, "country_code": "US", "type_label": "Normal", "is_available": false,
    });
    assert_eq!(shown[0], want);
    let labels: Vec<_> = shown.iter().map(|number| (&number["type_label"], &number["is_available"])).collect();
    assert_eq!(labels[1..], [(&json!("SIP"), &json!(true)), (&json!("Caller ID"), &json!(true))]);
    assert_eq!(ids(&house.get("/user/assistants/phone-numbers?type=inbound").json), [sip]);
    assert_eq!(ids(&house.get("/user/assistants/phone-numbers?type=outbound").json), [normal, sip, caller]);
}

#[test]
fn webhooks_are_switched_on_and_off() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let url = "https://hook.example/in";
    let cases = [
        ("enable-inbound-webhook", "Webhook enabled successfully", json!([url, null, false])),
        ("enable-webhook", "Webhook enabled successfully", json!([url, url, true])),
        ("disable-inbound-webhook", "Inbound webhook disabled successfully", json!([null, url, true])),
        ("disable-webhook", "Webhook disabled successfully", json!([null, null, false])),
    ];
    for (switch, says, left) in cases {
        let body = json!({ "assistant_id": id, "webhook_url": url });
        let got = house.post(&format!("/user/assistants/{switch}"), &body).send().expect(200);
        assert_eq!(got.json, json!({ "message": says, "data": [] }));
        let stored = house.get(&format!("/user/assistant/{id}")).json;
        assert_eq!(json!([stored["inbound_webhook_url"], stored["webhook_url"], stored["is_webhook_active"]]), left);
    }
}

#[test]
fn webhooks_are_switched_by_a_path_that_names_the_assistant() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let other = house.make("/user/assistant", &assistant());
    let uuid = house.get(&format!("/user/assistant/{id}")).json["uuid"].as_str().expect("a uuid").to_owned();
    let url = "https://hook.example/in";
    let (on, both, off) = (json!([url, null, false]), json!([url, url, true]), json!([null, null, false]));
    let cases = [
        (Method::Post, format!("/user/assistant/{id}/enable-inbound-webhook"), "Webhook enabled", on.clone()),
        (Method::Post, format!("/user/assistants/{uuid}/webhook"), "Webhook enabled", both.clone()),
        (Method::Delete, format!("/user/assistants/{uuid}/webhook"), "Webhook disabled", on.clone()),
        (Method::Post, format!("/user/assistant/{id}/enable-webhook"), "Webhook enabled", both),
        (Method::Post, format!("/user/assistant/{id}/disable-webhook"), "Webhook disabled", on.clone()),
        (
            Method::Post,
            format!("/user/assistant/{uuid}/disable-inbound-webhook"),
            "Inbound webhook disabled",
            off.clone(),
        ),
        (Method::Post, format!("/user/assistants/{id}/inbound-webhook"), "Webhook enabled", on),
        (Method::Delete, format!("/user/assistants/{id}/inbound-webhook"), "Inbound webhook disabled", off),
    ];
    for (method, path, says, left) in cases {
        let sent = json!({ "webhook_url": url, "assistant_id": id });
        let call = house.call(method, &path);
        let call = if method == Method::Post { call.json(&sent) } else { call };
        let got = call.send().expect(200);
        assert_eq!(got.json, json!({ "message": format!("{says} successfully"), "data": [] }), "{path}");
        let stored = house.get(&format!("/user/assistant/{id}")).json;
        let shown = json!([stored["inbound_webhook_url"], stored["webhook_url"], stored["is_webhook_active"]]);
        assert_eq!(shown, left, "{path}");
    }
    let path = format!("/user/assistant/{id}/enable-webhook");
    house.post(&path, &json!({ "webhook_url": url })).send().expect(200);
    house.post(&path, &json!({ "webhook_url": url, "assistant_id": other })).send().wrong(&["assistant_id"]);
    house.post(&path, &json!({})).send().wrong(&["webhook_url"]);
    house.post("/user/assistant/99/enable-webhook", &json!({})).send().message(404, "Assistant not found");
}

#[test]
fn a_switch_names_what_is_missing_and_an_assistant_that_is_not_there() {
    let mut house = House::default();
    for switch in ["enable-inbound-webhook", "enable-webhook"] {
        let path = format!("/user/assistants/{switch}");
        let got = house.post(&path, &json!({})).send();
        got.wrong(&["assistant_id", "webhook_url"]);
        assert_eq!(got.json["message"], "The given data was invalid.");
        assert_eq!(got.json["errors"]["webhook_url"], json!(["The webhook url field is required."]));
        let body = json!({ "assistant_id": 9, "webhook_url": "https://a.example" });
        house.post(&path, &body).send().message(404, "Assistant not found");
        house.post(&path, &with(body, &json!({ "webhook_url": "a.example" }))).send().wrong(&["webhook_url"]);
    }
    for switch in ["disable-inbound-webhook", "disable-webhook"] {
        let path = format!("/user/assistants/{switch}");
        house.post(&path, &json!({})).send().wrong(&["assistant_id"]);
        house.post(&path, &json!({ "assistant_id": 9 })).send().message(404, "Assistant not found");
    }
}
