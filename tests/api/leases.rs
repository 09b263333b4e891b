//! docs/api.md, Leases and Heartbeats: how long an engine keeps its calls, what it says of itself, and how the operator
//! drains it. Nothing of it is written to disk.

use serde_json::{Value, json};
use switchboard_core::key;
use switchboard_core::memory::Memory;
use switchboard_core::step::Input;
use switchboard_core::store::Change;
use switchboard_tests::house::{Got, House, assistant};
use switchboard_tests::line::{Held, Line};

/// Calls that one engine of edition 2 has claimed; each was answered.
fn held(calls: u32) -> (House, Line, Vec<Held>) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    for _ in 0..calls {
        house.make_call(id);
    }
    let line = Line::attach(&mut house);
    let mut held = claim(&mut house, &line, 32);
    held.iter_mut().for_each(|held| drop(line.say(&mut house, held, &[json!({ "type": "answered" })]).expect(200)));
    (house, line, held)
}

fn claim(house: &mut House, line: &Line, capacity: u32) -> Vec<Held> {
    let body = json!({ "engine": "one", "protocol": 2, "capacity": capacity });
    let got = house.post("/engine/claim", &body).token(&line.token).send().expect(200);
    got.json["calls"].as_array().expect("a list").iter().cloned().map(Held::of).collect()
}

fn beat(house: &mut House, line: &Line, calls: &[u64]) -> Got {
    beat_with(house, line, &json!({ "engine": "one", "calls": calls }))
}

fn beat_with(house: &mut House, line: &Line, body: &Value) -> Got {
    house.post("/engine/heartbeat", body).token(&line.token).send()
}

fn ids(held: &[Held]) -> Vec<u64> {
    held.iter().map(|held| held.id).collect()
}

fn status(house: &mut House, id: u64) -> Value {
    house.get(&format!("/user/calls/{id}")).expect(200).json["status"].clone()
}

fn engines(house: &mut House) -> Vec<Value> {
    let operator = house.operator.clone();
    let got = house.call(switchboard_core::http::request::Method::Get, "/admin/engines").token(&operator).send();
    got.expect(200).json["data"].as_array().expect("a list").clone()
}

/// The rows that a host keeps on its disk.
fn durable(house: &House) -> Vec<(Vec<u8>, Vec<u8>)> {
    let rows = house.store.rows().iter().filter(|(at, _)| !key::is_memory(at));
    rows.map(|(at, value)| (at.clone(), value.clone())).collect()
}

/// What a host that starts again still has.
fn restart(house: &mut House) {
    let mut store = Memory::default();
    store.apply(&durable(house).into_iter().map(|(at, value)| Change::Put(at, value)).collect::<Vec<_>>());
    house.store = store;
}

/// Lets time pass, and runs what is due.
fn pass(house: &mut House, seconds: u64) {
    house.now = house.now.plus_seconds(seconds);
    while house.tick().is_some_and(|at| at <= house.now) {}
}

#[test]
fn a_heartbeat_renews_all_leases_and_changes_nothing_on_disk() {
    let (mut house, line, held) = held(3);
    pass(&mut house, 0);
    let before = durable(&house);
    for _ in 0..20 {
        pass(&mut house, 29);
        let got = beat(&mut house, &line, &ids(&held)).expect(200).json;
        let want = json!({ "lease": house.now.plus_seconds(30).iso(), "lost": [], "commands": [], "drain": false });
        assert_eq!(got, want);
        line.send(&mut house, held[0].id, &[]).expect(200);
        // A claim that finds nothing is no news either.
        assert!(claim(&mut house, &line, 1).is_empty());
    }
    assert!(durable(&house) == before, "ten minutes of heartbeats");
    pass(&mut house, 30);
    ids(&held).iter().for_each(|id| assert_eq!(status(&mut house, *id), "failed"));
    let lost = beat(&mut house, &line, &ids(&held)).expect(200).json;
    assert_eq!(lost["lost"], json!(ids(&held)), "they are over");
    let left = house.store.rows().keys().filter(|at| key::read_lease_due(at).is_some()).count();
    assert_eq!(left, 0, "and their leases are forgotten");
}

#[test]
fn each_call_has_a_lease_of_its_own() {
    let (mut house, line, held) = held(2);
    for _ in 0..2 {
        pass(&mut house, 20);
        beat(&mut house, &line, &[held[0].id]).expect(200);
    }
    assert_eq!(
        (status(&mut house, held[0].id), status(&mut house, held[1].id)),
        ("in-progress".into(), "failed".into())
    );
}

#[test]
fn a_heartbeat_names_what_is_lost() {
    let (mut house, line, mut held) = held(2);
    let other = Line::attach(&mut house);
    let strange = beat(&mut house, &other, &ids(&held)).expect(200).json;
    assert_eq!(strange["lost"], json!(ids(&held)), "another token has no such calls");
    line.say(&mut house, &mut held[1], &[json!({ "type": "ended" })]).expect(200);
    let nowhere = 77_u64 << 32 | 5;
    let got = beat(&mut house, &line, &[held[0].id, held[1].id, nowhere]).expect(200).json;
    assert_eq!(got["lost"], json!([held[1].id, nowhere]));
}

#[test]
fn a_heartbeat_brings_commands_until_they_end() {
    let (mut house, line, mut held) = held(2);
    let say = json!({ "type": "say", "text": "One moment" });
    house.post(&format!("/user/calls/{}/commands", held[1].id), &say).send().expect(202);
    for _ in 0..2 {
        let got = beat(&mut house, &line, &ids(&held)).expect(200).json;
        let want = json!([{ "call_id": held[1].id, "id": "1", "type": "say", "text": "One moment" }]);
        assert_eq!(got["commands"], want);
    }
    let end = json!({ "type": "command", "id": "1", "status": "done" });
    line.say(&mut house, &mut held[1], &[end]).expect(200);
    assert_eq!(beat(&mut house, &line, &ids(&held)).expect(200).json["commands"], json!([]));
    house.post(&format!("/user/calls/{}/hangup", held[0].id), &json!({})).send().expect(200);
    let got = beat(&mut house, &line, &ids(&held)).expect(200).json;
    assert_eq!(got["commands"][0]["type"], "hangup");
}

#[test]
fn after_a_restart_each_running_call_has_one_whole_lease() {
    let (mut house, line, held) = held(3);
    pass(&mut house, 25);
    restart(&mut house);
    pass(&mut house, 0);
    pass(&mut house, 29);
    ids(&held).iter().for_each(|id| assert_eq!(status(&mut house, *id), "in-progress"));
    // One engine has come back. It has missed a command.
    house.post(&format!("/user/calls/{}/hangup", held[0].id), &json!({})).send().expect(200);
    restart(&mut house);
    pass(&mut house, 0);
    let got = beat(&mut house, &line, &[held[0].id]).expect(200).json;
    assert_eq!((&got["lost"], &got["commands"][0]["type"]), (&json!([]), &json!("hangup")));
    pass(&mut house, 30);
    assert_eq!(status(&mut house, held[1].id), "failed");
    assert_eq!(house.get(&format!("/user/calls/{}", held[2].id)).expect(200).json["ended_reason"], "lease_expired");
}

/// Leases are restored a thousand at a time; whoever reports before then has its lease already.
#[test]
fn a_thousand_calls_are_restored_in_steps() {
    let mut house = House::default();
    let operator = house.operator.clone();
    let plan = json!({ "name": "large", "assistants": 5, "tools": 5, "knowledgebases": 5, "campaigns": 5, "numbers": 5,
        "parallel_calls": 10_000 });
    house.post("/admin/plans", &plan).token(&operator).send().expect(201);
    let id = house.make("/user/assistant", &assistant());
    let account = format!("/admin/accounts/{}", (id >> 32) + 1);
    house.put(&account, &json!({ "plan": "large" })).token(&operator).send().expect(200);
    let line = Line::attach(&mut house);
    let mut held = Vec::new();
    while held.len() < 1_100 {
        for _ in 0..32 {
            house.make_call(id);
        }
        held.extend(claim(&mut house, &line, 32));
    }
    restart(&mut house);
    let first = beat(&mut house, &line, &[held[0].id]).expect(200).json;
    assert_eq!(first["lost"], json!([]), "its row says whose it is");
    let leases = |house: &House| house.store.rows().keys().filter(|at| key::read_lease(at).is_some()).count();
    let seed = house.seed();
    house.step(&Input::Tick, seed);
    assert!((1_000..held.len()).contains(&leases(&house)), "one tick restores a part");
    pass(&mut house, 0);
    assert_eq!(leases(&house), held.len());
    let all = beat(&mut house, &line, &ids(&held)).expect(200).json;
    assert_eq!(all["lost"], json!([]));
    let many: Vec<u64> = (1..=10_001).collect();
    beat(&mut house, &line, &many).wrong(&["calls"]);
}

#[test]
fn the_operator_sees_engines_and_drains_them() {
    let (mut house, line, _) = held(1);
    let about = json!({ "engine": "one", "calls": [], "version": "1.2", "host": "media-1", "capacity": 5, "running": 1,
        "load": 0.4, "legs": ["sip", "web"], "web_url": "https://media-1.example/web" });
    beat_with(&mut house, &line, &about).expect(200);
    let shown = engines(&mut house).remove(0);
    let told = ["version", "host", "capacity", "running", "load", "legs", "web_url"];
    told.iter().for_each(|name| assert_eq!(shown[name], about[name], "{name}"));
    assert_eq!((&shown["name"], &shown["protocol"], &shown["draining"]), (&json!("one"), &json!(2), &json!(false)));
    assert_eq!(shown["seen_at"], house.now.iso());
    let operator = house.operator.clone();
    let path = format!("/admin/engines/{}/drain", shown["id"]);
    let got = house.post(&path, &json!({ "drain": true })).token(&operator).send().expect(202).json;
    assert_eq!((&got["message"], &got["data"]["draining"]), (&json!("The engine gets no more calls."), &json!(true)));
    let assistant = house.get("/user/assistants").expect(200).json[0]["id"].as_u64().expect("an id");
    house.make_call(assistant);
    assert!(claim(&mut house, &line, 1).is_empty());
    // It is drained for good: after a restart as well.
    restart(&mut house);
    assert_eq!(beat(&mut house, &line, &[]).expect(200).json["drain"], true);
    house.post(&path, &json!({ "drain": false })).token(&operator).send().expect(202);
    assert_eq!(claim(&mut house, &line, 1).len(), 1);
    house
        .post("/admin/engines/7/drain", &json!({ "drain": true }))
        .token(&operator)
        .send()
        .message(404, "Engine not found");
    let token = shown["token_id"].as_u64().expect("an id");
    house.post(&path, &json!({ "drain": true })).token(&operator).send().expect(202);
    let gone = format!("/admin/engine-tokens/{token}");
    house.call(switchboard_core::http::request::Method::Delete, &gone).token(&operator).send().expect(200);
    assert!(engines(&mut house).is_empty());
    assert!(!house.store.rows().keys().any(|at| key::drained_of(u32::try_from(token).expect("small")).contains(at)));
}

#[test]
fn where_browsers_talk_to_is_private() {
    let (mut house, line, _) = held(1);
    for (url, is_valid) in [
        ("https://a.example", true),
        ("http://127.0.0.1:9000/web", true),
        ("http://localhost/", true),
        ("http://[::1]:80/", true),
        ("http://a.example", false),
        ("http://10.0.0.1", false),
        ("wss://a.example", false),
    ] {
        let got = beat_with(&mut house, &line, &json!({ "engine": "one", "web_url": url }));
        if is_valid {
            got.expect(200);
        } else {
            got.wrong(&["web_url"]);
        }
    }
}

/// One token cannot crowd out the engines of others, and those that have gone make room.
#[test]
fn engines_are_remembered_up_to_a_bound() {
    let (mut house, line, _) = held(1);
    let other = Line::attach(&mut house);
    for at in 0..1_010 {
        beat_with(&mut house, &line, &json!({ "engine": format!("engine-{at}") })).expect(200);
    }
    assert_eq!(engines(&mut house).len(), 1_000);
    beat(&mut house, &other, &[]).expect(200);
    assert_eq!(engines(&mut house).len(), 1_001);
    pass(&mut house, 61);
    beat_with(&mut house, &line, &json!({ "engine": "late" })).expect(200);
    assert_eq!(engines(&mut house).len(), 1, "the others have gone");
}

fn stream(house: &mut House, id: u64, last: &str) -> String {
    let call = house.call(switchboard_core::http::request::Method::Get, &format!("/user/calls/{id}/events"));
    let got = call.header("accept", "text/event-stream").header("last-event-id", last).send().expect(200);
    String::from_utf8(got.bytes).expect("text")
}

#[test]
fn a_partial_line_is_live_and_never_stored() {
    let (mut house, line, mut held) = held(1);
    let held = &mut held[0];
    let before = house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json;
    house.now = house.now.plus_seconds(1);
    line.say(&mut house, held, &[json!({ "type": "partial", "turn": 1, "text": "When do" })]).expect(200);
    let want = format!(r#"{{"at":"{}","type":"partial","turn":1,"text":"When do"}}"#, house.now.iso());
    let shown = stream(&mut house, held.id, "3");
    assert_eq!(shown, format!("data: {want}\n\n"), "without an id");
    // One that comes at once is dropped; nothing is stored of either.
    line.say(&mut house, held, &[json!({ "type": "partial", "turn": 1, "text": "When do you" })]).expect(200);
    assert_eq!(stream(&mut house, held.id, "3"), shown);
    assert_eq!(house.get(&format!("/user/calls/{}/events", held.id)).expect(200).json, before);
    line.say(&mut house, held, &[json!({ "type": "transcript", "sender": "human", "text": "When?" })]).expect(200);
    let shown = stream(&mut house, held.id, "3");
    assert!(shown.contains("transcript") && !shown.contains("partial"), "{shown}");
    assert!(!house.store.rows().keys().any(|at| key::read_partial(at).is_some()));
}

#[test]
fn of_a_long_partial_line_the_end_is_shown() {
    let (mut house, line, mut held) = held(1);
    house.now = house.now.plus_seconds(1);
    let text = format!("{}end", "ă".repeat(3_000));
    line.say(&mut house, &mut held[0], &[json!({ "type": "partial", "text": text })]).expect(200);
    let shown = stream(&mut house, held[0].id, "3");
    assert!(shown.contains("\"…ă") && shown.contains("ăend\"") && shown.len() < 1_200, "{shown}");
}

/// A stream that has shown a partial line does not show it again: its place says so.
#[test]
fn a_partial_line_is_shown_once() {
    use switchboard_core::http::reply::Content;
    use switchboard_core::http::request::Method;
    use switchboard_core::step::Outcome;

    let (mut house, line, mut held) = held(1);
    house.now = house.now.plus_seconds(1);
    line.say(&mut house, &mut held[0], &[json!({ "type": "partial", "text": "When" })]).expect(200);
    let mut place = "3".to_owned();
    for is_new in [true, false, true] {
        let call = house.call(Method::Get, &format!("/user/calls/{}/events", held[0].id));
        let request = call.header("accept", "text/event-stream").header("last-event-id", &place).request();
        let seed = house.seed();
        let Outcome::Reply(reply) = house.step(&Input::Http(&request, &[]), seed).outcome else { panic!("a reply") };
        let Content::Stream(stream) = reply.content else { panic!("a stream") };
        assert_eq!(!stream.bytes.is_empty(), is_new);
        place = stream.last.to_string();
        if !is_new {
            house.now = house.now.plus_seconds(1);
            line.say(&mut house, &mut held[0], &[json!({ "type": "partial", "text": "When do" })]).expect(200);
        }
    }
}
