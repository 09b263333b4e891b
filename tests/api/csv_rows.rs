//! Lists as CSV, cell by cell: each is a member of the JSON row, converted once more by these tests from the text of
//! the JSON list (docs/api.md, Lists as CSV).

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use switchboard_core::lead::tables::NewLead;
use switchboard_core::outside::SendError;
use switchboard_core::record::Record;
use switchboard_tests::drawn::for_all;
use switchboard_tests::house::{House, assistant, campaign, with};
use switchboard_tests::line::{Line, said};
use switchboard_tests::sheet;
use switchboard_tests::strategy::{anything, body};

use crate::csv::csv;
use crate::webhooks::{answer, finished, hooked, receiver};

/// Beginnings of a cell that a spreadsheet reads as a formula.
const FORMULA: [char; 6] = ['=', '+', '-', '@', '\t', '\r'];

/// What a cell may get wrong.
const HOSTILE: [&str; 18] = [
    "=", "+", "-", "@", "\t", "\r", "\n", "\r\n", "\"", "'", ",", ";", "\u{feff}", "\u{0}", "\u{7f}", "\\", "é", "日本",
];

/// Splits what is between the outer brackets of compact JSON at its commas, but for those in strings and deeper.
fn parts(json: &str) -> Vec<&str> {
    let inner = &json[1..json.len() - 1];
    let (mut parts, mut from, mut depth, mut is_text, mut is_escaped) = (Vec::new(), 0, 0, false, false);
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => parts.push(&inner[std::mem::replace(&mut from, at + 1)..at]),
            _ => {}
        }
    }
    parts.extend((!inner.is_empty()).then(|| &inner[from..]));
    parts
}

/// Returns the members of compact JSON, in their order: name and value.
fn members(json: &str) -> Vec<(&str, &str)> {
    let pairs = parts(json).into_iter().map(|part| part.split_once(':').expect("a member has a value"));
    pairs.map(|(name, value)| (name.trim_matches('"'), value)).collect()
}

/// Returns the cell of a JSON value.
fn cell(json: &str) -> String {
    let text = match json.as_bytes()[0] {
        b'"' => serde_json::from_str(json).expect("a string"),
        _ if json == "null" => String::new(),
        _ => json.to_owned(),
    };
    let apostrophe = if text.trim_start_matches('\'').starts_with(FORMULA) { "'" } else { "" };
    format!("{apostrophe}{text}")
}

/// Compares a list as CSV, with either separator, with all its pages of JSON; returns how many rows it has.
#[track_caller]
fn compare(house: &mut House, target: &str) -> usize {
    let joint = if target.contains('?') { '&' } else { '?' };
    let (mut names, mut want) = (Vec::new(), Vec::new());
    for number in 1.. {
        let page = house.get(&format!("{target}{joint}per_page=3&page={number}")).expect(200).bytes;
        let page = String::from_utf8(page).expect("JSON is UTF-8");
        let (_, data) = members(&page).into_iter().find(|(name, _)| *name == "data").expect("a page has rows");
        for row in parts(data) {
            let members = members(row);
            names = members.iter().map(|(name, _)| (*name).to_owned()).collect();
            want.push(members.iter().map(|(_, value)| cell(value)).collect::<Vec<_>>());
        }
        if data == "[]" {
            break;
        }
    }
    for separator in [",", ";"] {
        let file = csv(house, &format!("{target}{joint}separator={separator}")).expect(200).bytes;
        let got = sheet::rows(&file, separator.as_bytes()[0]);
        assert_eq!(got[1..], want, "{target} {separator}");
        assert!(want.is_empty() || got[0] == names, "{target}: {:?}", got[0]);
        assert!(got.concat().iter().all(|cell| !cell.starts_with(FORMULA)), "{target}: {got:?}");
    }
    want.len()
}

/// Draws a text that begins and goes on with what a cell may get wrong.
fn hostile() -> BoxedStrategy<String> {
    let piece =
        prop_oneof![3 => select(&HOSTILE[..]).prop_map(String::from), 1 => any::<char>().prop_map(String::from)];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat() + "x").boxed()
}

/// Makes an assistant and a campaign of hers, each with a name.
fn named(house: &mut House, name: &str) -> (u64, u64) {
    let name = json!({ "name": name, "post_call_evaluation": false });
    let assistant = house.make("/user/assistant", &with(assistant(), &name));
    (assistant, house.make("/user/campaigns", &with(campaign(assistant), &json!({ "name": name["name"] }))))
}

fn lead_of(mut body: Map<String, Value>, campaigns: [u64; 2], note: &str) -> Value {
    let number = body["campaign_id"].as_u64().expect("an id");
    body.insert("campaign_id".into(), json!(campaigns[usize::from(number.is_multiple_of(2))]));
    let variables = body.entry("variables").or_insert_with(|| json!({}));
    variables.as_object_mut().expect("an object").insert("note".into(), json!(note));
    Value::Object(body)
}

#[test]
fn a_row_of_leads_is_its_json() {
    let leads = prop::collection::vec((body(NewLead::TABLE, &anything), hostile()), 0..8);
    for_all(24, &(hostile(), hostile(), leads), |(one, other, leads)| {
        let mut house = House::default();
        let campaigns = [named(&mut house, &one).1, named(&mut house, &other).1];
        for (at, (body, note)) in leads.iter().enumerate() {
            let id = house.make("/user/lead", &lead_of(body.clone(), campaigns, note));
            if at % 2 == 0 {
                house.put(&format!("/user/leads/{id}"), &json!({ "status": "completed" })).send().expect(200);
            }
        }
        prop_assert_eq!(compare(&mut house, "/user/leads"), leads.len());
        let of_each = campaigns.map(|id| compare(&mut house, &format!("/user/leads?campaign_id={id}")));
        prop_assert_eq!(of_each[0] + of_each[1], leads.len());
        let done = compare(&mut house, "/user/leads?status=completed");
        prop_assert_eq!(done, leads.len().div_ceil(2));
        compare(&mut house, &format!("/user/leads?campaign_id={}&phone_number=1&date_from=2026-01-01", campaigns[0]));
        Ok(())
    });
}

#[test]
fn a_row_of_calls_is_its_json() {
    let calls = prop::collection::vec((any::<bool>(), any::<bool>(), hostile(), hostile()), 0..8);
    for_all(24, &(hostile(), hostile(), calls), |(one, other, calls)| {
        let mut house = House::default();
        let line = Line::attach(&mut house);
        let assistants = [named(&mut house, &one).0, named(&mut house, &other).0];
        for (is_first, is_over, note, turn) in &calls {
            let variables = json!({ "note": note });
            let id = assistants[usize::from(*is_first)];
            let call = json!({ "phone_number": "+40700000001", "assistant_id": id, "variables": variables });
            house.post("/user/make_call", &call).send().expect(200);
            let mut held = line.take(&mut house);
            line.say(&mut house, &mut held, &[json!({ "type": "answered" }), said("human", turn)]).expect(200);
            if *is_over {
                let over = [
                    json!({ "type": "ended", "by": "customer" }),
                    json!({ "type": "cost", "carrier_cost": 0.01, "total_cost": 1.5e-7 }),
                ];
                line.say(&mut house, &mut held, &over).expect(200);
            }
            house.now = house.now.plus_seconds(1);
        }
        prop_assert_eq!(compare(&mut house, "/user/calls"), calls.len());
        let of_each = assistants.map(|id| compare(&mut house, &format!("/user/calls?assistant_id={id}")));
        prop_assert_eq!(of_each[0] + of_each[1], calls.len());
        let done = compare(&mut house, "/user/calls?status=completed&type=outbound");
        prop_assert_eq!(done, calls.iter().filter(|(_, is_over, ..)| *is_over).count());
        Ok(())
    });
}

#[test]
fn a_row_of_calls_of_a_campaign_is_its_json() {
    let mut house = House::default();
    let (_, id) = named(&mut house, "=cmd;\"a\",b");
    for last in 1..5 {
        house.make("/user/lead", &json!({ "campaign_id": id, "phone_number": format!("+4070000000{last}") }));
    }
    let start = json!({ "campaign_id": id, "action": "start" });
    house.post("/user/campaigns/update-status", &start).send().expect(200);
    house.tick();
    assert!(compare(&mut house, &format!("/user/calls?campaign_id={id}")) > 0);
}

#[test]
fn a_row_of_deliveries_is_its_json() {
    let (mut house, line, id) = hooked(&json!({ "webhook_url": "https://hook.example/x?a=1,2;3&b='%22" }));
    let failures = [Ok(answer(500)), Err(SendError::TimedOut), Err(SendError::Unreachable), Err(SendError::Refused)];
    let failing = failures.into_iter().cycle().take(40);
    receiver(&mut house, [Ok(answer(200)), Ok(answer(410))].into_iter().chain(failing).collect());
    let mut calls = Vec::new();
    for _ in 0..7 {
        calls.push(finished(&mut house, &line, id).id);
        house.tick();
        house.now = house.now.plus_seconds(1);
    }
    assert_eq!(compare(&mut house, "/user/webhook-deliveries"), 7);
    for (status, count) in [("delivered", 1), ("exhausted", 1), ("pending", 5)] {
        assert_eq!(compare(&mut house, &format!("/user/webhook-deliveries?status={status}")), count, "{status}");
    }
    assert_eq!(compare(&mut house, &format!("/user/webhook-deliveries?call_id={}", calls[1])), 1);
    receiver(&mut house, Vec::new());
    house.now = house.now.plus_seconds(86_400);
    house.tick();
    assert_eq!(compare(&mut house, "/user/webhook-deliveries?status=delivered"), 6, "some after several attempts");
}
