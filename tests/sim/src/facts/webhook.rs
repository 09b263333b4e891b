//! Events, their deliveries, and the secrets that sign them.

use serde::Deserialize;
use serde_json::Value;
use switchboard_core::id;
use switchboard_core::time::Timestamp;
use switchboard_core::webhook::tables::DeliveryStatus;

use super::{Fact, json, word};

/// A webhook delivery.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Where it stands.
    pub status: DeliveryStatus,
    /// The event's id.
    pub webhook_id: String,
    /// The event's name.
    pub event: String,
    /// The call, by count.
    pub call: u32,
    /// Where it goes.
    pub url: String,
    /// The statuses of the tries that are shown; `None` where there was no answer.
    pub attempts: Vec<Option<u16>>,
    /// When it was made.
    pub created_at: Timestamp,
}

#[derive(Deserialize)]
struct DeliveryShown {
    status: String,
    webhook_id: String,
    event: String,
    call_id: u64,
    url: String,
    attempts: Vec<Attempt>,
    created_at: String,
}

#[derive(Deserialize)]
struct Attempt {
    status: Option<u16>,
}

impl Fact for Delivery {
    fn read(public: &[u8], _: &[u8]) -> Option<Self> {
        let shown: DeliveryShown = json(public)?;
        Some(Self {
            status: word(&shown.status)?,
            webhook_id: shown.webhook_id,
            event: shown.event,
            call: id::count(shown.call_id),
            url: shown.url,
            attempts: shown.attempts.iter().map(|attempt| attempt.status).collect(),
            created_at: Timestamp::parse_iso(&shown.created_at)?,
        })
    }
}

/// An event of the feed.
#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    /// Its place.
    pub seq: u32,
    /// Its id.
    pub id: String,
    /// Its name.
    pub event: String,
    /// When it happened.
    pub created_at: String,
    /// Its payload.
    pub payload: Value,
}

/// The secrets in the stored row of an account's secrets.
pub fn secrets(stored: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Secret {
        secret: String,
    }
    json::<Vec<Secret>>(stored).unwrap_or_default().into_iter().map(|secret| secret.secret).collect()
}
