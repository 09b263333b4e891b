//! docs/api.md, Reporting events: what engines of edition 2 say, and calls that they give back.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{House, assistant, with};
use switchboard_tests::line::{Held, Line, said};

const METERED: &str = "/admin/accounts/1";

fn answered(changes: &Value) -> (House, Line, Held) {
    let (mut house, line, mut held) = claimed(changes);
    line.say(&mut house, &mut held, &[json!({ "type": "dialing" }), json!({ "type": "answered" })]).expect(200);
    (house, line, held)
}

fn claimed(changes: &Value) -> (House, Line, Held) {
    let mut house = House::default();
    let id =
        house.make("/user/assistant", &with(assistant(), &with(json!({ "post_call_evaluation": false }), changes)));
    house.make_call(id);
    let line = Line::attach(&mut house);
    let held = take(&mut house, &line, "one").expect("a call waits");
    (house, line, held)
}

/// Claims a call as an engine of edition 2 with this name.
fn take(house: &mut House, line: &Line, engine: &str) -> Option<Held> {
    let body = json!({ "engine": engine, "protocol": 2 });
    let got = house.post("/engine/claim", &body).token(&line.token).send().expect(200);
    got.json["calls"].get(0).cloned().map(Held::of)
}

fn call(house: &mut House, held: &Held) -> Value {
    house.get(&format!("/user/calls/{}", held.id)).expect(200).json
}

fn events(house: &mut House, held: &Held) -> Vec<Value> {
    let got = house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json;
    got["data"].as_array().expect("a list").clone()
}

fn of(house: &mut House, held: &Held, kind: &str) -> Vec<Value> {
    events(house, held).into_iter().filter(|event| event["type"] == kind).collect()
}

/// Returns an event without what the service adds.
fn own(mut event: Value) -> Value {
    let members = event.as_object_mut().expect("an object");
    ["seq", "at", "type"].iter().for_each(|name| drop(members.remove(*name)));
    event
}

#[test]
fn an_engine_asks_what_it_can_rely_on() {
    let mut house = House::default();
    let line = Line::attach(&mut house);
    let got = house.call(Method::Get, "/engine").token(&line.token).send().expect(200).json;
    assert_eq!((&got["protocol"], &got["lease_seconds"]), (&json!(2), &json!(30)));
    let types: Vec<&str> = got["event_types"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(types.contains(&"dialing") && types.contains(&"usage") && !types.contains(&"*"), "{types:?}");
    assert_eq!(got["limits"]["events_per_report"], 100);
    let user = house.key.clone();
    house.call(Method::Get, "/engine").token(&user).send().expect(401);
}

#[test]
fn every_event_is_stored_with_its_members() {
    let (mut house, line, mut held) = answered(&json!({ "record": true }));
    let all = [
        json!({ "type": "detected", "answered_by": "machine", "kind": "voicemail", "beep": true }),
        json!({ "type": "transcript", "sender": "human", "text": "Yes", "turn": 1, "interrupted": true, "language": "en", "confidence": 0.9 }),
        json!({ "type": "transfer", "to": "+12125550100", "mode": "warm", "status": "failed", "reason": "busy" }),
        json!({ "type": "dtmf", "digits": "42", "by": "assistant" }),
        json!({ "type": "hold" }),
        json!({ "type": "resume" }),
        json!({ "type": "metrics", "turn": 1, "llm_ms": 300, "total_ms": 700, "interrupted": false }),
        json!({ "type": "quality", "mos": 4.3, "loss": 0.01, "jitter_ms": 3.5, "rtt_ms": 40.0, "codec": "PCMU" }),
        json!({ "type": "usage", "stt_seconds": 10.0, "tts_characters": 0.0, "llm_tokens_in": 0.0, "llm_tokens_out": 0.0, "carrier_seconds": 0.0 }),
        json!({ "type": "unsupported", "settings": ["ambient_sound"] }),
        json!({ "type": "command", "id": "c1", "status": "refused", "reason": "no keypad" }),
    ];
    let told = line.say(&mut house, &mut held, &all).expect(200).json;
    assert_eq!(told["ignored"], json!([]));
    let stored: Vec<Value> = events(&mut house, &held).into_iter().skip(4).collect();
    assert_eq!(stored.len(), all.len());
    for (stored, sent) in stored.into_iter().zip(all) {
        assert_eq!(stored["type"], sent["type"]);
        assert_eq!(own(stored), own(sent));
    }
    assert_eq!(call(&mut house, &held)["answered_by"], "machine");
}

#[test]
fn what_is_understood_so_far_is_never_stored() {
    let (mut house, line, mut held) = answered(&json!({}));
    let before = events(&mut house, &held).len();
    line.say(&mut house, &mut held, &[json!({ "type": "partial", "turn": 1, "text": "I wo" })]).expect(200);
    assert_eq!(events(&mut house, &held).len(), before);
    assert_eq!(call(&mut house, &held)["transcript"], "");
}

#[test]
fn events_of_tomorrow_are_stored_and_named() {
    let (mut house, line, mut held) = answered(&json!({}));
    let tomorrow = json!({ "type": "mood", "score": 0.7, "why": { "type": "transcript", "words": ["fine"] } });
    let told =
        line.say(&mut house, &mut held, &[said("human", "Hi"), tomorrow.clone(), said("bot", "Hello")]).expect(200);
    assert_eq!(told.json["ignored"], json!([{ "seq": 4, "type": "mood" }]));
    assert_eq!(own(of(&mut house, &held, "mood").remove(0)), own(tomorrow));
    // One that holds an event of another type is none of that type.
    assert_eq!(call(&mut house, &held)["transcript"], "Customer: Hi\nAI: Hello");
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
    assert_eq!(call(&mut house, &held)["transcript"], "Customer: Hi\nAI: Hello");
}

#[test]
fn an_unknown_event_has_bounds_and_none_is_the_services_own() {
    let (mut house, line, held) = answered(&json!({}));
    let path = format!("/engine/calls/{}/events", held.id);
    for (event, field) in [
        (json!({ "seq": 3, "type": "mood", "text": "x".repeat(4_096) }), "events.0"),
        (json!({ "seq": 3, "type": "tool", "name": "look", "status": 200 }), "events.0.type"),
        (json!({ "seq": 3, "type": "knowledge" }), "events.0.type"),
        (json!({ "seq": 3, "type": "claimed", "engine": "x" }), "events.0.type"),
        (json!({ "seq": 3, "type": "completed" }), "events.0.type"),
        (json!({ "seq": 3, "type": "Mood" }), "events.0.type"),
        (json!({ "seq": 3, "type": "*" }), "events.0.type"),
        (json!({ "seq": 3 }), "events.0.type"),
        (json!({ "type": "mood" }), "events.0.seq"),
    ] {
        let got = house.post(&path, &json!({ "events": [event] })).token(&line.token).send().expect(422);
        let fields: Vec<&String> = got.json["errors"].as_object().expect("errors").keys().collect();
        assert_eq!(fields, [field], "{event}");
    }
    assert_eq!(events(&mut house, &held).len(), 4);
}

#[test]
fn keys_of_a_customer_are_kept_only_where_they_are_asked_for() {
    let asks = json!({ "tools": [{ "type": "collect_keypad" }] });
    for (changes, keys, stored) in [
        (json!({}), json!({ "digits": "4929" }), json!({ "digits": null, "count": 4 })),
        (
            json!({}),
            json!({ "digits": "49", "by": "customer" }),
            json!({ "digits": null, "count": 2, "by": "customer" }),
        ),
        (json!({}), json!({ "digits": "1#", "by": "assistant" }), json!({ "digits": "1#", "by": "assistant" })),
        (asks, json!({ "digits": "49", "by": "customer" }), json!({ "digits": "49", "by": "customer" })),
    ] {
        let (mut house, line, mut held) = answered(&changes);
        line.say(&mut house, &mut held, &[with(json!({ "type": "dtmf" }), &keys)]).expect(200);
        assert_eq!(own(of(&mut house, &held, "dtmf").remove(0)), stored, "{keys}");
    }
}

#[test]
fn the_latency_of_a_call_is_that_of_its_turns() {
    let (mut house, line, mut held) = answered(&json!({}));
    let turn = |total: u32, llm: u32| json!({ "type": "metrics", "total_ms": total, "llm_ms": llm });
    line.say(&mut house, &mut held, &[turn(900, 400), turn(500, 200), json!({ "type": "metrics", "tool_ms": 80 })])
        .expect(200);
    assert_eq!(call(&mut house, &held)["latency"], Value::Null, "not before the end");
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
    let latency = call(&mut house, &held)["latency"].clone();
    assert_eq!([&latency["p50"], &latency["p90"], &latency["max"], &latency["turns"]], [500, 900, 900, 2]);
    assert_eq!([&latency["stages"]["llm_ms"], &latency["stages"]["tool_ms"]], [200, 80]);
    assert_eq!(latency["stages"]["stt_ms"], Value::Null);
    // What is known only after the end counts too.
    line.say(&mut house, &mut held, &[turn(1_300, 600)]).expect(200);
    let latency = call(&mut house, &held)["latency"].clone();
    assert_eq!([&latency["p50"], &latency["max"], &latency["turns"]], [900, 1_300, 3]);
}

#[test]
fn what_a_call_used_is_priced_by_the_list_unless_the_engine_says_what_it_cost() {
    let prices = json!({ "items": [
        { "unit": "stt_second", "price": 0.001 },
        { "unit": "stt_second", "code": "deepgram", "price": 0.002 },
        { "unit": "tts_character", "price": 0.00001 },
        { "unit": "llm_token_in", "price": 0.000_002 },
        { "unit": "llm_token_in", "code": "gpt-4.1", "price": 0.000_004 },
        { "unit": "llm_token_out", "price": 0.000_008 },
        { "unit": "carrier_second", "price": 0.0001 },
        { "unit": "platform_minute", "price": 0.06 },
    ] });
    let used = json!({ "type": "usage", "stt_seconds": 30, "tts_characters": 400, "llm_tokens_in": 5_000, "llm_tokens_out": 250, "carrier_seconds": 60 });
    for is_priced in [false, true] {
        let (mut house, line, mut held) = answered(&json!({}));
        let operator = house.operator.clone();
        house.put("/admin/prices", &prices).token(&operator).send().expect(200);
        house.put(METERED, &json!({ "balance": 10 })).token(&operator).send().expect(200);
        let provider = held.claimed["assistant"]["transcriber_provider"]["code"].as_str().expect("a code").to_owned();
        let second = if provider == "deepgram" { 0.002 } else { 0.001 };
        house.now = house.now.plus_seconds(90);
        let mut said = vec![used.clone(), used.clone()];
        said.extend(is_priced.then(|| json!({ "type": "cost", "carrier_cost": 0.01, "total_cost": 0.5 })));
        said.push(json!({ "type": "ended" }));
        line.say(&mut house, &mut held, &said).expect(200);
        let shown = call(&mut house, &held);
        let parts = json!({ "carrier": 0.012, "stt": 60.0 * second, "llm": 0.044, "tts": 0.008, "platform": 0.09 });
        assert_eq!(shown["cost_breakdown"], parts);
        let (carrier, total) = if is_priced { (0.01, 0.5) } else { (0.012, 0.154 + 60.0 * second) };
        assert_eq!(shown["carrier_cost"], carrier);
        assert!((shown["total_cost"].as_f64().expect("a number") - total).abs() < 1e-9, "{shown}");
        let left =
            |house: &mut House| house.get("/user/me").expect(200).json["total_balance"].as_f64().expect("a number");
        assert!((left(&mut house) - (10.0 - total)).abs() < 1e-9);
        // Usage that is known only after the end is charged then.
        line.say(&mut house, &mut held, &[json!({ "type": "usage", "llm_tokens_out": 1_000 })]).expect(200);
        let total = if is_priced { total } else { total + 0.008 };
        assert!((left(&mut house) - (10.0 - total)).abs() < 1e-9);
    }
}

#[test]
fn after_the_end_only_what_is_known_later_is_taken() {
    let late = [
        (json!({ "type": "metrics", "total_ms": 1 }), 200),
        (json!({ "type": "quality", "mos": 4.0 }), 200),
        (json!({ "type": "usage" }), 200),
        (json!({ "type": "cost" }), 200),
        (json!({ "type": "recording", "url": "https://r.example/1" }), 200),
        (json!({ "type": "dtmf", "digits": "1" }), 409),
        (json!({ "type": "partial", "text": "x" }), 409),
        (json!({ "type": "command", "id": "c", "status": "done" }), 409),
        (json!({ "type": "unsupported", "settings": ["x"] }), 409),
        (json!({ "type": "mood" }), 409),
        (json!({ "type": "hold" }), 409),
    ];
    for (event, want) in late {
        let (mut house, line, mut held) = answered(&json!({ "record": true }));
        line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
        house.now = house.now.plus_seconds(86_399);
        line.say(&mut house, &mut held, std::slice::from_ref(&event)).expect(want);
        house.now = house.now.plus_seconds(1);
        held.seq = if want == 200 { 4 } else { 3 };
        line.say(&mut house, &mut held, &[event]).expect(409);
    }
}

#[test]
fn a_line_from_before_the_end_may_come_half_a_minute_late() {
    for (wait, at, want) in [(29, 0, 200), (30, 0, 409), (5, 10, 409)] {
        let (mut house, line, mut held) = answered(&json!({}));
        let before = house.now;
        house.now = house.now.plus_seconds(8);
        line.say(&mut house, &mut held, &[said("bot", "Hello"), json!({ "type": "ended" })]).expect(200);
        house.now = house.now.plus_seconds(wait);
        let late = with(said("human", "Bye"), &json!({ "at": before.plus_seconds(at).iso() }));
        line.say(&mut house, &mut held, &[late]).expect(want);
        let transcript = if want == 200 { "AI: Hello\nCustomer: Bye" } else { "AI: Hello" };
        assert_eq!(call(&mut house, &held)["transcript"], transcript);
    }
    let (mut house, line, mut held) = claimed(&json!({}));
    line.say(&mut house, &mut held, &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
    let early = with(said("human", "Bye"), &json!({ "at": "2000-01-01T00:00:00Z" }));
    line.say(&mut house, &mut held, &[early]).expect(409);
}

#[test]
fn a_call_that_is_given_back_goes_to_another_engine_and_fails_the_third_time() {
    let (mut house, line, mut held) = claimed(&json!({}));
    line.say(&mut house, &mut held, &[json!({ "type": "release", "reason": "no trunk" })]).expect(200);
    let shown = call(&mut house, &held);
    assert_eq!((&shown["status"], &shown["ended_reason"]), (&json!("initiated"), &Value::Null));
    assert_eq!(own(of(&mut house, &held, "release").remove(0)), json!({ "reason": "no trunk" }));
    // Its engine has lost it, and does not get it again; others do, under the same token too.
    line.say(&mut house, &mut held, &[json!({ "type": "dialing" })]).expect(404);
    assert!(take(&mut house, &line, "one").is_none());
    let mut held = take(&mut house, &line, "two").expect("a call waits");
    assert_eq!(held.claimed["next_seq"], 1);
    line.say(&mut house, &mut held, &[json!({ "type": "release" })]).expect(200);
    let other = Line::attach(&mut house);
    let mut held = take(&mut house, &other, "one").expect("a call waits");
    let told = other.say(&mut house, &mut held, &[json!({ "type": "release" })]).expect(200).json;
    assert_eq!((&told["call_status"], &told["lease"]), (&json!("failed"), &Value::Null));
    let shown = call(&mut house, &held);
    assert_eq!((&shown["status"], &shown["ended_reason"]), (&json!("failed"), &json!("no_engine")));
    assert!(take(&mut house, &other, "three").is_none());
}

#[test]
fn what_was_dialed_or_came_in_is_never_given_back() {
    for first in [json!({ "type": "dialing" }), json!({ "type": "ringing" }), json!({ "type": "answered" })] {
        let (mut house, line, mut held) = claimed(&json!({}));
        line.say(&mut house, &mut held, &[first]).expect(200);
        line.say(&mut house, &mut held, &[json!({ "type": "release" })]).expect(409);
    }
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let line = Line::attach(&mut house);
    let came = json!({ "type": "web", "assistant_id": id });
    let mut held = Held::of(house.post("/engine/calls", &came).token(&line.token).send().expect(201).json);
    line.say(&mut house, &mut held, &[json!({ "type": "release" })]).expect(409);
}

/// The lease of an engine runs out: before it dialed, the call waits again; once it dialed, nobody else may ring.
#[test]
fn an_engine_that_falls_silent_before_it_dials_loses_the_call_to_another() {
    let (mut house, line, held) = claimed(&json!({}));
    let silent = |house: &mut House| {
        house.now = house.now.plus_seconds(30);
        house.tick();
    };
    silent(&mut house);
    assert_eq!(call(&mut house, &held)["status"], "initiated");
    assert_eq!(own(of(&mut house, &held, "release").remove(0)), json!({ "reason": "lease_expired" }));
    // The same engine may have it again: it did not say that it cannot.
    let mut held = take(&mut house, &line, "one").expect("a call waits");
    line.say(&mut house, &mut held, &[json!({ "type": "dialing" })]).expect(200);
    silent(&mut house);
    let shown = call(&mut house, &held);
    assert_eq!((&shown["status"], &shown["ended_reason"]), (&json!("failed"), &json!("lease_expired")));
    // An engine of edition 1 does not say when it dials.
    let (mut house, _, _) = claimed(&json!({}));
    house.make_call(1);
    let line = Line::attach(&mut house);
    let held = line.take(&mut house);
    silent(&mut house);
    assert_eq!(call(&mut house, &held)["status"], "failed");
}

#[test]
fn a_call_that_is_given_back_while_it_is_hung_up_ends() {
    let (mut house, line, mut held) = claimed(&json!({}));
    house.post(&format!("/user/calls/{}/hangup", held.id), &json!({})).send().expect(200);
    line.say(&mut house, &mut held, &[json!({ "type": "release" })]).expect(200);
    let shown = call(&mut house, &held);
    assert_eq!((&shown["status"], &shown["ended_reason"]), (&json!("failed"), &json!("hangup")));
}

#[test]
fn a_claims_filter_narrows_what_an_engine_gets() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    house.make_call(id);
    let line = Line::attach(&mut house);
    let mut claim = |filter: Value| {
        let body = json!({ "engine": "one", "filter": filter });
        let got = house.post("/engine/claim", &body).token(&line.token).send();
        (got.status, got.json["calls"].as_array().map(Vec::len))
    };
    assert_eq!(claim(json!({ "types": ["inbound", "web"] })), (200, Some(0)));
    assert_eq!(claim(json!({ "account_ids": [77] })), (200, Some(0)));
    assert_eq!(claim(json!({ "types": ["nothing"] })).0, 422);
    assert_eq!(claim(json!({ "account_ids": [1], "types": ["outbound"] })), (200, Some(1)));
}

#[test]
fn beyond_its_events_a_call_only_counts_what_measures_it_and_refuses_the_rest() {
    let (mut house, line, mut held) = answered(&json!({}));
    for _ in 0..200 {
        let _ = line.say(&mut house, &mut held, &vec![json!({ "type": "metrics", "turn": 1 }); 100]).expect(200);
    }
    line.say(&mut house, &mut held, &[json!({ "type": "mood" }), json!({ "type": "quality" })]).expect(200);
    let got = line.say(&mut house, &mut held, &[said("bot", "x")]).expect(409);
    assert_eq!(got.json["message"], "The call has the most events that a call may have.");
    held.seq -= 1;
    line.say(&mut house, &mut held, &[json!({ "type": "cost", "total_cost": 0.2 }), json!({ "type": "ended" })])
        .expect(200);
    assert_eq!(call(&mut house, &held)["total_cost"], 0.2);
    let last = house.get(&format!("/user/calls/{}/events?after=19999", held.id)).expect(200).json;
    let last: Vec<&Value> = last["data"].as_array().expect("a list").iter().collect();
    let kinds: Vec<&str> = last.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds, ["metrics", "ended", "dropped", "completed"]);
    // Four events were stored before the metrics.
    assert_eq!(last[2]["count"], 6);
}
