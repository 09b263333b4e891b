//! The account at a glance (docs/api.md, The account at a glance): sums of calls by day, campaigns that call, and what
//! somebody should look at.

use serde_json::{Value, json};
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_core::time::Timestamp;
use switchboard_tests::house::{House, assistant, trunk, with};
use switchboard_tests::line::{Line, said};

use crate::desk::Desk;

fn overview(house: &mut House) -> Value {
    house.get("/user/overview").expect(200).json["data"].clone()
}

fn codes(house: &mut House) -> Vec<(String, String)> {
    let overview = overview(house);
    let all = overview["attention"].as_array().expect("a list").iter();
    let text = |one: &Value, name: &str| one[name].as_str().expect("a text").to_owned();
    all.map(|one| (text(one, "code"), text(one, "reference"))).collect()
}

fn code(code: &str, reference: &str) -> (String, String) {
    (code.to_owned(), reference.to_owned())
}

#[test]
fn a_new_account_has_nothing_to_show() {
    let none = json!({ "placed": 0, "answered": 0, "minutes": 0.0, "cost": 0.0, "success": 0 });
    let want = json!({ "calls_now": 0, "today": none, "last_week": none, "campaigns": [], "attention": [] });
    assert_eq!(overview(&mut House::default()), want);
}

#[test]
fn calls_count_for_the_day_on_which_they_were_made() {
    let mut desk = Desk::new(&json!({ "max_calls_in_parallel": 4, "goal_completion_variable": "agreed" }));
    desk.house.now = Timestamp::parse_iso("2026-09-21T15:00:00Z").expect("a time");
    for number in 1..=4 {
        desk.lead(number);
    }
    desk.start();
    let before = overview(&mut desk.house);
    assert_eq!((&before["calls_now"], &before["today"]["placed"]), (&json!(4), &json!(4)));
    let shown = json!([{ "id": desk.campaign, "name": "C", "progress": 0.0, "forecast_at": null }]);
    assert_eq!(before["campaigns"], shown);
    let mut calls = desk.claim();
    desk.finish(&mut calls[1], "machine", &json!({}));
    desk.fail(&mut calls[2]);
    let cost = json!({ "type": "cost", "carrier_cost": 0.1, "total_cost": 0.25 });
    desk.line.say(&mut desk.house, &mut calls[0], &[cost, json!({ "type": "answered" })]).expect(200);
    desk.house.now = desk.house.now.plus_seconds(90);
    let agreed = json!({ "type": "variables", "variables": { "agreed": true } });
    let over = json!({ "type": "ended", "by": "customer" });
    desk.line.say(&mut desk.house, &mut calls[0], &[agreed, over]).expect(200);
    let today = json!({ "placed": 4, "answered": 1, "minutes": 1.5, "cost": 0.25, "success": 1 });
    let now = overview(&mut desk.house);
    assert_eq!((&now["today"], &now["calls_now"]), (&today, &json!(1)));
    assert_eq!(now["campaigns"][0]["progress"], 0.5);
    assert!(now["campaigns"][0]["forecast_at"].is_string(), "{now}");
    // Deleted calls were made all the same; a cost that comes later counts for the call's day.
    desk.house.delete(&format!("/user/calls/{}", calls[1].id)).expect(200);
    desk.house.now = Timestamp::parse_iso("2026-09-22T00:00:01Z").expect("a time");
    let later = json!({ "type": "cost", "carrier_cost": 0.1, "total_cost": 0.5 });
    desk.line.say(&mut desk.house, &mut calls[0], &[later]).expect(200);
    let next = overview(&mut desk.house);
    assert_eq!((&next["today"]["placed"], &next["last_week"]), (&json!(0), &with(today, &json!({ "cost": 0.5 }))));
    // Seven days are kept, and no more.
    desk.house.now = Timestamp::parse_iso("2026-09-28T23:59:59Z").expect("a time");
    assert_eq!(overview(&mut desk.house)["last_week"], next["last_week"]);
    desk.house.now = desk.house.now.plus_seconds(1);
    assert_eq!(overview(&mut desk.house)["last_week"]["placed"], 0);
}

#[test]
fn an_evaluation_tells_success() {
    let mut house = House::default();
    let assistant_id = house.make("/user/assistant", &with(assistant(), &json!({ "post_call_evaluation": true })));
    let line = Line::attach(&mut house);
    for (success, want) in [(json!(true), 1), (json!(false), 1), (Value::Null, 1), (json!(true), 2)] {
        house.make_call(assistant_id);
        let mut held = line.take(&mut house);
        let analysis = json!({
            "type": "analysis", "evaluation": { "success": success, "sentiment": "neutral", "summary": "Fine." },
        });
        let over = json!({ "type": "ended", "by": "assistant" });
        let events = [json!({ "type": "answered" }), said("bot", "Hello"), analysis, over];
        line.say(&mut house, &mut held, &events).expect(200);
        house.tick();
        assert_eq!(overview(&mut house)["today"]["success"], want, "{success}");
    }
}

#[test]
fn calls_that_nobody_takes_ask_for_an_engine() {
    let mut house = House::default();
    let assistant_id = house.make("/user/assistant", &assistant());
    let line = Line::attach(&mut house);
    house.make_call(assistant_id);
    assert_eq!(codes(&mut house), [code("no_engine", "account")]);
    line.claim(&mut house, 0);
    assert_eq!(codes(&mut house), [], "an engine is attached");
    house.now = house.now.plus_seconds(61);
    assert_eq!(codes(&mut house), [code("no_engine", "account")], "it has gone");
    let (operator, other) = (house.operator.clone(), json!({ "name": "Other", "account_ids": [2] }));
    house.account("other@example.com");
    let made = house.post("/admin/engine-tokens", &other).token(&operator).send().expect(201);
    let token = made.json["token"].as_str().expect("a token").to_owned();
    Line { token }.claim(&mut house, 0);
    assert_eq!(codes(&mut house), [code("no_engine", "account")], "it is another account's");
    line.take(&mut house);
    assert_eq!(codes(&mut house), [], "no call waits");
}

#[test]
fn a_balance_that_does_not_last_is_told() {
    let mut house = House::default();
    let assistant_id = house.make("/user/assistant", &with(assistant(), &json!({ "post_call_evaluation": false })));
    let line = Line::attach(&mut house);
    house.make_call(assistant_id);
    let mut held = line.take(&mut house);
    let cost = json!({ "type": "cost", "carrier_cost": 0.5, "total_cost": 5.0 });
    line.say(&mut house, &mut held, &[cost]).expect(200);
    line.talk(&mut house, &mut held);
    house.now = house.now.plus_seconds(86_400);
    let operator = house.operator.clone();
    for (balance, want) in [
        (Value::Null, None),
        (json!(5.0), None),
        (json!(4.99), Some("balance_low")),
        (json!(0.0), Some("balance_used_up")),
    ] {
        house.put("/admin/accounts/1", &json!({ "balance": balance })).token(&operator).send().expect(200);
        let found: Vec<_> = codes(&mut house).into_iter().map(|(code, _)| code).collect();
        assert_eq!(found.iter().map(String::as_str).next(), want, "{balance}");
    }
}

#[test]
fn storage_that_is_nearly_used_up_is_told() {
    let mut house = House::default();
    let operator = house.operator.clone();
    let plan = json!({ "storage_bytes": 1 << 20 });
    house.put("/admin/plans/standard", &plan).token(&operator).send().expect(200);
    let mut body = with(assistant(), &json!({ "system_prompt": "x".repeat(120_000) }));
    let mut made = 0;
    while codes(&mut house).is_empty() {
        body["name"] = json!(format!("A{made}"));
        house.make("/user/assistant", &body);
        made += 1;
    }
    assert_eq!(codes(&mut house), [code("storage_low", "account")]);
    assert_eq!(made, 8, "eight of 120 kB are nine tenths of 1 MiB");
}

#[test]
fn a_webhook_that_fails_is_told_until_it_succeeds_or_has_another_address() {
    let mut house = House::default();
    let hooked = json!({
        "name": "Reception", "is_webhook_active": true, "webhook_url": "https://hook.example/x", "post_call_evaluation": false,
    });
    let assistant_id = house.make("/user/assistant", &with(assistant(), &hooked));
    let line = Line::attach(&mut house);
    let told = [code("webhook_failing", &format!("assistant {assistant_id}"))];
    let call = |house: &mut House| {
        house.make_call(assistant_id);
        let mut held = line.take(house);
        line.talk(house, &mut held);
        house.tick();
    };
    call(&mut house);
    assert_eq!(codes(&mut house), told);
    let message = overview(&mut house)["attention"][0]["message"].clone();
    assert!(
        message.as_str().expect("a text").starts_with("The webhook url of Reception fails since 2026-"),
        "{message}"
    );
    let path = format!("/user/assistant/{assistant_id}");
    house.put(&path, &json!({ "webhook_url": "https://new.example/" })).send().expect(200);
    assert_eq!(codes(&mut house), [], "the new address has not failed");
    call(&mut house);
    assert_eq!(codes(&mut house), told);
    house.outside(|_| Ok(HttpIn { status: 200, ..HttpIn::default() }));
    call(&mut house);
    assert_eq!(codes(&mut house), [], "it has succeeded");
    house.outside(|_| Err(SendError::Unreachable));
    call(&mut house);
    house.delete(&path).expect(200);
    assert_eq!(codes(&mut house), [], "its assistant is deleted");
}

#[test]
fn documents_and_registrations_that_fail_are_told() {
    let mut house = House::default();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let site = json!({ "name": "Site", "type": "website", "url": "https://a.example" });
    house.make(&format!("/user/knowledgebases/{base}/documents"), &site);
    while house.tick().is_some_and(|due| due <= house.now) {}
    let documents = code("documents_failed", &format!("knowledgebase {base}"));
    assert_eq!(codes(&mut house), std::slice::from_ref(&documents));
    let message = &overview(&mut house)["attention"][0]["message"];
    assert_eq!(message, "Of the documents of Hours, 1 could not be read: each says why.");
    let id = house.make("/user/phone-numbers/sip-trunks", &trunk("+40700000001"));
    let line = Line::checking(&mut house);
    let refused =
        json!({ "engine": "test", "trunks": [{ "id": id, "state": "refused", "detail": "Wrong password." }] });
    house.post("/engine/heartbeat", &refused).token(&line.token).from("127.0.0.1").send().expect(200);
    assert_eq!(codes(&mut house), [code("trunk_unregistered", &format!("trunk {id}")), documents]);
    assert_eq!(overview(&mut house)["attention"][0]["message"], "Wrong password.");
}
