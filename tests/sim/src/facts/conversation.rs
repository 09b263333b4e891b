//! Conversations, their messages and balances as the claims see them.

use serde::Deserialize;
use switchboard_core::store::Row;
use switchboard_core::time::Timestamp;

use super::{Fact, json};

/// A conversation, reduced to what the claims need.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// UUID that clients name it by.
    pub uuid: String,
    /// `test`, `widget` or `api`.
    pub kind: String,
    /// Count of the assistant.
    pub assistant: u32,
    /// What the account knows its customer by; `None` where it gave nothing.
    pub customer: Option<String>,
    /// Messages, as the API shows it.
    pub message_count: usize,
    /// Price of its turns, USD, as the API shows it.
    pub total_cost: f64,
    /// Whether the assistant answers.
    pub ai_enabled: bool,
    /// Exchange of the turn that is under way, a UUID; `None` if there is none.
    pub turn: Option<String>,
    /// When it ended; `None` while it goes on.
    pub ended_at: Option<Timestamp>,
}

#[derive(Deserialize)]
struct ConversationShown {
    id: String,
    r#type: String,
    external_identifier: Option<String>,
    message_count: usize,
    total_cost: f64,
    ai_enabled: bool,
}

#[derive(Deserialize)]
struct ConversationHidden {
    assistant: u32,
    turn: Option<Mark>,
    ended_at: Option<u64>,
}

#[derive(Deserialize)]
struct Mark {
    exchange: String,
}

impl Fact for Conversation {
    fn read(public: &[u8], private: &[u8]) -> Option<Self> {
        let shown: ConversationShown = json(public)?;
        let hidden: ConversationHidden = json(private)?;
        Some(Self {
            uuid: shown.id,
            kind: shown.r#type,
            assistant: hidden.assistant,
            customer: shown.external_identifier,
            message_count: shown.message_count,
            total_cost: shown.total_cost,
            ai_enabled: shown.ai_enabled,
            turn: hidden.turn.map(|mark| mark.exchange),
            ended_at: hidden.ended_at.map(Timestamp::from_micros),
        })
    }
}

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Message {
    /// `assistant` or `user`.
    pub role: String,
    /// What is said.
    pub content: String,
}

impl Message {
    /// Parses a stored message; `None` for a damaged one.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        json(bytes)
    }

    /// Returns whether the person says it.
    pub fn is_users(&self) -> bool {
        self.role == "user"
    }
}

/// Returns the balance in the stored profile of an account, millionths of a US dollar; the inner `None` while it is
/// unmetered, the outer one for a damaged row.
pub fn balance(profile: &[u8]) -> Option<Option<i64>> {
    let private = Row::from_bytes(profile).ok()?.private;
    let micros = i64::from_le_bytes(private.get(6..14)?.try_into().ok()?);
    Some((*private.get(1)? != 0).then_some(micros))
}
