//! Placeholders are filled in within limits: in a claimed assistant, in a tool's request, in variables.

use serde_json::{Value, json};
use switchboard_core::outside::{HttpIn, SendError};
use switchboard_tests::house::{House, assistant, tool, with};
use switchboard_tests::line::{Held, Line};

/// Returns the longest value of `a` that a `variables` object has room for.
fn large() -> String {
    "x".repeat((16 << 10) - r#"{"a":""}"#.len())
}

fn placed(house: &mut House, changes: &Value) -> u64 {
    let id = house.make("/user/assistant", &with(assistant(), changes));
    house.make_call(id)
}

fn call(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/calls/{id}")).expect(200).json
}

fn events(house: &mut House, id: u64) -> Vec<Value> {
    let events = house.get(&format!("/user/calls/{id}/events")).expect(200).json;
    events["data"].as_array().expect("a list").clone()
}

fn bytes_of(held: &Held) -> usize {
    held.claimed["assistant"].to_string().len()
}

#[test]
fn variables_are_a_hundred_and_sixteen_kibibytes() {
    let mut house = House::default();
    let body = |value: &str| with(assistant(), &json!({ "variables": { "a": value } }));
    house.post("/user/assistant", &body(&large())).send().expect(201);
    let over = house.post("/user/assistant", &body(&format!("{}x", large()))).send();
    let says = "The variables field must not be larger than 16384 bytes.";
    assert_eq!((over.status, &over.json["errors"]["variables"][0]), (422, &json!(says)));
    let id = house.make("/user/assistant", &assistant());
    let body = |value: &str| json!({ "assistant_id": id, "phone_number": "+40700000001", "variables": { "a": value } });
    house.post("/user/make_call", &body(&large())).send().expect(200);
    house.post("/user/make_call", &body(&"\u{1}".repeat(3_000))).send().wrong(&["variables"]);
}

#[test]
fn an_assistant_that_unfolds_fails_its_call_and_the_engine_gets_others() {
    let mut house = House::default();
    let unfolds = json!({ "system_prompt": "{{a}}".repeat(190_000), "variables": { "a": large() } });
    let failed = placed(&mut house, &unfolds);
    let good = placed(&mut house, &json!({}));
    let line = Line::attach(&mut house);
    let claimed: Vec<u64> = line.claim(&mut house, 5).iter().map(|held| held.id).collect();
    assert_eq!(claimed, [good]);
    assert_eq!(call(&mut house, failed)["status"], "failed");
    let events = events(&mut house, failed);
    let last = events.last().expect("events");
    assert_eq!((&last["type"], &last["reason"]), (&json!("failed"), &json!("assistant_too_large")));
    assert!(line.claim(&mut house, 5).is_empty(), "it is never offered again");
}

#[test]
fn a_claimed_assistant_has_a_mebibyte() {
    let mut house = House::default();
    // The claim contains the prompt twice: as stored, and filled in.
    let prompt = |bytes: usize| json!({ "system_prompt": "p".repeat(bytes) });
    let fits = placed(&mut house, &prompt(520_000));
    let over = placed(&mut house, &prompt(525_000));
    let line = Line::attach(&mut house);
    let claimed = line.claim(&mut house, 5);
    assert_eq!(claimed.iter().map(|held| held.id).collect::<Vec<_>>(), [fits]);
    assert!((1 << 20) - 12_000 < bytes_of(&claimed[0]) && bytes_of(&claimed[0]) <= 1 << 20);
    assert_eq!(call(&mut house, over)["status"], "failed");
}

#[test]
fn an_arriving_call_whose_assistant_is_too_large_is_refused() {
    let mut house = House::default();
    let changes = json!({ "system_prompt": "{{a}}".repeat(1_000), "variables": { "a": large() } });
    let id = house.make("/user/assistant", &with(assistant(), &changes));
    let line = Line::attach(&mut house);
    let body = json!({ "type": "web", "assistant_id": id });
    let got = house.post("/engine/calls", &body).token(&line.token).send();
    got.message(422, "The assistant of the call is larger than 1 MiB.");
    assert_eq!(house.get("/user/calls").expect(200).json["total"], 0);
}

#[test]
fn an_arriving_call_that_a_webhook_was_told_of_fails() {
    let mut house = House::default();
    house.outside(|_| {
        let body = json!({ "a": "x".repeat(16_000) }).to_string().into_bytes();
        Ok::<_, SendError>(HttpIn { status: 200, body, ..HttpIn::default() })
    });
    let number = house.make("/user/phone-numbers/purchase", &json!({ "phone_number": "+12122011892" }));
    let changes = json!({
        "type": "inbound", "system_prompt": "{{a}}".repeat(100), "phone_number_id": number,
        "inbound_webhook_events": ["call.incoming"],
    });
    let id = house.make("/user/assistant", &with(assistant(), &changes));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let hook = json!({ "assistant_id": id, "webhook_url": "https://hook.example/" });
    house.post("/user/assistants/enable-inbound-webhook", &hook).send().expect(200);
    let line = Line::attach(&mut house);
    let body = json!({ "type": "inbound", "from": "+40700000001", "to": "+12122011892" });
    let got = house.post("/engine/calls", &body).token(&line.token).send();
    got.message(422, "The assistant of the call is larger than 1 MiB.");
    assert_eq!(house.get("/user/calls").expect(200).json["data"][0]["status"], "failed");
}

#[test]
fn knowledge_is_cut_before_a_call_fails() {
    let mut house = House::default();
    let base = house.make("/user/knowledgebases", &json!({ "name": "K" }));
    let text = "Every sentence says a little more about nothing. ".repeat(1_300);
    let path = format!("/user/knowledgebases/{base}/documents");
    let form = format!(
        "--b\r\ncontent-disposition: form-data; name=\"type\"\r\n\r\ntxt\r\n\
         --b\r\ncontent-disposition: form-data; name=\"name\"\r\n\r\nT\r\n\
         --b\r\ncontent-disposition: form-data; name=\"file\"; filename=\"t.txt\"\r\ncontent-type: text/plain\r\n\r\n{text}\r\n--b--\r\n"
    );
    let upload = house.call(switchboard_core::http::request::Method::Post, &path);
    upload.header("content-type", "multipart/form-data; boundary=b").body(form.into_bytes()).send().expect(201);
    house.tick();
    let knows = |prompt: usize| json!({ "system_prompt": "p".repeat(prompt), "knowledgebase_id": base, "knowledgebase_mode": "prompt" });
    let (whole, cut) = (placed(&mut house, &knows(100)), placed(&mut house, &knows(500_000)));
    let line = Line::attach(&mut house);
    let claimed = line.claim(&mut house, 5);
    assert_eq!(claimed.iter().map(|held| held.id).collect::<Vec<_>>(), [whole, cut]);
    let knowledge = |held: &Held| held.claimed["assistant"]["knowledge"].as_str().expect("a text").to_owned();
    let mark = "\n[The knowledge was cut here.]";
    assert!(knowledge(&claimed[0]).len() > 60_000 && !knowledge(&claimed[0]).ends_with(mark));
    assert!(knowledge(&claimed[1]).len() < 50_000 && knowledge(&claimed[1]).ends_with(mark));
    assert!(bytes_of(&claimed[1]) <= 1 << 20);
    let told = |house: &mut House, id| events(house, id).into_iter().find(|event| event["type"] == "unsupported");
    assert_eq!(told(&mut house, whole), None);
    assert_eq!(told(&mut house, cut).expect("an event")["settings"], json!(["knowledgebase"]));
}

#[test]
fn a_tool_s_request_has_64_kibibytes() {
    let mut house = House::default();
    house.outside(|_| Ok::<_, SendError>(HttpIn { status: 200, ..HttpIn::default() }));
    let header = |n: usize, times: usize| json!({ "name": format!("X-{n}"), "value": "{{a}}".repeat(times) });
    let headers: Vec<Value> = (0..50).map(|n| header(n, 409)).collect();
    let unfolds = with(tool("unfolds"), &json!({ "headers": headers }));
    let path = with(
        tool("path"),
        &json!({ "endpoint": "https://t.example/{city}".to_owned() + &"/{city}".repeat(250),
        "schema": [{ "name": "city", "type": "string", "description": "A city" }] }),
    );
    let fits = with(tool("fits"), &json!({ "headers": [header(0, 3)] }));
    let ids: Vec<u64> = [unfolds, path, fits].iter().map(|body| house.make("/user/tools", body)).collect();
    placed(&mut house, &json!({ "tool_ids": ids, "variables": { "a": large() } }));
    let line = Line::attach(&mut house);
    let held = line.take(&mut house);
    let mut ask = |name: &str| {
        let body = json!({ "arguments": { "city": "y".repeat(10_000) } });
        house.post(&format!("/engine/calls/{}/tools/{name}", held.id), &body).token(&line.token).send()
    };
    let says = "The tool's request with its placeholders filled in is larger than 64 KiB.";
    ask("unfolds").message(502, says);
    ask("path").message(502, says);
    ask("fits").expect(200);
    let told: Vec<Value> = events(&mut house, held.id).into_iter().filter(|event| event["type"] == "tool").collect();
    let error = |at: usize| (told[at]["name"].as_str(), told[at]["error"].as_str());
    assert_eq!(
        [error(0), error(1), error(2)],
        [(Some("unfolds"), Some(says)), (Some("path"), Some(says)), (Some("fits"), None)]
    );
}

#[test]
fn what_a_call_collects_is_bounded() {
    let mut house = House::default();
    let id = placed(&mut house, &json!({}));
    let line = Line::attach(&mut house);
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    for round in 0..6 {
        let variables: serde_json::Map<String, Value> =
            (0..30).map(|n| (format!("v{round}_{n}"), json!("x".repeat(500)))).collect();
        line.say(&mut house, &mut held, &[json!({ "type": "variables", "variables": variables })]).expect(200);
    }
    line.say(&mut house, &mut held, &[json!({ "type": "variables", "variables": { "v0_0": "later" } })]).expect(200);
    let call = call(&mut house, id);
    let variables = call["variables"].as_object().expect("an object");
    assert_eq!((variables.len(), &variables["v0_0"]), (100, &json!("later")));
    let wide = json!({ "v0_1": "y".repeat(15_000), "v0_2": "y".repeat(1_000) });
    for _ in 0..4 {
        line.say(&mut house, &mut held, &[json!({ "type": "variables", "variables": wide })]).expect(200);
    }
    assert!(self::call(&mut house, id)["variables"].to_string().len() <= 64 << 10);
}

#[test]
fn a_queued_call_of_a_deleted_assistant_fails() {
    let mut house = House::default();
    let assistant_id = house.make("/user/assistant", &assistant());
    let id = house.make_call(assistant_id);
    house.delete(&format!("/user/assistant/{assistant_id}")).expect(200);
    let line = Line::attach(&mut house);
    assert!(line.claim(&mut house, 5).is_empty());
    assert_eq!(call(&mut house, id)["status"], "failed");
    assert_eq!(events(&mut house, id).last().expect("events")["reason"], "assistant_deleted");
}
