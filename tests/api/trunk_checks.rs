//! docs/api.md, Checking a trunk: a user asks, an engine tries, the answer is the user's; and how registrations go is seen
//! on the trunk.

use serde_json::{Value, json};
use switchboard_core::http::request::Request;
use switchboard_core::key::Topic;
use switchboard_core::outside::Answer;
use switchboard_core::seed::Seed;
use switchboard_core::step::{Input, Outcome, Output};
use switchboard_tests::house::{Got, House, trunk};

/// An engine token that gets credentials, or does not.
fn engine(house: &mut House, telephony: bool, accounts: &[u64]) -> String {
    let operator = house.operator.clone();
    let new = json!({ "name": "T", "telephony": telephony, "account_ids": accounts });
    let made = house.post("/admin/engine-tokens", &new).token(&operator).send().expect(201);
    made.json["token"].as_str().expect("a token").to_owned()
}

/// The id of another account.
fn stranger(house: &mut House) -> u64 {
    let operator = house.operator.clone();
    house.post("/admin/accounts", &json!({ "email": "b@example.com" })).token(&operator).send().expect(201).id()
}

/// What a claim of an engine that checks trunks brings.
fn claim(house: &mut House, token: &str, more: &Value) -> Vec<Value> {
    let mut body = json!({ "engine": "one", "protocol": 2, "capacity": 0, "checks": true });
    for (member, value) in more.as_object().expect("an object") {
        body[member] = value.clone();
    }
    let got = house.post("/engine/claim", &body).token(token).from("127.0.0.1").send().expect(200);
    got.json["checks"].as_array().expect("a list").clone()
}

fn answer(house: &mut House, token: &str, id: &Value, steps: &Value) -> Got {
    let target = format!("/engine/checks/{}", id.as_str().expect("an id"));
    house.post(&target, &json!({ "steps": steps })).token(token).send()
}

/// A user's request that waits for an engine.
struct Asked {
    request: Request,
    answers: Vec<Answer>,
    seed: Seed,
}

impl Asked {
    fn of(house: &mut House, trunk: u64) -> Self {
        let request = house.post(&target(trunk), &json!({})).request();
        let seed = house.seed();
        Self { request, answers: Vec::new(), seed }
    }

    fn step(&mut self, house: &mut House) -> Output {
        let output = house.step(&Input::Http(&self.request, &self.answers), self.seed);
        if output.outcome == Outcome::Yield {
            self.answers.push(Answer::Yielded);
        }
        output
    }

    /// Runs it until it waits.
    fn wait(house: &mut House, trunk: u64) -> Self {
        let mut asked = Self::of(house, trunk);
        assert_eq!(asked.step(house).outcome, Outcome::Yield);
        let parked = asked.step(house);
        assert_eq!(parked.outcome, Outcome::Park(Topic::Waiting, house.now.plus_seconds(30)));
        assert_eq!(parked.changes, [], "what waits is committed");
        asked
    }

    fn reply(&mut self, house: &mut House) -> (u16, Value) {
        let Outcome::Reply(reply) = self.step(house).outcome else { panic!("no reply") };
        (reply.status, serde_json::from_slice(reply.body()).expect("JSON"))
    }
}

fn target(trunk: u64) -> String {
    format!("/user/phone-numbers/sip-trunks/{trunk}/check")
}

fn steps() -> Value {
    json!([
        { "name": "resolve", "ok": true, "detail": "192.0.2.7" },
        { "name": "reach", "ok": true, "detail": null },
        { "name": "register", "ok": false, "detail": "The password is wrong." },
    ])
}

#[test]
fn an_engine_answers_the_check_of_a_trunk() {
    let mut house = House::default();
    let (token, id) =
        (engine(&mut house, true, &[]), house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000001")));
    assert_eq!(claim(&mut house, &token, &json!({})), [Value::Null; 0]);
    let mut asked = Asked::wait(&mut house, id);
    let taken = claim(&mut house, &token, &json!({}));
    let told = (&taken[0]["trunk"]["trunk_id"], &taken[0]["trunk"]["address"], &taken[0]["trunk"]["password"]);
    assert_eq!((taken.len(), told), (1, (&json!(id), &json!("sip.example:5060"), &json!("secret"))));
    assert_eq!(claim(&mut house, &token, &json!({})), [Value::Null; 0], "it is handed out once");
    house.post(&target(id), &json!({})).send().error(409, "The trunk is being checked.");
    assert!(matches!(asked.step(&mut house).outcome, Outcome::Park(..)));
    answer(&mut house, &token, &taken[0]["id"], &steps()).message(200, "The steps of the check were taken.");
    assert_eq!(asked.reply(&mut house), (200, json!({ "data": { "steps": steps() } })));
    // It is over: the engine's answer comes too late, and the next one begins.
    answer(&mut house, &token, &taken[0]["id"], &steps()).message(404, "Check not found");
    Asked::wait(&mut house, id);
}

#[test]
fn a_check_that_no_engine_answers_ends() {
    let mut house = House::default();
    let (token, id) =
        (engine(&mut house, true, &[]), house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000001")));
    claim(&mut house, &token, &json!({}));
    let mut asked = Asked::wait(&mut house, id);
    let taken = claim(&mut house, &token, &json!({}));
    house.now = house.now.plus_seconds(30);
    asked.answers.push(Answer::Elapsed);
    assert_eq!(asked.reply(&mut house), (504, json!({ "error": "The engine has not answered in time." })));
    answer(&mut house, &token, &taken[0]["id"], &steps()).message(404, "Check not found");
    claim(&mut house, &token, &json!({}));
    let mut again = Asked::wait(&mut house, id);
    let taken = claim(&mut house, &token, &json!({}));
    answer(&mut house, &token, &taken[0]["id"], &steps()).expect(200);
    assert_eq!(again.reply(&mut house).0, 200);
}

#[test]
fn only_an_engine_that_may_is_asked() {
    let mut house = House::default();
    let id = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000001"));
    let none = |house: &mut House| house.post(&target(id), &json!({})).send().expect(503);
    none(&mut house);
    let stranger = stranger(&mut house);
    let (blind, other) = (engine(&mut house, false, &[]), engine(&mut house, true, &[stranger]));
    claim(&mut house, &blind, &json!({}));
    claim(&mut house, &other, &json!({ "engine": "two" }));
    none(&mut house);
    let own = engine(&mut house, true, &[]);
    claim(&mut house, &own, &json!({ "checks": false }));
    none(&mut house);
    claim(&mut house, &own, &json!({}));
    Asked::wait(&mut house, id);
    assert_eq!(claim(&mut house, &blind, &json!({})), [Value::Null; 0]);
    assert_eq!(claim(&mut house, &other, &json!({})), [Value::Null; 0]);
    assert_eq!(claim(&mut house, &own, &json!({ "checks": false })), [Value::Null; 0]);
    assert_eq!(claim(&mut house, &own, &json!({ "filter": { "trunk_ids": [id + 1] } })), [Value::Null; 0]);
    assert_eq!(claim(&mut house, &own, &json!({ "filter": { "account_ids": [stranger] } })), [Value::Null; 0]);
    let taken = claim(&mut house, &own, &json!({ "filter": { "trunk_ids": [id] } }));
    // Another engine may not answer, nor may nothing be said.
    answer(&mut house, &other, &taken[0]["id"], &steps()).message(404, "Check not found");
    answer(&mut house, &own, &taken[0]["id"], &json!([])).wrong(&["steps"]);
    answer(&mut house, &own, &taken[0]["id"], &json!([{ "name": "ping", "ok": true }])).wrong(&["steps.0.name"]);
    answer(&mut house, &own, &taken[0]["id"], &steps()).expect(200);
    // An engine that has not been heard of for a minute is asked no more.
    house.now = house.now.plus_seconds(61);
    none(&mut house);
    house.post(&target(id + 7), &json!({})).send().error(404, "SIP trunk not found.");
}

#[test]
fn checks_have_a_share() {
    let mut house = House::default();
    let token = engine(&mut house, true, &[]);
    claim(&mut house, &token, &json!({}));
    let trunks: Vec<u64> =
        (0..5).map(|at| house.make("/user/phone-numbers/sip-trunks", &trunk(&format!("+4070000000{at}")))).collect();
    for id in &trunks[..4] {
        Asked::wait(&mut house, *id);
    }
    let refused = house.post(&target(trunks[4]), &json!({})).send().expect(429);
    assert_eq!(refused.header("retry-after"), Some("30"));
    house.now = house.now.plus_seconds(31);
    claim(&mut house, &token, &json!({}));
    Asked::wait(&mut house, trunks[4]);
}

#[test]
fn a_wrong_password_is_told_on_the_trunk() {
    let mut house = House::default();
    let (token, id) =
        (engine(&mut house, true, &[]), house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000001")));
    let path = format!("/user/phone-numbers/sip-trunks/{id}");
    let told = |house: &mut House| {
        let one = house.get(&path).expect(200).json["data"]["registration"].clone();
        let all = house.get("/user/phone-numbers/sip-trunks").expect(200).json["data"][0]["registration"].clone();
        assert_eq!(one, all);
        one
    };
    let beat = |house: &mut House, token: &str, state: &str, detail: &Value, id: u64| {
        let body = json!({ "engine": "one", "trunks": [{ "id": id, "state": state, "detail": detail }] });
        house.post("/engine/heartbeat", &body).token(token).send()
    };
    assert_eq!(told(&mut house), Value::Null);
    beat(&mut house, &token, "registered", &Value::Null, id).expect(200);
    let began = house.now.iso();
    house.now = house.now.plus_seconds(10);
    beat(&mut house, &token, "registered", &Value::Null, id).expect(200);
    assert_eq!(told(&mut house), json!({ "state": "registered", "detail": null, "since": began }));
    beat(&mut house, &token, "refused", &json!("The password is wrong."), id).expect(200);
    let wrong = json!({ "state": "refused", "detail": "The password is wrong.", "since": house.now.iso() });
    assert_eq!(told(&mut house), wrong);
    // Neither another account's engine nor a trunk that is none of it changes that.
    let stranger = stranger(&mut house);
    let other = engine(&mut house, true, &[stranger]);
    beat(&mut house, &other, "registered", &Value::Null, id).expect(200);
    beat(&mut house, &token, "registered", &Value::Null, id + 1).expect(200);
    beat(&mut house, &token, "fine", &Value::Null, id).wrong(&["trunks.0.state"]);
    assert_eq!(told(&mut house), wrong);
    // A changed password is not yet known to be wrong, and an engine that is gone says nothing.
    house.put(&path, &trunk("+40700000001")).send().expect(200);
    assert_eq!(told(&mut house), Value::Null);
    beat(&mut house, &token, "unreachable", &Value::Null, id).expect(200);
    assert_eq!(told(&mut house)["state"], "unreachable");
    house.now = house.now.plus_seconds(61);
    assert_eq!(told(&mut house), Value::Null);
    beat(&mut house, &token, "unreachable", &Value::Null, id).expect(200);
    house.delete(&format!("/user/phone-numbers/{id}")).expect(200);
    assert!(!house.store.rows().values().any(|row| String::from_utf8_lossy(row).contains("unreachable")));
}
