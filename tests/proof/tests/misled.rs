//! The pure component in a host that answers wrongly, or stops it midway: an error that names what is wrong, nothing
//! half done, and the next request is answered.

use std::sync::LazyLock;

use serde_json::{Value, json};
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request};
use switchboard_core::memory::Memory;
use switchboard_core::remote::region;
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome, Output, OwnedInput};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Read, Scene};
use switchboard_core::work;
use switchboard_proof::stage::{Limits, Steps};
use switchboard_proof::subject::component::{Component, Program, built};
use switchboard_proof::subject::convert::{self, wit};

/// Fuel enough for any number of honest steps.
const PLENTY: u64 = u64::MAX;
/// Most rounds of a step with a lying host.
const ROUNDS: usize = 100;

static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let mut config = wasmtime::Config::new();
    config.consume_fuel(true);
    Program::load_with(&built(), &config)
});

fn now() -> Timestamp {
    Timestamp::from_seconds(1_790_067_600)
}

/// Returns status and body of a step's reply.
fn replied(output: Output) -> (u16, Value) {
    let Outcome::Reply(Reply { status, content: Content::Json(body), .. }) = output.outcome else {
        panic!("a reply in JSON")
    };
    (status, serde_json::from_slice(&body).expect("JSON"))
}

/// Creates a store after its first start with a tool in it; returns the owner's key as well.
fn furnished() -> (Memory, String) {
    let service = Service::new(Config::default());
    let mut rows = Memory::default();
    let mut step = |input: &Input<'_>, seed: u8| {
        let scene = Scene { now: now(), seed: Seed::new([seed; 32]), view: &rows, careful: false };
        let output = service.step(input, &scene).expect("a step");
        rows.apply(&output.changes);
        output
    };
    let asked = step(&Input::FirstStart(&[]), 1);
    let answers: Vec<_> = asked.sends.iter().filter_map(|send| work::perform(&send.work)).collect();
    let (_, secrets) = replied(step(&Input::FirstStart(&answers), 1));
    let key = secrets["api_key"].as_str().expect("a key").to_owned();
    for seed in 2..5 {
        let OwnedInput::Http(request, _) = create(&key) else { unreachable!("a request") };
        step(&Input::Http(&request, &[]), seed);
    }
    (rows, key)
}

fn request(method: Method, target: &str, key: &str, body: Body) -> OwnedInput {
    let headers = vec![("authorization", format!("Bearer {key}").into_bytes())];
    OwnedInput::Http(Request { method, target: target.into(), headers, body, peer: None, door: Door::Main }, Vec::new())
}

fn create(key: &str) -> OwnedInput {
    let tool = json!({ "name": "t", "description": "d", "endpoint": "https://tools.example/x", "method": "GET" });
    request(Method::Post, "/user/tools", key, Body::Full(tool.to_string().into_bytes()))
}

/// Runs a step in which `lie` may change each answer; returns its result.
fn lied_to(
    component: &mut Component,
    input: &OwnedInput,
    mut lie: impl FnMut(usize, &[Read], &mut Vec<wit::Found>),
) -> Result<wit::Output, wit::Stop> {
    let session = component.open(input, now(), Seed::new([9; 32])).expect("no trap");
    let mut found = Vec::new();
    for round in 0..ROUNDS {
        match component.advance(session, &found).expect("no trap")? {
            wit::Progress::Done(output) => return Ok(output),
            wit::Progress::Need(reads) => {
                let reads: Vec<Read> = reads.into_iter().map(convert::read).collect();
                let carried = region::carry_out(component.held(), &reads).expect("rows in memory");
                found = carried.into_iter().map(convert::found).collect();
                lie(round, &reads, &mut found);
            }
        }
    }
    panic!("a step without an end");
}

/// Checks that the instance still works: it answers an honest host as before.
#[track_caller]
fn is_well(component: &mut Component, key: &str) {
    component.refuel(PLENTY);
    let input = request(Method::Get, "/user/tools", key, Body::None);
    let output = component.step(&input, now(), Seed::new([9; 32]), &Limits::none()).expect("a step");
    let (status, listed) = replied(output);
    assert_eq!((status, listed.as_array().map(Vec::len)), (200, Some(3)));
}

/// Changes the answers to some reads.
type Lie = fn(&[Read], &mut Vec<wit::Found>);

fn rows(found: &mut [wit::Found]) -> impl Iterator<Item = &mut Vec<wit::Row>> {
    found.iter_mut().filter_map(|found| if let wit::Found::Rows(rows) = found { Some(rows) } else { None })
}

#[test]
fn answers_to_something_else_are_named_and_change_nothing() {
    let (held, key) = furnished();
    let lies: [(&str, Lie); 6] = [
        ("there are not as many answers as reads", |_, found| drop(found.pop())),
        ("there are not as many answers as reads", |_, found| found.push(wit::Found::Value(None))),
        ("an answer is not of the kind that was asked for", |_, found| found[0] = wit::Found::Rows(Vec::new())),
        ("a scan found a row outside its range", |_, found| rows(found).flatten().for_each(|row| row.key[0] = 0xff)),
        ("the rows of a scan are not in its order", |_, found| rows(found).for_each(|rows| rows.reverse())),
        ("a scan found more rows than were asked for", |reads, found| {
            let limit = reads.iter().find_map(|read| if let Read::Scan(scan) = read { Some(scan.limit) } else { None });
            rows(found).for_each(|rows| rows.resize(limit.unwrap_or(0) + 1, rows[0].clone()));
        }),
    ];
    let mut component = PROGRAM.start_over(&json!({}), held.clone(), Some(PLENTY));
    // All tools, newest first, are read by one scan.
    let input = request(Method::Get, "/user/tools", &key, Body::None);
    for (said, lie) in lies {
        let mut told = false;
        let came = lied_to(&mut component, &input, |_, reads, found| {
            let scans = found.iter().any(|found| matches!(found, wit::Found::Rows(rows) if rows.len() > 1));
            if scans || !said.contains("scan") {
                told = true;
                lie(reads, found);
            }
        });
        assert!(told, "{said}: never told");
        let Err(wit::Stop::Misread(why)) = came else { panic!("{said}: {came:?}") };
        assert_eq!(why, said);
        is_well(&mut component, &key);
    }
}

#[test]
fn damaged_and_torn_rows_are_an_error_or_an_answer_and_never_a_trap() {
    let (held, key) = furnished();
    let mut component = PROGRAM.start_over(&json!({}), held, Some(PLENTY));
    let (mut refused, mut answered) = (0, 0);
    for input in [create(&key), request(Method::Get, "/user/tools", &key, Body::None)] {
        // Each value of each round in turn is halved, altered or emptied.
        for at in 0..40_usize {
            for damage in [
                (|value| value.truncate(value.len() / 2)) as fn(&mut Vec<u8>),
                |value| value.iter_mut().for_each(|byte| *byte ^= 0x55),
                Vec::clear,
            ] {
                let mut count = 0;
                let came = lied_to(&mut component, &input, |_, _, found| {
                    for value in found.iter_mut() {
                        match value {
                            wit::Found::Value(Some(value)) => {
                                if count == at {
                                    damage(value);
                                }
                                count += 1;
                            }
                            wit::Found::Rows(rows) => rows.iter_mut().for_each(|row| {
                                if count == at {
                                    damage(&mut row.value);
                                }
                                count += 1;
                            }),
                            _ => {}
                        }
                    }
                });
                match came {
                    Err(wit::Stop::Corrupt(_)) => refused += 1,
                    Err(stop) => panic!("value {at}: {stop:?}"),
                    Ok(_) => answered += 1,
                }
            }
        }
    }
    assert!(refused > 20 && answered > 20, "{refused} refused, {answered} answered");
    is_well(&mut component, &key);
}

#[test]
fn an_instance_that_is_stopped_in_the_middle_is_dropped_and_nothing_has_happened() {
    let (held, key) = furnished();
    let before = switchboard_proof::subject::all(&held);
    let mut trapped = 0;
    for fuel in [1_000, 10_000, 100_000, 1_000_000] {
        let mut component = PROGRAM.start_over(&json!({}), held.clone(), Some(PLENTY));
        let session = component.open(&create(&key), now(), Seed::new([9; 32])).expect("no trap");
        component.refuel(fuel);
        let mut found = Vec::new();
        let trap = loop {
            match component.advance(session, &found) {
                Err(trap) => break Some(trap),
                Ok(Ok(wit::Progress::Need(reads))) => {
                    let reads: Vec<Read> = reads.into_iter().map(convert::read).collect();
                    let carried = region::carry_out(component.held(), &reads).expect("rows in memory");
                    found = carried.into_iter().map(convert::found).collect();
                }
                Ok(_) => break None,
            }
        };
        let Some(trap) = trap else { continue };
        trapped += 1;
        assert_eq!(trap.downcast_ref::<wasmtime::Trap>(), Some(&wasmtime::Trap::OutOfFuel), "{trap}");
        component.refuel(PLENTY);
        assert!(component.advance(session, &[]).is_err(), "an instance that trapped is never entered again");
        assert_eq!(component.rows(), before, "nothing was stored");
        let mut next = PROGRAM.start_over(&json!({}), held.clone(), Some(PLENTY));
        is_well(&mut next, &key);
        let made = next.step(&create(&key), now(), Seed::new([9; 32]), &Limits::none()).expect("a step");
        assert!(made.changes.iter().any(|change| matches!(change, Change::Put(..))), "the request is carried out");
    }
    assert!(trapped >= 2, "{trapped} of the amounts of fuel ran out");
}
