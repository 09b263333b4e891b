//! Simulated voice engines: they claim calls over the interface of every engine, and create inbound ones. They behave
//! well or badly: they repeat reports, send them out of order, name calls of others, fall silent, go away. Every answer
//! is checked.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchboard_core::id;
use switchboard_core::limits::CLAIMED_MAX;

use crate::agenda::SECOND;
use crate::checks::{Cause, Held, holds};
use crate::client::{Ask, Client, Heard};
use crate::random::Random;
use crate::script;
use crate::session::Session;
use crate::world::{Event, World};

/// A planned action of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errand {
    /// Claim calls while there is room for more.
    Claim,
    /// Claim calls again after an absence.
    Return,
    /// Report the next events of a call.
    Beat(u64),
    /// Create an inbound call.
    Bring,
}

/// Probabilities of misbehaviour, per mille.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manners {
    /// Reports something wrong before the right events.
    pub lies: u64,
    /// Forgets a call that it holds.
    pub forgets: u64,
    /// Ignores the command to hang up.
    pub disobeys: u64,
    /// Claims no calls for a while.
    pub leaves: u64,
    /// Gives a call back before it dials.
    pub releases: u64,
    /// Drains: claims no calls, and carries those that it has.
    pub drains: u64,
}

/// A simulated engine with the calls it holds.
#[derive(Debug)]
pub struct Engine {
    /// Engine token with which it claims and reports.
    pub token: String,
    /// Edition of the interface that it speaks.
    pub protocol: u64,
    modes: Vec<&'static str>,
    /// Most calls that it carries at once.
    pub capacity: u64,
    /// Probabilities of its misbehaviour.
    pub manners: Manners,
    asking: bool,
    called: bool,
    /// Calls that it holds, by id.
    pub held: BTreeMap<u64, Session>,
    /// The one account that it serves; `None` for all.
    serves: Option<u32>,
}

impl Engine {
    /// Creates the engine of a token; the first engine serves all modes and accounts.
    pub fn new(token: &str, at: usize, random: &mut Random) -> Self {
        let first = at == 0;
        let all = vec!["pipeline", "multimodal", "dualplex"];
        let modes = if first { Vec::new() } else { all.into_iter().filter(|_| random.chance(600)).collect() };
        let most = random.weighed(&[(2, 0), (2, 30), (1, 150)]);
        Self {
            token: token.to_owned(),
            protocol: random.weighed(&[(1, 1), (3, 2)]),
            modes,
            capacity: if first { random.within(4..=12) } else { random.within(1..=4) },
            manners: Manners {
                lies: most,
                forgets: most / 4,
                disobeys: most,
                leaves: random.one(&[0, 60]),
                releases: random.one(&[0, 0, 150, 900]),
                drains: random.one(&[0, 80]),
            },
            asking: false,
            called: false,
            held: BTreeMap::new(),
            serves: match at {
                1 => Some(0),
                2 => Some(1),
                _ => None,
            },
        }
    }

    /// Returns whether it should claim now that calls are waiting; true only once until it has claimed.
    pub fn is_called(&mut self) -> bool {
        let idle = !self.asking && !self.called;
        self.called |= idle;
        idle
    }

    fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.held.len() as u64)
    }
}

impl World {
    /// Performs a planned action of an engine.
    pub fn engine_acts(&mut self, engine: usize, errand: Errand) {
        match errand {
            Errand::Claim => self.claim(engine),
            Errand::Return => {
                self.engines[engine].asking = false;
                self.claim(engine);
            }
            Errand::Beat(call) => self.beat(engine, call),
            Errand::Bring => self.bring(engine),
        }
    }

    fn claim(&mut self, at: usize) {
        let engine = &mut self.engines[at];
        engine.called = false;
        if engine.asking || engine.room() == 0 {
            return;
        }
        engine.asking = true;
        if self.random.chance(engine.manners.leaves) {
            let minutes = self.random.within(2..=40);
            return self.later(minutes * 60 * SECOND, Event::Engine(at, Errand::Return));
        }
        // An engine that drains waits for commands alone.
        let capacity = if self.random.chance(engine.manners.drains) { 0 } else { engine.room() };
        let mut body = json!({ "engine": format!("engine {at}"), "capacity": capacity, "protocol": engine.protocol });
        if !engine.modes.is_empty() {
            body["modes"] = json!(engine.modes);
        }
        let token = engine.token.clone();
        body["wait"] = json!(self.random.one(&[0, 5, 30]));
        let request = Ask::post("/engine/claim", body).by(&token);
        self.ask(Client::Claim { engine: at, capacity }, request, Cause::default());
    }

    /// Handles and checks an answer to an engine.
    pub fn engine_hears(&mut self, client: &Client, heard: &Heard) {
        let held = match *client {
            Client::Claim { engine, capacity } => self.claimed(engine, capacity, heard),
            Client::Report { engine, call, saying } => self.reported(engine, call, saying, heard),
            Client::Bring { engine } => self.brought(engine, heard),
            Client::Tool { engine, call } => self.tool_told(engine, call, heard),
            Client::Person { .. } | Client::Talk { .. } => Ok(()),
        };
        self.note(held);
    }

    fn claimed(&mut self, at: usize, capacity: u64, heard: &Heard) -> Held {
        self.engines[at].asking = false;
        let Heard::Said(200, answer) = heard else {
            let seconds = self.random.within(1..=10);
            self.later(seconds * SECOND, Event::Engine(at, Errand::Claim));
            return Ok(());
        };
        let calls = answer["calls"].as_array().cloned().unwrap_or_default();
        let most = usize::try_from(capacity).unwrap_or(usize::MAX).min(CLAIMED_MAX);
        holds!(calls.len() <= most, "an engine gets no more calls than it asked for: {} of {capacity}", calls.len());
        for entry in &calls {
            self.hold(at, entry)?;
        }
        if !calls.is_empty() {
            self.later(SECOND, Event::Engine(at, Errand::Claim));
        } else if self.mirror.is_awaited() {
            // The waiting calls are for another engine, or over their plan's limit: claim again now and then.
            let seconds = self.random.within(60..=300);
            self.later(seconds * SECOND, Event::Engine(at, Errand::Claim));
        }
        Ok(())
    }

    /// Takes over a claimed call: the moment at which a person is really called.
    fn hold(&mut self, at: usize, entry: &Value) -> Held {
        let call = entry["call"]["id"].as_u64().ok_or("a claimed call has an id")?;
        let engine = &self.engines[at];
        let (protocol, releases) = (engine.protocol, engine.manners.releases);
        // One that came in is answered, not dialed.
        let is_outbound = entry["call"]["type"] == "outbound";
        self.handing.give(call, at, if is_outbound { protocol } else { 1 })?;
        holds!(entry["next_seq"] == 1, "a call that is handed out is numbered from 1: {entry}");
        holds!(
            entry["assistant"]["prompt"].is_string() && entry["lease"].is_string(),
            "a claimed call comes with its assistant and a lease: {entry}"
        );
        let mode = entry["assistant"]["mode"].as_str().unwrap_or_default();
        holds!(
            engine.serves.is_none_or(|account| account == id::split(call).0),
            "an engine gets calls of its own accounts: {call} is not for {:?}",
            engine.serves
        );
        let carries = engine.modes.is_empty() || engine.modes.contains(&mode) || entry["call"]["type"] != "outbound";
        holds!(carries, "an engine gets calls of the modes it named: {call} is {mode}");
        let timing = |name: &str| entry["assistant"]["timings"][name].as_u64().ok_or("an assistant has timings");
        let (ringing_time, max_duration) = (timing("ringing_time")?, timing("max_duration")?);
        let is_released = is_outbound && protocol == 2 && self.random.chance(releases);
        let script = if is_released {
            script::release(&mut self.random)
        } else {
            script::draw(&mut self.random, ringing_time, max_duration, if is_outbound { protocol } else { 1 })
        };
        self.tally.dialed += 1;
        let session = Session::new(script, self.now, protocol);
        let engine = &mut self.engines[at];
        engine.held.insert(call, session);
        self.plan_beat(at, call);
        Ok(())
    }

    fn bring(&mut self, at: usize) {
        let numbers: Vec<(u64, String)> = self.people.iter().flat_map(|person| person.inbound.clone()).collect();
        let Some((assistant, number)) = self.random.pick(&numbers).cloned() else { return };
        let mut body = if self.random.chance(700) {
            json!({ "type": "inbound", "from": format!("+4071{:07}", self.random.below(1_000)), "to": number })
        } else {
            json!({ "type": "web", "assistant_id": assistant })
        };
        (body["engine"], body["protocol"]) = (json!(format!("engine {at}")), json!(self.engines[at].protocol));
        let request = Ask::post("/engine/calls", body).by(&self.engines[at].token);
        self.ask(Client::Bring { engine: at }, request, Cause::default());
    }

    fn brought(&mut self, at: usize, heard: &Heard) -> Held {
        match heard {
            Heard::Said(201, entry) => self.hold(at, entry),
            heard => {
                let fine = heard.is_lost() || matches!(heard.status(), 402..=404);
                holds!(fine, "a call that is brought is taken or refused: {heard:?}");
                Ok(())
            }
        }
    }
}
