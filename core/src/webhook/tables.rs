//! API records of events, deliveries and their attempts.

use alloc::string::String;
use alloc::vec::Vec;

use crate::http::csv::CsvSeparator;
use crate::limits::{SECONDARY_CONTACTS_MAX, URL_MAX};
use crate::record::{Iso, Json, Rest, any, choice, count, id, int, iso, list, object, per_page, text};
use crate::{choice, record};

choice! {
    /// State of a delivery.
    pub enum DeliveryStatus {
        /// It will be tried again, or for the first time.
        Pending = "pending",
        /// The receiver answered with a 2xx status.
        Delivered = "delivered",
        /// It is not tried again.
        Exhausted = "exhausted",
    }
}

record! {
    /// An attempt of a delivery.
    pub struct Attempt stored as "a delivery" {
        /// When the request was sent, UTC.
        at: Iso = iso().required(),
        /// HTTP status of the receiver's answer; null if there was none.
        status: Option<u32> = int(100, 599),
        /// Why there was no answer, as a sentence that names the URL without its query; null if there was one.
        error: Option<String> = text(0, 255),
        /// Time from the request to the end of the answer, milliseconds; null if there was none.
        duration_ms: Option<u32> = int(0, 60_000),
    }
}

impl Attempt {
    /// Builds an attempt that got no answer.
    pub fn failed(at: Iso, error: &str) -> Self {
        Self { at, status: None, error: Some(error.into()), duration_ms: None, rest: Rest::default() }
    }
}

/// Most attempts kept of a delivery, the last ones.
pub const ATTEMPTS_MAX: usize = 50;

record! {
    /// A delivery of a webhook.
    pub struct Delivery stored as "a delivery" {
        /// Id of the delivery, to send it again by.
        id: u64 = id().required(),
        /// Id of the event, sent as the header `webhook-id`: the same in every attempt.
        webhook_id: String = text(0, 64).required(),
        /// Name of the event, such as `call.ended`.
        event: String = text(0, 64).required(),
        /// Id of the call that the event is about; null for one about a conversation.
        call_id: Option<u64> = id(),
        /// URL that it is sent to.
        url: String = text(0, URL_MAX).required(),
        /// Current state of the delivery.
        status: DeliveryStatus = choice::<DeliveryStatus>().required(),
        /// Attempts so far, oldest first; the last 50.
        attempts: Vec<Attempt> = list::<Attempt>(ATTEMPTS_MAX),
        /// When the next attempt is due, UTC; null if none is planned.
        next_attempt_at: Option<Iso> = iso(),
        /// When the delivery was created, UTC.
        created_at: Iso = iso().required(),
        /// UUID of the conversation that the event is about; null for one about a call.
        conversation_id: Option<String> = text(0, 36),
    }
}

record! {
    /// Answer to a call's webhook, kept as its `webhook_response`.
    pub struct WebhookResponse {
        /// HTTP status of the answer.
        status: u32 = int(100, 599).required(),
        /// Body of the answer, as text.
        body: String = text(0, 0).required(),
    }
}

record! {
    /// Query of `GET /user/webhook-deliveries`.
    pub struct DeliveryQuery {
        /// Only deliveries about this call.
        call_id: Option<u64> = id(),
        /// Only deliveries in this state.
        status: Option<DeliveryStatus> = choice::<DeliveryStatus>(),
        /// For `text/csv`: what separates cells; a comma if not given.
        separator: Option<CsvSeparator> = choice::<CsvSeparator>(),
        /// Number of deliveries on a page.
        per_page: u32 = per_page(15),
        /// Number of the page, from 1.
        page: u64 = id().or_int(1),
    }
}

record! {
    /// Query of `GET /user/events`.
    pub struct EventQuery {
        /// Sequence number after which to start; 0 or nothing starts with the oldest event that is kept.
        after: Option<u32> = int(0, 4_294_967_295),
        /// Most events to return; fewer are returned if they are long.
        limit: u32 = int(1, 1_000).or_int(100),
    }
}

record! {
    /// Head of an event as it is stored; the payload, the body of the webhook, follows these members.
    pub struct EventHead stored as "an event" {
        /// Sequence number in the feed.
        seq: u32 = count().required(),
        /// Id of the event, `evt_` and hexadecimal digits.
        id: String = text(0, 64).required(),
        /// Name of the event, such as `call.ended`.
        event: String = text(0, 64).required(),
        /// Time of the event; it is kept for 30 days from then.
        created_at: Iso = iso().required(),
    }
}

record! {
    /// The part of a stored event that is needed to forget it: its age, and the rows that its payload shows.
    pub struct EventMentions stored as "an event" {
        /// Time of the event; it is kept for 30 days from then.
        created_at: Iso = iso().required(),
        /// The rows that the payload shows.
        payload: Option<PayloadMentions> = object::<PayloadMentions>(),
    }
}

record! {
    /// Ids of the rows that a payload shows.
    pub struct PayloadMentions {
        /// Id of the call, in a payload that is a call.
        id: Option<u64> = id(),
        /// UUID of the conversation, in a payload that is one.
        conversation_id: Option<String> = text(0, 36),
        /// Id of the call, in any other payload about one.
        call_id: Option<u64> = id(),
        /// What `reference` is the id of: `call`, or another word.
        by: Option<String> = text(0, 64),
        /// Id of what an assistant was first used by.
        reference: Option<u64> = id(),
        /// Lead that the call was to.
        lead: Option<LeadMention> = object::<LeadMention>(),
    }
}

record! {
    /// Ids of a lead in a payload.
    pub struct LeadMention {
        /// Id of the lead.
        id: Option<u64> = id(),
        /// Id of its campaign.
        campaign_id: Option<u64> = id(),
        /// Secondary contacts of the lead.
        secondary_contacts: Vec<ContactMention> = list::<ContactMention>(SECONDARY_CONTACTS_MAX),
    }
}

record! {
    /// Id of a secondary contact in a payload.
    pub struct ContactMention {
        /// Id of the contact, which is a lead.
        id: Option<u64> = id(),
    }
}

record! {
    /// An event in the account's feed.
    pub struct Event stored as "an event" {
        /// Sequence number in the feed, from 1, without gaps.
        seq: u32 = int(1, 4_294_967_295).required(),
        /// Id of the event; its webhooks carry the same one.
        id: String = text(0, 64).required(),
        /// Name of the event, such as `call.ended`.
        event: String = text(0, 64).required(),
        /// When it happened, UTC.
        created_at: Iso = iso().required(),
        /// Payload, the same as the body of its webhook; `{"deleted":true}` once a row that it shows was deleted.
        payload: Option<Json> = any(),
    }
}
