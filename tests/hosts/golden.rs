//! Stores that earlier releases wrote open, and say what they said.
//!
//! `golden/NUMBER.zip` holds a store of that format, one of each kind of row in it, and `said.json`, what it said to
//! every read at one moment. A change of a stored form adds a number and keeps the others:
//! `SWITCHBOARD_GOLDEN=NUMBER cargo test -p switchboard-tests --test hosts golden` writes it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use switchboard::seal::Seal;
use switchboard::store::Store;
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::http::route::{Shape, Who};
use switchboard_core::http::routes::ROUTES;
use switchboard_core::output::{Input, Outcome};
use switchboard_core::seed::Seed;
use switchboard_core::service::{Config, Service};
use switchboard_core::time::Timestamp;
use switchboard_core::verify;
use switchboard_core::view::Scene;
use switchboard_tests::house::House;
use switchboard_tests::places::Places;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::server::Folder;

const STORE: &str = "switchboard.redb";
const SAID: &str = "said.json";
/// The key that the stores are sealed with.
const KEY: &str = "Z29sZGVuIGdvbGRlbiBnb2xkZW4gZ29sZGVuIGdvbGQ=";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hosts/golden")
}

fn open(data: &Path) -> Store {
    let seal = Seal::parse(KEY).expect("a key");
    Store::open(data).expect("it opens").sealed(seal).expect("it has this key").0
}

/// What a store says to each read: path, then status and body.
fn say(store: &Store, key: &str, now: Timestamp, paths: impl Iterator<Item = String>) -> BTreeMap<String, String> {
    let config = Config { public_url: Some("https://golden.example".into()), ..Config::default() };
    let (service, snapshot) = (Service::new(config), store.snapshot().expect("a snapshot"));
    let view = snapshot.plain();
    let scene = Scene { now, seed: Seed::new([7; 32]), view: &view };
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

/// One of each kind of row, stored, and what is said of them.
fn write(number: &str) {
    let mut house = House::default();
    let key = house.key.clone();
    let places = Places::of(&mut house, &key);
    house.tick();
    let scratch = Folder::new();
    let store = open(&scratch.0);
    let rows =
        house.store.rows().iter().map(|(key, value)| switchboard_core::store::Change::Put(key.clone(), value.clone()));
    store.commit(&rows.collect::<Vec<_>>()).expect("a commit");
    let of_the_host = |shape: &Shape| matches!(shape, Shape::Media(_));
    let reads = ROUTES
        .iter()
        .filter(|route| route.method == Method::Get && route.who == Who::User && !of_the_host(&route.shape))
        // The carrier is asked for it.
        .filter(|route| route.id != "searchNumbers");
    let paths = reads.flat_map(|route| route.paths).map(|path| places.path(path));
    let replies = say(&store, &key, house.now, paths);
    drop(store);
    let said = serde_json::json!({ "key": key, "now": house.now.micros(), "said": replies });
    std::fs::create_dir_all(folder()).expect("a folder");
    let mut zip = ZipWriter::new(File::create(folder().join(format!("{number}.zip"))).expect("a file"));
    for (name, bytes) in [
        (STORE, std::fs::read(scratch.path(STORE)).expect("the store")),
        (SAID, serde_json::to_vec_pretty(&said).expect("JSON")),
    ] {
        zip.start_file(name, SimpleFileOptions::default()).expect("an entry");
        zip.write_all(&bytes).expect("an entry");
    }
    zip.finish().expect("an archive");
}

#[test]
fn stores_of_every_format_open_and_say_what_they_said() {
    if let Ok(number) = std::env::var("SWITCHBOARD_GOLDEN") {
        write(&number);
    }
    let mut files = 0;
    for entry in std::fs::read_dir(folder()).expect("golden files") {
        let path = entry.expect("an entry").path();
        let scratch = Folder::new();
        ZipArchive::new(File::open(&path).expect("a file"))
            .and_then(|mut zip| zip.extract(&scratch.0))
            .expect("an archive");
        let said: Value = serde_json::from_slice(&std::fs::read(scratch.path(SAID)).expect("its words")).expect("JSON");
        let store = open(&scratch.0);
        let report = verify::verify(&store.snapshot().expect("a snapshot").plain()).expect("it can be read");
        assert!(report.faults.is_empty() && report.rows > 20, "{}: {:?}", path.display(), report.faults);
        let now = Timestamp::from_micros(said["now"].as_u64().expect("a time"));
        let then = said["said"].as_object().expect("paths");
        let again = say(&store, said["key"].as_str().expect("a key"), now, then.keys().cloned());
        assert!(then.len() > 30, "{} reads", then.len());
        for (target, reply) in then {
            assert_eq!(reply.as_str(), again.get(target).map(String::as_str), "{}: {target}", path.display());
            assert!(reply.as_str().is_some_and(|reply| reply.starts_with("200 ")), "{target}: {reply}");
        }
        files += 1;
    }
    assert!(files >= 1, "there is a store of each format");
}
