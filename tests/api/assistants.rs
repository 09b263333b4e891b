//! Assistants: creating, listing, changing and deleting them, and the catalogue that they draw on.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{Got, House, assistant, campaign, tool, with};

const VOICE: &str = "The selected voice is not compatible with the chosen engine type.";
const FUNCTION_CALL: &str = "Only function_call mode is available for multimodal assistants.";
const INTERRUPTIONS: &str = "Interruptions cannot be disabled in multimodal or dualplex mode.";
const REQUIRED: &str = "The llm model id field is required.";
const MULTIMODAL_REQUIRED: &str = "The multimodal model id field is required.";

/// A voice for the `multimodal` mode alone.
const MULTIMODAL_VOICE: u64 = 347;

fn multimodal() -> Value {
    let changes =
        json!({ "mode": "multimodal", "voice_id": MULTIMODAL_VOICE, "llm_model_id": null, "multimodal_model_id": 1 });
    with(assistant(), &changes)
}

pub fn create(house: &mut House, changes: &Value) -> Got {
    house.post("/user/assistant", &with(assistant(), changes)).send()
}

pub fn update(house: &mut House, id: u64, changes: &Value) -> Got {
    house.put(&format!("/user/assistant/{id}"), changes).send()
}

pub fn read(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/assistant/{id}")).expect(200).json
}

#[test]
fn one_is_created_inactive() {
    let mut house = House::default();
    let got = create(&mut house, &json!({})).expect(201);
    let data = json!({ "id": 1, "name": "Anna", "status": "inactive", "type": "outbound", "mode": "pipeline" });
    assert_eq!(got.json, json!({ "message": "Assistant created successfully", "data": data }));
}

#[test]
fn every_member_of_the_stored_form_is_there_with_its_default() {
    let mut house = House::default();
    let id = create(&mut house, &json!({})).id();
    let mut got = read(&mut house, id);
    let uuid = got["uuid"].as_str().expect("a uuid").to_owned();
    assert_eq!((uuid.len(), uuid.matches('-').count()), (36, 4));
    got["uuid"] = json!("");
    let at = house.now.iso();
    assert!(at.ends_with(".000000Z"));
    let widget = json!({
        "enabled": false, "allowed_origins": [], "variables": {}, "tool_ids": [], "voice": false,
        "daily_cost_max": null, "title": null, "color": null, "position": "right", "theme": "auto",
    });
    let lists = json!({ "neutral": [], "negative": [], "positive": [], "question": [] });
    let want = json!({
        "id": 1, "user_id": 1, "phone_number_id": null, "engine_id": null, "synthesizer_id": null,
        "transcriber_id": null, "voice_id": 1, "instance_id": 1, "language_id": 1, "flows_platform_id": null,
        "name": "Anna", "system_prompt": "You are kind.", "initial_message": "Hello",
        "timezone": "Europe/Bucharest", "uuid": "", "language": "English (US)", "type": "outbound",
        "status": "inactive", "mode": "pipeline", "variables": {}, "post_call_evaluation": true,
        "is_webhook_active": false, "record": false, "allow_interruptions": true,
        "enable_noise_cancellation": true, "wait_for_customer": false, "send_webhook_only_on_completed": true,
        "include_recording_in_webhook": true, "fillers": 0, "end_call_on_voicemail": 1, "llm_temperature": "0.10",
        "voice_stability": "0.70", "voice_similarity": "0.50", "speech_speed": "1.00",
        "ambient_sound_volume": "0.50", "endpoint_sensitivity": 0.5, "interrupt_sensitivity": 0.5,
        "max_duration": 600, "max_silence_duration": 40, "reengagement_interval": 30, "min_interrupt_words": null,
        "endpoint_type": "vad", "ambient_sound": "off", "transcriber_provider_id": got["transcriber_provider_id"],
        "synthesizer_provider_id": got["synthesizer_provider_id"], "llm_model_id": 1, "multimodal_model_id": null,
        "knowledgebase_id": null, "knowledgebase_mode": "function_call", "webhook_url": null,
        "inbound_webhook_url": null, "post_call_schema": [], "tools": [], "filler_config": lists,
        "widget_settings": widget, "inbound_webhook_events": ["call.completed"], "created_at": at, "updated_at": at, "deleted_at": null, "tool_ids": [],
        "secondary_language_ids": [], "chat_llm_fallback_id": null, "turn_detection_threshold": null,
        "tts_emotion_enabled": true, "max_initial_silence_duration": null, "ringing_time": 30,
        "reengagement_prompt": null, "voice_mail_message": null, "folder_id": null, "label_ids": [],
        "activates_on_use": true, "conversation_ended_webhook_url": null, "conversation_inactivity_timeout": 30,
        "conversation_ended_retrigger": false,
    });
    assert_eq!(got, want);
}

#[test]
fn all_that_was_set_can_be_read() {
    let mut house = House::default();
    let tool_id = house.make("/user/tools", &tool("look"));
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let set = json!({
        "secondary_language_ids": [2, 3], "knowledgebase_id": base, "knowledgebase_mode": "prompt",
        "tool_ids": [tool_id], "tts_emotion_enabled": false, "record": true, "enable_noise_cancellation": false,
        "wait_for_customer": true, "max_duration": 20, "max_silence_duration": 360,
        "max_initial_silence_duration": 120, "ringing_time": 60, "reengagement_interval": 7,
        "reengagement_prompt": "Still there?", "voice_mail_message": "Call back.", "endpoint_type": "ai",
        "endpoint_sensitivity": 5.0, "interrupt_sensitivity": 0.25, "min_interrupt_words": 10,
        "ambient_sound": "crowded_room", "is_webhook_active": true, "webhook_url": "https://hook.example/x",
        "send_webhook_only_on_completed": false, "include_recording_in_webhook": false,
        "post_call_evaluation": false, "allow_interruptions": false, "synthesizer_provider_id": 1,
        "transcriber_provider_id": 1, "variables": { "shop": "Anna's", "floor": 2, "open": true },
        "post_call_schema": [{ "name": "goal_1", "type": "bool", "description": "Reached?" }],
        "tools": [{ "type": "end_call", "description": "At the end" }, {
            "type": "call_transfer", "phone_number": "the desk", "custom": true, "warm_transfer": false,
        }],
    });
    let id = create(&mut house, &set).expect(201).id();
    let got = read(&mut house, id);
    for (name, value) in set.as_object().expect("an object") {
        assert_eq!(&got[name], value, "{name}");
    }
    let id =
        create(&mut house, &json!({ "fillers": true, "end_call_on_voicemail": false, "speech_speed": 1.199 })).id();
    let got = read(&mut house, id);
    assert_eq!((&got["fillers"], &got["end_call_on_voicemail"]), (&json!(1), &json!(0)));
    assert_eq!(got["speech_speed"], "1.20", "rounded once the range was checked");
}

#[test]
fn what_a_creation_must_keep_to() {
    let long = "x".repeat(201);
    let many = |n: usize| json!((0..n).map(|n| (format!("v{n}"), n)).collect::<std::collections::BTreeMap<_, _>>());
    let extract = |name: &str| json!({ "name": name, "type": "string", "description": "abc" });
    let tools = |n: usize| json!(vec![json!({ "type": "end_call" }); n]);
    let cases = [
        (json!({ "name": "x".repeat(256) }), "name"),
        (json!({ "initial_message": long }), "initial_message"),
        (json!({ "type": "web" }), "type"),
        (json!({ "mode": "simplex" }), "mode"),
        (json!({ "timezone": "UTC" }), "timezone"),
        (json!({ "timezone": "Mars/Olympus" }), "timezone"),
        (json!({ "voice_id": 99999 }), "voice_id"),
        (json!({ "voice_id": MULTIMODAL_VOICE }), "voice_id"),
        (json!({ "language_id": 99999 }), "language_id"),
        (json!({ "secondary_language_ids": [1, 99999] }), "secondary_language_ids.1"),
        (json!({ "llm_model_id": 99999 }), "llm_model_id"),
        (json!({ "llm_model_id": null }), "llm_model_id"),
        (json!({ "chat_llm_fallback_id": 99999 }), "chat_llm_fallback_id"),
        (json!({ "multimodal_model_id": 99999 }), "multimodal_model_id"),
        (json!({ "synthesizer_provider_id": 99999 }), "synthesizer_provider_id"),
        (json!({ "transcriber_provider_id": 99999 }), "transcriber_provider_id"),
        (json!({ "knowledgebase_id": 5 }), "knowledgebase_id"),
        (json!({ "phone_number_id": 5 }), "phone_number_id"),
        (json!({ "tool_ids": [5] }), "tool_ids.0"),
        (json!({ "is_webhook_active": true }), "webhook_url"),
        (json!({ "webhook_url": "ftp://a" }), "webhook_url"),
        (json!({ "webhook_url": format!("http://a/{}", "x".repeat(2_040)) }), "webhook_url"),
        (json!({ "variables": { "a": [null] } }), "variables.a"),
        (json!({ "variables": { "a b": 1 } }), "variables.a b"),
        (json!({ "variables": many(101) }), "variables"),
        (json!({ "tools": tools(51) }), "tools"),
        (json!({ "tools": [{ "type": "call_transfer" }] }), "tools.0.phone_number"),
        (json!({ "tools": [{ "type": "call_transfer", "phone_number": "0700" }] }), "tools.0.phone_number"),
        (json!({ "tools": [{ "type": "call_transfer", "custom": true }] }), "tools.0.phone_number"),
        (
            json!({ "tools": [{ "type": "call_transfer", "custom": false, "phone_number": "desk" }] }),
            "tools.0.phone_number",
        ),
        (
            json!({ "tools": [{ "type": "call_transfer", "custom": true, "phone_number": "x".repeat(65) }] }),
            "tools.0.phone_number",
        ),
        (
            json!({ "tools": [{ "type": "call_transfer", "phone_number": "x", "custom": true, "timezone": "UTC" }] }),
            "tools.0.timezone",
        ),
        (
            json!({ "tools": [{ "type": "calendar_integration", "calendar_event_slug": "x" }] }),
            "tools.0.calendar_api_key",
        ),
        (json!({ "tools": [{ "description": "x" }] }), "tools.0.type"),
        (json!({ "post_call_schema": [extract("ab")] }), "post_call_schema.0.name"),
        (json!({ "post_call_schema": [extract("abc"), extract("abc")] }), "post_call_schema.1.name"),
        (json!({ "post_call_schema": [extract("seventeen_letters")] }), "post_call_schema.0.name"),
    ];
    let mut house = House::default();
    for (changes, field) in cases {
        let got = create(&mut house, &changes);
        got.wrong(&[field]);
        assert_eq!(got.json["message"], "Validation failed", "{changes}");
    }
    assert_eq!(house.get("/user/assistants").json, json!([]));
    for good in [
        json!({ "name": "ü".repeat(255), "initial_message": "語".repeat(200) }),
        json!({ "variables": many(100), "tools": tools(50), "timezone": "Etc/UTC" }),
        json!({ "webhook_url": format!("http://a/{}", "x".repeat(2_039)) }),
        json!({ "tools": [{ "type": "call_transfer", "phone_number": "+40700000001", "timezone": "Asia/Kolkata" }] }),
        json!({ "tools": [{ "type": "call_transfer", "phone_number": "ü".repeat(64), "custom": true }] }),
        json!({ "tools": [{ "type": "call_transfer", "phone_number": "{{desk}}", "custom": true }] }),
    ] {
        create(&mut house, &good).expect(201);
    }
}

#[test]
fn each_mode_has_its_own_rules() {
    let dualplex = json!({ "mode": "dualplex", "voice_id": 1 });
    let cases = [
        (json!({ "voice_id": 1 }), "voice_id", VOICE),
        (json!({ "multimodal_model_id": null }), "multimodal_model_id", MULTIMODAL_REQUIRED),
        (json!({ "knowledgebase_mode": "prompt" }), "knowledgebase_mode", FUNCTION_CALL),
        (json!({ "allow_interruptions": false }), "allow_interruptions", INTERRUPTIONS),
        (json!({ "mode": "pipeline", "voice_id": 1 }), "llm_model_id", REQUIRED),
    ];
    let mut house = House::default();
    for (changes, field, says) in cases {
        let got = house.post("/user/assistant", &with(multimodal(), &changes)).send();
        got.wrong(&[field]);
        assert_eq!(got.json["errors"][field], json!([says]));
    }
    house.post("/user/assistant", &multimodal()).send().expect(201);
    house.post("/user/assistant", &with(multimodal(), &dualplex)).send().expect(201);
}

#[test]
fn what_applies_to_other_modes_is_checked_then_dropped() {
    let mut house = House::default();
    let foreign = json!({ "fillers": true, "transcriber_provider_id": 1, "llm_model_id": 1 });
    let id = house.make("/user/assistant", &with(multimodal(), &foreign));
    let got = read(&mut house, id);
    assert_eq!((&got["fillers"], &got["llm_model_id"]), (&json!(0), &Value::Null));
    assert_eq!(got["transcriber_provider_id"], Value::Null);
    house
        .post("/user/assistant", &with(multimodal(), &json!({ "llm_model_id": 99999 })))
        .send()
        .wrong(&["llm_model_id"]);
    let foreign = json!({ "multimodal_model_id": 1, "chat_llm_fallback_id": 1, "turn_detection_threshold": 0.5 });
    let id = create(&mut house, &foreign).expect(201).id();
    let got = read(&mut house, id);
    for name in foreign.as_object().expect("an object").keys() {
        assert_eq!(got[name], Value::Null, "{name}");
    }
    create(&mut house, &json!({ "turn_detection_threshold": 2 })).wrong(&["turn_detection_threshold"]);
}

#[test]
fn a_number_serves_one_inbound_assistant_and_never_as_a_caller_id() {
    let mut house = House::default();
    let offer = house.get("/user/phone-numbers/search").json["data"][0]["phone_number"].clone();
    let number = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": offer }));
    let caller = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" }));
    let inbound = |number: u64| json!({ "type": "inbound", "phone_number_id": number });
    create(&mut house, &inbound(caller)).wrong(&["phone_number_id"]);
    let holder = create(&mut house, &inbound(number)).expect(201).id();
    create(&mut house, &inbound(number)).wrong(&["phone_number_id"]);
    create(&mut house, &json!({ "phone_number_id": number })).expect(201);
    let outbound = create(&mut house, &json!({ "phone_number_id": caller })).expect(201).id();
    update(&mut house, outbound, &json!({ "type": "inbound" })).wrong(&["phone_number_id"]);
    update(&mut house, outbound, &inbound(number)).wrong(&["phone_number_id"]);
    update(&mut house, holder, &json!({ "name": "B", "phone_number_id": number })).expect(200);
    house.delete(&format!("/user/assistant/{holder}")).expect(200);
    update(&mut house, outbound, &inbound(number)).expect(200);
}

#[test]
fn a_calendar_key_is_shown_masked_and_kept() {
    let mut house = House::default();
    let calendar =
        |key: &str| json!([{ "type": "calendar_integration", "calcom_api_key": key, "calcom_event_slug": "x" }]);
    let id = create(&mut house, &json!({ "tools": calendar("cal_live_secret_wxyz") })).expect(201).id();
    let shown = read(&mut house, id)["tools"].clone();
    let masked = json!([{
        "type": "calendar_integration", "calendar_api_key": "****wxyz", "calendar_event_slug": "x",
        "calcom_endpoint": "us", "calcom_booking_fields": [],
    }]);
    assert_eq!(shown, masked);
    update(&mut house, id, &json!({ "tools": shown, "name": "B" })).expect(200);
    let kept = house.store.rows().values().any(|row| String::from_utf8_lossy(row).contains("cal_live_secret_wxyz"));
    assert!(kept && read(&mut house, id)["tools"] == masked);
    update(&mut house, id, &json!({ "tools": calendar("****abcd") })).wrong(&["tools.0.calendar_api_key"]);
    update(&mut house, id, &json!({ "tools": calendar("short") })).expect(200);
    assert_eq!(read(&mut house, id)["tools"][0]["calendar_api_key"], "****");
}

#[test]
fn an_update_changes_what_it_supplies() {
    let mut house = House::default();
    let id = create(&mut house, &json!({ "record": true, "variables": { "a": 1 } })).id();
    let before = read(&mut house, id);
    house.now = house.now.plus_seconds(5);
    let got =
        update(&mut house, id, &json!({ "name": "Bea", "status": "active", "variables": { "b": 2 } })).expect(200);
    let data = json!({ "id": id, "name": "Bea", "status": "active", "type": "outbound", "mode": "pipeline" });
    assert_eq!(got.json, json!({ "message": "Assistant updated successfully", "data": data }));
    let changes = json!({
        "name": "Bea", "status": "active", "variables": { "b": 2 }, "updated_at": house.now.iso(), "activates_on_use": false,
    });
    let mut want = before;
    want.as_object_mut().expect("an object").extend(changes.as_object().expect("an object").clone());
    assert_eq!(read(&mut house, id), want, "nothing else changed");
    house
        .call(Method::Patch, &format!("/user/assistants/{id}"))
        .json(&json!({ "status": "inactive" }))
        .send()
        .expect(200);
    assert_eq!(read(&mut house, id)["status"], "inactive");
    update(&mut house, id, &json!({})).expect(200);
    update(&mut house, id, &json!({ "status": "deleted" })).wrong(&["status"]);
}

#[test]
fn null_clears_some_members_and_is_wrong_for_the_others() {
    let set = json!({
        "min_interrupt_words": 3, "webhook_url": "https://a.example", "reengagement_prompt": "Still there?",
        "voice_mail_message": "Call back.", "max_initial_silence_duration": 20,
    });
    let mut house = House::default();
    let id = create(&mut house, &set).expect(201).id();
    let clears = [
        "chat_llm_fallback_id",
        "turn_detection_threshold",
        "knowledgebase_id",
        "phone_number_id",
        "synthesizer_provider_id",
        "transcriber_provider_id",
        "max_initial_silence_duration",
        "reengagement_prompt",
        "voice_mail_message",
        "min_interrupt_words",
        "webhook_url",
    ];
    for name in clears {
        update(&mut house, id, &json!({ name: null })).expect(200);
    }
    let got = read(&mut house, id);
    for name in set.as_object().expect("an object").keys() {
        assert_eq!(got[name], Value::Null, "{name}");
    }
    let before = read(&mut house, id);
    for name in [
        "name",
        "voice_id",
        "type",
        "status",
        "tools",
        "tool_ids",
        "variables",
        "record",
        "max_duration",
        "llm_model_id",
    ] {
        update(&mut house, id, &json!({ name: null })).wrong(&[name]);
    }
    for name in ["name", "system_prompt", "timezone"] {
        update(&mut house, id, &json!({ name: "" })).wrong(&[name]);
    }
    assert_eq!(read(&mut house, id), before);
}

#[test]
fn an_update_leaves_nothing_that_a_creation_would_refuse() {
    let mut house = House::default();
    let id = create(&mut house, &json!({ "is_webhook_active": true, "webhook_url": "https://a.example" })).id();
    update(&mut house, id, &json!({ "webhook_url": null })).wrong(&["webhook_url"]);
    update(&mut house, id, &json!({ "webhook_url": null, "is_webhook_active": false })).expect(200);
    update(&mut house, id, &json!({ "is_webhook_active": true })).wrong(&["webhook_url"]);
    update(&mut house, id, &json!({ "mode": "multimodal" })).wrong(&["multimodal_model_id", "voice_id"]);
    update(&mut house, id, &json!({ "voice_id": MULTIMODAL_VOICE })).wrong(&["voice_id"]);
}

#[test]
fn a_new_mode_drops_what_only_the_old_one_knows() {
    let mut house = House::default();
    let set = json!({
        "fillers": true, "transcriber_provider_id": 1, "allow_interruptions": false, "knowledgebase_mode": "prompt",
    });
    let id = create(&mut house, &set).expect(201).id();
    let multimodal = json!({ "mode": "multimodal", "voice_id": MULTIMODAL_VOICE, "multimodal_model_id": 1 });
    update(&mut house, id, &multimodal).expect(200);
    let got = read(&mut house, id);
    let dropped = json!([got["fillers"], got["transcriber_provider_id"], got["llm_model_id"]]);
    assert_eq!(dropped, json!([0, null, null]));
    assert_eq!((&got["allow_interruptions"], &got["knowledgebase_mode"]), (&json!(true), &json!("function_call")));
    update(&mut house, id, &json!({ "turn_detection_threshold": 0.5, "chat_llm_fallback_id": 1 })).expect(200);
    update(&mut house, id, &json!({ "mode": "dualplex", "voice_id": 1 })).expect(200);
    assert_eq!(read(&mut house, id)["turn_detection_threshold"], json!(0.5), "both modes know it");
    let got = update(&mut house, id, &json!({ "mode": "pipeline" }));
    got.wrong(&["llm_model_id"]);
    update(&mut house, id, &json!({ "mode": "pipeline", "llm_model_id": 2 })).expect(200);
    let got = read(&mut house, id);
    let dropped = json!([got["turn_detection_threshold"], got["chat_llm_fallback_id"], got["multimodal_model_id"]]);
    assert_eq!(dropped, json!([null, null, null]));
}

#[test]
fn one_is_read_by_id_or_uuid_for_every_method() {
    let mut house = House::default();
    let id = create(&mut house, &json!({})).id();
    let uuid = read(&mut house, id)["uuid"].as_str().expect("a uuid").to_owned();
    let path = format!("/user/assistants/{uuid}");
    assert_eq!(house.get(&path).expect(200).json["id"], json!(id));
    house.put(&path, &json!({ "name": "Bea" })).send().expect(200);
    assert_eq!(read(&mut house, id)["name"], "Bea");
    house.delete(&path).expect(200);
    house.get(&path).message(404, "Assistant not found");
}

#[test]
fn a_deleted_one_is_gone_from_every_list() {
    let mut house = House::default();
    let id = create(&mut house, &json!({})).id();
    let call = house.make_call(id);
    let campaign_id = house.make("/user/campaigns", &campaign(id));
    house.delete(&format!("/user/assistant/{id}")).message(200, "Assistant deleted successfully");
    for path in ["/user/assistants", "/user/assistants/outbound"] {
        assert_eq!(house.get(path).expect(200).json, json!([]), "{path}");
    }
    assert_eq!(house.get("/user/assistants/get").json["total"], 0);
    house.delete(&format!("/user/assistant/{id}")).message(404, "Assistant not found");
    update(&mut house, id, &json!({ "name": "B" })).message(404, "Assistant not found");
    assert_eq!(house.get(&format!("/user/calls/{call}")).expect(200).json["assistant_name"], "Anna");
    house.get(&format!("/user/campaigns/{campaign_id}")).expect(200);
    assert!(create(&mut house, &json!({})).expect(201).id() > id, "an id is never used again");
}

#[test]
fn a_plan_allows_so_many() {
    let mut house = House::default();
    let operator = house.operator.clone();
    house.post("/admin/plans", &json!({ "name": "one", "assistants": 1 })).token(&operator).send().expect(201);
    house.put("/admin/accounts/1", &json!({ "plan": "one" })).token(&operator).send().expect(200);
    let id = create(&mut house, &json!({})).expect(201).id();
    let says = "You have reached your plan limit of 1 assistants. Please upgrade your plan to create more assistants.";
    create(&mut house, &json!({})).message(403, says);
    create(&mut house, &json!({ "name": 5 })).wrong(&["name"]);
    house.delete(&format!("/user/assistant/{id}")).expect(200);
    create(&mut house, &json!({})).expect(201);
}

#[test]
fn a_masked_key_on_creation_fits_nothing() {
    let mut house = House::default();
    for (name, key) in [("calendar_api_key", "****wxyz"), ("calcom_api_key", "****")] {
        let tools = json!([{ "type": "calendar_integration", name: key, "calendar_event_slug": "x" }]);
        create(&mut house, &json!({ "tools": tools })).wrong(&["tools.0.calendar_api_key"]);
    }
    assert_eq!(house.get("/user/assistants").json, json!([]));
    let id = create(&mut house, &json!({})).expect(201).id();
    let tools = json!([{ "type": "calendar_integration", "calendar_api_key": "****wxyz", "calendar_event_slug": "x" }]);
    update(&mut house, id, &json!({ "tools": tools })).wrong(&["tools.0.calendar_api_key"]);
}
