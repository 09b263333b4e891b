//! A campaign from a spreadsheet to a spreadsheet: 500 leads of a file with semicolons are imported, called by the
//! simulated engine, and listed as CSV, each line of which says what became of its lead.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};
use switchboard_tests::server::{Folder, Server, call, send};
use switchboard_tests::sheet;

/// Leads of the file.
const LEADS: usize = 500;
/// Plots of the simulated engine by the last four digits of a number, with the state that their calls end in and how
/// often the campaign calls.
const PLOTS: [(usize, &str, usize); 5] =
    [(1, "completed", 1), (2, "busy", 2), (3, "no-answer", 2), (6, "failed", 2), (12, "completed", 1)];
/// Factor by which time is sped up: a call may wait half a minute for the engine.
const SPEED: u32 = 20;
/// How long imports and calls may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(5);

/// Returns the number of a lead as Romanians write it, and as it is stored.
fn number(lead: usize) -> (String, String) {
    let (area, plot) = (lead / PLOTS.len(), PLOTS[lead % PLOTS.len()].0);
    (format!("074 {area:03} 00{plot:02}"), format!("+4074{area:03}00{plot:02}"))
}

/// Returns the file as a spreadsheet writes it: the second record has a bad number, the third the number of the first.
fn file() -> String {
    let header = "Nume;Telefon;\u{ce}ntrebari".to_owned();
    let record = |lead: usize| {
        let (written, _) = number(lead);
        let own = format!("\r\nM\u{fc}ller {lead};{written};\"una; \"\"dou\u{e2}\"\"\r\ntrei\"");
        let wrong = format!("\r\nNimeni;12345;\r\nIar;{written};");
        if lead == 0 { own + &wrong } else { own }
    };
    std::iter::once(header).chain((0..LEADS).map(record)).collect()
}

/// Returns a text as a program of the Windows of before writes it.
fn latin_1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).expect("a letter of Latin-1")).collect()
}

struct Desk {
    url: String,
    key: String,
}

impl Desk {
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, json) = call(method, &format!("{}/api{path}", self.url), &self.key, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {json}");
        json
    }

    /// Sends a file to be imported, or only looked at.
    fn import(&self, query: &str, file: &[u8]) -> Value {
        let url = format!("{}/api/user/leads/import?campaign_id=1&default_country=RO{query}", self.url);
        let (status, _, bytes) = send("POST", &url, &self.key, &[("content-type", "text/csv")], file);
        let json: Value = serde_json::from_slice(&bytes).expect("JSON");
        assert!(status == 200 || status == 202, "{status} {json}");
        json
    }

    /// Returns a list as CSV with semicolons, a line as the map from column to cell.
    fn sheet(&self, path: &str) -> Vec<BTreeMap<String, String>> {
        let url = format!("{}/api{path}", self.url);
        let (status, _, bytes) = send("GET", &url, &self.key, &[("accept", "text/csv")], "");
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
        let mut rows = sheet::rows(&bytes, b';').into_iter();
        let names = rows.next().expect("a header");
        rows.map(|row| names.iter().cloned().zip(row).collect()).collect()
    }

    /// Asks for a resource until its status is `completed`, and returns it; `at` is where in the answer it stands.
    fn wait(&self, path: &str, at: &str) -> Value {
        let patience = Instant::now() + PATIENCE;
        loop {
            let mut answer = self.ask("GET", path, None);
            let shown = answer.pointer_mut(at).expect("a resource").take();
            if shown["status"] == "completed" {
                return shown;
            }
            assert!(Instant::now() < patience, "{path} does not come to its end: {shown}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

/// Starts a service, with an assistant and a campaign of many lines that calls twice whom it does not reach.
fn desk(folder: &Folder) -> (Server, Desk) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
    let pace = format!("{SPEED}@{now}");
    let server = Server::start(&folder.path("data"), &["--rate-limit", "0", "--engine-speed", "2000", "--pace", &pace]);
    let desk = Desk { url: server.text("url").to_owned(), key: server.text("api_key").to_owned() };
    let schema = json!([{ "name": "agreed", "type": "bool", "description": "Whether they agreed" }]);
    let body = with(assistant(), &json!({ "ringing_time": 20, "post_call_schema": schema }));
    let id = desk.ask("POST", "/user/assistant", Some(&body))["data"]["id"].clone();
    let body = json!({ "name": "Spring", "assistant_id": id, "max_calls_in_parallel": 100, "max_retries": 1, "retry_interval": 10 });
    desk.ask("POST", "/user/campaigns", Some(&body));
    (server, desk)
}

#[test]
fn five_hundred_leads_of_a_spreadsheet_are_called_and_listed_with_their_results() {
    let folder = Folder::new();
    let (server, desk) = desk(&folder);
    let text = file();
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let named = "&mapping=Telefon:phone_number";
    // Both forms of the file are seen to be the same before anything is stored.
    let looks = [marked, latin_1(&text)].map(|file| (desk.import(&format!("{named}&dry_run=1"), &file), file));
    let encodings = looks.each_ref().map(|(look, _)| look["data"]["encoding"].clone());
    assert_eq!(encodings, [json!("utf-8"), json!("latin-1")]);
    for (look, _) in &looks {
        let data = &look["data"];
        assert_eq!((&data["columns"][1], &data["separator"]), (&json!("phone_number"), &json!(";")), "{data}");
        assert_eq!(data["rows"][0], json!(["M\u{fc}ller 0", number(0).0, "una; \"dou\u{e2}\"\r\ntrei"]));
        let wrong: Vec<&Value> = data["errors"].as_array().expect("errors").iter().map(|one| &one["line"]).collect();
        assert_eq!(wrong, [4], "a record of two lines stands before it");
    }
    assert_eq!(desk.ask("GET", "/user/leads", None)["total"], 0);

    let begun = desk.import(named, &looks[1].1);
    let done = desk.wait(&format!("/user/leads/imports/{}", begun["data"]["id"]), "/data");
    let counts = ["processed", "created", "duplicates", "rejected"].map(|name| done[name].as_u64());
    assert_eq!(counts, [LEADS as u64 + 2, LEADS as u64, 1, 1].map(Some), "{done}");

    desk.ask("POST", "/user/campaigns/update-status", Some(&json!({ "campaign_id": 1, "action": "start" })));
    desk.wait("/user/campaigns/1", "");
    let progress = desk.ask("GET", "/user/campaigns/1/progress", None)["data"].clone();

    // Each line of the two sheets says what happened to the number of its lead.
    let leads = desk.sheet("/user/leads?campaign_id=1&separator=;");
    let calls = desk.sheet("/user/calls?separator=;");
    let mut of_number: BTreeMap<&str, Vec<&BTreeMap<String, String>>> = BTreeMap::new();
    calls.iter().for_each(|call| of_number.entry(&call["client_phone_number"]).or_default().push(call));
    assert_eq!((leads.len(), of_number.len()), (LEADS, LEADS));
    for (at, lead) in leads.iter().rev().enumerate() {
        let (_, state, times) = PLOTS[at % PLOTS.len()];
        let stored = format!("'{}", number(at).1);
        assert_eq!(lead["phone_number"], stored, "leads are listed from the last to the first");
        let variables: Value = serde_json::from_str(&lead["variables"]).expect("JSON");
        let want = json!({ "Nume": format!("M\u{fc}ller {at}"), "\u{ce}ntrebari": "una; \"dou\u{e2}\"\r\ntrei" });
        assert_eq!(variables, want);
        let of_lead = &of_number[&*stored];
        assert_eq!(of_lead.len(), times, "{of_lead:?}");
        for call in of_lead {
            assert_eq!((&*call["status"], &*call["campaign_name"]), (state, "Spring"), "{call:?}");
            assert!(!call["ended_reason"].is_empty() && call["lead_id"] == lead["id"], "{call:?}");
        }
        assert_eq!(lead["status"], if times == 1 { "completed" } else { "reached-max-retries" });
    }
    let reached = LEADS / PLOTS.len() * 2;
    let told = ["total", "completed", "reached_max_retries"].map(|name| progress["leads"][name].as_u64());
    assert_eq!(told, [LEADS, reached, LEADS - reached].map(|count| Some(count as u64)), "{progress}");
    let told = ["placed", "answered", "running"].map(|name| progress["calls"][name].as_u64());
    assert_eq!(told, [calls.len(), reached, 0].map(|count| Some(count as u64)), "{progress}");
    assert_eq!(server.stop(), Some(0));
}
