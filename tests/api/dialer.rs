//! The campaign dialer (docs/api.md, Campaigns and States): whom it calls, when, and how often.

use serde_json::{Value, json};
use switchboard_core::campaign::states::{CampaignEvent, MOVES as CAMPAIGN_MOVES};
use switchboard_core::campaign::tables::CampaignStatus;
use switchboard_core::lead::states::{LeadEvent, MOVES as LEAD_MOVES};
use switchboard_core::lead::tables::LeadStatus;
use switchboard_core::record::Choice;
use switchboard_core::time::Timestamp;
use switchboard_tests::house::{lead, with};

use crate::desk::Desk;

#[test]
fn a_campaign_calls_its_leads_in_parallel_and_completes() {
    let mut desk = Desk::new(&json!({ "max_calls_in_parallel": 2 }));
    let leads: Vec<u64> = (1..=5).map(|n| desk.lead(n)).collect();
    assert!(desk.claim().is_empty(), "a draft calls nobody");
    desk.start();
    let mut seen = Vec::new();
    for _ in 0..4 {
        let mut calls = desk.claim();
        assert!(calls.len() <= 2);
        for held in &mut calls {
            let call = &held.claimed["call"];
            assert_eq!((&call["campaign_id"], &call["campaign_name"]), (&json!(desk.campaign), &json!("C")));
            seen.push(call["lead_id"].as_u64().expect("a lead"));
            desk.finish(held, "human", &json!({}));
        }
    }
    assert_eq!(seen, leads);
    assert_eq!(desk.campaign(), "completed");
    assert!(leads.iter().all(|lead| desk.status(*lead) == "completed"));
    let more = desk.lead(6);
    assert!(desk.claim().is_empty(), "a completed campaign is started again");
    desk.start();
    let mut calls = desk.claim();
    assert_eq!(calls[0].claimed["call"]["lead_id"], more);
    desk.finish(&mut calls[0], "human", &json!({}));
    assert_eq!(desk.campaign(), "completed");
}

#[test]
fn a_missed_lead_is_tried_again_after_the_interval_and_given_up() {
    let mut desk = Desk::new(&json!({}));
    let lead = desk.lead(1);
    desk.start();
    assert_eq!(desk.status(lead), "processing");
    let mut calls = desk.claim();
    desk.fail(&mut calls[0]);
    assert_eq!(desk.status(lead), "rescheduled");
    let (callable, codes, next) = desk.why(lead);
    assert_eq!((callable, codes), (false, vec!["waiting_for_retry".to_owned()]));
    assert_eq!(next, desk.house.now.plus_seconds(600).iso());
    desk.wait(599);
    assert!(desk.claim().is_empty());
    desk.wait(1);
    let mut calls = desk.claim();
    desk.fail(&mut calls[0]);
    assert_eq!((desk.status(lead).as_str(), desk.campaign().as_str()), ("reached-max-retries", "completed"));
    desk.wait(86_400);
    assert!(desk.claim().is_empty());
}

#[test]
fn voicemail_and_a_missed_goal_count_as_asked() {
    let goal = json!({ "retry_on_goal_incomplete": true, "goal_completion_variable": "agreed" });
    for (changes, answered_by, variables, want) in [
        (json!({}), "machine", json!({}), "completed"),
        (json!({ "retry_on_voicemail": true }), "machine", json!({}), "rescheduled"),
        (json!({ "retry_on_voicemail": true }), "human", json!({}), "completed"),
        (goal.clone(), "human", json!({ "agreed": true }), "completed"),
        (goal.clone(), "human", json!({ "agreed": false }), "rescheduled"),
        (goal, "human", json!({}), "rescheduled"),
        (json!({ "goal_completion_variable": "agreed" }), "human", json!({}), "completed"),
    ] {
        let mut desk = Desk::new(&changes);
        let lead = desk.lead(1);
        desk.start();
        let mut calls = desk.claim();
        desk.finish(&mut calls[0], answered_by, &variables);
        assert_eq!(desk.status(lead), want, "{changes} {answered_by} {variables}");
    }
}

#[test]
fn secondary_contacts_are_tried_in_order() {
    let mut desk = Desk::new(&json!({}));
    let contacts =
        json!([{ "phone_number": "+40710000001", "variables": { "who": "Bea" } }, { "phone_number": "+40710000002" }]);
    let body = with(
        lead(desk.campaign, "+40700000001"),
        &json!({ "secondary_contacts": contacts, "variables": { "who": "Ana", "x": 1 } }),
    );
    let made = desk.house.post("/user/lead", &body).send().expect(200);
    let main = made.id();
    let second = made.json["data"]["secondary_contacts"][0]["id"].as_u64().expect("an id");
    desk.start();
    let mut order = Vec::new();
    for round in 0..2 {
        for _ in 0..3 {
            let mut calls = desk.claim();
            let call = calls[0].claimed["call"].clone();
            order.push(call["client_phone_number"].as_str().expect("a number").to_owned());
            if call["lead_id"] == second {
                assert_eq!(call["variables"], json!({ "who": "Bea", "x": 1 }));
                if round == 1 {
                    desk.finish(&mut calls[0], "human", &json!({}));
                    break;
                }
            }
            desk.fail(&mut calls[0]);
        }
        desk.wait(600);
    }
    assert_eq!(order, ["+40700000001", "+40710000001", "+40710000002", "+40700000001", "+40710000001"]);
    let third = made.json["data"]["secondary_contacts"][1]["id"].as_u64().expect("an id");
    let statuses = [main, second, third].map(|lead| desk.status(lead));
    assert_eq!(statuses, ["completed", "completed", "reached-max-retries"]);
    let feed = desk.house.get("/user/events").json;
    let last = feed["data"].as_array().and_then(|all| all.last()).expect("an event");
    assert_eq!(last["payload"]["lead"]["status"], "completed", "the webhook tells where the lead stands");
    let told = &last["payload"]["campaign"];
    assert_eq!(last["payload"]["lead"]["campaign"], *told);
    let campaign = desk.house.get("/user/campaigns").json[0].clone();
    let members = [
        "id",
        "name",
        "status",
        "allowed_hours_start_time",
        "allowed_hours_end_time",
        "allowed_days",
        "max_calls_in_parallel",
        "max_retries",
        "retry_interval",
        "created_at",
        "updated_at",
    ];
    assert_eq!(told.as_object().expect("an object").keys().count(), members.len());
    // The call ended while the campaign was still running.
    for name in members.iter().filter(|name| !["status", "updated_at"].contains(name)) {
        assert_eq!(told[name], campaign[name], "{name}");
    }
    assert_eq!(desk.campaign(), "completed");
}

#[test]
fn nobody_is_called_before_the_start() {
    let mut desk = Desk::new(&json!({ "starts_at": "2026-09-21T15:30:00Z" }));
    let lead = desk.lead(1);
    desk.start();
    assert!(desk.claim().is_empty());
    let (_, codes, next) = desk.why(lead);
    assert_eq!((codes, next), (vec!["not_yet".to_owned()], json!("2026-09-21T15:30:00.000000Z")));
    desk.house.now = Timestamp::parse_iso("2026-09-21T15:29:59Z").expect("a time");
    assert!(desk.claim().is_empty());
    desk.house.now = Timestamp::parse_iso("2026-09-21T15:30:00Z").expect("a time");
    assert_eq!(desk.phones(), ["+40700000001"]);
}

#[test]
fn nobody_is_called_outside_hours() {
    let hours = json!({
        "timezone": "America/New_York", "allowed_hours_start_time": "09:00", "allowed_hours_end_time": "17:00",
        "allowed_days": ["monday", "tuesday"],
    });
    let mut desk = Desk::new(&hours);
    let lead = desk.lead(1);
    desk.start();
    // It is 08:00 in New York.
    assert!(desk.claim().is_empty());
    let (_, codes, next) = desk.why(lead);
    assert_eq!((codes, next), (vec!["outside_hours".to_owned()], json!("2026-09-21T13:00:00.000000Z")));
    desk.wait(3_600);
    assert_eq!(desk.status(lead), "processing");
    // The call waits for an engine until after 17:00: it is not dialed any more.
    desk.house.now = Timestamp::parse_iso("2026-09-21T21:00:00Z").expect("a time");
    assert!(desk.line.claim(&mut desk.house, 5).is_empty());
    desk.wait(60);
    assert!(desk.claim().is_empty());
    assert_eq!(desk.status(lead), "rescheduled");
    desk.house.now = Timestamp::parse_iso("2026-09-22T13:00:00Z").expect("a time");
    assert_eq!(desk.phones(), ["+40700000001"], "a call that nobody dialed is no try");
}

#[test]
fn numbers_not_to_be_called_are_asked_at_the_moment_of_dialing() {
    let mut desk = Desk::new(&json!({ "max_calls_in_parallel": 1 }));
    let leads: Vec<u64> = (1..=3).map(|n| desk.lead(n)).collect();
    let stop = |desk: &mut Desk, phone: &str| {
        desk.house.make("/user/do-not-call", &json!({ "phone_number": phone, "reason": "Asked" }))
    };
    stop(&mut desk, "+40700000001");
    desk.start();
    assert_eq!(desk.status(leads[0]), "blacklisted");
    // It is waiting for an engine when its number is added to the list.
    assert_eq!(desk.status(leads[1]), "processing");
    stop(&mut desk, "+40700000002");
    assert!(desk.line.claim(&mut desk.house, 5).is_empty());
    desk.wait(60);
    assert_eq!(desk.status(leads[1]), "blacklisted");
    assert_eq!(desk.phones(), ["+40700000003"]);
    assert_eq!(desk.why(leads[0]).1, ["blacklisted", "do_not_call", "lines_busy"]);
    let body = json!({ "phone_number": "+40700000001", "assistant_id": desk.assistant });
    desk.house.post("/user/make_call", &body).send().wrong(&["phone_number"]);
    let page = desk.house.get("/user/do-not-call?phone_number=40700000001").expect(200).json;
    let entry = page["data"][0]["id"].as_u64().expect("an id");
    assert_eq!((&page["total"], &page["data"][0]["reason"]), (&json!(1), &json!("Asked")));
    desk.house.post("/user/do-not-call", &json!({ "phone_number": "+40700000001" })).send().wrong(&["phone_number"]);
    desk.house.delete(&format!("/user/do-not-call/{entry}")).expect(200);
    desk.house.post("/user/make_call", &body).send().expect(200);
    desk.house.get("/user/do-not-call?phone_number=40700000001").expect(200);
}

#[test]
fn a_stop_lets_running_calls_end_and_calls_off_the_rest() {
    let mut desk = Desk::new(&json!({ "max_calls_in_parallel": 2 }));
    let leads: Vec<u64> = (1..=3).map(|n| desk.lead(n)).collect();
    desk.start();
    let mut running = desk.line.claim(&mut desk.house, 1);
    desk.line.say(&mut desk.house, &mut running[0], &[json!({ "type": "ringing" })]).expect(200);
    assert_eq!(desk.switch("stop").0, 200);
    assert!(desk.claim().is_empty());
    assert_eq!(desk.status(leads[1]), "rescheduled", "its call waited for an engine");
    desk.finish(&mut running[0], "human", &json!({}));
    assert_eq!((desk.status(leads[0]).as_str(), desk.campaign().as_str()), ("completed", "stopped"));
    assert_eq!(desk.why(leads[2]).1, ["campaign_not_running"]);
    assert_eq!(desk.switch("stop").0, 200, "it does not run: nothing is changed");
    desk.start();
    desk.wait(60);
    assert_eq!(desk.phones().len(), 2);
}

#[test]
fn what_a_start_needs() {
    let mut desk = Desk::new(&json!({}));
    desk.lead(1);
    let operator = desk.house.operator.clone();
    let assistant = format!("/user/assistant/{}", desk.assistant);
    desk.house.put(&assistant, &json!({ "status": "inactive" })).send().expect(200);
    let (status, json) = desk.switch("start");
    assert_eq!((status, &json["success"]), (400, &json!(false)));
    desk.house.put(&assistant, &json!({ "status": "active" })).send().expect(200);
    desk.house.put("/admin/accounts/1", &json!({ "balance": 0 })).token(&operator).send().expect(200);
    assert_eq!(desk.switch("start").0, 400);
    desk.house.put("/admin/accounts/1", &json!({ "balance": 5 })).token(&operator).send().expect(200);
    desk.start();
    assert_eq!(desk.switch("start").0, 200, "it runs already: nothing is changed");
    desk.house.delete(&assistant).expect(200);
    assert_eq!(desk.campaign(), "stopped");
    assert_eq!(desk.switch("start").0, 400);
}

#[test]
fn numbers_take_turns() {
    let mut desk = Desk::new(&json!({ "max_calls_in_parallel": 4 }));
    let numbers: Vec<u64> = ["+12122011892", "+12122011893"]
        .iter()
        .filter_map(|number| {
            let got =
                desk.house.post("/user/phone-numbers/sip-trunks", &switchboard_tests::house::trunk(number)).send();
            (got.status == 201).then(|| got.id())
        })
        .collect();
    desk.house
        .put(&format!("/user/campaigns/{}", desk.campaign), &json!({ "phone_number_ids": numbers }))
        .send()
        .expect(200);
    for n in 1..=4 {
        desk.lead(n);
    }
    desk.start();
    let calls = desk.claim();
    let from: Vec<&str> =
        calls.iter().filter_map(|held| held.claimed["call"]["assistant_phone_number"].as_str()).collect();
    assert_eq!(from, ["+12122011892", "+12122011893", "+12122011892", "+12122011893"]);
}

#[test]
fn a_manual_status_takes_a_lead_out_of_the_dialers_hands() {
    let mut desk = Desk::new(&json!({ "max_calls_in_parallel": 1 }));
    let first = desk.lead(1);
    desk.start();
    let mut calls = desk.claim();
    desk.house.put(&format!("/user/leads/{first}"), &json!({ "status": "completed" })).send().expect(200);
    desk.fail(&mut calls[0]);
    assert_eq!(desk.status(first), "completed", "the call no longer decides about it");
    desk.house.put(&format!("/user/leads/{first}"), &json!({ "status": "created" })).send().expect(200);
    desk.start();
    assert_eq!(desk.phones().len(), 1, "and it is new again");
}

#[test]
fn the_tables_of_leads_and_campaigns_are_the_published_ones() {
    let moves = |from: LeadStatus| LeadEvent::ALL.iter().filter_map(move |event| LEAD_MOVES.next(from, *event));
    for from in LeadStatus::ALL {
        let to: Vec<&str> = moves(*from).map(LeadStatus::word).collect();
        for always in ["created", "completed", "reached-max-retries"] {
            assert!(to.contains(&always), "{} {always}", from.word());
        }
        let scheduled = matches!(from, LeadStatus::Created | LeadStatus::Rescheduled);
        assert_eq!(to.contains(&"scheduled"), scheduled, "{}", from.word());
        assert_eq!(to.contains(&"processing"), *from == LeadStatus::Scheduled, "{}", from.word());
        assert_eq!(to.contains(&"rescheduled"), *from == LeadStatus::Processing, "{}", from.word());
        assert_eq!(to.contains(&"blacklisted"), *from != LeadStatus::Blacklisted, "{}", from.word());
    }
    let mut rows = Vec::new();
    for from in CampaignStatus::ALL {
        rows.extend(
            CampaignEvent::ALL
                .iter()
                .filter_map(|event| Some(format!("{} {}", from.word(), CAMPAIGN_MOVES.next(*from, *event)?.word()))),
        );
    }
    assert_eq!(
        rows,
        [
            "draft in-progress",
            "in-progress stopped",
            "in-progress completed",
            "stopped in-progress",
            "completed in-progress"
        ]
    );
}

/// Gives an assistant a caller id; returns its id, and the operator's path to set whether it is verified.
fn caller_id(desk: &mut Desk) -> (u64, String) {
    let id = desk.house.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+12122011890" }));
    let own = json!({ "phone_number_id": id });
    desk.house.put(&format!("/user/assistant/{}", desk.assistant), &own).send().expect(200);
    (id, format!("/admin/accounts/1/caller-ids/{id}"))
}

fn verify(desk: &mut Desk, path: &str, verified: bool) {
    let operator = desk.house.operator.clone();
    desk.house.put(path, &json!({ "verified": verified })).token(&operator).send().expect(200);
}

#[test]
fn an_unverified_caller_id_is_never_shown() {
    let mut desk = Desk::new(&json!({}));
    let (_, path) = caller_id(&mut desk);
    let lead = desk.lead(1);
    let make = json!({ "phone_number": "+40700000009", "assistant_id": desk.assistant });
    verify(&mut desk, &path, false);
    desk.house.post("/user/make_call", &make).send().message(422, "The caller id is not verified.");
    let (status, json) = desk.switch("start");
    let refused = json!({ "message": "The caller id is not verified.", "success": false });
    assert_eq!((status, json, desk.campaign().as_str()), (400, refused, "draft"));
    assert_eq!(desk.why(lead).1[..2], ["campaign_not_running", "caller_id_unverified"]);
    verify(&mut desk, &path, true);
    desk.house.post("/user/make_call", &make).send().expect(200);
    desk.start();
    verify(&mut desk, &path, false);
    assert_eq!(desk.claim().len(), 0, "calls that wait for an engine are not dialed with it either");
    desk.wait(60);
    let (callable, reasons, next_at) = desk.why(lead);
    assert!(!callable && reasons[0] == "caller_id_unverified" && next_at != Value::Null, "{reasons:?}");
    verify(&mut desk, &path, true);
    desk.wait(300);
    let calls = desk.claim();
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].claimed["call"]["assistant_phone_number"], "+12122011890");
}

#[test]
fn a_campaign_with_a_number_of_its_own_does_not_need_the_assistants() {
    let mut desk = Desk::new(&json!({}));
    let (id, path) = caller_id(&mut desk);
    verify(&mut desk, &path, false);
    let campaign = format!("/user/campaigns/{}", desk.campaign);
    desk.house.put(&campaign, &json!({ "phone_number_ids": [id] })).send().expect(200);
    assert_eq!(desk.switch("start").0, 400, "its only number is the same caller id");
    let trunk = desk.house.make("/user/phone-numbers/sip-trunks", &switchboard_tests::house::trunk("+12122011892"));
    desk.house.put(&campaign, &json!({ "phone_number_ids": [id, trunk] })).send().expect(200);
    for n in 1..=2 {
        desk.lead(n);
    }
    desk.start();
    let from: Vec<Value> =
        desk.claim().iter().map(|held| held.claimed["call"]["assistant_phone_number"].clone()).collect();
    assert_eq!(from, ["+12122011892", "+12122011892"]);
}
