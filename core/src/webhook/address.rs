//! What is known of an address: one that only failed for five days is switched off, and says so.

use alloc::string::ToString;
use alloc::vec::Vec;

use super::deliveries::{Stored, Webhook};
use super::feed;
use crate::assistant::stored::changed;
use crate::id;
use crate::json::{Object, Value};
use crate::key::{self, Kind};
use crate::limits::ADDRESS_FAILS_SECONDS;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::Stop;

/// Notes how a try ended, and switches the address off once it has failed for too long.
pub fn judge(account: Scope<'_>, delivery: &Stored, good: bool, now: Timestamp) -> Result<(), Stop> {
    let to = delivery.to;
    let known = key::address(account.space(), to.assistant, to.webhook as u8);
    let url = delivery.text("url").unwrap_or_default().to_string();
    let failing = account.get(known.clone())?.and_then(|bytes| read(&bytes, &url));
    match failing {
        None if good => Ok(()),
        Some(_) if good => account.delete(known),
        None => account.put(known, [&now.micros().to_be_bytes()[..], url.as_bytes()].concat()),
        Some(since) if now.seconds_since(since) < ADDRESS_FAILS_SECONDS => Ok(()),
        Some(since) => {
            account.delete(known)?;
            switch_off(account, delivery, &url, since, now)
        }
    }
}

/// Since when an address fails, if what is known is about this one.
fn read(bytes: &[u8], url: &str) -> Option<Timestamp> {
    let (since, known) = bytes.split_at_checked(8)?;
    (known == url.as_bytes()).then(|| Some(Timestamp::from_micros(u64::from_be_bytes(since.try_into().ok()?))))?
}

fn switch_off(account: Scope<'_>, delivery: &Stored, url: &str, since: Timestamp, now: Timestamp) -> Result<(), Stop> {
    let assistant = delivery.to.assistant;
    let Some(row) = account.find(Kind::Assistant, assistant)? else { return Ok(()) };
    let name = match delivery.to.webhook {
        Webhook::PostCall => "webhook_url",
        Webhook::Inbound => "inbound_webhook_url",
    };
    let members = crate::assistant::stored::members(&row)?;
    if members.get(name).and_then(Value::as_text) != Some(url) {
        return Ok(());
    }
    let off = changed(&row, now, |members| match delivery.to.webhook {
        Webhook::PostCall => members.set("is_webhook_active", Value::Bool(false)),
        Webhook::Inbound => members.set("inbound_webhook_url", Value::Null),
    })?;
    account.replace(Kind::Assistant, assistant, &row, &off)?;
    let mut payload = Vec::new();
    let mut object = Object::open(&mut payload);
    object.member("assistant_id", id::of(account.space(), assistant)).member("webhook", name).member("url", url);
    object.member("failing_since", since.iso());
    object.close();
    feed::publish(account, "webhook.disabled", &payload, &[], now).map(drop)
}
