//! Idempotency keys (API.md, section 1).

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::output::{HttpIn, SendError};
use switchboard_tests::house::{Got, House, tool};

use crate::carrier::{NUMBER, twilio};

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
    use switchboard_core::output::{Input, Outcome};
    let mut house = twilio();
    let body = json!({ "phone_number": NUMBER });
    // The host dies between the question to the carrier and its answer.
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
