//! Work that cannot be done keeps neither the binary from starting nor others from their turn.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};

use crate::server::{Folder, Server, call, run};

/// Peak resident memory of a process, bytes.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).expect("its peak");
    let kib = line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).expect("a number");
    kib << 10
}

#[test]
fn the_service_starts_and_serves_although_a_call_waits_whose_assistant_unfolds() {
    let folder = Folder::new();
    let data = folder.path("data");
    let server = Server::start(&data, &["--rate-limit", "0"]);
    let (key, token) = (server.text("api_key").to_owned(), server.text("admin_token").to_owned());
    let post = |server: &Server, path: &str, token: &str, body: &Value| {
        let (status, json) = call("POST", &format!("{}{path}", server.text("url")), token, Some(body));
        assert!((200..300).contains(&status), "{path} {status} {json}");
        json
    };
    // The engine inside leaves calls to this one, so that they wait.
    let engine = post(&server, "/admin/engine-tokens", &token, &json!({ "name": "E" }))["token"].clone();
    let value = "x".repeat(16_000);
    let unfolds = json!({ "system_prompt": "{{a}}".repeat(190_000), "variables": { "a": value } });
    let place = |server: &Server, changes: &Value| {
        let made = post(server, "/user/assistant", &key, &with(assistant(), changes));
        let body = json!({ "phone_number": "+40700000001", "assistant_id": made["data"]["id"] });
        post(server, "/user/make_call", &key, &body)["call_id"].as_u64().expect("an id")
    };
    let (failed, good) = (place(&server, &unfolds), place(&server, &json!({})));
    server.kill();
    let server = Server::start(&data, &["--rate-limit", "0"]);
    let url = server.text("url").to_owned();
    let engine = engine.as_str().expect("a token");
    // Right after a start calls are given one by one.
    let began = Instant::now();
    let mut claimed = Vec::new();
    while claimed.is_empty() && began.elapsed() < Duration::from_secs(20) {
        let got = post(&server, "/engine/claim", engine, &json!({ "engine": "E", "capacity": 2, "wait": 1 }));
        claimed.extend(got["calls"].as_array().expect("a list").iter().filter_map(|one| one["call"]["id"].as_u64()));
    }
    assert_eq!(claimed, [good]);
    let shown = call("GET", &format!("{url}/user/calls/{failed}"), &key, None).1;
    assert_eq!(shown["status"], "failed");
    assert!(peak(server.pid()) < 256 << 20, "{} bytes", peak(server.pid()));
    let metrics = crate::server::send("GET", &format!("{url}/metrics"), &token, &[], "").2;
    let metrics = String::from_utf8(metrics).expect("text");
    assert!(metrics.contains("switchboard_jobs_set_aside{kind=\"watch_call\"} 0"), "{metrics}");
    assert!(metrics.contains("switchboard_job_faults_total 0"), "{metrics}");
    let at = ["--url", &url, "--admin-token", &token, "--json"];
    let listed = run(&[&["jobs", "list", "--state", "waiting", "--kind", "watch_call"], &at[..]].concat());
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("JSON");
    assert_eq!(listed[0]["reference"], format!("call {good}"));
    let id = listed[0]["id"].as_str().expect("an id");
    for command in ["retry", "drop"] {
        let refused = run(&[&["jobs", command, id], &at[..]].concat());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("The job is not set aside. (409)"));
    }
    assert_eq!(server.stop(), Some(0));
}
