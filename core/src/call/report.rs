//! Reports of a finished call: one event in the feed, and the webhooks that its assistant asks for (docs/api.md, The
//! feed).

use alloc::string::String;
use alloc::vec::Vec;

use super::rows::CallRow;
use super::tables::{CallStatus, CallType};
use super::{payload, recording};
use crate::assistant::rows::of_call;
use crate::assistant::tables::{Assistant, InboundEvent};
use crate::key::Kind;
use crate::lead;
use crate::record::MemberTuple;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;
use crate::webhook::{DeliveryRow, DeliveryState, Mention, Webhook, publish};

/// Webhook settings of the call's assistant; all off if the assistant was deleted.
#[derive(Default)]
struct Wishes {
    /// URL of the post-call webhook, if that is switched on.
    post_call: Option<String>,
    /// URL of the inbound webhook, if it is told of ended calls.
    inbound: Option<String>,
    /// Whether the payloads carry the recording's URL.
    recording: bool,
    /// Whether the post-call webhook is sent for completed calls only.
    only_completed: bool,
}

impl Wishes {
    fn of(account: Scope<'_>, call: &CallRow) -> Result<Self, Stop> {
        let Some(row) = of_call(account, call.assistant())? else { return Ok(Self::default()) };
        let its = Assistant::MEMBERS;
        let (post_call, is_active, inbound, events, recording, only_completed) = (
            its.webhook_url,
            its.is_webhook_active,
            its.inbound_webhook_url,
            its.inbound_webhook_events,
            its.include_recording_in_webhook,
            its.send_webhook_only_on_completed,
        )
            .read(&row.public)?;
        let inbound = inbound.filter(|_| events.contains(&InboundEvent::Completed));
        Ok(Self { post_call: post_call.filter(|_| is_active), inbound, recording, only_completed })
    }
}

/// Publishes the events of a call in which nothing more happens, and queues their webhook deliveries.
pub fn report(account: Scope<'_>, call: &CallRow, now: Timestamp) -> Result<(), Stop> {
    let wishes = Wishes::of(account, call)?;
    let lines = call.transcript(account)?;
    // Without `include_recording_in_webhook` no payload has the URL, the one in the feed neither.
    let recording = if wishes.recording { Some(recording::reported_url(account, call, now)?) } else { None };
    let body = payload::of_call(account, call, &lines, None, recording.as_ref())?;
    let shown = mentions(account, call)?;
    let ended = publish(account, "call.ended", &body, &shown, now)?;
    // `send_webhook_only_on_completed` holds back the post-call webhook, not the event in the feed.
    let wanted = call.status() == CallStatus::Completed || !wishes.only_completed;
    let post_call = wishes.post_call.filter(|_| wanted);
    let both = post_call.is_some();
    if let Some(url) = post_call {
        let state = DeliveryState::new(&ended, call.count, call.assistant(), Webhook::PostCall, true);
        DeliveryRow::enter(account, &ended, "call.ended", url, &state, now)?;
    }
    let inbound = wishes.inbound.filter(|_| call.shown.r#type == CallType::Inbound);
    if let Some(url) = inbound {
        let body = payload::of_call(account, call, &lines, Some("call.completed"), recording.as_ref())?;
        let completed = publish(account, "call.completed", &body, &shown, now)?;
        let state = DeliveryState::new(&completed, call.count, call.assistant(), Webhook::Inbound, !both);
        DeliveryRow::enter(account, &completed, "call.completed", url, &state, now)?;
    }
    Ok(())
}

/// Returns the rows that the payload shows: the call, its lead and that lead's secondary contacts. Deleting one of them
/// empties the payload.
fn mentions(account: Scope<'_>, call: &CallRow) -> Result<Vec<Mention>, Stop> {
    let mut mentions = Vec::from([(Kind::Call, call.count)]);
    if let Some(count) = call.lead()
        && let Some((_, lead)) = lead::find(account, count)?
    {
        mentions.push((Kind::Lead, count));
        mentions.extend(lead.contacts.iter().map(|contact| (Kind::Lead, *contact)));
    }
    Ok(mentions)
}
