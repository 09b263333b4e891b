//! Stores that earlier releases wrote open, and answer as they did.
//!
//! `golden/NAME.zip` holds a store: one of each kind of row, or many rows, so that sets of every form occur; its log, if
//! there was one, with some of the rows in it alone, as after a crash; and `said.json`, its answers to every read at one
//! moment. A change of a stored form adds a pair and keeps the others:
//! `SWITCHBOARD_GOLDEN=NAME cargo test -p switchboard-tests --test hosts golden` writes `NAME.zip` and
//! `NAME-many.zip`.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard::seal::Seal;
use switchboard::store::Store;
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::http::route::{ReplyForm, Who};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::service::routes::ROUTES;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::verify;
use switchboard_core::view::Scene;
use switchboard_tests::house::{House, assistant, campaign, with};
use switchboard_tests::places::Places;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::server::Folder;

const STORE: &str = "switchboard.redb";
const LOG: &str = "switchboard.wal";
/// Rows of a commit: of so few that all of them together fit into the log.
const COMMIT: usize = 500;
/// Commits that are in the store's own file.
const KEPT: usize = 1;
const SAID: &str = "said.json";
/// Seal key of the stores.
const KEY: &str = "Z29sZGVuIGdvbGRlbiBnb2xkZW4gZ29sZGVuIGdvbGQ=";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/golden")
}

fn open(data: &Path) -> Store {
    let seal = Seal::parse(KEY).expect("a key");
    Store::open(data).expect("it opens").sealed(seal).expect("it has this key").0
}

/// Returns a store's answer to each read: path, then status and body.
fn say(store: &Store, key: &str, now: Timestamp, paths: impl Iterator<Item = String>) -> BTreeMap<String, String> {
    let config = Config { public_url: Some("https://golden.example".into()), ..Config::default() };
    let (service, snapshot) = (Service::new(config), store.whole().expect("a snapshot"));
    let view = snapshot.view(None);
    let scene = Scene { now, seed: Seed::new([7; 32]), view: &view, careful: false };
    let say = |path: String| {
        let headers = vec![("authorization", format!("Bearer {key}").into_bytes())];
        let request = Request {
            method: Method::Get,
            target: path.clone(),
            headers,
            body: Body::None,
            peer: None,
            door: Door::Main,
        };
        let output = service.step(&Input::Http(&request, &[]), &scene).expect("a step");
        let Outcome::Reply(Reply { status, content: Content::Json(body), .. }) = output.outcome else {
            panic!("{path} is answered in JSON")
        };
        (path, format!("{status} {}", String::from_utf8(body).expect("text")))
    };
    paths.map(say).collect()
}

/// Writes a store with one of each kind of row, and its answers.
fn write_each(name: &str) {
    let mut house = House::default();
    let key = house.key.clone();
    let places = Places::of(&mut house, &key);
    house.tick();
    let of_the_host = |shape: &ReplyForm| matches!(shape, ReplyForm::Media(_));
    let reads = ROUTES
        .iter()
        .filter(|route| route.method == Method::Get && route.who == Who::User && !of_the_host(&route.shape))
        // It is answered by the carrier, not the store.
        .filter(|route| route.id != "searchNumbers");
    let paths = reads.flat_map(|route| route.paths).map(|path| places.path(path)).collect();
    write(name, &house, paths);
}

/// Writes leads of two campaigns, one with most of them and one with a few in between: sets of less than one chunk and
/// of two, dense and sparse.
fn write_many(name: &str) {
    let mut house = House::default();
    let assistant = house.make("/user/assistant", &assistant());
    let [most, few] =
        ["Most", "Few"].map(|name| house.make("/user/campaigns", &with(campaign(assistant), &json!({ "name": name }))));
    let mut number = 40_700_000_000_u64;
    for (campaign, count) in [(most, 4_500), (few, 90), (most, 4_500), (few, 60)] {
        let numbers = number..number + count;
        number = numbers.end;
        let file = numbers.fold("phone_number\n".to_owned(), |file, number| file + &format!("+{number}\n"));
        let target = format!("/user/leads/import?campaign_id={campaign}");
        let call = house.call(Method::Post, &target).header("content-type", "text/csv");
        call.body(file.into_bytes()).send().expect(202);
        house.tick();
    }
    let pages = [("", 91), (&format!("&campaign_id={most}"), 90), (&format!("&campaign_id={few}&status=created"), 2)];
    let last = pages.iter().flat_map(|(filter, last)| [1, 2, *last].map(|page| (filter, page)));
    let paths = last.map(|(filter, page)| format!("/user/leads?per_page=100&page={page}{filter}")).collect();
    write(name, &house, paths);
}

fn write(name: &str, house: &House, paths: Vec<String>) {
    let scratch = Folder::new();
    let store = open(&scratch.0);
    let rows = house.store.rows().iter().map(|(key, value)| Change::Put(key.clone(), value.clone()));
    let rows: Vec<_> = rows.collect();
    for (number, commit) in rows.chunks(COMMIT).enumerate() {
        if number == KEPT {
            store.rest().expect("a checkpoint");
        }
        store.commit(commit).expect("a commit");
    }
    let replies = say(&store, &house.key, house.now, paths.into_iter());
    // As a crash leaves them.
    let files = [STORE, LOG].map(|name| (name, std::fs::read(scratch.path(name)).expect("a file")));
    drop(store);
    let said = json!({ "key": house.key, "now": house.now.micros(), "said": replies });
    std::fs::create_dir_all(folder()).expect("a folder");
    let mut zip = ZipWriter::new(File::create(folder().join(format!("{name}.zip"))).expect("a file"));
    let said = (SAID, serde_json::to_vec_pretty(&said).expect("JSON"));
    for (name, bytes) in files.into_iter().chain([said]) {
        zip.start_file(name, SimpleFileOptions::default()).expect("an entry");
        zip.write_all(&bytes).expect("an entry");
    }
    zip.finish().expect("an archive");
}

/// Checks that a lead can be added, and that nothing else changes.
fn goes_on(store: &Store, key: &str, now: Timestamp) {
    let leads = || {
        let said = say(store, key, now, ["/user/leads?per_page=1".into()].into_iter());
        let page: Value =
            serde_json::from_str(said.values().next().expect("one").trim_start_matches("200 ")).expect("JSON");
        (page["total"].as_u64().expect("a number"), page["data"][0]["campaign_id"].clone())
    };
    let (before, campaign) = leads();
    let body = json!({ "phone_number": "+40799999999", "campaign_id": campaign }).to_string();
    let headers = vec![("authorization", format!("Bearer {key}").into_bytes())];
    let (target, body) = ("/user/leads".into(), Body::Full(body.into_bytes()));
    let request = Request { method: Method::Post, target, headers, body, peer: None, door: Door::Main };
    let changes = {
        let snapshot = store.whole().expect("a snapshot");
        let scene = Scene { now, seed: Seed::new([8; 32]), view: &snapshot.view(None), careful: false };
        let output = Service::new(Config::default()).step(&Input::Http(&request, &[]), &scene).expect("a step");
        assert!(matches!(output.outcome, Outcome::Reply(Reply { status: 200, .. })), "{:?}", output.outcome);
        output.changes
    };
    store.commit(&changes).expect("a commit");
    assert_eq!(leads().0, before + 1);
    sound(store);
}

/// Verifies a store and returns its number of rows.
fn sound(store: &Store) -> u64 {
    let report = verify::verify(&store.whole().expect("a snapshot").view(None)).expect("it can be read");
    assert_eq!(report.faults, [""; 0]);
    report.rows
}

fn body(reply: &str) -> Value {
    let mut body: Value = serde_json::from_str(reply.trim_start_matches("200 ")).expect("JSON");
    // Who is attached stands in no store: a host that starts hears of its engines again.
    if let Some(reasons) = body.pointer_mut("/data/reasons").and_then(Value::as_array_mut) {
        reasons.retain(|reason| reason["code"] != "no_engine");
    }
    // What needs attention has a code; its sentence may be put better.
    for one in body.pointer_mut("/data/attention").and_then(Value::as_array_mut).into_iter().flatten() {
        let sentence = one.as_object_mut().and_then(|one| one.remove("message"));
        assert!(sentence.is_some_and(|sentence| sentence.is_string()), "it is said in words");
    }
    body
}

/// Returns whether a reply says all that an earlier one did: members may be added, none goes or changes.
fn says(now: &Value, then: &Value) -> bool {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            then.iter().all(|(name, value)| now.get(name).is_some_and(|now| says(now, value)))
        }
        (Value::Array(now), Value::Array(then)) => {
            now.len() == then.len() && now.iter().zip(then).all(|(now, then)| says(now, then))
        }
        _ => now == then,
    }
}

#[test]
fn stores_of_every_format_open_say_what_they_said_and_go_on() {
    if let Ok(name) = std::env::var("SWITCHBOARD_GOLDEN") {
        write_each(&name);
        write_many(&format!("{name}-many"));
    }
    let mut files = 0;
    for entry in std::fs::read_dir(folder()).expect("golden files") {
        let path = entry.expect("an entry").path();
        let scratch = Folder::new();
        ZipArchive::new(File::open(&path).expect("a file"))
            .and_then(|mut zip| zip.extract(&scratch.0))
            .expect("an archive");
        let said: Value = serde_json::from_slice(&std::fs::read(scratch.path(SAID)).expect("its words")).expect("JSON");
        if scratch.path(LOG).exists() {
            let alone = Folder::new();
            std::fs::copy(scratch.path(STORE), alone.path(STORE)).expect("room");
            assert!(Store::open(&alone.0).is_err(), "{}: its log is needed", path.display());
        }
        let store = open(&scratch.0);
        assert!(sound(&store) > 20, "{}", path.display());
        let key = said["key"].as_str().expect("a key");
        let now = Timestamp::from_micros(said["now"].as_u64().expect("a time"));
        let then = said["said"].as_object().expect("paths");
        let again = say(&store, key, now, then.keys().cloned());
        assert!(then.len() >= 8, "{} reads", then.len());
        for (target, reply) in then {
            let (reply, now) = (reply.as_str().expect("a reply"), again.get(target).expect("a reply"));
            assert!(says(&body(now), &body(reply)), "{}: {target}: {reply} then, {now} now", path.display());
            assert!(reply.starts_with("200 ") && now.starts_with("200 "), "{target}: {reply}");
        }
        let calls = again.get("/user/calls").map_or(Value::Null, |page| body(page)["data"].clone());
        if path.ends_with("1.zip") {
            for call in calls.as_array().into_iter().flatten() {
                assert_eq!(call.get("ended_reason"), Some(&Value::Null), "why it ended was not kept then");
            }
        }
        goes_on(&store, key, now);
        drop(store);
        assert!(sound(&open(&scratch.0)) > 20, "{}", path.display());
        files += 1;
    }
    assert!(files >= 2, "there are stores of each format");
}
