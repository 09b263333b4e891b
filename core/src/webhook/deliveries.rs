//! The log of deliveries: entered with their event, listed, sent again.

use alloc::string::String;
use alloc::vec::Vec;

use super::feed::Published;
use super::tables::{ATTEMPTS_MAX, Attempt, Delivery, DeliveryQuery, DeliveryStatus};
use crate::assistant;
use crate::collection::{Facet, Query, ids};
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::id;
use crate::job::{self, Task};
use crate::json::{self, Members, Object, ToJson, Value};
use crate::key::Kind;
use crate::record::Iso;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

const MISSING: &str = "Webhook delivery not found";
/// Why a delivery whose call, or lead, was deleted is not sent.
const DELETED: &str = "deleted";
/// Deliveries of one call: it has three events at most, and none has more than two.
const OF_A_CALL_MAX: usize = 6;
/// What is said of a delivery whose row cannot be read.
pub const DAMAGED: Stop = Stop::Corrupt("a delivery has an unknown form");

fn facet_of_status(status: &str) -> Facet {
    Facet::new(1, status.as_bytes())
}

fn facet_of_call(call: u32) -> Facet {
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

/// What a delivery belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct To {
    /// The call, by count.
    pub call: u32,
    /// The assistant whose address it is, by count.
    pub assistant: u32,
    /// Which of its webhooks.
    pub webhook: Webhook,
    /// Whether its answer is the call's `webhook_response`.
    pub alone: bool,
}

/// A delivery as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its count.
    pub count: u32,
    /// What the API shows.
    pub shown: Members,
    /// What it belongs to.
    pub to: To,
    /// Its event's place in the feed.
    pub seq: u32,
    /// Tries of its schedule that were made.
    pub tries: usize,
    before: Row,
}

/// Enters a delivery of an event, to be tried at once.
pub fn enter(
    account: Scope<'_>,
    event: &Published,
    name: &str,
    url: String,
    to: To,
    now: Timestamp,
) -> Result<u32, Stop> {
    let (count, at) = account.allot(Kind::Delivery, now)?;
    let shown = Delivery {
        id: id::of(account.space(), count),
        webhook_id: event.id.clone(),
        event: name.into(),
        call_id: Some(id::of(account.space(), to.call)),
        url,
        status: DeliveryStatus::Pending,
        attempts: Vec::new(),
        next_attempt_at: Some(Iso(at)),
        created_at: Iso(at),
    };
    let Ok(Value::Object(shown)) = json::parse(&shown.to_json()) else { return Err(DAMAGED) };
    let mut stored = Stored { count, shown, to, seq: event.seq, tries: 0, before: Row::default() };
    stored.before = stored.row()?;
    account.insert(Kind::Delivery, count, at, &stored.before)?;
    job::add(account, at, Task::Deliver(count))?;
    Ok(count)
}

impl Stored {
    /// A delivery of the account.
    pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Delivery, count)?.map(|row| Self::of(count, row)).transpose()
    }

    fn of(count: u32, row: Row) -> Result<Self, Stop> {
        let shown = row.members(DAMAGED)?;
        let private = json::parse(&row.private).map_err(|_| DAMAGED)?;
        let number = |name: &str| {
            let found = private.member(name).and_then(Value::as_u64);
            found.and_then(|n| u32::try_from(n).ok()).ok_or(DAMAGED)
        };
        let to = To {
            call: number("call")?,
            assistant: number("assistant")?,
            webhook: if number("webhook")? == 0 { Webhook::PostCall } else { Webhook::Inbound },
            alone: number("alone")? == 1,
        };
        Ok(Self { count, shown, to, seq: number("seq")?, tries: number("tries")? as usize, before: row })
    }

    fn row(&self) -> Result<Row, Stop> {
        let status = self.text("status").ok_or(DAMAGED)?;
        let facets = [facet_of_status(status), facet_of_call(self.to.call)].into();
        let mut private = Vec::new();
        let mut object = Object::open(&mut private);
        object.member("seq", self.seq).member("call", self.to.call).member("assistant", self.to.assistant);
        object.member("webhook", self.to.webhook as u32).member("alone", u32::from(self.to.alone));
        object.member("tries", self.tries as u64);
        object.close();
        Ok(Row { facets, public: self.shown.to_json(), private })
    }

    /// A text that the API shows.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.shown.get(name).and_then(Value::as_text)
    }

    /// Notes a try; the last ones are kept.
    pub fn attempted(&mut self, attempt: &Attempt) {
        let tries = self.shown.get("attempts").and_then(Value::as_list);
        let mut attempts = tries.map(<[Value]>::to_vec).unwrap_or_default();
        attempts.push(json::parse(&attempt.to_json()).unwrap_or(Value::Null));
        attempts.drain(..attempts.len().saturating_sub(ATTEMPTS_MAX));
        self.shown.set("attempts", Value::List(attempts));
    }

    /// Sets where it stands, and when it is tried next.
    pub fn stands(&mut self, status: DeliveryStatus, next: Option<Timestamp>) {
        self.shown.set("status", Value::Text(status.word().into()));
        self.shown.set("next_attempt_at", next.map_or(Value::Null, |at| Value::Text(at.iso())));
    }

    /// Writes it back.
    pub fn save(&mut self, account: Scope<'_>) -> Result<(), Stop> {
        let row = self.row()?;
        account.replace(Kind::Delivery, self.count, &self.before, &row)?;
        self.before = row;
        Ok(())
    }
}

/// Gives up what is still to be sent of an event whose call, or lead, was deleted.
pub fn give_up(account: Scope<'_>, call: u32, seq: u32, now: Timestamp) -> Result<(), Stop> {
    for count in ids(account, Kind::Delivery, &facet_of_call(call), OF_A_CALL_MAX)? {
        let Some(mut delivery) = Stored::find(account, count)?.filter(|delivery| delivery.seq == seq) else { continue };
        if delivery.text("status") == Some(DeliveryStatus::Pending.word()) {
            delivery.attempted(&Attempt { at: Iso(now), status: None, error: Some(DELETED.into()), duration_ms: None });
            delivery.stands(DeliveryStatus::Exhausted, None);
            delivery.save(account)?;
            job::cancel(account, &Task::Deliver(count))?;
        }
    }
    Ok(())
}

/// `GET /user/webhook-deliveries`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: DeliveryQuery = ctx.asks()?;
    let mut facets = Vec::new();
    facets.extend(query.status.map(|status| facet_of_status(status.word())));
    facets.extend(query.call_id.map(|id| facet_of_call(ctx.own(id).unwrap_or(0))));
    let query = Query::page(facets, 0..u32::MAX, Order::Descending, query.per_page, query.page);
    page::list(ctx, ctx.account(), Kind::Delivery, &query, page::public)
}

/// `POST /user/webhook-deliveries/{id}/resend`: to where the assistant's webhook goes by now, if it is on.
pub fn resend(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Delivery, MISSING)?;
    let account = ctx.account();
    let mut delivery = Stored::of(count, row)?;
    if super::feed::payload(account, delivery.seq)?.is_none() {
        return Err(Refusal::NotFound(MISSING).into());
    }
    if let Some(assistant) = assistant::kept(account, delivery.to.assistant)? {
        let current = match delivery.to.webhook {
            Webhook::PostCall => assistant.owned("webhook_url").filter(|_| assistant.flag("is_webhook_active")),
            Webhook::Inbound => assistant.owned("inbound_webhook_url"),
        };
        if let Some(url) = current {
            delivery.shown.set("url", Value::Text(url));
        }
    }
    delivery.stands(DeliveryStatus::Pending, Some(ctx.now));
    delivery.tries = 0;
    delivery.save(account)?;
    // The answer to a try that is under way comes too late: it may have gone to another address.
    job::cancel(account, &Task::Deliver(count))?;
    job::add(account, ctx.now, Task::Deliver(count))?;
    Ok(Reply::accepted(&message("The webhook is sent again.")))
}
