//! `kill -9` under load: clients note each acknowledged write; after each kill and restart, exactly those are there,
//! and of the write in progress all or nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_sim::random::Random;
use switchboard_tests::house::{assistant, campaign, with};
use switchboard_tests::server::{Folder, Server, binary, run};

use crate::report::Row;
use crate::wire::{Line, address_of};
use crate::writing::{At, Base, Client, Kind};

/// Clients that write concurrently.
const CLIENTS: u64 = 4;
/// Latest time of a kill after the server answers, milliseconds.
const ALIVE_MS_MAX: u64 = 80;
/// Kills that hit the server while it starts, per mille.
const EARLY: u64 = 100;
/// Latest time of such a kill after the start, microseconds.
const EARLY_US_MAX: u64 = 30_000;
/// Kills between two runs of `verify`.
const VERIFY_EVERY: u64 = 100;
/// Leads on a page of the list.
const PAGE: usize = 100;
/// The clients need no engine, and the server starts faster without one.
const ARGUMENTS: [&str; 4] = ["--rate-limit", "0", "--engine", "none"];

/// A store whose server is killed again and again.
struct Trial {
    data: PathBuf,
    _folder: Folder,
    key: String,
    base: Base,
    clients: Vec<Client>,
    random: Random,
    /// Leads found by the last check.
    leads: u64,
}

/// Kills the server `wanted` times.
pub fn kills(wanted: u64, seed: u64) -> Row {
    let mut row = Row::begin("no acknowledged write is lost on kill -9", wanted);
    let mut trial = Trial::begin(seed);
    for kill in 1..=wanted {
        row.count(trial.round(kill).map_err(|why| format!("seed {seed}, kill {kill}: {why}")));
        if kill % VERIFY_EVERY == 0 || kill == wanted {
            row.fail_if(trial.verify().map_err(|why| format!("seed {seed}, kill {kill}: {why}")));
        }
        if !row.failures.is_empty() {
            break;
        }
    }
    row.fail_if(trial.end().map_err(|why| format!("seed {seed}, at the end: {why}")));
    let acknowledged: u64 = trial.clients.iter().map(|client| client.notes.acknowledged).sum();
    row.notes.push(format!("{acknowledged} writes acknowledged, {} leads of all time read again", trial.leads));
    row.end()
}

impl Trial {
    fn begin(seed: u64) -> Self {
        let folder = Folder::new();
        let data = folder.path("data");
        let server = Server::start(&data, &ARGUMENTS);
        let (key, url) = (server.text("api_key").to_owned(), server.text("url").to_owned());
        let mut line = Line::to(address_of(&url), &key).expect("a server that answers");
        let mut make = |path: &str, body: &Value| {
            let answer = line.ask("POST", path, Some(body)).expect("an answer");
            answer.json["data"]["id"].as_u64().unwrap_or_else(|| panic!("{} {}", answer.status, answer.json))
        };
        let assistant = make("/user/assistant", &with(assistant(), &json!({ "name": "base" })));
        let base = Base {
            assistant,
            campaign: make("/user/campaigns", &with(campaign(assistant), &json!({ "name": "base" }))),
        };
        server.kill();
        let mut random = Random::new(seed);
        let clients = (0..CLIENTS).map(|number| Client::new(number, random.fork())).collect();
        Self { data, _folder: folder, key, base, clients, random, leads: 0 }
    }

    /// Runs one cycle: start, load, kill, restart and check.
    fn round(&mut self, kill: u64) -> Result<(), String> {
        if self.random.chance(EARLY) {
            let starting = Server::spawn(Command::new(binary()), &self.data, &ARGUMENTS);
            std::thread::sleep(Duration::from_micros(self.random.below(EARLY_US_MAX)));
            starting.kill();
        }
        let server = self.start()?;
        let address = address_of(server.text("url"));
        self.check(address, kill)?;
        let alive = Duration::from_micros(self.random.below(ALIVE_MS_MAX * 1_000));
        let (key, base) = (self.key.clone(), self.base);
        std::thread::scope(|scope| {
            let (told, failed) = channel();
            for client in &mut self.clients {
                let (told, key) = (told.clone(), &key);
                scope.spawn(move || {
                    if let Err(failure) = client.write(address, key, base) {
                        // Only the first failure is reported.
                        let _ = told.send(failure);
                    }
                });
            }
            std::thread::sleep(alive);
            server.kill();
            drop(told);
            failed.iter().next().map_or(Ok(()), Err)
        })
    }

    fn start(&self) -> Result<Server, String> {
        let starting = Server::spawn(Command::new(binary()), &self.data, &ARGUMENTS);
        starting.outcome().map_err(|code| format!("the server does not start: {code:?}"))
    }

    /// Checks that the store holds what was acknowledged. All leads are counted, and the newest ones read.
    fn check(&mut self, address: SocketAddr, kill: u64) -> Result<(), String> {
        let mut line = Line::to(address, &self.key).map_err(|error| error.to_string())?;
        let mut found = BTreeMap::new();
        for kind in [Kind::Tool, Kind::Assistant, Kind::Campaign] {
            let answer = line.ask("GET", kind.path(), None).map_err(|error| error.to_string())?;
            let rows = answer.json.as_array().ok_or_else(|| format!("{kind:?}: {}", answer.json))?;
            found.extend(rows.iter().map(|row| entry(kind, row)));
        }
        found.remove(&(Kind::Assistant, self.base.assistant));
        found.remove(&(Kind::Campaign, self.base.campaign));
        let (leads, total) = leads(&mut line, 1)?;
        found.extend(leads);
        self.settle(&found)?;
        let expected = self.count(Kind::Lead);
        self.leads = total;
        if expected != total {
            return Err(format!("before kill {kill} there are {total} leads, not {expected}"));
        }
        Ok(())
    }

    fn count(&self, kind: Kind) -> u64 {
        self.clients.iter().map(|client| client.notes.rows.keys().filter(|(of, _)| *of == kind).count() as u64).sum()
    }

    /// Resolves the writes in progress, then compares.
    fn settle(&mut self, found: &BTreeMap<At, String>) -> Result<(), String> {
        self.clients.iter_mut().for_each(|client| client.notes.settle(found));
        let mut want = BTreeMap::new();
        self.clients.iter().for_each(|client| want.extend(client.notes.rows.clone()));
        // Only the newest leads were read.
        let oldest = found.keys().filter(|(kind, _)| *kind == Kind::Lead).min().copied();
        want.retain(|at, _| at.0 != Kind::Lead || oldest.is_some_and(|oldest| *at >= oldest));
        match want.iter().find(|(at, mark)| found.get(at) != Some(mark)) {
            Some((at, mark)) => Err(format!("{at:?} is {:?}, not the acknowledged {mark}", found.get(at))),
            None => {
                found.keys().find(|at| !want.contains_key(at)).map_or(Ok(()), |at| Err(format!("{at:?} is too many")))
            }
        }
    }

    fn verify(&self) -> Result<(), String> {
        let verified = run(&["verify", self.data.to_str().ok_or("a path")?]);
        let text = String::from_utf8_lossy(&verified.stdout).into_owned();
        if verified.status.success() { Ok(()) } else { Err(text) }
    }

    /// Reads every lead ever created, page by page.
    fn end(&mut self) -> Result<(), String> {
        let server = self.start()?;
        let address = address_of(server.text("url"));
        self.check(address, 0)?;
        let mut line = Line::to(address, &self.key).map_err(|error| error.to_string())?;
        let (mut found, mut page) = (BTreeMap::new(), 1);
        loop {
            let (leads, total) = leads(&mut line, page)?;
            found.extend(leads);
            if page * PAGE as u64 >= total {
                break;
            }
            page += 1;
        }
        self.leads = found.len() as u64;
        let lost = self.clients.iter().flat_map(|client| &client.notes.rows);
        let lost = lost.filter(|((kind, _), _)| *kind == Kind::Lead).find(|(at, mark)| found.get(at) != Some(mark));
        lost.map_or(Ok(()), |(at, mark)| Err(format!("{at:?} with {mark} is lost")))?;
        if server.stop() == Some(0) { self.verify() } else { Err("the server does not stop well".into()) }
    }
}

fn entry(kind: Kind, row: &Value) -> (At, String) {
    ((kind, row["id"].as_u64().unwrap_or_default()), row[kind.mark()].as_str().unwrap_or_default().to_owned())
}

/// Reads a page of leads, newest first, with the total.
fn leads(line: &mut Line, page: u64) -> Result<(BTreeMap<At, String>, u64), String> {
    let path = format!("/user/leads?per_page={PAGE}&page={page}");
    let answer = line.ask("GET", &path, None).map_err(|error| error.to_string())?;
    let rows = answer.json["data"].as_array().ok_or_else(|| format!("leads: {}", answer.json))?;
    let total = answer.json["total"].as_u64().ok_or_else(|| format!("leads: {}", answer.json))?;
    Ok((rows.iter().map(|row| entry(Kind::Lead, row)).collect(), total))
}
