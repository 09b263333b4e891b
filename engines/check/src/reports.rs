//! Requests about a call: events, tools, and what goes wrong with them.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::book::CallBook;
use crate::cases::{CallMoment, CaseTwist, RequestFault, RequestKind, Upset};
use crate::rules::EngineRule;
use crate::stage::{CheckStage, SeenRequest, StageAnswer, reply};
use crate::states::CallPhase;

impl CheckStage {
    /// Answers a request about a call.
    pub(crate) fn of_call(&mut self, request: &SeenRequest, now: Instant) -> StageAnswer {
        let id = request.call.unwrap_or_default();
        let Some(call) = self.calls.get_mut(&id) else {
            return reply(404, json!({ "message": "Call not found" }));
        };
        if call.is_let_go(&request.body["events"], now, &request.text, &mut self.findings) {
            return reply(404, json!({ "message": "Call not found" }));
        }
        if request.kind == RequestKind::Events && request.body["events"] == json!([]) {
            call.renewals += 1;
        }
        let fault = self.fault(request.kind, id);
        match (request.kind, fault) {
            (_, Some(RequestFault::LostBefore)) => {
                let events = request.body["events"].as_array().cloned().unwrap_or_default();
                self.book(id).note_lost(&events);
                self.findings.show(EngineRule::Outlives);
                return StageAnswer::Broken;
            }
            (_, Some(RequestFault::Unavailable)) => return reply(503, json!({ "message": "Not now." })),
            (RequestKind::Events, Some(RequestFault::Forgets(count))) => {
                let (status, body) = self.book(id).forget(count);
                return reply(status, body);
            }
            _ => {}
        }
        let answer = match request.kind {
            RequestKind::Tool => self.tool(id, request, fault, now),
            RequestKind::Knowledge => reply(200, json!({ "data": [] })),
            RequestKind::Recording => reply(201, json!({ "url": "https://recordings.example.com/1" })),
            _ => self.events(id, request, now),
        };
        match (fault, answer) {
            (Some(RequestFault::LostAfter), _) => {
                self.findings.show(EngineRule::Outlives);
                StageAnswer::Broken
            }
            (Some(RequestFault::Slow(pause)), StageAnswer::Reply(status, body, retry, _)) => {
                StageAnswer::Reply(status, body, retry, Duration::from_millis(pause))
            }
            (_, answer) => answer,
        }
    }

    pub(crate) fn book(&mut self, id: u64) -> &mut CallBook {
        self.calls.get_mut(&id).expect("it was found before")
    }

    /// Returns what goes wrong with the next request of a kind for a call.
    fn fault(&mut self, kind: RequestKind, call: u64) -> Option<RequestFault> {
        let count = self.counts.entry((kind, call)).or_default();
        *count += 1;
        let count = *count;
        let meets = |upset: &&Upset| {
            let since = count.checked_sub(upset.first);
            upset.kind == kind
                && since.is_some_and(|since| since % upset.every == 0 && since / upset.every < upset.most)
        };
        self.case.upsets.iter().find(meets).map(|upset| upset.fault)
    }

    fn events(&mut self, id: u64, request: &SeenRequest, now: Instant) -> StageAnswer {
        if let Err((status, body)) = self.take(id, &request.body["events"], request, now) {
            return reply(status, body);
        }
        let tomorrow = self.case.twist == CaseTwist::Tomorrow;
        let lease = format!("{:.6}", Timestamp::now() + self.timing.lease);
        let call = self.book(id);
        let lease = if call.phase.is_running() { json!(lease) } else { Value::Null };
        let mut answer = json!({
            "call_status": call.phase.status(), "lease": lease, "commands": call.told_orders(now), "ignored": [],
        });
        if tomorrow {
            let events = request.body["events"].as_array().cloned().unwrap_or_default();
            let ignored = events.iter().filter(|event| event["type"] == "metrics" || event["type"] == "transcript");
            answer["ignored"] =
                ignored.map(|event| json!({ "seq": event["seq"], "type": event["type"], "since": "3" })).collect();
            answer["applause"] = json!([1, 2]);
        }
        reply(200, answer)
    }

    /// Takes events, and does what the case has for the moments that they are.
    fn take(&mut self, id: u64, events: &Value, request: &SeenRequest, now: Instant) -> Result<(), (u16, Value)> {
        let call = self.calls.get_mut(&id).expect("it was found before");
        let new = call.take(events, now, &request.text, &mut self.findings)?;
        for event in new {
            let kind = event["type"].as_str().unwrap_or_default().to_owned();
            self.check_apart(id, &event, &request.text);
            if kind == "dialing" && self.drained_at.is_some_and(|told| self.book(id).claimed_at > told) {
                let what = format!("call {id} was begun after the engine was told to drain");
                self.findings.judge(EngineRule::DrainTakesNone, &request.text, Some(what));
            }
            let moments = self.case.acts.iter().filter_map(|(moment, _)| match moment {
                CallMoment::Reported(known) if *known == kind => Some(*moment),
                _ => None,
            });
            let moment = moments.into_iter().next();
            moment.into_iter().for_each(|moment| self.act(id, moment, now));
            if kind == "command" && self.book(id).orders_ended() {
                self.act(id, CallMoment::CommandsEnded, now);
            }
        }
        Ok(())
    }

    fn check_apart(&mut self, id: u64, event: &Value, request: &str) {
        let said = event["text"].as_str().unwrap_or_default();
        let own = self.book(id).marker.clone();
        let other =
            self.calls.values().map(|call| &call.marker).find(|marker| **marker != own && said.contains(&***marker));
        if let Some(other) = other.cloned() {
            let what = format!("call {id} has a line of another: {other}");
            self.findings.judge(EngineRule::CallsApart, request, Some(what));
        }
    }

    fn tool(&mut self, id: u64, request: &SeenRequest, fault: Option<RequestFault>, now: Instant) -> StageAnswer {
        if !request.body["events"].is_null()
            && let Err((status, body)) = self.take(id, &request.body["events"], request, now)
        {
            return reply(status, body);
        }
        let call = self.calls.get_mut(&id).expect("it was found before");
        call.renewed_at = now;
        let asked = (request.tool.as_str(), &request.body, request.key.as_deref());
        call.ask_tool(asked, &request.text, &mut self.findings);
        if fault == Some(RequestFault::LostAfter) {
            call.lose_tool(&mut self.findings);
        }
        let state = json!({ "call_status": call.phase.status(), "next_seq": call.next_seq() });
        if call.phase != CallPhase::Talking {
            return reply(409, with(&state, "The call is over."));
        }
        self.act(id, CallMoment::ToolAsked, now);
        if fault == Some(RequestFault::ToolFails) || request.tool == "unreachable" {
            return reply(502, with(&state, "The tool did not answer."));
        }
        reply(200, json!({ "status": 200, "body": "From nine to six.", "duration_ms": 3 }))
    }
}

fn with(state: &Value, message: &str) -> Value {
    let mut body = state.clone();
    body["message"] = message.into();
    body
}
