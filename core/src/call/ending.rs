//! The end of a call: its times, cost and transcript, the work after it, and the report.

use alloc::string::String;

use super::conclude::wish;
use super::lease;
use super::partial;
use super::reasons::EndedReason;
use super::report::report;
use super::rows::{CallRow, formatted};
use super::states::CallEvent;
use super::tables::CallStatus;
use super::{cost, days};
use crate::account::profile::{Profile, micros};
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::assistant::visited;
use crate::campaign;
use crate::job::{self, Task};
use crate::json::Members;
use crate::record;
use crate::record::{choice, count, text};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// Members of the event that records a call ended by the service itself.
    pub struct ByService {
        /// Who ended the call, always `service`.
        by: String = text(0, 64).required(),
        /// Reason, the same as the call's `ended_reason`.
        reason: EndedReason = choice::<EndedReason>().required(),
    }
}

record! {
    /// Members of the event that says how many events of a call were not stored, because it had its most.
    pub struct DroppedEvents {
        /// Number of those events.
        count: u32 = count().required(),
    }
}

/// Ends a running call for `reason`, which its last event says too. Returns `false`, and changes nothing, if the call's
/// state does not allow `event`.
pub fn end_call(
    account: Scope<'_>,
    call: &mut CallRow,
    event: CallEvent,
    reason: EndedReason,
    now: Timestamp,
) -> Result<bool, Stop> {
    let is_over = close(account, call, event, reason, now)?;
    if is_over {
        settle(account, call, now)?;
    }
    Ok(is_over)
}

/// Brings a running call to its end as [`end_call`] does, for a caller who settles it.
pub fn close(
    account: Scope<'_>,
    call: &mut CallRow,
    event: CallEvent,
    reason: EndedReason,
    now: Timestamp,
) -> Result<bool, Stop> {
    if !call.moved(event) {
        return Ok(false);
    }
    call.shown.ended_reason = Some(reason);
    let at = call.live.last_at.max(now);
    let name =
        if matches!(event, CallEvent::Busy | CallEvent::NoAnswer | CallEvent::Fail) { "failed" } else { "ended" };
    call.note(account, at, name, &ByService { by: "service".into(), reason })?;
    call.live.ended_at = Some(at);
    Ok(true)
}

/// Settles a call whose state is already one of the ends: fixes duration and transcript, charges the cost, removes a
/// call that no engine has from the queue, wakes the dialer and starts the work after the call, if there is any.
pub fn settle(account: Scope<'_>, call: &mut CallRow, now: Timestamp) -> Result<(), Stop> {
    let ended = call.live.ended_at.unwrap_or(now);
    lease::end(account, call.count)?;
    partial::forget(account, call.count)?;
    let spoken = call.live.answered_at.map_or(0, |from| ended.seconds_since(from));
    call.shown.duration = u32::try_from(spoken).unwrap_or(u32::MAX);
    cost::close(account, call)?;
    charge(account, call)?;
    call.shown.latency = call.latency(account)?;
    if call.live.dropped > 0 {
        call.note(account, call.live.last_at, "dropped", &DroppedEvents { count: call.live.dropped })?;
    }
    let lines = call.transcript(account)?;
    call.shown.transcript = formatted(&lines);
    let assistant = of_call(account, call.assistant())?;
    if call.live.engine.is_none()
        && let Some(row) = &assistant
    {
        root::dequeue(account, Assistant::MEMBERS.mode.read(&row.public)?, call.count)?;
    }
    if let Some(token) = call.live.engine.filter(|_| call.live.hangup_at.is_some() || call.live.commanded > 0) {
        root::forget_announced(account, token, call.count)?;
    }
    call.live.commands.clear();
    call.save(account, now)?;
    root::wake_claims(account)?;
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

/// Charges the call's cost to the account's balance; later cost events charge only the difference.
pub fn charge(account: Scope<'_>, call: &mut CallRow) -> Result<(), Stop> {
    let total = micros(call.shown.total_cost);
    if total != call.live.charged_micros {
        let mut profile = Profile::of(account)?;
        // What was spoken is owed: a balance may become negative.
        profile.recharge(call.live.charged_micros, total);
        profile.save(account)?;
        days::count_cost(account, call.shown.created_at.0, total - call.live.charged_micros)?;
        if let Some(campaign) = call.campaign() {
            campaign::count_cost(account, campaign, total - call.live.charged_micros)?;
        }
        if call.is_visited() {
            let more = total - call.live.charged_micros;
            visited::spend(account, call.assistant(), more, call.shown.created_at.0)?;
        }
        call.live.charged_micros = total;
    }
    Ok(())
}

/// Completes an ended call: the work after it is done, or given up. Does nothing in any other state.
pub fn complete(account: Scope<'_>, call: &mut CallRow, now: Timestamp) -> Result<(), Stop> {
    if !call.moved(CallEvent::Complete) {
        return Ok(());
    }
    call.note(account, now.max(call.live.last_at), "completed", &Members::default())?;
    call.save(account, now)?;
    finish(account, call, now)
}

/// Moves the call's lead on, counts the call and reports it: nothing more happens in it.
fn finish(account: Scope<'_>, call: &CallRow, now: Timestamp) -> Result<(), Stop> {
    // First the lead: the webhook shows its state after this call.
    let has_reached_goal = campaign::settle(account, call, now)?;
    days::count_ended(account, call, has_reached_goal)?;
    report(account, call, now)
}
