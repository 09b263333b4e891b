//! The component in wasmtime, its rows in a `BTreeMap`:
//! `cargo xtask component && cargo run -p switchboard-pure --example embed -- target/wasm32-unknown-unknown/wasm/switchboard_pure.wasm`.

use std::collections::BTreeMap;

use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Error, Store};

use bindings::Pure;
use bindings::exports::switchboard::core::engine::Progress;
use bindings::exports::switchboard::core::types::{
    Body, Change, Content, Door, Exchange, Found, Header, Input, Outcome, Output, Read, Request, Row, Scan,
};

mod bindings {
    #![allow(missing_docs)]
    wasmtime::component::bindgen!({ path: "../../wit", world: "pure" });
}

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

struct Service {
    store: Store<()>,
    pure: Pure,
    handle: wasmtime::component::ResourceAny,
    rows: Rows,
}

impl Service {
    /// Runs one step: loads what it asks for, and applies its changes.
    fn step(&mut self, input: &Input) -> Result<Output, Error> {
        let engine = self.pure.switchboard_core_engine();
        // In production the time comes from the clock and the seed from a random source; here every run is the same.
        let (now, seed) = (1_800_000_000_000_000, (1, 2, 3, 4));
        let session = engine.session().call_constructor(&mut self.store, self.handle, input, now, seed)?;
        let mut found = Vec::new();
        let output = loop {
            match engine.session().call_advance(&mut self.store, session, &found)? {
                Ok(Progress::Need(reads)) => found = reads.into_iter().map(|read| load(&self.rows, read)).collect(),
                Ok(Progress::Done(output)) => break output,
                Err(stop) => return Err(Error::msg(format!("{stop:?}"))),
            }
        };
        session.resource_drop(&mut self.store)?;
        for change in &output.changes {
            match change {
                Change::Put(row) => self.rows.insert(row.key.clone(), row.value.clone()),
                Change::Delete(key) => self.rows.remove(key),
            };
        }
        Ok(output)
    }
}

fn load(rows: &Rows, read: Read) -> Found {
    match read {
        Read::Get(key) => Found::Value(rows.get(&key).cloned()),
        Read::Scan(Scan { from, to, descending, limit }) => {
            let row = |(key, value): (&Vec<u8>, &Vec<u8>)| Row { key: key.clone(), value: value.clone() };
            let (all, limit) = (rows.range(from..to), limit as usize);
            Found::Rows(if descending {
                all.rev().take(limit).map(row).collect()
            } else {
                all.take(limit).map(row).collect()
            })
        }
        Read::Admit(_) => Found::Rate(None),
    }
}

fn json(output: &Output) -> String {
    match &output.outcome {
        Outcome::Reply(reply) => match &reply.content {
            Content::Json(bytes) => format!("{} {}", reply.status, String::from_utf8_lossy(bytes)),
            _ => reply.status.to_string(),
        },
        other => format!("{other:?}"),
    }
}

fn main() -> Result<(), Error> {
    let file = std::env::args().nth(1).ok_or_else(|| Error::msg("which component?"))?;
    let engine = Engine::default();
    let component = Component::from_file(&engine, file)?;
    let mut store = Store::new(&engine, ());
    // The linker is empty: the component imports nothing.
    let pure = Pure::instantiate(&mut store, &component, &Linker::new(&engine))?;
    let opened = pure.switchboard_core_engine().service().call_open(&mut store, "{}")?;
    let mut service = Service { handle: opened.map_err(Error::msg)?, store, pure, rows: Rows::new() };
    // The first run asks for the password's digest, and a second continues with it.
    let asked = service.step(&Input::FirstStart(Vec::new()))?;
    let mut answers = Vec::new();
    for send in &asked.sends {
        let engine = service.pure.switchboard_core_engine();
        answers.extend(engine.call_perform(&mut service.store, &send.work)?);
    }
    let secrets = json(&service.step(&Input::FirstStart(answers))?);
    let key = secrets.split('"').skip_while(|text| *text != "api_key").nth(2).unwrap_or_default();
    let headers = vec![Header { name: "authorization".into(), value: format!("Bearer {key}").into_bytes() }];
    let (method, target) = ("GET".into(), "/user/me".into());
    let request = Request { method, target, headers, body: Body::None, peer: None, door: Door::Main };
    println!("{}", json(&service.step(&Input::Http(Exchange { request, answers: Vec::new() }))?));
    Ok(())
}
