//! A campaign of two hundred leads over every number of the simulated engine, with real sockets: it completes, every
//! webhook verifies, and kills along the way lose and double nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, HeaderName};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use switchboard_tests::house::{assistant, with};

use crate::outside::{Came, serve};
use crate::server::{Folder, Server, binary, call};

/// Leads of the campaign: each outcome of the engine occurs many times.
const LEADS: usize = 200;
/// Factor by which time is sped up: a retry after ten minutes comes after half a minute, and for as long a call may wait
/// for the engine.
const SPEED: u32 = 20;
/// Kills of the server while it calls.
const KILLS: usize = 10;
/// How long the campaign may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// Requests that the receiver got.
type Box = Arc<Mutex<Vec<Came>>>;

/// Serves a webhook receiver, a tool and a website, all in one.
fn outside() -> (String, Box) {
    let seen = Box::default();
    let log = Arc::clone(&seen);
    let url = serve(move |came| {
        let html = |text: &str| (200, vec![("content-type", "text/html".to_owned())], text.as_bytes().to_vec());
        match came.target.split('?').next().unwrap_or_default() {
            "/hook" => {
                log.lock().expect("a list").push(came);
                (200, vec![], b"thanks".to_vec())
            }
            "/tool" => (200, vec![("content-type", "application/json".to_owned())], br#"{"slot":"nine"}"#.to_vec()),
            "/site" => html("<p>The warranty lasts two years.</p><a href='/more'>more</a>"),
            "/more" => html("<p>Repairs take three days.</p>"),
            _ => (404, vec![], Vec::new()),
        }
    });
    (url, seen)
}

struct Desk<'d> {
    data: &'d Path,
    pace: String,
    url: String,
    key: String,
}

impl Desk<'_> {
    fn start(&self) -> Server {
        let pace = self.pace.clone();
        Server::start(
            self.data,
            &["--rate-limit", "0", "--egress-allow", "127.0.0.0/8", "--engine-speed", "1000", "--pace", &pace],
        )
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let (status, json) = call("POST", &format!("{}/api{path}", self.url), &self.key, Some(body));
        assert!((200..300).contains(&status), "{path} {status} {json}");
        json
    }

    fn get(&self, path: &str) -> Value {
        let (status, json) = call("GET", &format!("{}/api{path}", self.url), &self.key, None);
        assert_eq!(status, 200, "{path} {json}");
        json
    }

    /// Returns all rows of a paginated list.
    fn all(&self, path: &str) -> Vec<Value> {
        let (mut rows, mut page) = (Vec::new(), 1);
        loop {
            let mut envelope = self.get(&format!("{path}?per_page=100&page={page}"));
            rows.append(envelope["data"].as_array_mut().expect("a list"));
            if envelope["next_page_url"].is_null() {
                return rows;
            }
            page += 1;
        }
    }

    /// Creates everything that the campaign needs, and starts it.
    fn begin(&self, outside: &str) {
        let base = self.post("/user/knowledgebases", &json!({ "name": "Shop" }))["data"]["id"].clone();
        let site = json!({ "name": "Site", "type": "website", "url": format!("{outside}/site") });
        self.post(&format!("/user/knowledgebases/{base}/documents"), &site);
        let tool = json!({
            "name": "book", "description": "Books a time", "method": "POST", "endpoint": format!("{outside}/tool"),
            "schema": [{ "name": "day", "type": "string", "description": "The day" }],
        });
        let tool = self.post("/user/tools", &tool)["data"]["id"].clone();
        let changes = json!({
            "is_webhook_active": true, "webhook_url": format!("{outside}/hook"), "send_webhook_only_on_completed": false,
            "tool_ids": [tool], "knowledgebase_id": base, "max_duration": 120, "ringing_time": 20,
            "tools": [{ "type": "call_transfer", "phone_number": "+12025550100" }],
            "post_call_schema": [{ "name": "agreed", "type": "bool", "description": "Whether they agreed" }],
        });
        let assistant = self.post("/user/assistant", &with(assistant(), &changes))["data"]["id"].clone();
        let (status, _) = call(
            "PUT",
            &format!("{}/user/assistant/{assistant}", self.url),
            &self.key,
            Some(&json!({ "status": "active" })),
        );
        assert_eq!(status, 200);
        let campaign = json!({ "name": "All", "assistant_id": assistant, "max_calls_in_parallel": 10, "max_retries": 1, "retry_interval": 10 });
        self.post("/user/campaigns", &campaign);
        for at in 0..LEADS {
            let phone = format!("+407{:04}00{:02}", at / 12, at % 12 + 1);
            self.post("/user/lead", &json!({ "campaign_id": 1, "phone_number": phone }));
        }
        self.post("/user/campaigns/update-status", &json!({ "campaign_id": 1, "action": "start" }));
    }

    fn wait(&self, what: &str, done: impl Fn() -> bool) {
        let patience = Instant::now() + PATIENCE;
        while !done() {
            assert!(Instant::now() < patience, "{what}: {}", self.get("/user/campaigns"));
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    fn wait_until_complete(&self) {
        self.wait("the campaign completes", || self.get("/user/campaigns/1")["status"] == "completed");
        self.wait("calls end", || self.get("/user/calls?status=in-progress")["total"] == 0);
        self.wait("deliveries arrive", || self.get("/user/webhook-deliveries?status=pending")["total"] == 0);
    }

    /// Checks the final state of calls, leads and webhooks.
    fn judge(&self, seen: &Box) {
        let calls = self.all("/user/calls");
        let leads = self.all("/user/leads");
        assert_eq!(leads.len(), LEADS);
        assert!(
            leads
                .iter()
                .all(|lead| ["completed", "reached-max-retries"].contains(&lead["status"].as_str().expect("a status")))
        );
        self.judge_calls(&calls);
        let secret = self.get("/user/webhook-secrets")["secrets"][0]["secret"].as_str().expect("a secret").to_owned();
        let webhook = Webhook::new(&secret).expect("a secret of the published form");
        let mut told = BTreeSet::new();
        for came in seen.lock().expect("a list").iter() {
            let header = |name: &str| came.headers.iter().find(|(known, _)| known == name).expect(name).1.clone();
            let at: i64 = header("webhook-timestamp").parse().expect("a time");
            // The library's `verify` compares with the real clock, but time is sped up here: its `sign` must agree
            // instead.
            let signed = webhook.sign(&header("webhook-id"), at, &came.body).expect("a signature");
            assert_eq!(header("webhook-signature"), signed);
            let body: Value = serde_json::from_slice(&came.body).expect("JSON");
            told.insert(body["id"].as_u64().expect("an id"));
        }
        let ended: BTreeSet<u64> = calls.iter().filter_map(|call| call["id"].as_u64()).collect();
        assert_eq!(told, ended, "every call was told, and no other");
    }

    /// Checks that no lead was dialed twice: its calls follow each other, and are no more than its rounds.
    fn judge_calls(&self, calls: &[Value]) {
        let mut of: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
        for call in calls.iter().rev() {
            of.entry(call["lead_id"].as_u64().expect("a lead")).or_default().push(call);
        }
        assert_eq!(of.len(), LEADS);
        for (lead, calls) in of {
            let dialed: Vec<&&Value> = calls.iter().filter(|call| self.was_dialed(call)).collect();
            assert!(dialed.len() <= 2, "lead {lead} was dialed {} times", dialed.len());
            for pair in calls.windows(2) {
                let ended = |call: &Value| {
                    !["initiated", "ringing", "in-progress"].contains(&call["status"].as_str().expect("a status"))
                };
                assert!(ended(pair[0]) && pair[0]["created_at"].as_str() <= pair[1]["created_at"].as_str());
            }
        }
    }

    /// A call whose engine was killed before it dialed goes to another: it is claimed again, and dialed once.
    fn was_dialed(&self, call: &Value) -> bool {
        let events = self.get(&format!("/user/calls/{}/events", call["id"]));
        let events = events["data"].as_array().expect("a list");
        let dialed = events.iter().filter(|event| event["type"] == "dialing").count();
        assert!(dialed <= 1, "a call is dialed once: {events:?}");
        dialed == 1
    }
}

fn desk(data: &Path) -> Desk<'_> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
    Desk { data, pace: format!("{SPEED}@{now}"), url: String::new(), key: String::new() }
}

#[test]
fn a_campaign_over_every_number_completes_and_every_webhook_verifies() {
    let folder = Folder::new();
    let data = folder.path("data");
    let (url, seen) = outside();
    let mut desk = desk(&data);
    let server = desk.start();
    (desk.url, desk.key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    desk.begin(&url);
    desk.wait_until_complete();
    desk.judge(&seen);
    let calls = desk.all("/user/calls");
    assert!(calls.iter().all(|call| call["ended_reason"].is_string()), "each says why it ended");
    for status in ["completed", "busy", "no-answer", "failed"] {
        assert!(calls.iter().any(|call| call["status"] == status), "no call is {status}");
    }
    assert!(
        calls.iter().any(|call| call["answered_by"] == "machine")
            && calls.iter().any(|call| call["evaluation"].is_object())
    );
    let found = desk.post("/user/knowledgebases/1/search", &json!({ "query": "how long do repairs take" }));
    assert_eq!(found["data"][0]["text"], "Repairs take three days.");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn kills_in_the_middle_lose_no_webhook_and_dial_nobody_twice() {
    let folder = Folder::new();
    let data = folder.path("data");
    let (url, seen) = outside();
    let mut desk = desk(&data);
    let mut server = desk.start();
    (desk.url, desk.key) = (server.text("url").to_owned(), server.text("api_key").to_owned());
    desk.begin(&url);
    for kill in 0..KILLS {
        std::thread::sleep(Duration::from_millis(700 + 130 * kill as u64));
        server.kill();
        server = desk.start();
        server.text("url").clone_into(&mut desk.url);
    }
    desk.wait_until_complete();
    desk.judge(&seen);
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_placed_call_is_heard_by_listen_and_by_a_receiver_that_verifies_it() {
    let folder = Folder::new();
    let data = folder.path("data");
    let (url, seen) = outside();
    let server = Server::start(&data, &["--egress-allow", "127.0.0.0/8", "--engine-speed", "500"]);
    let desk = Desk {
        data: &data,
        pace: String::new(),
        url: server.text("url").to_owned(),
        key: server.text("api_key").to_owned(),
    };
    let listening = Command::new(binary())
        .args(["listen", "--json", "--count", "1", "--after", "0", "--url", &desk.url, "--key", &desk.key])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let hook = json!({ "is_webhook_active": true, "webhook_url": format!("{url}/hook") });
    let assistant = desk.post("/user/assistant", &with(assistant(), &hook))["data"]["id"].clone();
    let placed = desk.post("/user/make_call", &json!({ "assistant_id": assistant, "phone_number": "+40700000001" }));
    let path = format!("/user/calls/{}", placed["call_id"]);
    desk.wait("the call completes", || desk.get(&path)["status"] == "completed");
    desk.wait("the webhook arrives", || desk.get(&path)["webhook_response"]["status"] == 200);
    let came = seen.lock().expect("a list")[0].clone();
    let mut headers = HeaderMap::new();
    for (name, value) in &came.headers {
        headers.insert(name.parse::<HeaderName>().expect("a name"), value.parse().expect("a value"));
    }
    let secret = desk.get("/user/webhook-secrets")["secrets"][0]["secret"].as_str().expect("a secret").to_owned();
    let webhook = Webhook::new(&secret).expect("a secret of the published form");
    webhook.verify(&came.body, &headers).expect("a valid signature");
    let mut torn = came.body.clone();
    torn[5] ^= 1;
    assert!(webhook.verify(&torn, &headers).is_err());
    let heard = listening.wait_with_output().expect("it ends after one event");
    let event: Value = serde_json::from_slice(&heard.stdout).expect("JSON");
    let told: Value = serde_json::from_slice(&came.body).expect("JSON");
    assert_eq!((&event["payload"], &event["seq"]), (&told, &json!(1)));
    assert_eq!(server.stop(), Some(0));
}
