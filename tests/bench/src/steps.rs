//! The cost of a step's parts: checking a body against its table, and the allocations of whole requests.

use std::hint::black_box;
use std::time::Duration;

use allocation_counter::measure;
use serde_json::json;
use switchboard_claims::{Claim, tell};
use switchboard_core::assistant::tables::NewAssistant;
use switchboard_core::json::{self, Members, Value};
use switchboard_core::record::{MemberSource, Record, check};

use crate::Failed;
use crate::fill::{ASSISTANTS, Folder, Stock, assistant};
use crate::inside::{Inside, get, post};
use crate::turns::Turns;
use crate::writes::BODY;

/// Repetitions of each part.
const TURNS: Turns = Turns { span: Duration::ZERO, bounds: (5_000, 5_000) };
/// Time of a body's check in a first trial, microseconds; the aim is half of it.
const TRIAL_US: f64 = 21.0;

/// Measures checks and steps.
pub fn print() -> Result<bool, Failed> {
    let mut body = assistant("Anna");
    // With the optional members that clients usually send: a kilobyte and a half.
    body["variables"] = json!({ "order": "17", "shop": "Anna & Co.", "city": "Bucharest" });
    body["post_call_schema"] = json!([
        { "name": "reached", "type": "bool", "description": "Whether the customer was reached." },
        { "name": "summary", "type": "string", "description": "What was agreed on." },
    ]);
    let bytes = body.to_string().into_bytes();
    let members = members(&bytes)?;
    let parse = TURNS.middle(|_| Ok(members_of(black_box(&bytes))))?;
    let checked = TURNS.middle(|_| Ok(check(NewAssistant::TABLE, black_box(members.clone()), MemberSource::Body)))?;
    let clone = TURNS.middle(|_| Ok(black_box(&members).clone()))?;
    let folder = Folder::new("steps")?;
    let stock = Stock::new(&folder.0, "store", ASSISTANTS, 10_000)?;
    let inside = Inside::open(&stock.data)?;
    let of = |target: &str| get(&stock.key, target);
    let requests = [
        ("a read of an assistant", of("/user/assistant/1")),
        ("a read of a call", of("/user/calls/77")),
        ("ten assistants", of("/user/assistants/get")),
        ("a page of calls", of("/user/calls")),
        ("a page of calls, one filter", of("/user/calls?status=completed")),
        ("a call placed", post(&stock.key, "/user/make_call", "application/json", BODY)),
        ("an assistant made", post(&stock.key, "/user/assistant", "application/json", bytes.clone())),
    ];
    println!("| a step over redb | µs | allocations | bytes allocated |\n|---|---|---|---|");
    let mut claims = vec![
        Claim::at_most(
            format!("Checks of an assistant's body of {} bytes", bytes.len()),
            TRIAL_US / 2.0,
            checked - clone,
            "µs",
        ),
        Claim::stated("Reading that JSON", format!("{parse:.1} µs")),
    ];
    for (name, request) in &requests {
        // The changes of a step are dropped, so every repetition finds the same rows.
        let micros = TURNS.middle(|_| inside.look(request))?;
        let counted = measure(|| drop(inside.look(request)));
        println!("| {name} | {micros:.1} | {} | {} |", counted.count_total, counted.bytes_total);
        claims.push(Claim::stated(format!("Allocations: {name}"), counted.count_total.to_string()));
    }
    Ok(tell(&claims)?)
}

fn members(bytes: &[u8]) -> Result<Members, Failed> {
    let members = members_of(bytes).ok_or("the body is no object")?;
    let errors = check(NewAssistant::TABLE, members.clone(), MemberSource::Body).errors;
    if errors.is_empty() { Ok(members) } else { Err(format!("the body is not right: {errors:?}").into()) }
}

fn members_of(bytes: &[u8]) -> Option<Members> {
    match json::parse(bytes) {
        Ok(Value::Object(members)) => Some(members),
        _ => None,
    }
}
