//! Lists as CSV (docs/api.md, Lists as CSV).

use serde_json::{Value, json};
use switchboard_core::http::reply::Content;
use switchboard_core::http::request::Method;
use switchboard_core::limits::{CSV_BYTES_MAX, PIECE_BYTES, TAGGED_BYTES_MAX};
use switchboard_core::outside::Answer;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};
use switchboard_tests::house::{Got, House, assistant, campaign, lead, with};
use switchboard_tests::sheet;

use crate::imports::{CSV, counts, house, import};

pub fn csv(house: &mut House, target: &str) -> Got {
    house.call(Method::Get, target).header("accept", CSV).send()
}

/// Returns the ids of a list as CSV, and of all pages of it as JSON.
fn both(house: &mut House, target: &str) -> (Vec<String>, Vec<String>) {
    let file = csv(house, target).expect(200);
    let cells = sheet::ids(&file.bytes, b',');
    let joint = if target.contains('?') { '&' } else { '?' };
    let mut ids = Vec::new();
    for page in 1.. {
        let got = house.get(&format!("{target}{joint}per_page=2&page={page}")).expect(200);
        let rows = got.json["data"].as_array().expect("rows").clone();
        if rows.is_empty() {
            break;
        }
        ids.extend(rows.iter().map(|row| row["id"].to_string()));
    }
    (cells, ids)
}

#[test]
fn a_list_is_csv_for_whoever_prefers_it() {
    let (mut house, campaign, _) = house();
    let body = with(lead(campaign, "+40700000001"), &json!({ "variables": { "name": "=1+1", "n": 2 } }));
    house.make("/user/lead", &body);
    let got = csv(&mut house, "/user/leads?page=7").expect(200);
    assert_eq!(got.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(got.header("content-disposition"), Some("attachment; filename=\"leads.csv\""));
    assert_eq!((got.header("vary"), got.header("etag")), (Some("Accept"), None));
    let rows = sheet::rows(&got.bytes, b',');
    let names = "id campaign_id phone_number variables status created_at updated_at campaign secondary_contacts";
    assert_eq!(rows[0].join(" "), names);
    assert_eq!(rows[1][2..5], ["'+40700000001", r#"{"n":2,"name":"=1+1"}"#, "created"].map(String::from));
    assert_eq!(rows[1][7..], [format!(r#"{{"id":{campaign},"name":"Spring"}}"#), "[]".into()]);
    for accept in ["*/*", "application/json, text/csv;q=0.5", ""] {
        let got = house.call(Method::Get, "/user/leads").header("accept", accept).send().expect(200);
        assert!(got.json["data"].is_array() && got.header("etag").is_some(), "{accept}");
        assert_eq!(got.header("vary"), Some("Accept"));
    }
    // What no operation has as CSV stays JSON.
    assert!(csv(&mut house, "/user/campaigns").expect(200).json.is_array());
    let head = house.call(Method::Head, "/user/leads").header("accept", CSV).send().expect(200);
    assert_eq!(head.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(head.header("content-length"), Some(got.bytes.len().to_string().as_str()));
}

#[test]
fn the_separator_is_a_comma_or_a_semicolon() {
    let (mut house, campaign, _) = house();
    house.make("/user/lead", &lead(campaign, "+40700000001"));
    let got = csv(&mut house, "/user/leads?separator=;").expect(200);
    assert!(got.bytes.starts_with(b"\xef\xbb\xbfid;campaign_id;"));
    assert_eq!(sheet::rows(&got.bytes, b';').len(), 2);
    for target in ["/user/calls", "/user/leads", "/user/webhook-deliveries"] {
        for accept in [CSV, "application/json"] {
            let target = format!("{target}?separator=tab");
            house.call(Method::Get, &target).header("accept", accept).send().wrong(&["separator"]);
        }
    }
}

#[test]
fn filters_are_those_of_the_pages() {
    let (mut house, first, _) = house();
    let calls = house.make("/user/assistant", &assistant());
    let second = house.make("/user/campaigns", &campaign(calls));
    for number in 0..9_u64 {
        let campaign = if number % 3 == 0 { first } else { second };
        let id = house.make("/user/lead", &lead(campaign, &format!("+4070000000{number}")));
        if number % 2 == 0 {
            house.put(&format!("/user/leads/{id}"), &json!({ "status": "completed" })).send().expect(200);
        }
        house.make_call(calls);
    }
    let nowhere = "/user/leads?campaign_id=99999999999";
    for target in [
        "/user/leads".to_owned(),
        format!("/user/leads?campaign_id={second}"),
        format!("/user/leads?campaign_id={second}&status=completed"),
        format!("/user/leads?campaign_id={second}&phone_number=00000007"),
        "/user/leads?date_from=2026-09-22".to_owned(),
        "/user/leads?date_to=2026-09-21".to_owned(),
        nowhere.to_owned(),
        "/user/calls".to_owned(),
        format!("/user/calls?assistant_id={calls}&status=initiated&type=outbound"),
        "/user/calls?status=completed".to_owned(),
        "/user/webhook-deliveries".to_owned(),
    ] {
        let (cells, ids) = both(&mut house, &target);
        assert_eq!(cells, ids, "{target}");
    }
    assert_eq!(both(&mut house, &format!("/user/leads?campaign_id={second}")).0.len(), 6);
    let call = csv(&mut house, "/user/calls").expect(200);
    assert!(call.bytes.starts_with(b"id,assistant_name,campaign_name,type,duration,"));
    let delivery = csv(&mut house, "/user/webhook-deliveries").expect(200);
    assert!(delivery.bytes.starts_with(b"id,"), "the header of no rows");
}

#[test]
fn it_shows_an_account_its_own_rows_and_a_read_only_key_too() {
    let (mut house, campaign, _) = house();
    house.make("/user/lead", &lead(campaign, "+40700000001"));
    let other = house.account("other@example.com");
    let got = house.call(Method::Get, "/user/leads").token(&other).header("accept", CSV).send().expect(200);
    assert_eq!(sheet::rows(&got.bytes, b',').len(), 1);
    let body = json!({ "name": "Reader", "read_only": true });
    let key = house.post("/user/api-keys", &body).send().expect(201).json["api_key"]["token"]
        .as_str()
        .expect("a key")
        .to_owned();
    let got = house.call(Method::Get, "/user/leads").token(&key).header("accept", CSV).send().expect(200);
    assert_eq!(sheet::rows(&got.bytes, b',').len(), 2);
}

#[test]
fn an_import_takes_back_what_a_list_wrote() {
    let (mut house, campaign, target) = house();
    let contact = json!({ "phone_number": "+40700000009", "variables": { "name": "=Bo" } });
    let variables = json!({ "name": "=Ünal; \"x\"", "list": [1, "+2"] });
    let body =
        with(lead(campaign, "+40700000001"), &json!({ "variables": variables, "secondary_contacts": [contact] }));
    house.make("/user/lead", &body);
    for query in ["", "?separator=;"] {
        let file = csv(&mut house, &format!("/user/leads{query}")).expect(200).bytes;
        for lead in house.get("/user/leads").expect(200).json["data"].as_array().expect("rows") {
            house.delete(&format!("/user/leads/{}", lead["id"])).expect(200);
        }
        assert_eq!(counts(&import(&mut house, &target, CSV, file)), [1, 0, 0], "{query}");
        let lead = house.get("/user/leads").expect(200).json["data"][0].clone();
        assert_eq!((&lead["phone_number"], &lead["variables"]), (&body["phone_number"], &variables));
        assert_eq!(lead["secondary_contacts"][0]["phone_number"], contact["phone_number"]);
        assert_eq!(lead["secondary_contacts"][0]["variables"], contact["variables"]);
    }
}

/// Bytes of the variables of each person of a large lead.
const PERSON: usize = 16_000;

/// Returns a house with `count` leads, each of one person and `contacts` more.
fn large(lists_in_pieces: bool, count: usize, contacts: usize) -> House {
    let mut house = House::with(Config { lists_in_pieces, ..Config::default() });
    let id = house.make("/user/assistant", &assistant());
    let id = house.make("/user/campaigns", &campaign(id));
    let variables = json!({ "text": "x".repeat(PERSON) });
    for number in 0..count {
        let contact = |at| json!({ "phone_number": format!("+41{at:02}{number:07}"), "variables": variables });
        let contacts: Vec<Value> = (0..contacts).map(contact).collect();
        let more = json!({ "variables": variables, "secondary_contacts": contacts });
        house.make("/user/lead", &with(lead(id, &format!("+407{number:08}")), &more));
    }
    house
}

#[test]
fn its_pieces_are_bounded_and_leave_out_rows_that_go() {
    let mut house = large(true, 120, 0);
    let request = house.call(Method::Get, "/user/leads").header("accept", CSV).request();
    let (mut answers, mut pieces) = (Vec::new(), Vec::<Vec<u8>>::new());
    loop {
        let seed = house.seed();
        let output = house.step(&Input::Http(&request, &answers), seed);
        let Outcome::Reply(reply) = output.outcome else { panic!("no reply") };
        let Content::Piece(piece) = reply.content else { panic!("{reply:?}") };
        let most = if pieces.is_empty() { TAGGED_BYTES_MAX } else { PIECE_BYTES };
        assert!(piece.bytes.len() < most + 2 * PERSON, "{} bytes", piece.bytes.len());
        pieces.push(piece.bytes);
        let Some(rest) = piece.rest else { break };
        answers = vec![Answer::Rest(rest)];
        if pieces.len() == 1 {
            let gone = sheet::ids(&csv(&mut house, "/user/leads?phone_number=40700000007").bytes, b',');
            house.delete(&format!("/user/leads/{}", gone[0])).expect(200);
            house.make("/user/lead", &lead(1, "+40700001000"));
        }
    }
    assert!(pieces.len() > 4);
    let rows = sheet::rows(&pieces.concat(), b',');
    let numbers: Vec<&str> = rows[1..].iter().map(|row| row[2].trim_start_matches('\'')).collect();
    let want: Vec<String> = (0..120).rev().filter(|n| *n != 7).map(|n| format!("+407{n:08}")).collect();
    assert_eq!(numbers, want, "neither the one that went nor the one that came");
}

#[test]
fn a_host_that_takes_lists_whole_refuses_what_is_too_long() {
    let mut house = large(false, 100, 10);
    const { assert!(100 * 11 * PERSON > CSV_BYTES_MAX) };
    csv(&mut house, "/user/leads").wrong(&["accept"]);
    let got = csv(&mut house, "/user/leads?phone_number=40700000007").expect(200);
    assert_eq!(sheet::rows(&got.bytes, b',').len(), 2);
}
