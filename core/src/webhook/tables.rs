//! The tables of events, deliveries and secrets.

use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::{SECONDARY_CONTACTS_MAX, URL_MAX};
use crate::record::{Iso, Json, Rest, any, choice, count, id, int, iso, list, object, text};
use crate::{choice, record};

choice! {
    /// Where a delivery stands.
    pub enum DeliveryStatus {
        /// It is tried again.
        Pending = "pending",
        /// The receiver took it.
        Delivered = "delivered",
        /// It is tried no longer.
        Exhausted = "exhausted",
    }
}

record! {
    /// One try of a delivery.
    pub struct Attempt stored as "a delivery" {
        /// When it was made.
        at: Iso = iso().required(),
        /// The receiver's status; null when there was no answer.
        status: Option<u32> = int(100, 599),
        /// Why there was none.
        error: Option<String> = text(0, 255),
        /// From the request to the end of the answer, milliseconds; null when there was none.
        duration_ms: Option<u32> = int(0, 60_000),
    }
}

impl Attempt {
    /// One that got no answer.
    pub fn failed(at: Iso, error: &str) -> Self {
        Self { at, status: None, error: Some(error.into()), duration_ms: None, rest: Rest::default() }
    }
}

/// Tries of a delivery that are shown, the last ones.
pub const ATTEMPTS_MAX: usize = 50;

record! {
    /// A webhook on its way, or arrived.
    pub struct Delivery stored as "a delivery" {
        /// Its id.
        id: u64 = id().required(),
        /// The event's id: the header `webhook-id`, the same in every try.
        webhook_id: String = text(0, 64).required(),
        /// What happened.
        event: String = text(0, 64).required(),
        /// The call it is about.
        call_id: Option<u64> = id(),
        /// Where it goes.
        url: String = text(0, URL_MAX).required(),
        /// Where it stands.
        status: DeliveryStatus = choice::<DeliveryStatus>().required(),
        /// Its tries.
        attempts: Vec<Attempt> = list::<Attempt>(ATTEMPTS_MAX),
        /// When it is tried next.
        next_attempt_at: Option<Iso> = iso(),
        /// When it was made.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// What a call keeps of the answer to its webhook: `webhook_response`.
    pub struct WebhookResponse {
        /// The receiver's status.
        status: u32 = int(100, 599).required(),
        /// The body of its answer.
        body: String = text(0, 0).required(),
    }
}

record! {
    /// Query of `GET /user/webhook-deliveries`.
    pub struct DeliveryQuery {
        /// Deliveries about this call.
        call_id: Option<u64> = id(),
        /// Deliveries that stand so.
        status: Option<DeliveryStatus> = choice::<DeliveryStatus>(),
        /// Rows a page.
        per_page: u32 = int(1, 100).or_int(15),
        /// The page, from 1.
        page: u64 = id().or_int(1),
    }
}

record! {
    /// Query of `GET /user/events`.
    pub struct EventQuery {
        /// Events after the one with this sequence number.
        after: Option<u32> = int(0, 4_294_967_295),
        /// How many at most; fewer come where they are long.
        limit: u32 = int(1, 1_000).or_int(100),
    }
}

record! {
    /// An event as it is stored: these members, and behind them the body of the webhook.
    pub struct EventHead stored as "an event" {
        /// Its place in the feed.
        seq: u32 = count().required(),
        /// Its id.
        id: String = text(0, 64).required(),
        /// What happened.
        event: String = text(0, 64).required(),
        /// When it happened.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// What of an event tells when it goes, and whom it shows.
    pub struct EventMentions stored as "an event" {
        /// When it happened.
        created_at: Iso = iso().required(),
        /// Its payload.
        payload: Option<PayloadMentions> = object::<PayloadMentions>(),
    }
}

record! {
    /// Whom a payload shows.
    pub struct PayloadMentions {
        /// The call, where it is what the payload is of.
        id: Option<u64> = id(),
        /// The call.
        call_id: Option<u64> = id(),
        /// The lead.
        lead: Option<LeadMention> = object::<LeadMention>(),
    }
}

record! {
    /// A lead in a payload.
    pub struct LeadMention {
        /// Its id.
        id: Option<u64> = id(),
        /// Its campaign.
        campaign_id: Option<u64> = id(),
        /// Its secondary contacts.
        secondary_contacts: Vec<ContactMention> = list::<ContactMention>(SECONDARY_CONTACTS_MAX),
    }
}

record! {
    /// A secondary contact in a payload.
    pub struct ContactMention {
        /// Its id, as a lead.
        id: Option<u64> = id(),
    }
}

record! {
    /// An event of an account.
    pub struct Event stored as "an event" {
        /// Its place in the feed, from 1, without gaps.
        seq: u32 = int(1, 4_294_967_295).required(),
        /// Its id, that of the webhook.
        id: String = text(0, 64).required(),
        /// What happened.
        event: String = text(0, 64).required(),
        /// When it happened.
        created_at: Iso = iso().required(),
        /// The body of the webhook.
        payload: Option<Json> = any(),
    }
}
