//! The end of a call: its times and transcript, the work after it, and what it is news of.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::report::report;
use super::states::CallEvent;
use super::stored::{Stored, formatted, whole};
use super::tables::CallStatus;
use crate::account::profile::{Profile, micros};
use crate::job::{self, Task};
use crate::json::{Members, Value};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;
use crate::{assistant, campaign};

/// What an event of the service itself says.
pub fn by_service(reason: &str) -> Members {
    Members(Vec::from([
        ("by".to_string(), Value::Text("service".into())),
        ("reason".to_string(), Value::Text(reason.into())),
    ]))
}

/// Ends a running call; nothing happens to one whose state does not allow it. `said` stands in its events.
pub fn over(
    account: Scope<'_>,
    call: &mut Stored,
    event: CallEvent,
    said: &Members,
    now: Timestamp,
) -> Result<bool, Stop> {
    if !call.moved(event)? {
        return Ok(false);
    }
    let at = call.live.last_at.max(now);
    let name =
        if matches!(event, CallEvent::Busy | CallEvent::NoAnswer | CallEvent::Fail) { "failed" } else { "ended" };
    call.note(account, at, name, said)?;
    call.live.ended_at = Some(at);
    settle(account, call, now)?;
    Ok(true)
}

/// What follows from the end of a call, once its state says so.
pub fn settle(account: Scope<'_>, call: &mut Stored, now: Timestamp) -> Result<(), Stop> {
    let ended = call.live.ended_at.unwrap_or(now);
    call.live.lease = None;
    charge(account, call)?;
    call.shown.set("duration", whole(call.live.answered_at.map_or(0, |from| ended.seconds_since(from))));
    let lines = call.transcript(account)?;
    call.shown.set("transcript", Value::Text(formatted(&lines)));
    let assistant = assistant::kept(account, call.assistant())?;
    if call.live.engine.is_none()
        && let Some(mode) = assistant.as_ref().and_then(assistant::Kept::mode)
    {
        root::dequeue(account, mode, call.count)?;
    }
    call.save(account, now)?;
    root::ring(account)?;
    if let Some(campaign) = call.campaign() {
        job::add(account, now, Task::Dial(campaign))?;
    }
    job::cancel(account, &Task::Watch(call.count))?;
    let wanted = assistant.is_some_and(|assistant| assistant.wants_conclusion());
    match call.status()? {
        CallStatus::Ended | CallStatus::EndedByAssistant | CallStatus::EndedByCustomer
            if wanted && !lines.is_empty() =>
        {
            job::add(account, now, Task::Conclude(call.count))
        }
        CallStatus::Ended | CallStatus::EndedByAssistant | CallStatus::EndedByCustomer => complete(account, call, now),
        _ => finish(account, call, now),
    }
}

/// Takes what an ended call costs off a metered balance: of what is told later, the difference.
pub fn charge(account: Scope<'_>, call: &mut Stored) -> Result<(), Stop> {
    let total = match call.shown.get("total_cost") {
        Some(Value::Number(number)) => micros(number.as_f64()),
        _ => 0,
    };
    if total != call.live.charged_micros {
        let mut profile = Profile::of(account)?;
        // What was spoken is owed: a balance may fall below nothing.
        profile.refund(call.live.charged_micros - total);
        profile.save(account)?;
        call.live.charged_micros = total;
    }
    Ok(())
}

/// The work after a call is done, or given up.
pub fn complete(account: Scope<'_>, call: &mut Stored, now: Timestamp) -> Result<(), Stop> {
    if !call.moved(CallEvent::Complete)? {
        return Ok(());
    }
    call.note(account, now.max(call.live.last_at), "completed", &Members::default())?;
    call.save(account, now)?;
    finish(account, call, now)
}

/// Nothing more happens in a call: it is reported, and its lead moves on.
fn finish(account: Scope<'_>, call: &Stored, now: Timestamp) -> Result<(), Stop> {
    // The webhook shows where the lead stands after this call.
    campaign::settle(account, call, now)?;
    report(account, call, now)
}
