//! What a finished call is news of: one event in the feed, and the webhooks that its assistant asks for
//! (SPEC.md, Events, rules 1 to 3).

use alloc::vec::Vec;

use super::payload;
use super::stored::Stored;
use super::tables::{CallStatus, CallType};
use crate::assistant;
use crate::key::Kind;
use crate::lead;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;
use crate::webhook::{Mention, To, Webhook, enter, publish};

/// Reports a call in which nothing more happens.
pub fn report(account: Scope<'_>, call: &Stored, now: Timestamp) -> Result<(), Stop> {
    let assistant = assistant::kept(account, call.assistant())?;
    let text = |name: &str| assistant.as_ref().and_then(|assistant| assistant.owned(name));
    let flag = |name: &str| assistant.as_ref().is_some_and(|assistant| assistant.flag(name));
    let lines = call.transcript(account)?;
    // Rule 2.
    let recording = flag("include_recording_in_webhook");
    let body = payload::of_call(account, call, &lines, None, recording)?;
    let shown = mentions(account, call)?;
    let ended = publish(account, "call.ended", &body, &shown, now)?;
    // Rule 1.
    let wanted = call.status()? == CallStatus::Completed || !flag("send_webhook_only_on_completed");
    let post_call = text("webhook_url").filter(|_| flag("is_webhook_active") && wanted);
    let to = |webhook, alone| To { call: call.count, assistant: call.assistant(), webhook, alone };
    let both = post_call.is_some();
    if let Some(url) = post_call {
        enter(account, &ended, "call.ended", url, to(Webhook::PostCall, true), now)?;
    }
    let inbound = text("inbound_webhook_url").filter(|_| call.kind().is_ok_and(|kind| kind == CallType::Inbound));
    if let Some(url) = inbound {
        let body = payload::of_call(account, call, &lines, Some("call.completed"), recording)?;
        let completed = publish(account, "call.completed", &body, &shown, now)?;
        enter(account, &completed, "call.completed", url, to(Webhook::Inbound, !both), now)?;
    }
    Ok(())
}

/// What the payload of a call's event shows.
fn mentions(account: Scope<'_>, call: &Stored) -> Result<Vec<Mention>, Stop> {
    let mut mentions = Vec::from([(Kind::Call, call.count)]);
    if let Some(count) = call.lead()
        && let Some((_, lead)) = lead::find(account, count)?
    {
        mentions.push((Kind::Lead, count));
        mentions.extend(lead.contacts.iter().map(|contact| (Kind::Lead, *contact)));
    }
    Ok(mentions)
}
