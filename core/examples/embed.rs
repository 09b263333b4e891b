//! The service over a `BTreeMap`: `cargo run -p switchboard-core --example embed`.

use std::collections::BTreeMap;
use std::ops::Range;

use switchboard_core::http::reply::Content;
use switchboard_core::key::Key;
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::step::Input;
use switchboard_core::view::Order;
use switchboard_core::{
    Change, Config, Outcome, Output, Request, Scene, Seed, Service, Stop, Timestamp, View, perform,
};

struct Rows(BTreeMap<Key, Vec<u8>>);

impl View for Rows {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, Stop> {
        Ok(keys.iter().map(|key| self.0.get(key).cloned()).collect())
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Vec<u8>)>, Stop> {
        let rows = self.0.range(range).map(|(key, value)| (key.clone(), value.clone()));
        Ok(if order == Order::Ascending { rows.take(limit).collect() } else { rows.rev().take(limit).collect() })
    }

    fn admit(&self, _: Caller) -> Result<Option<Rate>, Stop> {
        Ok(None)
    }
}

/// One step, with its changes made: a real host commits them here, then replies, then sends.
fn step(service: &Service, rows: &mut Rows, input: &Input<'_>, seed: [u8; 32]) -> Output {
    let scene =
        Scene { now: Timestamp::from_seconds(1_800_000_000), seed: Seed::new(seed), view: rows, careful: false };
    let mut output = service.step(input, &scene).expect("rows in memory are always there");
    for change in output.changes.drain(..) {
        match change {
            Change::Put(key, value) => rows.0.insert(key, value),
            Change::Delete(key) => rows.0.remove(&key),
        };
    }
    output
}

fn body(output: Output) -> String {
    match output.outcome {
        Outcome::Reply(reply) => match reply.content {
            Content::Json(bytes) => format!("{} {}", reply.status, String::from_utf8_lossy(&bytes)),
            other => format!("{} {other:?}", reply.status),
        },
        other => format!("{other:?}"),
    }
}

fn main() {
    let (service, mut rows) = (Service::new(Config::default()), Rows(BTreeMap::new()));
    // The first start asks for its password's digest, and runs again with it. A seed comes from the system's
    // random source; it is fixed here so that every run prints the same.
    let asked = step(&service, &mut rows, &Input::FirstStart(&[]), [7; 32]);
    let answers: Vec<_> = asked.sends.iter().filter_map(|send| perform(&send.work)).collect();
    let secrets = body(step(&service, &mut rows, &Input::FirstStart(&answers), [7; 32]));
    let key = secrets.split('"').skip_while(|text| *text != "api_key").nth(2).expect("a key");
    let request = Request::get("/user/me").bearer(key);
    println!("{}", body(step(&service, &mut rows, &Input::Http(&request, &[]), [8; 32])));
}
