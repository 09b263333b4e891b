//! What a call asks is told in its events: tool requests whole, searches by what they found (docs/api.md, Tools and
//! knowledge in a call).

use serde_json::{Value, json};
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::outside::{Answer, HttpIn, SendError};
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant, tool, with};
use switchboard_tests::line::{Held, Line};

const SECRET: &str = "marker-of-a-header";

/// An answered call whose assistant has the tool `look` and a knowledgebase with a document about bicycles.
fn answered(changes: &Value) -> (House, Line, Held) {
    let mut house = House::default();
    let header = json!([{ "name": "Authorization", "value": format!("Bearer {SECRET}") }]);
    let own = json!({ "endpoint": "https://user:pass@tools.example/w/{city}?key=hidden", "headers": header, "timeout": 7,
        "schema": [{ "name": "city", "type": "string", "description": "A city" }] });
    let look = house.make("/user/tools", &with(with(tool("look"), &own), changes));
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let form = "--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nF\r\n--x\r\nContent-Disposition: form-data; \
        name=\"type\"\r\n\r\ntxt\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n\
        We repair bicycles.\r\n--x--\r\n";
    let upload = house.call(Method::Post, &format!("/user/knowledgebases/{base}/documents"));
    let media = "multipart/form-data; boundary=x";
    upload.header("content-type", media).body(form.as_bytes().to_vec()).send().expect(201);
    house.tick();
    let settings = json!({ "tool_ids": [look], "knowledgebase_id": base, "post_call_evaluation": false });
    let id = house.make("/user/assistant", &with(assistant(), &settings));
    house.make_call(id);
    let line = Line::attach(&mut house);
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    (house, line, held)
}

fn ask(house: &mut House, line: &Line, held: &Held, arguments: &Value) -> Got {
    let path = format!("/engine/calls/{}/tools/look", held.id);
    house.post(&path, &json!({ "arguments": arguments })).token(&line.token).send()
}

fn events(house: &mut House, id: u64, kind: &str) -> Vec<Value> {
    let got = house.get(&format!("/user/calls/{id}/events")).expect(200).json;
    let events = got["data"].as_array().expect("a list").iter();
    events.filter(|event| event["type"] == kind).cloned().collect()
}

#[test]
fn a_tool_request_is_told_with_arguments_and_answer() {
    let (mut house, line, mut held) = answered(&json!({}));
    house.outside(|request| {
        assert_eq!(request.url, "https://user:pass@tools.example/w/Iasi?key=hidden");
        Ok(HttpIn { status: 418, body: b"I am a teapot".to_vec(), duration_ms: 42, ..HttpIn::default() })
    });
    ask(&mut house, &line, &held, &json!({ "city": "Iasi", "days": 2.5, "more": true })).expect(200);
    let want = json!({
        "seq": 4, "at": house.now.iso(), "type": "tool", "name": "look",
        "arguments": { "city": "Iasi", "days": 2.5, "more": true },
        "status": 418, "body": "I am a teapot", "error": null, "duration_ms": 42,
    });
    assert_eq!(events(&mut house, held.id, "tool"), [want]);
    let next = line.say(&mut house, &mut held, &[json!({ "type": "dtmf", "digits": "1" })]).expect(200);
    assert_eq!(next.json["call_status"], "in-progress", "the engine's own count goes on");
    assert_eq!(events(&mut house, held.id, "dtmf")[0]["seq"], 5);
}

#[test]
fn the_body_is_cut_at_4_kibibytes_and_shows_no_secret_of_a_header() {
    let (mut house, line, held) = answered(&json!({}));
    let long = "ä".repeat(1_200) + &"x".repeat(10_000);
    for (body, want) in [
        (format!("Authorization: Bearer {SECRET}"), "Authorization: Bearer ****".to_owned()),
        // A two-byte character does not fit the last byte.
        ("x".to_owned() + &"ä".repeat(3_000), "x".to_owned() + &"ä".repeat(2_047)),
        (long.clone(), long.chars().take(1_200 + 4_096 - 2_400).collect()),
        // A secret at the cut is masked before it.
        ("y".repeat(4_090) + SECRET + "rest", "y".repeat(4_090) + "****re"),
        (String::new(), String::new()),
    ] {
        let answer = HttpIn { status: 200, body: body.clone().into_bytes(), ..HttpIn::default() };
        house.outside(move |_| Ok(answer.clone()));
        assert_eq!(
            ask(&mut house, &line, &held, &json!({ "city": "Iasi" })).expect(200).json["body"],
            *body,
            "engines get it whole"
        );
        let told = events(&mut house, held.id, "tool");
        assert_eq!(told.last().expect("an event")["body"], want);
    }
    let rows = house.store.rows().iter().filter(|(key, _)| !switchboard_core::key::holds_secrets(key.as_slice()));
    let told = rows.filter(|(_, row)| row.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    assert_eq!(told.count(), 0, "no event stores it");
}

#[test]
fn an_endpoint_without_an_answer_is_named_with_the_reason() {
    let (mut house, line, held) = answered(&json!({}));
    for (error, status, reason) in [
        (SendError::Unreachable, 502, "could not be reached: there was no connection, or it broke off."),
        (
            SendError::Refused,
            502,
            "may not be reached from here: its address is not public; the operator can allow it.",
        ),
        (SendError::TimedOut, 504, "did not answer within 7 s."),
    ] {
        house.outside(move |_| Err(error));
        let says = format!("https://tools.example/w/Iasi {reason}");
        ask(&mut house, &line, &held, &json!({ "city": "Iasi" })).message(status, &says);
        let event = events(&mut house, held.id, "tool").pop().expect("an event");
        assert_eq!((&event["error"], &event["arguments"]), (&json!(says), &json!({ "city": "Iasi" })));
        for name in ["status", "body", "duration_ms"] {
            assert_eq!(event[name], Value::Null, "{name}");
        }
        let path = "/user/tools/1/test";
        let body = json!({ "arguments": { "city": "Iasi" } });
        house.post(path, &body).send().message(status, &says);
    }
    // A request that was not even made: there is no URL to name.
    ask(&mut house, &line, &held, &json!({ "city": ".." })).expect(502);
    let event = events(&mut house, held.id, "tool").pop().expect("an event");
    assert_eq!(event["error"], "A path parameter must not be . or ..");
}

#[test]
fn a_search_is_told_with_what_it_found() {
    let (mut house, line, held) = answered(&json!({}));
    let path = format!("/engine/calls/{}/knowledge", held.id);
    let mut search = |query: &str| {
        let got = house.post(&path, &json!({ "query": query })).token(&line.token).send().expect(200).json;
        (got["data"].clone(), events(&mut house, held.id, "knowledge").pop().expect("an event"))
    };
    let (found, event) = search("bicycles");
    let passage = json!({ "document_id": found[0]["document_id"], "score": found[0]["score"] });
    assert_eq!(
        (&event["query"], &event["passages"], &event["duration_ms"], &event["seq"]),
        (&json!("bicycles"), &json!([passage]), &Value::Null, &json!(4))
    );
    let (_, event) = search("helicopters");
    assert_eq!((&event["passages"], &event["seq"]), (&json!([]), &json!(5)));
}

#[test]
fn an_engine_cannot_report_them_itself() {
    let (mut house, line, mut held) = answered(&json!({}));
    let before = house.store.rows().clone();
    for event in [
        json!({ "type": "tool", "name": "look", "arguments": {}, "status": 200, "body": "", "duration_ms": 1 }),
        json!({ "type": "knowledge", "query": "x", "passages": [] }),
    ] {
        let mut event = event;
        event["seq"] = json!(held.seq + 1);
        line.send(&mut house, held.id, &[event]).wrong(&["events.0.type"]);
    }
    assert!(*house.store.rows() == before, "nothing of it is stored");
    line.say(&mut house, &mut held, &[json!({ "type": "dtmf", "digits": "1" })]).expect(200);
}

#[test]
fn a_call_that_ends_while_its_tool_is_asked_has_the_event() {
    let (mut house, line, mut held) = answered(&json!({}));
    let headers = [("authorization", format!("Bearer {}", line.token)), ("content-type", "application/json".into())];
    let request = Request {
        method: Method::Post,
        target: format!("/engine/calls/{}/tools/look", held.id),
        headers: headers.map(|(name, value)| (name, value.into_bytes())).into(),
        body: Body::Full(br#"{"arguments":{"city":"Iasi"}}"#.to_vec()),
        peer: None,
        door: Door::Main,
    };
    let seed = house.seed();
    let asked = house.step(&Input::Http(&request, &[]), seed);
    assert!(matches!(asked.outcome, Outcome::Wait) && asked.sends.len() == 1, "the endpoint is asked");
    line.say(&mut house, &mut held, &[json!({ "type": "ended", "by": "customer" })]).expect(200);
    let answer = HttpIn { status: 200, body: b"late".to_vec(), duration_ms: 9, ..HttpIn::default() };
    house.step(&Input::Http(&request, &[Answer::Http(answer)]), seed);
    let event = events(&mut house, held.id, "tool").pop().expect("an event");
    assert_eq!((&event["body"], &event["seq"]), (&json!("late"), &json!(6)));
    let call = house.get(&format!("/user/calls/{}", held.id)).expect(200).json;
    assert_eq!(call["status"], "completed", "it holds no lease of a call that is over");
    assert_eq!(line.send(&mut house, held.id, &[]).expect(200).json["lease"], Value::Null);
}

#[test]
fn arguments_have_a_limit_and_what_does_not_fit_is_told_in_the_call_too() {
    let (mut house, line, held) = answered(&json!({}));
    ask(&mut house, &line, &held, &json!({ "city": "x".repeat(16_384) })).wrong(&["arguments"]);
    let says = "The argument city must be a string, not a list.";
    ask(&mut house, &line, &held, &json!({ "city": ["Iasi"], "seats": [{ "row": null }] })).message(422, says);
    let event = events(&mut house, held.id, "tool").remove(0);
    assert_eq!((&event["error"], &event["status"]), (&json!(says), &Value::Null));
    assert_eq!(event["arguments"], json!({ "city": ["Iasi"], "seats": [{ "row": null }] }));
}

#[test]
fn they_are_live_as_well() {
    let (mut house, line, held) = answered(&json!({}));
    house.outside(|_| Err(SendError::TimedOut));
    ask(&mut house, &line, &held, &json!({ "city": "Iasi" })).expect(504);
    let path = format!("/user/calls/{}/events?after=3", held.id);
    let stream = house.call(Method::Get, &path).header("accept", "text/event-stream").send().expect(200);
    let text = String::from_utf8_lossy(&stream.bytes);
    assert!(text.contains("id: 4\n") && text.contains(r#""type":"tool","name":"look""#), "{text}");
}

#[test]
fn a_call_keeps_8_mebibytes_of_events() {
    let (mut house, line, mut held) = answered(&json!({}));
    house.outside(|_| Ok(HttpIn { status: 200, ..HttpIn::default() }));
    let arguments = json!({ "city": "Iasi", "unknown": "x".repeat(15_000) });
    for _ in 0..570 {
        ask(&mut house, &line, &held, &arguments).expect(200);
    }
    let bytes: usize = house.store.rows().values().map(Vec::len).filter(|length| *length > 15_000).sum();
    assert!(((8 << 20) - 16_000..=8 << 20).contains(&bytes), "{bytes} are stored");
    // What still has room is stored, and the end always is.
    line.say(&mut house, &mut held, &[json!({ "type": "dtmf", "digits": "1" })]).expect(200);
    assert_eq!(events_after(&mut house, held.id, 500).last().expect("an event")["type"], "dtmf");
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
    let kinds: Vec<Value> =
        events_after(&mut house, held.id, 500).into_iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds[kinds.len() - 2..], [json!("ended"), json!("completed")]);
}

fn events_after(house: &mut House, id: u64, after: u64) -> Vec<Value> {
    let got = house.get(&format!("/user/calls/{id}/events?after={after}")).expect(200).json;
    let events = got["data"].as_array().expect("a list").clone();
    match events.last().and_then(|event| event["seq"].as_u64()) {
        Some(last) => [events, events_after(house, id, last)].concat(),
        None => events,
    }
}

#[test]
fn a_call_keeps_20_000_events() {
    let (mut house, line, mut held) = answered(&json!({}));
    let turns = vec![json!({ "type": "metrics", "total_ms": 700 }); 100];
    for _ in 0..200 {
        line.say(&mut house, &mut held, &turns).expect(200);
    }
    house.outside(|_| Ok(HttpIn { status: 200, ..HttpIn::default() }));
    ask(&mut house, &line, &held, &json!({ "city": "Iasi" })).expect(200);
    let last = |house: &mut House, after| events_after(house, held.id, after).last().map(|event| event["seq"].clone());
    assert_eq!(last(&mut house, 19_990), Some(json!(20_000)));
    let mut ended = held.clone();
    line.say(&mut house, &mut ended, &[json!({ "type": "ended" })]).expect(200);
    assert_eq!(last(&mut house, 19_990), Some(json!(20_003)), "the end, what was dropped, and the completion");
}
