//! What a finished call is news of: one event in the feed, and the webhooks that its assistant asks for
//! (SPEC.md, Events, rules 1 to 3).

use super::deliveries::{self, Webhook};
use super::{erase, feed, payload};
use crate::assistant;
use crate::call::Stored;
use crate::call::tables::{CallStatus, CallType};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Reports a call in which nothing more happens.
pub fn report(account: Scope<'_>, call: &Stored, now: Timestamp) -> Result<(), Stop> {
    let assistant = assistant::kept(account, call.assistant())?;
    let text = |name: &str| assistant.as_ref().and_then(|assistant| assistant.owned(name));
    let flag = |name: &str| assistant.as_ref().is_some_and(|assistant| assistant.flag(name));
    let lines = call.transcript(account)?;
    // Rule 2.
    let recording = flag("include_recording_in_webhook");
    let body = payload::of_call(account, call, &lines, None, recording)?;
    let shown = erase::of_call(account, call)?;
    let ended = feed::publish(account, "call.ended", &body, &shown, now)?;
    // Rule 1.
    let wanted = call.status()? == CallStatus::Completed || !flag("send_webhook_only_on_completed");
    let post_call = text("webhook_url").filter(|_| flag("is_webhook_active") && wanted);
    let to = |webhook, alone| deliveries::To { call: call.count, assistant: call.assistant(), webhook, alone };
    let both = post_call.is_some();
    if let Some(url) = post_call {
        deliveries::enter(account, &ended, "call.ended", url, to(Webhook::PostCall, true), now)?;
    }
    let inbound = text("inbound_webhook_url").filter(|_| call.kind().is_ok_and(|kind| kind == CallType::Inbound));
    if let Some(url) = inbound {
        let body = payload::of_call(account, call, &lines, Some("call.completed"), recording)?;
        let completed = feed::publish(account, "call.completed", &body, &shown, now)?;
        deliveries::enter(account, &completed, "call.completed", url, to(Webhook::Inbound, !both), now)?;
    }
    Ok(())
}
