//! Imports whose file is part of a form, as browsers send it.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_core::limits::{IMPORT_PART_BYTES, IMPORT_TURN_PARTS};
use switchboard_core::verify::verify;
use switchboard_tests::house::{Got, House};

use crate::imports::{counts, house, leads, mixed, shown};

const FORM: &str = "multipart/form-data; boundary=edge";
const FILE: &str = "phone_number,name\n+40700000001,Ana\n";

/// A part of a form: what its disposition says, its content type and its content.
type Part<'p> = (&'p str, &'p str, &'p str);

fn form(parts: &[Part<'_>]) -> Vec<u8> {
    let part = |(says, media, content): &Part<'_>| {
        let media = if media.is_empty() { String::new() } else { format!("Content-Type: {media}\r\n") };
        format!("--edge\r\nContent-Disposition: form-data; {says}\r\n{media}\r\n{content}\r\n")
    };
    format!("{}--edge--\r\n", parts.iter().map(part).collect::<String>()).into_bytes()
}

fn send(house: &mut House, target: &str, parts: &[Part<'_>]) -> Got {
    house.call(Method::Post, target).header("content-type", FORM).body(form(parts)).send()
}

#[test]
fn the_type_or_the_name_says_what_a_file_is() {
    let line = "{\"phone_number\":\"+40700000001\"}";
    for (says, media, content, created) in [
        ("name=\"file\"; filename=\"leads.csv\"", "application/vnd.ms-excel", FILE, 1),
        ("name=\"file\"; filename=\"LEADS.CSV\"", "", FILE, 1),
        ("name=\"file\"; filename=\"leads.tsv\"", "", "phone_number\tname\n+40700000001\tAna\n", 1),
        ("name=\"file\"", "Text/CSV; charset=utf-8", FILE, 1),
        ("name=\"file\"; filename=\"leads.csv\"", "application/x-ndjson", line, 1),
        ("name=\"file\"; filename=\"leads.jsonl\"", "application/octet-stream", line, 1),
        ("name=\"file\"; filename=\"leads.ndjson\"", "", line, 1),
        ("name=\"file\"; filename=\"leads.csv\"", "", "phone_number", 0),
    ] {
        let (mut house, _, target) = house();
        let id = send(&mut house, &target, &[(says, media, content)]).expect(202).id();
        house.tick();
        assert_eq!(counts(&shown(&mut house, &target, id)), [created, 0, 0], "{says} {media}");
    }
}

#[test]
fn parameters_may_be_fields_of_the_form() {
    let (mut house, campaign_id, _) = house();
    let (target, campaign_id) = ("/user/leads/import", campaign_id.to_string());
    let file = ("name=\"file\"; filename=\"leads.csv\"", "", "Tel;name\n0700 000 001;Ana\n0700 000 001;Ion\n");
    let fields: [Part<'_>; 5] = [
        ("name=\"campaign_id\"", "", &campaign_id),
        ("name=\"mapping\"", "", "Tel:phone_number"),
        ("name=\"allow_dupplicate\"", "", "true"),
        ("name=\"separator\"", "", ""),
        ("name=\"other\"", "", "not known"),
    ];
    // The fields stand behind the file, and one parameter in the query.
    let id = send(&mut house, &format!("{target}?default_country=RO"), &[&[file][..], &fields[..]].concat())
        .expect(202)
        .id();
    house.tick();
    assert_eq!(counts(&shown(&mut house, target, id)), [2, 0, 0]);
    let made: Vec<Value> = leads(&mut house).iter().map(|lead| lead["phone_number"].clone()).collect();
    assert_eq!(made, ["+40700000001", "+40700000001"]);
    let looked = [&fields[..], &[file, ("name=\"dry_run\"", "", "1")][..]].concat();
    let looked = send(&mut house, target, &looked).expect(200).json;
    assert_eq!(looked["data"]["columns"], json!(["phone_number", "name"]));
    for (query, field) in [("", ""), ("campaign_id=1", ""), ("dry_run=1&mapping=a:b", "mapping"), ("separator=;", "")] {
        let got = send(&mut house, &format!("{target}?{query}"), &[&[file][..], &fields[..]].concat());
        match (query, field) {
            ("campaign_id=1", _) => got.wrong(&["campaign_id"]),
            (_, "") => drop(got.expect(202)),
            (_, field) => got.wrong(&[field]),
        }
    }
    send(&mut house, target, &[file, ("name=\"default_country\"", "", "XX"), fields[0]]).wrong(&["default_country"]);
}

#[test]
fn a_form_without_a_good_file_is_refused() {
    let (mut house, _, target) = house();
    let named = "name=\"file\"; filename=\"leads.csv\"";
    let before = house.store.rows().clone();
    for (parts, says) in [
        (vec![], "The form has no file."),
        (vec![("name=\"leads\"; filename=\"leads.csv\"", "text/csv", FILE)], "The form has no file."),
        (vec![(named, "", "")], "The file is empty."),
        (vec![("name=\"file\"; filename=\"leads.xlsx\"", "", FILE)], "its name must end in .csv, .tsv, .ndjson or"),
        (vec![("name=\"file\"", "", FILE)], "The file must be of the type text/csv or"),
    ] {
        for target in [target.as_str(), "/user/do-not-call/import"] {
            let got = send(&mut house, target, &parts);
            got.wrong(&["file"]);
            assert!(got.json["errors"]["file"][0].as_str().is_some_and(|told| told.contains(says)), "{}", got.json);
        }
    }
    let twice = send(&mut house, &target, &[(named, "", FILE), (named, "", FILE)]);
    twice.message(400, "The multipart body names the field file twice.");
    let torn = house.call(Method::Post, &target).header("content-type", FORM).body(b"--edge\r\nbroken".to_vec());
    torn.send().message(400, "The multipart body is malformed.");
    assert!(*house.store.rows() == before, "a refusal stores nothing");
}

#[test]
fn a_large_file_of_a_form_is_kept_in_turns() {
    let (mut house, _, target) = house();
    let bytes = IMPORT_TURN_PARTS * IMPORT_PART_BYTES as usize;
    let file = mixed(100, 2 * bytes / 100);
    assert!(file.len() > 2 * bytes);
    let parts =
        [("name=\"more\"", "", "x"), ("name=\"file\"; filename=\"a.csv\"", "", &file), ("name=\"last\"", "", "y")];
    let plain = crate::imports::import(&mut house, &target, crate::imports::CSV, &file);
    let (mut other, _, target) = crate::imports::house();
    let id = send(&mut other, &target, &parts).expect(202).id();
    other.tick();
    assert_eq!(shown(&mut other, &target, id), plain);
    assert_eq!(leads(&mut other), leads(&mut house));
    assert_eq!(verify(&other.store).expect("the store can be read").faults, Vec::<String>::new());
}
