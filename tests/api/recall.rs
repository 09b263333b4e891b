//! What happens to pending calls and webhooks when users change the resources behind them.

use serde_json::{Value, json};
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_core::step::Input;
use switchboard_core::time::Timestamp;
use switchboard_tests::house::{House, assistant, campaign, lead, with};
use switchboard_tests::line::Line;

/// Returns a house with a running campaign with these rules and one lead with these members.
fn dialing(rules: &Value, members: &Value) -> (House, Line, u64, u64) {
    let mut house = House::default();
    let changes = json!({ "post_call_evaluation": false });
    let assistant = house.make("/user/assistant", &with(assistant(), &changes));
    house.put(&format!("/user/assistant/{assistant}"), &json!({ "status": "active" })).send().expect(200);
    let campaign = house.make("/user/campaigns", &with(campaign(assistant), rules));
    let lead = house.make("/user/lead", &with(lead(campaign, "+40700000001"), members));
    let line = Line::attach(&mut house);
    switch(&mut house, campaign, "start");
    house.tick();
    (house, line, campaign, lead)
}

fn switch(house: &mut House, campaign: u64, action: &str) {
    let body = json!({ "campaign_id": campaign, "action": action });
    house.post("/user/campaigns/update-status", &body).send().expect(200);
}

fn put(house: &mut House, lead: u64, body: &Value) {
    house.put(&format!("/user/leads/{lead}"), body).send().expect(200);
    house.tick();
}

fn status(house: &mut House, path: &str) -> String {
    house.get(path).expect(200).json["status"].as_str().expect("a status").to_owned()
}

fn total(house: &mut House, query: &str) -> u64 {
    house.get(&format!("/user/calls?{query}")).expect(200).json["total"].as_u64().expect("a total")
}

#[test]
fn a_waiting_call_goes_with_what_changes_about_its_lead() {
    for (body, calls, to) in [
        (json!({ "status": "completed" }), 0, ""),
        (json!({ "status": "created" }), 1, "+40700000001"),
        (json!({ "phone_number": "+40700000009" }), 1, "+40700000009"),
    ] {
        let (mut house, line, _, lead) = dialing(&json!({}), &json!({}));
        put(&mut house, lead, &body);
        assert_eq!(status(&mut house, "/user/calls/1"), "failed", "{body}");
        let held = line.claim(&mut house, 5);
        assert_eq!(held.len(), calls, "{body}");
        assert!(held.iter().all(|held| held.claimed["call"]["client_phone_number"] == to), "{body}");
    }
    let (mut house, line, _, lead) = dialing(&json!({}), &json!({}));
    house.delete(&format!("/user/leads/{lead}")).expect(200);
    house.tick();
    assert_eq!(status(&mut house, "/user/calls/1"), "failed");
    assert!(line.claim(&mut house, 5).is_empty(), "nobody calls who was deleted");
}

#[test]
fn a_lead_that_is_set_anew_while_it_is_called_is_not_called_twice_at_once() {
    let (mut house, line, campaign, lead) = dialing(&json!({}), &json!({}));
    let mut held = line.take(&mut house);
    put(&mut house, lead, &json!({ "status": "created" }));
    assert!(line.claim(&mut house, 5).is_empty());
    assert_eq!(status(&mut house, &format!("/user/leads/{lead}")), "processing");
    line.talk(&mut house, &mut held);
    house.tick();
    assert_eq!(status(&mut house, &format!("/user/leads/{lead}")), "completed");
    assert_eq!(status(&mut house, &format!("/user/campaigns/{campaign}")), "completed");
    // A status that rules out further calls is kept, whatever the call's outcome.
    let (mut house, line, _, lead) = dialing(&json!({}), &json!({}));
    let mut held = line.take(&mut house);
    put(&mut house, lead, &json!({ "status": "reached-max-retries" }));
    line.talk(&mut house, &mut held);
    house.tick();
    assert_eq!(status(&mut house, &format!("/user/leads/{lead}")), "reached-max-retries");
}

#[test]
fn a_lead_that_is_moved_while_it_is_called_goes_on_where_it_is() {
    let (mut house, line, campaign, lead) = dialing(&json!({}), &json!({}));
    let other = house.make("/user/campaigns", &with(json!({ "name": "Other" }), &json!({ "assistant_id": 1 })));
    switch(&mut house, other, "start");
    let mut held = line.take(&mut house);
    put(&mut house, lead, &json!({ "campaign_id": other }));
    house.delete(&format!("/user/campaigns/{campaign}")).expect(200);
    line.say(&mut house, &mut held, &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
    assert_eq!(status(&mut house, &format!("/user/leads/{lead}")), "rescheduled");
    house.now = house.now.plus_seconds(3_600);
    house.tick();
    let mut held = line.take(&mut house);
    assert_eq!(held.claimed["call"]["campaign_id"], other);
    line.talk(&mut house, &mut held);
    house.tick();
    assert_eq!(status(&mut house, &format!("/user/campaigns/{other}")), "completed");
}

#[test]
fn a_secondary_contact_that_is_deleted_leaves_its_turn_to_the_next() {
    let contacts =
        json!({ "secondary_contacts": [{ "phone_number": "+40700000002" }, { "phone_number": "+40700000003" }] });
    for claimed in [false, true] {
        let (mut house, line, _, lead) = dialing(&json!({}), &contacts);
        let mut held = line.take(&mut house);
        line.say(&mut house, &mut held, &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
        house.tick();
        let held = if claimed { Some(line.take(&mut house)) } else { None };
        let first =
            house.get(&format!("/user/leads/{lead}")).json["secondary_contacts"][0]["id"].as_u64().expect("an id");
        house.delete(&format!("/user/leads/{first}")).expect(200);
        house.tick();
        if let Some(mut held) = held {
            line.say(&mut house, &mut held, &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
            house.tick();
        }
        let next = line.take(&mut house);
        assert_eq!(next.claimed["call"]["client_phone_number"], "+40700000003", "claimed: {claimed}");
    }
}

#[test]
fn an_inactive_assistant_does_not_open_the_hours() {
    // It is 17:13 in Bucharest when the house starts.
    let rules = json!({ "timezone": "Europe/Bucharest", "allowed_hours_start_time": "14:00", "allowed_hours_end_time": "18:00" });
    let (mut house, line, _, _) = dialing(&rules, &json!({}));
    house.now = Timestamp::parse_iso("2026-09-21T14:55:00Z").expect("a time");
    let call = total(&mut house, "status=initiated");
    house.put("/user/assistant/1", &json!({ "status": "inactive" })).send().expect(200);
    house.now = Timestamp::parse_iso("2026-09-21T15:00:01Z").expect("a time");
    assert_eq!((call, line.claim(&mut house, 5).len()), (1, 0));
}

#[test]
fn a_suspended_account_places_no_calls_until_it_is_let_in_again() {
    let (mut house, _, campaign, _) = dialing(&json!({}), &json!({}));
    switch(&mut house, campaign, "stop");
    switch(&mut house, campaign, "start");
    let operator = house.operator.clone();
    let before = total(&mut house, "per_page=1");
    house.put("/admin/accounts/1", &json!({ "suspended": true })).token(&operator).send().expect(200);
    for _ in 0..20 {
        house.now = house.now.plus_seconds(300);
        house.tick();
    }
    house.put("/admin/accounts/1", &json!({ "suspended": false })).token(&operator).send().expect(200);
    assert_eq!(total(&mut house, "per_page=1"), before);
    house.now = house.now.plus_seconds(300);
    house.tick();
    assert_eq!(total(&mut house, "per_page=1"), before + 1);
}

/// Returns a house whose one finished call has a webhook pending.
fn owing() -> (House, Line) {
    let mut house = House::default();
    let hook =
        json!({ "is_webhook_active": true, "webhook_url": "https://old.example/", "post_call_evaluation": false });
    let id = house.make("/user/assistant", &with(assistant(), &hook));
    house.make_call(id);
    let line = Line::attach(&mut house);
    let mut held = line.take(&mut house);
    line.talk(&mut house, &mut held);
    (house, line)
}

#[test]
fn a_webhook_that_is_sent_again_is_sent_even_if_a_try_is_under_way() {
    let (mut house, _) = owing();
    let seed = house.seed();
    let sent = house.step(&Input::Tick, seed).sends;
    assert_eq!(sent.len(), 1);
    let body = json!({ "assistant_id": 1, "webhook_url": "https://new.example/" });
    house.post("/user/assistants/enable-webhook", &body).send().expect(200);
    house.post("/user/webhook-deliveries/1/resend", &json!({})).send().expect(202);
    let (seed, answer) = (house.seed(), HttpIn { status: 200, ..HttpIn::default() });
    let late = Input::Answered(sent[0].ticket.clone(), switchboard_core::outside::Answer::Http(answer));
    house.step(&late, seed);
    let urls = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = std::rc::Rc::clone(&urls);
    house.outside(move |request| {
        seen.borrow_mut().push(request.url.clone());
        Err(SendError::Unreachable)
    });
    house.tick();
    assert_eq!(*urls.borrow(), ["https://new.example/"]);
}

#[test]
fn a_call_that_is_deleted_before_its_work_is_done_is_reported_without_what_was_said() {
    let mut house = House::default();
    let changes =
        json!({ "is_webhook_active": true, "webhook_url": "https://hook.example/", "post_call_evaluation": true });
    let id = house.make("/user/assistant", &with(assistant(), &changes));
    house.make_call(id);
    let line = Line::attach(&mut house);
    let mut held = line.take(&mut house);
    line.talk(&mut house, &mut held);
    assert_eq!(status(&mut house, "/user/calls/1"), "ended_by_customer");
    house.delete("/user/calls/1").expect(200);
    house.tick();
    let events = house.get("/user/events").expect(200).json;
    let reported = &events["data"][0];
    assert_eq!((&reported["event"], &reported["payload"]), (&json!("call.ended"), &json!({ "deleted": true })));
    let deliveries = house.get("/user/webhook-deliveries").json;
    assert_eq!((&deliveries["total"], &deliveries["data"][0]["status"]), (&json!(1), &json!("exhausted")));
}
