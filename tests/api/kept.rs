//! What of a call is kept: its recording where the assistant records.

use serde_json::{Value, json};
use switchboard_tests::house::{House, assistant, with};
use switchboard_tests::line::Line;

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
