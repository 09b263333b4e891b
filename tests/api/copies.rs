//! What an assistant has beside its voice and prompt: filler words, the widget, events of the inbound webhook; copies of
//! it, and its texts as a call would have them.

use serde_json::{Value, json};
use switchboard_tests::house::{House, with};

use crate::assistants::{create, read, update};

#[test]
fn a_widget_is_changed_member_by_member() {
    let mut house = House::default();
    let tool = house.make("/user/tools", &switchboard_tests::house::tool("look"));
    let id = create(&mut house, &json!({ "widget_settings": { "title": "Ask", "enabled": "1" } })).expect(201).id();
    let change = json!({ "widget_settings": { "allowed_origins": ["https://a.example"], "tool_ids": [tool] } });
    update(&mut house, id, &change).expect(200);
    let shown = read(&mut house, id)["widget_settings"].clone();
    let told = json!([shown["title"], shown["enabled"], shown["allowed_origins"], shown["tool_ids"]]);
    assert_eq!(told, json!(["Ask", true, ["https://a.example"], [tool]]));
    update(&mut house, id, &json!({ "widget_settings": { "title": null } })).expect(200);
    assert_eq!(read(&mut house, id)["widget_settings"]["title"], Value::Null);
    // The tool may go: the rest can still be changed.
    house.delete(&format!("/user/tools/{tool}")).expect(200);
    update(&mut house, id, &json!({ "widget_settings": { "voice": true } })).expect(200);
    let many: Value = (0..21).map(|n| (format!("n{n}"), json!(n))).collect();
    for (settings, field) in [
        (json!({ "allowed_origins": ["https://a.example/path"] }), "allowed_origins.0"),
        (json!({ "allowed_origins": ["a.example"] }), "allowed_origins.0"),
        (json!({ "allowed_origins": vec!["https://a.example"; 21] }), "allowed_origins"),
        (json!({ "variables": many }), "variables"),
        (json!({ "tool_ids": [99] }), "tool_ids.0"),
        (json!({ "daily_cost_max": -1 }), "daily_cost_max"),
        (json!({ "theme": "pink" }), "theme"),
    ] {
        update(&mut house, id, &json!({ "widget_settings": settings })).wrong(&[&format!("widget_settings.{field}")]);
    }
}

#[test]
fn filler_words_are_kept() {
    let mut house = House::default();
    let words = json!({ "neutral": ["Hm"], "question": ["Well", "So"] });
    let id = create(&mut house, &json!({ "filler_config": words })).expect(201).id();
    let want = json!({ "neutral": ["Hm"], "negative": [], "positive": [], "question": ["Well", "So"] });
    assert_eq!(read(&mut house, id)["filler_config"], want);
    for (config, field) in [
        (json!({ "neutral": vec!["x"; 21] }), "filler_config.neutral"),
        (json!({ "neutral": ["x".repeat(256)] }), "filler_config.neutral.0"),
        (json!({ "neutral": [""] }), "filler_config.neutral.0"),
    ] {
        create(&mut house, &json!({ "filler_config": config })).wrong(&[field]);
    }
}

#[test]
fn the_inbound_webhook_has_one_event_at_least() {
    let mut house = House::default();
    create(&mut house, &json!({ "inbound_webhook_events": [] })).wrong(&["inbound_webhook_events"]);
    create(&mut house, &json!({ "inbound_webhook_events": ["call.begun"] })).wrong(&["inbound_webhook_events.0"]);
    let both = json!(["call.incoming", "call.completed"]);
    let id = create(&mut house, &json!({ "inbound_webhook_events": both })).expect(201).id();
    assert_eq!(read(&mut house, id)["inbound_webhook_events"], both);
}

#[test]
fn a_copy_has_no_number_webhooks_and_secrets() {
    let mut house = House::default();
    let number = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" }));
    let tools = json!([
        { "type": "end_call", "data": { "description": "Bye" } },
        { "type": "calendar_integration", "calendar_api_key": "cal_live_key", "calendar_event_slug": "x" },
    ]);
    let set = json!({
        "name": "n".repeat(255), "phone_number_id": number, "is_webhook_active": true,
        "webhook_url": "https://a.example", "tools": tools, "variables": { "city": "Cluj" },
    });
    let id = create(&mut house, &set).expect(201).id();
    let hook = json!({ "webhook_url": "https://in.example" });
    house.post(&format!("/user/assistant/{id}/enable-inbound-webhook"), &hook).send().expect(200);
    update(&mut house, id, &json!({ "status": "active" })).expect(200);
    let original = read(&mut house, id);
    let got = house.post(&format!("/user/assistant/{id}/duplicate"), &json!({})).send().expect(201);
    let name = format!("{} (copy)", "n".repeat(248));
    let data = json!({ "id": got.id(), "name": name, "status": "inactive", "type": "outbound", "mode": "pipeline" });
    assert_eq!(got.json, json!({ "message": "Assistant created successfully", "data": data }));
    let copy = read(&mut house, got.id());
    let differs = json!({
        "id": got.id(), "name": name, "uuid": copy["uuid"], "status": "inactive", "is_webhook_active": false,
        "activates_on_use": true, "tools": [original["tools"][0]],
    });
    let mut want = with(original, &differs);
    ["phone_number_id", "webhook_url", "inbound_webhook_url"].into_iter().for_each(|name| want[name] = Value::Null);
    assert_eq!(copy, want);
    let named = house.post(&format!("/user/assistants/{id}/duplicate"), &json!({ "name": "B" })).send().expect(201);
    assert_eq!(named.json["data"]["name"], "B");
    house.post("/user/assistant/99/duplicate", &json!({})).send().message(404, "Assistant not found");
    let long = json!({ "name": "x".repeat(256) });
    house.post(&format!("/user/assistant/{id}/duplicate"), &long).send().wrong(&["name"]);
}

#[test]
fn a_preview_shows_the_texts_of_a_call() {
    let mut house = House::default();
    let set = json!({
        "system_prompt": "You are {{assistant_name}} in {{city}} for {{who}}; {{list}} {{missing}}",
        "initial_message": "Hello {{who}}, {{lost}}.", "variables": { "city": "Cluj", "list": [1, { "a": "b" }] },
    });
    let id = create(&mut house, &set).expect(201).id();
    let path = format!("/user/assistant/{id}/preview");
    let got = house.post(&path, &json!({ "variables": { "who": "Ana" } })).send().expect(200).json;
    let (prompt, greeting) = (r#"You are Anna in Cluj for Ana; [1,{"a":"b"}] {{missing}}"#, "Hello Ana, {{lost}}.");
    let want = json!({
        "system_prompt": prompt, "initial_message": greeting, "bytes": prompt.len() + greeting.len(),
        "unknown": ["missing", "lost"],
    });
    assert_eq!(got, json!({ "data": want }));
    house.post(&path, &json!({ "variables": { "a b": 1 } })).send().wrong(&["variables.a b"]);
    house.post("/user/assistant/99/preview", &json!({})).send().message(404, "Assistant not found");
    let doubling = json!({ "system_prompt": "{{a}}".repeat(200), "variables": { "a": "x".repeat(10_000) } });
    update(&mut house, id, &doubling).expect(200);
    house.post(&path, &json!({})).send().message(422, "The filled texts of the assistant are larger than 1 MiB.");
}
