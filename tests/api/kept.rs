//! What is stored of a call: what was said, as soon as it was said, and its recording if the assistant records.

use serde_json::{Value, json};
use switchboard_tests::house::{House, assistant, with};
use switchboard_tests::line::{Line, said};

fn placed(changes: &Value) -> (House, Line) {
    let mut house = House::default();
    let body = json!({ "post_call_evaluation": false });
    let id = house.make("/user/assistant", &with(with(assistant(), &body), changes));
    house.make_call(id);
    let line = Line::attach(&mut house);
    (house, line)
}

fn call(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/calls/{id}")).expect(200).json
}

#[test]
fn a_recording_is_kept_only_where_the_assistant_records() {
    for record in [false, true] {
        let (mut house, line) = placed(&json!({ "record": record }));
        let mut held = line.take(&mut house);
        line.talk(&mut house, &mut held);
        let url = "https://engine.example/1.wav";
        line.say(&mut house, &mut held, &[json!({ "type": "recording", "url": url })]).expect(200);
        let want = if record { json!(url) } else { Value::Null };
        assert_eq!(call(&mut house, held.id)["recording_url"], want);
        let events = house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json.to_string();
        assert_eq!(events.contains(url), record, "{events}");
        line.say(&mut house, &mut held, &[json!({ "type": "cost", "carrier_cost": 0.1, "total_cost": 0.2 })])
            .expect(200);
    }
}

#[test]
fn the_transcript_of_a_running_call_grows() {
    let (mut house, line) = placed(&json!({}));
    let mut held = line.take(&mut house);
    line.say(&mut house, &mut held, &[json!({ "type": "answered" })]).expect(200);
    assert_eq!(call(&mut house, held.id)["transcript"], "");
    line.say(&mut house, &mut held, &[said("bot", "Hello")]).expect(200);
    assert_eq!(call(&mut house, held.id)["transcript"], "AI: Hello");
    let before = house.get(&format!("/user/calls/{}", held.id));
    line.say(&mut house, &mut held, &[said("human", "Hi")]).expect(200);
    let running = house.get(&format!("/user/calls/{}", held.id));
    assert_eq!(running.json["transcript"], "AI: Hello\nCustomer: Hi");
    assert_ne!(before.header("etag"), running.header("etag"));
    let stale = house.call(switchboard_core::http::request::Method::Delete, &format!("/user/calls/{}", held.id));
    stale.header("if-match", running.header("etag").expect("a tag")).send().expect(409);
    let row = |house: &House| {
        house.store.rows().values().filter(|row| String::from_utf8_lossy(row).contains("Hello\\nCustomer")).count()
    };
    assert_eq!(row(&house), 0, "an event does not write the transcript anew");
    line.say(&mut house, &mut held, &[json!({ "type": "ended" })]).expect(200);
    assert_eq!(call(&mut house, held.id)["transcript"], "AI: Hello\nCustomer: Hi");
}
