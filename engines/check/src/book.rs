//! A call as the service keeps it: strict about numbers, states and repetitions.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::findings::Findings;
use crate::rules::EngineRule;
use crate::states::{CallPhase, wrong_members};

/// Most events of a list.
const EVENTS_MAX: usize = 100;
/// How much earlier than a tool's request an event must have happened to have led to it: clocks are read in between.
const LED_TO: Duration = Duration::from_millis(20);
/// How long after a call was taken away requests may still be on their way.
const ON_THEIR_WAY: Duration = Duration::from_secs(2);

/// A command that was sent.
#[derive(Clone, Debug)]
pub struct SentOrder {
    /// The command on the wire.
    pub members: Value,
    /// When an answer first carried it; `None` before.
    pub told_at: Option<Instant>,
    /// How often its end was reported.
    pub ends: u32,
    /// Whether its time is over, and was judged.
    pub is_judged: bool,
}

/// A tool that was asked.
#[derive(Clone, Debug)]
struct AskedTool {
    name: String,
    body: Value,
    key: Option<String>,
    is_lost: bool,
    at: Timestamp,
    next_seq: u64,
}

/// The number that a 409 named.
#[derive(Clone, Copy, Debug)]
struct ExpectedNumber {
    seq: u64,
    /// Reports that did not begin with it.
    strikes: u32,
    /// The rule that is broken by going on elsewhere.
    rule: EngineRule,
}

/// A call.
#[derive(Clone, Debug)]
pub struct CallBook {
    /// Its id.
    pub id: u64,
    /// Name of the engine that has it.
    pub engine: String,
    /// Its phase.
    pub phase: CallPhase,
    /// When it was handed out.
    pub claimed_at: Instant,
    /// When its lease was renewed last.
    pub renewed_at: Instant,
    /// Reports without events, and heartbeats that named it.
    pub renewals: u32,
    /// When the engine was told that the call is not its own any more; `None` while it is, or does not know.
    pub lost_told_at: Option<Instant>,
    /// Whether the service took it away.
    pub is_lost: bool,
    /// Commands, the oldest first.
    pub orders: Vec<SentOrder>,
    /// A word that only this call's assistant has, and those of the others.
    pub marker: String,
    next_seq: u64,
    taken: BTreeMap<u64, (Value, CallPhase)>,
    unanswered: BTreeMap<u64, Value>,
    expected: Option<ExpectedNumber>,
    tools: Vec<AskedTool>,
}

/// Why events were not taken: status and body of the answer.
type NotTaken = (u16, Value);

impl CallBook {
    /// Creates the book of a call that is handed out.
    pub fn new(id: u64, engine: &str, marker: String, now: Instant) -> Self {
        Self {
            id,
            engine: engine.into(),
            phase: CallPhase::Claimed,
            claimed_at: now,
            renewed_at: now,
            renewals: 0,
            lost_told_at: None,
            is_lost: false,
            orders: Vec::new(),
            marker,
            next_seq: 1,
            taken: BTreeMap::new(),
            unanswered: BTreeMap::new(),
            expected: None,
            tools: Vec::new(),
        }
    }

    /// Returns whether the engine still has something to do with it.
    pub const fn is_open(&self) -> bool {
        self.phase.is_running() && !self.is_lost
    }

    /// Returns the number that is expected next.
    pub const fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Notes a request about a call that was taken away or given back; returns whether it was. `events` are those of the
    /// request: a report that is sent again, since its answer got lost, says nothing new.
    pub fn is_let_go(&mut self, events: &Value, now: Instant, request: &str, findings: &mut Findings) -> bool {
        if self.phase == CallPhase::Released {
            let mut numbers = events.as_array().into_iter().flatten().filter_map(|event| event["seq"].as_u64());
            if numbers.any(|seq| seq >= self.next_seq) {
                findings.broke(EngineRule::AfterRelease, format!("call {} was given back before", self.id), request);
            }
            return true;
        }
        if let Some(told) = self.lost_told_at
            && now > told + ON_THEIR_WAY
        {
            let late = now - told;
            findings.broke(
                EngineRule::LostLeft,
                format!("call {} was known to be lost {} ms before", self.id, late.as_millis()),
                request,
            );
        }
        if self.is_lost {
            self.lost_told_at.get_or_insert(now);
        }
        self.is_lost
    }

    /// Keeps what was sent and will not be answered, so that it must come again as it is.
    pub fn note_lost(&mut self, events: &[Value]) {
        for event in events {
            if let Some(seq) = event["seq"].as_u64() {
                self.unanswered.entry(seq).or_insert_with(|| event.clone());
            }
        }
    }

    /// Takes events, all or none; returns those that are new.
    pub fn take(
        &mut self,
        events: &Value,
        now: Instant,
        request: &str,
        findings: &mut Findings,
    ) -> Result<Vec<Value>, NotTaken> {
        let Some(events) = events.as_array().filter(|events| events.len() <= EVENTS_MAX) else {
            findings.broke(EngineRule::EventMembers, "events is no list of at most 100 events", request);
            return Err((422, json!({ "message": "The events field must be an array of at most 100 items." })));
        };
        for event in events {
            let wrong = wrong_members(event);
            findings.judge(EngineRule::EventMembers, request, wrong.clone());
            if let Some(wrong) = wrong {
                return Err((422, json!({ "message": wrong })));
            }
        }
        self.check_resumed(events, request, findings);
        let (mut next_seq, mut phase, mut new) = (self.next_seq, self.phase, Vec::new());
        for event in events {
            let seq = event["seq"].as_u64().unwrap_or_default();
            self.check_same(seq, event, request, findings);
            if seq < next_seq {
                continue;
            }
            findings.show(EngineRule::NoGaps);
            if seq > next_seq {
                // It may have overtaken others that are on their way, and then comes again behind them.
                return Err(self.conflict("An event is missing.", EngineRule::NoGaps));
            }
            phase = match phase.after(event) {
                Ok(after) => after,
                Err(rule) => {
                    let kind = event["type"].as_str().unwrap_or_default();
                    findings.broke(rule, format!("{kind} came while the call was {phase:?}"), request);
                    return Err(self.conflict("The call's state does not allow this event.", EngineRule::ResumesAt));
                }
            };
            new.push((event.clone(), phase));
            next_seq += 1;
        }
        Ok(self.accept(new, now, request, findings))
    }

    /// Applies events that may be taken; returns those that were never taken before.
    fn accept(
        &mut self,
        new: Vec<(Value, CallPhase)>,
        now: Instant,
        request: &str,
        findings: &mut Findings,
    ) -> Vec<Value> {
        let mut fresh = Vec::new();
        for (event, phase) in new {
            let before = std::mem::replace(&mut self.phase, phase);
            self.unanswered.remove(&self.next_seq);
            if !self.taken.contains_key(&self.next_seq) {
                self.show(before, &event, findings);
                self.check_before_tool(&event, request, findings);
                self.end_order(&event, request, findings);
                fresh.push(event.clone());
            }
            self.taken.insert(self.next_seq, (event, before));
            self.next_seq += 1;
        }
        self.renewed_at = now;
        fresh
    }

    fn show(&self, before: CallPhase, event: &Value, findings: &mut Findings) {
        findings.show(EngineRule::States);
        match event["type"].as_str().unwrap_or_default() {
            "ringing" | "answered" => findings.show(EngineRule::DialingFirst),
            "ended" | "failed" => {
                findings.show(EngineRule::EveryCallEnds);
                findings.show(EngineRule::AfterEnd);
            }
            "release" => findings.show(EngineRule::AfterRelease),
            _ => {}
        }
        let said = event["text"].as_str().unwrap_or_default();
        if before == CallPhase::Talking && said.contains(&self.marker) {
            findings.show(EngineRule::CallsApart);
        }
    }

    /// Answers that nothing was taken; going on elsewhere than at the number that is named breaks a rule.
    fn conflict(&mut self, message: &str, rule: EngineRule) -> NotTaken {
        let known = self.expected.filter(|expected| expected.seq == self.next_seq);
        self.expected = Some(known.unwrap_or(ExpectedNumber { seq: self.next_seq, strikes: 0, rule }));
        (409, json!({ "message": message, "next_seq": self.next_seq }))
    }

    /// Forgets the last events; returns the answer that asks for them again.
    pub fn forget(&mut self, count: u64) -> NotTaken {
        for _ in 0..count {
            let Some((_, before)) = self.taken.get(&(self.next_seq - 1)) else { break };
            (self.phase, self.next_seq) = (*before, self.next_seq - 1);
        }
        self.conflict("An event is missing.", EngineRule::ResumesAt)
    }

    /// Checks that a report which follows a 409 begins with the number that this named; a report that was on its way
    /// is let pass.
    fn check_resumed(&mut self, events: &[Value], request: &str, findings: &mut Findings) {
        let Some(expected) = &mut self.expected else { return };
        let Some(first) = events.first().and_then(|event| event["seq"].as_u64()) else { return };
        let (seq, rule) = (expected.seq, expected.rule);
        expected.strikes += u32::from(first != seq);
        if first == seq {
            findings.show(rule);
            self.expected = None;
        } else if expected.strikes > 1 {
            let what = format!("it went on with number {first}, where {seq} was asked for");
            findings.judge(rule, request, Some(what));
            self.expected = None;
        }
    }

    fn check_same(&self, seq: u64, event: &Value, request: &str, findings: &mut Findings) {
        let known = self.taken.get(&seq).map(|(known, _)| known).or_else(|| self.unanswered.get(&seq));
        let Some(known) = known else { return };
        let differs = (known != event).then(|| format!("number {seq} was sent before as {known}"));
        findings.judge(EngineRule::SameEvent, request, differs);
    }

    /// Checks that an event is not one that had led to a tool which was asked without it.
    fn check_before_tool(&self, event: &Value, request: &str, findings: &mut Findings) {
        let Some(tool) = self.tools.last() else { return };
        let led = ["answered", "transcript", "dtmf"].contains(&event["type"].as_str().unwrap_or_default());
        let at = event["at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        let Some(at) = at.filter(|_| led && event["seq"].as_u64() >= Some(tool.next_seq)) else { return };
        if tool.at.duration_since(at) > LED_TO.try_into().unwrap_or_default() {
            let what = format!("{} happened before the tool {} was asked, and came after", event["type"], tool.name);
            findings.broke(EngineRule::EventsBeforeTool, what, request);
        }
    }

    fn end_order(&mut self, event: &Value, request: &str, findings: &mut Findings) {
        if event["type"] != "command" {
            return;
        }
        let order = self.orders.iter_mut().find(|order| order.members["id"] == event["id"]);
        let Some(order) = order.filter(|order| order.told_at.is_some()) else {
            return findings.broke(EngineRule::CommandEnds, format!("there is no command {}", event["id"]), request);
        };
        order.ends += 1;
        findings.show(EngineRule::CommandEnds);
        let again = order.ends > 1;
        findings.judge(
            EngineRule::CommandOnce,
            request,
            again.then(|| format!("command {} has ended {} times", event["id"], order.ends)),
        );
    }

    /// Returns the commands that an answer carries, which is how the engine learns of them.
    pub fn told_orders(&mut self, now: Instant) -> Vec<Value> {
        let pending = self.orders.iter_mut().filter(|order| order.ends == 0);
        pending
            .map(|order| {
                order.told_at.get_or_insert(now);
                order.members.clone()
            })
            .collect()
    }

    /// Returns whether every command has ended, of which there was at least one.
    pub fn orders_ended(&self) -> bool {
        !self.orders.is_empty() && self.orders.iter().all(|order| order.ends > 0)
    }

    /// Checks and keeps a request for a tool; `true` where it is a repetition under the same key.
    pub fn ask_tool(
        &mut self,
        (name, body, key): (&str, &Value, Option<&str>),
        request: &str,
        findings: &mut Findings,
    ) -> bool {
        let known = ["look_up", "unreachable"].contains(&name) && body["arguments"].is_object();
        findings.judge(EngineRule::ToolMembers, request, (!known).then(|| format!("{name} is asked with {body}")));
        let talks = self.phase == CallPhase::Talking;
        findings.judge(
            EngineRule::EventsBeforeTool,
            request,
            (!talks).then(|| format!("{name} is asked while the call is {:?}", self.phase)),
        );
        let same = |asked: &&AskedTool| asked.key.is_some() && asked.key.as_deref() == key;
        let repeated = self.tools.iter().find(same).map(|asked| asked.body == *body);
        if repeated == Some(false) {
            findings.broke(EngineRule::ToolOnce, "the key was used with another body", request);
        }
        let lost = self.tools.last().filter(|asked| asked.is_lost && asked.name == name);
        if lost.is_some_and(|asked| asked.body["arguments"] == body["arguments"]) {
            let other = repeated.is_none().then(|| "a tool whose answer got lost was asked anew".into());
            findings.judge(EngineRule::ToolOnce, request, other);
        }
        if repeated.is_none() {
            self.tools.push(AskedTool {
                name: name.into(),
                body: body.clone(),
                key: key.map(String::from),
                is_lost: false,
                at: Timestamp::now(),
                next_seq: self.next_seq,
            });
        }
        repeated.is_some()
    }

    /// Notes that the answer to the last tool gets lost.
    pub fn lose_tool(&mut self, findings: &mut Findings) {
        findings.show(EngineRule::ToolOnce);
        if let Some(tool) = self.tools.last_mut() {
            tool.is_lost = true;
        }
    }
}
