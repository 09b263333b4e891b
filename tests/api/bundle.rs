//! A call in one file (docs/api.md, A call in one file).

use std::io::{Cursor, Read};

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::outside::HttpIn;
use switchboard_tests::house::{Got, House, assistant, tool, with};
use switchboard_tests::line::{Held, Line};
use zip::ZipArchive;

const ZIP: (&str, &str) = ("accept", "application/zip");

fn ask(house: &mut House, id: u64) -> Got {
    house.call(Method::Get, &format!("/user/calls/{id}/bundle")).header(ZIP.0, ZIP.1).send()
}

/// Returns the files of a bundle, by name.
fn files(got: &Got) -> Vec<(String, Value)> {
    let mut archive = ZipArchive::new(Cursor::new(&got.bytes)).expect("a ZIP file");
    let read = |at| {
        let mut file = archive.by_index(at).expect("a file");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("its checksum fits");
        (file.name().expect("UTF-8").into_owned(), serde_json::from_str(&text).expect("JSON"))
    };
    (0..5).map(read).collect()
}

fn file(files: &[(String, Value)], name: &str) -> Value {
    files.iter().find(|(known, _)| known == name).expect("the file").1.clone()
}

/// A call whose tool sent back what it was asked with, and whose webhook was told.
fn called(house: &mut House) -> Held {
    let answer = r#"{"saw":"Bearer tool-token-value","next":"https://me:pw@api.example/x?key=1","name":"Ana"}"#;
    house.outside(move |_| Ok(HttpIn { status: 200, body: answer.as_bytes().to_vec(), ..HttpIn::default() }));
    let headers =
        json!([{ "name": "Authorization", "value": "Bearer tool-token-value" }, { "name": "X-Short", "value": "Ana" }]);
    let tool = house.make("/user/tools", &with(tool("look_up"), &json!({ "headers": headers })));
    let calendar = json!({
        "type": "calendar_integration", "calendar_api_key": "cal_live_abcdefgh", "calendar_event_slug": "intro",
    });
    let body = json!({
        "tool_ids": [tool], "is_webhook_active": true, "webhook_url": "https://hook.example/x?secret=1",
        "post_call_evaluation": false, "tools": [calendar],
    });
    let id = house.make("/user/assistant", &with(assistant(), &body));
    let line = Line::attach(house);
    house.make_call(id);
    let mut held = line.take(house);
    line.say(house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    let target = format!("/engine/calls/{}/tools/look_up", held.id);
    house.post(&target, &json!({ "arguments": {} })).token(&line.token).send().expect(200);
    let measured = json!({ "type": "quality", "jitter_ms": 3 });
    line.say(house, &mut held, &[measured, json!({ "type": "ended", "by": "customer" })]).expect(200);
    house.tick();
    held
}

#[test]
fn a_bundle_has_everything_of_a_call_and_no_secret() {
    let mut house = House::default();
    let held = called(&mut house);
    let got = ask(&mut house, held.id).expect(200);
    assert_eq!(got.header("content-type"), Some("application/zip"));
    let name = format!("attachment; filename=\"call-{}.zip\"", held.id);
    assert_eq!((got.header("content-disposition"), got.header("cache-control")), (Some(&*name), Some("no-store")));
    let files = files(&got);
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["call.json", "events.json", "metrics.json", "assistant.json", "deliveries.json"]);
    let whole = format!("{files:?}");
    for secret in ["tool-token-value", "me:pw", "key=1", "secret=1", "cal_live_abcdefgh"] {
        assert!(!whole.contains(secret), "{secret}: {whole}");
    }
    assert_eq!(file(&files, "call.json")["id"], held.id);
    let types = |value: &Value| -> Vec<String> {
        let all = value.as_array().expect("a list").iter();
        all.map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
    };
    let events = file(&files, "events.json");
    let shown = house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json;
    assert_eq!(types(&events), types(&shown["data"]), "they are all there");
    assert_eq!(types(&file(&files, "metrics.json")), ["quality"]);
    let told = events.as_array().expect("a list").iter().find(|event| event["type"] == "tool").expect("a tool").clone();
    let body = told["body"].as_str().expect("a text");
    assert!(body.contains("https://api.example/x\"") && body.contains("Bearer ****") && body.contains("Ana"), "{body}");
    assert_eq!(file(&files, "assistant.json")["webhook_url"], "https://hook.example/x");
    let deliveries = file(&files, "deliveries.json");
    assert_eq!((&deliveries[0]["call_id"], &deliveries[0]["url"]), (&json!(held.id), &json!("https://hook.example/x")));
}

#[test]
fn it_is_a_zip_file_or_nothing() {
    let mut house = House::default();
    let held = called(&mut house);
    for accept in ["application/json", "*/*", "application/json, application/zip;q=0.5"] {
        let got = house.call(Method::Get, &format!("/user/calls/{}/bundle", held.id)).header("accept", accept).send();
        got.message(404, "This is a ZIP file alone: ask for it with Accept: application/zip.");
    }
    ask(&mut house, 4_000_000).message(404, "Call not found");
    let stranger = house.account("stranger@example.com");
    let target = format!("/user/calls/{}/bundle", held.id);
    house.call(Method::Get, &target).header(ZIP.0, ZIP.1).token(&stranger).send().message(404, "Call not found");
}

#[test]
fn many_events_are_cut_and_say_so() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let line = Line::attach(&mut house);
    house.make_call(id);
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    let large = json!({ "type": "noted_by_engine", "text": "x".repeat(3_900) });
    for _ in 0..11 {
        line.say(&mut house, &mut held, &vec![large.clone(); 100]).expect(200);
    }
    let got = ask(&mut house, held.id).expect(200);
    assert!(got.bytes.len() < (4 << 20) + (64 << 10), "{}", got.bytes.len());
    let events = file(&files(&got), "events.json");
    let events = events.as_array().expect("a list");
    let last = &events[events.len() - 1];
    assert_eq!((&last["type"], &last["after"]), (&json!("cut"), &events[events.len() - 2]["seq"]));
}
