//! Events, their deliveries and signing secrets as the claims see them.

use serde::Deserialize;
use serde_json::Value;
use switchboard_core::id;
use switchboard_core::time::Timestamp;
use switchboard_core::webhook::tables::DeliveryStatus;

use super::{Fact, json, word};

/// A row of a webhook delivery.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// State of the delivery.
    pub status: DeliveryStatus,
    /// Id of the event, `evt_…`.
    pub webhook_id: String,
    /// Name of the event.
    pub event: String,
    /// Count of the call; `None` for one about a conversation.
    pub call: Option<u32>,
    /// UUID of the conversation; `None` for one about a call.
    pub conversation: Option<String>,
    /// URL of the receiver.
    pub url: String,
    /// Statuses of the attempts that are shown; `None` for one without an answer.
    pub attempts: Vec<Option<u16>>,
    /// Creation time of the delivery.
    pub created_at: Timestamp,
}

#[derive(Deserialize)]
struct DeliveryShown {
    status: String,
    webhook_id: String,
    event: String,
    call_id: Option<u64>,
    conversation_id: Option<String>,
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
            call: shown.call_id.map(id::count),
            conversation: shown.conversation_id,
            url: shown.url,
            attempts: shown.attempts.iter().map(|attempt| attempt.status).collect(),
            created_at: Timestamp::parse_iso(&shown.created_at)?,
        })
    }
}

/// An event in the feed.
#[derive(Clone, Debug, Deserialize)]
pub struct Event {
    /// Sequence number in the feed.
    pub seq: u32,
    /// Id of the event, `evt_…`, which its webhooks carry.
    pub id: String,
    /// Name of the event.
    pub event: String,
    /// Time of the event, as the API shows it.
    pub created_at: String,
    /// Body that the webhooks carry.
    pub payload: Value,
}

/// Returns the secrets in the stored row of an account's secrets.
pub fn secrets(stored: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Secret {
        secret: String,
    }
    json::<Vec<Secret>>(stored).unwrap_or_default().into_iter().map(|secret| secret.secret).collect()
}
