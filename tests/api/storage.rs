//! Storage of an account: counted exactly, and refused beyond its plan.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::key::{self, Space};
use switchboard_core::store::{Change, Ledger, usage};
use switchboard_core::verify::verify;
use switchboard_tests::house::{House, assistant, campaign, lead, tool, with};

/// Returns a house whose account may store a mebibyte, the least that a plan can allow.
fn small() -> House {
    let mut house = House::default();
    let operator = house.operator.clone();
    let plan = json!({ "storage_bytes": 1_048_576 });
    house.put("/admin/plans/standard", &plan).token(&operator).send().expect(200);
    house
}

fn stored(house: &House) -> u64 {
    let ledger = &house.store.rows()[&key::ledger(Space::Account(0))];
    Ledger::from_bytes(ledger).expect("a ledger").stored().expect("it is counted").bytes
}

fn prompt(bytes: usize) -> Value {
    with(assistant(), &json!({ "system_prompt": "x".repeat(bytes) }))
}

fn sound(house: &House) {
    assert_eq!(verify(&house.store).expect("it reads").faults, [""; 0]);
}

#[test]
fn beyond_the_plan_nothing_more_is_stored() {
    let mut house = small();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Hours" }));
    let (kept, filler) = (house.make("/user/assistant", &prompt(10)), house.make("/user/assistant", &prompt(900_000)));
    let call = house.make_call(kept);
    let calling = house.make("/user/campaigns", &campaign(kept));
    let count = |house: &mut House| {
        let left = 1_048_576 - stored(house);
        house.make("/user/assistant", &prompt(usize::try_from(left).expect("it is little") - 6_000))
    };
    count(&mut house);
    let before = stored(&house);
    assert!(before < 1_048_576 && before > 1_030_000, "{before}");
    let large = "x".repeat(20_000);
    let header = |n: usize| json!({ "name": format!("X-{n}"), "value": "x".repeat(1_000) });
    let headers = json!({ "headers": (0..20).map(header).collect::<Vec<_>>() });
    for (method, target, body, status, says) in [
        (Method::Post, "/user/assistant".into(), prompt(20_000), 403, "message"),
        (Method::Put, format!("/user/assistant/{kept}"), json!({ "system_prompt": large }), 403, "message"),
        (Method::Post, "/user/tools".into(), with(tool("look"), &headers), 422, "message"),
        (Method::Put, format!("/user/knowledgebases/{base}"), json!({ "description": large[..200] }), 200, ""),
    ] {
        let got = house.call(method, &target).json(&body).send();
        assert_eq!(got.status, status, "{target}: {}", got.json);
        let said = got.json[says].as_str().unwrap_or_default();
        assert!(status == 200 || said.contains("plan limit of stored data"), "{target}: {}", got.json);
    }
    // Small bodies still fit; requests that end or delete something are never refused.
    let another = json!({ "name": "Hours", "description": large[..255] });
    let mut made = (0..100).map(|_| house.post("/user/knowledgebases", &another).send());
    let refused = made.find(|got| got.status != 201).expect("no room for a hundred");
    assert!(refused.status == 403 && refused.json["error"].is_string(), "{}", refused.json);
    assert!(stored(&house) <= 1_048_576 && stored(&house) > 1_047_500, "{}", stored(&house));
    let switch = json!({ "campaign_id": calling, "action": "stop" });
    assert!(house.post("/user/campaigns/update-status", &switch).send().status != 403);
    assert!(house.post(&format!("/user/calls/{call}/hangup"), &json!({})).send().status < 300);
    house.tick();
    sound(&house);
    house.delete(&format!("/user/assistant/{kept}")).expect(200);
    house.put(&format!("/user/assistant/{filler}"), &json!({ "system_prompt": "y" })).send().expect(200);
    assert!(stored(&house) < before - 800_000, "{}", stored(&house));
    house.post("/user/assistant", &prompt(20_000)).send().expect(201);
    sound(&house);
}

#[test]
fn work_that_would_store_more_than_the_plan_allows_ends_and_says_so() {
    const OVER: &str = "The account has used up its storage.";
    let mut house = small();
    let id = house.make("/user/assistant", &assistant());
    let calling = house.make("/user/campaigns", &campaign(id));
    let lines: Vec<String> = (0..6_000).map(|number| format!("+4070{number:07}\n")).collect();
    let file = ["phone_number\n".to_owned(), lines.concat()].concat().into_bytes();
    let target = format!("/user/leads/import?campaign_id={calling}");
    let started = house.call(Method::Post, &target).header("content-type", "text/csv").body(file).send().expect(202);
    house.tick();
    let import = house.get(&format!("/user/leads/imports/{}", started.id())).expect(200).json["data"].clone();
    assert_eq!((&import["status"], &import["failure_reason"]), (&json!("failed"), &json!(OVER)));
    assert!(import["created"].as_u64().is_some_and(|created| (100..6_000).contains(&created)), "{import}");
    assert!(stored(&house) <= 1_048_576, "{}", stored(&house));
    sound(&house);
    house.delete(&format!("/user/campaigns/{calling}")).expect(200);
    house.tick();
    sound(&house);
}

#[test]
fn a_document_that_would_store_more_than_the_plan_allows_fails() {
    let mut house = small();
    let base = house.make("/user/knowledgebases", &json!({ "name": "Words" }));
    let text = (0..60_000_u32).map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
    let part =
        |head: &str, value: &str| format!("--b\r\ncontent-disposition: form-data; name={head}\r\n\r\n{value}\r\n");
    let body = [part("name", "Words"), part("type", "txt"), part("file; filename=w.txt", &text), "--b--\r\n".into()];
    let target = format!("/user/knowledgebases/{base}/documents");
    let form = "multipart/form-data; boundary=b";
    let sent = house.call(Method::Post, &target).header("content-type", form).body(body.concat().into_bytes()).send();
    let document = sent.expect(201).id();
    for _ in 0..3 {
        house.tick();
        house.now = house.now.plus_seconds(60);
    }
    let shown = house.get(&format!("{target}/{document}")).expect(200).json;
    assert_eq!(shown["data"]["status"], "failed", "{shown}");
    assert!(stored(&house) <= 1_048_576, "{}", stored(&house));
    sound(&house);
}

#[test]
fn a_plan_counts_from_the_next_look_on() {
    let mut house = House::default();
    let operator = house.operator.clone();
    let plan = |house: &mut House, bytes: u64| {
        let body = json!({ "storage_bytes": bytes });
        house.put("/admin/plans/standard", &body).token(&operator).send()
    };
    house.make("/user/assistant", &prompt(900_000));
    house.make("/user/assistant", &prompt(900_000));
    plan(&mut house, 1 << 20).expect(200);
    house.post("/user/assistant", &prompt(100_000)).send().expect(403);
    plan(&mut house, 1 << 22).expect(200);
    house.post("/user/assistant", &prompt(100_000)).send().expect(201);
    for bytes in [(1 << 20) - 1, (16 << 40) + 1] {
        plan(&mut house, bytes).expect(422);
    }
    plan(&mut house, 16 << 40).expect(200);
    let shown = house.call(Method::Get, "/admin/plans").token(&operator).send().expect(200);
    assert_eq!(shown.json["data"][0]["storage_bytes"], json!(16_u64 << 40));
    sound(&house);
}

#[test]
fn a_store_of_before_is_counted_once() {
    let mut house = House::default();
    house.make("/user/assistant", &prompt(1_000));
    house.make("/user/tools", &tool("look"));
    let counted = house.store.clone();
    assert_eq!(usage::count(&house.store), Ok(Vec::new()), "it is counted already");
    // An older ledger has neither the flag in its time nor the two numbers after it.
    let ledgers: Vec<_> = house.store.rows().iter().filter(|(at, _)| key::is_ledger(at)).collect();
    let old = |bytes: &[u8]| [&bytes[..7], &[bytes[7] & 0x7f], &bytes[24..]].concat();
    let changes: Vec<_> = ledgers.into_iter().map(|(at, bytes)| Change::Put(at.clone(), old(bytes))).collect();
    house.store.apply(&changes);
    sound(&house);
    house.make("/user/tools", &tool("ask"));
    let counts = usage::count(&house.store).expect("it reads");
    assert_eq!(counts.len(), changes.len());
    house.store.apply(&counts);
    assert!(house.store != counted && stored(&house) > 1_000);
    sound(&house);
    house.make("/user/tools", &tool("say"));
    sound(&house);
}

const FULL: &str = "The disk of the service is full: only deletes and the ends of calls are carried out.";

#[test]
fn on_a_full_disk_only_what_takes_away_or_ends_is_carried_out() {
    let mut house = House::default();
    let (kept, gone) = (house.make("/user/assistant", &prompt(10)), house.make("/user/assistant", &prompt(10)));
    let call = house.make_call(kept);
    let calling = house.make("/user/campaigns", &campaign(kept));
    let once = house.post("/user/tools", &tool("look")).header("idempotency-key", "once").send().expect(201);
    let before = house.store.clone();
    house.full = true;
    let login = json!({ "email": "owner@localhost", "password": house.password });
    let placed = json!({ "phone_number": "+40700000001", "assistant_id": kept });
    for (method, target, body) in [
        (Method::Post, "/user/assistant".into(), prompt(10)),
        (Method::Put, format!("/user/assistant/{kept}"), json!({ "name": "B" })),
        (Method::Patch, format!("/user/assistant/{kept}"), json!({ "name": "B" })),
        (Method::Post, "/user/make_call".into(), placed),
        (Method::Post, "/user/login".into(), login),
    ] {
        let got = house.call(method, &target).json(&body).send();
        assert_eq!((got.status, &got.json), (503, &json!({ "message": FULL, "retry_after": 10 })), "{target}");
        assert_eq!(got.header("retry-after"), Some("10"), "{target}");
    }
    assert!(house.store == before, "nothing was stored");
    house.post("/user/tools", &tool("look")).token("1|nobody").send().expect(401);
    let again = house.post("/user/tools", &tool("look")).header("idempotency-key", "once").send();
    assert_eq!((again.status, again.json), (201, once.json), "what was answered before is answered again");

    house.get("/user/assistants").expect(200);
    house.delete(&format!("/user/assistant/{gone}")).expect(200);
    let switch = json!({ "campaign_id": calling, "action": "stop" });
    assert!(house.post("/user/campaigns/update-status", &switch).send().status != 503);
    assert!(house.post(&format!("/user/calls/{call}/hangup"), &json!({})).send().status < 300);
    let operator = house.operator.clone();
    let plan = json!({ "storage_bytes": 2_097_152 });
    house.put("/admin/plans/standard", &plan).token(&operator).send().expect(200);
    house.tick();
    sound(&house);
    house.full = false;
    house.post("/user/assistant", &prompt(10)).send().expect(201);
    sound(&house);
}

#[test]
fn on_a_full_disk_campaigns_wait() {
    let mut house = House::default();
    let assistant = house.make("/user/assistant", &assistant());
    house.put(&format!("/user/assistant/{assistant}"), &json!({ "status": "active" })).send().expect(200);
    let calling = house.make("/user/campaigns", &campaign(assistant));
    house.make("/user/lead", &lead(calling, "+40700000001"));
    let switch = json!({ "campaign_id": calling, "action": "start" });
    house.post("/user/campaigns/update-status", &switch).send().expect(200);
    let mut dials = |full: bool| {
        house.full = full;
        house.now = house.now.plus_seconds(10);
        house.tick();
        house.get("/user/calls").json["data"].as_array().map_or(0, Vec::len)
    };
    assert_eq!([dials(true), dials(true), dials(false)], [0, 0, 1]);
    sound(&house);
}
