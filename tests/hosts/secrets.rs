//! Secrets stay where they belong: markers are planted in everything that must be known in clear, and every byte
//! that leaves, and every byte on the disk, is searched for them.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::http::route::Who;
use switchboard_core::http::routes::ROUTES;
use switchboard_tests::house::{assistant, tool, trunk, with};

use crate::outside::{Came, serve};
use crate::server::{Folder, Server, run, send};

const HEADER: &str = "marker-of-a-tool-header-0001";
const CALENDAR: &str = "marker-of-a-calendar-key-0002";
const TRUNK: &str = "marker-of-a-sip-password-0003";
const LOGIN: &str = "marker-of-a-login-password-0004";
const MODEL: &str = "marker-of-a-model-key-0005";
const STORE: &str = "marker-of-a-store-token-0006-0123456789";
const CARRIER: &str = "marker-of-a-carrier-token-0007";
/// The carrier's token in Base64, as it is sent behind its account (RFC 7617).
const CARRIER_SENT: &str = "bWFya2VyLW9mLWEtY2Fycmllci10b2tlbi0wMDA3";

/// What was said: request, status, head and body of the answer.
struct Said {
    what: String,
    status: u16,
    text: String,
}

/// A client that keeps every answer.
struct Client {
    url: String,
    said: Vec<Said>,
}

impl Client {
    fn send(&mut self, method: &str, path: &str, token: &str, headers: &[(&str, &str)], body: &str) -> (u16, Value) {
        let (status, head, bytes) = send(method, &format!("{}{path}", self.url), token, headers, body);
        let text = format!("{head}\n{}", String::from_utf8_lossy(&bytes));
        self.said.push(Said { what: format!("{method} {path}"), status, text });
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }

    fn make(&mut self, path: &str, key: &str, body: &Value) -> Value {
        let (status, json) = self.send("POST", path, key, &[], &body.to_string());
        assert!((200..300).contains(&status), "{path} {status} {json}");
        json
    }

    /// Answers that show a marker although they are not among those that may.
    fn shows(&self, marker: &str, allowed: impl Fn(&str) -> bool) -> Vec<&str> {
        let shown = self.said.iter().filter(|said| said.text.contains(marker));
        shown.map(|said| said.what.as_str()).filter(|what| !allowed(what)).collect()
    }
}

/// Everything of a folder, its files one behind the other.
fn bytes_of(folder: &Path) -> Vec<u8> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    entries.flat_map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a file")).collect()
}

fn holds(bytes: &[u8], marker: &str) -> bool {
    bytes.windows(marker.len()).any(|window| window == marker.as_bytes())
}

/// The tool, the calendar and the trunk of an account; gives the ids of tool and assistant.
fn plant(client: &mut Client, key: &str, endpoint: &str) -> (u64, u64) {
    let headers = json!({ "endpoint": endpoint, "method": "POST", "headers": [{ "name": "x-key", "value": HEADER }] });
    let body = with(tool("probe"), &headers).to_string();
    // With a key, so that the answer is kept.
    let once = [("idempotency-key", "plant")];
    let (status, made) = client.send("POST", "/user/tools", key, &once, &body);
    assert_eq!(status, 201, "{made}");
    assert_eq!(client.send("POST", "/user/tools", key, &once, &body).0, 201, "the kept answer");
    let tool_id = made["data"]["id"].as_u64().expect("an id");
    let calendar =
        json!([{ "type": "calendar_integration", "calendar_api_key": CALENDAR, "calendar_event_slug": "x" }]);
    let made = client.make(
        "/user/assistant",
        key,
        &with(assistant(), &json!({ "tools": calendar, "tool_ids": [tool_id], "post_call_evaluation": true })),
    );
    client.make("/user/phone-numbers/sip-trunks", key, &with(trunk("+40712345678"), &json!({ "sip_password": TRUNK })));
    (tool_id, made["data"]["id"].as_u64().expect("an id"))
}

/// Every read that there is, every kind of refusal, and a call with its tools.
fn walk(client: &mut Client, key: &str, operator: &str, (tool_id, assistant_id): (u64, u64)) {
    let call =
        client.make("/user/make_call", key, &json!({ "phone_number": "+15550100001", "assistant_id": assistant_id }));
    for route in ROUTES.iter().filter(|route| route.method == Method::Get && route.who != Who::Engine) {
        let token = if route.who == Who::Operator { operator } else { key };
        for path in route.paths {
            let id = match route.id {
                "getTool" => tool_id,
                "getAssistant" => assistant_id,
                "getCall" | "listCallEvents" => call["data"]["id"].as_u64().or(call["id"].as_u64()).unwrap_or(1),
                _ => 1,
            };
            client.send("GET", &path.replace("{id}", &id.to_string()).replace("{file}", "x"), token, &[], "");
        }
    }
    client.make(&format!("/user/tools/{tool_id}/test"), key, &json!({}));
    let (own, other) = (format!("/user/tools/{tool_id}"), format!("/user/assistant/{assistant_id}"));
    for (method, path, body) in [
        ("POST", "/user/tools", json!({ "headers": [{ "name": "bad name", "value": HEADER }] }).to_string()),
        ("POST", "/user/tools", format!("{{\"headers\": \"{HEADER}\", \"name\": {HEADER}}}")),
        ("POST", "/user/tools", json!({ "name": HEADER.repeat(9), HEADER: 1 }).to_string()),
        ("PUT", own.as_str(), json!({ "headers": [{ "name": "x", "value": format!("{HEADER}\n") }] }).to_string()),
        (
            "PUT",
            other.as_str(),
            json!({ "tools": [{ "type": "calendar_integration", "calendar_api_key": CALENDAR }] }).to_string(),
        ),
        ("PUT", other.as_str(), json!({ "tools": [{ "type": CALENDAR, "calendar_api_key": [CALENDAR] }] }).to_string()),
        ("POST", "/user/phone-numbers/sip-trunks", json!({ "sip_password": [TRUNK] }).to_string()),
        (
            "POST",
            "/user/phone-numbers/sip-trunks",
            json!({ "sip_password": TRUNK.repeat(20), TRUNK: TRUNK }).to_string(),
        ),
        ("POST", "/user/login", json!({ "email": "a@b.example", "password": LOGIN }).to_string()),
        ("POST", "/user/login", json!({ "email": LOGIN, "password": [LOGIN] }).to_string()),
        ("POST", "/user/login", format!("{{\"password\": {LOGIN}")),
    ] {
        let (status, json) = client.send(method, path, key, &[], &body);
        assert!((400..500).contains(&status), "{method} {path} {status} {json}");
    }
    assert_eq!(client.send("PUT", &other, key, &[], r#"{"name":"Bea"}"#).0, 200, "a calendar key stays as it was");
}

/// An engine brings a call in which the calendar is asked.
fn ask_calendar(client: &mut Client, operator: &str, assistant_id: u64) {
    let made = client.make("/admin/engine-tokens", operator, &json!({ "name": "engine" }));
    let token = made["token"].as_str().expect("a token").to_owned();
    let web = json!({ "type": "web", "assistant_id": assistant_id });
    let call = client.make("/engine/calls", &token, &web);
    let path = format!("/engine/calls/{}/tools/calendar_slots", call["call"]["id"]);
    let days = json!({ "arguments": { "start_date": "2026-09-22", "end_date": "2026-09-23" } });
    assert_eq!(client.make(&path, &token, &days)["status"], 500, "what the calendar says is passed on");
}

#[test]
fn planted_markers_leave_only_where_they_must() {
    let folder = Folder::new();
    let (data, log) = (folder.path("data"), folder.path("log"));
    let seen = Arc::<Mutex<Vec<(&str, Came)>>>::default();
    let [endpoint, model, calendar, carrier] = [HEADER, MODEL, CALENDAR, CARRIER_SENT].map(|secret| {
        let came = Arc::clone(&seen);
        serve(move |request| {
            came.lock().expect("a list").push((secret, request));
            (500, vec![], b"no".to_vec())
        })
    });
    let sealing = String::from_utf8(run(&["seal-key"]).stdout).expect("text");
    let environment = [
        ("SWITCHBOARD_SEAL_KEYS", sealing.trim()),
        ("SWITCHBOARD_LOG", "trace"),
        ("SWITCHBOARD_LLM_URL", model.as_str()),
        ("SWITCHBOARD_LLM_MODEL", "m"),
        ("SWITCHBOARD_LLM_KEY", MODEL),
        ("SWITCHBOARD_STORE_TOKEN", STORE),
        ("SWITCHBOARD_CARRIER", "twilio"),
        ("SWITCHBOARD_TWILIO_ACCOUNT_SID", "AC"),
        ("SWITCHBOARD_TWILIO_AUTH_TOKEN", CARRIER),
        ("SWITCHBOARD_TWILIO_BASE_URL", carrier.as_str()),
    ];
    let arguments = ["--egress-allow", "127.0.0.0/8", "--engine-speed", "1000", "--calendar-url", &calendar];
    let server = Server::start_logging(&data, &arguments, &environment, File::create(&log).expect("a log"));
    let (key, operator) = (server.text("api_key").to_owned(), server.text("admin_token").to_owned());
    let mut client = Client { url: server.text("url").to_owned(), said: Vec::new() };
    let ids = plant(&mut client, &key, &endpoint);
    walk(&mut client, &key, &operator, ids);
    let password = server.text("password").to_owned();
    let login = client.make("/user/login", "", &json!({ "email": server.text("email"), "password": password }));
    let session = login["auth_token"].as_str().or(login["token"].as_str()).expect("a session").to_owned();
    let made = client.make("/user/api-keys", &key, &json!({ "name": "second" }));
    let second = made["api_key"]["token"].as_str().expect("a token").to_owned();
    let secrets = client.make("/user/webhook-secrets/rotate", &key, &json!({}));
    let signing = secrets["secrets"][0]["secret"].as_str().expect("a secret").to_owned();
    walk(&mut client, &session, &operator, ids);
    ask_calendar(&mut client, &operator, ids.1);
    // What is kept of a deleted assistant holds its secrets as well.
    assert_eq!(client.send("DELETE", &format!("/user/assistant/{}", ids.1), &key, &[], "").0, 200);
    let file = folder.path("backup");
    let file = file.to_str().expect("a path");
    let backup = run(&["backup", file, "--url", &client.url, "--admin-token", &operator]);
    assert!(backup.status.success(), "{}", String::from_utf8_lossy(&backup.stderr));
    assert_eq!(server.stop(), Some(0));

    // In answers: a tool's headers in that tool's own, a token in the one that makes it.
    assert_eq!(client.shows(HEADER, |what| what.contains("/user/tools")), [""; 0]);
    assert!(client.said.iter().any(|said| said.status == 200 && said.text.contains(HEADER)), "the search finds");
    let refusals = client.said.iter().filter(|said| said.status >= 400);
    let told: Vec<&str> = refusals.filter(|said| said.text.contains("marker-of")).map(|said| &*said.what).collect();
    assert_eq!(told, [""; 0], "a refusal shows no value");
    for marker in [CALENDAR, TRUNK, LOGIN, MODEL, STORE, CARRIER, CARRIER_SENT, &key, &operator, &password] {
        assert_eq!(client.shows(marker, |_| false), [""; 0], "{marker}");
    }
    assert_eq!(client.shows(&session, |what| what == "POST /user/login"), [""; 0]);
    assert_eq!(client.shows(&second, |what| what == "POST /user/api-keys"), [""; 0]);
    assert_eq!(client.shows(&signing, |what| what.contains("/user/webhook-secrets")), [""; 0]);

    // In requests to the outside: the header to its endpoint, each key to the service that it is for.
    let seen = seen.lock().expect("a list");
    for (own, came) in seen.iter() {
        let text = format!("{} {:?} {}", came.target, came.headers, String::from_utf8_lossy(&came.body));
        let secrets = [HEADER, CALENDAR, MODEL, CARRIER_SENT].into_iter().filter(|secret| secret != own);
        let others = [CARRIER, TRUNK, LOGIN, STORE, &key, &operator, &session, &second, &signing, &password];
        for marker in secrets.chain(others) {
            assert!(!text.contains(marker), "{marker} in {text}");
        }
    }
    let got =
        |secret: &str| seen.iter().any(|(own, came)| *own == secret && format!("{:?}", came.headers).contains(secret));
    assert_eq!([HEADER, MODEL, CALENDAR, CARRIER_SENT].map(got), [true; 4], "each comes to where it belongs");

    // Nowhere else: not in the log, however much it says, nor on the disk.
    let (logged, stored, backup) =
        (std::fs::read(&log).expect("a log"), bytes_of(&data), std::fs::read(file).expect("a backup"));
    assert!(holds(&logged, "DEBUG") || holds(&logged, "TRACE"), "the log says much");
    assert!(holds(&stored, "probe") || holds(&stored, "Anna") || stored.len() > 10_000, "there is a store");
    let planted = [HEADER, CALENDAR, TRUNK, LOGIN, MODEL, STORE, CARRIER, CARRIER_SENT];
    for marker in planted.into_iter().chain([&*key, &*operator, &*session, &*second, &*signing, &*password]) {
        for (what, bytes) in [("log", &logged), ("store", &stored), ("backup", &backup)] {
            assert!(!holds(bytes, marker), "{marker} is in the {what}");
        }
    }
}

#[test]
fn secrets_are_sealed_and_sealed_anew_when_the_key_changes() {
    let folder = Folder::new();
    let data = folder.path("data");
    let new_key = || String::from_utf8(run(&["seal-key"]).stdout).expect("text").trim().to_owned();
    let (first, second) = (new_key(), new_key());
    let keys = folder.path("keys");
    let start =
        |keys: &Path| Server::start(&data, &["--engine", "none", "--seal-key-file", keys.to_str().expect("a path")]);
    let verify = |arguments: &[&str]| run(&[&["verify", data.to_str().expect("a path")], arguments].concat());

    // A store that began in clear.
    let server = Server::start(&data, &["--engine", "none"]);
    let (key, operator) = (server.text("api_key").to_owned(), server.text("admin_token").to_owned());
    let mut client = Client { url: server.text("url").to_owned(), said: Vec::new() };
    let (tool_id, _) = plant(&mut client, &key, "https://tools.example/x");
    let path = format!("/user/tools/{tool_id}");
    assert_eq!(server.stop(), Some(0));
    assert!(holds(&bytes_of(&data), HEADER), "without a key it stands there in clear");
    let shows = |server: &Server| {
        let mut client = Client { url: server.text("url").to_owned(), said: Vec::new() };
        let (status, json) = client.send("GET", &path, &key, &[], "");
        assert_eq!((status, &json["headers"][0]["value"]), (200, &json!(HEADER)));
    };

    // Sealed, and then with another key.
    for text in [first.clone(), format!("{second}\n{first}\n"), second.clone()] {
        std::fs::write(&keys, text).expect("a key file");
        let server = start(&keys);
        shows(&server);
        assert_eq!(server.stop(), Some(0));
        assert!(verify(&["--seal-key-file", keys.to_str().expect("a path")]).status.success());
    }

    // Without its key it does not start, and says why.
    std::fs::write(&keys, &first).expect("a key file");
    for arguments in [vec![], vec!["--seal-key-file", keys.to_str().expect("a path")]] {
        let refused = verify(&arguments);
        assert!(!refused.status.success());
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("sealed with key") && said.contains("not given"), "{said}");
        let whole = [&["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().expect("a path")], &arguments[..]];
        let refused = run(&whole.concat());
        assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("not given"));
    }

    // A backup keeps the seal: its copy holds nothing in clear, and needs the key.
    std::fs::write(&keys, &second).expect("a key file");
    let server = start(&keys);
    let (file, copy) = (folder.path("backup"), folder.path("copy"));
    let (file, copy) = (file.to_str().expect("a path"), copy.to_str().expect("a path"));
    assert!(run(&["backup", file, "--url", server.text("url"), "--admin-token", &operator]).status.success());
    assert_eq!(server.stop(), Some(0));
    assert!(run(&["restore", file, copy]).status.success());
    assert!(!holds(&bytes_of(Path::new(copy)), HEADER));
    assert!(!run(&["verify", copy]).status.success(), "the copy needs the key");
    assert!(run(&["verify", copy, "--seal-key-file", keys.to_str().expect("a path")]).status.success());
    let server =
        Server::start(Path::new(copy), &["--engine", "none", "--seal-key-file", keys.to_str().expect("a path")]);
    shows(&server);
}
