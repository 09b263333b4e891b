//! Timeouts of a call: how long it may wait, ring, last, and go without an event from its engine (docs/api.md, States
//! and Leases).

use super::command::announce;
use super::ending::{self, end_call};
use super::give_back::{ReleaseNote, give_back};
use super::reasons::EndedReason;
use super::rows::CallRow;
use super::states::CallEvent;
use super::tables::CallStatus;
use crate::account::attached;
use crate::job::{TaskContext, TaskOutcome};
use crate::limits::{LEASE_SECONDS, UNCLAIMED_SECONDS};
use crate::root;
use crate::time::Timestamp;
use crate::view::Stop;

/// Consequence of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alarm {
    /// Ends the call, with this event and reason.
    Over(CallEvent, EndedReason),
    /// Tells the engine to hang up.
    HangUp,
}

/// Handles the timeouts of a call that are due; returns when to look at it again.
pub fn watch(work: &TaskContext<'_>, count: u32) -> Result<TaskOutcome, Stop> {
    let Some(mut call) = CallRow::find(work.account, count)? else { return Ok(TaskOutcome::Done) };
    if !call.status().is_running() {
        return Ok(TaskOutcome::Done);
    }
    let (at, alarm) = next(&call)?;
    if at > work.now {
        return Ok(TaskOutcome::At(at));
    }
    match alarm {
        Alarm::Over(event, reason) => {
            let reason = match reason {
                EndedReason::Unclaimed if !attached::any(root::of(work.account), work.now)? => EndedReason::NoEngine,
                reason => reason,
            };
            // An engine of the second edition says when it begins to dial: before, nobody can have been rung.
            let said = ReleaseNote { reason: Some(reason.word().into()) };
            let is_silent = reason == EndedReason::LeaseExpired && call.live.protocol >= 2;
            if is_silent && give_back(work.account, &mut call, None, &said, work.now)? {
                if !call.status().is_running() {
                    ending::settle(work.account, &mut call, work.now)?;
                    return Ok(TaskOutcome::Done);
                }
                return Ok(TaskOutcome::At(next(&call)?.0));
            }
            end_call(work.account, &mut call, event, reason, work.now)?;
            Ok(TaskOutcome::Done)
        }
        Alarm::HangUp => {
            call.live.hangup_at = Some(work.now);
            call.save(work.account, work.now)?;
            announce(work.account, &call)?;
            Ok(TaskOutcome::At(next(&call)?.0))
        }
    }
}

/// Gives up the work that a call waits for, at the operator's request: a running call fails, an ended one is completed.
pub fn give_up(work: &TaskContext<'_>, count: u32) -> Result<(), Stop> {
    let Some(mut call) = CallRow::find(work.account, count)? else { return Ok(()) };
    if call.status().is_running() {
        end_call(work.account, &mut call, CallEvent::Fail, EndedReason::GivenUp, work.now)?;
        return Ok(());
    }
    ending::complete(work.account, &mut call, work.now)
}

/// Returns the earliest timeout of a running call, and its consequence.
fn next(call: &CallRow) -> Result<(Timestamp, Alarm), Stop> {
    let live = &call.live;
    let status = call.status();
    let own = match status {
        CallStatus::Ringing => {
            let since = live.ringing_at.unwrap_or(live.last_at);
            (since.plus_seconds(live.ringing_time.into()), Alarm::Over(CallEvent::NoAnswer, EndedReason::NoAnswer))
        }
        CallStatus::InProgress => {
            let since = live.answered_at.unwrap_or(live.last_at);
            (since.plus_seconds(live.max_duration.into()), Alarm::HangUp)
        }
        _ if live.engine.is_some() => {
            (live.last_at.plus_seconds(UNCLAIMED_SECONDS), Alarm::Over(CallEvent::Fail, EndedReason::NotDialed))
        }
        _ => (
            call.shown.created_at.0.plus_seconds(UNCLAIMED_SECONDS),
            Alarm::Over(CallEvent::Fail, EndedReason::Unclaimed),
        ),
    };
    // An engine that does not hang up is waited for no longer than one lease.
    let told = live.hangup_at.zip(live.hangup_reason()).map(|(at, reason)| {
        let event = if status == CallStatus::InProgress { CallEvent::End } else { CallEvent::Fail };
        (at.plus_seconds(LEASE_SECONDS), Alarm::Over(event, reason))
    });
    let silent = live.lease.map(|lease| (lease, Alarm::Over(CallEvent::Fail, EndedReason::LeaseExpired)));
    let first = told.into_iter().chain(silent).fold(own, |first, other| {
        let passed = first.1 == Alarm::HangUp && live.hangup_at.is_some();
        if passed || other.0 < first.0 { other } else { first }
    });
    Ok(first)
}
