//! Idempotency keys (docs/api.md, Idempotency).

use serde_json::{Value, json};
use switchboard_core::http::request::{Method, Request};
use switchboard_core::limits::IDEMPOTENCY_RUNNING_SECONDS;
use switchboard_core::outside::{Answer, HttpIn, SendError};
use switchboard_core::seed::Seed;
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant, campaign, lead, tool, with};
use switchboard_tests::line::Line;

use crate::carrier::{NUMBER, json_reply, owner, refusal, twilio};

fn send(house: &mut House, key: &str, body: &Value) -> Got {
    house.post("/user/tools", body).header("idempotency-key", key).send()
}

fn tools(house: &mut House) -> usize {
    house.get("/user/tools").expect(200).json.as_array().map_or(0, Vec::len)
}

#[test]
fn the_same_request_gets_the_first_answer_byte_for_byte() {
    let mut house = House::default();
    let first = send(&mut house, "once", &tool("look")).expect(201);
    house.now = house.now.plus_seconds(10);
    let again = send(&mut house, "once", &tool("look")).expect(201);
    assert_eq!(again.bytes, first.bytes);
    assert_eq!((first.header("idempotency-replayed"), again.header("idempotency-replayed")), (None, Some("true")));
    let below_api = house.post("/api/user/tools", &tool("look")).header("idempotency-key", "once").send().expect(201);
    assert_eq!(below_api.header("idempotency-replayed"), Some("true"));
    assert_eq!(tools(&mut house), 1);
    send(&mut house, "twice", &tool("look")).expect(201);
    assert_eq!(tools(&mut house), 2);
}

#[test]
fn the_same_key_with_another_request_is_refused() {
    let mut house = House::default();
    send(&mut house, "once", &tool("look")).expect(201);
    let reused = "This idempotency key was used with another request.";
    send(&mut house, "once", &tool("other")).message(422, reused);
    let spaced = format!("{} ", tool("look"));
    let call = house.call(Method::Post, "/user/tools").body(spaced.into_bytes());
    call.header("idempotency-key", "once").send().message(422, reused);
    for path in ["/user/tools?x=1", "/user/knowledgebases", "/user/api-keys"] {
        house.post(path, &tool("look")).header("idempotency-key", "once").send().message(422, reused);
    }
    assert_eq!(tools(&mut house), 1);
}

#[test]
fn keys_count_per_account() {
    let mut house = House::default();
    let stranger = house.account("stranger@example.com");
    send(&mut house, "once", &tool("look")).expect(201);
    let got = house.post("/user/tools", &tool("look")).token(&stranger).header("idempotency-key", "once").send();
    assert_eq!((got.expect(201).header("idempotency-replayed"), tools(&mut house)), (None, 1));
}

#[test]
fn a_request_that_stood_still_does_not_touch_what_the_same_one_did_when_it_was_sent_again() {
    let sent = json!({ "sid": "SM1", "status": "queued", "num_segments": "1", "body": "Hi", "price": null });
    for late in [refusal(400, 21_211), json_reply(201, &sent)] {
        let (mut house, from) = owner();
        let body = json!({ "from": from, "to": "+40700000001", "body": "Hi" });
        let request = |house: &mut House| {
            (house.post("/user/sms", &body).header("idempotency-key", "once").request(), house.seed())
        };
        let step = |house: &mut House, (request, seed): &(Request, Seed), answers: &[Answer]| match house
            .step(&Input::Http(request, answers), *seed)
            .outcome
        {
            Outcome::Reply(reply) => reply.status,
            _ => 0,
        };
        let (first, second, third) = (request(&mut house), request(&mut house), request(&mut house));
        assert_eq!(step(&mut house, &first, &[]), 0);
        assert_eq!(step(&mut house, &second, &[]), 409, "the first one is running");
        house.now = house.now.plus_seconds(IDEMPOTENCY_RUNNING_SECONDS);
        assert_eq!(step(&mut house, &second, &[]), 0, "its mark has expired");
        let late = Answer::Http(late.expect("an answer"));
        assert!(step(&mut house, &first, &[late]) >= 200);
        assert_eq!(step(&mut house, &third, &[]), 409, "the second one is running still");
        let answer = Answer::Http(json_reply(201, &sent).expect("an answer"));
        assert_eq!(step(&mut house, &second, &[answer]), 200);
        let replayed = house.post("/user/sms", &body).header("idempotency-key", "once").send().expect(200);
        assert_eq!(replayed.header("idempotency-replayed"), Some("true"));
    }
}

#[test]
fn a_refusal_leaves_the_key_free() {
    let mut house = House::default();
    send(&mut house, "once", &json!({})).expect(422);
    send(&mut house, "once", &tool("look")).expect(201);
    send(&mut house, "once", &json!({})).expect(422);
    assert_eq!(send(&mut house, "once", &tool("look")).expect(201).header("idempotency-replayed"), Some("true"));
}

#[test]
fn a_key_is_printable_ascii_and_only_counts_on_a_post() {
    let mut house = House::default();
    let long = "k".repeat(256);
    for bad in ["", "ü", "a\tb", &long] {
        assert!(send(&mut house, bad, &tool("look")).expect(422).json["message"].is_string(), "{bad}");
    }
    send(&mut house, &long[1..], &tool("look")).expect(201);
    send(&mut house, "with space", &tool("look")).expect(201);
    let put = json!({ "nickname": 5 });
    for _ in 0..2 {
        house.put("/user/phone-numbers/1", &put).header("idempotency-key", "").send().expect(404);
        let got = house.call(Method::Get, "/user/tools").header("idempotency-key", &long).send().expect(200);
        assert_eq!(got.header("idempotency-replayed"), None);
    }
}

#[test]
fn an_answer_that_shows_a_token_is_never_kept() {
    let mut house = House::default();
    let mut make = || house.post("/user/api-keys", &json!({ "name": "CI" })).header("idempotency-key", "k").send();
    let token = make().expect(201).json["api_key"]["token"].as_str().expect("a token").to_owned();
    assert!(make().expect(409).json["message"].is_string());
    let kept = house.store.rows().values().any(|row| String::from_utf8_lossy(row).contains(&token));
    assert!(!kept, "the store holds no token");
    assert_eq!(house.get("/user/api-keys").json["api_keys"].as_array().map(Vec::len), Some(2));
    let login = json!({ "email": "owner@localhost", "password": house.password });
    for _ in 0..2 {
        let call = house.post("/user/login", &login).without("authorization").header("idempotency-key", "k");
        call.send().expect(200);
    }
}

#[test]
fn the_operators_keys_count_as_well() {
    let mut house = House::default();
    let operator = house.operator.clone();
    let mut make =
        |path: &str, body: Value| house.post(path, &body).token(&operator).header("idempotency-key", path).send();
    let plan = json!({ "name": "small" });
    let first = make("/admin/plans", plan.clone()).expect(201);
    assert_eq!(make("/admin/plans", plan).expect(201).bytes, first.bytes);
    let account = json!({ "email": "new@example.com" });
    make("/admin/accounts", account.clone()).expect(201);
    make("/admin/accounts", account).expect(409);
}

#[test]
fn a_key_is_forgotten_after_a_day_and_swept() {
    let mut house = House::default();
    let before = house.store.rows().len();
    send(&mut house, "once", &tool("look")).expect(201);
    house.now = house.now.plus_seconds(86_399);
    assert_eq!(send(&mut house, "once", &tool("look")).header("idempotency-replayed"), Some("true"));
    house.now = house.now.plus_seconds(1);
    assert_eq!(send(&mut house, "once", &tool("other")).expect(201).header("idempotency-replayed"), None);
    let day = house.now.plus_seconds(86_400);
    assert!(house.tick().is_some_and(|at| at <= day), "the sweep plans itself again");
    house.now = day;
    assert_eq!(house.tick(), None);
    house.delete("/user/tools/1").expect(200);
    house.delete("/user/tools/2").expect(200);
    let left = house.store.rows().len() - before;
    assert!(left <= 4, "{left} rows are left besides counters");
}

#[test]
fn many_keys_are_swept_to_the_last() {
    let mut house = House::default();
    let stray = |house: &House| house.store.rows().values().filter(|row| row.len() > 43 && row[0] == 1).count();
    let before = stray(&house);
    for n in 0..600 {
        send(&mut house, &format!("key {n}"), &tool("look")).expect(201);
    }
    assert!(stray(&house) >= before + 600);
    house.now = house.now.plus_seconds(86_400);
    assert_eq!(house.tick(), None);
    assert_eq!(send(&mut house, "key 0", &tool("look")).expect(201).header("idempotency-replayed"), None);
}

#[test]
fn while_the_first_runs_or_its_host_died_the_second_waits() {
    use switchboard_core::step::{Input, Outcome};
    let mut house = twilio();
    let body = json!({ "phone_number": NUMBER });
    // The host dies between the request to the carrier and its answer.
    let request = house.post("/user/phone-numbers/purchase", &body).header("idempotency-key", "buy").request();
    let seed = house.seed();
    let output = house.step(&Input::Http(&request, &[]), seed);
    assert!(matches!(output.outcome, Outcome::Wait) && output.sends.len() == 1);
    let mut again = |seconds: u64| {
        house.now = house.now.plus_seconds(seconds);
        house.post("/user/phone-numbers/purchase", &body).header("idempotency-key", "buy").send()
    };
    again(0).expect(409);
    again(59).expect(409);
    again(1).error(400, "This phone number is already in use.");
}

#[test]
fn a_carriers_refusal_leaves_the_key_free_and_its_answer_is_kept() {
    let mut house = twilio();
    house.outside(|_| Err(SendError::TimedOut));
    let body = json!({ "phone_number": NUMBER });
    let buy =
        |house: &mut House| house.post("/user/phone-numbers/purchase", &body).header("idempotency-key", "buy").send();
    buy(&mut house).expect(502);
    buy(&mut house).expect(400);
    house.now = house.now.plus_seconds(61);
    house.outside(|_| {
        Ok(HttpIn { status: 200, body: br#"{"incoming_phone_numbers":[]}"#.to_vec(), ..HttpIn::default() })
    });
    house.tick();
    house.outside(|_| Ok(HttpIn { status: 201, body: br#"{"sid":"PN1"}"#.to_vec(), ..HttpIn::default() }));
    let first = buy(&mut house).expect(201);
    assert_eq!(buy(&mut house).expect(201).bytes, first.bytes);
}

/// Returns the status that a host which has read only the head answers at once; `None`: the body must be read.
fn at_once(house: &mut House, path: &str, body: &Value, key: &str) -> Option<u16> {
    use switchboard_core::http::request::Body;
    use switchboard_core::step::{Input, Outcome};
    let length = body.to_string().len().to_string();
    let request = house.post(path, body).header("idempotency-key", key).header("content-length", &length);
    let request = request.raw(Body::Pending).request();
    let seed = house.seed();
    match house.step(&Input::Http(&request, &[]), seed).outcome {
        Outcome::Reply(reply) => Some(reply.status),
        Outcome::ReadBody(_) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_is_looked_up_before_the_resource_in_the_path() {
    let mut house = House::default();
    house.outside(|_| Ok(HttpIn { status: 200, body: b"ok".to_vec(), ..HttpIn::default() }));
    let tool_id = house.make("/user/tools", &tool("look"));
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let cases = [
        (format!("/user/tools/{tool_id}/test"), json!({ "arguments": {} })),
        (format!("/user/knowledgebases/{base}/search"), json!({ "query": "hours" })),
    ];
    for (path, body) in &cases {
        house.post(path, body).header("idempotency-key", path).send().expect(200);
    }
    house.delete(&format!("/user/tools/{tool_id}")).expect(200);
    house.delete(&format!("/user/knowledgebases/{base}")).expect(200);
    for (path, body) in &cases {
        assert_eq!(at_once(&mut house, path, body, path), None, "{path}: the body is read first");
        let again = house.post(path, body).header("idempotency-key", path).send().expect(200);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(at_once(&mut house, path, body, "another"), Some(404), "{path}: a new key replays nothing");
        house.post(path, body).header("idempotency-key", "another").send().expect(404);
    }
    let large = json!({ "query": "x".repeat(2 << 20) });
    assert_eq!(at_once(&mut house, &cases[1].0, &large, &cases[1].0), Some(404), "nobody reads what is too long");
}

#[test]
fn an_import_replays_when_its_campaign_is_gone() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let campaign = house.make("/user/campaigns", &campaign(id));
    let send = |house: &mut House| {
        let call = house.call(Method::Post, &format!("/user/leads/import?campaign_id={campaign}"));
        let call = call.header("content-type", "text/csv").body(b"phone_number\n+40700000001\n".to_vec());
        call.header("idempotency-key", "import").send()
    };
    let first = send(&mut house).expect(202);
    house.delete(&format!("/user/campaigns/{campaign}")).expect(200);
    let again = send(&mut house).expect(202);
    assert_eq!(
        (again.bytes, again.headers.iter().any(|(name, _)| *name == "idempotency-replayed")),
        (first.bytes, true)
    );
}

#[test]
fn an_answer_that_shows_what_was_deleted_is_gone() {
    const GONE: &str = "The answer to this key was deleted.";
    let mut house = House::default();
    let outbound = house.make("/user/assistant", &assistant());
    let spring = house.make("/user/campaigns", &campaign(outbound));
    let contacts = json!({ "secondary_contacts": [{ "phone_number": "+40700000002" }] });
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let site = json!({ "name": "Site", "type": "website", "url": "https://a.example/" });
    let cases = [
        ("/user/tools".into(), tool("look"), None),
        ("/user/lead".into(), with(lead(spring, "+40700000001"), &contacts), None),
        ("/user/lead".into(), lead(spring, "+40700000003"), Some(format!("/user/campaigns/{spring}"))),
        (format!("/user/knowledgebases/{base}/documents"), site, Some(format!("/user/knowledgebases/{base}"))),
        ("/user/do-not-call".into(), json!({ "phone_number": "+40700000009" }), None),
        ("/user/phone-numbers/purchase".into(), json!({ "phone_number": "+12122011892" }), None),
        ("/user/assistant".into(), assistant(), None),
    ];
    for (at, (path, body, above)) in cases.into_iter().enumerate() {
        let key = format!("key {at}");
        let send = |house: &mut House| house.post(&path, &body).header("idempotency-key", &key).send();
        let made = send(&mut house);
        let id = made.id();
        assert_eq!(send(&mut house).header("idempotency-replayed"), Some("true"), "{path}");
        let own = match path.as_str() {
            "/user/lead" => format!("/user/leads/{id}"),
            "/user/phone-numbers/purchase" => format!("/user/phone-numbers/{id}"),
            path => format!("{path}/{id}"),
        };
        house.delete(&above.unwrap_or(own)).expect(200);
        send(&mut house).message(410, GONE);
        house.now = house.now.plus_seconds(86_000);
        send(&mut house).message(410, GONE);
        let other = house.post(&path, &json!({})).header("idempotency-key", &key).send();
        other.message(422, "This idempotency key was used with another request.");
    }
}

#[test]
fn a_late_retry_of_a_call_rings_nobody() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let body = json!({ "phone_number": "+40700000001", "assistant_id": id });
    let place = |house: &mut House| house.post("/user/make_call", &body).header("idempotency-key", "ring").send();
    let call = place(&mut house).expect(200).json["call_id"].clone();
    house.post(&format!("/user/calls/{call}/hangup"), &json!({})).send().expect(200);
    house.delete(&format!("/user/calls/{call}")).expect(200);
    place(&mut house).message(410, "The answer to this key was deleted.");
    assert_eq!(house.get("/user/calls").json["total"], 0);
}

/// A row as the release before wrote it: state, end, fingerprint, status and body.
#[test]
fn rows_of_the_release_before_replay_and_know_what_was_deleted() {
    let mut house = House::default();
    let id = send(&mut house, "old", &tool("look")).expect(201).id();
    let is_kept = |row: &&Vec<u8>| row.len() > 43 && row[0] == 1 && row[41..43] == 201_u16.to_le_bytes();
    let row = house.store.rows().values().find(is_kept).expect("it is kept so");
    assert!(row[43..].starts_with(b"{\"message\":\"Tool created successfully\""), "the body is all of the rest");
    house.delete(&format!("/user/tools/{id}")).expect(200);
    send(&mut house, "old", &tool("look")).expect(410);
}

#[test]
fn keys_of_engines_count_per_token() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let (one, two) = (Line::attach(&mut house), Line::attach(&mut house));
    let body = json!({ "type": "web", "assistant_id": id });
    let bring = |house: &mut House, line: &Line, body: &Value| {
        house.post("/engine/calls", body).token(&line.token).header("idempotency-key", "sip-1").send()
    };
    let first = bring(&mut house, &one, &body).expect(201);
    let again = bring(&mut house, &one, &body).expect(201);
    assert_eq!((&again.json, again.header("idempotency-replayed")), (&first.json, Some("true")));
    let other = bring(&mut house, &two, &body).expect(201);
    assert_ne!(other.json["call"]["id"], first.json["call"]["id"]);
    let more = json!({ "type": "web", "assistant_id": id, "variables": { "a": 1 } });
    bring(&mut house, &one, &more).message(422, "This idempotency key was used with another request.");
    assert_eq!(house.get("/user/calls").json["total"], 2);
    // The same key, used by an operator, is another one.
    let operator = house.operator.clone();
    let plan = house.post("/admin/plans", &json!({ "name": "small" })).token(&operator);
    plan.header("idempotency-key", "sip-1").send().expect(201);
    let call = first.json["call"]["id"].clone();
    let events = json!({ "events": [{ "seq": 1, "type": "failed" }] });
    for replayed in [None, Some("true")] {
        let path = format!("/engine/calls/{call}/events");
        let got = house.post(&path, &events).token(&one.token).header("idempotency-key", "events").send();
        assert_eq!(got.expect(200).header("idempotency-replayed"), replayed);
    }
    house.delete(&format!("/user/calls/{call}")).expect(200);
    bring(&mut house, &one, &body).message(410, "The answer to this key was deleted.");
}

#[test]
fn a_claim_with_a_key_gives_the_same_calls_again() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let line = Line::attach(&mut house);
    house.make_call(id);
    let claim = |house: &mut House| {
        let body = json!({ "engine": "test", "capacity": 5, "wait": 5 });
        house.post("/engine/claim", &body).token(&line.token).header("idempotency-key", "c").send().expect(200)
    };
    let first = claim(&mut house);
    house.make_call(id);
    assert_eq!(first.json["calls"].as_array().map(Vec::len), Some(1));
    assert_eq!(claim(&mut house).json, first.json);
}
