//! What bounds conversations: strangers, their limits, and models that say whatever they like.

use proptest::prelude::*;
use serde_json::{Value, json};
use switchboard_core::http::refusal::Refusal;
use switchboard_core::http::request::{Method, Request};
use switchboard_core::limits::{TURN_BYTES_MAX, TURN_LAPSE_SECONDS};
use switchboard_core::outside::{Answer, HttpIn, SendError};
use switchboard_core::seed::Seed;
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant, tool, with};

use crate::conversations::{asking, begun, calls, refused, said, say, texts};

/// Makes an assistant that strangers may talk to; returns its id and UUID.
fn open(house: &mut House, changes: &Value) -> (u64, String) {
    let settings = with(json!({ "enabled": true, "allowed_origins": ["https://shop.example"] }), changes);
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "widget_settings": settings })));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let uuid = house.get(&format!("/user/assistant/{id}")).json["uuid"].as_str().expect("a UUID").to_owned();
    (id, uuid)
}

fn visit(house: &mut House, uuid: &str, from: &str) -> Got {
    let body = json!({ "assistant_id": uuid, "variables": { "customer_name": "Mallory" } });
    house.post("/conversations", &body).without("authorization").from(from).send()
}

fn talk_of(got: &Got) -> String {
    format!("/conversations/{}", got.json["conversation_id"].as_str().expect("a UUID"))
}

fn as_stranger(house: &mut House, method: Method, target: &str) -> Got {
    house.call(method, target).json(&json!({ "message": "Hi" })).without("authorization").send()
}

#[test]
fn strangers_talk_to_open_assistants_alone_and_see_no_more_than_the_words() {
    let mut house = House::default();
    let tool_id = house.make("/user/tools", &tool("look"));
    let settings = json!({ "variables": { "customer_name": "guest" }, "tool_ids": [tool_id] });
    let (id, uuid) = open(&mut house, &settings);
    house
        .put(&format!("/user/assistant/{id}"), &json!({ "initial_message": "Hello {{customer_name}}" }))
        .send()
        .expect(200);
    let got = visit(&mut house, &uuid, "198.51.100.1").expect(200);
    assert_eq!(got.json["history"][0]["content"], "Hello guest", "a stranger's variables are ignored");
    let talk = talk_of(&got);
    let got = as_stranger(&mut house, Method::Post, &format!("{talk}/messages")).expect(200);
    assert_eq!(got.json["function_calls"], json!([]));
    let read = as_stranger(&mut house, Method::Get, &talk).expect(200).json;
    assert_eq!(
        (&read["variables"], read.get("customer"), read["history"].as_array().map(Vec::len)),
        (&json!({}), None, Some(3))
    );
    // Everything else is the same 404.
    let test = begun(&mut house, id);
    let missing = |got: Got| assert_eq!((got.status, got.json["status"].clone()), (404, json!(false)), "{}", got.json);
    missing(as_stranger(&mut house, Method::Get, &test));
    missing(as_stranger(&mut house, Method::Post, &format!("{test}/messages")));
    for body in [
        json!({ "assistant_id": uuid, "type": "test" }),
        json!({ "assistant_id": id }),
        json!({ "assistant_id": format!("{}{}", &uuid[..35], if uuid.ends_with('0') { '1' } else { '0' }) }),
    ] {
        missing(house.post("/conversations", &body).without("authorization").send());
    }
    for change in
        [json!({ "status": "inactive" }), json!({ "status": "active", "widget_settings": { "enabled": false } })]
    {
        house.put(&format!("/user/assistant/{id}"), &change).send().expect(200);
        missing(visit(&mut house, &uuid, "198.51.100.1"));
        missing(as_stranger(&mut house, Method::Get, &talk));
    }
    house.put(&format!("/user/assistant/{id}"), &json!({ "widget_settings": { "enabled": true } })).send().expect(200);
    as_stranger(&mut house, Method::Get, &talk).expect(200);
    let operator = house.operator.clone();
    for suspended in [true, false] {
        house.put("/admin/accounts/1", &json!({ "suspended": suspended })).token(&operator).send().expect(200);
        as_stranger(&mut house, Method::Get, &talk).expect(if suspended { 404 } else { 200 });
    }
    house.now = house.now.plus_seconds(86_401);
    missing(as_stranger(&mut house, Method::Get, &talk));
    house.get(&talk).expect(200);
}

#[test]
fn pages_of_other_origins_are_refused_and_may_read_that() {
    let mut house = House::default();
    let (_, uuid) = open(&mut house, &json!({}));
    let mut ask = |origin: &str| {
        let call = house.post("/conversations", &json!({ "assistant_id": uuid })).without("authorization");
        call.header("origin", origin).send()
    };
    let got = ask("https://shop.example").expect(200);
    assert_eq!(got.header("access-control-allow-origin"), Some("https://shop.example"));
    let got = ask("https://other.example").expect(403);
    assert_eq!(got.header("access-control-allow-origin"), Some("https://other.example"));
    let preflight =
        house.call(Method::Options, "/conversations").without("authorization").header("origin", "https://shop.example");
    let got = preflight.header("access-control-request-method", "POST").send().expect(204);
    assert_eq!(got.header("access-control-allow-methods"), Some("POST, OPTIONS"));
}

#[test]
fn an_address_begins_ten_a_minute_and_sixty_a_day() {
    let mut house = House::default();
    let (_, uuid) = open(&mut house, &json!({}));
    let begin = house.now;
    let (mut began, mut minute) = (0, 0);
    for at in 0..100 {
        house.now = begin.plus_seconds(at * 6);
        let got = visit(&mut house, &uuid, "2001:db8::1");
        match got.status {
            200 => began += 1,
            429 => assert!(got.json["retry_after"].as_u64().is_some_and(|wait| wait > 0)),
            other => panic!("{other} {}", got.json),
        }
        minute += u32::from(at < 10 && got.status == 200);
    }
    assert_eq!((began, minute), (60, 10));
    visit(&mut house, &uuid, "2001:db8::2").expect(429);
    visit(&mut house, &uuid, "2001:db8:0:1::1").expect(200);
    house.now = begin.plus_seconds(86_400);
    visit(&mut house, &uuid, "2001:db8::1").expect(200);
    for at in 0..12 {
        let status = if at < 9 { 200 } else { 429 };
        assert_eq!(visit(&mut house, &uuid, "2001:db8::1").status, status, "{at}");
    }
}

#[test]
fn many_addresses_together_begin_what_the_plan_allows() {
    let mut house = House::default();
    let (id, uuid) = open(&mut house, &json!({}));
    let operator = house.operator.clone();
    house.put("/admin/plans/standard", &json!({ "conversations_daily": 5 })).token(&operator).send().expect(200);
    for at in 0..8 {
        let status = if at < 5 { 200 } else { 429 };
        assert_eq!(visit(&mut house, &uuid, &format!("198.51.100.{at}")).status, status, "{at}");
    }
    let owner = house.post("/conversations", &json!({ "assistant_id": id })).send().expect(403);
    assert_eq!(owner.json["status"], false);
}

#[test]
fn a_conversation_takes_twenty_messages_a_minute_from_anybody() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    let statuses: Vec<u16> = (0..25).map(|at| say(&mut house, &talk, &format!("Message {at}")).status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 20);
    assert!(statuses[20..].iter().all(|status| *status == 429));
    house.now = house.now.plus_seconds(60);
    say(&mut house, &talk, "Later").expect(200);
}

#[test]
fn strangers_cost_an_assistant_no_more_than_its_owner_allows_a_day() {
    let mut house = House::default();
    let operator = house.operator.clone();
    let prices = json!({ "items": [{ "unit": "chat_message", "price": 0.5 }] });
    house.put("/admin/prices", &prices).token(&operator).send().expect(200);
    let (id, uuid) = open(&mut house, &json!({ "daily_cost_max": 1.0 }));
    let talks: Vec<String> = (0..3).map(|at| talk_of(&visit(&mut house, &uuid, &format!("198.51.100.{at}")))).collect();
    for (talk, status) in talks.iter().zip([200, 200, 429]) {
        as_stranger(&mut house, Method::Post, &format!("{talk}/messages")).expect(status);
    }
    let test = begun(&mut house, id);
    say(&mut house, &test, "The owner may still try it").expect(200);
    house.now = house.now.plus_seconds(86_401);
    as_stranger(&mut house, Method::Post, &format!("{}/messages", talks[2])).expect(404);
    let talk = talk_of(&visit(&mut house, &uuid, "198.51.100.9"));
    as_stranger(&mut house, Method::Post, &format!("{talk}/messages")).expect(200);
}

#[test]
fn strangers_hear_nothing_of_the_owners_affairs() {
    let mut house = asking();
    let (_, uuid) = open(&mut house, &json!({}));
    let talk = talk_of(&visit(&mut house, &uuid.to_uppercase(), "198.51.100.1"));
    let neutral = "The assistant cannot answer right now. Try again later.";
    let say = |house: &mut House, status: u16| {
        let call = house.post(&format!("{talk}/messages"), &json!({ "message": "Hi" })).without("authorization");
        assert_eq!(call.send().expect(status).json["message"], neutral);
    };
    house.outside(|_| Ok(HttpIn { status: 401, ..HttpIn::default() }));
    say(&mut house, 502);
    house.outside(|_| Err(SendError::TimedOut));
    say(&mut house, 504);
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "balance": 0 })).token(&operator).send().expect(200);
    say(&mut house, 400);
}

#[test]
fn strangers_who_follow_a_turn_hear_of_no_function() {
    let mut house = asking();
    let tool_id = house.make("/user/tools", &tool("look"));
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": [tool_id] })));
    let settings = json!({ "widget_settings": { "enabled": true, "tool_ids": [tool_id] }, "status": "active" });
    house.put(&format!("/user/assistant/{id}"), &settings).send().expect(200);
    let uuid = house.get(&format!("/user/assistant/{id}")).json["uuid"].as_str().expect("a UUID").to_owned();
    let talk = talk_of(&visit(&mut house, &uuid, "198.51.100.1"));
    house.outside(|request| match request.url.ends_with("/chat/completions") {
        true if request.body.windows(6).any(|part| part == b"\"tool\"") => Ok(said("Found.")),
        true => Ok(calls(&[("look", "{}")])),
        false => Ok(said("seen")),
    });
    let call = house.post(&format!("{talk}/messages"), &json!({ "message": "Look" })).without("authorization");
    let got = call.header("accept", "text/event-stream").send().expect(200);
    let frames = String::from_utf8(got.bytes).expect("text");
    let events: Vec<&str> = frames.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(events, ["delta", "done"], "{frames}");
    assert!(frames.contains("Found.") && !frames.contains("look"), "{frames}");
}

#[test]
fn what_an_owner_was_answered_under_a_key_is_not_for_strangers_nor_for_other_pages() {
    let mut house = House::default();
    let (_, uuid) = open(&mut house, &json!({}));
    let talk = talk_of(&visit(&mut house, &uuid, "198.51.100.1"));
    let mut say = |token: bool, origin: Option<&str>| {
        let call = house.post(&format!("{talk}/messages"), &json!({ "message": "Hi" })).header("idempotency-key", "k");
        let call = if token { call } else { call.without("authorization") };
        let got = if let Some(origin) = origin { call.header("origin", origin).send() } else { call.send() };
        (got.status, got.header("idempotency-replayed").is_some())
    };
    let shop = Some("https://shop.example");
    assert_eq!((say(true, None), say(true, None)), ((200, false), (200, true)));
    assert_eq!((say(false, shop), say(false, shop)), ((200, false), (200, true)));
    assert_eq!(say(false, Some("https://evil.example")), (403, false));
}

#[test]
fn a_page_can_read_what_a_host_refuses_by_itself() {
    let mut house = House::default();
    let (_, uuid) = open(&mut house, &json!({}));
    let talk = talk_of(&visit(&mut house, &uuid, "198.51.100.1"));
    let call = house.post(&format!("{talk}/messages"), &json!({ "message": "Hi" })).without("authorization");
    let request = call.header("origin", "https://shop.example").header("x-request-id", "mine").request();
    let seed = house.seed();
    let refused = Refusal::ShareUsed(1).reply_to(&request.target);
    let reply = house.service.dressed(&request, &seed, refused);
    for header in
        [("access-control-allow-origin", "https://shop.example"), ("x-request-id", "mine"), ("vary", "Origin")]
    {
        assert!(reply.headers.iter().any(|(name, value)| (*name, value.as_str()) == header), "{header:?}");
    }
}

#[test]
fn turns_of_strangers_under_way_count_towards_what_they_may_cost() {
    let mut house = asking();
    let operator = house.operator.clone();
    let prices = |price: f64| json!({ "items": [{ "unit": "chat_message", "price": price }] });
    house.put("/admin/prices", &prices(0.5)).token(&operator).send().expect(200);
    let (_, uuid) = open(&mut house, &json!({ "daily_cost_max": 1.2 }));
    let talks: Vec<String> = (0..4).map(|at| talk_of(&visit(&mut house, &uuid, &format!("198.51.100.{at}")))).collect();
    let begin = |house: &mut House, at: usize| {
        let request = house
            .post(&format!("{}/messages", talks[at]), &json!({ "message": "Hi" }))
            .without("authorization")
            .request();
        let seed = house.seed();
        (house.step(&Input::Http(&request, &[]), seed).outcome, request, seed)
    };
    let (first, failing, seed) = begin(&mut house, 0);
    let (second, answered, second_seed) = begin(&mut house, 1);
    assert!(matches!((first, second), (Outcome::Wait, Outcome::Wait)));
    let status = |outcome: Outcome| if let Outcome::Reply(reply) = outcome { reply.status } else { 0 };
    assert_eq!(status(begin(&mut house, 2).0), 429, "a third turn would cost too much");
    // What it costs is what it cost when it began, and one that failed leaves its share to others.
    house.put("/admin/prices", &prices(0.7)).token(&operator).send().expect(200);
    let broken = Answer::Http(HttpIn { status: 500, ..HttpIn::default() });
    assert_eq!(status(house.step(&Input::Http(&failing, &[broken]), seed).outcome), 502);
    let answer = Answer::Http(said("Good day."));
    assert_eq!(status(house.step(&Input::Http(&answered, &[answer]), second_seed).outcome), 200);
    assert!(matches!(begin(&mut house, 2).0, Outcome::Wait));
    assert_eq!(status(begin(&mut house, 3).0), 429);
}

#[test]
fn a_message_waits_for_the_last_one_and_a_host_that_died_holds_it_up_for_a_while() {
    let mut house = asking();
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    let request = house.post(&format!("{talk}/messages"), &json!({ "message": "Hi" })).request();
    let seed = house.seed();
    let output = house.step(&Input::Http(&request, &[]), seed);
    assert!(matches!(output.outcome, Outcome::Wait));
    refused(&say(&mut house, &talk, "Are you there?"), 409, "The last message is still being answered.");
    house.now = house.now.plus_seconds(TURN_LAPSE_SECONDS);
    house.outside(|_| Ok(said("I am.")));
    say(&mut house, &talk, "Hi").expect(200);
    assert_eq!(texts(&mut house, &talk), ["Hello", "Hi", "I am."]);
    // The first host comes back after all: its answer is not taken.
    let output = house.step(&Input::Http(&request, &[Answer::Http(said("Late."))]), seed);
    let Outcome::Reply(reply) = output.outcome else { panic!("no reply") };
    assert_eq!((reply.status, texts(&mut house, &talk).len()), (409, 3));
}

/// Has a host come back with the model's answer to a turn that began long ago: it must not be taken.
fn come_back(house: &mut House, (request, seed): &(Request, Seed), status: u16) {
    let output = house.step(&Input::Http(request, &[Answer::Http(said("Late."))]), *seed);
    let Outcome::Reply(reply) = output.outcome else { panic!("no reply") };
    assert_eq!(reply.status, status);
    assert!(!String::from_utf8_lossy(reply.body()).contains("Late."));
}

/// Begins a turn whose host stands still before the model's answer is there.
fn stand_still(house: &mut House, talk: &str) -> (Request, Seed) {
    let call = house.post(&format!("{talk}/messages"), &json!({ "message": "Hi" }));
    let request = call.header("idempotency-key", "hi").request();
    let seed = house.seed();
    house.step(&Input::Http(&request, &[]), seed);
    (request, seed)
}

#[test]
fn a_late_answer_is_not_taken_once_a_person_took_over() {
    let mut house = asking();
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    let turn = stand_still(&mut house, &talk);
    house.post(&format!("/automate{talk}/disable-ai"), &json!({})).send().expect(200);
    house.now = house.now.plus_seconds(TURN_LAPSE_SECONDS);
    say(&mut house, &talk, "Is anybody there?").expect(200);
    come_back(&mut house, &turn, 200);
    assert_eq!(texts(&mut house, &talk), ["Hello", "Hi", "Is anybody there?"]);
}

#[test]
fn a_late_answer_is_not_taken_once_the_conversation_ended() {
    let mut house = asking();
    let id = house.make(
        "/user/assistant",
        &with(assistant(), &json!({ "conversation_inactivity_timeout": 1, "post_call_evaluation": false })),
    );
    let talk = begun(&mut house, id);
    let turn = stand_still(&mut house, &talk);
    house.now = house.now.plus_seconds(60);
    house.tick();
    house.now = house.now.plus_seconds(TURN_LAPSE_SECONDS);
    house.tick();
    let told = house.get("/user/events").json["data"].clone();
    assert_eq!(told[0]["payload"]["formatted_transcript"], "AI: Hello\nCustomer: Hi");
    come_back(&mut house, &turn, 409);
    assert_eq!(texts(&mut house, &talk), ["Hello", "Hi"]);
}

#[test]
fn a_request_that_comes_back_late_leaves_the_key_to_the_one_that_was_answered() {
    let mut house = asking();
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    let turn = stand_still(&mut house, &talk);
    house.now = house.now.plus_seconds(TURN_LAPSE_SECONDS);
    house.outside(|_| Ok(said("I am.")));
    let again = |house: &mut House| {
        house.post(&format!("{talk}/messages"), &json!({ "message": "Hi" })).header("idempotency-key", "hi").send()
    };
    let first = again(&mut house).expect(200);
    come_back(&mut house, &turn, 409);
    assert_eq!(again(&mut house).expect(200).bytes, first.bytes);
    assert_eq!(texts(&mut house, &talk), ["Hello", "Hi", "I am."]);
}

#[test]
fn an_assistant_that_changes_under_a_turn_ends_it() {
    let mut house = asking();
    let id = house.make("/user/assistant", &assistant());
    let talk = begun(&mut house, id);
    let request = house.post(&format!("{talk}/messages"), &json!({ "message": "Hi" })).request();
    let seed = house.seed();
    house.step(&Input::Http(&request, &[]), seed);
    house.put(&format!("/user/assistant/{id}"), &json!({ "system_prompt": "Be short." })).send().expect(200);
    let output = house.step(&Input::Http(&request, &[Answer::Http(said("Hello"))]), seed);
    let Outcome::Reply(reply) = output.outcome else { panic!("no reply") };
    assert_eq!(reply.status, 409);
    house.outside(|_| Ok(said("Short.")));
    say(&mut house, &talk, "Hi").expect(200);
}

/// Draws an answer of a hostile model.
fn hostile() -> impl Strategy<Value = HttpIn> {
    let name = prop_oneof![Just("look"), Just("search_knowledgebase"), Just("none"), Just("calendar_book"), Just("")];
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        Just("{".to_owned()),
        Just(r#"{"query":"x"}"#.to_owned()),
        "[\\[\\]{}\":a-z]{0,30}"
    ];
    prop_oneof![
        4 => prop::collection::vec((name, arguments), 1..6)
            .prop_map(|made| calls(&made.iter().map(|(name, arguments)| (*name, arguments.as_str())).collect::<Vec<_>>())),
        2 => ".{0,40}".prop_map(|text| said(&text)),
        1 => (1_usize..300).prop_map(|kib| said(&"x".repeat(kib << 10))),
        1 => prop::collection::vec(any::<u8>(), 0..60).prop_map(|body| HttpIn { status: 200, body, ..HttpIn::default() }),
        1 => (100_u16..600).prop_map(|status| HttpIn { status, ..HttpIn::default() }),
        1 => Just(HttpIn { status: 200, cut: true, ..HttpIn::default() }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_model_says_a_turn_ends_within_its_bounds(answers in prop::collection::vec(hostile(), 1..40), messages in 1_usize..4) {
        let mut house = asking();
        let stranger = house.account("stranger@example.com");
        house.post("/user/tools", &with(tool("theirs"), &json!({}))).token(&stranger).send().expect(201);
        let tool_id = house.make("/user/tools", &tool("look"));
        let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
        let id = house.make("/user/assistant", &with(assistant(), &json!({ "tool_ids": [tool_id], "knowledgebase_id": base })));
        let talk = begun(&mut house, id);
        let before = house.store.rows().iter().filter(|(key, _)| key[0] == 1 && key[4] == 1).map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>();
        let (sent, mut said) = (std::rc::Rc::new(std::cell::Cell::new(0)), vec!["Hello".to_owned()]);
        let (counter, mut answers) = (std::rc::Rc::clone(&sent), answers.into_iter().cycle());
        house.outside(move |request| {
            counter.set(counter.get() + 1);
            assert!(request.timeout_ms <= 60_000 && request.body.len() < 2 << 20);
            Ok(if request.url.ends_with("/chat/completions") { answers.next().expect("it goes on") } else { HttpIn { status: 200, body: vec![b'r'; 2_000], ..HttpIn::default() } })
        });
        for at in 0..messages {
            let message = format!("Message {at}");
            let got = say(&mut house, &talk, &message);
            prop_assert!([200, 502].contains(&got.status), "{}", got.json);
            said.push(message);
            if got.status == 200 {
                let answer = got.json["message"].as_str().expect("text").to_owned();
                prop_assert!(answer.len() <= TURN_BYTES_MAX);
                said.push(answer);
            }
        }
        prop_assert!(sent.get() <= messages * 41, "{} questions", sent.get());
        prop_assert_eq!(texts(&mut house, &talk), said);
        let after = house.store.rows().iter().filter(|(key, _)| key[0] == 1 && key[4] == 1).map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>();
        prop_assert!(before == after, "another account's rows changed");
    }
}
