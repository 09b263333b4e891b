//! The end of a call: its times and transcript, the work after it, and what it is news of.

use alloc::string::String;

use super::conclude::wish;
use super::report::report;
use super::rows::{CallRow, formatted};
use super::states::CallEvent;
use super::tables::CallStatus;
use crate::account::profile::{Profile, micros};
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::campaign;
use crate::job::{self, Task};
use crate::json::Members;
use crate::record;
use crate::record::text;
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// What the event says by which the service itself ends a call.
    pub struct ByService {
        /// `service`
        by: String = text(0, 64).required(),
        /// Why.
        reason: String = text(0, 255).required(),
    }
}

/// The service ends a call for this reason.
pub fn by_service(reason: &str) -> ByService {
    ByService { by: "service".into(), reason: reason.into() }
}

/// Ends a running call; nothing happens to one whose state does not allow it. `said` stands in its events.
pub fn over(
    account: Scope<'_>,
    call: &mut CallRow,
    event: CallEvent,
    said: &ByService,
    now: Timestamp,
) -> Result<bool, Stop> {
    if !call.moved(event) {
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
pub fn settle(account: Scope<'_>, call: &mut CallRow, now: Timestamp) -> Result<(), Stop> {
    let ended = call.live.ended_at.unwrap_or(now);
    call.live.lease = None;
    charge(account, call)?;
    let spoken = call.live.answered_at.map_or(0, |from| ended.seconds_since(from));
    call.shown.duration = u32::try_from(spoken).unwrap_or(u32::MAX);
    let lines = call.transcript(account)?;
    call.shown.transcript = formatted(&lines);
    let assistant = of_call(account, call.assistant())?;
    if call.live.engine.is_none()
        && let Some(row) = &assistant
    {
        root::dequeue(account, Assistant::MEMBERS.mode.read(&row.public)?, call.count)?;
    }
    call.save(account, now)?;
    root::ring(account)?;
    if let Some(campaign) = call.campaign() {
        job::add(account, now, Task::Dial(campaign))?;
    }
    job::cancel(account, &Task::Watch(call.count))?;
    let wanted = assistant.map_or(Ok(false), |row| Ok(!wish(&row)?.is_empty()))?;
    match call.status() {
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
pub fn charge(account: Scope<'_>, call: &mut CallRow) -> Result<(), Stop> {
    let total = micros(call.shown.total_cost);
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
pub fn complete(account: Scope<'_>, call: &mut CallRow, now: Timestamp) -> Result<(), Stop> {
    if !call.moved(CallEvent::Complete) {
        return Ok(());
    }
    call.note(account, now.max(call.live.last_at), "completed", &Members::default())?;
    call.save(account, now)?;
    finish(account, call, now)
}

/// Nothing more happens in a call: it is reported, and its lead moves on.
fn finish(account: Scope<'_>, call: &CallRow, now: Timestamp) -> Result<(), Stop> {
    // The webhook shows where the lead stands after this call.
    campaign::settle(account, call, now)?;
    report(account, call, now)
}
