//! Deliveries as they are stored: the object that the API shows, and the private state behind it.

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

/// Returns how many deliveries of an account are not at their end.
pub fn waiting(account: Scope<'_>) -> Result<u64, Stop> {
    crate::collection::count(account, Kind::Delivery, &facet_of_status(DeliveryStatus::Pending))
}

/// Returns the facet of the deliveries in a state.
pub fn facet_of_status(status: DeliveryStatus) -> Facet {
    Facet::new(1, status.word().as_bytes())
}

/// Returns the facet of a call's deliveries.
pub fn facet_of_call(call: u32) -> Facet {
    Facet::id(2, call)
}

/// Returns the facet of a conversation's deliveries.
pub fn facet_of_conversation(conversation: u32) -> Facet {
    Facet::id(3, conversation)
}

/// The webhooks of an assistant; the number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Webhook {
    /// The post-call webhook, to `webhook_url`.
    PostCall = 0,
    /// The inbound webhook, to `inbound_webhook_url`.
    Inbound = 1,
    /// The webhook of ended conversations, to `conversation_ended_webhook_url`.
    ConversationEnded = 2,
}

impl Webhook {
    /// Returns the webhook with a stored number.
    pub fn of(number: u32) -> Self {
        match number {
            0 => Self::PostCall,
            1 => Self::Inbound,
            _ => Self::ConversationEnded,
        }
    }
}

/// What a delivery is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A call, by its local id.
    Call(u32),
    /// A conversation.
    Conversation {
        /// Local id.
        count: u32,
        /// UUID, which answers show.
        uuid: String,
    },
}

record! {
    /// Private part of a delivery's row, which the API does not show.
    pub struct DeliveryState stored as "a delivery" {
        /// Sequence number of the event in the feed.
        seq: u32 = count().required(),
        /// Local id of the call; of the conversation, for its webhook.
        call: u32 = count().required(),
        /// Local id of the assistant whose webhook it is.
        assistant: u32 = count().required(),
        /// Number of the [`Webhook`].
        webhook: u32 = count().required(),
        /// Whether the answer becomes the call's `webhook_response`.
        alone: Flag = flag().required(),
        /// Attempts counted by the retry schedule; 0 again when it is sent again.
        tries: u32 = count().required(),
    }
}

impl DeliveryState {
    /// Builds the state of a new delivery of an event.
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

    /// Returns which webhook of the assistant it is.
    pub fn webhook(&self) -> Webhook {
        Webhook::of(self.webhook)
    }
}

/// A delivery that was read, with the row it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryRow {
    /// Local id within the account.
    pub count: u32,
    /// The delivery object that the API shows.
    pub shown: Delivery,
    /// State that the API does not show.
    pub state: DeliveryState,
    before: Row,
}

impl DeliveryRow {
    /// Stores a new delivery of an event of a call, and schedules its first attempt at once.
    pub fn enter(
        account: Scope<'_>,
        event: &Published,
        name: &str,
        url: String,
        state: &DeliveryState,
        now: Timestamp,
    ) -> Result<u32, Stop> {
        Self::enter_about(account, event, (name, &Subject::Call(state.call)), url, state, now)
    }

    /// Stores a new delivery of an event, by its name and what it is about, and schedules its first attempt at once.
    pub fn enter_about(
        account: Scope<'_>,
        event: &Published,
        (name, subject): (&str, &Subject),
        url: String,
        state: &DeliveryState,
        now: Timestamp,
    ) -> Result<u32, Stop> {
        let (call_id, conversation_id) = match subject {
            Subject::Call(call) => (Some(id::of(account.space(), *call)), None),
            Subject::Conversation { uuid, .. } => (None, Some(uuid.clone())),
        };
        let (count, at) = account.allot(Kind::Delivery, now)?;
        let shown = Delivery {
            id: id::of(account.space(), count),
            webhook_id: event.id.clone(),
            event: name.into(),
            call_id,
            url,
            status: DeliveryStatus::Pending,
            attempts: Vec::new(),
            next_attempt_at: Some(Iso(at)),
            created_at: Iso(at),
            conversation_id,
            rest: Rest::default(),
        };
        account.insert(Kind::Delivery, count, at, &row(&shown, state))?;
        job::add(account, at, Task::Deliver(count))?;
        Ok(count)
    }

    /// Finds a delivery of the account.
    pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Self>, Stop> {
        account.find(Kind::Delivery, count)?.map(|row| Self::of(count, row)).transpose()
    }

    /// Parses a row that was already read.
    pub fn of(count: u32, row: Row) -> Result<Self, Stop> {
        let (shown, state) = (Delivery::read(&row.public)?, DeliveryState::read(&row.private)?);
        Ok(Self { count, shown, state, before: row })
    }

    /// Records an attempt; only the last [`ATTEMPTS_MAX`] are kept.
    pub fn attempted(&mut self, attempt: Attempt) {
        let attempts = &mut self.shown.attempts;
        attempts.push(attempt);
        attempts.drain(..attempts.len().saturating_sub(ATTEMPTS_MAX));
    }

    /// Sets the state, and the time of the next attempt.
    pub fn stands(&mut self, status: DeliveryStatus, next: Option<Timestamp>) {
        (self.shown.status, self.shown.next_attempt_at) = (status, next.map(Iso));
    }

    /// Writes the delivery back.
    pub fn save(&mut self, account: Scope<'_>) -> Result<(), Stop> {
        let row = row(&self.shown, &self.state);
        account.replace(Kind::Delivery, self.count, &self.before, &row)?;
        self.before = row;
        Ok(())
    }
}

fn row(shown: &Delivery, state: &DeliveryState) -> Row {
    let subject = match state.webhook() {
        Webhook::ConversationEnded => facet_of_conversation(state.call),
        Webhook::PostCall | Webhook::Inbound => facet_of_call(state.call),
    };
    let facets = [facet_of_status(shown.status), subject].into();
    Row { facets, public: shown.to_json(), private: state.to_json() }
}
