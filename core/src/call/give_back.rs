//! Giving a call back to the queue: its engine will not dial it, and another may.

use alloc::string::String;

use super::ending::close;
use super::lease;
use super::reasons::EndedReason;
use super::rows::CallRow;
use super::states::CallEvent;
use super::tables::{CallStatus, CallType};
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::job::{self, Task};
use crate::limits::{RETURNS_MAX, UNCLAIMED_SECONDS};
use crate::record;
use crate::record::{Stored, text};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// Members of a call's event `release`.
    pub struct ReleaseNote {
        /// Reason, as the engine words it; `lease_expired` if the engine fell silent before it dialed.
        reason: Option<String> = text(0, 255),
    }
}

/// Takes a call that was not dialed from its engine and queues it again; `party` names an engine that does not want it.
/// A call that has gone back [`RETURNS_MAX`] times is closed instead, and so is one that was to be hung up: the caller
/// settles it. Returns `false`, and changes nothing, if the call was dialed or came in.
pub fn give_back(
    account: Scope<'_>,
    call: &mut CallRow,
    party: Option<String>,
    said: &ReleaseNote,
    now: Timestamp,
) -> Result<bool, Stop> {
    let is_undialed = call.status() == CallStatus::Initiated && call.live.dialing_at.is_none();
    if !is_undialed || call.shown.r#type != CallType::Outbound || call.live.engine.is_none() {
        return Ok(false);
    }
    call.live.returns += 1;
    call.note(account, call.live.last_at.max(now), "release", said)?;
    let over = match call.live.hangup_reason() {
        Some(reason) => Some(reason),
        None => (call.live.returns >= RETURNS_MAX).then_some(EndedReason::NoEngine),
    };
    if let Some(reason) = over {
        return close(account, call, CallEvent::Fail, reason, now);
    }
    (call.live.engine, call.live.engine_name, call.live.seq) = (None, None, 0);
    lease::end(account, call.count)?;
    call.live.refused_by.extend(party);
    call.save(account, now)?;
    let assistant = of_call(account, call.assistant())?.ok_or(Assistant::DAMAGED)?;
    root::requeue(account, Assistant::MEMBERS.mode.read(&assistant.public)?, call.count)?;
    job::add(account, call.shown.created_at.0.plus_seconds(UNCLAIMED_SECONDS), Task::Watch(call.count))?;
    Ok(true)
}
