//! Imports of leads, and of numbers not to be called.

use serde_json::{Value, json};
use switchboard_core::http::reply::Reply;
use switchboard_core::http::request::{Body, Method, Request};
use switchboard_core::key::{self, Kind, Space};
use switchboard_core::limits::{
    IMPORT_BODY_BYTES_MAX, IMPORT_PART_BYTES, IMPORT_SLICE_RECORDS, IMPORT_TURN_PARTS, IMPORT_UPLOAD_SECONDS,
    IMPORTS_MAX,
};
use switchboard_core::outside::Answer;
use switchboard_core::seed::Seed;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::store::Change;
use switchboard_core::verify::verify;
use switchboard_core::view::{Order, View};
use switchboard_tests::house::{Got, House, assistant, campaign, lead, with};

pub const CSV: &str = "text/csv";
pub const LINES: &str = "application/x-ndjson";

/// Returns a house with a campaign, the campaign's id, and the path that imports its leads.
pub fn house() -> (House, u64, String) {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    let id = house.make("/user/campaigns", &campaign(id));
    (house, id, format!("/user/leads/import?campaign_id={id}"))
}

pub fn send(house: &mut House, target: &str, media: &str, file: impl AsRef<[u8]>) -> Got {
    house.call(Method::Post, target).header("content-type", media).body(file.as_ref().to_vec()).send()
}

/// Imports a file and runs the import to its end; returns it as it is shown.
#[track_caller]
pub fn import(house: &mut House, target: &str, media: &str, file: impl AsRef<[u8]>) -> Value {
    let id = send(house, target, media, file).expect(202).id();
    house.tick();
    let report = verify(&house.store).expect("the store can be read");
    assert_eq!(report.faults, Vec::<String>::new());
    shown(house, target, id)
}

pub fn shown(house: &mut House, target: &str, id: u64) -> Value {
    let path = target.split('?').next().expect("a path").replace("/import", "/imports");
    house.get(&format!("{path}/{id}")).expect(200).json["data"].clone()
}

/// Returns an import's counts: created, duplicates, rejected.
pub fn counts(import: &Value) -> [u64; 3] {
    let counts = ["created", "duplicates", "rejected"].map(|name| import[name].as_u64().expect("a count"));
    assert_eq!(import["processed"], counts.iter().sum::<u64>(), "{import}");
    counts
}

/// Returns the rejected lines, with the names of their wrong fields.
pub fn wrong(import: &Value) -> Vec<(u64, Vec<String>)> {
    let errors = import["errors"].as_array().expect("a list");
    let one = |entry: &Value| {
        let fields = entry["errors"].as_object().expect("an object").keys().cloned().collect();
        (entry["line"].as_u64().expect("a line"), fields)
    };
    errors.iter().map(one).collect()
}

pub fn leads(house: &mut House) -> Vec<Value> {
    let page = house.get("/user/leads?per_page=100").expect(200).json;
    assert!(page["total"].as_u64() <= Some(100), "one page holds them");
    page["data"].as_array().expect("rows").iter().rev().cloned().collect()
}

#[test]
fn a_csv_file_makes_leads_of_its_columns() {
    let (mut house, campaign_id, target) = house();
    let file = "phone_number, customer_name ,note\r\n\
        +40700000001,Ana,\"Says \"\"no\"\",\r\ntwice\"\r\n\r\n+40700000002,,\r\n+40700000003";
    let got = send(&mut house, &target, CSV, file).expect(202);
    let id = got.id();
    let started = json!({ "message": "Import started.", "data": { "id": id, "status": "processing" } });
    assert_eq!(got.json, started);
    let before = json!({
        "id": id, "status": "processing", "failure_reason": null, "processed": 0, "created": 0, "duplicates": 0,
        "rejected": 0, "errors": [],
    });
    assert_eq!(shown(&mut house, &target, id), before);
    house.tick();
    let after = with(before, &json!({ "status": "completed", "processed": 3, "created": 3 }));
    assert_eq!(shown(&mut house, &target, id), after);
    let made = leads(&mut house);
    let variables: Vec<&Value> = made.iter().map(|lead| &lead["variables"]).collect();
    let first = json!({ "customer_name": "Ana", "note": "Says \"no\",\r\ntwice" });
    assert_eq!(variables, [&first, &json!({}), &json!({})]);
    assert_eq!(made[2]["phone_number"], "+40700000003");
    assert!(made.iter().all(|lead| lead["campaign_id"] == campaign_id && lead["status"] == "created"));
}

#[test]
fn lines_of_json_are_bodies_of_a_creation() {
    let (mut house, campaign_id, target) = house();
    let contacts = json!([{ "phone_number": "+40700000002", "variables": { "email": "b@example.com" } }]);
    let one = json!({ "phone_number": "+40700000001", "variables": { "visits": 3 }, "secondary_contacts": contacts });
    let file = format!("{one}\r\n\n  {{\"phone_number\":\"+40700000003\",\"campaign_id\":99,\"more\":[]}}");
    let done = import(&mut house, &target, LINES, file);
    assert_eq!((counts(&done), &done["status"]), ([2, 0, 0], &json!("completed")));
    let made = leads(&mut house);
    assert_eq!(made[0]["variables"], json!({ "visits": 3 }));
    assert_eq!(made[0]["secondary_contacts"][0]["variables"], json!({ "email": "b@example.com" }));
    assert_eq!(made[1]["campaign_id"], campaign_id, "the campaign is that of the query");
}

#[test]
fn a_mapping_says_which_column_is_which() {
    let (mut house, _, target) = house();
    let file = "Nume,Telefon,Oraș\nAna,+40700000001,Cluj\n";
    let mapping = "mapping=Telefon%3Dphone_number,%20Nume=customer_name";
    let done = import(&mut house, &format!("{target}&{mapping}"), CSV, file);
    assert_eq!(counts(&done), [1, 0, 0]);
    assert_eq!(leads(&mut house)[0]["variables"], json!({ "customer_name": "Ana", "Oraș": "Cluj" }));
    for (mapping, media, field) in [
        ("mapping=Phone%3Dphone_number,Telefon=phone_number", CSV, "mapping"),
        ("mapping=Telefon", CSV, "mapping"),
        ("mapping=Telefon=", CSV, "mapping"),
        ("mapping=Nume=customer_name", CSV, "file"),
        ("mapping=Telefon=phone_number", LINES, "mapping"),
    ] {
        send(&mut house, &format!("{target}&{mapping}"), media, file).wrong(&[field]);
    }
    let long = format!("mapping={}=phone_number", "x".repeat(5_000));
    send(&mut house, &format!("{target}&{long}"), CSV, file).wrong(&["mapping"]);
}

#[test]
fn the_query_names_a_campaign_of_the_caller() {
    let (mut house, campaign_id, _) = house();
    let stranger = house.account("stranger@example.com");
    let theirs = house.post("/user/assistant", &assistant()).token(&stranger).send().expect(201).id();
    let theirs = house.post("/user/campaigns", &campaign(theirs)).token(&stranger).send().expect(201).id();
    let before = house.store.rows().clone();
    let file = "phone_number\n+40700000001\n";
    for query in ["", "?campaign_id=", "?campaign_id=x", "?campaign_id=99", &format!("?campaign_id={theirs}")] {
        send(&mut house, &format!("/user/leads/import{query}"), CSV, file).wrong(&["campaign_id"]);
    }
    let query = format!("/user/leads/import?campaign_id={campaign_id}&allow_dupplicate=maybe");
    let got = send(&mut house, &query, CSV, file);
    got.wrong(&["allow_dupplicate"]);
    assert_eq!(got.json["message"], got.json["errors"]["allow_dupplicate"][0]);
    assert!(*house.store.rows() == before, "a refusal stores nothing");
}

/// Returns the outcome of a request whose body has not been read yet.
fn first_look(house: &mut House, target: &str, media: Option<&str>, length: usize) -> Outcome {
    let call = house.call(Method::Post, target).raw(Body::Pending).header("content-length", &length.to_string());
    let request: Request = media.into_iter().fold(call, |call, media| call.header("content-type", media)).request();
    let seed = house.seed();
    house.step(&Input::Http(&request, &[]), seed).outcome
}

#[test]
fn the_head_is_judged_before_the_body_is_read() {
    let (mut house, _, target) = house();
    let status = |outcome: Outcome| match outcome {
        Outcome::Reply(reply) => reply.status,
        Outcome::ReadBody(bytes) => {
            assert_eq!(bytes, IMPORT_BODY_BYTES_MAX);
            0
        }
        other => panic!("{other:?}"),
    };
    for (target, media, length, want) in [
        (target.as_str(), Some(CSV), 100, 0),
        (&target, Some("Application/X-NDJSON; charset=utf-8"), IMPORT_BODY_BYTES_MAX, 0),
        (&target, Some(CSV), IMPORT_BODY_BYTES_MAX + 1, 413),
        (&target, Some("multipart/form-data; boundary=b"), 100, 0),
        (&target, Some("multipart/form-data; boundary=b"), IMPORT_BODY_BYTES_MAX + 1, 413),
        // The form may hold the campaign.
        ("/user/leads/import", Some("multipart/form-data; boundary=b"), 100, 0),
        (&target, Some("application/json"), 100, 415),
        (&target, None, 100, 415),
        ("/user/leads/import", Some(CSV), 100, 422),
        ("/user/leads/import", Some(CSV), IMPORT_BODY_BYTES_MAX + 1, 413),
        ("/user/do-not-call/import", Some(CSV), 100, 0),
        ("/user/do-not-call/import?mapping=x", Some(CSV), 100, 422),
    ] {
        assert_eq!(status(first_look(&mut house, target, media, length)), want, "{target} {media:?} {length}");
    }
}

#[test]
fn a_number_is_in_a_campaign_once_unless_allowed() {
    let (mut house, campaign_id, target) = house();
    house.post("/user/lead", &lead(campaign_id, "+40700000001")).send().expect(200);
    let file = "phone_number\n+40700000001\n+40700000002\n+40700000002\n";
    assert_eq!(counts(&import(&mut house, &target, CSV, file)), [1, 2, 0]);
    assert_eq!(counts(&import(&mut house, &format!("{target}&allow_dupplicate=true"), CSV, file)), [3, 0, 0]);
    let contact = |phone: &str| json!([{ "phone_number": phone }]);
    let lines = [
        json!({ "phone_number": "+40700000003", "secondary_contacts": contact("+40700000001") }),
        json!({ "phone_number": "+40700000003", "secondary_contacts": contact("+40700000003") }),
        json!({ "phone_number": "+40700000001", "allow_dupplicate": true }),
        json!({ "phone_number": "+40700000004", "secondary_contacts": contact("+40700000005") }),
        json!({ "phone_number": "+40700000005", "allow_dupplicate": null }),
    ];
    let file = lines.map(|line| line.to_string()).join("\n");
    assert_eq!(counts(&import(&mut house, &target, LINES, file)), [2, 3, 0]);
    let no = json!({ "phone_number": "+40700000001", "allow_dupplicate": false }).to_string();
    assert_eq!(counts(&import(&mut house, &format!("{target}&allow_dupplicate=1"), LINES, no)), [0, 1, 0]);
}

/// Returns a file of records, good, bad and already present, with notes of up to three times `note_bytes`.
pub fn mixed(records: usize, note_bytes: usize) -> String {
    let record = |n: usize| match n % 10 {
        3 => String::from("bad,x\n"),
        7 => format!("+4070{:07},again\n", n - 1),
        _ => format!("+4070{n:07},\"{}\n\"\n", "y".repeat(n % 4 * note_bytes)),
    };
    (0..records).map(record).fold(String::from("phone_number,note\n"), |file, record| file + &record)
}

#[test]
fn a_slice_that_is_lost_is_done_again() {
    // Some slices end with their record limit, some with their byte limit, within a record.
    for note_bytes in [500, 4_000] {
        let (mut house, _, target) = house();
        let id = send(&mut house, &target, CSV, mixed(400, note_bytes)).expect(202).id();
        let mut processed = vec![0];
        while shown(&mut house, &target, id)["status"] == "processing" {
            let seed = Seed::new([7; 32]);
            let before = house.store.clone();
            let lost = house.step(&Input::Tick, seed).changes;
            house.store = before;
            let output = house.step(&Input::Tick, seed);
            assert!(output.changes == lost, "the same slice again");
            processed.push(shown(&mut house, &target, id)["processed"].as_u64().expect("a count"));
        }
        let most = IMPORT_SLICE_RECORDS as u64;
        assert!(processed.windows(2).all(|pair| pair[0] <= pair[1] && pair[1] - pair[0] <= most), "{processed:?}");
        assert_eq!(processed.contains(&most), note_bytes == 500, "{processed:?}");
        house.tick();
        assert_eq!(counts(&shown(&mut house, &target, id)), [320, 40, 40]);
        assert_eq!(house.get("/user/leads").json["total"], 320);
        let rest = key::parts(Space::Account(0), Kind::Import, 1);
        assert_eq!(house.store.scan(rest, Order::Ascending, 10), Ok(Vec::new()), "the file is gone");
    }
}

#[test]
fn an_import_into_a_campaign_that_goes_ends_there() {
    let (mut house, campaign_id, target) = house();
    let id = send(&mut house, &target, CSV, mixed(300, 500)).expect(202).id();
    let seed = house.seed();
    house.step(&Input::Tick, seed);
    let before = shown(&mut house, &target, id);
    assert_eq!((counts(&before).iter().sum::<u64>(), &before["status"]), (64, &json!("processing")));
    house.delete(&format!("/user/campaigns/{campaign_id}")).expect(200);
    house.tick();
    let want = json!({ "status": "failed", "failure_reason": "The campaign was deleted." });
    let after = shown(&mut house, &target, id);
    assert_eq!(after, with(before, &want));
    assert_eq!(house.get("/user/leads").json["total"], 0);
    assert_eq!(verify(&house.store).expect("readable").faults, Vec::<String>::new());
    let parts = key::parts(Space::Account(0), Kind::Import, 1);
    assert_eq!(house.store.scan(parts, Order::Ascending, 10), Ok(Vec::new()));
    assert_eq!(house.store.scan(key::lead_phones_of(Space::Account(0), 1), Order::Ascending, 10), Ok(Vec::new()));
}

#[test]
fn the_first_thousand_errors_are_kept() {
    let (mut house, _, target) = house();
    let file = format!("phone_number\n{}", "bad\n".repeat(1_010));
    let done = import(&mut house, &target, CSV, file);
    assert_eq!(counts(&done), [0, 0, 1_010]);
    let lines: Vec<u64> = wrong(&done).iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, (2..=1_001).collect::<Vec<u64>>());
    let kept = house.store.scan(key::import_errors(Space::Account(0), 1), Order::Ascending, 2_000).expect("rows");
    assert_eq!(kept.len(), lines.len());
}

#[test]
fn one_long_record_is_passed_over_slice_by_slice() {
    let (mut house, _, target) = house();
    let file = format!("phone_number,note\n+1,\"{}\"\n+40700000001,a\n", "line\n".repeat(400_000));
    let id = send(&mut house, &target, CSV, file).expect(202).id();
    let mut slices = 0;
    while shown(&mut house, &target, id)["status"] == "processing" {
        let seed = house.seed();
        let output = house.step(&Input::Tick, seed);
        assert!(output.changes.len() < 50, "a slice changes little");
        slices += 1;
    }
    assert!(slices > 10, "{slices} slices for 2 MB");
    let done = shown(&mut house, &target, id);
    assert_eq!((counts(&done), wrong(&done)), ([1, 0, 1], vec![(2, vec!["line".into()])]));
}

#[test]
fn a_running_campaign_calls_what_is_imported() {
    let mut house = House::default();
    let id = house.make("/user/assistant", &assistant());
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let body = with(campaign(id), &json!({ "mark_complete_when_no_leads": false, "timezone": "Etc/UTC" }));
    let id = house.make("/user/campaigns", &body);
    let start = json!({ "campaign_id": id, "action": "start" });
    house.post("/user/campaigns/update-status", &start).send().expect(200);
    house.tick();
    let target = format!("/user/leads/import?campaign_id={id}");
    import(&mut house, &target, CSV, "phone_number\n+40700000001\n+40700000002\n");
    assert_eq!(house.get("/user/calls").json["total"], 2);
}

#[test]
fn numbers_not_to_be_called_are_imported_like_leads() {
    let mut house = House::default();
    let target = "/user/do-not-call/import";
    house.make("/user/do-not-call", &json!({ "phone_number": "+40700000001" }));
    let file = "phone_number,reason,else\n+40700000001,a,x\n+40700000002,b,\n+40700000002,c\n+40700000003\nbad,d,\n";
    let done = import(&mut house, target, CSV, file);
    assert_eq!((counts(&done), wrong(&done)), ([2, 2, 1], vec![(6, vec!["phone_number".into()])]));
    let lines = [
        json!({ "phone_number": "+40700000004", "reason": "e" }),
        json!({ "phone_number": "+40700000004" }),
        json!({ "reason": "x".repeat(256) }),
    ];
    let file = lines.map(|line| line.to_string()).join("\n");
    let done = import(&mut house, target, LINES, file);
    assert_eq!((counts(&done), wrong(&done)), ([1, 1, 1], vec![(3, vec!["phone_number".into(), "reason".into()])]));
    let mapped = format!("{target}?mapping=Telefon=phone_number,Motiv=reason");
    let done = import(&mut house, &mapped, CSV, "Telefon,Motiv\n+40700000005,f\n");
    assert_eq!(counts(&done), [1, 0, 0]);
    send(&mut house, &format!("{target}?mapping=a=b"), CSV, "phone_number,a\n").wrong(&["mapping"]);
    let page = house.get("/user/do-not-call").json;
    let listed: Vec<(&Value, &Value)> =
        page["data"].as_array().expect("rows").iter().map(|row| (&row["phone_number"], &row["reason"])).collect();
    let want = [("1", None), ("2", Some("b")), ("3", None), ("4", Some("e")), ("5", Some("f"))];
    let want = want.map(|(n, reason)| (json!(format!("+4070000000{n}")), json!(reason)));
    assert_eq!(listed, want.iter().map(|(phone, reason)| (phone, reason)).collect::<Vec<_>>());
}

#[test]
fn each_list_knows_its_own_imports() {
    let (mut house, _, target) = house();
    let leads = send(&mut house, &target, CSV, "phone_number\n").expect(202).id();
    let numbers = send(&mut house, "/user/do-not-call/import", CSV, "phone_number\n").expect(202).id();
    house.get(&format!("/user/leads/imports/{leads}")).expect(200);
    house.get(&format!("/user/do-not-call/imports/{numbers}")).expect(200);
    for path in [
        format!("/user/leads/imports/{numbers}"),
        format!("/user/do-not-call/imports/{leads}"),
        "/user/leads/imports/99".into(),
    ] {
        house.get(&path).message(404, "Import not found");
    }
}

#[test]
fn few_imports_are_under_way_at_once() {
    let (mut house, _, target) = house();
    let file = "phone_number\n+40700000001\n";
    for _ in 0..IMPORTS_MAX {
        send(&mut house, &target, CSV, file).expect(202);
    }
    let refused = send(&mut house, &target, CSV, file);
    refused.message(403, "At most 16 imports may be under way; please wait for one to end.");
    assert!(matches!(first_look(&mut house, &target, Some(CSV), 9), Outcome::Reply(reply) if reply.status == 403));
    house.tick();
    send(&mut house, &target, CSV, file).expect(202);
}

#[test]
fn a_repeated_import_with_its_key_is_the_first() {
    let (mut house, _, target) = house();
    let mut send = |file: &str| {
        let call = house.call(Method::Post, &target).header("content-type", CSV).header("idempotency-key", "one");
        call.body(file.as_bytes().to_vec()).send()
    };
    let first = send("phone_number\n+40700000001\n").expect(202);
    let again = send("phone_number\n+40700000001\n").expect(202);
    assert_eq!((&again.bytes, again.header("idempotency-replayed")), (&first.bytes, Some("true")));
    send("phone_number\n+40700000002\n").expect(422);
}

/// Returns a file of `leads` leads, each line `bytes` long.
fn large(leads: usize, bytes: usize) -> String {
    let line = |n: usize| format!("+4070{n:07},{:x<1$}\n", "", bytes - 14);
    std::iter::once("phone_number,note\n".to_owned()).chain((0..leads).map(line)).collect()
}

/// An upload that takes its turns one by one.
struct Upload {
    request: Request,
    answers: Vec<Answer>,
    seed: Seed,
}

impl Upload {
    fn new(house: &mut House, target: &str, file: &str, key: &str) -> Self {
        let call = house.call(Method::Post, target).header("content-type", CSV).header("idempotency-key", key);
        Self { request: call.body(file.as_bytes().to_vec()).request(), answers: Vec::new(), seed: house.seed() }
    }

    /// Runs one turn; returns the reply, or `None` while turns are left.
    fn turn(&mut self, house: &mut House) -> Option<Reply> {
        let output = house.step(&Input::Http(&self.request, &self.answers), self.seed);
        let bytes = |change: &Change| if let Change::Put(at, value) = change { at.len() + value.len() } else { 0 };
        let kept: usize = output.changes.iter().map(bytes).sum();
        assert!(kept < (1 << 20) + (64 << 10), "a commit keeps {kept} bytes");
        match output.outcome {
            Outcome::Reply(reply) => Some(reply),
            Outcome::Yield => {
                self.answers.push(Answer::Yielded);
                None
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_large_file_is_kept_in_turns_and_others_have_theirs() {
    let (mut house, _, target) = house();
    let files = [large(3_000, 1_000), large(2_500, 900)];
    let mut uploads = [0, 1].map(|n| Upload::new(&mut house, &target, &files[n], &format!("key {n}")));
    let mut turns = [0, 0];
    let mut replies: [Option<Reply>; 2] = [None, None];
    while replies.iter().any(Option::is_none) {
        for n in [0, 1] {
            if replies[n].is_none() {
                replies[n] = uploads[n].turn(&mut house);
                turns[n] += 1;
            }
        }
        if replies.iter().all(Option::is_none) {
            house.tick();
            let early = shown(&mut house, &target, 1);
            assert_eq!((counts(&early), &early["status"]), ([0, 0, 0], &json!("processing")), "it waits for its file");
            let again = Upload::new(&mut house, &target, &files[0], "key 0").turn(&mut house);
            assert_eq!(again.map(|reply| reply.status), Some(409), "its key is taken");
        }
    }
    let parts = |file: &str| file.len().div_ceil(IMPORT_PART_BYTES as usize);
    assert_eq!(turns, [0, 1].map(|n| parts(&files[n]).div_ceil(IMPORT_TURN_PARTS)));
    assert!(replies.iter().flatten().all(|reply| reply.status == 202));
    house.tick();
    // All numbers of the second file are in the first one.
    let both = [1, 2].map(|n| counts(&shown(&mut house, &target, n)));
    assert_eq!(both.map(|[created, duplicates, rejected]| (created + duplicates, rejected)), [(3_000, 0), (2_500, 0)]);
    assert_eq!(house.get("/user/leads").json["total"], 3_000);
    assert_eq!(verify(&house.store).expect("readable").faults, Vec::<String>::new());

    let again = Upload::new(&mut house, &target, &files[0], "key 0").turn(&mut house).expect("a reply");
    assert!(again.status == 202 && again.headers.iter().any(|(name, _)| *name == "idempotency-replayed"));
    let other = files[0].replacen("xx\n", "xy\n", 1);
    let other = Upload::new(&mut house, &target, &other, "key 0").turn(&mut house).expect("a reply");
    assert_eq!(other.status, 422, "the same key with another file");
}

#[test]
fn a_file_that_never_arrives_whole_ends_its_import() {
    let (mut house, _, target) = house();
    let file = large(3_000, 1_000);
    let mut upload = Upload::new(&mut house, &target, &file, "key");
    // The host dies after its second turn.
    assert!(upload.turn(&mut house).is_none() && upload.turn(&mut house).is_none());
    house.now = house.now.plus_seconds(IMPORT_UPLOAD_SECONDS - 1);
    house.tick();
    assert_eq!(shown(&mut house, &target, 1)["status"], "processing");
    house.now = house.now.plus_seconds(1);
    house.tick();
    let ended = shown(&mut house, &target, 1);
    assert_eq!(ended["status"], "failed");
    assert_eq!(ended["failure_reason"], "The file did not arrive whole.");
    let parts = key::parts(Space::Account(0), Kind::Import, 1);
    assert_eq!(house.store.scan(parts, Order::Ascending, 10), Ok(Vec::new()), "what was kept of it is gone");
    assert_eq!(upload.turn(&mut house).map(|reply| reply.status), Some(503), "nor does it go on");
    assert_eq!(verify(&house.store).expect("readable").faults, Vec::<String>::new());
    send(&mut house, &target, CSV, &file).expect(202);
}
