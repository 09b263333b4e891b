//! Timeouts of a call: how long it may wait, ring, last, and go without an event from its engine (docs/api.md, States
//! and Leases).

use super::command::announce;
use super::ending::{self, end_call};
use super::give_back::{ReleaseNote, give_back};
use super::lease;
use super::reasons::EndedReason;
use super::rows::CallRow;
use super::states::CallEvent;
use super::tables::CallStatus;
use crate::account::attached;
use crate::job::{self, Task, TaskContext, TaskOutcome};
use crate::limits::{LEASE_SECONDS, UNCLAIMED_SECONDS};
use crate::root;
use crate::store::Scope;
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
    let (at, alarm) = match lease::of(work.account, count)?.filter(|lease| lease.is_over(work.now)) {
        Some(lease) => sooner(next(&call), (lease.until, SILENT)),
        None => next(&call),
    };
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
                return Ok(TaskOutcome::At(next(&call).0));
            }
            end_call(work.account, &mut call, event, reason, work.now)?;
            Ok(TaskOutcome::Done)
        }
        Alarm::HangUp => {
            call.live.hangup_at = Some(work.now);
            call.save(work.account, work.now)?;
            announce(work.account, &call)?;
            Ok(TaskOutcome::At(next(&call).0))
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

/// Has a running call looked after at its earliest timeout. Its lease is watched by [`lease::tick`].
pub fn plan(account: Scope<'_>, call: &CallRow) -> Result<(), Stop> {
    job::add(account, next(call).0, Task::Watch(call.count))
}

/// Consequence of a lease that ran out.
const SILENT: Alarm = Alarm::Over(CallEvent::Fail, EndedReason::LeaseExpired);

fn sooner(one: (Timestamp, Alarm), other: (Timestamp, Alarm)) -> (Timestamp, Alarm) {
    if other.0 < one.0 { other } else { one }
}

/// Returns the earliest timeout of a running call but its lease, and its consequence.
fn next(call: &CallRow) -> (Timestamp, Alarm) {
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
        _ if let Some(pass) = &live.pass => (pass.until, Alarm::Over(CallEvent::Fail, EndedReason::TokenExpired)),
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
    match told {
        // It was told to hang up already.
        Some(told) if own.1 == Alarm::HangUp => told,
        Some(told) => sooner(own, told),
        None => own,
    }
}
