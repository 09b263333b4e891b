//! Leads and their secondary contacts.

use serde_json::{Value, json};
use switchboard_tests::house::{Got, House, assistant, campaign, lead, with};

const PHONE: &str = "+40700000001";

/// Returns a house with a campaign, and the campaign's id.
fn house() -> (House, u64) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let id = house.make("/user/campaigns", &campaign(id));
    (house, id)
}

fn create(house: &mut House, body: &Value) -> Got {
    house.post("/user/leads", body).send()
}

fn read(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/leads/{id}")).expect(200).json
}

fn update(house: &mut House, id: u64, body: &Value) -> Got {
    house.put(&format!("/user/leads/{id}"), body).send()
}

fn found(house: &mut House, query: &str) -> Vec<u64> {
    let page = house.get(&format!("/user/leads?{query}")).expect(200).json;
    let ids: Vec<u64> =
        page["data"].as_array().expect("rows").iter().map(|row| row["id"].as_u64().expect("an id")).collect();
    assert_eq!(page["total"], ids.len(), "{query}");
    ids
}

#[test]
fn one_is_created_with_its_secondary_contacts() {
    let (mut house, campaign_id) = house();
    let contacts = json!([{ "phone_number": "+40700000002", "variables": { "email": "b@example.com" } }]);
    let variables = json!({ "customer_name": "Ana", "email": "a@example.com", "visits": 3 });
    let body = with(lead(campaign_id, PHONE), &json!({ "variables": variables, "secondary_contacts": contacts }));
    let got = create(&mut house, &body).expect(200);
    let (id, at) = (got.id(), "2026-09-21 14:13:20");
    let second = got.json["data"]["secondary_contacts"][0]["id"].clone();
    let want = json!({
        "id": id, "campaign_id": campaign_id, "phone_number": PHONE, "variables": variables, "status": "created",
        "created_at": at, "updated_at": at, "campaign": { "id": campaign_id, "name": "Spring" },
        "secondary_contacts": [{
            "id": second, "phone_number": "+40700000002", "variables": { "email": "b@example.com" },
            "status": "created", "created_at": at, "updated_at": at,
        }],
    });
    assert_eq!(got.json, json!({ "message": "Lead created successfully", "data": want }));
    assert_eq!(read(&mut house, id), want);
    assert_eq!(found(&mut house, ""), [id], "a contact is no row of its own");
    let contact = read(&mut house, second.as_u64().expect("an id"));
    assert_eq!((&contact["phone_number"], &contact["campaign_id"]), (&json!("+40700000002"), &json!(campaign_id)));
    house.post("/user/lead", &lead(campaign_id, "+40700000003")).send().expect(200);
}

#[test]
fn what_a_creation_must_keep_to() {
    let (mut house, campaign_id) = house();
    let contacts =
        |n: usize| json!((0..n).map(|n| json!({ "phone_number": format!("+4071000{n:04}") })).collect::<Vec<_>>());
    let cases = [
        (json!({ "phone_number": null }), "phone_number"),
        (json!({ "phone_number": "0700000001" }), "phone_number"),
        (json!({ "campaign_id": null }), "campaign_id"),
        (json!({ "campaign_id": 99 }), "campaign_id"),
        (json!({ "variables": { "customer_name": 5 } }), "variables.customer_name"),
        (json!({ "variables": { "email": true } }), "variables.email"),
        (json!({ "variables": { "x": [null] } }), "variables.x"),
        (json!({ "secondary_contacts": contacts(11) }), "secondary_contacts"),
        (json!({ "secondary_contacts": [{}] }), "secondary_contacts.0.phone_number"),
        (
            json!({ "secondary_contacts": [{ "phone_number": "+40700000009", "variables": { "email": 1 } }] }),
            "secondary_contacts.0.variables.email",
        ),
        (json!({ "allow_dupplicate": "maybe" }), "allow_dupplicate"),
    ];
    for (changes, field) in cases {
        let got = create(&mut house, &with(lead(campaign_id, PHONE), &changes));
        got.wrong(&[field]);
        assert_eq!(got.json["message"], "Validation failed");
    }
    assert_eq!(found(&mut house, ""), [0; 0]);
    create(&mut house, &with(lead(campaign_id, PHONE), &json!({ "secondary_contacts": contacts(10) }))).expect(200);
}

#[test]
fn a_number_is_in_a_campaign_once_unless_allowed() {
    let (mut house, campaign_id) = house();
    let contact = |phone: &str| json!({ "secondary_contacts": [{ "phone_number": phone }] });
    create(&mut house, &with(lead(campaign_id, PHONE), &contact("+40700000002"))).expect(200);
    create(&mut house, &lead(campaign_id, PHONE)).wrong(&["phone_number"]);
    create(&mut house, &lead(campaign_id, "+40700000002")).wrong(&["phone_number"]);
    let both = with(lead(campaign_id, "+40700000003"), &contact("+40700000002"));
    create(&mut house, &both).wrong(&["secondary_contacts.0.phone_number"]);
    let twice = with(lead(campaign_id, "+40700000003"), &contact("+40700000003"));
    create(&mut house, &twice).wrong(&["secondary_contacts.0.phone_number"]);
    create(&mut house, &with(lead(campaign_id, PHONE), &json!({ "allow_dupplicate": true }))).expect(200);
    let other = house.make("/user/campaigns", &campaign(1));
    create(&mut house, &lead(other, PHONE)).expect(200);
}

#[test]
fn lists_are_newest_first_and_filtered() {
    let (mut house, first) = house();
    let second = house.make("/user/campaigns", &campaign(1));
    let one = create(&mut house, &lead(first, "+40700000001")).id();
    let two = create(&mut house, &lead(second, "+40711111111")).id();
    house.now = house.now.plus_seconds(86_400);
    let three = create(&mut house, &lead(first, "+491701234567")).id();
    update(&mut house, two, &json!({ "status": "completed" })).expect(200);
    let cases = [
        ("", vec![three, two, one]),
        ("status=created", vec![three, one]),
        ("status=completed", vec![two]),
        ("status=blacklisted", vec![]),
        ("phone_number=%2B407", vec![two, one]),
        ("phone_number=407", vec![two, one]),
        ("phone_number=+4917", vec![three]),
        ("phone_number=1111", vec![two]),
        ("date_from=2026-09-22", vec![three]),
        ("date_to=2026-09-21", vec![two, one]),
        ("date_from=2026-09-21&date_to=2026-09-22", vec![three, two, one]),
        ("date_from=2026-09-23", vec![]),
    ];
    for (query, want) in cases {
        assert_eq!(found(&mut house, query), want, "{query}");
    }
    assert_eq!(found(&mut house, &format!("campaign_id={first}&status=created&phone_number=70")), [three, one]);
    assert_eq!(found(&mut house, &format!("campaign_id={second}&status=created")), [0; 0]);
    assert_eq!(house.get("/user/leads").json["per_page"], 15);
}

#[test]
fn an_update_changes_what_it_supplies_and_merges_variables() {
    let (mut house, campaign_id) = house();
    let other = house.make("/user/campaigns", &campaign(1));
    let body = json!({ "variables": { "a": 1, "b": 2 }, "secondary_contacts": [{ "phone_number": "+40700000002" }] });
    let id = create(&mut house, &with(lead(campaign_id, PHONE), &body)).id();
    let change = json!({
        "campaign_id": other, "phone_number": "+40700000009", "status": "reached-max-retries",
        "variables": { "b": 3, "c": "x" },
    });
    update(&mut house, id, &change).message(200, "Lead updated successfully");
    let got = read(&mut house, id);
    assert_eq!(got["variables"], json!({ "a": 1, "b": 3, "c": "x" }));
    assert_eq!((&got["phone_number"], &got["status"]), (&change["phone_number"], &change["status"]));
    assert_eq!((&got["campaign_id"], &got["campaign"]["id"]), (&json!(other), &json!(other)));
    assert_eq!(found(&mut house, &format!("campaign_id={other}&phone_number=0009")), [id]);
    let contact = got["secondary_contacts"][0]["id"].as_u64().expect("an id");
    assert_eq!(read(&mut house, contact)["campaign_id"], other, "contacts go where their lead goes");
    house.put(&format!("/leads/{id}"), &json!({ "status": "created" })).send().expect(200);
    update(&mut house, contact, &json!({ "status": "completed" })).expect(200);
    assert_eq!(read(&mut house, id)["secondary_contacts"][0]["status"], "completed");
    assert_eq!(found(&mut house, "status=completed"), [0; 0]);
}

#[test]
fn an_update_keeps_to_the_rules_of_creation() {
    let (mut house, campaign_id) = house();
    let id = create(&mut house, &lead(campaign_id, PHONE)).id();
    create(&mut house, &lead(campaign_id, "+40700000002")).expect(200);
    for status in ["scheduled", "processing", "rescheduled", "blacklisted"] {
        let got = update(&mut house, id, &json!({ "status": status }));
        got.wrong(&["status"]);
        let says = "This status is assigned automatically and cannot be set manually";
        assert_eq!(got.json["errors"]["status"], json!([says]));
    }
    let cases = [
        (json!({ "status": "nope" }), "status"),
        (json!({ "phone_number": "+40700000002" }), "phone_number"),
        (json!({ "phone_number": "1" }), "phone_number"),
        (json!({ "campaign_id": 99 }), "campaign_id"),
        (json!({ "variables": { "email": 1 } }), "variables.email"),
    ];
    for (change, field) in cases {
        update(&mut house, id, &change).wrong(&[field]);
    }
    update(&mut house, 99, &json!({})).message(404, "Lead not found");
    assert_eq!(read(&mut house, id)["phone_number"], PHONE);
    update(&mut house, id, &json!({ "phone_number": PHONE })).expect(200);
}

#[test]
fn a_deleted_lead_takes_its_contacts_and_frees_its_number() {
    let (mut house, campaign_id) = house();
    let contacts = json!([{ "phone_number": "+40700000002" }, { "phone_number": "+40700000003" }]);
    let body = with(lead(campaign_id, PHONE), &json!({ "secondary_contacts": contacts }));
    let got = create(&mut house, &body);
    let (id, contacts) = (got.id(), got.json["data"]["secondary_contacts"].clone());
    let [first, second] = [0, 1].map(|at: usize| contacts[at]["id"].as_u64().expect("an id"));
    house.delete(&format!("/user/leads/{first}")).message(200, "Lead deleted successfully");
    assert_eq!(read(&mut house, id)["secondary_contacts"], json!([contacts[1]]));
    house.delete(&format!("/user/leads/{id}")).message(200, "Lead deleted successfully");
    for gone in [id, first, second] {
        house.get(&format!("/user/leads/{gone}")).message(404, "Lead not found");
    }
    assert_eq!(found(&mut house, ""), [0; 0]);
    create(&mut house, &body).expect(200);
}

#[test]
fn an_update_gives_no_lead_a_number_that_its_campaign_has() {
    let (mut house, campaign_id) = house();
    let contact = |phone: &str| json!({ "secondary_contacts": [{ "phone_number": phone }] });
    let other = house.make("/user/campaigns", &campaign(1));
    let first = create(&mut house, &with(lead(campaign_id, PHONE), &contact("+40700000002"))).id();
    let own = create(&mut house, &with(lead(campaign_id, "+40700000003"), &contact("+40700000004")));
    let (id, own) = (own.id(), own.json["data"]["secondary_contacts"][0]["id"].as_u64().expect("an id"));
    for taken in [PHONE, "+40700000002", "+40700000004"] {
        update(&mut house, id, &json!({ "phone_number": taken })).wrong(&["phone_number"]);
    }
    update(&mut house, own, &json!({ "phone_number": "+40700000003" })).wrong(&["phone_number"]);
    let both = json!({ "phone_number": "+40700000004", "campaign_id": other });
    update(&mut house, id, &both).wrong(&["phone_number"]);
    create(&mut house, &lead(other, PHONE)).expect(200);
    update(&mut house, first, &json!({ "campaign_id": other })).wrong(&["phone_number"]);
    update(&mut house, first, &json!({ "campaign_id": other, "phone_number": "+40700000009" })).expect(200);
}
