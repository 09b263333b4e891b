//! Events that an engine reports of its call (docs/api.md, Reporting events). A list is applied in order and as a
//! whole, or not at all; an event that was applied before is skipped.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::session;
use super::tables::{Analysis, CallAnalysis, Command, EngineEvent, Report, Reported, Transcript};
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::call::ending;
use crate::call::states::CallEvent;
use crate::call::tables::CallStatus;
use crate::call::{CallEventRow, CallRow};
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::job::{self, Task};
use crate::json::ToJson;
use crate::limits::{AFTERMATH_SECONDS, LEASE_SECONDS, TRANSCRIPT_BYTES_MAX};
use crate::record::{Iso, Json, Stored};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

const MISSING: &str = "An event is missing.";
const NOT_ALLOWED: &str = "The call's state does not allow this event.";
/// Mark where a transcript was cut.
const CUT: &str = "[The transcript was cut here.]";

/// `POST /engine/calls/{id}/events`
pub fn report(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let body: Report = ctx.body()?;
    let running = call.status().is_running();
    let next_seq = call.live.seq + 1;
    for event in &body.events {
        let seq = event.seq();
        if seq <= call.live.seq {
            continue;
        }
        if seq != call.live.seq + 1 {
            return Err(Refusal::OutOfOrder(MISSING.into(), next_seq).into());
        }
        if !take(ctx, account, &mut call, event)? {
            return Err(Refusal::OutOfOrder(NOT_ALLOWED.into(), next_seq).into());
        }
        call.live.seq = seq;
    }
    let status = call.status();
    if status.is_running() {
        call.live.lease = Some(ctx.now.plus_seconds(LEASE_SECONDS));
        call.save(account, ctx.now)?;
    } else if running {
        ending::settle(account, &mut call, ctx.now)?;
    } else if !body.events.is_empty() {
        call.save(account, ctx.now)?;
    }
    let now = call.status();
    // An engine that keeps renewing a call that the service has ended is told to hang up.
    let hangup = if now.is_running() { call.live.hangup_at.is_some() } else { body.events.is_empty() };
    let commands = if hangup { Vec::from([Command { r#type: "hangup".into() }]) } else { Vec::new() };
    Ok(Reply::ok(&Reported { call_status: now, lease: call.live.lease.map(Iso), commands }))
}

/// Returns whether an event is dropped: a recording whose assistant does not record.
fn is_unwanted(account: Scope<'_>, call: &CallRow, event: &EngineEvent) -> Result<bool, Stop> {
    if !matches!(event, EngineEvent::Recording(_)) {
        return Ok(false);
    }
    match of_call(account, call.assistant())? {
        Some(assistant) => Ok(!Assistant::MEMBERS.record.read(&assistant.public)?),
        None => Ok(true),
    }
}

/// Applies one event; returns `false` if the call's state does not allow it.
fn take(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, event: &EngineEvent) -> Result<bool, Stop> {
    let status = call.status();
    let after = matches!(event, EngineEvent::Recording(_) | EngineEvent::Cost(_));
    if !status.is_running() {
        let ended = call.live.ended_at.unwrap_or(ctx.now);
        if !after || ctx.now.seconds_since(ended) >= AFTERMATH_SECONDS {
            return Ok(false);
        }
    }
    if is_unwanted(account, call, event)? {
        return Ok(true);
    }
    // An engine's clock may be off: event times neither run backwards within a call nor ahead of the service's clock.
    let at = event.at().unwrap_or(ctx.now).min(ctx.now).max(call.live.last_at);
    if !apply(ctx, account, call, event, at)? {
        return Ok(false);
    }
    if status.is_running() && !call.status().is_running() {
        call.live.ended_at = Some(at);
    }
    call.live.last_at = at;
    note(account, call, event, at)?;
    Ok(true)
}

fn apply(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    call: &mut CallRow,
    event: &EngineEvent,
    at: Timestamp,
) -> Result<bool, Stop> {
    let talking = call.status() == CallStatus::InProgress;
    match event {
        EngineEvent::Ringing(_) => {
            if !call.moved(CallEvent::Ring) {
                return Ok(false);
            }
            call.live.ringing_at = Some(ctx.now);
            job::add(account, ctx.now.plus_seconds(call.live.ringing_time.into()), Task::Watch(call.count))?;
            Ok(true)
        }
        EngineEvent::Answered(answered) => {
            call.live.answered_at = Some(at);
            call.shown.answered_by = answered.answered_by;
            job::add(account, at.plus_seconds(call.live.max_duration.into()), Task::Watch(call.count))?;
            Ok(call.moved(CallEvent::Answer))
        }
        EngineEvent::Transcript(_) | EngineEvent::Transfer(_) | EngineEvent::Dtmf(_) => Ok(talking),
        EngineEvent::Variables(collected) => {
            call.collect(&collected.variables.0);
            Ok(talking)
        }
        EngineEvent::Analysis(analysis) => {
            let Analysis { evaluation, variables, .. } = analysis.clone();
            call.live.analysis = Some(Json::of(&CallAnalysis { evaluation, variables }));
            Ok(talking)
        }
        EngineEvent::Recording(recording) => {
            call.shown.recording_url = Some(recording.url.clone());
            Ok(true)
        }
        EngineEvent::Cost(cost) => {
            (call.shown.carrier_cost, call.shown.total_cost) = (cost.carrier_cost, cost.total_cost);
            if !call.status().is_running() {
                ending::charge(account, call)?;
            }
            Ok(true)
        }
        EngineEvent::Ended(ended) => {
            let event = match ended.by.as_deref() {
                Some("customer") => CallEvent::CustomerEnds,
                Some("assistant") => CallEvent::AssistantEnds,
                _ => CallEvent::End,
            };
            Ok(call.ended(event, ended.reason.as_deref()))
        }
        EngineEvent::Failed(failed) => {
            let event = match failed.reason.as_deref() {
                Some("busy") => CallEvent::Busy,
                Some("no-answer") => CallEvent::NoAnswer,
                _ => CallEvent::Fail,
            };
            Ok(call.ended(event, failed.reason.as_deref()))
        }
    }
}

/// Stores an event, within the limits of a call.
fn note(account: Scope<'_>, call: &mut CallRow, event: &EngineEvent, at: Timestamp) -> Result<(), Stop> {
    let last = matches!(event, EngineEvent::Ended(_) | EngineEvent::Failed(_));
    let event = match event {
        EngineEvent::Transcript(transcript) => {
            let Some(text) = room(call, &transcript.text) else { return Ok(()) };
            EngineEvent::Transcript(Transcript { text, ..transcript.clone() }).to_json()
        }
        event => event.to_json(),
    };
    // Sequence number and time are the service's own.
    let CallEventRow { r#type, rest: said, .. } = CallEventRow::read(&event)?;
    if last { call.note(account, at, &r#type, &said.0) } else { call.note_within(account, at, &r#type, &said.0) }
}

/// Returns the part of a text that the transcript still has room for; `None` once it was cut.
fn room(call: &mut CallRow, text: &str) -> Option<String> {
    let left = TRANSCRIPT_BYTES_MAX.saturating_sub(call.live.transcript_bytes as usize);
    if left == 0 {
        return None;
    }
    call.live.transcript_bytes += u32::try_from(text.len().min(left)).unwrap_or(u32::MAX);
    if text.len() <= left {
        return Some(text.to_string());
    }
    let mut end = left;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    Some(alloc::format!("{}{CUT}", &text[..end]))
}

impl EngineEvent {
    fn parts(&self) -> (u32, Option<&str>) {
        match self {
            Self::Ringing(event) => (event.seq, event.at.as_deref()),
            Self::Answered(event) => (event.seq, event.at.as_deref()),
            Self::Transcript(event) => (event.seq, event.at.as_deref()),
            Self::Variables(event) => (event.seq, event.at.as_deref()),
            Self::Recording(event) => (event.seq, event.at.as_deref()),
            Self::Transfer(event) => (event.seq, event.at.as_deref()),
            Self::Dtmf(event) => (event.seq, event.at.as_deref()),
            Self::Ended(event) => (event.seq, event.at.as_deref()),
            Self::Failed(event) => (event.seq, event.at.as_deref()),
            Self::Cost(event) => (event.seq, event.at.as_deref()),
            Self::Analysis(event) => (event.seq, event.at.as_deref()),
        }
    }

    fn seq(&self) -> u32 {
        self.parts().0
    }

    fn at(&self) -> Option<Timestamp> {
        self.parts().1.and_then(Timestamp::parse_iso)
    }
}
