//! Deliveries as they are stored: what the API shows, and behind it what they belong to.

use alloc::string::String;
use alloc::vec::Vec;

use super::feed::Published;
use super::tables::{ATTEMPTS_MAX, Attempt, Delivery, DeliveryStatus};
use crate::collection::Facet;
use crate::id;
use crate::job::{self, Task};
use crate::json::ToJson;
use crate::key::Kind;
use crate::record;
use crate::record::{Flag, Iso, Rest, Stored, count, flag};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Deliveries that stand so.
pub fn facet_of_status(status: DeliveryStatus) -> Facet {
    Facet::new(1, status.word().as_bytes())
}

/// Deliveries about a call.
pub fn facet_of_call(call: u32) -> Facet {
    Facet::id(2, call)
}

/// The two webhooks of an assistant; the number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// `webhook_url`
    PostCall = 0,
    /// `inbound_webhook_url`
    Inbound = 1,
}

record! {
    /// What the API does not show of a delivery.
    pub struct DeliveryState stored as "a delivery" {
        /// Its event's place in the feed.
        seq: u32 = count().required(),
        /// The call, by count.
        call: u32 = count().required(),
        /// The assistant whose address it is, by count.
        assistant: u32 = count().required(),
        /// Which of its webhooks: 0 `webhook_url`, 1 `inbound_webhook_url`.
        webhook: u32 = count().required(),
        /// Whether its answer is the call's `webhook_response`.
        alone: Flag = flag().required(),
        /// Tries of its schedule that were made.
        tries: u32 = count().required(),
    }
}

impl DeliveryState {
    /// A new one of an event.
    pub fn new(event: &Published, call: u32, assistant: u32, webhook: Webhook, alone: bool) -> Self {
        Self {
            seq: event.seq,
            call,
            assistant,
            webhook: webhook as u32,
            alone: Flag(alone),
            tries: 0,
            rest: Rest::default(),
        }
    }

    /// Which webhook of its assistant it is.
    pub fn webhook(&self) -> Webhook {
        if self.webhook == Webhook::PostCall as u32 { Webhook::PostCall } else { Webhook::Inbound }
    }
}

/// A delivery with its row.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryRow {
    /// Its count.
    pub count: u32,
    /// What the API shows.
    pub shown: Delivery,
    /// What it does not show.
    pub state: DeliveryState,
    before: Row,
}

impl DeliveryRow {
    /// Enters a delivery of an event, to be tried at once.
    pub fn enter(
        account: Scope<'_>,
        event: &Published,
        name: &str,
        url: String,
        state: &DeliveryState,
        now: Timestamp,
    ) -> Result<u32, Stop> {
        let (count, at) = account.allot(Kind::Delivery, now)?;
        let shown = Delivery {
            id: id::of(account.space(), count),
            webhook_id: event.id.clone(),
            event: name.into(),
            call_id: Some(id::of(account.space(), state.call)),
            url,
            status: DeliveryStatus::Pending,
            attempts: Vec::new(),
            next_attempt_at: Some(Iso(at)),
            created_at: Iso(at),
            rest: Rest::default(),
        };
        account.insert(Kind::Delivery, count, at, &row(&shown, state))?;
        job::add(account, at, Task::Deliver(count))?;
        Ok(count)
    }

    /// A delivery of the account.
    pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Delivery, count)?.map(|row| Self::of(count, row)).transpose()
    }

    /// One whose row is at hand.
    pub fn of(count: u32, row: Row) -> Result<Self, Stop> {
        let (shown, state) = (Delivery::read(&row.public)?, DeliveryState::read(&row.private)?);
        Ok(Self { count, shown, state, before: row })
    }

    /// Notes a try; the last ones are kept.
    pub fn attempted(&mut self, attempt: Attempt) {
        let attempts = &mut self.shown.attempts;
        attempts.push(attempt);
        attempts.drain(..attempts.len().saturating_sub(ATTEMPTS_MAX));
    }

    /// Sets where it stands, and when it is tried next.
    pub fn stands(&mut self, status: DeliveryStatus, next: Option<Timestamp>) {
        (self.shown.status, self.shown.next_attempt_at) = (status, next.map(Iso));
    }

    /// Writes it back.
    pub fn save(&mut self, account: Scope<'_>) -> Result<(), Stop> {
        let row = row(&self.shown, &self.state);
        account.replace(Kind::Delivery, self.count, &self.before, &row)?;
        self.before = row;
        Ok(())
    }
}

fn row(shown: &Delivery, state: &DeliveryState) -> Row {
    let facets = [facet_of_status(shown.status), facet_of_call(state.call)].into();
    Row { facets, public: shown.to_json(), private: state.to_json() }
}
