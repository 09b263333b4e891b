//! The service of one case: its calls, what goes wrong in it, and what the engine does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::book::{CallBook, SentOrder};
use crate::cases::{CallMoment, CaseTwist, EngineCase, OfferedCall, RequestKind, ServiceAct};
use crate::findings::Findings;
use crate::offer;
use crate::rate::RequestRates;
use crate::rules::EngineRule;
use crate::states::CallPhase;

/// Calls that a heartbeat may name.
const HEARTBEAT_CALLS_MAX: usize = 10_000;
/// How long claims are answered at once in the case of empty ones.
pub(crate) const EMPTY_FOR: Duration = Duration::from_secs(2);

/// A request as it came.
#[derive(Clone, Debug)]
pub struct SeenRequest {
    /// Its kind.
    pub kind: RequestKind,
    /// The call that its path names.
    pub call: Option<u64>,
    /// The tool that its path names.
    pub tool: String,
    /// Its body; null where it is no JSON.
    pub body: Value,
    /// Its idempotency key.
    pub key: Option<String>,
    /// Whether it carries the token.
    pub is_authorized: bool,
    /// Method, path and body, to be shown.
    pub text: String,
}

/// What a request is answered with.
#[derive(Clone, Debug)]
pub enum StageAnswer {
    /// Status, body and `Retry-After`, after a pause.
    Reply(u16, Value, Option<u64>, Duration),
    /// The connection breaks.
    Broken,
}

/// Settings of a stage.
#[derive(Clone, Copy, Debug)]
pub struct StageTiming {
    /// How long a lease lasts.
    pub lease: Duration,
    /// How long an engine may take to do what it is told.
    pub patience: Duration,
}

/// A failure of the whole service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outage {
    until: Instant,
    retry_after: Option<u64>,
}

/// The service in one case.
#[expect(clippy::struct_excessive_bools, reason = "each is something that has happened, or has not")]
#[derive(Debug)]
pub struct CheckStage {
    /// What was found so far.
    pub findings: Findings,
    /// The calls that were handed out, by id.
    pub calls: BTreeMap<u64, CallBook>,
    /// The calls that wait, with their ids.
    pub queue: VecDeque<(u64, OfferedCall)>,
    /// Whether the engine is to be told to drain.
    pub wants_drain: bool,
    /// When it was told; `None` before.
    pub drained_at: Option<Instant>,
    /// Whether the token is refused.
    pub refuses_token: bool,
    /// Claims that came.
    pub claims: u32,
    /// How many calls each engine said it can carry.
    pub capacity: BTreeMap<String, u64>,
    pub(crate) case: &'static EngineCase,
    pub(crate) timing: StageTiming,
    pub(crate) began: Instant,
    pub(crate) outage: Option<Outage>,
    pub(crate) had_outage: bool,
    pub(crate) counts: BTreeMap<(RequestKind, u64), u32>,
    pub(crate) acted: BTreeSet<(u64, usize)>,
    pub(crate) rates: RequestRates,
    pub(crate) over_since: Option<Instant>,
    pub(crate) brought: BTreeMap<String, u64>,
    pub(crate) lost_bring: bool,
    pub(crate) heartbeat_capacity: Option<u64>,
    pub(crate) next_id: u64,
}

impl CheckStage {
    /// Sets the stage for a case, whose calls have ids from `first`; findings are carried over from the case before.
    pub fn new(
        case: &'static EngineCase,
        first: u64,
        timing: StageTiming,
        mut findings: Findings,
        now: Instant,
    ) -> Self {
        case.name.clone_into(&mut findings.case);
        let mut stage = Self {
            findings,
            calls: BTreeMap::new(),
            queue: VecDeque::new(),
            wants_drain: false,
            drained_at: None,
            refuses_token: false,
            claims: 0,
            capacity: BTreeMap::new(),
            case,
            timing,
            began: now,
            outage: None,
            had_outage: false,
            counts: BTreeMap::new(),
            acted: BTreeSet::new(),
            rates: RequestRates::default(),
            over_since: None,
            brought: BTreeMap::new(),
            lost_bring: false,
            heartbeat_capacity: None,
            next_id: first,
        };
        if case.twist != CaseTwist::EmptyClaims {
            case.calls.iter().for_each(|call| stage.offer(*call));
        }
        stage
    }

    /// Goes on to another case; what was found stays, and how many calls each engine carries.
    pub fn next_case(&mut self, case: &'static EngineCase, first: u64, now: Instant) {
        let next = Self::new(case, first, self.timing, std::mem::take(&mut self.findings), now);
        let before = std::mem::replace(self, next);
        (self.capacity, self.heartbeat_capacity) = (before.capacity, before.heartbeat_capacity);
    }

    /// Offers a call.
    pub fn offer(&mut self, call: OfferedCall) {
        // Ids of an account begin at its number times 2^32.
        self.queue.push_back((call.account * (1 << 32) + self.next_id, call));
        self.next_id += 1;
    }

    /// Returns whether leases and capacities can be judged: nothing was made to fail.
    fn is_steady(&self) -> bool {
        self.case.upsets.is_empty() && !self.had_outage && !self.refuses_token
    }

    /// Answers a request; `None` for a claim that is to wait.
    pub fn answer(&mut self, request: &SeenRequest, waited: bool, now: Instant) -> Option<StageAnswer> {
        if !waited {
            self.check_token(request);
            self.rates.note(request, now, &mut self.findings);
        }
        if self.refuses_token || !request.is_authorized {
            self.rates.refused(request, now, self.refuses_token, &mut self.findings);
            return Some(reply(401, json!({ "message": "Unauthenticated." })));
        }
        if let Some(outage) = self.outage.filter(|outage| now < outage.until) {
            self.rates.unavailable(request, now, outage.retry_after, &mut self.findings);
            let body = json!({ "message": "The service is being updated." });
            return Some(StageAnswer::Reply(503, body, outage.retry_after, Duration::ZERO));
        }
        let answer = match request.kind {
            RequestKind::Interface => reply(200, self.interface()),
            RequestKind::Claim => return self.claim(request, waited, now),
            RequestKind::Heartbeat => self.heartbeat(request, now),
            RequestKind::Bring => self.bring(request, now),
            RequestKind::Other => reply(404, json!({ "message": "Not found" })),
            _ => self.of_call(request, now),
        };
        Some(answer)
    }

    fn check_token(&mut self, request: &SeenRequest) {
        let missing = (!request.is_authorized).then(|| "the token is missing or another".into());
        self.findings.judge(EngineRule::Token, &request.text, missing);
    }

    fn interface(&self) -> Value {
        let tomorrow = self.case.twist == CaseTwist::Tomorrow;
        json!({
            "protocol": if tomorrow { 3 } else { 2 },
            "release": "engine-check",
            "event_types": ["dialing", "release", "ringing", "answered", "transcript", "command", "ended", "failed"],
            "lease_seconds": self.timing.lease.as_secs(),
            "limits": { "events_per_report": 100, "claim_wait_seconds": 30, "calls_per_claim": 1000 },
        })
    }

    pub(crate) fn heartbeat(&mut self, request: &SeenRequest, now: Instant) -> StageAnswer {
        let named = request.body["calls"].as_array().filter(|calls| calls.len() <= HEARTBEAT_CALLS_MAX);
        let ids: Vec<u64> = named.into_iter().flatten().filter_map(Value::as_u64).collect();
        // Calls of an earlier case are lost by now.
        let wrong = match named.is_some_and(|named| named.len() == ids.len()) {
            false => Some("calls is no list of at most 10,000 ids".into()),
            true if request.body["engine"].as_str().is_none_or(str::is_empty) => Some("engine is not named".into()),
            true => None,
        };
        self.findings.judge(EngineRule::HeartbeatMembers, &request.text, wrong);
        self.heartbeat_capacity = request.body["capacity"].as_u64().max(self.heartbeat_capacity);
        let (mut lost, mut orders) = (Vec::new(), Vec::new());
        for id in ids {
            let Some(call) = self.calls.get_mut(&id) else {
                lost.push(id);
                continue;
            };
            if call.is_let_go(&Value::Null, now, &request.text, &mut self.findings) {
                lost.push(id);
                continue;
            }
            (call.renewed_at, call.renewals) = (now, call.renewals + 1);
            if call.is_open() {
                orders.extend(call.told_orders(now));
            }
        }
        let lease = format!("{:.6}", Timestamp::now() + self.timing.lease);
        reply(
            200,
            json!({ "lease": lease, "lost": lost, "commands": orders, "drain": false, "unknown": { "member": true } }),
        )
    }

    pub(crate) fn bring(&mut self, request: &SeenRequest, now: Instant) -> StageAnswer {
        let external = request.body["external_id"].as_str().map(String::from);
        let Some(name) = external.or_else(|| request.key.clone()) else {
            let what = "a call is brought without external_id and Idempotency-Key";
            self.findings.broke(EngineRule::BroughtOnce, what, &request.text);
            return reply(422, json!({ "message": "The external id field is required." }));
        };
        let known = self.brought.get(&name).copied();
        let id = known.unwrap_or(self.next_id);
        if known.is_none() {
            if self.lost_bring && self.brought.len() == 1 {
                let what = "a call whose answer got lost was brought anew";
                self.findings.broke(EngineRule::BroughtOnce, what, &request.text);
            }
            self.next_id += 1;
            self.brought.insert(name, id);
            let mut book = CallBook::new(id, "", offer::marker(0), now);
            // Whoever calls is on the line already.
            book.phase = CallPhase::Ringing;
            self.calls.insert(id, book);
        } else {
            self.findings.show(EngineRule::BroughtOnce);
        }
        if !self.lost_bring {
            self.lost_bring = true;
            return StageAnswer::Broken;
        }
        let Some(book) = self.calls.get(&id) else { return reply(404, json!({ "message": "Call not found" })) };
        let lease = format!("{:.6}", Timestamp::now() + self.timing.lease);
        let mut entry = offer::entry(book, self.case.calls[0], &lease, self.case.twist);
        (entry["call"]["type"], entry["call"]["status"]) = (request.body["type"].clone(), "initiated".into());
        reply(if known.is_some() { 200 } else { 201 }, entry)
    }

    /// Does what the case has for a moment of a call.
    pub(crate) fn act(&mut self, id: u64, moment: CallMoment, now: Instant) {
        for (at, (_, act)) in self.case.acts.iter().enumerate().filter(|(_, (known, _))| *known == moment) {
            if !self.acted.insert((id, at)) {
                continue;
            }
            match *act {
                ServiceAct::Command(kind, member, value) => self.command(id, kind, member, value),
                ServiceAct::Lose => {
                    self.findings.show(EngineRule::LostLeft);
                    self.book(id).is_lost = true;
                }
                ServiceAct::Outage(millis, retry_after) => {
                    self.outage = Some(Outage { until: now + Duration::from_millis(millis), retry_after });
                    self.had_outage = true;
                    self.findings.show(EngineRule::Outlives);
                }
                ServiceAct::RefuseToken => self.refuses_token = true,
                ServiceAct::Drain => self.wants_drain = true,
            }
        }
    }

    fn command(&mut self, id: u64, kind: &str, member: &str, value: &str) {
        let call = self.book(id);
        let number = if kind == "hangup" { kind.to_owned() } else { (call.orders.len() + 1).to_string() };
        let mut members = json!({ "call_id": id, "id": number, "type": kind });
        if !member.is_empty() {
            members[member] = value.into();
        }
        call.orders.push(SentOrder { members, told_at: None, ends: 0, is_judged: false });
    }

    /// Looks after what is due without a request: hang-ups, leases, calls that outlive a lease, late offers.
    pub fn tick(&mut self, now: Instant) {
        let late_offer = self.case.twist == CaseTwist::EmptyClaims && now >= self.began + EMPTY_FOR;
        if late_offer && self.calls.is_empty() && self.queue.is_empty() {
            self.case.calls.iter().for_each(|call| self.offer(*call));
        }
        let (steady, timing) = (self.is_steady(), self.timing);
        let mut outlived = Vec::new();
        for call in self.calls.values_mut().filter(|call| call.is_open()) {
            let age = now - call.claimed_at;
            if age > timing.lease && steady && call.renewals > 0 {
                self.findings.show(EngineRule::LeaseRenewed);
            }
            if age > timing.lease + timing.lease / 5 {
                outlived.push(call.id);
            }
            if steady && now > call.renewed_at + timing.lease {
                let what = format!("call {} was not renewed for a lease of {} s", call.id, timing.lease.as_secs_f32());
                self.findings.judge(EngineRule::LeaseRenewed, "", Some(what));
                call.is_lost = true;
                call.lost_told_at.get_or_insert(now);
            }
        }
        outlived.into_iter().for_each(|id| self.act(id, CallMoment::OutlivedLease, now));
        self.check_orders(now);
        let names: Vec<String> = self.capacity.keys().cloned().collect();
        names.iter().for_each(|name| self.check_capacity(name, "", now));
    }

    /// Checks that commands which the engine knows of end in time, and that a call ends which is to be hung up.
    fn check_orders(&mut self, now: Instant) {
        for call in self.calls.values_mut().filter(|call| call.is_open()) {
            for order in call.orders.iter_mut().filter(|order| !order.is_judged) {
                let (hangs_up, ends) = (order.members["type"] == "hangup", order.ends);
                let Some(told) = order.told_at.filter(|told| now > *told + self.timing.patience) else { continue };
                order.is_judged = true;
                if hangs_up || ends == 0 {
                    let rule = if hangs_up { EngineRule::HangUpObeyed } else { EngineRule::CommandEnds };
                    let what = format!("it was told {} ms before, and the call goes on", (now - told).as_millis());
                    self.findings.judge(rule, &order.members.to_string(), Some(what));
                }
            }
        }
    }

    /// Judges what can be told only at the end of the case.
    pub fn close(&mut self, now: Instant) {
        let seconds = (now - self.began).as_secs();
        let fails = !self.case.upsets.is_empty() || self.had_outage;
        for call in self.calls.values().filter(|_| !self.refuses_token) {
            let what = match call.phase {
                _ if call.is_open() => format!("call {} is still {:?} after {seconds} s", call.id, call.phase),
                CallPhase::Over("failed") if fails => format!("call {} was given up", call.id),
                _ => continue,
            };
            let rule = match self.case.twist {
                CaseTwist::Tomorrow => EngineRule::Tolerates,
                _ if fails => EngineRule::Outlives,
                _ => EngineRule::EveryCallEnds,
            };
            self.findings.judge(rule, "", Some(what));
        }
        if !self.queue.is_empty() && !self.calls.values().any(CallBook::is_open) && !self.refuses_token {
            self.findings.judge(EngineRule::TakesCalls, "", Some("a call that waits was not claimed".into()));
        }
        let is_hang_up = |order: &SentOrder| order.members["type"] == "hangup" && order.told_at.is_some();
        let obeyed = |call: &CallBook| !call.is_open() && call.orders.iter().any(is_hang_up);
        if self.calls.values().any(obeyed) {
            self.findings.show(EngineRule::HangUpObeyed);
        }
        if self.case.twist == CaseTwist::Tomorrow && !self.calls.is_empty() {
            self.findings.show(EngineRule::Tolerates);
        }
    }

    /// Judges a drain once its calls are over; `ends` tells whether the engine ended itself.
    pub fn close_drained(&mut self, ends: bool) {
        let left: Vec<u64> = self.calls.values().filter(|call| call.is_open()).map(|call| call.id).collect();
        let what = match (left.first(), ends) {
            (Some(call), _) => Some(format!("call {call} was left in the middle")),
            (None, false) => Some("the engine runs on though its last call is over".into()),
            (None, true) => None,
        };
        self.findings.judge(EngineRule::DrainEnds, "", what);
        self.findings.show(EngineRule::DrainTakesNone);
    }

    /// Returns whether all that was offered was handed out, and all of that is over.
    pub fn is_played(&self) -> bool {
        let offered = self.queue.is_empty() || self.drained_at.is_some();
        let begun = !self.calls.is_empty() || self.case.calls.is_empty();
        offered && begun && (self.refuses_token || !self.calls.values().any(CallBook::is_open))
    }
}

/// Returns an answer without a pause.
pub(crate) fn reply(status: u16, body: Value) -> StageAnswer {
    StageAnswer::Reply(status, body, None, Duration::ZERO)
}
