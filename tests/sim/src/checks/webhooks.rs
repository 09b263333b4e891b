//! Webhooks: every finished call that owes one has a delivery, and every delivery ends as documented.

use std::collections::BTreeMap;

use serde_json::Value;
use switchboard_core::call::tables::CallStatus;
use switchboard_core::limits::EVENTS_SECONDS;
use switchboard_core::time::Timestamp;
use switchboard_core::webhook::tables::DeliveryStatus::{Delivered, Exhausted, Pending};

use super::{APART_SECONDS, Commit, Held, holds};
use crate::facts::{Call, Delivery};
use crate::mirror::{At, Turned};

/// The published schedule: seconds from a failed attempt to the next.
const SCHEDULE: [u64; 9] = [5, 5 * 60, 30 * 60, 2 * 3_600, 5 * 3_600, 10 * 3_600, 14 * 3_600, 20 * 3_600, 24 * 3_600];
const RETRY_AFTER_MAX: u64 = 86_400;

/// State of the claims about deliveries.
#[derive(Debug, Default)]
pub struct Webhooks {
    /// Answered attempts of the schedule, and the earliest time of the next one.
    tries: BTreeMap<At, (usize, Timestamp)>,
    /// When a person last had it sent again.
    resent: BTreeMap<At, Timestamp>,
    places: BTreeMap<String, At>,
    /// `Retry-After` of the answer that the next commit records, seconds; `None` without one.
    pub retry_after: Option<u64>,
}

impl Webhooks {
    /// Checks the calls and deliveries of a commit.
    pub fn judge(&mut self, commit: &Commit<'_>) -> Held {
        for call in &commit.diff.calls {
            let finished = call.before.as_ref().is_some_and(Call::is_finished);
            if let Some(after) = call.after.as_ref().filter(|call| call.is_finished() && !finished) {
                owed(commit, call.at, after)?;
            }
        }
        for delivery in &commit.diff.deliveries {
            match (&delivery.before, &delivery.after) {
                (None, Some(after)) => self.enter(commit, delivery.at, after)?,
                (Some(before), Some(after)) => self.turn(commit, delivery, before, after)?,
                (Some(before), None) => holds!(
                    before.created_at.plus_seconds(EVENTS_SECONDS) <= commit.now.plus_seconds(APART_SECONDS),
                    "a delivery is kept for thirty days: {:?}",
                    delivery.at
                ),
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn enter(&mut self, commit: &Commit<'_>, at: At, delivery: &Delivery) -> Held {
        let mut events = commit.diff.events.iter();
        holds!(
            events.any(|(_, event)| event.id == delivery.webhook_id && event.event == delivery.event),
            "a delivery enters with its event: {at:?} {}",
            delivery.webhook_id
        );
        self.tries.insert(at, (0, commit.now));
        self.places.insert(delivery.webhook_id.clone(), at);
        Ok(())
    }

    fn turn(&mut self, commit: &Commit<'_>, at: &Turned<Delivery>, before: &Delivery, after: &Delivery) -> Held {
        let at = at.at;
        if commit.cause.resend == Some(at) {
            self.resent.insert(at, commit.now);
            self.tries.insert(at, (0, commit.now));
            return Ok(());
        }
        // The error "deleted" is not an attempt.
        let is_empty = commit.mirror.emptied.contains(&after.webhook_id);
        let (tries, earliest) = self.tries.entry(at).or_insert((0, commit.now));
        if before.attempts.len() != after.attempts.len() && !is_empty {
            let wait = SCHEDULE.get(*tries).copied().unwrap_or(0);
            let told = self.retry_after.unwrap_or(0).min(RETRY_AFTER_MAX);
            *earliest = commit.now.plus_seconds(wait.max(told));
            *tries += 1;
        }
        let seen = commit.receivers.seen(&after.webhook_id);
        if before.status == Pending && after.status != Pending {
            let resent = self.resent.get(&at);
            holds!(
                is_empty || resent.is_none_or(|resent| seen.is_some_and(|seen| seen.last() >= *resent)),
                "a webhook that is sent again is sent after that was asked: {at:?} at {resent:?}"
            );
        }
        match (before.status, after.status) {
            (Pending, Pending) => {}
            (Pending, Delivered) => holds!(
                seen.is_some_and(|seen| seen.accepted),
                "a delivery ends delivered when its receiver took it: {at:?} {}",
                after.webhook_id
            ),
            (Pending, Exhausted) => {
                let gone = after.attempts.last() == Some(&Some(410));
                let kept = !is_empty && commit.mirror.events.values().any(|id| *id == after.webhook_id);
                holds!(
                    gone || *tries == SCHEDULE.len() + 1 || !kept,
                    "a delivery is exhausted after its full schedule or 410: {at:?} after {tries} tries {after:?}"
                );
            }
            (before, after) => holds!(before == after, "a delivery's end is final: {at:?} {before:?} to {after:?}"),
        }
        Ok(())
    }

    /// Checks a webhook that a receiver got: not before its schedule allows, and never after it has ended.
    pub fn sent(&self, id: &str, now: Timestamp) -> Held {
        let Some(at) = self.places.get(id) else { return Ok(()) };
        let Some((_, earliest)) = self.tries.get(at) else { return Ok(()) };
        let now = now.plus_seconds(APART_SECONDS);
        holds!(now >= *earliest, "a try waits for its time in the schedule: {id} before {earliest:?}");
        Ok(())
    }
}

/// Checks that a finished call has an event, and a delivery for each webhook that its assistant asks for.
fn owed(commit: &Commit<'_>, at: At, call: &Call) -> Held {
    let assistant = commit.mirror.assistant((at.0, call.assistant)).ok_or("a call has an assistant")?;
    let event = |name: &str| {
        let of_call = |payload: &Value| payload["id"].as_u64().map(switchboard_core::id::split) == Some(at);
        commit.diff.events.iter().filter(|(_, event)| event.event == name && of_call(&event.payload)).count()
    };
    let sent = |name: &str, url: Option<&String>| {
        let mut new = commit.diff.deliveries.iter().filter(|delivery| delivery.before.is_none());
        new.any(|delivery| {
            let after = delivery.after.as_ref();
            delivery.at.0 == at.0
                && after.is_some_and(|new| new.call == Some(at.1) && new.event == name && Some(&new.url) == url)
        })
    };
    let only = assistant.send_webhook_only_on_completed && call.status != CallStatus::Completed;
    let post_call = assistant.webhook_url.as_ref().filter(|_| assistant.is_webhook_active && !only);
    let inbound = assistant.inbound_webhook_url.as_ref().filter(|_| call.kind == "inbound");
    holds!(event("call.ended") == 1, "every finished call is one event: {at:?}");
    for (name, url) in [("call.ended", post_call), ("call.completed", inbound)] {
        holds!(
            sent(name, url) == url.is_some(),
            "a finished call has a delivery of {name} if its assistant asks for it: {at:?} {url:?}"
        );
    }
    Ok(())
}
