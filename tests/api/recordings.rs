//! docs/api.md, Recordings: taken from engines, played by signed links, deleted with their call.

use serde_json::{Value, json};
use switchboard_core::http::request::{Body, Method, Request};
use switchboard_core::limits::{OBJECT_TRIES_MAX, RECORDING_UPLOAD_SECONDS};
use switchboard_core::object::{StoredObject, UploadError};
use switchboard_core::outside::{Answer, HttpIn};
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant, with};
use switchboard_tests::line::{Held, Line};

const AUDIO: &[u8] = b"OggS and then some sound";
const DAY: u64 = 86_400;

/// A house with a call that an engine has, whose assistant records unless `changes` say otherwise.
fn held(house: &mut House, changes: &Value) -> (Line, Held) {
    let body = with(with(assistant(), &json!({ "record": true, "post_call_evaluation": false })), changes);
    let id = house.make("/user/assistant", &body);
    house.make_call(id);
    let line = Line::attach(house);
    let call = line.take(house);
    (line, call)
}

/// Uploads a recording.
fn upload(house: &mut House, line: &Line, call: u64, media: &str, body: Body) -> Got {
    let target = format!("/engine/calls/{call}/recording");
    house.call(Method::Put, &target).token(&line.token).header("content-type", media).raw(body).send()
}

fn keep(house: &mut House, line: &Line, call: u64, audio: &[u8]) -> String {
    let got = upload(house, line, call, "audio/ogg", Body::Full(audio.to_vec())).expect(201);
    got.json["url"].as_str().expect("a URL").to_owned()
}

fn path(url: &str) -> &str {
    url.strip_prefix("http://test").expect("the base URL of the request")
}

/// Asks for a URL without a token.
fn open(house: &mut House, url: &str, headers: &[(&str, &str)]) -> Got {
    let call = house.call(Method::Get, path(url)).without("authorization");
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send()
}

fn shown(house: &mut House, call: u64) -> Value {
    house.get(&format!("/user/calls/{call}")).expect(200).json["recording_url"].clone()
}

#[test]
fn a_recording_is_uploaded_shown_played_and_replaced() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    assert_eq!(shown(&mut house, call.id), Value::Null);
    let url = keep(&mut house, &line, call.id, b"RIFF");
    assert_eq!(shown(&mut house, call.id), json!(url), "while it runs, too");
    line.talk(&mut house, &mut call);
    assert_eq!(keep(&mut house, &line, call.id, AUDIO), url, "a repeated upload has the same URL");
    assert_eq!(house.objects.len(), 2);
    house.tick();
    assert_eq!(house.objects.values().collect::<Vec<_>>(), [AUDIO], "what was replaced is gone");
    let got = open(&mut house, &url, &[]);
    assert_eq!((got.status, &*got.bytes), (200, AUDIO));
    for (name, value) in [
        ("content-type", "audio/ogg"),
        ("content-length", &*AUDIO.len().to_string()),
        ("accept-ranges", "bytes"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(got.header(name), Some(value), "{name}");
    }
    let page = house.get("/user/calls").expect(200);
    assert_eq!(page.json["data"][0]["recording_url"], url);
    let csv = house.call(Method::Get, "/user/calls").header("accept", "text/csv").send().expect(200);
    assert!(String::from_utf8(csv.bytes).expect("UTF-8").contains(&url));
    let events = house.get(&format!("/user/calls/{}/events", call.id)).expect(200).json;
    let note = events["data"].as_array().expect("a list").iter().find(|event| event["type"] == "recording");
    let note = note.expect("an event");
    assert_eq!((&note["bytes"], &note["content_type"]), (&json!(4), &json!("audio/ogg")));
}

#[test]
fn a_link_is_the_same_all_day_and_valid_to_the_end_of_the_next() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let first = keep(&mut house, &line, call.id, AUDIO);
    // 14:13:20 on the first day.
    let midnight = DAY - house.now.seconds() % DAY;
    house.now = house.now.plus_seconds(midnight - 1);
    assert_eq!(shown(&mut house, call.id), json!(first));
    house.now = house.now.plus_seconds(1);
    let second = shown(&mut house, call.id);
    assert_ne!(second, json!(first), "a new day has a new link");
    for (url, status) in [(&*first, 200), (second.as_str().expect("a URL"), 200)] {
        assert_eq!(open(&mut house, url, &[]).status, status);
    }
    house.now = house.now.plus_seconds(DAY - 1);
    assert_eq!(open(&mut house, &first, &[]).status, 200, "the last second");
    house.now = house.now.plus_seconds(1);
    open(&mut house, &first, &[]).expect(403);
    assert_eq!(open(&mut house, second.as_str().expect("a URL"), &[]).status, 200);
}

#[test]
fn nobody_plays_without_a_signature() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let url = keep(&mut house, &line, call.id, AUDIO);
    let other = house.make_call(call.claimed["call"]["assistant_id"].as_u64().expect("an id"));
    let parts: Vec<&str> = url.rsplitn(3, '/').collect();
    let [signature, day, start] = parts[..] else { panic!("{url}") };
    let start = start.strip_suffix(&call.id.to_string()).expect("the call's id");
    for wrong in [
        format!("{start}{other}/{day}/{signature}"),
        format!("{start}{}/{day}/{signature}", (7_u64 << 32) + 1),
        format!("{start}{}/2026-09-23/{signature}", call.id),
        format!("{start}{}/2026-09-2/{signature}", call.id),
        format!("{start}{}/{day}/{}", call.id, signature.to_lowercase()),
        format!("{start}{}/{day}/{signature}A", call.id),
        format!("{start}x/{day}/{signature}"),
    ] {
        open(&mut house, &wrong, &[]).expect(403);
    }
    // An owner's token opens nothing either; and the signature is of this account's key.
    let token = house.account("other@example.com");
    let target = format!("/recordings/{}/{day}/x", call.id);
    house.call(Method::Get, &target).token(&token).send().expect(403);
    assert_eq!(open(&mut house, &url, &[]).status, 200);
    house.call(Method::Get, &format!("/api{}", path(&url))).send().expect(404);
}

#[test]
fn a_range_is_a_part() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let url = keep(&mut house, &line, call.id, AUDIO);
    let all = AUDIO.len();
    let tag = open(&mut house, &url, &[]).header("etag").expect("a tag").to_owned();
    for (headers, part) in [
        (&[("range", "bytes=0-3")][..], 0..4),
        (&[("range", "bytes=5-")], 5..all),
        (&[("range", "bytes=-6")], all - 6..all),
        (&[("range", "bytes=0-999")], 0..all),
        (&[("range", "bytes=0-3"), ("if-range", &tag)], 0..4),
    ] {
        let got = open(&mut house, &url, headers);
        let is_whole = part == (0..all);
        assert_eq!((got.status, &*got.bytes), (if is_whole { 200 } else { 206 }, &AUDIO[part.clone()]), "{headers:?}");
        assert_eq!(got.header("content-length"), Some(&*part.len().to_string()));
        let range = format!("bytes {}-{}/{all}", part.start, part.end - 1);
        assert_eq!(got.header("content-range"), Some(&*range).filter(|_| !is_whole));
    }
    // Several ranges, an older tag and what cannot be read: the whole.
    for headers in [
        &[("range", "bytes=0-1,3-4")][..],
        &[("range", "bytes=4-2")],
        &[("range", "lines=0-1")],
        &[("range", "bytes=0-3"), ("if-range", "\"0\"")],
        &[("range", "bytes=0-3"), ("if-range", "Wed, 21 Oct 2026 07:28:00 GMT")],
    ] {
        assert_eq!(open(&mut house, &url, headers).status, 200, "{headers:?}");
    }
    let got = open(&mut house, &url, &[("range", "bytes=24-")]).expect(416);
    assert_eq!(got.header("content-range"), Some("bytes */24"));
    let head = house.call(Method::Head, path(&url)).without("authorization").header("range", "bytes=1-2").send();
    assert_eq!((head.status, head.bytes.len(), head.header("content-length")), (206, 0, Some("2")));
}

#[test]
fn what_an_upload_must_keep_to() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let full = || Body::Full(AUDIO.to_vec());
    for (media, body, status) in [
        ("audio/flac", full(), 415),
        ("application/json", full(), 415),
        ("audio/wav", Body::None, 422),
        ("audio/wav", Body::Full(Vec::new()), 422),
        ("audio/wav", Body::TooLarge, 413),
        ("audio/wav", Body::Cut, 400),
    ] {
        upload(&mut house, &line, call.id, media, body).expect(status);
    }
    let target = format!("/engine/calls/{}/recording", call.id);
    for unknown in [Body::None, Body::Pending] {
        house.call(Method::Put, &target).token(&line.token).raw(unknown).send().expect(415);
    }
    let head = house.call(Method::Put, &target).token(&line.token).header("content-type", "audio/wav");
    head.header("content-length", "268435457").raw(Body::Pending).send().expect(413);
    let stranger = Line::attach(&mut house);
    upload(&mut house, &stranger, call.id, "audio/wav", full()).message(404, "Call not found");
    let key = house.key.clone();
    house.call(Method::Put, &target).token(&key).send().expect(401);
    assert!(house.objects.is_empty() && shown(&mut house, call.id).is_null());
    for media in ["audio/wav", "audio/ogg", "Audio/MPEG; rate=8000"] {
        upload(&mut house, &line, call.id, media, full()).expect(201);
    }
    let (silent, other) = held(&mut house, &json!({ "record": false }));
    upload(&mut house, &silent, other.id, "audio/wav", full()).expect(403);
    let mut house = House::with(Config::default());
    let (line, call) = held(&mut house, &json!({}));
    upload(&mut house, &line, call.id, "audio/wav", full()).expect(501);
}

#[test]
fn a_recording_is_taken_for_a_day_after_the_end() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    line.talk(&mut house, &mut call);
    house.now = house.now.plus_seconds(DAY - 1);
    keep(&mut house, &line, call.id, AUDIO);
    house.now = house.now.plus_seconds(1);
    upload(&mut house, &line, call.id, "audio/ogg", Body::Full(AUDIO.to_vec())).expect(409);
}

#[test]
fn what_fails_leaves_nothing() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    for (error, status) in [(UploadError::DiskFull, 503), (UploadError::Unreachable, 502), (UploadError::Cut, 400)] {
        house.broken = Some(error);
        upload(&mut house, &line, call.id, "audio/ogg", Body::Full(AUDIO.to_vec())).expect(status);
        house.broken = None;
        house.tick();
    }
    assert_eq!(jobs(&mut house), 0, "every job is done");
    keep(&mut house, &line, call.id, AUDIO);
    assert_eq!(jobs(&mut house), 0);
}

/// Returns how many jobs wait that delete recordings.
fn jobs(house: &mut House) -> usize {
    let operator = house.operator.clone();
    let found = house.call(Method::Get, "/admin/jobs?kind=drop_recordings").token(&operator).send().expect(200).json;
    found["data"].as_array().expect("a list").len()
}

/// Runs the first run of an upload, as a host does that dies then; returns the request and its seed.
fn begun(house: &mut House, line: &Line, call: u64) -> (Request, switchboard_core::seed::Seed, String) {
    let target = format!("/engine/calls/{call}/recording");
    let request = house.call(Method::Put, &target).token(&line.token).header("content-type", "audio/ogg");
    let request = request.raw(Body::Pending).request();
    let seed = house.seed();
    let Outcome::StoreBody(upload) = house.step(&Input::Http(&request, &[]), seed).outcome else { panic!("a body") };
    house.objects.insert(upload.name.clone(), AUDIO.to_vec());
    (request, seed, upload.name)
}

fn end(house: &mut House, (request, seed, _): &(Request, switchboard_core::seed::Seed, String)) -> u16 {
    let stored = StoredObject { bytes: 24, sealed: false };
    let answers = [Answer::Stored(Ok(stored))];
    match house.step(&Input::Http(request, &answers), *seed).outcome {
        Outcome::Reply(reply) => reply.status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_a_dead_host_left_is_swept_and_what_is_under_way_is_not() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let dead = begun(&mut house, &line, call.id);
    house.now = house.now.plus_seconds(RECORDING_UPLOAD_SECONDS - 10);
    let alive = begun(&mut house, &line, call.id);
    assert!(house.objects.len() == 2 && dead.2 != alive.2);
    house.now = house.now.plus_seconds(11);
    house.tick();
    assert_eq!(house.objects.keys().collect::<Vec<_>>(), [&alive.2]);
    assert_eq!(end(&mut house, &alive), 201);
    // The first one lives after all: it came too late, and what it stored goes.
    house.objects.insert(dead.2.clone(), AUDIO.to_vec());
    assert_eq!(end(&mut house, &dead), 409);
    house.tick();
    assert_eq!(house.objects.keys().collect::<Vec<_>>(), [&alive.2]);
    assert_eq!(jobs(&mut house), 0);
}

#[test]
fn few_uploads_of_a_call_are_under_way_at_once() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let under_way: Vec<_> = (0..4).map(|_| begun(&mut house, &line, call.id)).collect();
    upload(&mut house, &line, call.id, "audio/ogg", Body::Full(AUDIO.to_vec())).expect(409);
    for one in &under_way {
        assert_eq!(end(&mut house, one), 201);
    }
    house.tick();
    assert_eq!(house.objects.keys().collect::<Vec<_>>(), [&under_way[3].2], "the last one stays");
}

#[test]
fn a_deleted_recording_does_not_come_back() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    let url = keep(&mut house, &line, call.id, AUDIO);
    let target = format!("/user/calls/{}/recording", call.id);
    house.delete(&target).message(409, "The call is still running.");
    line.talk(&mut house, &mut call);
    let late = begun(&mut house, &line, call.id);
    house.delete(&target).message(200, "Recording deleted successfully.");
    house.delete(&target).message(404, "Recording not found");
    house.delete("/user/calls/99/recording").message(404, "Call not found");
    open(&mut house, &url, &[]).expect(404);
    assert!(shown(&mut house, call.id).is_null());
    assert_eq!(end(&mut house, &late), 409);
    upload(&mut house, &line, call.id, "audio/ogg", Body::Full(AUDIO.to_vec())).expect(409);
    let event = json!({ "type": "recording", "url": "https://r.example/1.mp3" });
    line.say(&mut house, &mut call, &[event]).expect(200);
    assert!(shown(&mut house, call.id).is_null());
    house.tick();
    assert!(house.objects.is_empty());
}

#[test]
fn a_url_of_elsewhere_gives_way_to_an_upload() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    let elsewhere = json!("https://r.example/1.mp3");
    let event = json!({ "type": "recording", "url": elsewhere });
    line.say(&mut house, &mut call, &[json!({ "type": "answered" }), event.clone()]).expect(200);
    assert_eq!(shown(&mut house, call.id), elsewhere);
    let url = keep(&mut house, &line, call.id, AUDIO);
    line.say(&mut house, &mut call, &[event]).expect(200);
    assert_eq!(shown(&mut house, call.id), json!(url));
    let (line, mut other) = held(&mut house, &json!({}));
    line.talk(&mut house, &mut other);
    line.say(&mut house, &mut other, &[json!({ "type": "recording", "url": elsewhere })]).expect(200);
    house.delete(&format!("/user/calls/{}/recording", other.id)).expect(200);
    assert!(shown(&mut house, other.id).is_null());
}

#[test]
fn a_recording_goes_with_its_call() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    let url = keep(&mut house, &line, call.id, AUDIO);
    line.talk(&mut house, &mut call);
    house.delete(&format!("/user/calls/{}", call.id)).expect(200);
    open(&mut house, &url, &[]).expect(404);
    assert_eq!(house.objects.len(), 1);
    house.tick();
    assert!(house.objects.is_empty());
    assert_eq!(jobs(&mut house), 0);
}

#[test]
fn a_deletion_that_fails_is_retried_and_then_told() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    keep(&mut house, &line, call.id, AUDIO);
    line.talk(&mut house, &mut call);
    house.delete(&format!("/user/calls/{}", call.id)).expect(200);
    house.broken = Some(UploadError::Unreachable);
    house.tick();
    assert_eq!((house.objects.len(), jobs(&mut house)), (1, 1));
    for _ in 0..OBJECT_TRIES_MAX + 6 {
        house.now = house.now.plus_seconds(DAY);
        house.tick();
    }
    let operator = house.operator.clone();
    let target = "/admin/jobs?state=set_aside&kind=drop_recordings";
    let found = house.call(Method::Get, target).token(&operator).send().expect(200).json;
    let job = &found["data"][0];
    assert!(job["last_error"].as_str().expect("an error").contains("could not be deleted"), "{found}");
    house.broken = None;
    house.post(&format!("/admin/jobs/{}/retry", job["id"]), &json!({})).token(&operator).send().expect(202);
    house.tick();
    assert!(house.objects.is_empty());
    assert_eq!(jobs(&mut house), 0);
}

#[test]
fn recordings_go_with_their_account() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    let url = keep(&mut house, &line, call.id, AUDIO);
    line.talk(&mut house, &mut call);
    let (busy, running) = held(&mut house, &json!({}));
    keep(&mut house, &busy, running.id, AUDIO);
    let under_way = begun(&mut house, &busy, running.id);
    let operator = house.operator.clone();
    house.call(Method::Delete, "/admin/accounts/1").token(&operator).send().expect(202);
    open(&mut house, &url, &[]).expect(404);
    house.broken = Some(UploadError::Unreachable);
    for _ in 0..5 {
        house.now = house.now.plus_seconds(60);
        house.tick();
    }
    assert_eq!(house.objects.len(), 3);
    house.broken = None;
    let account = |house: &mut House| house.call(Method::Get, "/admin/accounts/1").token(&operator).send().status;
    for _ in 0..3 {
        house.now = house.now.plus_seconds(RECORDING_UPLOAD_SECONDS);
        house.tick();
    }
    assert!(house.objects.is_empty(), "also what an upload under way had stored: {:?}", under_way.2);
    assert_eq!(account(&mut house), 404);
}

#[test]
fn a_suspended_account_plays_nothing() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let url = keep(&mut house, &line, call.id, AUDIO);
    let operator = house.operator.clone();
    for (suspended, status) in [(true, 404), (false, 200)] {
        house.put("/admin/accounts/1", &json!({ "suspended": suspended })).token(&operator).send().expect(200);
        assert_eq!(open(&mut house, &url, &[]).status, status);
    }
}

#[test]
fn recordings_of_an_account_are_bounded_by_its_plan() {
    let mut house = House::default();
    let (line, call) = held(&mut house, &json!({}));
    let (other_line, mut other) = held(&mut house, &json!({}));
    let operator = house.operator.clone();
    house.put("/admin/plans/standard", &json!({ "storage_bytes": 1 << 20 })).token(&operator).send().expect(200);
    let half = vec![7; 600_000];
    keep(&mut house, &line, call.id, &half);
    upload(&mut house, &other_line, other.id, "audio/ogg", Body::Full(half.clone())).expect(403);
    let target = format!("/engine/calls/{}/recording", other.id);
    let head = house.call(Method::Put, &target).token(&other_line.token).header("content-type", "audio/wav");
    head.header("content-length", "600000").raw(Body::Pending).send().expect(403);
    house.tick();
    assert_eq!(house.objects.len(), 1);
    other_line.talk(&mut house, &mut other);
    keep(&mut house, &other_line, other.id, &half[..400_000]);
    house.delete(&format!("/user/calls/{}/recording", other.id)).expect(200);
    house.tick();
    // What was deleted counts no more.
    let (third_line, third) = held(&mut house, &json!({}));
    keep(&mut house, &third_line, third.id, &half[..400_000]);
}

#[test]
fn a_new_link_is_no_change() {
    let mut house = House::default();
    let (line, mut call) = held(&mut house, &json!({}));
    keep(&mut house, &line, call.id, AUDIO);
    line.talk(&mut house, &mut call);
    house.tick();
    let targets = [format!("/user/calls/{}", call.id), "/user/calls".to_owned()];
    let tags = targets.clone().map(|target| house.get(&target).header("etag").expect("a tag").to_owned());
    house.now = house.now.plus_seconds(DAY);
    for (target, tag) in targets.iter().zip(&tags) {
        assert_eq!(house.get(target).header("etag"), Some(&**tag));
        assert_eq!(house.call(Method::Get, target).header("if-none-match", tag).send().status, 304);
    }
    house.call(Method::Delete, &targets[0]).header("if-match", "\"other\"").send().expect(412);
    house.call(Method::Delete, &targets[0]).header("if-match", &tags[0]).send().expect(200);
}

#[test]
fn a_variable_named_like_the_link_stays_as_it_is() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &with(assistant(), &json!({ "record": true })));
    let fake = json!({ "recording_url": "/recordings/4294967297" });
    let body = json!({ "phone_number": "+40700000001", "assistant_id": id, "variables": fake });
    house.post("/user/make_call", &body).send().expect(200);
    let line = Line::attach(&mut house);
    let call = line.take(&mut house);
    let read = house.get(&format!("/user/calls/{}", call.id)).expect(200).json;
    assert_eq!((&read["variables"], &read["recording_url"]), (&fake, &Value::Null));
    let url = keep(&mut house, &line, call.id, AUDIO);
    for read in [
        house.get(&format!("/user/calls/{}", call.id)).expect(200).json,
        house.get("/user/calls").expect(200).json["data"][0].clone(),
    ] {
        assert_eq!((&read["variables"], &read["recording_url"]), (&fake, &json!(url)));
    }
}

#[test]
fn webhooks_and_the_feed_have_a_link_for_a_week() {
    let mut house = House::with(Config {
        keeps_recordings: true,
        public_url: Some("https://voice.example".into()),
        ..Config::default()
    });
    house.outside(|_| Ok(HttpIn { status: 200, ..HttpIn::default() }));
    let told = json!({ "is_webhook_active": true, "webhook_url": "https://a.example" });
    let (line, mut call) = held(&mut house, &told);
    upload(&mut house, &line, call.id, "audio/ogg", Body::Full(AUDIO.to_vec())).expect(201);
    line.talk(&mut house, &mut call);
    house.tick();
    let feed = house.get("/user/events").expect(200).json;
    let ended = feed["data"].as_array().expect("a list").iter().find(|event| event["event"] == "call.ended");
    let url = ended.expect("the end")["payload"]["recording_url"].as_str().expect("a URL").to_owned();
    let target = url.strip_prefix("https://voice.example").expect("the public URL").to_owned();
    let status = |house: &mut House, seconds: u64| {
        house.now = house.now.plus_seconds(seconds);
        house.call(Method::Get, &target).without("authorization").send().status
    };
    assert_eq!(status(&mut house, 0), 200);
    assert_eq!(status(&mut house, 7 * DAY), 200);
    assert_eq!(status(&mut house, DAY), 403);
}
