//! The check of a SIP trunk over HTTP: the user's request waits while an engine's parked claim takes it and answers.

use serde_json::{Value, json};
use switchboard_tests::house::trunk;

use crate::server::{Folder, Server, call};

#[test]
fn a_parked_claim_takes_the_check_that_a_user_waits_for() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let (url, key, token) = (server.text("url"), server.text("api_key"), server.text("admin_token"));
    let post = |path: &str, token: &str, body: &Value| {
        let (status, json) = call("POST", &format!("{url}{path}"), token, Some(body));
        assert!((200..300).contains(&status), "{path} {status} {json}");
        json
    };
    let id = post("/user/phone-numbers/sip-trunks", key, &trunk("+40700000001"))["data"]["id"].clone();
    let check = format!("/user/phone-numbers/sip-trunks/{id}/check");
    let made = post("/admin/engine-tokens", token, &json!({ "name": "E", "telephony": true }));
    let engine = made["token"].as_str().expect("a token");
    assert_eq!(call("POST", &format!("{url}{check}"), key, None).0, 503, "no engine checks trunks");
    let steps = json!([{ "name": "resolve", "ok": false, "detail": "There is no such name." }]);
    let claim = |wait: u32| {
        let body = json!({ "engine": "E", "protocol": 2, "capacity": 0, "checks": true, "wait": wait });
        post("/engine/claim", engine, &body)["checks"].clone()
    };
    assert_eq!(claim(0), json!([]));
    std::thread::scope(|scope| {
        let claimed = scope.spawn(|| claim(30));
        let asked = scope.spawn(|| call("POST", &format!("{url}{check}"), key, None));
        let checks = claimed.join().expect("a claim");
        assert_eq!(checks[0]["trunk"]["trunk_id"], id);
        let answer = format!("/engine/checks/{}", checks[0]["id"].as_str().expect("an id"));
        post(&answer, engine, &json!({ "steps": steps }));
        assert_eq!(asked.join().expect("an answer"), (200, json!({ "data": { "steps": steps } })));
    });
}
