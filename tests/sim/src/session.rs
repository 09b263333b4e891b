//! [`Session`]: one call of an engine, from its claim to its end: reports, renewals, repetitions and, for a badly
//! behaved engine, wrong reports.

use serde_json::{Value, json};
use switchboard_core::call::tables::CallStatus;
use switchboard_core::id;
use switchboard_core::time::Timestamp;

use crate::agenda::{SECOND, after};
use crate::checks::{Cause, Held, hears, holds, line_of, numbered};
use crate::client::{Ask, Client, Heard, Saying};
use crate::engine::Errand;
use crate::script::{self, Script};
use crate::world::{Event, World};

/// Probability that the model calls a tool before a beat, per mille.
const TOOLS: u64 = 40;
/// Longest silence of an engine that means to keep its call, seconds.
const RENEWAL_SECONDS: u64 = 20;

/// A call that an engine holds.
#[derive(Debug)]
pub struct Session {
    script: Script,
    seq: u64,
    due: Timestamp,
    /// Events sent and not yet acknowledged.
    open: Option<Vec<Value>>,
    /// Events acknowledged last, for a repetition.
    last: Vec<Value>,
    told: bool,
    protocol: u64,
    rang: bool,
    ended_at: Option<Timestamp>,
    /// Ids of commands whose end is reported.
    known: Vec<Value>,
}

impl Session {
    /// Creates a session whose script begins now.
    pub fn new(script: Script, now: Timestamp, protocol: u64) -> Self {
        let (open, last, known, ended_at) = (None, Vec::new(), Vec::new(), None);
        Self { script, seq: 0, due: now, open, last, told: false, protocol, rang: false, ended_at, known }
    }

    /// Returns the next events with their numbers; the same ones until they are acknowledged.
    fn next(&mut self, now: Timestamp) -> Vec<Value> {
        let (seq, script, ended_at) = (self.seq, &self.script, self.ended_at);
        let events = self.open.get_or_insert_with(|| {
            let events = script.front().map(|beat| beat.events.clone()).unwrap_or_default();
            let number = |(at, mut event): (usize, Value)| {
                let number = seq + 1 + at as u64;
                let is_late = event.as_object_mut().and_then(|members| members.remove("late")).is_some();
                event["seq"] = json!(number);
                event["at"] = json!(ended_at.filter(|_| is_late).unwrap_or(now).iso());
                if let Some(text) = event["text"].as_str() {
                    event["text"] = json!(numbered(text, number));
                }
                event
            };
            events.into_iter().enumerate().map(number).collect()
        });
        events.clone()
    }

    /// Returns whether these events, once they are taken, make the phone of somebody ring for the first time.
    fn rings(&mut self) -> bool {
        let ringing = |event: &Value| ["dialing", "ringing", "answered"].iter().any(|kind| event["type"] == *kind);
        let rings = !self.rang && self.open.iter().flatten().any(ringing);
        self.rang |= rings;
        rings
    }

    fn acknowledged(&mut self) {
        self.script.pop_front();
        let is_end = |event: &&Value| event["type"] == "ended";
        let end = self.open.iter().flatten().find(is_end).and_then(|event| event["at"].as_str());
        self.ended_at = end.and_then(Timestamp::parse_iso).or(self.ended_at);
        self.last = self.open.take().unwrap_or_default();
        self.seq += self.last.len() as u64;
    }
}

impl World {
    /// Plans the next report of a call, with renewals until then.
    pub(crate) fn plan_beat(&mut self, at: usize, call: u64) {
        let Some(session) = self.engines[at].held.get_mut(&call) else { return };
        let Some(beat) = session.script.front() else {
            self.engines[at].held.remove(&call);
            return self.later(SECOND, Event::Engine(at, Errand::Claim));
        };
        if session.open.is_none() {
            session.due = self.now.plus_seconds(beat.after_seconds);
        }
        self.come_back(at, call);
    }

    fn come_back(&mut self, at: usize, call: u64) {
        let Some(session) = self.engines[at].held.get(&call) else { return };
        let wait = session.due.seconds_since(self.now).min(RENEWAL_SECONDS);
        let micros = wait * SECOND + self.random.below(SECOND);
        self.later(micros, Event::Engine(at, Errand::Beat(call)));
    }

    pub(crate) fn beat(&mut self, at: usize, call: u64) {
        let manners = self.engines[at].manners;
        if !self.engines[at].held.contains_key(&call) {
            return;
        }
        if self.random.chance(manners.forgets) {
            self.tally.lies += 1;
            self.engines[at].held.remove(&call);
            return self.later(SECOND, Event::Engine(at, Errand::Claim));
        }
        let talks = self.mirror.calls.get(&id::split(call)).is_some_and(|call| call.status == CallStatus::InProgress);
        if talks && self.random.chance(TOOLS) {
            return self.use_tool(at, call);
        }
        let (now, liar) = (self.now, self.random.chance(manners.lies));
        let lie = self.random.one(&[Saying::Gap, Saying::Again, Saying::Stranger, Saying::Wrong]);
        let Some(session) = self.engines[at].held.get_mut(&call) else { return };
        // An engine that waits for an acknowledgement does not know the next sequence number.
        let lies = liar && session.open.is_none();
        let saying = match (lies, session.due > now) {
            (true, _) => lie,
            (false, true) => Saying::Renewal,
            (false, false) => Saying::Truth,
        };
        let events = match saying {
            Saying::Truth => session.next(now),
            Saying::Renewal | Saying::Stranger => Vec::new(),
            Saying::Again => session.last.clone(),
            Saying::Gap => vec![json!({ "seq": session.seq + 2, "type": "ringing" })],
            Saying::Wrong => {
                let unanswered = self.mirror.calls.get(&id::split(call)).map(|call| call.status);
                let wrong = if unanswered == Some(CallStatus::Initiated) { "dtmf" } else { "ringing" };
                vec![json!({ "seq": session.seq + 1, "type": wrong, "digits": "1" })]
            }
        };
        let named = if saying == Saying::Stranger { self.foreign(at, call) } else { call };
        self.tally.lies += u64::from(lies);
        let request = Ask::post(format!("/engine/calls/{named}/events"), json!({ "events": events }));
        let request = request.by(&self.engines[at].token);
        self.ask(Client::Report { engine: at, call, saying }, request, Cause::default());
    }

    /// Returns a call that this engine does not hold: another engine's, or a missing one.
    fn foreign(&mut self, at: usize, call: u64) -> u64 {
        let others = self.engines.iter().enumerate().filter(|(other, _)| *other != at);
        let foreign: Vec<u64> = others.flat_map(|(_, engine)| engine.held.keys().copied()).collect();
        self.random.pick(&foreign).copied().unwrap_or(call + 1_000_000)
    }

    pub(crate) fn reported(&mut self, at: usize, call: u64, saying: Saying, heard: &Heard) -> Held {
        let known = self.mirror.calls.get(&id::split(call));
        let runs = known.is_some_and(|call| call.status.is_running());
        if heard.is_lost() {
            // Sends the same events again; those already taken must not be applied twice.
            let micros = self.random.within(SECOND..=4 * SECOND);
            self.later(micros, Event::Engine(at, Errand::Beat(call)));
            return Ok(());
        }
        // Tokens are counted as engines are, from 1.
        let released = heard.status() == 200 && saying == Saying::Truth && self.releases(at, call);
        let is_own = released || known.is_none_or(|call| call.engine == u32::try_from(at + 1).ok());
        hears(saying, known, is_own, heard)?;
        let Heard::Said(status, answer) = heard else { return Ok(()) };
        self.stored(at, call, saying, *status)?;
        let commands = answer["commands"].as_array().cloned().unwrap_or_default();
        let disobeys = self.random.chance(self.engines[at].manners.disobeys);
        let Some(session) = self.engines[at].held.get_mut(&call) else { return Ok(()) };
        match (saying, status) {
            (Saying::Truth, 200) => {
                session.acknowledged();
                self.plan_beat(at, call);
            }
            (Saying::Renewal, 200) if runs => self.come_back(at, call),
            (Saying::Truth | Saying::Renewal, _) => {
                self.engines[at].held.remove(&call);
                self.later(SECOND, Event::Engine(at, Errand::Claim));
            }
            _ => self.come_back(at, call),
        }
        for command in commands.iter().filter(|_| runs && !disobeys) {
            if command["type"] == "hangup" { self.hang_up(at, call) } else { self.obey(at, call, command) }
        }
        Ok(())
    }

    /// Returns whether the report that an engine has under way gives its call back.
    fn releases(&self, at: usize, call: u64) -> bool {
        let open = self.engines[at].held.get(&call).and_then(|session| session.open.as_ref());
        open.is_some_and(|events| events.iter().any(|event| event["type"] == "release"))
    }

    /// Notes what a true report that was taken means: whose phone rings, and what must be stored of it.
    fn stored(&mut self, at: usize, call: u64, saying: Saying, status: u16) -> Held {
        let outbound = self.mirror.calls.get(&id::split(call)).is_some_and(|call| call.kind == "outbound");
        let Some(session) = self.engines[at].held.get_mut(&call).filter(|_| saying == Saying::Truth) else {
            return Ok(());
        };
        if status != 200 {
            return Ok(());
        }
        let open = session.open.clone().unwrap_or_default();
        // Where the answer got lost, the lease may have ended before the service heard of it.
        if open.iter().any(|event| event["type"] == "release") {
            self.handing.refuse(call, at);
        }
        let rings = session.rings() && session.protocol == 2 && outbound;
        if rings {
            self.handing.ring(call)?;
        }
        let place = id::split(call);
        let lines = open.iter().filter_map(|event| line_of(event["text"].as_str()?));
        for line in lines.filter(|_| self.mirror.calls.contains_key(&place)) {
            holds!(self.checks.telling.has(place, line), "what was acknowledged is stored: line {line} of {place:?}");
        }
        Ok(())
    }

    /// Has an engine report the end of a command soon, done or refused.
    fn obey(&mut self, at: usize, call: u64, command: &Value) {
        let (now, done) = (self.now, self.random.chance(600));
        let Some(session) = self.engines[at].held.get_mut(&call) else { return };
        if session.open.is_some() || session.told || session.known.contains(&command["id"]) {
            return;
        }
        session.known.push(command["id"].clone());
        let status = if done { "done" } else { "refused" };
        let end = json!({ "type": "command", "id": command["id"], "status": status });
        session.script.push_front(script::Beat { after_seconds: 0, events: vec![end] });
        session.due = now;
        self.come_back(at, call);
    }

    /// Has an engine that is told to hang up report the end soon.
    fn hang_up(&mut self, at: usize, call: u64) {
        let talking = self.mirror.calls.get(&id::split(call)).is_some_and(|call| call.status == CallStatus::InProgress);
        let now = self.now;
        let Some(session) = self.engines[at].held.get_mut(&call) else { return };
        if session.told || session.open.is_some() {
            return;
        }
        session.told = true;
        let over = if talking { "ended" } else { "failed" };
        session.script.clear();
        let mut events = vec![json!({ "type": over, "by": "service" })];
        if session.protocol == 2 {
            events.insert(0, json!({ "type": "command", "id": "hangup", "status": "done" }));
        }
        session.script.push_back(script::Beat { after_seconds: 0, events });
        (session.open, session.due) = (None, after(now, SECOND));
        self.come_back(at, call);
    }

    /// Has the model call a tool; the engine reports nothing until it is answered.
    fn use_tool(&mut self, at: usize, call: u64) {
        let ask = Ask::post(format!("/engine/calls/{call}/tools/look"), json!({ "arguments": { "city": "Iasi" } }));
        let request = ask.by(&self.engines[at].token);
        self.ask(Client::Tool { engine: at, call }, request, Cause::default());
    }

    pub(crate) fn tool_told(&mut self, at: usize, call: u64, heard: &Heard) -> Held {
        let fine = heard.is_lost() || matches!(heard.status(), 200 | 404 | 409 | 502 | 504);
        holds!(fine, "a tool is asked, or the engine hears why not: {call} {heard:?}");
        let place = id::split(call);
        let is_running = self.mirror.calls.get(&place).is_some_and(|call| call.status.is_running());
        let lease = self.mirror.leases.get(&place);
        holds!(
            heard.status() != 200 || !is_running || lease > Some(&self.now),
            "a tool's request holds the lease while it runs: {call} {lease:?}"
        );
        self.come_back(at, call);
        Ok(())
    }
}
