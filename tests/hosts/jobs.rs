//! Jobs that cannot be done neither keep the binary from starting nor delay other jobs.

use std::fs::File;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};

use crate::outside::serve;
use crate::server::{Folder, Server, call, run};

/// Returns the peak resident memory of a process, bytes.
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
    // The built-in engine leaves calls to this one, so that they stay pending.
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
    // Right after a start, calls are handed out one at a time.
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
    let id = &listed[0]["id"].to_string();
    for command in ["retry", "drop"] {
        let refused = run(&[&["jobs", command, id], &at[..]].concat());
        assert!(String::from_utf8_lossy(&refused.stderr).contains("The job is not set aside. (409)"));
    }
    assert_eq!(server.stop(), Some(0));
}

/// Factor by which time is sped up: half an hour, the longest wait before a job is set aside, takes four seconds.
const SPEED: u32 = 450;
/// How long a job may take to be set aside, or to be retried.
const PATIENCE: Duration = Duration::from_mins(2);

/// Serves a receiver whose `/deadly` kills the process with this id before answering; `None`: it answers. While the
/// test holds the lock, it waits.
fn deadly() -> (String, Arc<Mutex<Option<u32>>>) {
    let victim = Arc::new(Mutex::new(None::<u32>));
    let pid = Arc::clone(&victim);
    let url = serve(move |came| {
        if came.target == "/deadly"
            && let Some(pid) = *pid.lock().expect("no thread panicked")
        {
            let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
            assert!(killed.is_ok(), "{killed:?}");
        }
        (200, vec![], Vec::new())
    });
    (url, victim)
}

#[test]
fn a_job_that_ends_the_process_each_time_is_set_aside_and_others_are_done() {
    let folder = Folder::new();
    let (data, log) = (folder.path("data"), folder.path("log"));
    let (hook, victim) = deadly();
    let began = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let pace = format!("{SPEED}@{began}");
    let start = || {
        let options = ["--rate-limit", "0", "--egress-allow", "127.0.0.0/8", "--engine-speed", "1000", "--pace", &pace];
        let file = File::options().create(true).append(true).open(&log).expect("a log");
        Server::start_logging(&data, &options, &[("SWITCHBOARD_LOG", "warn")], file)
    };
    let locked = || victim.lock().expect("no thread panicked");
    let mut held = locked();
    let mut server = start();
    let (key, token) = (server.text("api_key").to_owned(), server.text("admin_token").to_owned());
    let post = |server: &Server, path: &str, body: &Value| {
        let (status, json) = call("POST", &format!("{}{path}", server.text("url")), &key, Some(body));
        assert!((200..300).contains(&status), "{path} {status} {json}");
        json
    };
    let place = |server: &Server, path: &str| {
        let changes = json!({ "is_webhook_active": true, "webhook_url": format!("{hook}{path}"),
            "send_webhook_only_on_completed": false });
        let made = post(server, "/user/assistant", &with(assistant(), &changes));
        post(server, "/user/make_call", &json!({ "phone_number": "+40700000002", "assistant_id": made["data"]["id"] }))
    };
    place(&server, "/deadly");
    *held = Some(server.pid());
    drop(held);
    let aside = |server: &Server| -> Vec<Value> {
        let url = server.text("url").to_owned();
        let at = ["--url", &url, "--admin-token", &token, "--json"];
        let listed = run(&[&["jobs", "list", "--state", "set_aside"], &at[..]].concat());
        if listed.status.success() { serde_json::from_slice(&listed.stdout).expect("JSON") } else { Vec::new() }
    };
    let patience = Instant::now() + PATIENCE;
    let (mut deaths, mut other) = (0, None);
    let job = loop {
        assert!(Instant::now() < patience, "{deaths} deaths, and it is not set aside");
        if server.has_ended() {
            deaths += 1;
            let mut held = locked();
            server = start();
            if other.is_none() {
                other = Some(place(&server, "/good"));
            }
            *held = Some(server.pid());
        } else if let Some(job) = aside(&server).pop() {
            break job;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!((&job["kind"], &job["attempts"]), (&json!("deliver_webhook"), &json!(5)));
    assert!((2..=6).contains(&deaths), "{deaths} deaths");
    let told = std::fs::read_to_string(&log).expect("a log");
    assert!(told.lines().any(|line| line.contains("was set aside") && line.contains("deliver_webhook")), "{told}");
    let url = server.text("url").to_owned();
    let metrics = String::from_utf8(crate::server::send("GET", &format!("{url}/metrics"), &token, &[], "").2);
    let metrics = metrics.expect("text");
    assert!(metrics.contains("switchboard_jobs_set_aside{kind=\"deliver_webhook\"} 1"), "{metrics}");
    let delivered = || {
        let shown = call("GET", &format!("{url}/user/webhook-deliveries?status=delivered"), &key, None).1;
        shown["data"].as_array().map_or(0, Vec::len)
    };
    let wait = |count: usize| {
        while delivered() < count {
            assert!(Instant::now() < patience, "{} are delivered", delivered());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait(1);
    // The receiver works again, and the operator has the job retried.
    *locked() = None;
    let at = ["--url", &url, "--admin-token", &token, "--json"];
    let retried = run(&[&["jobs", "retry", &job["id"].to_string()], &at[..]].concat());
    assert!(retried.status.success(), "{}", String::from_utf8_lossy(&retried.stderr));
    wait(2);
    assert!(aside(&server).is_empty());
    assert_eq!(server.stop(), Some(0));
}
