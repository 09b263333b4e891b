//! Progress of a campaign (docs/api.md, Progress of a campaign), and campaigns of many lines.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::time::Timestamp;
use switchboard_core::verify::verify;
use switchboard_tests::house::lead;

use crate::desk::{Desk, MONDAY};

impl Desk {
    fn progress(&mut self) -> Value {
        let path = format!("/user/campaigns/{}", self.campaign);
        let progress = self.house.get(&format!("{path}/progress")).expect(200).json["data"].clone();
        let (one, all) = (self.house.get(&path).expect(200).json, self.house.get("/user/campaigns").expect(200).json);
        for (name, value) in progress.as_object().expect("an object") {
            assert_eq!((&one[name], &all[0][name]), (value, value), "{name} also stands in the campaign");
        }
        assert_eq!(verify(&self.house.store).expect("a readable store").faults, Vec::<String>::new());
        progress
    }
}

#[test]
fn progress_tells_leads_calls_goals_and_cost() {
    let mut desk = Desk::new(&json!({
        "max_calls_in_parallel": 4, "timezone": "Europe/Bucharest", "goal_completion_variable": "agreed",
    }));
    let leads: Vec<u64> = (1..=6).map(|number| desk.lead(number)).collect();
    assert_eq!(desk.progress()["leads"]["created"], 6);
    desk.start();
    let progress = desk.progress();
    let waits = json!({ "placed": 4, "answered": 0, "voicemail": 0, "busy": 0, "failed": 0, "running": 4 });
    assert_eq!((&progress["calls"], &progress["leads"]["processing"]), (&waits, &json!(4)));
    assert_eq!((&progress["next_at"], &progress["forecast_at"]), (&Value::Null, &Value::Null), "all lines are in use");
    let mut calls = desk.claim();
    let cost = json!({ "type": "cost", "carrier_cost": 0.1, "total_cost": 0.25 });
    desk.line.say(&mut desk.house, &mut calls[0], &[cost]).expect(200);
    desk.finish(&mut calls[0], "human", &json!({ "agreed": "yes" }));
    desk.finish(&mut calls[1], "machine", &json!({}));
    desk.fail(&mut calls[2]);
    let mut rest = desk.claim();
    desk.finish(&mut rest[0], "human", &json!({ "agreed": false }));
    desk.finish(&mut rest[1], "human", &json!({ "agreed": true }));
    desk.finish(&mut calls[3], "human", &json!({}));
    let progress = desk.progress();
    // Times never go back in an account: its first call is dated after the house's first day began, at 14:13 UTC.
    let want = json!({
        "leads": {
            "total": 6, "created": 0, "scheduled": 0, "processing": 0, "rescheduled": 1, "completed": 5,
            "reached_max_retries": 0, "blacklisted": 0,
        },
        "calls": { "placed": 6, "answered": 4, "voicemail": 1, "busy": 1, "failed": 0, "running": 0 },
        "goals": 2, "cost": 0.25, "by_hour": [{ "hour": 17, "placed": 6, "answered": 4 }],
        "next_at": desk.house.now.plus_seconds(600).iso(), "forecast_at": null,
    });
    assert_eq!(progress, want);
    // However quick it was, it is not done before the next call.
    desk.house.now = desk.house.now.plus_seconds(60);
    let progress = desk.progress();
    assert_eq!((&progress["forecast_at"], &progress["next_at"]), (&want["next_at"], &want["next_at"]));
    // Deleting calls and leads: the calls were made, the leads are no longer there.
    let first = calls[0].claimed["call"]["id"].clone();
    desk.house.delete(&format!("/user/calls/{first}")).expect(200);
    desk.house.delete(&format!("/user/leads/{}", leads[1])).expect(200);
    let progress = desk.progress();
    assert_eq!((&progress["leads"]["total"], &progress["leads"]["completed"]), (&json!(5), &json!(4)));
    assert_eq!((&progress["calls"], &progress["cost"]), (&want["calls"], &want["cost"]));
}

#[test]
fn the_forecast_goes_by_the_speed_since_the_start_and_the_hours() {
    let hours = json!({
        "max_calls_in_parallel": 1, "allowed_hours_start_time": "09:00", "allowed_hours_end_time": "13:00",
        "allowed_days": ["monday", "tuesday"],
    });
    let mut desk = Desk::new(&hours);
    for number in 1..=10 {
        desk.lead(number);
    }
    desk.start();
    assert_eq!(desk.progress()["forecast_at"], Value::Null, "no lead is done yet");
    desk.house.now = desk.house.now.plus_seconds(1_800);
    let mut calls = desk.claim();
    desk.finish(&mut calls[0], "human", &json!({}));
    // Nine leads at half an hour each: until 13:00 there is time for one, from 09:00 on for the other eight.
    assert_eq!(desk.progress()["forecast_at"], "2026-09-22T13:00:00.000000Z");
    // A stop does not slow the forecast down: it counts from the last start.
    assert_eq!(desk.switch("stop").0, 200);
    assert_eq!(desk.progress()["forecast_at"], Value::Null);
    desk.house.now = Timestamp::parse_iso("2026-09-22T09:00:00Z").expect("a time");
    desk.start();
    assert_eq!(desk.progress()["forecast_at"], Value::Null, "no lead is done since the start");
    desk.house.now = desk.house.now.plus_seconds(600);
    let mut calls = desk.claim();
    desk.finish(&mut calls[0], "human", &json!({}));
    assert_eq!(desk.progress()["forecast_at"], "2026-09-22T10:30:00.000000Z");
    assert_eq!(desk.progress()["next_at"], Value::Null, "the next call is placed already");
}

#[test]
fn a_campaign_outside_its_hours_tells_when_it_goes_on() {
    let mut desk = Desk::new(&json!({ "allowed_hours_start_time": "13:00", "allowed_hours_end_time": "14:00" }));
    desk.lead(1);
    assert_eq!(desk.progress()["next_at"], Value::Null, "a draft calls nobody");
    desk.start();
    assert_eq!(desk.progress()["next_at"], "2026-09-21T13:00:00.000000Z");
    assert!(MONDAY < "2026-09-21T13:00:00Z");
    assert_eq!(desk.switch("stop").0, 200);
    assert_eq!(desk.progress()["next_at"], Value::Null);
}

#[test]
fn progress_keeps_nobody_from_changing_a_campaign() {
    let mut desk = Desk::new(&json!({}));
    let path = format!("/user/campaigns/{}", desk.campaign);
    let tag = |desk: &mut Desk| desk.house.get(&path).expect(200).header("etag").expect("a tag").to_owned();
    let before = tag(&mut desk);
    desk.lead(1);
    let after = tag(&mut desk);
    assert_ne!(before, after, "a reader sees the new lead");
    desk.house.call(Method::Get, &path).header("if-none-match", &after).send().expect(304);
    let rename = json!({ "name": "D" });
    desk.house.put(&path, &rename).header("if-match", &before).send().expect(200);
    desk.house.put(&path, &rename).header("if-match", &after).send().expect(412);
    desk.house.call(Method::Delete, &path).header("if-match", &after).send().expect(412);
    let now = tag(&mut desk);
    desk.house.call(Method::Delete, &path).header("if-match", &now).send().expect(200);
}

#[test]
fn a_campaign_with_many_lines_stops_and_goes_in_slices() {
    for deletes in [false, true] {
        let mut desk = Desk::new(&json!({ "max_calls_in_parallel": 100 }));
        for number in 0..150 {
            let body = lead(desk.campaign, &format!("+40700000{number:03}"));
            desk.house.make("/user/lead", &body);
        }
        desk.start();
        assert_eq!(desk.progress()["calls"]["running"], 100);
        let mut first = desk.claim();
        assert!(!first.is_empty());
        let (path, claimed) = (format!("/user/campaigns/{}", desk.campaign), first.len());
        if deletes {
            desk.house.delete(&path).expect(200);
            desk.house.tick();
        } else {
            assert_eq!(desk.switch("stop").0, 200);
        }
        assert!(desk.claim().is_empty(), "no queued call is left");
        let reason = if deletes { "campaign_deleted" } else { "campaign_stopped" };
        let calls = desk.house.get("/user/calls?per_page=100").expect(200).json;
        let off = calls["data"].as_array().expect("a list").iter().filter(|call| call["ended_reason"] == reason);
        assert_eq!(off.count(), 100 - claimed, "claimed calls run to their end");
        desk.finish(&mut first[0], "human", &json!({}));
        if !deletes {
            let progress = desk.progress();
            assert_eq!(
                (&progress["calls"]["failed"], &progress["calls"]["answered"]),
                (&json!(100 - claimed), &json!(1))
            );
            assert_eq!(progress["leads"]["total"], 150);
        }
        assert_eq!(verify(&desk.house.store).expect("a readable store").faults, Vec::<String>::new());
    }
}
