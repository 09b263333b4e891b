//! Events that an engine reports of its call (docs/api.md, Reporting events). A list is applied in order and as a
//! whole, or not at all; an event that was applied before is skipped.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::event::{Analysis, Dtmf, EngineEvent, KeyPresser, Release, Report, Transcript, UnknownEvent};
use super::tables::{CallAnalysis, IgnoredEvent, Reported};
use super::{session, usage};
use crate::assistant::built_in::BuiltInTool;
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::call::command;
use crate::call::states::CallEvent;
use crate::call::tables::CallStatus;
use crate::call::{CallEventRow, CallRow, ReleaseNote, ending, formatted, give_back, lease, partial, plan};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::json::{JsonNumber, Members, ToJson, Value};
use crate::limits::{AFTERMATH_SECONDS, LATE_LINES_SECONDS, TRANSCRIPT_BYTES_MAX};
use crate::record::{Iso, Json, Stored};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

const MISSING: &str = "An event is missing.";
const NOT_ALLOWED: &str = "The call's state does not allow this event.";
const FULL: &str = "The call has the most events that a call may have.";
/// Mark where a transcript was cut.
const CUT: &str = "[The transcript was cut here.]";

/// Why an event was not taken: a sentence.
type Refused = &'static str;

/// `POST /engine/calls/{id}/events`
pub fn report(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let body: Report = ctx.body()?;
    let ignored = take_all(ctx, account, &mut call, &body.events)?;
    let now = call.status();
    // An engine that keeps renewing a call that the service has ended is told to hang up.
    let commands = if !now.is_running() && body.events.is_empty() {
        Vec::from([command::hang_up(call.shown.id)])
    } else {
        command::pending(account, &call, ctx.now)
    };
    let lease = lease::of(account, call.count)?;
    Ok(Reply::ok(&Reported { call_status: now, lease: lease.map(|lease| Iso(lease.until)), commands, ignored }))
}

/// Applies a list of events, all or none, renews the lease and saves the call; returns the events of unknown types.
pub(super) fn take_all(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    call: &mut CallRow,
    events: &[EngineEvent],
) -> Result<Vec<IgnoredEvent>, Halt> {
    let was_running = call.status().is_running();
    let next_seq = call.live.seq + 1;
    let (mut ignored, mut is_measured, mut is_said) = (Vec::new(), false, false);
    for event in events {
        let seq = event.seq();
        if seq <= call.live.seq {
            continue;
        }
        if seq != call.live.seq + 1 {
            return Err(Refusal::OutOfOrder(MISSING.into(), next_seq).into());
        }
        if let Err(why) = take(ctx, account, call, event)? {
            return Err(Refusal::OutOfOrder(why.into(), next_seq).into());
        }
        if let EngineEvent::Unknown(UnknownEvent { r#type, .. }) = event {
            ignored.push(IgnoredEvent { seq, r#type: r#type.clone() });
        }
        is_measured |= matches!(event, EngineEvent::Metrics(_));
        is_said |= matches!(event, EngineEvent::Transcript(_));
        // A call that was given back is numbered anew by its next engine.
        if call.live.engine.is_some() {
            call.live.seq = seq;
        }
    }
    let is_running = call.status().is_running();
    if is_running && call.live.engine.is_some() {
        lease::renew(account, call.count, ctx.engine().token, ctx.now)?;
        // A list that only renews the lease writes nothing to disk.
        if call.live.seq + 1 > next_seq {
            call.save(account, ctx.now)?;
            plan(account, call)?;
        }
    } else if was_running && !is_running {
        ending::settle(account, call, ctx.now)?;
    } else if !events.is_empty() {
        if is_measured {
            call.shown.latency = call.latency(account)?;
        }
        // All its events are read for this: once for a report, however many lines came late.
        if is_said && !is_running {
            call.shown.transcript = formatted(&call.transcript(account)?);
        }
        call.save(account, ctx.now)?;
    }
    Ok(ignored)
}

/// Applies one event and stores it.
fn take(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    call: &mut CallRow,
    event: &EngineEvent,
) -> Result<Result<(), Refused>, Stop> {
    let was_running = call.status().is_running();
    if !was_running && !is_late(call, event, ctx.now) || call.live.engine.is_none() {
        return Ok(Err(NOT_ALLOWED));
    }
    // An engine's clock may be off: event times neither run backwards within a call nor ahead of the service's clock.
    let at = event.at().unwrap_or(ctx.now).min(ctx.now).max(call.live.last_at);
    if !apply(ctx, account, call, event, at)? {
        return Ok(Err(NOT_ALLOWED));
    }
    if was_running && !call.status().is_running() {
        call.live.ended_at = Some(at);
    }
    call.live.last_at = at;
    note(account, call, event, at)
}

/// Returns whether an event may follow the end of its call: what is known only later, and what was said before.
fn is_late(call: &CallRow, event: &EngineEvent, now: Timestamp) -> bool {
    let ended = call.live.ended_at.unwrap_or(now);
    match event {
        EngineEvent::Recording(_)
        | EngineEvent::Cost(_)
        | EngineEvent::Usage(_)
        | EngineEvent::Quality(_)
        | EngineEvent::Metrics(_) => now.seconds_since(ended) < AFTERMATH_SECONDS,
        EngineEvent::Transcript(_) => {
            let was_answered = call.live.answered_at.is_some();
            was_answered && event.at().is_some_and(|at| at <= ended) && now.seconds_since(ended) < LATE_LINES_SECONDS
        }
        _ => false,
    }
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
        EngineEvent::Dialing(_) => {
            let waits = call.status() == CallStatus::Initiated && call.live.dialing_at.is_none();
            call.live.dialing_at = call.live.dialing_at.or(Some(at));
            Ok(waits)
        }
        EngineEvent::Release(Release { reason, .. }) => {
            let name = call.live.engine_name.clone().unwrap_or_default();
            let said = ReleaseNote { reason: reason.clone() };
            give_back(account, call, Some(ctx.engine().party(&name)), &said, ctx.now)
        }
        EngineEvent::Ringing(_) => {
            if !call.moved(CallEvent::Ring) {
                return Ok(false);
            }
            call.live.dialing_at = call.live.dialing_at.or(Some(at));
            call.live.ringing_at = Some(ctx.now);
            Ok(true)
        }
        EngineEvent::Answered(answered) => {
            call.live.dialing_at = call.live.dialing_at.or(Some(at));
            call.live.answered_at = Some(at);
            call.shown.answered_by = answered.answered_by;
            Ok(call.moved(CallEvent::Answer))
        }
        EngineEvent::Detected(detected) => {
            call.shown.answered_by = detected.answered_by;
            Ok(talking)
        }
        EngineEvent::Transcript(_) => Ok(talking || !call.status().is_running()),
        EngineEvent::Partial(_)
        | EngineEvent::Transfer(_)
        | EngineEvent::Dtmf(_)
        | EngineEvent::Hold(_)
        | EngineEvent::Resume(_) => Ok(talking),
        EngineEvent::Metrics(_) => {
            call.live.measured += 1;
            Ok(true)
        }
        EngineEvent::Command(end) => {
            call.end_command(&end.id, at);
            Ok(true)
        }
        EngineEvent::Quality(_) | EngineEvent::Unsupported(_) | EngineEvent::Unknown(_) => Ok(true),
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
            if takes_url(account, call)? {
                call.shown.recording_url = Some(recording.url.clone());
            }
            Ok(true)
        }
        EngineEvent::Usage(used) => {
            usage::add(ctx, account, call, used)?;
            Ok(true)
        }
        EngineEvent::Cost(cost) => {
            call.live.is_priced = Some(true);
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

/// Returns whether the call's assistant records.
pub(super) fn records(account: Scope<'_>, call: &CallRow) -> Result<bool, Stop> {
    let assistant = of_call(account, call.assistant())?;
    assistant.map_or(Ok(false), |row| Assistant::MEMBERS.record.read(&row.public))
}

/// Returns whether the URL of a recording elsewhere is taken: not where one was uploaded, or deleted.
fn takes_url(account: Scope<'_>, call: &CallRow) -> Result<bool, Stop> {
    let is_settled = call.live.unrecorded == Some(true) || call.has_own_recording();
    Ok(!is_settled && records(account, call)?)
}

/// Stores an event, within the limits of a call. Beyond them, what only measures is dropped and counted, what ends the
/// call or prices it is stored or taken all the same, and the rest is refused.
fn note(
    account: Scope<'_>,
    call: &mut CallRow,
    event: &EngineEvent,
    at: Timestamp,
) -> Result<Result<(), Refused>, Stop> {
    let said = match event {
        // What is given back, and a recording that is not wanted, leave no trace of their own.
        EngineEvent::Release(_) => return Ok(Ok(())),
        EngineEvent::Recording(_) if !takes_url(account, call)? => return Ok(Ok(())),
        EngineEvent::Transcript(transcript) => {
            partial::forget(account, call.count)?;
            let Some(text) = room(call, &transcript.text) else { return Ok(Ok(())) };
            EngineEvent::Transcript(Transcript { text, ..transcript.clone() }).to_json()
        }
        EngineEvent::Unknown(UnknownEvent { event, .. }) => event.to_json(),
        event => event.to_json(),
    };
    // Sequence number and time are the service's own.
    let CallEventRow { r#type, rest: mut said, .. } = CallEventRow::read(&said)?;
    if let EngineEvent::Partial(_) = event {
        return partial::show(account, call.count, said.0, at).map(Ok);
    }
    if let EngineEvent::Dtmf(keys) = event
        && !shows_keys(account, call, keys)?
    {
        said.0 = hidden(keys);
    }
    match event {
        EngineEvent::Ended(_) | EngineEvent::Failed(_) => call.note(account, at, &r#type, &said.0).map(Ok),
        _ if call.note_within(account, at, &r#type, &said.0)? => Ok(Ok(())),
        EngineEvent::Metrics(_) | EngineEvent::Quality(_) | EngineEvent::Unknown(_) => {
            call.live.dropped = call.live.dropped.saturating_add(1);
            Ok(Ok(()))
        }
        EngineEvent::Ringing(_) | EngineEvent::Answered(_) | EngineEvent::Cost(_) | EngineEvent::Usage(_) => Ok(Ok(())),
        _ => Ok(Err(FULL)),
    }
}

/// Returns the members of an event whose keys are not kept: what a customer types may be a card or a code.
fn hidden(keys: &Dtmf) -> Members {
    let count = u64::try_from(keys.digits.chars().count()).unwrap_or(u64::MAX);
    let mut said = Members::default();
    said.set("digits", Value::Null);
    said.set("count", Value::Number(JsonNumber::Unsigned(count)));
    if keys.by.is_some() {
        said.set("by", Value::Text(KeyPresser::Customer.word().into()));
    }
    said
}

/// Returns whether keys are stored as they were pressed: those of the assistant, and those that it asked for.
fn shows_keys(account: Scope<'_>, call: &CallRow, keys: &Dtmf) -> Result<bool, Stop> {
    if keys.by == Some(KeyPresser::Assistant) {
        return Ok(true);
    }
    let Some(row) = of_call(account, call.assistant())? else { return Ok(false) };
    let tools = Assistant::MEMBERS.tools.read(&row.public)?;
    Ok(tools.iter().any(|tool| matches!(tool, BuiltInTool::CollectKeypad(_))))
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
