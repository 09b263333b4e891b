//! People who take over from an assistant (docs/api.md, Generated replies).

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::outside::Answer;
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant};

use crate::conversations::{asking, said, texts};

/// What a customer says to the first assistant.
fn heard(message: &str) -> Value {
    json!({ "assistant_id": 1, "customer_identifier": "+40700000001", "message": message })
}

fn say(house: &mut House, message: &str) -> Got {
    house.post("/user/ai/generate-reply", &heard(message)).send()
}

fn take_over(house: &mut House, uuid: &str) {
    house.post(&format!("/automate/conversations/{uuid}/disable-ai"), &json!({})).send().expect(200);
}

/// Returns a house whose model says yes, and the UUID of a conversation.
fn begun() -> (House, String) {
    let mut house = asking();
    house.make("/user/assistant", &assistant());
    house.outside(|_| Ok(said("Yes.")));
    let uuid = say(&mut house, "Hi").expect(200).json["conversation_id"].as_str().expect("a UUID").to_owned();
    (house, uuid)
}

fn history(house: &mut House, uuid: &str) -> Vec<String> {
    texts(house, &format!("/conversations/{uuid}"))
}

#[test]
fn every_message_is_kept_though_it_says_the_same_and_nothing_is_left_to_pay_with() {
    let (mut house, uuid) = begun();
    take_over(&mut house, &uuid);
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "balance": -1 })).token(&operator).send().expect(200);
    for _ in 0..3 {
        let got = say(&mut house, "Hello?").expect(200).json;
        assert_eq!((&got["reply"], &got["ai_disabled"]), (&Value::Null, &json!(true)));
    }
    assert_eq!(history(&mut house, &uuid), ["Hi", "Yes.", "Hello?", "Hello?", "Hello?"]);
    house.post(&format!("/automate/conversations/{uuid}/enable-ai"), &json!({})).send().expect(200);
    say(&mut house, "Hello?").expect(402);
}

#[test]
fn a_turn_under_way_is_not_answered_and_costs_nothing() {
    let (mut house, uuid) = begun();
    let operator = house.operator.clone();
    let prices = json!({ "items": [{ "unit": "chat_message", "price": 0.5 }] });
    house.put("/admin/prices", &prices).token(&operator).send().expect(200);
    house.put("/admin/accounts/1", &json!({ "balance": 3 })).token(&operator).send().expect(200);
    let request = house.post("/user/ai/generate-reply", &heard("Is it you?")).request();
    let seed = house.seed();
    assert!(matches!(house.step(&Input::Http(&request, &[]), seed).outcome, Outcome::Wait));
    take_over(&mut house, &uuid);
    say(&mut house, "Are you there?").expect(200);
    let output = house.step(&Input::Http(&request, &[Answer::Http(said("It is I."))]), seed);
    let Outcome::Reply(reply) = output.outcome else { panic!("no reply") };
    let told: Value = serde_json::from_slice(reply.body()).expect("JSON");
    assert_eq!((reply.status, &told["reply"], &told["ai_disabled"]), (200, &Value::Null, &json!(true)));
    assert_eq!(history(&mut house, &uuid), ["Hi", "Yes.", "Is it you?", "Are you there?"]);
    let balance = house.call(Method::Get, "/admin/accounts/1").token(&operator).send().json["balance"].clone();
    assert_eq!(balance, json!(3.0));
}

#[test]
fn a_customer_whose_conversation_is_full_still_writes_to_the_person() {
    let (mut house, uuid) = begun();
    house.outside(|_| Ok(said(&"x".repeat(250_000))));
    for at in 0..5 {
        say(&mut house, &format!("Message {at}")).expect(200);
        house.now = house.now.plus_seconds(60);
    }
    take_over(&mut house, &uuid);
    let got = say(&mut house, "Is a person there?").expect(200).json;
    assert_ne!(got["conversation_id"], uuid.as_str(), "the other one is full");
    assert_eq!((&got["reply"], &got["ai_disabled"]), (&Value::Null, &json!(true)));
}

#[test]
fn what_is_known_of_a_customer_follows_the_variables() {
    let (mut house, uuid) = begun();
    let with = |variables: Value| json!({ "assistant_id": 1, "customer_identifier": "+40700000001", "message": "I am", "variables": variables });
    for (name, phone) in [("Bob", "+40700000001"), ("Eve", "+12125550188")] {
        let variables = json!({ "customer_name": name, "customer_phone": phone });
        house.post("/user/ai/generate-reply", &with(variables)).send().expect(200);
        let shown = house.get(&format!("/user/conversations?customer_phone={}", phone.replace('+', "%2B"))).expect(200);
        assert_eq!(shown.json["data"][0]["id"], uuid.as_str());
        assert_eq!(shown.json["data"][0]["customer"], json!({ "phone": phone, "name": name }));
    }
    let gone = house.get("/user/conversations?customer_phone=%2B40700000001").expect(200);
    assert_eq!(gone.json["total"], 0);
    house.post("/user/ai/generate-reply", &with(json!({ "customer_name": null }))).send().expect(200);
    let shown = house.get(&format!("/user/conversations/{}", uuid.to_uppercase())).expect(200).json;
    assert_eq!(shown["variables"], json!({ "customer_phone": "+12125550188" }));
}
