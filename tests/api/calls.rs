//! Calls: placing, listing and deleting them.

use serde_json::{Value, json};
use switchboard_tests::house::{House, assistant, trunk, with};

fn found(house: &mut House, query: &str) -> Vec<u64> {
    let page = house.get(&format!("/user/calls?{query}")).expect(200).json;
    let ids: Vec<u64> =
        page["data"].as_array().expect("rows").iter().map(|row| row["id"].as_u64().expect("an id")).collect();
    assert_eq!(page["total"], ids.len(), "{query}");
    ids
}

#[test]
fn a_placed_call_is_initiated_and_has_every_member() {
    let mut house = House::default();
    let number = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000009"));
    let body = with(assistant(), &json!({ "type": "inbound", "phone_number_id": number }));
    let assistant_id = house.make("/user/assistant", &body);
    let variables = json!({ "name": "Ana", "visits": 2, "vip": true });
    let body = json!({ "phone_number": "+40700000001", "assistant_id": assistant_id, "variables": variables });
    let got = house.post("/user/make_call", &body).send().expect(200);
    let id = got.json["call_id"].as_u64().expect("an id");
    let want = json!({
        "message": "Call initiated successfully", "call_id": id, "status": "initiated",
        "data": { "id": id, "status": "initiated" },
    });
    assert_eq!(got.json, want);
    let at = "2026-09-21 14:13:20";
    let want = json!({
        "id": id, "assistant_name": "Anna", "campaign_name": null, "type": "outbound", "duration": 0,
        "assistant_phone_number": "+40700000009", "client_phone_number": "+40700000001", "status": "initiated",
        "transcript": "", "variables": variables, "evaluation": null, "webhook_response": null, "carrier_cost": 0.0,
        "total_cost": 0.0, "answered_by": "unknown", "recording_url": null, "created_at": at, "updated_at": at,
        "assistant_id": assistant_id, "campaign_id": null, "lead_id": null, "ended_reason": null,
        "from_raw": null, "latency": null, "cost_breakdown": null,
    });
    let read = house.get(&format!("/user/calls/{id}")).expect(200).json;
    let (carrier_cost, total_cost) = (read["carrier_cost"].as_f64(), read["total_cost"].as_f64());
    assert_eq!((carrier_cost, total_cost), (Some(0.0), Some(0.0)));
    assert_eq!(with(read, &json!({ "carrier_cost": 0.0, "total_cost": 0.0 })), want);
}

#[test]
fn what_a_call_must_keep_to() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let good = json!({ "phone_number": "+40700000001", "assistant_id": id });
    house.post("/user/make_call", &json!({})).send().wrong(&["phone_number", "assistant_id"]);
    for (changes, field) in [
        (json!({ "phone_number": "0700" }), "phone_number"),
        (json!({ "assistant_id": "x" }), "assistant_id"),
        (json!({ "variables": { "a": [null] } }), "variables.a"),
        (json!({ "variables": "x" }), "variables"),
    ] {
        house.post("/user/make_call", &with(good.clone(), &changes)).send().wrong(&[field]);
    }
    let unknown = with(good.clone(), &json!({ "assistant_id": 99 }));
    house.post("/user/make_call", &unknown).send().message(404, "Assistant not found");
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "balance": 0 })).token(&operator).send().expect(200);
    assert!(house.post("/user/make_call", &good).send().expect(402).json["message"].is_string());
    assert_eq!(found(&mut house, ""), [0; 0]);
    house.put("/admin/accounts/1", &json!({ "balance": null })).token(&operator).send().expect(200);
    house.post("/user/make_call", &good).send().expect(200);
}

#[test]
fn lists_are_newest_first_and_take_any_combination_of_filters() {
    let mut house = House::default();
    let [first, second] =
        ["Anna", "Bea"].map(|name| house.make("/user/assistant", &with(assistant(), &json!({ "name": name }))));
    let place = |house: &mut House, assistant: u64, phone: &str| {
        let body = json!({ "phone_number": phone, "assistant_id": assistant });
        house.post("/user/make_call", &body).send().expect(200).json["call_id"].as_u64().expect("an id")
    };
    let one = place(&mut house, first, "+40700000001");
    let two = place(&mut house, second, "+40700000001");
    house.now = house.now.plus_seconds(86_400);
    let three = place(&mut house, first, "+40700000002");
    let cases = [
        (String::new(), vec![three, two, one]),
        ("status=initiated&type=outbound".into(), vec![three, two, one]),
        ("status=completed".into(), vec![]),
        ("type=web".into(), vec![]),
        (format!("assistant_id={first}"), vec![three, one]),
        ("phone_number=%2B40700000001".into(), vec![two, one]),
        ("phone_number=40700000001".into(), vec![two, one]),
        ("phone_number=+40700000001".into(), vec![two, one]),
        ("phone_number=4070000000".into(), vec![]),
        ("campaign_id=1".into(), vec![]),
        ("date_from=2026-09-22".into(), vec![three]),
        ("date_to=2026-09-21".into(), vec![two, one]),
        ("date_from=2026-09-21&date_to=2026-09-21".into(), vec![two, one]),
        (format!("assistant_id={first}&phone_number=40700000001&status=initiated&date_to=2026-09-22"), vec![one]),
    ];
    for (query, want) in cases {
        assert_eq!(found(&mut house, &query), want, "{query}");
    }
}

#[test]
fn names_stay_as_they_were_when_the_call_was_made() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let call = house.make_call(id);
    house.put(&format!("/user/assistant/{id}"), &json!({ "name": "Bea" })).send().expect(200);
    assert_eq!(house.get(&format!("/user/calls/{call}")).json["assistant_name"], "Anna");
}

#[test]
fn a_running_call_is_not_deleted_and_an_unknown_one_not_found() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let call = house.make_call(id);
    assert!(house.delete(&format!("/user/calls/{call}")).expect(409).json["message"].is_string());
    house.get(&format!("/user/calls/{call}")).expect(200);
    house.get("/user/calls/99").message(404, "Call not found");
    house.delete("/user/calls/99").message(404, "Call not found");
    let absent: [Value; 0] = [];
    assert_eq!(house.get("/user/calls?assistant_id=99").json["data"], json!(absent));
}
