//! Numbers not to be called (docs/api.md, Numbers not to be called).

use serde_json::json;
use switchboard_tests::house::House;

const NUMBERS: &str = "/user/do-not-call";

#[test]
fn a_number_is_added_once_and_removed() {
    let mut house = House::default();
    let body = json!({ "phone_number": "+40700000001", "reason": "Asked" });
    let added = house.post(NUMBERS, &body).send().expect(201);
    let entry = json!({
        "id": added.id(), "phone_number": "+40700000001", "reason": "Asked", "created_at": "2026-09-21T14:13:20.000000Z",
    });
    assert_eq!(added.json, json!({ "message": "Number added successfully.", "data": entry }));
    house.post(NUMBERS, &body).send().wrong(&["phone_number"]);
    assert_eq!(house.get(NUMBERS).expect(200).json["data"], json!([entry]));
    house.delete(&format!("{NUMBERS}/{}", added.id())).message(200, "Number removed successfully.");
    house.delete(&format!("{NUMBERS}/{}", added.id())).message(404, "Number not found");
    house.post(NUMBERS, &body).send().expect(201);
}

#[test]
fn every_wrong_member_is_named() {
    let mut house = House::default();
    house.post(NUMBERS, &json!({ "reason": "x".repeat(256) })).send().wrong(&["phone_number", "reason"]);
    for number in ["0700000001", "+0700000001", "+40 700 000 00a"] {
        house.post(NUMBERS, &json!({ "phone_number": number })).send().wrong(&["phone_number"]);
    }
}
