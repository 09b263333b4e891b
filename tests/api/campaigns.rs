//! Campaigns: creating, changing, starting, stopping and deleting them.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::key::{Kind, read_row};
use switchboard_core::verify::verify;
use switchboard_tests::house::{Got, House, assistant, campaign, lead, with};

const NO_ASSISTANT: &str = "Assistant not found or not an outbound assistant.";

fn house() -> (House, u64) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    (house, id)
}

fn create(house: &mut House, body: &Value) -> Got {
    house.post("/user/campaigns", body).send()
}

#[test]
fn one_is_created_as_a_draft_with_its_defaults() {
    let (mut house, assistant_id) = house();
    let got = create(&mut house, &campaign(assistant_id)).expect(201);
    let at = house.now.iso();
    let week = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    let want = json!({
        "id": got.id(), "name": "Spring", "status": "draft", "assistant_id": assistant_id, "timezone": "Etc/UTC",
        "max_calls_in_parallel": 3, "allowed_hours_start_time": "00:00:00", "allowed_hours_end_time": "23:59:00",
        "allowed_days": week, "max_retries": 3, "retry_interval": 60, "retry_on_voicemail": false,
        "retry_on_goal_incomplete": false, "goal_completion_variable": null, "mark_complete_when_no_leads": true,
        "phone_number_ids": [], "starts_at": null, "created_at": at, "updated_at": at,
        "leads": {
            "total": 0, "created": 0, "scheduled": 0, "processing": 0, "rescheduled": 0, "completed": 0,
            "reached_max_retries": 0, "blacklisted": 0,
        },
        "calls": { "placed": 0, "answered": 0, "voicemail": 0, "busy": 0, "failed": 0, "running": 0 },
        "goals": 0, "cost": 0.0, "by_hour": [], "next_at": null, "forecast_at": null,
    });
    assert_eq!(got.json, json!({ "message": "Campaign created successfully", "data": want }));
    assert_eq!(house.get("/user/campaigns").expect(200).json, json!([want]));
    for path in ["/user/campaigns/1", "/user/campaign/1"] {
        assert_eq!(house.get(path).expect(200).json, want);
    }
    house.post("/user/campaign", &campaign(assistant_id)).send().expect(201);
}

#[test]
fn the_account_gives_the_zone_that_a_campaign_does_not() {
    let (mut house, assistant_id) = house();
    let operator = house.operator.clone();
    house.put("/admin/accounts/1", &json!({ "timezone": "Asia/Kolkata" })).token(&operator).send().expect(200);
    assert_eq!(create(&mut house, &campaign(assistant_id)).json["data"]["timezone"], "Asia/Kolkata");
}

#[test]
fn what_a_creation_must_keep_to() {
    let (mut house, assistant_id) = house();
    let cases = [
        (json!({ "name": "x".repeat(256) }), "name"),
        (json!({ "assistant_id": null }), "assistant_id"),
        (json!({ "timezone": "UTC" }), "timezone"),
        (json!({ "allowed_days": [] }), "allowed_days"),
        (json!({ "max_calls_in_parallel": 0 }), "max_calls_in_parallel"),
        (json!({ "max_calls_in_parallel": 101 }), "max_calls_in_parallel"),
        (json!({ "max_retries": 0 }), "max_retries"),
        (json!({ "max_retries": 6 }), "max_retries"),
        (json!({ "retry_interval": 9 }), "retry_interval"),
        (json!({ "retry_interval": 4321 }), "retry_interval"),
        (json!({ "allowed_hours_start_time": "24:00" }), "allowed_hours_start_time"),
        (json!({ "allowed_hours_start_time": "9:00" }), "allowed_hours_start_time"),
        (json!({ "allowed_hours_start_time": "18:00", "allowed_hours_end_time": "09:00" }), "allowed_hours_end_time"),
        (
            json!({ "allowed_hours_start_time": "09:00", "allowed_hours_end_time": "09:00:00" }),
            "allowed_hours_end_time",
        ),
        (json!({ "allowed_days": ["funday"] }), "allowed_days.0"),
        (json!({ "phone_number_ids": [99] }), "phone_number_ids.0"),
    ];
    for (changes, field) in cases {
        let got = create(&mut house, &with(campaign(assistant_id), &changes));
        got.wrong(&[field]);
        assert_eq!(got.json["message"], "The given data was invalid.", "{changes}");
    }
    let inbound = house.make("/user/assistant", &with(assistant(), &json!({ "type": "inbound" })));
    create(&mut house, &campaign(inbound)).message(404, NO_ASSISTANT);
    create(&mut house, &campaign(99)).message(404, NO_ASSISTANT);
    let edge = json!({
        "max_calls_in_parallel": 10, "max_retries": 5, "retry_interval": 4320, "allowed_hours_start_time": "09:00",
        "allowed_hours_end_time": "09:00:01", "allowed_days": ["sunday"], "goal_completion_variable": "goal",
    });
    let got = create(&mut house, &with(campaign(assistant_id), &edge)).expect(201).json["data"].clone();
    assert_eq!(
        (&got["allowed_hours_start_time"], &got["allowed_hours_end_time"]),
        (&json!("09:00:00"), &json!("09:00:01"))
    );
    assert_eq!((&got["allowed_days"], &got["goal_completion_variable"]), (&json!(["sunday"]), &json!("goal")));
}

#[test]
fn an_update_changes_what_it_supplies() {
    let (mut house, assistant_id) = house();
    let before = create(&mut house, &campaign(assistant_id)).json["data"].clone();
    house.now = house.now.plus_seconds(5);
    let got = house.put("/user/campaigns/1", &json!({ "name": "Autumn", "max_retries": 1 })).send().expect(200);
    let changed = json!({ "name": "Autumn", "max_retries": 1, "updated_at": house.now.iso() });
    let mut want = before;
    want.as_object_mut().expect("an object").extend(changed.as_object().expect("an object").clone());
    assert_eq!(got.json, json!({ "message": "Campaign updated successfully", "data": want }));
    assert_eq!(house.get("/user/campaign/1").json, want);
    let late = json!({ "allowed_hours_start_time": "23:59:30" });
    house.put("/user/campaign/1", &late).send().wrong(&["allowed_hours_end_time"]);
    house.put("/user/campaign/1", &json!({ "assistant_id": 99 })).send().message(404, NO_ASSISTANT);
    house.put("/user/campaign/1", &json!({ "name": null })).send().wrong(&["name"]);
    house.put("/user/campaigns/9", &json!({})).send().message(404, "Campaign not found");
    assert_eq!(house.get("/user/campaign/1").json, want);
}

#[test]
fn a_deleted_one_takes_its_leads_and_leaves_its_calls() {
    let (mut house, assistant_id) = house();
    let [gone, stays] = [0; 2].map(|_| house.make("/user/campaigns", &campaign(assistant_id)));
    let contact = json!({ "secondary_contacts": [{ "phone_number": "+40700000002" }] });
    let lost = house.make("/user/leads", &with(lead(gone, "+40700000001"), &contact));
    let kept = house.make("/user/leads", &lead(stays, "+40700000001"));
    let call = house.make_call(assistant_id);
    let path = format!("/user/campaign/{gone}");
    house.delete(&path).message(200, "Campaign deleted successfully");
    for _ in 0..2 {
        house.get(&path).message(404, "Campaign not found");
        house.get(&format!("/user/leads/{lost}")).message(404, "Lead not found");
        let page = house.get("/user/leads").expect(200).json;
        assert_eq!((&page["total"], &page["data"][0]["id"]), (&json!(1), &json!(kept)));
        assert_eq!(house.get("/user/leads?phone_number=0001").json["total"], 1);
        assert_eq!(house.get("/user/leads?status=created").json["total"], 1);
        // The same after the clean-up.
        house.tick();
    }
    house.get(&format!("/user/calls/{call}")).expect(200);
    let left = house.store.rows().values().filter(|row| String::from_utf8_lossy(row).contains("+40700000002")).count();
    assert_eq!(left, 0, "rows of its leads are gone");
}

#[test]
fn starting_and_stopping_is_refused_where_the_states_do_not_allow_it() {
    let (mut house, assistant_id) = house();
    for status in ["active", "inactive"] {
        house.put(&format!("/user/assistant/{assistant_id}"), &json!({ "status": status })).send().expect(200);
    }
    let id = house.make("/user/campaigns", &campaign(assistant_id));
    for (action, campaign_id, status) in [("start", id, 400), ("start", 99, 404), ("stop", 99, 404)] {
        let body = json!({ "campaign_id": campaign_id, "action": action });
        let got = house.post("/user/campaigns/update-status", &body).send().expect(status);
        assert_eq!((&got.json["success"], got.json["message"].is_string()), (&json!(false), true), "{action}");
    }
    house.post("/user/campaigns/update-status", &json!({ "action": "pause" })).send().wrong(&["action", "campaign_id"]);
    assert_eq!(house.get("/user/campaigns/1").json["status"], "draft");
    house.call(Method::Put, "/user/campaigns/update-status").send().expect(405);
    for status in [json!({ "status": "active" }), json!({ "status": "start" })] {
        let got = house.call(Method::Patch, &format!("/user/campaigns/{id}/status")).json(&status).send().expect(400);
        assert_eq!(got.json["success"], false);
    }
    let patch = |house: &mut House, body: Value| {
        house.call(Method::Patch, &format!("/user/campaigns/{id}/status")).json(&body).send()
    };
    patch(&mut house, json!({})).wrong(&["status"]);
    patch(&mut house, json!({ "status": "draft" })).wrong(&["status"]);
    house.call(Method::Patch, "/user/campaigns/99/status").json(&json!({})).send().message(404, "Campaign not found");
}

/// Clients of this family switch a campaign in any of these ways, and more than once.
#[test]
fn a_switch_is_repeated_and_spelled_in_several_ways() {
    let (mut house, assistant_id) = house();
    let id = house.make("/user/campaigns", &campaign(assistant_id));
    house.post("/user/leads", &lead(id, "+40700000001")).send().expect(200);
    let update = |body: Value| (Method::Post, "/user/campaigns/update-status".to_owned(), body);
    let this = |body: Value| (Method::Patch, format!("/user/campaigns/{id}/status"), body);
    let named = |body: Value| update(with(json!({ "campaign_id": id }), &body));
    let (on, off) = ("Campaign started successfully.", "Campaign stopped successfully.");
    let steps = [
        (named(json!({ "action": "stop" })), off, "draft"),
        (named(json!({ "action": "start" })), on, "in-progress"),
        (named(json!({ "action": "start" })), on, "in-progress"),
        (named(json!({ "status": "active" })), on, "in-progress"),
        (this(json!({ "status": "paused" })), off, "stopped"),
        (named(json!({ "status": "paused" })), off, "stopped"),
        (named(json!({ "status": "active", "action": "start" })), on, "in-progress"),
        (this(json!({ "status": "active" })), on, "in-progress"),
        (this(json!({ "action": "stop" })), off, "stopped"),
    ];
    for ((method, path, body), says, status) in steps {
        let got = house.call(method, &path).json(&body).send().expect(200);
        let data = json!({ "campaign_id": id, "status": status });
        assert_eq!(got.json, json!({ "message": says, "success": true, "data": data }), "{body}");
        assert_eq!(house.get(&format!("/user/campaigns/{id}")).json["status"], status);
    }
    let both = json!({ "campaign_id": id, "action": "start", "status": "paused" });
    house.post("/user/campaigns/update-status", &both).send().wrong(&["status"]);
    assert_eq!(house.get(&format!("/user/campaigns/{id}")).json["status"], "stopped");
}

#[test]
fn a_start_is_an_instant_or_a_time_in_the_zone_of_the_campaign() {
    let (mut house, assistant_id) = house();
    let zone = json!({ "timezone": "Europe/Bucharest", "starts_at": "2026-11-20T09:00" });
    let got = create(&mut house, &with(campaign(assistant_id), &zone)).expect(201);
    assert_eq!(got.json["data"]["starts_at"], "2026-11-20T07:00:00.000000Z");
    let path = format!("/user/campaigns/{}", got.id());
    house.put(&path, &json!({ "starts_at": "2026-12-01T00:00:00Z" })).send().expect(200);
    assert_eq!(house.get(&path).json["starts_at"], "2026-12-01T00:00:00.000000Z");
    house.put(&path, &json!({ "timezone": "Asia/Kolkata" })).send().expect(200);
    assert_eq!(house.get(&path).json["starts_at"], "2026-12-01T00:00:00.000000Z", "the instant stays");
    house.put(&path, &json!({ "starts_at": null })).send().expect(200);
    assert_eq!(house.get(&path).json["starts_at"], Value::Null);
    for wrong in ["tomorrow", "2026-02-30T09:00", "2026-11-20", "2026-11-20T25:00", "2026-11-20T09:00+02:00"] {
        house.put(&path, &json!({ "starts_at": wrong })).send().wrong(&["starts_at"]);
    }
}

#[test]
fn a_plan_allows_so_many() {
    let (mut house, assistant_id) = house();
    let operator = house.operator.clone();
    house.post("/admin/plans", &json!({ "name": "one", "campaigns": 1 })).token(&operator).send().expect(201);
    house.put("/admin/accounts/1", &json!({ "plan": "one" })).token(&operator).send().expect(200);
    create(&mut house, &campaign(assistant_id)).expect(201);
    assert!(create(&mut house, &campaign(assistant_id)).expect(403).json["message"].is_string());
}

/// A deleted campaign's leads leave every list at once, and the store a little later: it is sound throughout.
#[test]
fn a_store_is_sound_while_the_leads_of_a_deleted_campaign_go() {
    let (mut house, assistant_id) = house();
    let id = house.make("/user/campaigns", &campaign(assistant_id));
    for n in 0..3_u8 {
        house.make("/user/leads", &lead(id, &format!("+4070000000{n}")));
    }
    let leads = |house: &House| {
        house.store.rows().keys().filter_map(|at| read_row(at)).filter(|(kind, _)| *kind == Kind::Lead).count()
    };
    house.delete(&format!("/user/campaigns/{id}")).expect(200);
    assert_eq!((verify(&house.store).expect("readable").faults, leads(&house)), (vec![], 3));
    house.tick();
    assert_eq!((verify(&house.store).expect("readable").faults, leads(&house)), (vec![], 0));
}

#[test]
fn a_campaign_has_as_many_lines_as_its_plan_allows() {
    let (mut house, assistant_id) = house();
    let lines = |got: &Got| got.json["data"]["max_calls_in_parallel"].clone();
    let plan = |house: &mut House, calls: u32| {
        let operator = house.operator.clone();
        house.put("/admin/plans/standard", &json!({ "parallel_calls": calls })).token(&operator).send().expect(200);
    };
    let many = with(campaign(assistant_id), &json!({ "max_calls_in_parallel": 100 }));
    let made = create(&mut house, &many).expect(201);
    assert_eq!(lines(&made), 100);
    let path = format!("/user/campaigns/{}", made.id());
    plan(&mut house, 2);
    let refused = create(&mut house, &many);
    refused.wrong(&["max_calls_in_parallel"]);
    let says = "The max calls in parallel field must be between 1 and 2, as the plan allows.";
    assert_eq!(refused.json["errors"]["max_calls_in_parallel"], json!([says]));
    assert_eq!(lines(&create(&mut house, &campaign(assistant_id)).expect(201)), 2, "not 3, which the plan refuses");
    // A plan that shrinks takes nothing away, and what is stored may be sent back.
    assert_eq!(lines(&house.put(&path, &json!({ "max_calls_in_parallel": 100 })).send().expect(200)), 100);
    house.put(&path, &json!({ "max_calls_in_parallel": 99 })).send().wrong(&["max_calls_in_parallel"]);
    assert_eq!(lines(&house.put(&path, &json!({ "max_calls_in_parallel": 1 })).send().expect(200)), 1);
    plan(&mut house, 10_000);
    assert_eq!(lines(&house.put(&path, &json!({ "max_calls_in_parallel": 10_000 })).send().expect(200)), 10_000);
    house.put(&path, &json!({ "max_calls_in_parallel": 10_001 })).send().wrong(&["max_calls_in_parallel"]);
}
