//! docs/api.md, The engine interface, and the states of a call.

use serde_json::{Value, json};
use switchboard_core::call::states::{CallEvent, MOVES};
use switchboard_core::call::tables::CallStatus;
use switchboard_core::record::Choice;
use switchboard_tests::house::{House, assistant, with};
use switchboard_tests::line::{Held, Line, said};

fn placed(changes: &Value) -> (House, Line, u64) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &with(assistant(), changes));
    house.make_call(id);
    let line = Line::attach(&mut house);
    (house, line, id)
}

fn hang_up(id: u64) -> Value {
    json!([{ "call_id": id, "id": "hangup", "type": "hangup" }])
}

fn call(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/calls/{id}")).expect(200).json
}

fn status(house: &mut House, id: u64) -> String {
    call(house, id)["status"].as_str().expect("a status").to_owned()
}

#[test]
fn a_call_rings_is_answered_ends_and_is_completed() {
    let (mut house, line, _) = placed(&json!({ "post_call_evaluation": false, "record": true }));
    let mut held = line.take(&mut house);
    assert_eq!(held.claimed["call"]["status"], "initiated");
    line.talk(&mut house, &mut held);
    line.say(
        &mut house,
        &mut held,
        &[
            json!({ "type": "recording", "url": "https://r.example/1.mp3" }),
            json!({ "type": "cost", "carrier_cost": 0.01, "total_cost": 0.05 }),
        ],
    )
    .expect(200);
    let call = call(&mut house, held.id);
    for (name, want) in [
        ("status", json!("completed")),
        ("duration", json!(25)),
        ("transcript", json!("AI: Hello\nCustomer: Hi")),
        ("answered_by", json!("human")),
        ("recording_url", json!("https://r.example/1.mp3")),
        ("carrier_cost", json!(0.01)),
        ("total_cost", json!(0.05)),
        ("evaluation", Value::Null),
    ] {
        assert_eq!(call[name], want, "{name}");
    }
    let events = house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json;
    let kinds: Vec<&str> =
        events["data"].as_array().expect("a list").iter().map(|e| e["type"].as_str().expect("a type")).collect();
    let want = [
        "initiated",
        "claimed",
        "ringing",
        "answered",
        "transcript",
        "transcript",
        "ended",
        "completed",
        "recording",
        "cost",
    ];
    assert_eq!(kinds, want);
    let later = house.get(&format!("/user/calls/{}/events?after=8", held.id)).expect(200).json;
    assert_eq!(later["data"].as_array().map(Vec::len), Some(2));
    assert_eq!(later["data"][0]["seq"], 9);
}

/// For every pair of state and event: a transition outside the table is a 409 and changes nothing.
#[test]
fn a_refused_transition_changes_nothing() {
    let reach: [(&str, &[Value]); 5] = [
        ("initiated", &[]),
        ("ringing", &[json!({ "type": "ringing" })]),
        ("in-progress", &[json!({ "type": "answered" })]),
        ("failed", &[json!({ "type": "failed" })]),
        ("completed", &[json!({ "type": "answered" }), json!({ "type": "ended" })]),
    ];
    let events = [
        (CallEvent::Ring, json!({ "type": "ringing" })),
        (CallEvent::Answer, json!({ "type": "answered" })),
        (CallEvent::CustomerEnds, json!({ "type": "ended", "by": "customer" })),
        (CallEvent::AssistantEnds, json!({ "type": "ended", "by": "assistant" })),
        (CallEvent::End, json!({ "type": "ended" })),
        (CallEvent::Busy, json!({ "type": "failed", "reason": "busy" })),
        (CallEvent::NoAnswer, json!({ "type": "failed", "reason": "no-answer" })),
        (CallEvent::Fail, json!({ "type": "failed", "reason": "x" })),
    ];
    for (state, way) in reach {
        for (event, said) in &events {
            let (mut house, line, _) = placed(&json!({ "post_call_evaluation": false }));
            let mut held = line.take(&mut house);
            line.say(&mut house, &mut held, way).expect(200);
            let from = CallStatus::ALL.iter().find(|known| known.word() == state).expect("a state");
            let before = house.store.rows().clone();
            let seq = held.seq + 1;
            let got = line.say(&mut house, &mut held, std::slice::from_ref(said));
            if let Some(to) = MOVES.next(*from, *event) {
                let shown = if to.word().starts_with("ended") { "completed" } else { to.word() };
                assert_eq!((got.status, got.json["call_status"].as_str()), (200, Some(shown)), "{state} {said}");
            } else {
                assert_eq!((got.status, &got.json["next_seq"]), (409, &json!(seq)), "{state} {said}");
                assert!(*house.store.rows() == before, "{state} {said}");
            }
        }
    }
}

#[test]
fn the_table_of_calls_is_the_published_one() {
    let mut rows = Vec::new();
    for from in CallStatus::ALL {
        for event in CallEvent::ALL {
            rows.extend(MOVES.next(*from, event).map(|to| format!("{} {}", from.word(), to.word())));
        }
    }
    rows.sort();
    let want = [
        "ended completed",
        "ended_by_assistant completed",
        "ended_by_customer completed",
        "in-progress ended",
        "in-progress ended_by_assistant",
        "in-progress ended_by_customer",
        "in-progress failed",
        "initiated busy",
        "initiated failed",
        "initiated in-progress",
        "initiated no-answer",
        "initiated ringing",
        "ringing busy",
        "ringing failed",
        "ringing in-progress",
        "ringing no-answer",
    ];
    assert_eq!(rows, want);
}

#[test]
fn events_are_taken_once_in_order_or_not_at_all() {
    let (mut house, line, _) = placed(&json!({}));
    let held = line.take(&mut house);
    let event = |seq: u64, kind: &str| json!({ "seq": seq, "type": kind });
    for (events, status, next) in [
        (vec![event(2, "ringing")], 409, json!(1)),
        (vec![event(1, "ringing"), event(3, "answered")], 409, json!(1)),
        (vec![event(1, "ringing"), event(2, "ringing")], 409, json!(1)),
        (vec![event(1, "ringing")], 200, Value::Null),
        (vec![event(1, "ringing"), event(1, "tool")], 422, Value::Null),
        (vec![event(1, "ringing"), event(2, "answered")], 200, Value::Null),
        (vec![event(2, "answered")], 200, Value::Null),
        (vec![event(4, "ended")], 409, json!(3)),
        (vec![], 200, Value::Null),
    ] {
        let before = house.store.rows().clone();
        let got = line.send(&mut house, held.id, &events);
        assert_eq!((got.status, &got.json["next_seq"]), (status, &next), "{events:?} {}", got.json);
        assert!(status == 200 || *house.store.rows() == before, "{events:?}");
    }
    let many: Vec<Value> = (3..104).map(|seq| event(seq, "ringing")).collect();
    line.send(&mut house, held.id, &many).expect(422);
    assert_eq!(call(&mut house, held.id)["status"], "in-progress");
}

#[test]
fn a_call_belongs_to_one_engine_and_its_account() {
    let (mut house, line, assistant) = placed(&json!({}));
    let held = line.take(&mut house);
    assert!(line.claim(&mut house, 5).is_empty(), "a call is claimed once");
    let other = Line::attach(&mut house);
    other.send(&mut house, held.id, &[]).message(404, "Call not found");
    for id in [0, 99, 1 << 33, u64::MAX >> 12] {
        line.send(&mut house, id, &[]).message(404, "Call not found");
    }
    let key = house.key.clone();
    house.post("/engine/claim", &json!({ "engine": "x" })).token(&key).send().expect(401);
    house.call(switchboard_core::http::request::Method::Get, "/user/me").token(&line.token).send().expect(401);
    let operator = house.operator.clone();
    let body = json!({ "name": "Other", "account_ids": [1] });
    house.account("second@example.com");
    let theirs = with(body, &json!({ "account_ids": [2] }));
    let made = house.post("/admin/engine-tokens", &theirs).token(&operator).send().expect(201);
    let foreign = Line { token: made.json["token"].as_str().expect("a token").to_owned() };
    house.make_call(assistant);
    assert!(foreign.claim(&mut house, 5).is_empty(), "an engine of another account");
    assert_eq!(line.claim(&mut house, 5).len(), 1);
}

#[test]
fn a_call_without_an_engine_fails_after_ten_minutes() {
    let (mut house, line, _) = placed(&json!({}));
    house.now = house.now.plus_seconds(599);
    house.tick();
    assert_eq!(status(&mut house, 1), "initiated");
    house.now = house.now.plus_seconds(1);
    house.tick();
    assert_eq!(status(&mut house, 1), "failed");
    assert!(line.claim(&mut house, 5).is_empty());
    house.delete("/user/calls/1").expect(200);
    house.tick();
    house.get("/user/calls/1/events").expect(404);
}

#[test]
fn an_engine_has_its_time_to_dial_however_late_it_claims() {
    let (mut house, line, _) = placed(&json!({}));
    house.now = house.now.plus_seconds(599);
    let held = line.take(&mut house);
    for _ in 0..29 {
        house.now = house.now.plus_seconds(20);
        house.tick();
        assert_eq!(line.send(&mut house, held.id, &[]).expect(200).json["call_status"], "initiated");
    }
    house.now = house.now.plus_seconds(20);
    house.tick();
    assert_eq!(status(&mut house, held.id), "failed");
}

#[test]
fn a_lease_is_renewed_by_events_and_runs_out_without() {
    let (mut house, line, _) = placed(&json!({}));
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    for _ in 0..5 {
        house.now = house.now.plus_seconds(29);
        house.tick();
        let got = line.send(&mut house, held.id, &[]).expect(200);
        assert_eq!(got.json["lease"], house.now.plus_seconds(30).iso());
    }
    house.now = house.now.plus_seconds(30);
    house.tick();
    assert_eq!(status(&mut house, held.id), "failed");
    let got = line.send(&mut house, held.id, &[]).expect(200);
    assert_eq!((&got.json["call_status"], &got.json["commands"][0]["type"]), (&json!("failed"), &json!("hangup")));
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(409);
}

#[test]
fn ringing_and_talking_have_their_limits() {
    let (mut house, line, _) = placed(&json!({ "max_duration": 20 }));
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    house.now = house.now.plus_seconds(20);
    house.tick();
    assert_eq!(line.send(&mut house, held.id, &[]).expect(200).json["commands"], hang_up(held.id));
    let (mut house, line, _) = placed(&json!({ "ringing_time": 20, "max_duration": 60 }));
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "ringing" })]).expect(200);
    house.now = house.now.plus_seconds(20);
    house.tick();
    assert_eq!(status(&mut house, held.id), "no-answer");
    house.make_call(1);
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    for told in [false, false, false, true] {
        let got = line.send(&mut house, held.id, &[]).expect(200);
        assert_eq!(got.json["commands"] == hang_up(held.id), told);
        house.now = house.now.plus_seconds(if told { 0 } else { 20 });
        house.tick();
    }
    for _ in 0..2 {
        house.now = house.now.plus_seconds(15);
        house.tick();
        line.send(&mut house, held.id, &[]);
    }
    assert_eq!(status(&mut house, held.id), "completed", "an engine that does not obey is not waited for");
}

#[test]
fn a_hang_up_calls_off_tells_or_conflicts() {
    let (mut house, line, _) = placed(&json!({}));
    house.post("/user/calls/1/hangup", &json!({})).send().expect(200);
    assert_eq!(status(&mut house, 1), "failed");
    assert!(line.claim(&mut house, 1).is_empty());
    house.post("/user/calls/1/hangup", &json!({})).send().expect(409);
    house.make_call(1);
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    house.post("/user/calls/2/hangup", &json!({})).send().expect(200);
    assert_eq!(line.send(&mut house, held.id, &[]).expect(200).json["commands"], hang_up(held.id));
    line.say(&mut house, &mut held, &[json!({ "type": "ended", "by": "service" })]).expect(200);
    assert_eq!(status(&mut house, held.id), "completed");
}

#[test]
fn a_plan_bounds_the_calls_at_once() {
    let (mut house, line, id) = placed(&json!({}));
    let operator = house.operator.clone();
    house.put("/admin/plans/standard", &json!({ "parallel_calls": 2 })).token(&operator).send().expect(200);
    for _ in 0..3 {
        house.make_call(id);
    }
    let mut calls = line.claim(&mut house, 10);
    assert_eq!(calls.len(), 2);
    assert!(line.claim(&mut house, 10).is_empty());
    line.say(&mut house, &mut calls[0], &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
    assert_eq!(line.claim(&mut house, 10).len(), 1);
}

#[test]
fn accounts_take_turns() {
    let (mut house, line, id) = placed(&json!({}));
    for _ in 0..5 {
        house.make_call(id);
    }
    let second = house.account("second@example.com");
    let theirs = house.post("/user/assistant", &assistant()).token(&second).send().expect(201).id();
    let body = json!({ "phone_number": "+40700000001", "assistant_id": theirs });
    house.post("/user/make_call", &body).token(&second).send().expect(200);
    let accounts: Vec<u64> = (0..3).map(|_| line.take(&mut house).id >> 32).collect();
    assert_eq!(accounts, [0, 1, 0]);
}

#[test]
fn an_inbound_call_finds_its_assistant_and_a_web_call_its_own() {
    let mut house = House::default();
    let number = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": "+12122011892" }));
    let inbound = json!({ "type": "inbound", "phone_number_id": number });
    let id = house.make("/user/assistant", &with(assistant(), &inbound));
    let line = Line::attach(&mut house);
    let bring = |house: &mut House, body: Value| house.post("/engine/calls", &body).token(&line.token).send();
    let arriving = json!({ "type": "inbound", "from": "+40700000001", "to": "+12122011892" });
    let got = bring(&mut house, arriving).expect(201);
    assert_eq!(
        (
            &got.json["call"]["type"],
            &got.json["call"]["client_phone_number"],
            &got.json["call"]["assistant_phone_number"]
        ),
        (&json!("inbound"), &json!("+40700000001"), &json!("+12122011892"))
    );
    let mut held = Held::of(got.json);
    line.talk(&mut house, &mut held);
    house.tick();
    assert_eq!(status(&mut house, held.id), "completed");
    let web = bring(&mut house, json!({ "type": "web", "assistant_id": id, "variables": { "a": 1 } })).expect(201);
    assert_eq!((&web.json["call"]["type"], &web.json["call"]["client_phone_number"]), (&json!("web"), &Value::Null));
    assert_eq!(web.json["call"]["variables"], json!({ "a": 1 }));
    bring(&mut house, json!({ "type": "inbound" })).wrong(&["to"]);
    bring(&mut house, json!({ "type": "web" })).wrong(&["assistant_id"]);
    bring(&mut house, json!({ "type": "web", "assistant_id": 99 })).expect(404);
    bring(&mut house, json!({ "type": "inbound", "to": "+19999999999" })).expect(404);
}

#[test]
fn a_transcript_is_bounded_and_says_where_it_was_cut() {
    let (mut house, line, _) = placed(&json!({ "post_call_evaluation": false }));
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    let long = "ä".repeat(70_000);
    for _ in 0..4 {
        line.say(&mut house, &mut held, &[said("human", &long)]).expect(200);
    }
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
    let transcript = call(&mut house, held.id)["transcript"].as_str().expect("text").to_owned();
    assert!(transcript.len() < (256 << 10) + 200 && transcript.ends_with("[The transcript was cut here.]"));
}

#[test]
fn costs_are_deducted_from_a_metered_balance_once() {
    let (mut house, line, _) = placed(&json!({}));
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "balance": 1 })).token(&operator).send().expect(200);
    let mut held = line.take(&mut house);
    let cost = |total: f64| json!({ "type": "cost", "carrier_cost": 0.01, "total_cost": total });
    line.say(&mut house, &mut held, &[json!({ "type": "answered" }), cost(0.1)]).expect(200);
    assert_eq!(house.get("/user/me").json["total_balance"], 1.0, "an ended call is deducted");
    line.say(&mut house, &mut held, &[cost(0.2), json!({ "type": "ended" })]).expect(200);
    assert_eq!(house.get("/user/me").json["total_balance"], 0.8);
    line.say(&mut house, &mut held, &[cost(0.25)]).expect(200);
    line.say(&mut house, &mut held, &[cost(0.40)]).expect(200);
    assert_eq!(house.get("/user/me").json["total_balance"], 0.6);
    house.now = house.now.plus_seconds(86_400);
    line.say(&mut house, &mut held, &[cost(9.0)]).expect(409);
}

#[test]
fn an_engines_analysis_concludes_a_call_without_a_model() {
    let schema = json!([
        { "name": "city", "type": "string", "description": "The city" },
        { "name": "agreed", "type": "bool", "description": "Whether they agreed" },
    ]);
    let (mut house, line, _) = placed(&json!({ "post_call_schema": schema }));
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" }), said("bot", "Hello")]).expect(200);
    let analysis = json!({
        "type": "analysis", "evaluation": { "success": true, "sentiment": "positive", "summary": "Fine." },
        "variables": { "city": "Iasi", "agreed": "yes", "other": 1 },
    });
    line.say(&mut house, &mut held, &[analysis, json!({ "type": "ended", "by": "assistant" })]).expect(200);
    assert_eq!(status(&mut house, held.id), "ended_by_assistant");
    house.tick();
    let call = call(&mut house, held.id);
    assert_eq!(call["status"], "completed");
    assert_eq!(call["evaluation"], json!({ "success": true, "sentiment": "positive", "summary": "Fine." }));
    assert_eq!(call["variables"], json!({ "city": "Iasi" }));
}

#[test]
fn the_claimed_assistant_is_complete_and_compiled() {
    let mut house = House::default();
    let tool = json!({
        "name": "weather", "description": "Tells the weather", "endpoint": "https://a.example/{city}", "method": "GET",
        "headers": [{ "name": "X-Key", "value": "secret-marker" }],
        "schema": [{ "name": "city", "type": "string", "description": "The city" }],
    });
    let tool = house.make("/user/tools", &tool);
    let changes = json!({
        "tool_ids": [tool], "system_prompt": "Call {{customer_name}} at {{customer_phone}} on {{current_date}} about {{topic}}, {{unknown}}.",
        "initial_message": "Hello {{customer_name}}", "variables": { "topic": "shoes", "customer_name": "you" },
        "tools": [{ "type": "end_call", "description": "When done" },
            { "type": "calendar_integration", "calendar_api_key": "calendar-marker-long", "calendar_event_slug": "x" }],
    });
    let id = house.make("/user/assistant", &with(assistant(), &changes));
    let body = json!({ "phone_number": "+40700000001", "assistant_id": id, "variables": { "customer_name": "Ana" } });
    house.post("/user/make_call", &body).send().expect(200);
    let line = Line::attach(&mut house);
    let claimed = line.take(&mut house).claimed;
    let assistant = &claimed["assistant"];
    assert_eq!(assistant["prompt"], "Call Ana at +40700000001 on 2026-09-21 about shoes, {{unknown}}.");
    assert_eq!((&assistant["greeting"], &assistant["unknown_variables"]), (&json!("Hello Ana"), &json!(["unknown"])));
    assert_eq!(
        assistant["functions"][0],
        json!({
            "name": "weather", "description": "Tells the weather",
            "parameters": { "type": "object", "properties": { "city": { "type": "string", "description": "The city" } }, "required": ["city"] },
            "kind": "tool", "timeout": 10,
        })
    );
    assert_eq!(assistant["functions"][1]["name"], "end_call");
    assert_eq!((&assistant["voice"]["id"], &assistant["llm_model"]["id"]), (&json!(1), &json!(1)));
    let openai = json!({ "vendor": "openai", "model": "gpt-4.1" });
    assert_eq!((&assistant["llm_model"]["code"], &assistant["llm_model"]["engine"]), (&json!("gpt-4.1"), &openai));
    for name in ["voice", "synthesizer_provider", "transcriber_provider"] {
        assert!(assistant[name]["code"].is_string() && assistant[name]["engine"]["vendor"].is_string(), "{name}");
    }
    for name in ["synthesizer_provider", "transcriber_provider", "spoken_language"] {
        assert!(assistant[name]["name"].is_string(), "{name}");
    }
    assert_eq!(assistant["timings"]["ringing_time"], 30);
    let stored = house.get(&format!("/user/assistant/{id}")).json;
    for (name, value) in stored.as_object().expect("an object") {
        assert_eq!(&assistant[name], value, "{name}");
    }
    let text = claimed.to_string();
    assert!(!text.contains("secret-marker") && !text.contains("calendar-marker-long"));
}

#[test]
fn a_calendar_is_asked_and_booked_by_the_service() {
    use switchboard_core::outside::HttpIn;
    let calendar =
        json!({ "type": "calendar_integration", "calendar_api_key": "cal_live_key", "calendar_event_slug": "intro" });
    let (mut house, line, _) = placed(&json!({ "tools": [calendar] }));
    let mut held = line.take(&mut house);
    let names: Vec<&str> = held.claimed["assistant"]["functions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|f| f["name"].as_str())
        .collect();
    assert_eq!(names, ["calendar_slots", "calendar_book"]);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    house.outside(|request| {
        assert_eq!(request.headers[0].1.0, "Bearer cal_live_key");
        let body = match request.url.as_str() {
            "https://api.cal.com/v2/me" => json!({ "data": { "username": "ana" } }),
            "https://api.cal.com/v2/slots?eventTypeSlug=intro&username=ana&start=2026-09-22&end=2026-09-23&timeZone=Europe%2FBucharest" => {
                json!({ "data": { "2026-09-22": [{ "start": "2026-09-22T09:00:00Z" }] } })
            }
            "https://api.cal.com/v2/bookings" => {
                let sent: Value = serde_json::from_slice(&request.body).expect("JSON");
                assert_eq!(sent, json!({
                    "eventTypeSlug": "intro", "username": "ana", "start": "2026-09-22T09:00:00Z",
                    "attendee": { "name": "Ana", "email": "ana@example.com", "timeZone": "Europe/Bucharest" },
                }));
                json!({ "status": "success" })
            }
            other => panic!("{other} was asked"),
        };
        Ok(HttpIn { status: 200, body: body.to_string().into_bytes(), ..HttpIn::default() })
    });
    let run = |house: &mut House, name: &str, arguments: Value| {
        let path = format!("/engine/calls/1/tools/{name}");
        house.post(&path, &json!({ "arguments": arguments })).token(&line.token).send().expect(200).json
    };
    let slots = run(&mut house, "calendar_slots", json!({ "start_date": "2026-09-22", "end_date": "2026-09-23" }));
    assert!(slots["body"].as_str().expect("text").contains("09:00:00Z"));
    let booked = run(
        &mut house,
        "calendar_book",
        json!({ "start": "2026-09-22T09:00:00Z", "name": "Ana", "email": "ana@example.com" }),
    );
    assert_eq!((&booked["status"], &booked["body"]), (&json!(200), &json!(r#"{"status":"success"}"#)));
    house.outside(|_| Ok(HttpIn { status: 401, ..HttpIn::default() }));
    let days = json!({ "start_date": "2026-09-22", "end_date": "2026-09-23" });
    assert_eq!(run(&mut house, "calendar_slots", days)["status"], 401, "what the calendar says is passed on");
}
