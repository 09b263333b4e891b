//! Conversations as they are stored: the object that lists show, the private state of turns and clocks, and the messages,
//! a part each.

use alloc::string::String;
use alloc::vec::Vec;

use sha2::{Digest, Sha256};

use super::tables::{Conversation, ConversationType, FunctionCalled, Role, ShownMessage};
use crate::collection::Facet;
use crate::id;
use crate::json::{self, ToJson, Value};
use crate::key::{self, Key, Kind, Space, Unique};
use crate::limits::{
    CONVERSATION_BYTES_MAX, CONVERSATION_MESSAGES_MAX, TURN_CALLS_MAX, TURN_LAPSE_SECONDS, TURN_ROUNDS_MAX,
};
use crate::record;
use crate::record::{
    Iso, Json, Stored, Variables, choice, count, iso, list, micros, object, signed, text, texts, variables,
};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Facet tags that conversations are filtered by.
mod tag {
    pub const TYPE: u8 = 1;
    pub const ASSISTANT: u8 = 2;
    pub const PHONE: u8 = 3;
    pub const CUSTOMER: u8 = 4;
}

/// Returns the facet of the conversations of a type.
pub fn facet_of_type(kind: ConversationType) -> Facet {
    Facet::new(tag::TYPE, kind.word().as_bytes())
}

/// Returns the facet of an assistant's conversations.
pub fn facet_of_assistant(count: u32) -> Facet {
    Facet::id(tag::ASSISTANT, count)
}

/// Returns the facet of the conversations with a phone number.
pub fn facet_of_phone(phone: &str) -> Facet {
    Facet::new(tag::PHONE, phone.as_bytes())
}

/// Returns the facet of the conversations with a customer whom the account knows by this.
pub fn facet_of_customer(identifier: &str) -> Facet {
    Facet::new(tag::CUSTOMER, &Sha256::digest(identifier.as_bytes()))
}

/// Returns the key that leads from an assistant and a customer to their conversation.
pub fn customer_key(space: Space, assistant: u32, identifier: &str) -> Key {
    let parts = [&assistant.to_be_bytes()[..], &Sha256::digest(identifier.as_bytes())];
    key::unique(space, Unique::Customer, &parts.concat())
}

record! {
    /// Private part of a conversation's row, which the API does not show.
    pub struct ConversationState stored as "a conversation" {
        /// Local id of the assistant.
        assistant: u32 = count().required(),
        /// Messages that the person sent.
        user_messages: u32 = count().required(),
        /// Bytes of its messages with their function calls.
        bytes: u32 = count().required(),
        /// The turn that is under way.
        turn: Option<TurnMark> = object::<TurnMark>().sparse(),
        /// When the bucket of messages is full again.
        messages_full_at: Timestamp = micros().required(),
        /// When somebody last said something.
        last_at: Timestamp = micros().required(),
        /// When it ended; not given while it goes on.
        ended_at: Option<Timestamp> = micros().sparse(),
        /// Whether its end was reported before.
        reports: u32 = count().required(),
        /// Failed requests to the operator's model about its end.
        tries: u32 = count().required(),
        /// Price of its turns, millionths of a dollar.
        cost_micros: i64 = signed().required(),
        /// Variables that it was given.
        input: Variables = variables(),
        /// Variables that were extracted when it ended.
        extracted: Variables = variables(),
    }
}

impl ConversationState {
    /// Ends the conversation. A turn that lapsed is over with it: what its exchange would still answer, nobody is told.
    pub fn end(&mut self, now: Timestamp) {
        self.ended_at = Some(now);
        self.turn = None;
    }
}

record! {
    /// A turn that is under way.
    pub struct TurnMark stored as "a conversation" {
        /// UUID that each step of the exchange derives again.
        exchange: String = text(0, 36).required(),
        /// When it began.
        at: Timestamp = micros().required(),
        /// Digest of what the assistant was made of when it began: answers from outside are only understood with that.
        digest: String = text(0, 64).required(),
        /// What its answer costs, millionths of a dollar: the price when it began.
        price_micros: i64 = signed().or_int(0),
    }
}

impl TurnMark {
    /// Returns whether the turn may still be settled by its exchange.
    pub fn holds(&self, now: Timestamp) -> bool {
        now < self.at.plus_seconds(TURN_LAPSE_SECONDS)
    }
}

record! {
    /// A message as it is stored.
    pub struct ConversationMessage stored as "a message of a conversation" {
        /// Who says it.
        role: Role = choice::<Role>().required(),
        /// What is said.
        content: String = text(0, 0).required(),
        /// When it was said.
        at: Iso = iso().required(),
        /// What the assistant said beside its function calls, a text for each time that it called some.
        asides: Vec<String> = texts(&ASIDE, TURN_ROUNDS_MAX).sparse(),
        /// Its function calls.
        calls: Vec<MadeCall> = list::<MadeCall>(TURN_CALLS_MAX).sparse(),
    }
}

/// Bounds of an aside.
static ASIDE: record::ColumnType = record::ColumnType::Text { min: 0, max: 0, format: None };

record! {
    /// A function call of a turn as it is stored.
    pub struct MadeCall stored as "a message of a conversation" {
        /// Which of the model's answers asked for it, from 0.
        round: u32 = count().required(),
        /// The model's id of the call.
        id: String = text(0, 128).required(),
        /// Name of the function.
        name: String = text(0, 64).required(),
        /// Arguments, as the model wrote them.
        arguments: String = text(0, 0).required(),
        /// What came of it.
        result: String = text(0, 0).required(),
    }
}

impl MadeCall {
    /// Returns the call as answers show it.
    pub fn shown(&self) -> FunctionCalled {
        let parsed = json::parse(self.arguments.as_bytes()).ok().filter(|value| value.as_object().is_some());
        let arguments = Some(Json(parsed.unwrap_or_else(|| Value::Text(self.arguments.clone()))));
        FunctionCalled { name: self.name.clone(), arguments, result: self.result.clone() }
    }
}

impl ConversationMessage {
    /// Returns the message as answers show it; strangers see no function calls.
    pub fn shown(&self, with_calls: bool) -> ShownMessage {
        let calls = self.calls.iter().filter(|_| with_calls).map(MadeCall::shown);
        ShownMessage { role: self.role, content: self.content.clone(), function_calls: calls.collect() }
    }

    /// Returns its size, bytes.
    pub fn bytes(&self) -> usize {
        let calls = self.calls.iter().map(|call| call.name.len() + call.arguments.len() + call.result.len());
        self.content.len() + self.asides.iter().map(String::len).sum::<usize>() + calls.sum::<usize>()
    }
}

/// A conversation that was read, with the row it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationRow {
    /// Local id within the account.
    pub count: u32,
    /// The object that lists show.
    pub shown: Conversation,
    /// State that the API does not show.
    pub live: ConversationState,
    before: Row,
}

impl ConversationRow {
    /// Finds the conversation of the account that a UUID names.
    pub fn named(account: Scope<'_>, uuid: &str) -> Result<Option<Self>, Stop> {
        let Space::Account(number) = account.space() else { return Ok(None) };
        let Some(count) = id::count_of_uuid(number, uuid) else { return Ok(None) };
        Ok(Self::find(account, count)?.filter(|found| found.shown.id.eq_ignore_ascii_case(uuid)))
    }

    /// Finds a conversation of the account.
    pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Self>, Stop> {
        let Some(row) = account.find(Kind::Conversation, count)? else { return Ok(None) };
        let (shown, live) = (Conversation::read(&row.public)?, ConversationState::read(&row.private)?);
        Ok(Some(Self { count, shown, live, before: row }))
    }

    /// Stores a new conversation.
    pub fn enter(account: Scope<'_>, count: u32, shown: Conversation, live: ConversationState) -> Result<Self, Stop> {
        let row = row(&shown, &live);
        account.insert(Kind::Conversation, count, shown.created_at.0, &row)?;
        Ok(Self { count, shown, live, before: row })
    }

    /// Writes the conversation back, with `now` as its `updated_at`.
    pub fn save(&mut self, account: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
        self.shown.updated_at = Iso(now.max(self.shown.updated_at.0));
        let row = row(&self.shown, &self.live);
        account.replace(Kind::Conversation, self.count, &self.before, &row)?;
        self.before = row;
        Ok(())
    }

    /// Deletes the row and what leads to it; its messages are deleted by a job.
    pub fn remove(self, account: Scope<'_>) -> Result<(), Stop> {
        if let Some(identifier) = &self.shown.external_identifier {
            let known = customer_key(account.space(), self.live.assistant, identifier);
            if account.get(known.clone())?.as_deref() == Some(&self.count.to_be_bytes()) {
                account.delete(known)?;
            }
        }
        account.remove(Kind::Conversation, self.count, &self.before)
    }

    /// Appends a message; the row is not written.
    pub fn say(&mut self, account: Scope<'_>, message: &ConversationMessage) -> Result<(), Stop> {
        self.shown.message_count += 1;
        self.live.bytes = self.live.bytes.saturating_add(u32::try_from(message.bytes()).unwrap_or(u32::MAX));
        self.live.last_at = self.live.last_at.max(message.at.0);
        self.live.user_messages += u32::from(message.role == Role::User);
        let at = key::part(account.space(), Kind::Conversation, self.count, self.shown.message_count);
        account.put(at, message.to_json())
    }

    /// Reads all messages, oldest first.
    pub fn messages(&self, account: Scope<'_>) -> Result<Vec<ConversationMessage>, Stop> {
        let parts = key::parts(account.space(), Kind::Conversation, self.count);
        let found = account.scan(parts, Order::Ascending, self.shown.message_count as usize)?;
        found.iter().map(|(_, bytes)| ConversationMessage::read(bytes)).collect()
    }

    /// Returns whether it takes no more messages.
    pub fn is_full(&self) -> bool {
        self.shown.message_count + 2 > CONVERSATION_MESSAGES_MAX || self.live.bytes > CONVERSATION_BYTES_MAX
    }

    /// Returns the local id of the assistant.
    pub fn assistant(&self) -> u32 {
        self.live.assistant
    }
}

fn row(shown: &Conversation, live: &ConversationState) -> Row {
    let mut facets = Vec::from([facet_of_type(shown.r#type), facet_of_assistant(live.assistant)]);
    let phone = shown.customer.as_ref().and_then(|customer| customer.phone.as_deref());
    facets.extend(phone.map(facet_of_phone));
    facets.extend(shown.external_identifier.as_deref().map(facet_of_customer));
    Row { facets, public: shown.to_json(), private: live.to_json() }
}
