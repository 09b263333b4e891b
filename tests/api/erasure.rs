//! An account that is deleted: at once for whoever uses it, then row by row, until nothing of it is left.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::key::{self, Space};
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_core::verify::verify;
use switchboard_tests::house::{Got, House, assistant, tool};
use switchboard_tests::places::Places;

use crate::carrier::{NUMBER, twilio};

const SECOND: &str = "/admin/accounts/2";

fn operate(house: &mut House, method: Method, path: &str, body: &Value) -> Got {
    let operator = house.operator.clone();
    house.call(method, path).json(body).token(&operator).send()
}

fn look(house: &mut House) -> Got {
    operate(house, Method::Get, SECOND, &json!({}))
}

fn delete(house: &mut House) -> Got {
    operate(house, Method::Delete, SECOND, &json!({}))
}

/// Returns the keys of the second account's space.
fn left(house: &House) -> Vec<Vec<u8>> {
    let own = house.store.rows().keys().filter(|at| key::space_of(at) == Some(Space::Account(1)));
    own.cloned().collect()
}

fn is_sound(house: &House) {
    assert_eq!(verify(&house.store).expect("it reads").faults, [""; 0]);
}

/// Lets time pass until the account is gone; returns how many times something had to be waited for.
fn erased(house: &mut House) -> usize {
    for waits in 0..100 {
        house.tick();
        is_sound(house);
        if look(house).status == 404 {
            return waits;
        }
        house.now = house.now.plus_seconds(5);
    }
    panic!("it is still there: {}", look(house).json);
}

#[test]
fn nothing_is_left_of_a_deleted_account_and_its_neighbour_keeps_all() {
    let mut house = House::default();
    // Of what nothing becomes by itself as time passes.
    house.make("/user/tools", &tool("look"));
    house.make("/user/assistant", &assistant());
    house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let neighbours = |house: &House| -> Vec<(Vec<u8>, Vec<u8>)> {
        let rows = house.store.rows().iter().filter(|(at, _)| key::space_of(at) == Some(Space::Account(0)));
        rows.map(|(at, value)| (at.clone(), value.clone())).collect()
    };
    house.tick();
    let before = neighbours(&house);
    let key = house.account("second@example.com");
    let password = json!({ "password": "long enough" });
    operate(&mut house, Method::Put, SECOND, &password).expect(200);
    let login = json!({ "email": "second@example.com", "password": "long enough" });
    let session = house.post("/user/login", &login).without("authorization").send().expect(200);
    let session = session.json["token"].as_str().expect("a token").to_owned();
    let places = Places::of(&mut house, &key);
    let bought = house.get("/user/phone-numbers/search?country_code=US").expect(200).json["data"][0].clone();
    let number = json!({ "phone_number": bought["phone_number"] });
    house.post("/user/phone-numbers/purchase", &number).token(&key).send().expect(201);
    for _ in 0..300 {
        let body = json!({ "phone_number": "+40700000099", "assistant_id": places.id("/user/assistant") });
        house.post("/user/make_call", &body).token(&key).send().expect(200);
    }
    assert!(left(&house).len() > 500);

    let got = delete(&mut house).expect(202);
    assert_eq!(got.json["data"], json!({ "id": 2, "status": "deleting" }));
    // From now on it is nobody's, before any job has run.
    for token in [&key, &session] {
        house.call(Method::Get, "/user/me").token(token).send().expect(401);
    }
    house.post("/user/login", &login).without("authorization").send().expect(401);
    assert_eq!(look(&mut house).expect(200).json["status"], "deleting");
    operate(&mut house, Method::Put, SECOND, &json!({ "suspended": false })).expect(404);
    operate(&mut house, Method::Post, &format!("{SECOND}/api-keys"), &json!({ "name": "K" })).expect(404);
    house.account("second@example.com");
    assert_eq!(delete(&mut house).expect(202).json, got.json);
    is_sound(&house);

    // The engine that has a call of it hears that it must hang up, and its end is taken.
    house.tick();
    let target = format!("/engine/calls/{}/events", places.id("/engine/calls"));
    let report = |house: &mut House, events: Value| {
        house.post(&target, &json!({ "events": events })).token(&places.engine).send()
    };
    let commands = report(&mut house, json!([])).expect(200).json["commands"].clone();
    assert_eq!((&commands[0]["type"], commands.as_array().map(Vec::len)), (&json!("hangup"), Some(1)));
    report(&mut house, json!([{ "seq": 1, "type": "failed", "reason": "busy" }])).expect(200);
    let claimed = house.post("/engine/claim", &json!({ "engine": "E" })).token(&places.engine).send().expect(200);
    assert_eq!(claimed.json["calls"], json!([]), "what waited was called off");
    assert_eq!(look(&mut house).expect(200).json["status"], "deleting");

    erased(&mut house);
    assert_eq!(left(&house), Vec::<Vec<u8>>::new());
    assert_eq!(house.tick(), house.tick(), "its jobs went with it");
    let jobs = operate(&mut house, Method::Get, "/admin/jobs?account_id=2", &json!({})).expect(200);
    assert_eq!(jobs.json["total"], 0);
    let listed = operate(&mut house, Method::Get, "/admin/accounts", &json!({})).expect(200).json;
    let ids: Vec<&Value> = listed["data"].as_array().expect("rows").iter().map(|row| &row["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(3)]);
    delete(&mut house).message(404, "Account not found.");
    report(&mut house, json!([])).expect(404);
    assert!(neighbours(&house) == before, "the neighbour's rows are as they were");
    house.post("/user/phone-numbers/purchase", &number).send().expect(201);
}

#[test]
fn an_engine_that_says_nothing_is_waited_for_no_longer_than_its_lease() {
    let mut house = House::default();
    let key = house.account("second@example.com");
    Places::of(&mut house, &key);
    delete(&mut house).expect(202);
    let waits = erased(&mut house);
    assert!((5..20).contains(&waits), "{waits}");
    assert_eq!(left(&house), Vec::<Vec<u8>>::new());
}

#[test]
fn a_carrier_that_says_nothing_keeps_the_number_alone() {
    let mut house = twilio();
    let owned = json!({ "sid": "PN1", "phone_number": NUMBER, "capabilities": { "voice": true, "sms": true } });
    let bought = HttpIn { status: 201, body: owned.to_string().into_bytes(), ..HttpIn::default() };
    house.outside(move |_| Ok(bought.clone()));
    let key = house.account("second@example.com");
    house.post("/user/phone-numbers/purchase", &json!({ "phone_number": NUMBER })).token(&key).send().expect(201);
    house.post("/user/assistant", &assistant()).token(&key).send().expect(201);
    house.outside(|_| Err(SendError::Unreachable));
    delete(&mut house).expect(202);
    for _ in 0..3 {
        house.tick();
        is_sound(&house);
        house.now = house.now.plus_seconds(60);
    }
    assert_eq!(look(&mut house).expect(200).json["status"], "deleting");
    let rows = house.store.rows().values().filter(|row| String::from_utf8_lossy(row).contains("system_prompt"));
    assert_eq!(rows.count(), 0, "all else is erased");
    house.outside(|_| Ok(HttpIn { status: 204, ..HttpIn::default() }));
    house.now = house.now.plus_seconds(3_600);
    erased(&mut house);
    assert_eq!(left(&house), Vec::<Vec<u8>>::new());
}
