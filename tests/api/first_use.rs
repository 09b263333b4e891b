//! Activation at first use (docs/api.md, Activation): an assistant that its owner never switched becomes active when a
//! campaign starts with it or when it takes an inbound call.

use serde_json::{Value, json};
use switchboard_core::outside::HttpIn;
use switchboard_tests::house::{Got, House, assistant, campaign, with};
use switchboard_tests::line::Line;

const INACTIVE: &str = "The campaign's assistant is not active. Set its status to \"active\".";

/// Returns the status of an assistant, and whether its first use makes it active.
fn status(house: &mut House, id: u64) -> (Value, Value) {
    let got = house.get(&format!("/user/assistant/{id}")).expect(200).json;
    (got["status"].clone(), got["activates_on_use"].clone())
}

fn waits(house: &mut House, id: u64) -> bool {
    status(house, id) == (json!("inactive"), json!(true))
}

fn is_active(house: &mut House, id: u64) -> bool {
    status(house, id) == (json!("active"), json!(false))
}

fn switch(house: &mut House, id: u64, status: &str) {
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": status })).send().expect(200);
}

fn start(house: &mut House, campaign: u64) -> Got {
    let body = json!({ "campaign_id": campaign, "action": "start" });
    house.post("/user/campaigns/update-status", &body).send()
}

/// Returns the payloads of the feed's events of this name.
fn events(house: &mut House, name: &str) -> Vec<Value> {
    let feed = house.get("/user/events").expect(200).json["data"].clone();
    let events = feed.as_array().expect("a list").iter().filter(|event| event["event"] == name);
    events.map(|event| event["payload"].clone()).collect()
}

const ACTIVATED: &str = "assistant.activated";

/// Creates an inbound assistant with a number.
fn inbound(house: &mut House, changes: &Value) -> u64 {
    let number = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": "+12122011892" }));
    let body = with(assistant(), &json!({ "type": "inbound", "phone_number_id": number }));
    house.make("/user/assistant", &with(body, changes))
}

fn bring(house: &mut House, line: &Line) -> Got {
    let body = json!({ "type": "inbound", "from": "+40700000001", "to": "+12122011892" });
    house.post("/engine/calls", &body).token(&line.token).send()
}

#[test]
fn the_start_of_a_campaign_activates_its_assistant_once() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let first = house.make("/user/campaigns", &campaign(id));
    let second = house.make("/user/campaigns", &campaign(id));
    assert!(waits(&mut house, id));
    house.now = house.now.plus_seconds(5);
    start(&mut house, first).expect(200);
    start(&mut house, second).expect(200);
    assert!(is_active(&mut house, id));
    assert_eq!(house.get(&format!("/user/assistant/{id}")).json["updated_at"], house.now.iso());
    let told = json!({ "assistant_id": id, "by": "campaign", "reference": first });
    assert_eq!(events(&mut house, ACTIVATED), [told]);
}

#[test]
fn an_inbound_call_activates_its_assistant_and_the_engine_gets_it_active() {
    for url in [None, Some("https://in.example/")] {
        let mut house = House::default();
        let line = Line::attach(&mut house);
        let id = inbound(&mut house, &json!({}));
        if let Some(url) = url {
            let enable = json!({ "assistant_id": id, "webhook_url": url });
            house.post("/user/assistants/enable-inbound-webhook", &enable).send().expect(200);
            house.outside(|_| Ok(HttpIn { status: 200, ..HttpIn::default() }));
        }
        let got = bring(&mut house, &line).expect(201).json;
        assert_eq!(got["assistant"]["status"], "active");
        bring(&mut house, &line).expect(201);
        assert!(is_active(&mut house, id));
        let told = json!({ "assistant_id": id, "by": "call", "reference": got["call"]["id"] });
        assert_eq!(events(&mut house, ACTIVATED), [told]);
    }
}

#[test]
fn a_deleted_call_leaves_the_event_without_its_payload() {
    let mut house = House::default();
    let line = Line::attach(&mut house);
    inbound(&mut house, &json!({}));
    let got = bring(&mut house, &line).expect(201).json;
    let id = got["call"]["id"].as_u64().expect("an id");
    line.send(&mut house, id, &[json!({ "seq": 1, "type": "failed", "reason": "busy" })]).expect(200);
    house.tick();
    house.delete(&format!("/user/calls/{id}")).expect(200);
    assert_eq!(events(&mut house, ACTIVATED), [json!({ "deleted": true })]);
    for _ in 0..31 {
        house.now = house.now.plus_seconds(86_400);
        house.tick();
    }
    assert_eq!(events(&mut house, ACTIVATED), [] as [Value; 0]);
}

#[test]
fn what_is_refused_is_no_first_use() {
    let mut house = House::default();
    let line = Line::attach(&mut house);
    let operator = house.operator.clone();
    let large = inbound(&mut house, &json!({ "system_prompt": "p".repeat(900_000), "name": "Large" }));
    house.put(&format!("/user/assistant/{large}"), &json!({ "system_prompt": "p".repeat(600_000) })).send().expect(200);
    bring(&mut house, &line).expect(422);
    assert!(waits(&mut house, large));
    let id = house.make("/user/assistant", &assistant());
    let campaign = house.make("/user/campaigns", &campaign(id));
    house.put("/admin/accounts/1", &json!({ "balance": 0 })).token(&operator).send().expect(200);
    start(&mut house, campaign).expect(400);
    assert!(waits(&mut house, id));
    assert_eq!(events(&mut house, ACTIVATED), [] as [Value; 0]);
}

#[test]
fn make_call_and_web_calls_are_no_first_use() {
    let mut house = House::default();
    let line = Line::attach(&mut house);
    let id = house.make("/user/assistant", &assistant());
    house.make_call(id);
    line.take(&mut house);
    let web = json!({ "type": "web", "assistant_id": id });
    house.post("/engine/calls", &web).token(&line.token).send().expect(201);
    assert!(waits(&mut house, id));
}

#[test]
fn one_that_was_switched_off_stays_so() {
    let mut house = House::default();
    let line = Line::attach(&mut house);
    let answers = inbound(&mut house, &json!({}));
    let calls = house.make("/user/assistant", &assistant());
    let campaign = house.make("/user/campaigns", &campaign(calls));
    for id in [answers, calls] {
        switch(&mut house, id, "inactive");
        assert!(waits(&mut house, id), "it was inactive: nothing was switched");
        switch(&mut house, id, "active");
        switch(&mut house, id, "inactive");
        assert_eq!(status(&mut house, id), (json!("inactive"), json!(false)));
    }
    bring(&mut house, &line).expect(404);
    let refused = start(&mut house, campaign).expect(400).json;
    assert_eq!(refused, json!({ "message": INACTIVE, "success": false }));
    switch(&mut house, calls, "active");
    start(&mut house, campaign).expect(200);
}

#[test]
fn a_running_campaign_calls_once_its_assistant_was_activated() {
    let mut house = House::default();
    let line = Line::attach(&mut house);
    let (first, later) = (house.make("/user/assistant", &assistant()), house.make("/user/assistant", &assistant()));
    let running = house.make("/user/campaigns", &with(campaign(first), &json!({ "timezone": "Etc/UTC" })));
    house.make("/user/lead", &switchboard_tests::house::lead(running, "+40700000001"));
    start(&mut house, running).expect(200);
    house.put(&format!("/user/campaigns/{running}"), &json!({ "assistant_id": later })).send().expect(200);
    house.tick();
    assert_eq!(line.claim(&mut house, 5).len(), 0);
    let other = house.make("/user/campaigns", &campaign(later));
    start(&mut house, other).expect(200);
    house.tick();
    assert_eq!(line.claim(&mut house, 5).len(), 1);
}
