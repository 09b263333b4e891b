//! Text messages of the simulated carrier.

use serde_json::{Value, json};
use switchboard_tests::house::{Got, House};

/// Returns a house with a number that sends messages, and the number's id.
fn house() -> (House, u64) {
    let mut house = House::default();
    let number = house.get("/user/phone-numbers/search").json["data"][0]["phone_number"].clone();
    let id = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": number }));
    (house, id)
}

fn send(house: &mut House, from: u64, to: &str, body: &str) -> Got {
    house.post("/user/sms", &json!({ "from": from, "to": to, "body": body })).send()
}

#[test]
fn one_is_sent_and_shown() {
    let (mut house, from) = house();
    let got = send(&mut house, from, "+40 700 000-001", "Hi").expect(200);
    let data = &got.json["data"];
    let want = json!({
        "id": got.id(), "phone_number_id": from, "to": "+40700000001", "body": "Hi", "user_id": 1, "segments": 1,
        "segment_price": 0.0079, "total_cost": 0.0079, "status": data["status"], "sms_sid": data["sms_sid"],
        "created_at": house.now.iso(), "updated_at": house.now.iso(),
    });
    assert_eq!(got.json, json!({ "message": "SMS sent successfully", "data": want }));
    assert!(data["sms_sid"].is_string() && data["status"].is_string());
}

#[test]
fn it_is_paid_by_the_segment() {
    let (mut house, from) = house();
    let operator = house.operator.clone();
    let left = |house: &mut House, balance: Option<f64>| {
        if let Some(balance) = balance {
            house.put("/admin/accounts/1", &json!({ "balance": balance })).token(&operator).send().expect(200);
        }
        house.get("/user/me").json["total_balance"].as_f64().expect("a number")
    };
    let cases =
        [("x".repeat(160), 1), ("x".repeat(161), 2), ("x".repeat(300), 2), ("ș".repeat(70), 1), ("ș".repeat(71), 2)];
    for (body, segments) in cases {
        left(&mut house, Some(1.0));
        let got = send(&mut house, from, "+40700000001", &body).expect(200);
        assert_eq!(got.json["data"]["segments"], segments);
        let cost = got.json["data"]["total_cost"].as_f64().expect("a cost");
        assert!((left(&mut house, None) + cost - 1.0).abs() < 1e-9);
    }
    left(&mut house, Some(0.001));
    send(&mut house, from, "+40700000001", "Hi").message(400, "Insufficient balance");
    assert!((left(&mut house, None) - 0.001).abs() < 1e-9);
}

#[test]
fn its_text_may_be_called_message_and_its_path_end_in_send() {
    let (mut house, from) = house();
    let body = json!({ "from": from, "to": "+40700000001", "message": "Hi" });
    let got = house.post("/user/sms/send", &body).send().expect(200);
    assert_eq!(got.json["data"]["body"], "Hi");
}

#[test]
fn what_is_wrong_is_told_by_field_or_sentence() {
    let (mut house, from) = house();
    house.post("/user/sms", &json!({})).send().wrong(&["from", "to", "body"]);
    send(&mut house, from, "0700", "Hi").wrong(&["to"]);
    send(&mut house, from, "+40700000001", "").wrong(&["body"]);
    send(&mut house, from, "+40700000001", &"x".repeat(301)).wrong(&["body"]);
    send(&mut house, 99, "+40700000001", "Hi").message(400, "From number not found");
    let caller = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000009" }));
    send(&mut house, caller, "+40700000001", "Hi").message(400, "From number is not SMS capable");
    let got = house.post("/user/sms", &json!({ "from": "x", "to": 5, "body": Value::Null })).send();
    got.wrong(&["from", "to", "body"]);
}
