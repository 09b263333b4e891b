//! What an operator watches: metrics of calls, engines and queues, and the lines of the log.

use std::fs::File;

use serde_json::{Value, json};
use switchboard_tests::house::assistant;

use crate::server::{Folder, Server, call, send};

#[test]
fn metrics_and_log_say_what_happens_to_calls() {
    let folder = Folder::new();
    let log = folder.path("log");
    let out = File::create(&log).expect("a log");
    let environment = [("SWITCHBOARD_LOG", "info"), ("SWITCHBOARD_RATE_LIMIT", "0")];
    let server = Server::start_logging(&folder.path("data"), &["--engine", "none"], &environment, out);
    let (url, key, token) = (server.text("url"), server.text("api_key"), server.text("admin_token"));
    let post = |path: &str, token: &str, body: &Value| {
        let (status, json) = call("POST", &format!("{url}{path}"), token, Some(body));
        assert!((200..300).contains(&status), "{path} {status} {json}");
        json
    };
    let engine = post("/admin/engine-tokens", token, &json!({ "name": "E" }));
    let own = engine["token"].as_str().expect("a token");
    assert_eq!(post("/engine/claim", own, &json!({ "engine": "E", "wait": 1 }))["calls"], json!([]));
    let made = post("/user/assistant", key, &assistant());
    let place = json!({ "phone_number": "+40700000001", "assistant_id": made["data"]["id"] });
    let [first, second] = [0, 1].map(|_| post("/user/make_call", key, &place)["call_id"].as_u64().expect("an id"));
    let claimed = post("/engine/claim", own, &json!({ "engine": "E", "capacity": 1 }));
    assert_eq!(claimed["calls"][0]["call"]["id"], first);
    let events = json!({ "events": [{ "seq": 1, "type": "ringing" }] });
    post(&format!("/engine/calls/{first}/events"), own, &events);
    assert_eq!(call("GET", &format!("{url}/user/calls/{second}"), "sbk_wrong", None).0, 401);

    let metrics = String::from_utf8(send("GET", &format!("{url}/metrics"), token, &[], "").2).expect("text");
    for line in [
        r#"switchboard_calls{status="ringing"} 1"#.to_owned(),
        r#"switchboard_calls{status="initiated"} 1"#.to_owned(),
        r#"switchboard_calls{status="completed"} 0"#.to_owned(),
        format!("switchboard_engine_calls{{engine=\"{}\"}} 1", engine["id"]),
        "switchboard_campaigns_running 0".to_owned(),
        "switchboard_webhook_deliveries_waiting 0".to_owned(),
        r#"switchboard_jobs{kind="watch_call",state="waiting"} 2"#.to_owned(),
        // Claims are not among the others.
        "switchboard_long_poll_seconds_count 2".to_owned(),
        "switchboard_request_seconds_count 6".to_owned(),
    ] {
        assert!(metrics.lines().any(|shown| shown == line), "{line} in {metrics}");
    }

    assert_eq!(server.stop(), Some(0));
    let logged = std::fs::read_to_string(&log).expect("a log");
    let line = |operation: &str| {
        let wanted = format!("operation=\"{operation}\"");
        logged.lines().find(|line| line.contains(&wanted)).unwrap_or_else(|| panic!("{operation} in {logged}"))
    };
    assert!(line("makeCall").contains(" account=1 "), "{logged}");
    let report = line("reportEvents");
    assert!(report.contains(" account=1 ") && report.contains(&format!(" call={first} ")), "{report}");
    assert!(!line("getCall").contains("account="), "a token that was refused names nobody: {}", line("getCall"));
    assert!(!line("createEngineToken").contains("account="));
}
