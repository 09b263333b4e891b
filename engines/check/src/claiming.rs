//! Claims: which calls they bring, and how many an engine may have.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::book::CallBook;
use crate::cases::{CallMoment, CaseTwist};
use crate::offer;
use crate::rules::EngineRule;
use crate::stage::{CheckStage, EMPTY_FOR, SeenRequest, StageAnswer, reply};

/// Most calls that are offered to find out how many an engine carries.
const CROWD_MAX: u64 = 40;
/// How long an engine may have a call too many: the end of another may be on its way.
const OVER_FOR: Duration = Duration::from_millis(300);

impl CheckStage {
    /// Answers a claim; `None` where it is to wait.
    pub(crate) fn claim(&mut self, request: &SeenRequest, waited: bool, now: Instant) -> Option<StageAnswer> {
        let body = &request.body;
        let (capacity, wait) = (body["capacity"].as_u64(), body["wait"].as_u64().or(Some(0)));
        if !waited {
            let named = body["engine"].as_str().is_some_and(|name| (1..=64).contains(&name.len()));
            let fits = named && body["protocol"] == 2 && capacity.is_some() && wait.is_some_and(|wait| wait <= 30);
            let wrong = (!fits).then(|| "a claim needs engine, protocol 2, capacity and a wait of at most 30".into());
            self.findings.judge(EngineRule::ClaimMembers, &request.text, wrong);
        }
        let name = body["engine"].as_str().unwrap_or_default().to_owned();
        let capacity = capacity.unwrap_or(1);
        if !waited {
            self.claims += 1;
            self.note_capacity(&name, capacity);
        }
        let orders = self.new_orders(now);
        if capacity > 0 && !self.queue.is_empty() {
            return Some(self.hand_out(&name, capacity, &request.text, now));
        }
        if !orders.is_empty() {
            return Some(reply(200, json!({ "calls": [], "commands": orders })));
        }
        let at_once = self.case.twist == CaseTwist::EmptyClaims && now < self.began + EMPTY_FOR;
        let is_over = waited && self.case.twist == CaseTwist::EmptyClaims;
        (at_once || wait == Some(0) || is_over).then(|| {
            self.rates.empty_claim(&name, now, &request.text, &mut self.findings);
            reply(200, json!({ "calls": [], "commands": [] }))
        })
    }

    /// Notes what an engine without calls asks for: at least as many it can carry.
    fn note_capacity(&mut self, name: &str, capacity: u64) {
        let is_idle = !self.calls.values().any(|call| call.engine == name && call.is_open());
        if is_idle {
            let known = self.capacity.entry(name.into()).or_default();
            *known = capacity.max(*known);
        }
        if self.case.twist == CaseTwist::Crowd && self.calls.is_empty() && self.queue.len() < 2 {
            let total = self.total_capacity(name).min(CROWD_MAX);
            (0..=total).for_each(|_| self.offer(self.case.calls[0]));
        }
    }

    pub(crate) fn total_capacity(&self, name: &str) -> u64 {
        self.capacity.get(name).copied().unwrap_or(0).max(self.heartbeat_capacity.unwrap_or(0))
    }

    /// Returns commands that no answer has carried yet: they wake a claim once.
    fn new_orders(&mut self, now: Instant) -> Vec<Value> {
        let fresh = |call: &&mut CallBook| call.orders.iter().any(|order| order.told_at.is_none());
        self.calls.values_mut().filter(fresh).flat_map(|call| call.told_orders(now)).collect()
    }

    fn hand_out(&mut self, name: &str, capacity: u64, request: &str, now: Instant) -> StageAnswer {
        self.findings.show(EngineRule::TakesCalls);
        if self.drained_at.is_some() {
            // It may have been on its way when the engine was told; what counts is whether the call is begun.
            self.findings.show(EngineRule::DrainTakesNone);
        }
        let lease = Timestamp::now() + self.timing.lease;
        let mut entries = Vec::new();
        while (entries.len() as u64) < capacity
            && let Some((id, call)) = self.queue.pop_front()
        {
            let book = CallBook::new(id, name, offer::marker(call.account), now);
            entries.push(offer::entry(&book, call, &format!("{lease:.6}"), self.case.twist));
            self.calls.insert(id, book);
            self.act(id, CallMoment::Claimed, now);
        }
        self.findings.show(EngineRule::EveryCallEnds);
        self.check_capacity(name, request, now);
        let orders = self.new_orders(now);
        let mut answer = json!({ "calls": entries, "commands": orders });
        if self.case.twist == CaseTwist::Tomorrow {
            answer["weather"] = json!({ "is": "fine" });
        }
        reply(200, answer)
    }

    /// Checks that an engine has no more calls than it can carry; a call whose end is on its way is let pass for a while.
    pub fn check_capacity(&mut self, name: &str, request: &str, now: Instant) {
        let open = self.calls.values().filter(|call| call.engine == name && call.is_open()).count() as u64;
        let total = self.total_capacity(name);
        if self.case.twist == CaseTwist::Crowd && open >= total && total <= CROWD_MAX {
            self.findings.show(EngineRule::Capacity);
        }
        if open <= total {
            self.over_since = None;
        } else if now >= *self.over_since.get_or_insert(now) + OVER_FOR {
            let what = format!("engine {name} has {open} calls at once, and said that it carries {total}");
            self.findings.judge(EngineRule::Capacity, request, Some(what));
            self.over_since = None;
        }
    }
}
