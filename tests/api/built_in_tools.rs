//! Built-in tools of assistants: their kinds, the two forms in which clients send them, and what they name.

use serde_json::{Value, json};
use switchboard_core::outside::{Egress, HttpIn};
use switchboard_tests::house::{Got, House, assistant, with};
use switchboard_tests::line::Line;

fn create(house: &mut House, tools: &Value) -> Got {
    house.post("/user/assistant", &with(assistant(), &json!({ "tools": tools }))).send()
}

fn update(house: &mut House, id: u64, tools: &Value) -> Got {
    house.put(&format!("/user/assistant/{id}"), &json!({ "tools": tools })).send()
}

fn shown(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/assistant/{id}")).expect(200).json["tools"].clone()
}

/// One tool of each kind, with all members that need no other row.
fn each_kind() -> Vec<Value> {
    vec![
        json!({
            "type": "call_transfer", "phone_number": "desk", "description": "D", "custom": true,
            "timezone": "Europe/Bucharest", "warm_transfer": true, "warm_transfer_message": "M",
        }),
        json!({
            "type": "warm_call_transfer", "supervisor_phone": "sip:desk@a.example", "description": "D",
            "custom_sip": true, "caller_id_mode": "custom", "custom_caller_id": "+40700000009", "hold_music": "none",
            "hold_music_volume": 0, "hold_message": "H", "summary_instructions": "S", "briefing_initial_message": "B",
            "connected_message": "C",
        }),
        json!({ "type": "end_call", "description": "D" }),
        json!({ "type": "dtmf_input", "description": "D" }),
        json!({ "type": "collect_keypad", "description": "D", "timeout": 30, "stop_key": "*" }),
        json!({
            "type": "calendar_integration", "calendar_api_key": "cal_live_key", "calendar_event_slug": "intro",
            "description": "D", "calcom_team_slug": "team", "calcom_endpoint": "custom",
            "calcom_custom_endpoint": "https://cal.example",
            "calcom_booking_fields": [
                { "slug": "city", "type": "select", "label": "City", "required": true, "options": ["Cluj", "Iași"] },
            ],
        }),
    ]
}

/// As answers show a tool: its secret masked.
fn masked(mut tool: Value) -> Value {
    if let Some(key) = tool.get_mut("calendar_api_key") {
        *key = json!("****_key");
    }
    tool
}

#[test]
fn each_comes_back_as_it_was_sent() {
    let mut house = House::default();
    let flat = each_kind();
    let wrapped: Vec<Value> = flat
        .iter()
        .map(|tool| {
            let mut data = tool.clone();
            let kind = data.as_object_mut().expect("an object").remove("type");
            json!({ "type": kind, "data": data })
        })
        .collect();
    let id = create(&mut house, &json!(flat)).expect(201).id();
    let want: Vec<Value> = flat.into_iter().map(masked).collect();
    assert_eq!(shown(&mut house, id), json!(want));
    let id = create(&mut house, &json!(wrapped)).expect(201).id();
    let both: Vec<Value> = want
        .iter()
        .map(|tool| {
            let mut data = tool.clone();
            data.as_object_mut().expect("an object").remove("type");
            with(tool.clone(), &json!({ "data": data }))
        })
        .collect();
    assert_eq!(shown(&mut house, id), json!(both));
    // An update of something else keeps the form, and so does what is sent back.
    house.put(&format!("/user/assistant/{id}"), &json!({ "name": "B" })).send().expect(200);
    assert_eq!(shown(&mut house, id), json!(both));
    update(&mut house, id, &json!(both)).expect(200);
    assert_eq!(shown(&mut house, id), json!(both));
    update(&mut house, id, &json!(want)).expect(200);
    assert_eq!(shown(&mut house, id), json!(want));
    let keys = house.store.rows().values().filter(|row| String::from_utf8_lossy(row).contains("cal_live_key")).count();
    assert_eq!(keys, 2, "the keys are kept, one for each assistant");
}

#[test]
fn what_is_not_given_is_shown_with_its_default() {
    let mut house = House::default();
    let number = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" }));
    let other = house.make("/user/assistant", &assistant());
    let tools = json!([
        { "type": "call_transfer", "phone_number": "+40700000009" },
        { "type": "warm_call_transfer", "supervisor_phone": "+40700000009", "outbound_phone_id": number },
        { "type": "end_call", "data": [] },
        { "type": "collect_keypad" },
        { "type": "assistant_transfer", "assistant_id": other.to_string() },
    ]);
    let id = create(&mut house, &tools).expect(201).id();
    let want = json!([
        { "type": "call_transfer", "phone_number": "+40700000009", "custom": false, "warm_transfer": false },
        {
            "type": "warm_call_transfer", "supervisor_phone": "+40700000009", "outbound_phone_id": number,
            "custom_sip": false, "caller_id_mode": "outbound_number", "hold_music": "hold_music",
            "hold_music_volume": 80,
        },
        { "type": "end_call", "data": {} },
        { "type": "collect_keypad", "timeout": 5, "stop_key": "#" },
        { "type": "assistant_transfer", "assistant_id": other, "speak_transfer_greeting": false },
    ]);
    assert_eq!(shown(&mut house, id), want);
    let line = Line::attach(&mut house);
    house.make_call(id);
    let functions = line.take(&mut house).claimed["assistant"]["functions"].clone();
    let names: Vec<&str> = functions.as_array().expect("a list").iter().filter_map(|f| f["name"].as_str()).collect();
    assert_eq!(names, ["call_transfer", "warm_call_transfer", "end_call", "collect_keypad", "assistant_transfer"]);
}

#[test]
fn what_a_tool_must_keep_to() {
    let mut house = House::default();
    let mine = house.make("/user/assistant", &assistant());
    let stranger = house.account("stranger@example.com");
    let foreign = house.post("/user/assistant", &assistant()).token(&stranger).send().expect(201).id();
    let warm =
        |changes: &Value| with(json!({ "type": "warm_call_transfer", "supervisor_phone": "+40700000009" }), changes);
    let calendar = |changes: &Value| {
        let tool = json!({ "type": "calendar_integration", "calendar_api_key": "k", "calendar_event_slug": "e" });
        with(tool, changes)
    };
    let cases = [
        (json!({ "type": "call_transfer", "data": { "description": "D" } }), "phone_number"),
        (json!({ "type": "call_transfer", "data": { "phone_number": "0700" } }), "phone_number"),
        (json!({ "type": "end_call", "sped": 1 }), "sped"),
        (json!({ "type": "end_call", "data": { "sped": 1 } }), "data.sped"),
        (json!({ "type": "end_call", "data": "x" }), "data"),
        (json!({ "type": "end_call", "description": "A", "data": { "description": "B" } }), "data.description"),
        (json!({ "type": "end_call", "description": "x".repeat(1_001) }), "description"),
        (warm(&json!({ "supervisor_phone": "desk" })), "supervisor_phone"),
        (warm(&json!({ "caller_id_mode": "custom" })), "custom_caller_id"),
        (warm(&json!({ "hold_music_volume": 101 })), "hold_music_volume"),
        (warm(&json!({ "outbound_phone_id": 99 })), "outbound_phone_id"),
        (json!({ "type": "collect_keypad", "timeout": 31 }), "timeout"),
        (json!({ "type": "collect_keypad", "stop_key": "5" }), "stop_key"),
        (json!({ "type": "assistant_transfer" }), "assistant_id"),
        (json!({ "type": "assistant_transfer", "assistant_id": 99 }), "assistant_id"),
        (json!({ "type": "assistant_transfer", "data": { "assistant_id": foreign } }), "assistant_id"),
        (calendar(&json!({ "calcom_endpoint": "custom" })), "calcom_custom_endpoint"),
        (calendar(&json!({ "calcom_custom_endpoint": "cal" })), "calcom_custom_endpoint"),
        (calendar(&json!({ "calcom_booking_fields": [{}] })), "calcom_booking_fields.0.slug"),
        (
            calendar(&json!({ "calcom_booking_fields": [{ "slug": "a" }, { "slug": "a" }] })),
            "calcom_booking_fields.1.slug",
        ),
    ];
    for (tool, field) in cases {
        create(&mut house, &json!([tool])).wrong(&[&format!("tools.0.{field}")]);
        update(&mut house, mine, &json!([tool])).wrong(&[&format!("tools.0.{field}")]);
    }
    let strict = with(assistant(), &json!({ "tools": [{ "type": "end_call", "sped": 1 }] }));
    let got = house.post("/user/assistant", &strict).header("prefer", "handling=strict").send();
    let once = r#""errors":{"tools.0.sped":["The tools.0.sped field is not known."]}}"#;
    assert!(String::from_utf8_lossy(&got.bytes).ends_with(once), "{}", String::from_utf8_lossy(&got.bytes));
    let itself = json!([{ "type": "assistant_transfer", "assistant_id": mine }]);
    update(&mut house, mine, &itself).wrong(&["tools.0.assistant_id"]);
    assert_eq!(shown(&mut house, mine), json!([]));
}

#[test]
fn of_a_member_sent_twice_the_changed_one_counts() {
    let mut house = House::default();
    let id = create(&mut house, &json!([{ "type": "end_call", "data": { "description": "Old" } }])).expect(201).id();
    for (flat, data, want) in [("Old", "New", "New"), ("Newer", "New", "Newer"), ("Last", "Last", "Last")] {
        let tool = json!([{ "type": "end_call", "description": flat, "data": { "description": data } }]);
        update(&mut house, id, &tool).expect(200);
        assert_eq!(shown(&mut house, id)[0]["data"]["description"], want);
    }
    let tool = json!([{ "type": "end_call", "description": "A", "data": { "description": "B" } }]);
    update(&mut house, id, &tool).wrong(&["tools.0.data.description"]);
    // A masked key in one place and a new one in the other.
    let key = |key: &str| json!({ "calendar_api_key": key, "calendar_event_slug": "e" });
    let tool = |flat: &str, data: &str| {
        let tool = with(json!({ "type": "calendar_integration" }), &key(flat));
        json!([with(tool, &json!({ "data": key(data) }))])
    };
    let id = create(&mut house, &tool("first_key_1234", "first_key_1234")).expect(201).id();
    update(&mut house, id, &tool("****1234", "other_key_5678")).expect(200);
    assert_eq!(shown(&mut house, id)[0]["calendar_api_key"], "****5678");
    update(&mut house, id, &tool("****5678", "****5678")).expect(200);
    assert_eq!(shown(&mut house, id)[0]["data"]["calendar_api_key"], "****5678");
}

/// What they name may go: the assistant can still be changed and sent back, and hands no call to nobody.
#[test]
fn what_they_name_may_be_deleted() {
    let mut house = House::default();
    let other = house.make("/user/assistant", &assistant());
    let number = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" }));
    let tools = json!([
        { "type": "assistant_transfer", "assistant_id": other },
        { "type": "warm_call_transfer", "supervisor_phone": "+40700000009", "outbound_phone_id": number },
    ]);
    let id = create(&mut house, &tools).expect(201).id();
    house.delete(&format!("/user/assistant/{other}")).expect(200);
    house.delete(&format!("/user/phone-numbers/{number}")).expect(200);
    let back = shown(&mut house, id);
    update(&mut house, id, &back).expect(200);
    let another = with(back[0].clone(), &json!({ "assistant_id": other + 5 }));
    update(&mut house, id, &json!([another])).wrong(&["tools.0.assistant_id"]);
    let line = Line::attach(&mut house);
    house.make_call(id);
    let functions = line.take(&mut house).claimed["assistant"]["functions"].clone();
    let names: Vec<&str> = functions.as_array().expect("a list").iter().filter_map(|f| f["name"].as_str()).collect();
    assert_eq!(names, ["warm_call_transfer"]);
}

#[test]
fn a_calendar_of_a_team_elsewhere_is_asked_with_its_fields() {
    let mut house = House::default();
    let tool = json!({
        "type": "calendar_integration", "calendar_api_key": "k", "calendar_event_slug": "intro",
        "calcom_team_slug": "sales", "calcom_endpoint": "custom", "calcom_custom_endpoint": "https://cal.example/",
        "calcom_booking_fields": [
            { "slug": "city", "label": "The city", "required": true, "options": ["Cluj", "Iași"] },
            { "slug": "note" },
        ],
    });
    let id = create(&mut house, &json!([tool])).expect(201).id();
    let line = Line::attach(&mut house);
    house.make_call(id);
    let mut held = line.take(&mut house);
    let book = &held.claimed["assistant"]["functions"][1]["parameters"];
    let city = json!({ "type": "string", "description": "The city", "enum": ["Cluj", "Iași"] });
    assert_eq!(book["properties"]["city"], city);
    assert_eq!(book["required"], json!(["start", "name", "email", "city"]));
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    house.outside(|request| {
        assert_eq!(request.egress, Egress::User, "the address is the user's");
        let body = match request.url.as_str() {
            "https://cal.example/v2/me" => json!({ "data": { "username": "ana" } }),
            "https://cal.example/v2/bookings" => {
                let sent: Value = serde_json::from_slice(&request.body).expect("JSON");
                assert_eq!((&sent["teamSlug"], &sent["username"]), (&json!("sales"), &Value::Null));
                assert_eq!(sent["bookingFieldsResponses"], json!({ "city": "Cluj" }));
                json!({ "status": "success" })
            }
            other => panic!("{other} was asked"),
        };
        Ok(HttpIn { status: 200, body: body.to_string().into_bytes(), ..HttpIn::default() })
    });
    let arguments = json!({ "start": "2026-09-22T09:00:00Z", "name": "A", "email": "a@b.example", "city": "Cluj" });
    let path = format!("/engine/calls/{}/tools/calendar_book", held.id);
    let booked = house.post(&path, &json!({ "arguments": arguments })).token(&line.token).send().expect(200).json;
    assert_eq!(booked["status"], 200);
}
