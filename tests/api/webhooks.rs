//! Events out (docs/api.md, Events and webhooks): webhooks, their log and secrets, and the feed.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use switchboard_core::http::request::Method;
use switchboard_core::outside::{HttpIn, HttpOut, Redirects, SendError};
use switchboard_core::record::Secret;
use switchboard_core::time::Timestamp;
use switchboard_tests::house::{House, assistant, with};
use switchboard_tests::line::{Held, Line, said};

/// Requests that a receiver got.
#[derive(Clone, Default)]
pub struct Seen(Rc<RefCell<Vec<HttpOut>>>);

impl Seen {
    fn count(&self) -> usize {
        self.0.borrow().len()
    }

    fn body(&self, at: usize) -> Value {
        serde_json::from_slice(&self.0.borrow()[at].body).expect("JSON")
    }

    fn header(&self, at: usize, name: &str) -> String {
        let seen = self.0.borrow();
        let (_, value) = seen[at].headers.iter().find(|(known, _)| known == name).expect(name);
        value.0.clone()
    }
}

/// Sets up a receiver that gives these answers one after another, then 200.
pub fn receiver(house: &mut House, answers: Vec<Result<HttpIn, SendError>>) -> Seen {
    let seen = Seen::default();
    let mut answers: VecDeque<_> = answers.into();
    let noted = Rc::clone(&seen.0);
    house.outside(move |request| {
        noted.borrow_mut().push(request.clone());
        answers.pop_front().unwrap_or_else(|| Ok(answer(200)))
    });
    seen
}

pub fn answer(status: u16) -> HttpIn {
    HttpIn { status, body: b"taken".to_vec(), duration_ms: 12, ..HttpIn::default() }
}

pub fn hooked(changes: &Value) -> (House, Line, u64) {
    let mut house = House::default();
    let hook = json!({
        "is_webhook_active": true, "webhook_url": "https://hook.example/x", "post_call_evaluation": false,
    });
    let id = house.make("/user/assistant", &with(with(assistant(), &hook), changes));
    let line = Line::attach(&mut house);
    (house, line, id)
}

pub fn finished(house: &mut House, line: &Line, assistant: u64) -> Held {
    house.make_call(assistant);
    let mut held = line.take(house);
    line.talk(house, &mut held);
    held
}

fn delivery(house: &mut House) -> Value {
    house.get("/user/webhook-deliveries").expect(200).json["data"][0].clone()
}

#[test]
fn a_completed_call_is_posted_signed_and_its_answer_kept() {
    let (mut house, line, id) = hooked(&json!({}));
    let seen = receiver(&mut house, vec![]);
    let held = finished(&mut house, &line, id);
    house.tick();
    assert_eq!(seen.count(), 1);
    let body = seen.body(0);
    for (name, want) in [
        ("id", json!(held.id)),
        ("type", json!("outbound")),
        ("status", json!("completed")),
        ("assistant_id", json!(id)),
        ("customer_phone", json!("+40700000001")),
        ("assistant_phone", Value::Null),
        ("duration", json!(25)),
        ("input_variables", json!({})),
        ("extracted_variables", json!({})),
        ("formatted_transcript", json!("AI: Hello\nCustomer: Hi")),
        ("evaluation", Value::Null),
        ("recording_url", Value::Null),
        ("lead", Value::Null),
    ] {
        assert_eq!(body[name], want, "{name}");
    }
    assert!(body.get("event").is_none());
    assert_eq!((&body["transcript"][0]["sender"], &body["transcript"][1]["sender"]), (&json!("bot"), &json!("human")));
    assert!(body["transcript"][0]["timestamp"].as_f64().expect("seconds") > 1.7e9);
    assert!(body["created_at"].as_str().expect("ISO").ends_with('Z') && body["finished_at"].is_string());
    assert!(seen.header(0, "webhook-signature").starts_with("v1,"));
    assert_eq!(seen.header(0, "webhook-timestamp"), house.now.seconds().to_string());
    let request = seen.0.borrow()[0].clone();
    assert_eq!((request.method, request.timeout_ms, request.redirects), ("POST", 15_000, Redirects::SameOrigin));
    let call = house.get(&format!("/user/calls/{}", held.id)).json;
    assert_eq!(call["webhook_response"], json!({ "status": 200, "body": "taken" }));
    let row = delivery(&mut house);
    assert_eq!(
        (&row["status"], &row["call_id"], &row["event"]),
        (&json!("delivered"), &json!(held.id), &json!("call.ended"))
    );
    assert_eq!(row["attempts"][0]["status"], 200);
    let feed = house.get("/user/events").expect(200).json;
    assert_eq!((&feed["data"][0]["payload"], &feed["data"][0]["id"]), (&body, &row["webhook_id"]));
    assert_eq!(row["webhook_id"], seen.header(0, "webhook-id"));
}

/// docs/api.md, The feed: which calls are reported, and whether with their recording.
#[test]
fn rules_of_when_and_what() {
    let failed = [json!({ "type": "failed", "reason": "busy" })];
    let done = [
        json!({ "type": "answered" }),
        json!({ "type": "recording", "url": "https://r.example/1" }),
        json!({ "type": "ended" }),
    ];
    for (changes, events, posts, recording) in [
        (json!({}), &failed[..], 0, None),
        (json!({ "send_webhook_only_on_completed": false }), &failed, 1, Some(Value::Null)),
        (json!({ "is_webhook_active": false }), &done, 0, None),
        (json!({}), &done, 1, Some(Value::Null)),
        (json!({ "record": true }), &done, 1, Some(json!("https://r.example/1"))),
        (json!({ "record": true, "include_recording_in_webhook": false }), &done, 1, None),
    ] {
        let (mut house, line, id) = hooked(&changes);
        let seen = receiver(&mut house, vec![]);
        house.make_call(id);
        let mut held = line.take(&mut house);
        line.say(&mut house, &mut held, events).expect(200);
        house.tick();
        assert_eq!(seen.count(), posts, "{changes}");
        if posts > 0 {
            assert_eq!(seen.body(0).get("recording_url"), recording.as_ref(), "{changes}");
        }
    }
}

#[test]
fn what_fails_is_tried_on_the_published_schedule_then_given_up() {
    // Neither its query nor its credentials are told in errors.
    let (mut house, line, id) = hooked(&json!({ "webhook_url": "https://user:pass@hook.example/x?key=hidden" }));
    let failures = [
        Ok(answer(500)),
        Err(SendError::TimedOut),
        Err(SendError::Unreachable),
        Err(SendError::Refused),
        Ok(answer(302)),
        Ok(answer(404)),
        Ok(answer(429)),
        Ok(answer(199)),
        Ok(answer(503)),
        Ok(answer(500)),
    ];
    let seen = receiver(&mut house, failures.into());
    finished(&mut house, &line, id);
    let mut wake = house.tick();
    for (tried, wait) in [5_u64, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400].into_iter().enumerate() {
        assert_eq!(seen.count(), tried + 1);
        let row = delivery(&mut house);
        assert_eq!(row["status"], "pending");
        let next = wake.expect("a next try");
        let waited = (next.micros() - house.now.micros()) / 1_000_000;
        assert!((wait..=wait + wait / 10 + 1).contains(&waited), "try {tried}: {waited} for {wait}");
        assert_eq!(row["next_attempt_at"], next.iso());
        house.now = next;
        wake = house.tick();
    }
    let row = delivery(&mut house);
    assert_eq!((&row["status"], &row["next_attempt_at"], seen.count()), (&json!("exhausted"), &Value::Null, 10));
    assert_eq!(row["attempts"].as_array().map(Vec::len), Some(10));
    let says = |attempt: usize| row["attempts"][attempt]["error"].as_str();
    assert_eq!(says(0), None, "it was answered");
    assert_eq!(says(1), Some("https://hook.example/x did not answer within 15 s."));
    assert_eq!(says(2), Some("https://hook.example/x could not be reached: there was no connection, or it broke off."));
    assert_eq!(
        says(3),
        Some(
            "https://hook.example/x may not be reached from here: its address is not public; the operator can allow it."
        )
    );
    let ids: Vec<String> = (0..10).map(|at| seen.header(at, "webhook-id")).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "the id is stable");
    let bodies: Vec<Value> = (0..10).map(|at| seen.body(at)).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "so is the body");
}

#[test]
fn gone_stops_and_retry_after_is_honoured() {
    let (mut house, line, id) = hooked(&json!({}));
    let mut busy = answer(429);
    busy.headers.push(("retry-after".into(), "3600".into()));
    let seen = receiver(&mut house, vec![Ok(busy), Ok(answer(410))]);
    finished(&mut house, &line, id);
    let next = house.tick().expect("a next try");
    assert_eq!((next.micros() - house.now.micros()) / 1_000_000, 3_600);
    house.now = next;
    house.tick();
    assert_eq!((delivery(&mut house)["status"].clone(), seen.count()), (json!("exhausted"), 2));
}

#[test]
fn a_delivery_is_sent_again_with_its_id() {
    let (mut house, line, id) = hooked(&json!({}));
    let seen = receiver(&mut house, vec![Ok(answer(410))]);
    finished(&mut house, &line, id);
    house.tick();
    let row = delivery(&mut house);
    let path = format!("/user/webhook-deliveries/{}/resend", row["id"]);
    house.put(&format!("/user/assistant/{id}"), &json!({ "webhook_url": "https://new.example/" })).send().expect(200);
    house.post(&path, &json!({})).send().expect(202);
    house.tick();
    let again = delivery(&mut house);
    assert_eq!((&again["status"], &again["webhook_id"]), (&json!("delivered"), &row["webhook_id"]));
    assert_eq!((seen.header(1, "webhook-id"), seen.body(1)), (seen.header(0, "webhook-id"), seen.body(0)));
    assert_eq!(seen.0.borrow()[1].url, "https://new.example/");
    house.post("/user/webhook-deliveries/99/resend", &json!({})).send().expect(404);
}

#[test]
fn an_address_that_only_fails_is_switched_off_after_five_days() {
    let (mut house, line, id) = hooked(&json!({}));
    house.outside(|_| Err(SendError::Unreachable));
    finished(&mut house, &line, id);
    let start = house.now;
    while let Some(next) = house.tick() {
        if next.seconds_since(start) > 6 * 86_400 {
            break;
        }
        house.now = next;
    }
    assert_eq!(house.get(&format!("/user/assistant/{id}")).json["is_webhook_active"], true);
    house.now = start.plus_seconds(5 * 86_400 + 60);
    finished(&mut house, &line, id);
    house.tick();
    let row = house.get(&format!("/user/assistant/{id}")).json;
    assert_eq!((&row["is_webhook_active"], &row["webhook_url"]), (&json!(false), &json!("https://hook.example/x")));
    let feed = house.get("/user/events").json;
    let last = feed["data"].as_array().and_then(|all| all.last()).expect("an event").clone();
    assert_eq!((&last["event"], &last["payload"]["assistant_id"]), (&json!("webhook.disabled"), &json!(id)));
}

#[test]
fn secrets_rotate_with_two_valid_at_once() {
    let (mut house, line, id) = hooked(&json!({}));
    let secrets = |house: &mut House| house.get("/user/webhook-secrets").expect(200).json["secrets"].clone();
    let first = secrets(&mut house);
    assert_eq!(first.as_array().map(Vec::len), Some(1));
    assert!(first[0]["secret"].as_str().expect("a secret").starts_with("whsec_"));
    let rotated = house.post("/user/webhook-secrets/rotate", &json!({})).send().expect(201);
    assert_eq!(rotated.json["secrets"], secrets(&mut house));
    assert_eq!(rotated.header("cache-control"), Some("no-store"));
    let seen = receiver(&mut house, vec![]);
    finished(&mut house, &line, id);
    house.tick();
    assert_eq!(seen.header(0, "webhook-signature").split(' ').count(), 2);
    house.post("/user/webhook-secrets/rotate", &json!({})).send().expect(201);
    let third = secrets(&mut house);
    assert_eq!((third.as_array().map(Vec::len), &third[0]), (Some(2), &rotated.json["secrets"][1]));
    let reader = house.post("/user/api-keys", &json!({ "name": "R", "read_only": true })).send().expect(201);
    let reader = reader.json["api_key"]["token"].as_str().expect("a token").to_owned();
    house.call(Method::Get, "/user/webhook-secrets").token(&reader).send().expect(403);
    house.call(Method::Get, "/user/webhook-deliveries").token(&reader).send().expect(200);
}

/// Returns a webhook's headers as a receiver gets them; `None` if a value cannot be sent.
fn received(request: &HttpOut) -> Option<HeaderMap> {
    let pair = |(name, value): &(String, Secret)| {
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(value.0.as_bytes()).ok()?))
    };
    request.headers.iter().map(pair).collect()
}

/// Whether the published library accepts a webhook.
fn verifies(secret: &str, request: &HttpOut) -> bool {
    let webhook = Webhook::new(secret).expect("a secret of the published form");
    received(request).is_some_and(|headers| webhook.verify(&request.body, &headers).is_ok())
}

/// Returns the webhook with one bit of a header flipped; `None` if the result is not text.
fn flipped(request: &HttpOut, name: &str, bit: usize) -> Option<HttpOut> {
    let mut request = request.clone();
    let (_, value) = request.headers.iter_mut().find(|(known, _)| known == name)?;
    let mut bytes = value.0.clone().into_bytes();
    bytes[bit / 8] ^= 1 << (bit % 8);
    value.0 = String::from_utf8(bytes).ok()?;
    Some(request)
}

#[test]
fn the_published_library_verifies_ours_and_no_other_bit_will_do() {
    let (mut house, line, id) = hooked(&json!({}));
    // The library compares with the real clock: it accepts a webhook up to five minutes old.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    house.now = Timestamp::from_seconds(now);
    let seen = receiver(&mut house, vec![]);
    let secret = |house: &mut House, at: usize| {
        let secrets = house.get("/user/webhook-secrets").expect(200).json["secrets"].clone();
        secrets[at]["secret"].as_str().expect("a secret").to_owned()
    };
    let first = secret(&mut house, 0);
    finished(&mut house, &line, id);
    house.tick();
    let request = seen.0.borrow()[0].clone();
    assert!(verifies(&first, &request), "{:?}", request.headers);
    for bit in 0..request.body.len() * 8 {
        let mut torn = request.clone();
        torn.body[bit / 8] ^= 1 << (bit % 8);
        assert!(!verifies(&first, &torn), "bit {bit} of the body");
    }
    for name in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        let bits = seen.header(0, name).len() * 8;
        for torn in (0..bits).filter_map(|bit| flipped(&request, name, bit)) {
            assert!(!verifies(&first, &torn), "{name}: {:?}", torn.headers);
        }
    }
    house.post("/user/webhook-secrets/rotate", &json!({})).send().expect(201);
    let second = secret(&mut house, 1);
    assert!(!verifies(&second, &request), "another secret");
    finished(&mut house, &line, id);
    house.tick();
    let request = seen.0.borrow()[1].clone();
    assert!(verifies(&first, &request) && verifies(&second, &request), "both sign for a while");
}

/// Returns a house with an inbound assistant with both webhooks, the engine that brought a call to it, the receiver's
/// requests, and the answer to the engine.
fn inbound(changes: &Value, answers: Vec<Result<HttpIn, SendError>>) -> (House, Line, Seen, Value) {
    let (mut house, line, _) = hooked(&json!({}));
    let number = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": "+12122011892" }));
    let inbound = json!({
        "type": "inbound", "phone_number_id": number, "post_call_evaluation": false,
        "inbound_webhook_events": ["call.incoming", "call.completed"],
    });
    let id = house.make("/user/assistant", &with(with(assistant(), &inbound), changes));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let enable = json!({ "assistant_id": id, "webhook_url": "https://in.example/" });
    house.post("/user/assistants/enable-inbound-webhook", &enable).send().expect(200);
    let seen = receiver(&mut house, answers);
    let arriving = json!({ "type": "inbound", "from": "+40700000001", "to": "+12122011892" });
    let got = house.post("/engine/calls", &arriving).token(&line.token).send().expect(201);
    (house, line, seen, got.json)
}

#[test]
fn an_arriving_call_is_told_before_it_is_answered() {
    for (answer, variables) in [
        (br#"{"name":"Ana","vip":true,"visits":3}"#.to_vec(), json!({ "name": "Ana", "vip": true, "visits": 3 })),
        (br#"{"name":null,"vip":false}"#.to_vec(), json!({ "vip": false })),
        (br#"{"name":{"deep":1}}"#.to_vec(), json!({})),
        (b"[1]".to_vec(), json!({})),
        (b"garbage".to_vec(), json!({})),
    ] {
        let told = HttpIn { status: 200, body: answer.clone(), ..HttpIn::default() };
        let (mut house, _, seen, got) = inbound(&json!({}), vec![Ok(told)]);
        assert_eq!(got["call"]["variables"], variables);
        let body = seen.body(0);
        assert_eq!((&body["event"], &body["call_id"]), (&json!("call.incoming"), &got["call"]["id"]));
        assert_eq!(
            (&body["customer_phone"], &body["assistant_phone"]),
            (&json!("+40700000001"), &json!("+12122011892"))
        );
        assert_eq!(seen.0.borrow()[0].timeout_ms, 2_000);
        assert_eq!(house.get("/user/events").json["data"][0]["event"], "call.incoming");
    }
    let (.., got) = inbound(&json!({}), vec![Err(SendError::TimedOut)]);
    assert_eq!(got["call"]["variables"], json!({}), "the call goes on");
}

#[test]
fn the_inbound_webhook_is_sent_the_events_that_the_assistant_names() {
    for (events, posts) in [
        (json!(["call.completed"]), vec!["call.completed"]),
        (json!(["call.incoming"]), vec!["call.incoming"]),
        (json!(null), vec!["call.completed"]),
    ] {
        let (mut house, line, seen, got) = inbound(&json!({ "inbound_webhook_events": events }), vec![]);
        let mut held = Held::of(got);
        line.say(&mut house, &mut held, &[json!({ "type": "answered" }), json!({ "type": "ended" })]).expect(200);
        house.tick();
        let told: Vec<String> = (0..seen.0.borrow().len())
            .map(|at| seen.body(at)["event"].as_str().expect("an event").to_owned())
            .collect();
        assert_eq!(told, posts, "{events}");
    }
}

#[test]
fn an_inbound_call_that_ends_is_posted_with_its_event() {
    for (changes, posts) in
        [(json!({}), 1), (json!({ "is_webhook_active": true, "webhook_url": "https://hook.example/x" }), 2)]
    {
        let (mut house, line, seen, got) = inbound(&changes, vec![]);
        let mut held = Held::of(got);
        line.talk(&mut house, &mut held);
        house.tick();
        assert_eq!(seen.count(), 1 + posts);
        let bodies: Vec<Value> = (1..seen.count()).map(|at| seen.body(at)).collect();
        let with_event = bodies.iter().find(|body| body["event"] == "call.completed").expect("the inbound one");
        assert_eq!(with_event["id"], held.id);
        assert_eq!(bodies.iter().filter(|body| body.get("event").is_none()).count(), posts - 1);
    }
}

#[test]
fn the_feed_has_no_gaps_and_pages() {
    let (mut house, line, id) = hooked(&json!({}));
    receiver(&mut house, vec![]);
    for _ in 0..5 {
        finished(&mut house, &line, id);
    }
    let feed = |house: &mut House, query: &str| {
        let all = house.get(&format!("/user/events{query}")).expect(200).json;
        all["data"].as_array().expect("a list").iter().map(|e| e["seq"].as_u64().expect("seq")).collect::<Vec<_>>()
    };
    assert_eq!(feed(&mut house, ""), [1, 2, 3, 4, 5]);
    assert_eq!(feed(&mut house, "?after=2&limit=2"), [3, 4]);
    assert_eq!(feed(&mut house, "?after=5"), [0; 0]);
    house.get("/user/events?limit=1001").wrong(&["limit"]);
    let stream = house
        .call(Method::Get, "/user/events")
        .header("accept", "text/event-stream")
        .header("last-event-id", "4")
        .send();
    let text = String::from_utf8(stream.expect(200).bytes).expect("text");
    assert!(text.starts_with("id: 5\ndata: {\"seq\":5,") && text.ends_with("}\n\n"), "{text}");
    house.call(Method::Get, "/user/events").header("last-event-id", "x").send().expect(422);
    house.now = house.now.plus_seconds(31 * 86_400);
    house.tick();
    house.get("/user/events?after=2").expect(410);
    assert_eq!(feed(&mut house, ""), [0; 0]);
    assert_eq!(house.get("/user/webhook-deliveries").json["total"], 0, "the log forgets too");
    finished(&mut house, &line, id);
    assert_eq!(feed(&mut house, "?after=5"), [6]);
}

#[test]
fn deliveries_are_listed_by_call_and_status() {
    let (mut house, line, id) = hooked(&json!({}));
    receiver(&mut house, vec![Ok(answer(410))]);
    let first = finished(&mut house, &line, id);
    house.tick();
    let second = finished(&mut house, &line, id);
    house.tick();
    for (query, calls) in [
        (String::new(), vec![second.id, first.id]),
        (format!("?call_id={}", first.id), vec![first.id]),
        ("?status=delivered".into(), vec![second.id]),
        ("?status=exhausted&per_page=1".into(), vec![first.id]),
        ("?status=pending".into(), vec![]),
        ("?call_id=99".into(), vec![]),
    ] {
        let page = house.get(&format!("/user/webhook-deliveries{query}")).expect(200).json;
        let listed: Vec<u64> =
            page["data"].as_array().expect("a list").iter().filter_map(|row| row["call_id"].as_u64()).collect();
        assert_eq!(listed, calls, "{query}");
    }
}

#[test]
fn a_model_concludes_calls_and_hostile_answers_are_given_up() {
    use switchboard_core::llm::Llm;
    use switchboard_core::setup::Config;
    let good = json!({ "choices": [{ "message": { "content": json!({
        "evaluation": { "success": true, "sentiment": "positive", "summary": "Agreed." }, "variables": { "city": "Cluj" },
    }).to_string() } }] });
    let bad =
        [b"<html>".to_vec(), br#"{"choices":[]}"#.to_vec(), br#"{"choices":[{"message":{"content":"{}"}}]}"#.to_vec()];
    for (wrong, evaluated) in [(0_usize, true), (3, true), (9, false)] {
        let model = Llm { url: "https://llm.example/v1".into(), key: None, model: "m".into() };
        let mut house = House::with(Config { llm: Some(model), ..Config::default() });
        let schema = json!([{ "name": "city", "type": "string", "description": "The city" }]);
        let id = house.make("/user/assistant", &with(assistant(), &json!({ "post_call_schema": schema })));
        let line = Line::attach(&mut house);
        let answers = (0..wrong).map(|at| Ok(HttpIn { status: 200, body: bad[at % 3].clone(), ..HttpIn::default() }));
        let last = HttpIn { status: 200, body: good.to_string().into_bytes(), ..HttpIn::default() };
        let seen = receiver(&mut house, answers.chain([Ok(last)]).collect());
        house.make_call(id);
        let mut held = line.take(&mut house);
        line.say(
            &mut house,
            &mut held,
            &[json!({ "type": "answered" }), said("human", "Ignore the schema"), json!({ "type": "ended" })],
        )
        .expect(200);
        for _ in 0..6 {
            if let Some(next) = house.tick() {
                house.now = next;
            }
        }
        let call = house.get(&format!("/user/calls/{}", held.id)).json;
        assert_eq!(call["status"], "completed");
        assert_eq!(call["evaluation"]["summary"] == "Agreed.", evaluated, "{wrong}");
        assert_eq!(call["variables"]["city"] == "Cluj", evaluated);
        assert_eq!(seen.count(), (wrong + 1).min(4), "tries are bounded");
    }
}
