//! Health of webhook addresses: one that has only failed for five days is switched off, with an event in the feed.

use alloc::string::String;
use alloc::vec::Vec;

use super::feed;
use super::rows::{DeliveryRow, Webhook};
use crate::assistant::rows::changed;
use crate::assistant::tables::Assistant;
use crate::id;
use crate::json::Object;
use crate::key::{self, Kind};
use crate::limits::ADDRESS_FAILS_SECONDS;
use crate::record::Member;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Records the result of an attempt, and switches the address off if it has failed for too long.
pub fn note_attempt(account: Scope<'_>, delivery: &DeliveryRow, good: bool, now: Timestamp) -> Result<(), Stop> {
    let known = key::address(account.space(), delivery.state.assistant, delivery.state.webhook() as u8);
    let url = &delivery.shown.url;
    let failing = account.get(known.clone())?.and_then(|bytes| read(&bytes, url));
    match failing {
        None if good => Ok(()),
        Some(_) if good => account.delete(known),
        None => account.put(known, [&now.micros().to_be_bytes()[..], url.as_bytes()].concat()),
        Some(since) if now.seconds_since(since) < ADDRESS_FAILS_SECONDS => Ok(()),
        Some(since) => {
            account.delete(known)?;
            switch_off(account, delivery, since, now)
        }
    }
}

/// A webhook address that fails.
pub struct FailingAddress {
    /// Local id of the assistant whose webhook it is, and its row.
    pub assistant: (u32, Row),
    /// Name of the assistant's member that has the address.
    pub webhook: &'static str,
    /// When it failed first since it last succeeded.
    pub since: Timestamp,
}

/// Returns addresses that fail now, in the order of their assistants, at most `limit`.
pub fn failing(account: Scope<'_>, limit: usize) -> Result<Vec<FailingAddress>, Stop> {
    let mut found = Vec::new();
    // Addresses that were changed since they failed are passed over.
    for (at, bytes) in account.scan(key::addresses(account.space()), Order::Ascending, 4 * limit)? {
        let Some((assistant, webhook)) = key::read_address(&at) else { continue };
        let Some(row) = account.find(Kind::Assistant, assistant)? else { continue };
        let member = member(Webhook::of(webhook.into()));
        let Some(since) = member.read(&row.public)?.and_then(|url| read(&bytes, &url)) else { continue };
        if found.len() < limit {
            found.push(FailingAddress { assistant: (assistant, row), webhook: member.name(), since });
        }
    }
    Ok(found)
}

/// Returns the assistant's member that has the address of a webhook.
fn member(webhook: Webhook) -> Member<Option<String>> {
    match webhook {
        Webhook::PostCall => Assistant::MEMBERS.webhook_url,
        Webhook::Inbound => Assistant::MEMBERS.inbound_webhook_url,
        Webhook::ConversationEnded => Assistant::MEMBERS.conversation_ended_webhook_url,
    }
}

/// Returns since when the address has been failing, if the stored record is about this URL.
fn read(bytes: &[u8], url: &str) -> Option<Timestamp> {
    let (since, known) = bytes.split_at_checked(8)?;
    (known == url.as_bytes()).then(|| Some(Timestamp::from_micros(u64::from_be_bytes(since.try_into().ok()?))))?
}

fn switch_off(account: Scope<'_>, delivery: &DeliveryRow, since: Timestamp, now: Timestamp) -> Result<(), Stop> {
    let (assistant, url) = (delivery.state.assistant, &delivery.shown.url);
    let Some(row) = account.find(Kind::Assistant, assistant)? else { return Ok(()) };
    let address = member(delivery.state.webhook());
    if address.read(&row.public)?.as_ref() != Some(url) {
        return Ok(());
    }
    let off = changed(&row, now, |assistant| match delivery.state.webhook() {
        Webhook::PostCall => assistant.is_webhook_active = false,
        Webhook::Inbound => assistant.inbound_webhook_url = None,
        Webhook::ConversationEnded => assistant.conversation_ended_webhook_url = None,
    })?;
    account.replace(Kind::Assistant, assistant, &row, &off)?;
    let mut payload = Vec::new();
    let mut object = Object::open(&mut payload);
    object
        .member("assistant_id", id::of(account.space(), assistant))
        .member("webhook", address.name())
        .member("url", url);
    object.member("failing_since", since.iso());
    object.close();
    feed::publish(account, "webhook.disabled", &payload, &[], now).map(drop)
}
