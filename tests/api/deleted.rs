//! Deleting a call or a lead removes what was said from everywhere (docs/api.md, Deleting what was said).

use serde_json::{Value, json};
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_core::verify::verify;
use switchboard_tests::house::{House, assistant, campaign, lead, with};
use switchboard_tests::line::{Held, Line, said};

const HOOK: &str = "https://hook.example/x";
const SECRET: &str = "my card is 4242";

/// Returns a house with an active assistant that has a webhook, an engine, and the assistant's id.
fn hooked(changes: &Value) -> (House, Line, u64) {
    let mut house = House::default();
    house.outside(|_| Ok(HttpIn { status: 200, ..HttpIn::default() }));
    let hook = json!({ "is_webhook_active": true, "webhook_url": HOOK, "post_call_evaluation": false });
    let id = house.make("/user/assistant", &with(with(assistant(), &hook), changes));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let line = Line::attach(&mut house);
    (house, line, id)
}

/// Has the engine take the pending call, hear [`SECRET`] and end it.
fn spoken(house: &mut House, line: &Line) -> Held {
    let mut held = line.take(house);
    line.say(house, &mut held, &[json!({ "type": "answered" }), said("human", SECRET)]).expect(200);
    line.say(house, &mut held, &[json!({ "type": "ended", "by": "customer" })]).expect(200);
    held
}

fn feed(house: &mut House) -> Vec<Value> {
    house.get("/user/events?limit=1000").expect(200).json["data"].as_array().expect("a list").clone()
}

fn deliveries(house: &mut House) -> Vec<Value> {
    house.get("/user/webhook-deliveries?per_page=100").expect(200).json["data"].as_array().expect("a list").clone()
}

fn emptied(house: &mut House) -> Vec<bool> {
    feed(house).iter().map(|event| event["payload"] == json!({ "deleted": true })).collect()
}

/// Checks that no row of the store contains this text.
#[track_caller]
fn nowhere(house: &House, text: &str) {
    let found = house.store.rows().iter().find(|(_, row)| String::from_utf8_lossy(row).contains(text));
    assert!(found.is_none(), "{text} stands under {:02x?}", found.map(|(at, _)| at));
}

fn resend(house: &mut House, delivery: &Value) -> u16 {
    house.post(&format!("/user/webhook-deliveries/{}/resend", delivery["id"]), &json!({})).send().status
}

#[test]
fn a_deleted_call_leaves_an_empty_event_and_nothing_to_send() {
    let (mut house, line, id) = hooked(&json!({}));
    house.make_call(id);
    let first = spoken(&mut house, &line);
    house.make_call(id);
    let second = spoken(&mut house, &line);
    house.tick();
    let before = feed(&mut house);
    house.delete(&format!("/user/calls/{}", first.id)).expect(200);
    let after = feed(&mut house);
    assert_eq!(emptied(&mut house), [true, false]);
    for name in ["seq", "id", "event", "created_at"] {
        assert_eq!(after[0][name], before[0][name], "{name}");
    }
    assert_eq!(after[1], before[1], "another call's event stays as it is");
    let sent = deliveries(&mut house);
    assert_eq!((&sent[1]["status"], &sent[1]["call_id"]), (&json!("delivered"), &json!(first.id)));
    assert_eq!((resend(&mut house, &sent[0]), resend(&mut house, &sent[1])), (202, 404));
    house.delete(&format!("/user/calls/{}", second.id)).expect(200);
    house.tick();
    nowhere(&house, SECRET);
    assert_eq!(verify(&house.store).map(|report| report.faults), Ok(Vec::new()));
}

#[test]
fn a_pending_delivery_of_a_deleted_call_is_given_up() {
    let (mut house, line, id) = hooked(&json!({}));
    let tries = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = std::rc::Rc::clone(&tries);
    house.outside(move |_| {
        count.set(count.get() + 1);
        Err(SendError::Unreachable)
    });
    house.make_call(id);
    let held = spoken(&mut house, &line);
    house.tick();
    assert_eq!((tries.get(), deliveries(&mut house)[0]["status"].clone()), (1, json!("pending")));
    house.delete(&format!("/user/calls/{}", held.id)).expect(200);
    let row = deliveries(&mut house)[0].clone();
    assert_eq!((&row["status"], &row["next_attempt_at"]), (&json!("exhausted"), &Value::Null));
    assert_eq!(
        row["attempts"].as_array().and_then(|tries| tries.last()).map(|last| &last["error"]),
        Some(&json!("deleted"))
    );
    house.now = house.now.plus_seconds(86_400);
    house.tick();
    assert_eq!((tries.get(), resend(&mut house, &row)), (1, 404));
}

#[test]
fn a_call_that_is_deleted_before_its_conclusion_is_told_without_what_was_said() {
    let (mut house, line, id) = hooked(&json!({ "post_call_evaluation": true }));
    house.make_call(id);
    let held = spoken(&mut house, &line);
    house.delete(&format!("/user/calls/{}", held.id)).expect(200);
    assert_eq!(emptied(&mut house), [true]);
    house.tick();
    nowhere(&house, SECRET);
    assert_eq!(deliveries(&mut house)[0]["status"], "exhausted");
}

#[test]
fn every_event_of_an_inbound_call_is_emptied() {
    let (mut house, line, _) = hooked(&json!({}));
    let number = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": "+12122011892" }));
    let inbound = json!({
        "type": "inbound", "phone_number_id": number, "post_call_evaluation": false,
        "inbound_webhook_events": ["call.incoming", "call.completed"],
    });
    let body = with(assistant(), &inbound);
    let id = house.make("/user/assistant", &body);
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let enable = json!({ "assistant_id": id, "webhook_url": "https://in.example/" });
    house.post("/user/assistants/enable-inbound-webhook", &enable).send().expect(200);
    let arriving = json!({ "type": "inbound", "from": "+40700000777", "to": "+12122011892" });
    let got = house.post("/engine/calls", &arriving).token(&line.token).send().expect(201);
    let mut held = Held::of(got.json);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" }), json!({ "type": "ended" })]).expect(200);
    house.tick();
    let names: Vec<Value> = feed(&mut house).iter().map(|event| event["event"].clone()).collect();
    assert_eq!(names, ["call.incoming", "call.ended", "call.completed"]);
    house.delete(&format!("/user/calls/{}", held.id)).expect(200);
    assert_eq!(emptied(&mut house), [true; 3]);
    house.tick();
    nowhere(&house, "+40700000777");
}

/// Returns a running campaign whose leads, each with a secondary contact, were each called once and spoke.
fn dialed(leads: usize) -> (House, u64, Vec<u64>) {
    let (mut house, line, id) = hooked(&json!({}));
    let spring = house.make("/user/campaigns", &with(campaign(id), &json!({ "max_calls_in_parallel": 1 })));
    let made = (0..leads).map(|at| {
        let contact = json!({ "secondary_contacts": [{ "phone_number": format!("+4071000{at:04}") }] });
        let body = with(lead(spring, &format!("+4070000{at:04}")), &contact);
        house.make("/user/lead", &with(body, &json!({ "variables": { "email": "ana@private.example" } })))
    });
    let made: Vec<u64> = made.collect();
    house
        .post("/user/campaigns/update-status", &json!({ "campaign_id": spring, "action": "start" }))
        .send()
        .expect(200);
    for _ in 0..leads {
        house.tick();
        spoken(&mut house, &line);
    }
    house.tick();
    (house, spring, made)
}

#[test]
fn a_deleted_lead_leaves_its_calls_and_empties_their_events() {
    let (mut house, _, leads) = dialed(2);
    assert_eq!(feed(&mut house)[0]["payload"]["lead"]["id"], leads[0]);
    house.delete(&format!("/user/leads/{}", leads[0])).expect(200);
    assert_eq!(emptied(&mut house), [true, false]);
    let sent = deliveries(&mut house);
    assert_eq!((resend(&mut house, &sent[0]), resend(&mut house, &sent[1])), (202, 404));
    assert_eq!(house.get("/user/calls").json["total"], 2);
}

#[test]
fn a_deleted_secondary_contact_empties_the_events_that_show_it() {
    let (mut house, _, leads) = dialed(2);
    let path = format!("/user/leads/{}", leads[1]);
    let contact = house.get(&path).json["secondary_contacts"][0]["id"].clone();
    house.delete(&format!("/user/leads/{contact}")).expect(200);
    assert_eq!(emptied(&mut house), [false, true]);
}

#[test]
fn a_deleted_campaign_empties_the_events_of_its_leads() {
    let (mut house, spring, _) = dialed(12);
    house.delete(&format!("/user/campaigns/{spring}")).expect(200);
    house.tick();
    assert_eq!(emptied(&mut house), [true; 12]);
    assert!(deliveries(&mut house).iter().all(|sent| sent["status"] == "delivered"));
}

#[test]
fn a_lead_with_many_calls_is_emptied_in_slices() {
    let (mut house, line, id) = hooked(&json!({}));
    let rules = json!({ "max_retries": 5, "retry_interval": 10, "max_calls_in_parallel": 1 });
    let spring = house.make("/user/campaigns", &with(campaign(id), &rules));
    let contacts: Vec<Value> = (0..10).map(|at| json!({ "phone_number": format!("+4071000{at:04}") })).collect();
    let body = with(lead(spring, "+40700000001"), &json!({ "secondary_contacts": contacts }));
    let lead = house.make("/user/lead", &body);
    house
        .post("/user/campaigns/update-status", &json!({ "campaign_id": spring, "action": "start" }))
        .send()
        .expect(200);
    for _ in 0..40 {
        house.now = house.now.plus_seconds(600);
        house.tick();
        for mut held in line.claim(&mut house, 1) {
            line.say(&mut house, &mut held, &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
        }
    }
    house.tick();
    assert!(feed(&mut house).len() >= 36);
    house.delete(&format!("/user/leads/{lead}")).expect(200);
    house.tick();
    let left: Vec<Value> = feed(&mut house).into_iter().filter(|event| !event["payload"]["lead"].is_null()).collect();
    assert!(left.is_empty(), "{left:?}");
    nowhere(&house, "+40710000003\",\"variables");
}

#[test]
fn what_the_feed_forgets_leaves_no_index_behind() {
    let (mut house, _, leads) = dialed(3);
    house.delete(&format!("/user/leads/{}", leads[0])).expect(200);
    let index =
        |house: &House| house.store.rows().keys().filter(|key| key.get(5) == Some(&48) && key.len() > 6).count();
    assert!(index(&house) > 1);
    house.now = house.now.plus_seconds(31 * 86_400);
    house.tick();
    assert_eq!(feed(&mut house).len(), 0);
    assert_eq!(index(&house), 0);
}

/// Events written by the release before are in no index.
#[test]
fn events_of_the_release_before_are_found_as_well() {
    let (mut house, line, id) = hooked(&json!({}));
    let mut calls = Vec::new();
    for _ in 0..40 {
        house.make_call(id);
        calls.push(spoken(&mut house, &line).id);
    }
    house.tick();
    let index: Vec<_> = house.store.rows().keys().filter(|key| key.get(5) == Some(&48)).cloned().collect();
    let without: Vec<_> = index.into_iter().map(switchboard_core::store::Change::Delete).collect();
    house.store.apply(&without);
    house.delete(&format!("/user/calls/{}", calls[37])).expect(200);
    house.tick();
    let emptied = emptied(&mut house);
    assert_eq!(emptied.iter().filter(|emptied| **emptied).count(), 1);
    assert!(emptied[37]);
}
