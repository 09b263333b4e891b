//! Durable work that fails (docs/api.md, Jobs): whose fault it is, how often it is retried, and what becomes of it. To
//! stop a step, tests damage a row: nothing but a damaged store does that.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::job::Task;
use switchboard_core::key::{self, Key, Kind, Space};
use switchboard_core::outside::{Answer, HttpIn, SendError, Work};
use switchboard_core::step::{Input, Outcome, Ticket};
use switchboard_core::store::Change;
use switchboard_core::view::Scene;
use switchboard_tests::house::{Got, House, assistant, with};
use switchboard_tests::line::Line;

const OWNER: Space = Space::Account(0);

fn operator(house: &mut House, method: Method, target: &str) -> Got {
    let token = house.operator.clone();
    house.call(method, target).token(&token).send()
}

fn jobs(house: &mut House, query: &str) -> Vec<Value> {
    let listed = operator(house, Method::Get, &format!("/admin/jobs?per_page=100{query}")).expect(200).json;
    listed["data"].as_array().expect("a list").clone()
}

fn value(house: &House, at: &Key) -> Vec<u8> {
    house.store.rows().get(at).cloned().unwrap_or_else(|| panic!("nothing is stored at {at:02x?}"))
}

/// Returns the per-account part of an id of the first account.
fn count_of(id: u64) -> u32 {
    u32::try_from(id).expect("a count")
}

/// Replaces a stored value by an unreadable one; returns the original.
fn damage(house: &mut House, at: &Key) -> Vec<u8> {
    let before = value(house, at);
    house.store.apply(&[Change::Put(at.clone(), b"?".to_vec())]);
    before
}

fn mend(house: &mut House, at: &Key, value: Vec<u8>) {
    house.store.apply(&[Change::Put(at.clone(), value)]);
}

/// Creates two pending deliveries; returns their ids.
fn deliveries(house: &mut House) -> [u64; 2] {
    house.outside(|_| Ok::<_, SendError>(HttpIn { status: 200, ..HttpIn::default() }));
    let hook = json!({ "webhook_url": "https://hook.example/", "is_webhook_active": true,
        "send_webhook_only_on_completed": false });
    let id = house.make("/user/assistant", &with(assistant(), &hook));
    let line = Line::attach(house);
    for _ in 0..2 {
        house.make_call(id);
        let mut held = line.take(house);
        line.say(house, &mut held, &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
    }
    let listed = house.get("/user/webhook-deliveries").expect(200).json;
    let id = |at: usize| listed["data"][at]["id"].as_u64().expect("an id");
    [id(1), id(0)]
}

fn delivery(house: &mut House, id: u64) -> String {
    let listed = house.get("/user/webhook-deliveries").expect(200).json;
    let found = listed["data"].as_array().expect("a list").iter().find(|row| row["id"] == id).expect("a delivery");
    found["status"].as_str().expect("a status").to_owned()
}

/// Runs until nothing is due for an hour: a failed job waits up to half an hour.
fn wait(house: &mut House) {
    for _ in 0..8 {
        house.tick();
        house.now = house.now.plus_seconds(1_800);
    }
}

#[test]
fn queues_are_counted_by_kind() {
    let mut house = House::default();
    let assistant = house.make("/user/assistant", &switchboard_tests::house::assistant());
    let first = house.now.iso();
    house.make_call(assistant);
    house.now = house.now.plus_seconds(5);
    house.make_call(assistant);
    let operator = house.operator.clone();
    let got = house.call(Method::Get, "/admin/queues").token(&operator).send().expect(200);
    let queues = got.json["data"].as_array().expect("a list").clone();
    let of = |name: &str| queues.iter().find(|queue| queue["name"] == name).expect("every kind").clone();
    let waiting = json!({ "name": "watch_call", "waiting": 2, "oldest_at": first, "running": 0, "set_aside": 0 });
    assert_eq!(of("watch_call"), waiting);
    let none = json!({ "name": "import", "waiting": 0, "oldest_at": null, "running": 0, "set_aside": 0 });
    assert_eq!(of("import"), none);
}

#[test]
fn a_job_that_stops_is_retried_set_aside_and_keeps_no_other_from_its_turn() {
    let mut house = House::default();
    let [poisoned, neighbour] = deliveries(&mut house);
    let at = key::row(OWNER, Kind::Delivery, count_of(poisoned));
    let sound = damage(&mut house, &at);
    let begun = house.now;
    let mut tries = Vec::new();
    for _ in 0..12 {
        house.tick();
        let job = jobs(&mut house, "&kind=deliver_webhook").remove(0);
        if tries.is_empty() || job["attempts"] != tries.last().map_or(Value::Null, |(n, _)| json!(n)) {
            tries.push((job["attempts"].as_u64().expect("a count"), house.now.seconds_since(begun)));
        }
        if job["state"] == "set_aside" {
            break;
        }
        house.now = switchboard_core::time::Timestamp::parse_iso(job["due_at"].as_str().expect("a time")).expect("ISO");
    }
    assert_eq!(tries, [(1, 0), (2, 1), (3, 61), (4, 361), (5, 2_161)], "attempts, and when they were made");
    mend(&mut house, &at, sound);
    assert_eq!(delivery(&mut house, neighbour), "delivered");
    let listed = jobs(&mut house, "&state=set_aside");
    let want = json!({
        "id": listed[0]["id"], "kind": "deliver_webhook", "account_id": 1,
        "reference": format!("delivery {poisoned}"), "attempts": 5, "state": "set_aside",
        "last_error": "a row has an unknown form",
        "due_at": listed[0]["due_at"], "created_at": begun.iso(),
    });
    assert_eq!(listed, [want]);
    assert_eq!(house.tick().map(|at| at > house.now), Some(true), "it is in no lane");
    assert_eq!(delivery(&mut house, poisoned), "pending");
    let path = format!("/admin/jobs/{}", listed[0]["id"].as_u64().expect("a positive integer"));
    for wrong in ["/admin/jobs/0", "/admin/jobs/9007199254740993"] {
        operator(&mut house, Method::Delete, wrong).message(404, "Job not found.");
    }
    for wrong in ["/admin/jobs/x", "/admin/jobs/+1"] {
        operator(&mut house, Method::Delete, wrong).message(404, "Not found.");
    }
    let retried = operator(&mut house, Method::Post, &format!("{path}/retry"));
    retried.message(202, "The job is tried again.");
    operator(&mut house, Method::Post, &format!("{path}/retry")).message(409, "The job is not set aside.");
    house.tick();
    assert_eq!(delivery(&mut house, poisoned), "delivered");
    operator(&mut house, Method::Delete, &path).message(404, "Job not found.");
    assert!(jobs(&mut house, "&state=set_aside").is_empty());
}

#[test]
fn what_a_dropped_job_was_for_ends_as_failed() {
    let mut house = House::default();
    let [dropped, _] = deliveries(&mut house);
    let campaign = {
        let id = house.make("/user/assistant", &assistant());
        house.make("/user/campaigns", &switchboard_tests::house::campaign(id))
    };
    let file = b"phone_number\n+40700000001\n".to_vec();
    let target = format!("/user/leads/import?campaign_id={campaign}");
    let started = house.call(Method::Post, &target).header("content-type", "text/csv").body(file).send().expect(202);
    let import = started.id();
    let own = house.make("/user/assistant", &assistant());
    let call = house.make_call(own);
    let base = house.make("/user/knowledgebases", &json!({ "name": "K" }));
    let page = json!({ "name": "P", "type": "website", "url": "https://example.com" });
    let document = house.make(&format!("/user/knowledgebases/{base}/documents"), &page);
    let rows = [(Kind::Delivery, dropped), (Kind::Import, import), (Kind::Document, document), (Kind::Call, call)];
    let rows = rows.map(|(kind, id)| key::row(OWNER, kind, count_of(id)));
    let sound = rows.each_ref().map(|at| damage(&mut house, at));
    wait(&mut house);
    for (at, value) in rows.iter().zip(sound) {
        mend(&mut house, at, value);
    }
    let aside = jobs(&mut house, "&state=set_aside");
    let kinds: Vec<&str> = aside.iter().map(|job| job["kind"].as_str().expect("a kind")).collect();
    assert_eq!(aside.len(), 4, "{kinds:?}");
    for job in &aside {
        let path = format!("/admin/jobs/{}", job["id"]);
        operator(&mut house, Method::Delete, &path).message(200, "The job was dropped.");
    }
    assert_eq!(delivery(&mut house, dropped), "exhausted");
    let import = house.get(&format!("/user/leads/imports/{import}")).expect(200).json["data"].clone();
    assert_eq!((&import["status"], import["failure_reason"].is_string()), (&json!("failed"), true));
    let document = house.get(&format!("/user/knowledgebases/{base}/documents/{document}")).expect(200).json;
    assert_eq!(document["data"]["status"], "failed");
    let call = house.get(&format!("/user/calls/{call}")).expect(200).json;
    assert_eq!((&call["status"], &call["ended_reason"]), (&json!("failed"), &json!("given_up")));
    assert!(jobs(&mut house, "&state=set_aside").is_empty());
}

#[test]
fn a_job_of_another_release_is_set_aside() {
    let mut house = House::default();
    let [first, _] = deliveries(&mut house);
    let task = [200, 1, 2];
    let at = house.now;
    house.store.apply(&[
        Change::Put(key::due(OWNER, 1, at, &task), Vec::new()),
        Change::Put(key::job(OWNER, &task), b"?".to_vec()),
    ]);
    house.tick();
    assert_eq!(delivery(&mut house, first), "delivered");
    let aside = jobs(&mut house, "&kind=unknown");
    assert_eq!((aside.len(), &aside[0]["account_id"]), (1, &json!(1)));
    let path = format!("/admin/jobs/{}", aside[0]["id"]);
    operator(&mut house, Method::Post, &format!("{path}/retry")).expect(409);
    operator(&mut house, Method::Delete, &path).expect(200);
    assert!(jobs(&mut house, "&kind=unknown").is_empty());
    assert!(switchboard_core::verify::verify(&house.store).expect("readable").faults.is_empty());
}

#[test]
fn jobs_are_listed_by_state_kind_and_account() {
    let mut house = House::default();
    let [first, second] = deliveries(&mut house);
    let other = house.account("other@example.com");
    let body = assistant();
    let id = house.post("/user/assistant", &body).token(&other).send().expect(201).id();
    let call = json!({ "phone_number": "+40700000001", "assistant_id": id });
    house.post("/user/make_call", &call).token(&other).send().expect(200);
    let kinds =
        |jobs: Vec<Value>| jobs.iter().map(|job| job["kind"].as_str().expect("a kind").to_owned()).collect::<Vec<_>>();
    assert_eq!(kinds(jobs(&mut house, "&account_id=1")), ["deliver_webhook", "deliver_webhook", "sweep_events"]);
    assert_eq!(kinds(jobs(&mut house, "&account_id=2")), ["watch_call"]);
    assert_eq!(kinds(jobs(&mut house, "&kind=watch_call&state=waiting")), ["watch_call"]);
    assert!(jobs(&mut house, "&state=running").is_empty() && jobs(&mut house, "&account_id=77").is_empty());
    let all = operator(&mut house, Method::Get, "/admin/jobs?per_page=2&page=2").expect(200).json;
    assert_eq!(
        (&all["total"], &all["last_page"], all["data"].as_array().map(Vec::len)),
        (&json!(4), &json!(2), Some(2))
    );
    operator(&mut house, Method::Get, "/admin/jobs?state=lost").wrong(&["state"]);
    // Each of the two requests its receiver.
    let seed = house.seed();
    house.step(&Input::Tick, seed);
    let running = jobs(&mut house, "&state=running");
    let references: Vec<&Value> = running.iter().map(|job| &job["reference"]).collect();
    assert_eq!(references, [&json!(format!("delivery {first}")), &json!(format!("delivery {second}"))]);
    let path = format!("/admin/jobs/{}", running[0]["id"]);
    operator(&mut house, Method::Delete, &path).message(409, "The job is not set aside.");
}

#[test]
fn a_job_for_which_the_host_had_no_room_is_planned_anew_without_a_fault() {
    let mut house = House::default();
    let [first, second] = deliveries(&mut house);
    for _ in 0..7 {
        let seed = house.seed();
        let sends = house.step(&Input::Tick, seed).sends;
        assert_eq!(sends.len(), 2);
        for (send, full) in sends.into_iter().zip([SendError::Busy, SendError::ShareUsed]) {
            let seed = house.seed();
            assert!(house.step(&Input::Answered(send.ticket, Answer::Failed(full)), seed).wake.is_some());
        }
        let waiting = jobs(&mut house, "&kind=deliver_webhook&state=waiting");
        assert!(waiting.iter().all(|job| job["attempts"] == 0 && job["last_error"].is_null()), "{waiting:?}");
        assert_eq!(waiting.len(), 2);
        house.now = house.now.plus_seconds(10);
    }
    house.tick();
    assert_eq!([first, second].map(|id| delivery(&mut house, id)), ["delivered", "delivered"]);
}

#[test]
fn a_campaign_whose_dialing_is_dropped_stops() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let campaign = house.make("/user/campaigns", &switchboard_tests::house::campaign(id));
    let lead = house.make("/user/lead", &switchboard_tests::house::lead(campaign, "+40700000001"));
    let at = key::row(OWNER, Kind::Lead, count_of(lead));
    let sound = damage(&mut house, &at);
    house
        .post("/user/campaigns/update-status", &json!({ "campaign_id": campaign, "action": "start" }))
        .send()
        .expect(200);
    wait(&mut house);
    mend(&mut house, &at, sound);
    let aside = jobs(&mut house, "&kind=dial_campaign&state=set_aside");
    assert_eq!(aside.len(), 1);
    let path = format!("/admin/jobs/{}", aside[0]["id"]);
    operator(&mut house, Method::Delete, &path).message(200, "The job was dropped.");
    let shown = house.get(&format!("/user/campaigns/{campaign}")).expect(200).json;
    assert_eq!(shown["status"], "stopped", "{shown}");
    assert!(switchboard_core::verify::verify(&house.store).expect("readable").faults.is_empty());
}

/// Runs a careful tick; returns the ticket of the one task that it begins.
fn begin(house: &mut House) -> Ticket {
    let seed = house.seed();
    let scene = Scene { now: house.now, seed, view: &house.store, careful: true };
    let output = house.service.step(&Input::Tick, &scene).expect("a step");
    house.store.apply(&output.changes);
    let [send] = output.sends.as_slice() else { panic!("one task is begun, not {}", output.sends.len()) };
    assert_eq!(send.work, Work::Yield);
    send.ticket.clone()
}

#[test]
fn a_careful_host_begins_one_job_at_a_time_and_a_mark_that_lapses_counts() {
    let mut house = House::default();
    let [first, second] = deliveries(&mut house);
    let Ticket::Job { task, .. } = begin(&mut house) else { panic!("a job's ticket") };
    assert_eq!(task, Task::Deliver(count_of(first)));
    // The process dies here. Another one begins the second task, which completes.
    let ticket = begin(&mut house);
    let seed = house.seed();
    let asked = house.step(&Input::Answered(ticket, Answer::Yielded), seed).sends;
    let [send] = asked.as_slice() else { panic!("it asks its receiver") };
    let seed = house.seed();
    let answer = Answer::Http(HttpIn { status: 200, ..HttpIn::default() });
    house.step(&Input::Answered(send.ticket.clone(), answer), seed);
    assert_eq!((delivery(&mut house, first).as_str(), delivery(&mut house, second).as_str()), ("pending", "delivered"));
    for attempts in 1..=5 {
        house.now = house.now.plus_seconds(90);
        let seed = house.seed();
        assert!(house.step(&Input::Tick, seed).sends.is_empty(), "its mark lapses");
        let job = jobs(&mut house, "&kind=deliver_webhook").remove(0);
        assert_eq!(
            (&job["attempts"], &job["last_error"]),
            (&json!(attempts), &json!("It was begun and did not come to an end."))
        );
        if attempts == 5 {
            assert_eq!(job["state"], "set_aside");
            break;
        }
        house.now = house.now.plus_seconds(1_800);
        // A job that failed before is begun this way on every host.
        let seed = house.seed();
        let sends = house.step(&Input::Tick, seed).sends;
        assert!(matches!(sends.as_slice(), [send] if send.work == Work::Yield));
    }
}

#[test]
fn a_call_that_cannot_be_given_fails_and_others_are_given() {
    let mut house = House::default();
    let made = [house.make("/user/assistant", &assistant()), house.make("/user/assistant", &assistant())];
    let [bad, good] = made.map(|id| house.make_call(id));
    let at = key::row(OWNER, Kind::Assistant, count_of(made[0]));
    let sound = damage(&mut house, &at);
    let line = Line::attach(&mut house);
    let claimed: Vec<u64> = line.claim(&mut house, 1).iter().map(|held| held.id).collect();
    assert_eq!(claimed, [good]);
    for _ in 0..2 {
        house.now = house.now.plus_seconds(10);
        assert!(line.claim(&mut house, 1).is_empty());
        assert_eq!(house.get(&format!("/user/calls/{bad}")).json["status"], "initiated");
    }
    mend(&mut house, &at, sound);
    house.now = house.now.plus_seconds(10);
    assert!(line.claim(&mut house, 1).is_empty());
    let call = house.get(&format!("/user/calls/{bad}")).json;
    assert_eq!((&call["status"], &call["ended_reason"]), (&json!("failed"), &json!("internal_error")));
}

#[test]
fn a_careful_claim_marks_a_call_before_it_gives_it() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let calls = [house.make_call(id), house.make_call(id)];
    let line = Line::attach(&mut house);
    let claim = house.post("/engine/claim", &json!({ "engine": "E", "capacity": 5 })).token(&line.token).request();
    let step = |house: &mut House, answers: &[Answer], seed| {
        let scene = Scene { now: house.now, seed, view: &house.store, careful: true };
        let output = house.service.step(&Input::Http(&claim, answers), &scene).expect("a step");
        house.store.apply(&output.changes);
        output.outcome
    };
    let given = |outcome| match outcome {
        Outcome::Reply(reply) => {
            let switchboard_core::http::reply::Content::Json(body) = reply.content else { panic!("JSON") };
            let json: Value = serde_json::from_slice(&body).expect("JSON");
            json["calls"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|call| call["call"]["id"].as_u64().expect("an id"))
                .collect::<Vec<_>>()
        }
        outcome => panic!("{outcome:?}"),
    };
    // The process dies after the first of three marks: the other call is not delayed by that.
    let seed = house.seed();
    assert_eq!(step(&mut house, &[], seed), Outcome::Yield);
    let other = house.seed();
    assert_eq!(step(&mut house, &[], other), Outcome::Yield, "the other call is not kept waiting");
    assert_eq!(given(step(&mut house, &[Answer::Yielded], other)).len(), 1);
    let waiting: Vec<u64> =
        calls.into_iter().filter(|id| house.get(&format!("/user/calls/{id}")).json["status"] == "initiated").collect();
    let engaged = |house: &mut House, id: u64| {
        let events = house.get(&format!("/user/calls/{id}/events")).expect(200).json;
        events["data"].as_array().expect("a list").iter().any(|event| event["type"] == "claimed")
    };
    let left: Vec<u64> = waiting.into_iter().filter(|id| !engaged(&mut house, *id)).collect();
    assert_eq!(left.len(), 1);
    // After the other two marks and deaths, the call fails.
    for _ in 0..2 {
        house.now = house.now.plus_seconds(10);
        let seed = house.seed();
        assert_eq!(step(&mut house, &[], seed), Outcome::Yield);
    }
    house.now = house.now.plus_seconds(10);
    let seed = house.seed();
    assert_eq!(given(step(&mut house, &[], seed)), [0_u64; 0]);
    assert_eq!(house.get(&format!("/user/calls/{}", left[0])).json["status"], "failed");
}
