//! Why a call ended, as a code: `ended_reason` of the call object (docs/api.md, Why a call ended).

use serde_json::{Value, json};
use switchboard_core::call::reasons::EndedReason;
use switchboard_core::key::{self, Kind, Space};
use switchboard_core::record::Choice;
use switchboard_core::store::{Change, Row};
use switchboard_tests::house::{House, assistant, campaign, lead, with};
use switchboard_tests::line::{Held, Line};

fn placed(changes: &Value) -> (House, Line, u64) {
    let mut house = House::default();
    let body = with(with(assistant(), &json!({ "post_call_evaluation": false })), changes);
    let id = house.make("/user/assistant", &body);
    let call = house.make_call(id);
    let line = Line::attach(&mut house);
    (house, line, call)
}

fn claimed(changes: &Value) -> (House, Line, Held) {
    let (mut house, line, _) = placed(changes);
    let held = line.take(&mut house);
    (house, line, held)
}

/// Lets time pass while the engine renews its lease, and runs what is due.
fn renew(house: &mut House, line: &Line, held: &Held, seconds: u64) {
    for _ in 0..seconds.div_ceil(20) {
        house.now = house.now.plus_seconds(seconds.min(20));
        house.tick();
        line.send(house, held.id, &[]);
    }
}

fn reason(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/calls/{id}")).expect(200).json["ended_reason"].clone()
}

/// Checks the reason of a call, in the call and, where the service ended it, in its last event.
#[track_caller]
fn ended_by_service(house: &mut House, id: u64, want: &str) {
    assert_eq!(reason(house, id), want);
    let events = house.get(&format!("/user/calls/{id}/events")).expect(200).json;
    let last = events["data"].as_array().expect("a list").iter().rfind(|event| event["by"] == "service");
    assert_eq!(last.expect("an event of the service")["reason"], want);
}

#[test]
fn what_an_engine_reports_has_a_code() {
    let ended = |by: &str, reason: &str| json!({ "type": "ended", "by": by, "reason": reason });
    let failed = |reason: &str| json!({ "type": "failed", "reason": reason });
    for (answered, event, want) in [
        (true, json!({ "type": "ended", "by": "customer" }), "customer_hung_up"),
        (true, ended("customer", "hung-up"), "customer_hung_up"),
        (true, json!({ "type": "ended", "by": "assistant" }), "assistant_hung_up"),
        (true, ended("assistant", "end-call"), "assistant_hung_up"),
        (true, ended("assistant", "voicemail"), "voicemail"),
        (true, ended("assistant", "transferred"), "transferred"),
        (true, ended("assistant", "silence"), "silence"),
        (true, json!({ "type": "ended" }), "ended"),
        (true, ended("service", "max-duration"), "max_duration"),
        (true, ended("service", "do_not_call"), "ended"),
        (true, failed("media lost"), "engine_failed"),
        (false, failed("busy"), "busy"),
        (false, failed("no-answer"), "no_answer"),
        (false, failed("carrier-error"), "carrier_error"),
        (false, json!({ "type": "failed" }), "engine_failed"),
    ] {
        let (mut house, line, mut held) = claimed(&json!({}));
        if answered {
            line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
        }
        assert_eq!(reason(&mut house, held.id), Value::Null, "it runs");
        line.say(&mut house, &mut held, std::slice::from_ref(&event)).expect(200);
        assert_eq!(reason(&mut house, held.id), want, "{event}");
        let told = house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json;
        let last = told["data"].as_array().expect("a list").iter().rfind(|told| told["type"] == event["type"]);
        assert_eq!(last.expect("its event")["reason"], event["reason"], "the engine's own words stay");
    }
}

#[test]
fn a_refused_event_leaves_no_reason() {
    let (mut house, line, mut held) = claimed(&json!({}));
    line.say(&mut house, &mut held, &[json!({ "type": "ended", "by": "customer" })]).expect(409);
    assert_eq!(reason(&mut house, held.id), Value::Null);
}

#[test]
fn a_lease_and_the_ringing_time_run_out() {
    let (mut house, _, held) = claimed(&json!({}));
    house.now = house.now.plus_seconds(30);
    house.tick();
    ended_by_service(&mut house, held.id, "lease_expired");
    let (mut house, line, mut held) = claimed(&json!({ "ringing_time": 20 }));
    line.say(&mut house, &mut held, &[json!({ "type": "ringing" })]).expect(200);
    house.now = house.now.plus_seconds(20);
    house.tick();
    ended_by_service(&mut house, held.id, "no_answer");
}

#[test]
fn a_call_that_nobody_carries_says_whether_an_engine_was_there() {
    let (mut house, line, held) = claimed(&json!({}));
    renew(&mut house, &line, &held, 600);
    ended_by_service(&mut house, held.id, "not_dialed");
    for (attached, want) in [(false, "no_engine"), (true, "unclaimed")] {
        let (mut house, line, call) = placed(&json!({}));
        house.now = house.now.plus_seconds(590);
        if attached {
            let body = json!({ "engine": "other", "modes": ["dualplex"] });
            house.post("/engine/claim", &body).token(&line.token).send().expect(200);
        }
        house.now = house.now.plus_seconds(10);
        house.tick();
        ended_by_service(&mut house, call, want);
    }
}

#[test]
fn a_hang_up_is_told_apart_from_the_longest_duration() {
    let (mut house, _, call) = placed(&json!({}));
    house.post(&format!("/user/calls/{call}/hangup"), &json!({})).send().expect(200);
    ended_by_service(&mut house, call, "hangup");
    let answered = |longest: u32| {
        let (mut house, line, mut held) = claimed(&json!({ "max_duration": longest }));
        line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
        (house, line, held)
    };
    for (by, want) in [("service", ["hangup", "max_duration"]), ("customer", ["customer_hung_up"; 2])] {
        let said = json!({ "type": "ended", "by": by, "reason": "hangup" });
        let (mut house, line, mut held) = answered(600);
        house.post(&format!("/user/calls/{}/hangup", held.id), &json!({})).send().expect(200);
        line.say(&mut house, &mut held, std::slice::from_ref(&said)).expect(200);
        assert_eq!(reason(&mut house, held.id), want[0]);
        let (mut house, line, mut held) = answered(20);
        renew(&mut house, &line, &held, 20);
        line.say(&mut house, &mut held, &[said]).expect(200);
        assert_eq!(reason(&mut house, held.id), want[1]);
    }
    // An engine that does not obey.
    let (mut house, line, held) = answered(600);
    house.post(&format!("/user/calls/{}/hangup", held.id), &json!({})).send().expect(200);
    renew(&mut house, &line, &held, 40);
    ended_by_service(&mut house, held.id, "hangup");
    let (mut house, line, held) = answered(20);
    renew(&mut house, &line, &held, 60);
    ended_by_service(&mut house, held.id, "max_duration");
}

#[test]
fn a_queued_call_says_what_came_between() {
    let (mut house, line, call) = placed(&json!({}));
    house.post("/user/do-not-call", &json!({ "phone_number": "+40700000001" })).send().expect(201);
    assert!(line.claim(&mut house, 1).is_empty());
    ended_by_service(&mut house, call, "do_not_call");

    let (mut house, line, call) = placed(&json!({}));
    house.delete("/user/assistant/1").expect(200);
    house.tick();
    assert!(line.claim(&mut house, 1).is_empty());
    ended_by_service(&mut house, call, "assistant_deleted");

    let (mut house, line, call) = placed(&json!({ "system_prompt": "p".repeat(530_000) }));
    assert!(line.claim(&mut house, 1).is_empty());
    ended_by_service(&mut house, call, "assistant_too_large");

    let mut house = House::default();
    let number = house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+12122011890" }));
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "phone_number_id": number })));
    let call = house.make_call(id);
    let (line, operator) = (Line::attach(&mut house), house.operator.clone());
    let path = format!("/admin/accounts/1/caller-ids/{number}");
    house.put(&path, &json!({ "verified": false })).token(&operator).send().expect(200);
    assert!(line.claim(&mut house, 1).is_empty());
    ended_by_service(&mut house, call, "caller_id_unverified");
}

/// A campaign that is dialing one lead; its call is queued.
fn dialing(rules: &Value) -> (House, Line, u64, u64) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let campaign = house.make("/user/campaigns", &with(campaign(id), rules));
    let lead = house.make("/user/lead", &lead(campaign, "+40700000001"));
    let line = Line::attach(&mut house);
    house
        .post("/user/campaigns/update-status", &json!({ "campaign_id": campaign, "action": "start" }))
        .send()
        .expect(200);
    house.tick();
    (house, line, campaign, lead)
}

#[test]
fn a_campaigns_queued_call_says_what_stopped_it() {
    let (mut house, _, campaign, _) = dialing(&json!({}));
    let body = json!({ "campaign_id": campaign, "action": "stop" });
    house.post("/user/campaigns/update-status", &body).send().expect(200);
    house.tick();
    ended_by_service(&mut house, 1, "campaign_stopped");

    let (mut house, _, campaign, _) = dialing(&json!({}));
    house.delete(&format!("/user/campaigns/{campaign}")).expect(200);
    ended_by_service(&mut house, 1, "campaign_deleted");

    let (mut house, _, _, lead) = dialing(&json!({}));
    house.put(&format!("/user/leads/{lead}"), &json!({ "status": "completed" })).send().expect(200);
    house.tick();
    ended_by_service(&mut house, 1, "lead_changed");

    let hours =
        json!({ "timezone": "Etc/UTC", "allowed_hours_start_time": "00:00", "allowed_hours_end_time": "23:00" });
    let (mut house, line, ..) = dialing(&hours);
    house.now = switchboard_core::time::Timestamp::parse_iso("2026-09-21T23:30:00Z").expect("a time");
    assert!(line.claim(&mut house, 1).is_empty());
    ended_by_service(&mut house, 1, "outside_hours");
}

#[test]
fn calls_of_earlier_releases_have_null() {
    let named = json!({ "lead_id": 7, "ended_reason": "mine" });
    let mut house = House::default();
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "post_call_evaluation": false })));
    let body = json!({ "phone_number": "+40700000001", "assistant_id": id, "variables": named });
    let call = house.post("/user/make_call", &body).send().expect(200).json["call_id"].as_u64().expect("an id");
    let line = Line::attach(&mut house);
    let mut held = line.take(&mut house);
    line.talk(&mut house, &mut held);
    let now = house.get(&format!("/user/calls/{call}")).expect(200);
    assert_eq!(now.json["ended_reason"], "customer_hung_up");
    let added = r#","ended_reason":"customer_hung_up","from_raw":null,"latency":null,"cost_breakdown":null}"#;
    let ends = format!("\"lead_id\":null{added}");
    assert!(now.bytes.ends_with(ends.as_bytes()), "behind the other members");
    let key = key::row(Space::Account(0), Kind::Call, u32::try_from(call).expect("a count"));
    let mut row = Row::from_bytes(&house.store.rows()[&key]).expect("a row");
    let text = String::from_utf8(row.public.clone()).expect("text");
    row.public = text.replace(added, "}").into_bytes();
    assert!(row.public.ends_with(br#""lead_id":null}"#), "as an earlier release wrote it");
    house.store.apply(&[Change::Put(key, row.to_bytes())]);
    let mut want = now.json;
    want["ended_reason"] = Value::Null;
    assert_eq!(house.get(&format!("/user/calls/{call}")).expect(200).json, want);
    assert_eq!(house.get("/user/calls").expect(200).json["data"], json!([want]));
    house.delete(&format!("/user/calls/{call}")).expect(200);
}

#[test]
fn the_webhook_does_not_carry_it() {
    let (mut house, line, mut held) = claimed(&json!({}));
    line.talk(&mut house, &mut held);
    let feed = house.get("/user/events").expect(200).json;
    let payload = feed["data"].as_array().and_then(|events| events.last()).expect("an event")["payload"].clone();
    assert_eq!((&payload["status"], payload.get("ended_reason")), (&json!("completed"), None));
}

#[test]
fn the_documents_list_every_code() {
    let page = include_str!("../../docs/api.md");
    for code in EndedReason::WORDS {
        assert!(page.contains(&format!("| `{code}` |")), "{code}");
    }
}
