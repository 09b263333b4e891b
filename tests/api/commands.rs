//! docs/api.md, Commands: what users have the engine of a call do, and how it comes there.

use serde_json::{Value, json};
use switchboard_tests::house::{Got, House, assistant};
use switchboard_tests::line::{Held, Line};

fn held(protocol: u32, events: &[&str]) -> (House, Line, Held) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    house.make_call(id);
    let line = Line::attach(&mut house);
    let claimed = claim(&mut house, &line, "one", protocol);
    let mut held = Held::of(claimed["calls"][0].clone());
    for kind in events {
        line.say(&mut house, &mut held, &[json!({ "type": kind })]).expect(200);
    }
    (house, line, held)
}

fn claim(house: &mut House, line: &Line, engine: &str, protocol: u32) -> Value {
    let body = json!({ "engine": engine, "protocol": protocol });
    house.post("/engine/claim", &body).token(&line.token).send().expect(200).json
}

fn command(house: &mut House, held: &Held, body: &Value) -> Got {
    house.post(&format!("/user/calls/{}/commands", held.id), body).send()
}

fn renewed(house: &mut House, line: &Line, held: &Held) -> Value {
    line.send(house, held.id, &[]).expect(200).json["commands"].clone()
}

#[test]
fn each_command_reaches_the_engine_with_its_members() {
    let (mut house, line, mut held) = held(2, &["answered"]);
    let all = [
        json!({ "type": "say", "text": "One moment" }),
        json!({ "type": "context", "text": "The customer is a doctor" }),
        json!({ "type": "transfer", "to": "+12125550100" }),
        json!({ "type": "dtmf", "digits": "12#*A" }),
        json!({ "type": "hold" }),
        json!({ "type": "resume" }),
        json!({ "type": "end", "after": "sentence" }),
        json!({ "type": "end" }),
    ];
    for (at, body) in all.iter().enumerate() {
        let got = command(&mut house, &held, body).expect(202);
        let id = (at + 1).to_string();
        assert_eq!(got.json["data"], json!({ "id": id, "type": body["type"], "status": "sent" }));
    }
    let told = renewed(&mut house, &line, &held);
    for ((at, sent), told) in all.iter().enumerate().zip(told.as_array().expect("a list")) {
        let mut want = sent.clone();
        want["call_id"] = json!(held.id);
        want["id"] = json!((at + 1).to_string());
        assert_eq!(*told, want);
    }
    // A command is repeated until the engine says how it ended.
    let ends = [
        json!({ "type": "command", "id": "1", "status": "done" }),
        json!({ "type": "command", "id": "3", "status": "refused", "reason": "busy" }),
        json!({ "type": "command", "id": "77", "status": "done" }),
    ];
    let left = line.say(&mut house, &mut held, &ends).expect(200).json["commands"].clone();
    let ids: Vec<&str> = left.as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(ids, ["2", "4", "5", "6", "7", "8"]);
    let events = house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json;
    let ended: Vec<&Value> =
        events["data"].as_array().expect("a list").iter().filter(|event| event["type"] == "command").collect();
    assert_eq!((ended.len(), &ended[1]["reason"]), (3, &json!("busy")));
}

#[test]
fn a_command_is_repeated_for_a_minute() {
    let (mut house, line, held) = held(2, &["answered"]);
    command(&mut house, &held, &json!({ "type": "hold" })).expect(202);
    for (seconds, want) in [(29, 1), (29, 1), (1, 1), (1, 0)] {
        house.now = house.now.plus_seconds(seconds);
        house.tick();
        assert_eq!(renewed(&mut house, &line, &held).as_array().map(Vec::len), Some(want), "{seconds}");
    }
}

/// A claim tells of new commands once, and only the engine that has the call.
#[test]
fn a_claim_of_the_engine_is_answered_with_new_commands_once() {
    let (mut house, line, held) = held(2, &["answered"]);
    command(&mut house, &held, &json!({ "type": "hold" })).expect(202);
    let other = Line::attach(&mut house);
    assert_eq!(claim(&mut house, &other, "one", 2)["commands"], json!([]));
    assert_eq!(claim(&mut house, &line, "two", 2)["commands"], json!([]));
    assert_eq!(claim(&mut house, &line, "one", 1)["commands"], json!([]));
    let told = claim(&mut house, &line, "one", 2)["commands"].clone();
    assert_eq!(told, json!([{ "call_id": held.id, "id": "1", "type": "hold" }]));
    assert_eq!(claim(&mut house, &line, "one", 2)["commands"], json!([]));
    assert_eq!(renewed(&mut house, &line, &held).as_array().map(Vec::len), Some(1), "reports repeat it");
    // An engine without room waits for commands alone.
    command(&mut house, &held, &json!({ "type": "resume" })).expect(202);
    house.make_call(1);
    let body = json!({ "engine": "one", "protocol": 2, "capacity": 0 });
    let told = house.post("/engine/claim", &body).token(&line.token).send().expect(200).json;
    assert_eq!((&told["calls"], told["commands"].as_array().map(Vec::len)), (&json!([]), Some(2)));
}

#[test]
fn a_hang_up_comes_with_a_claim_too_and_until_its_end() {
    let (mut house, line, mut held) = held(2, &["dialing"]);
    house.post(&format!("/user/calls/{}/hangup", held.id), &json!({})).send().expect(200);
    let want = json!([{ "call_id": held.id, "id": "hangup", "type": "hangup" }]);
    assert_eq!(claim(&mut house, &line, "one", 2)["commands"], want);
    assert_eq!(renewed(&mut house, &line, &held), want);
    let done = json!({ "type": "command", "id": "hangup", "status": "done" });
    assert_eq!(line.say(&mut house, &mut held, &[done]).expect(200).json["commands"], json!([]));
    line.say(&mut house, &mut held, &[json!({ "type": "failed", "reason": "cancelled" })]).expect(200);
    assert_eq!(renewed(&mut house, &line, &held), want, "an engine that goes on is told to hang up");
    assert_eq!(claim(&mut house, &line, "one", 2)["commands"], json!([]));
}

/// What nobody fetched goes with its call.
#[test]
fn an_ended_call_leaves_no_commands_behind() {
    let (mut house, line, mut held) = held(2, &["answered"]);
    let before = house.store.rows().len();
    command(&mut house, &held, &json!({ "type": "hold" })).expect(202);
    assert_eq!(house.store.rows().len(), before + 1);
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
    assert_eq!(claim(&mut house, &line, "one", 2)["commands"], json!([]));
    assert_eq!(renewed(&mut house, &line, &held)[0]["type"], "hangup");
}

#[test]
fn commands_need_an_answered_call_of_an_engine_that_understands_them() {
    for (protocol, events, says) in [
        (1, &["answered"][..], "edition 1"),
        (2, &[][..], "not answered"),
        (2, &["dialing", "ringing"][..], "not answered"),
        (2, &["answered", "ended"][..], "is over"),
    ] {
        let (mut house, _, held) = held(protocol, events);
        let got = command(&mut house, &held, &json!({ "type": "hold" })).expect(409);
        assert!(got.json["message"].as_str().is_some_and(|text| text.contains(says)), "{}", got.json);
    }
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let call = house.make_call(id);
    let got = house.post(&format!("/user/calls/{call}/commands"), &json!({ "type": "hold" })).send().expect(409);
    assert_eq!(got.json["message"], "No engine has the call yet.");
    house.post("/user/calls/77/commands", &json!({ "type": "hold" })).send().expect(404);
}

#[test]
fn a_command_says_what_it_needs() {
    let (mut house, _, held) = held(2, &["answered"]);
    for (body, field) in [
        (json!({}), "type"),
        (json!({ "type": "hangup" }), "type"),
        (json!({ "type": "say" }), "text"),
        (json!({ "type": "context", "text": "x".repeat(2_001) }), "text"),
        (json!({ "type": "transfer", "text": "x" }), "to"),
        (json!({ "type": "dtmf" }), "digits"),
        (json!({ "type": "dtmf", "digits": "12w" }), "digits"),
        (json!({ "type": "end", "after": "word" }), "after"),
    ] {
        let got = command(&mut house, &held, &body).expect(422);
        assert!(got.json["errors"].get(field).is_some(), "{body} {}", got.json);
    }
}

#[test]
fn a_call_has_sixteen_pending_commands_at_most() {
    let (mut house, line, mut held) = held(2, &["answered"]);
    for _ in 0..16 {
        command(&mut house, &held, &json!({ "type": "say", "text": "x".repeat(2_000) })).expect(202);
    }
    command(&mut house, &held, &json!({ "type": "hold" })).expect(409);
    line.say(&mut house, &mut held, &[json!({ "type": "command", "id": "9", "status": "done" })]).expect(200);
    command(&mut house, &held, &json!({ "type": "hold" })).expect(202);
    command(&mut house, &held, &json!({ "type": "hold" })).expect(409);
    house.now = house.now.plus_seconds(29);
    line.send(&mut house, held.id, &[]).expect(200);
    house.now = house.now.plus_seconds(29);
    line.send(&mut house, held.id, &[]).expect(200);
    house.now = house.now.plus_seconds(2);
    // What was repeated in vain makes room.
    command(&mut house, &held, &json!({ "type": "resume" })).expect(202);
}

/// A call that came in has commands as well, where its engine says what it understands.
#[test]
fn an_engine_that_brings_a_call_says_who_it_is() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let line = Line::attach(&mut house);
    let came = json!({ "type": "web", "assistant_id": id, "engine": "one", "protocol": 2 });
    let mut held = Held::of(house.post("/engine/calls", &came).token(&line.token).send().expect(201).json);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    command(&mut house, &held, &json!({ "type": "hold" })).expect(202);
    assert_eq!(claim(&mut house, &line, "two", 2)["commands"], json!([]));
    assert_eq!(claim(&mut house, &line, "one", 2)["commands"][0]["type"], "hold");
}

/// The events of a tool's request are taken first, and stay taken if the tool is refused.
#[test]
fn a_tools_request_carries_the_events_that_led_to_it() {
    let (mut house, line, mut held) = held(2, &[]);
    let path = |name: &str| format!("/engine/calls/{}/tools/{name}", held.id);
    let events = json!([{ "seq": 1, "type": "answered" }, { "seq": 2, "type": "transcript", "sender": "human", "text": "When?" }]);
    let got = house.post(&path("look"), &json!({ "events": events })).token(&line.token).send().expect(404);
    assert_eq!((&got.json["call_status"], &got.json["next_seq"]), (&json!("in-progress"), &json!(3)));
    assert_eq!(house.get(&format!("/user/calls/{}", held.id)).json["transcript"], "Customer: When?");
    // The same once more changes nothing, and a gap is told as everywhere.
    house.post(&path("look"), &json!({ "events": events })).token(&line.token).send().expect(404);
    assert_eq!(house.get(&format!("/user/calls/{}", held.id)).json["transcript"], "Customer: When?");
    let gap = json!([{ "seq": 9, "type": "ended" }]);
    let got = house.post(&path("look"), &json!({ "events": gap })).token(&line.token).send().expect(409);
    assert_eq!(got.json["next_seq"], 3);
    let end = json!([{ "seq": 3, "type": "ended" }]);
    let got = house.post(&path("look"), &json!({ "events": end })).token(&line.token).send().expect(409);
    assert_eq!((&got.json["message"], &got.json["next_seq"]), (&json!("The call is over."), &json!(4)));
    held.seq = 3;
    line.say(&mut house, &mut held, &[json!({ "type": "cost" })]).expect(200);
}
