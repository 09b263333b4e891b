//! [`Tampering`]: defects that the service does not have, put into the outputs of its steps, so that each claim about
//! conversations is seen to fail.

use serde_json::{Value, json};
use switchboard_core::http::reply::Content;
use switchboard_core::key::{self, Key, Kind, Space, Topic};
use switchboard_core::memory::Memory;
use switchboard_core::step::{Outcome, Output};
use switchboard_core::store::{Change, Row};
use switchboard_core::view::View;

use crate::facts::Message;
use crate::mirror::{At, Mirror, place_of};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tampering {
    /// An answer is charged twice.
    ChargesTwice,
    /// An answer is not charged.
    ChargesNothing,
    /// A conversation shows another price.
    Misprices,
    /// A message that is sent again is kept again.
    KeepsTwice,
    /// A message is not kept.
    Loses,
    /// An answer is kept that the model did not give.
    Invents,
    /// An earlier answer is kept again.
    Repeats,
    /// A turn keeps nobody out.
    Overlaps,
    /// A turn is under way after its answer.
    Lingers,
    /// A turn is answered though a person took over.
    OutlastsPerson,
    /// A turn is not given up when its conversation ends.
    OutlastsEnd,
    /// A message that is sent again is not answered.
    Ignores,
    /// A conversation ends while somebody talks.
    EndsEarly,
    /// A conversation does not end.
    NeverEnds,
    /// The end of a conversation is told each time.
    TellsAgain,
    /// The end of a conversation is not told.
    TellsNothing,
    /// Something else is told than was said.
    TellsOtherwise,
    /// The end of a conversation has no delivery.
    SendsNothing,
    /// Somebody hears something else than is kept.
    HearsOtherwise,
    /// An answer is not kept under its idempotency key.
    ForgetsKey,
}

impl Tampering {
    /// Every defect with the beginning of the claim that it breaks.
    pub const ALL: [(Self, &'static str); 20] = [
        (Self::ChargesTwice, "a balance moves by what was kept"),
        (Self::ChargesNothing, "a balance moves by what was kept"),
        (Self::Misprices, "a conversation costs what its answers cost"),
        (Self::KeepsTwice, "a message that is not answered is kept once"),
        (Self::Loses, "a history has the messages that are counted"),
        (Self::Invents, "a history has what was answered"),
        (Self::Repeats, "an answer stands once"),
        (Self::Overlaps, "one message is answered at a time"),
        (Self::Lingers, "an answer ends the turn that is under way"),
        (Self::OutlastsPerson, "no answer comes once a person took over"),
        (Self::OutlastsEnd, "no answer comes after the end"),
        (Self::Ignores, "every message that can be answered is"),
        (Self::EndsEarly, "a conversation ends once nobody says anything"),
        (Self::NeverEnds, "every conversation ends"),
        (Self::TellsAgain, "the end of a conversation is told once"),
        (Self::TellsNothing, "the end of a conversation is told once"),
        (Self::TellsOtherwise, "what is told of a conversation is what was said"),
        (Self::SendsNothing, "an ended conversation has the delivery that its assistant asks for"),
        (Self::HearsOtherwise, "an answer that is heard stands behind its message"),
        (Self::ForgetsKey, "one effect an idempotency key"),
    ];

    /// Changes the output of a step over these rows.
    pub fn apply(self, output: &mut Output, store: &Memory, mirror: &Mirror) {
        let kept = kept(output);
        let answered = kept.iter().any(|(_, place, message)| *place > 1 && !message.is_users());
        let ends = output.changes.iter().any(is_end);
        match self {
            Self::ChargesTwice if answered => each_put(output, is_profile, |bytes| charge(bytes, 20_000)),
            Self::ChargesNothing if answered => output.changes.retain(|change| !is_profile(change)),
            Self::Loses => output.changes.retain(|change| message(change).is_none_or(|(_, _, said)| !said.is_users())),
            Self::Invents => each_answer(output, |_| Some("Made up.".into())),
            Self::Repeats => each_answer(output, |at| earlier(mirror, at)),
            Self::TellsNothing if ends => output.changes.retain(|change| !is_event(change)),
            Self::TellsOtherwise if ends => each_put(output, is_event, |bytes| replace(bytes, b"Message", b"Massage")),
            Self::SendsNothing if ends => output.changes.retain(|change| !is_row(change, Kind::Delivery)),
            Self::HearsOtherwise => {
                if let Outcome::Reply(reply) = &mut output.outcome
                    && let Content::Json(body) = &mut reply.content
                {
                    replace(body, b"Answer", b"Anther");
                }
            }
            Self::ForgetsKey => output.changes.retain(|change| !is_idempotency(change)),
            Self::KeepsTwice => keep_twice(output, mirror),
            _ => {
                let said = kept.iter().any(|(_, _, message)| message.is_users());
                for change in output.changes.iter_mut().filter(|change| is_row(change, Kind::Conversation)) {
                    self.edit(change, store, said, answered);
                }
            }
        }
    }

    /// Changes the row of a conversation; `said` and `answered` tell what the step kept.
    fn edit(self, change: &mut Change, store: &Memory, said: bool, answered: bool) {
        let Change::Put(at, bytes) = change else { return };
        let before = stored(store, at).map_or(Value::Null, |row| parsed(&row.private));
        let Ok(mut row) = Row::from_bytes(bytes) else { return };
        let (mut public, mut private) = (parsed(&row.public), parsed(&row.private));
        let begins = private["turn"]["exchange"] != before["turn"]["exchange"] && private["turn"].is_object();
        let micros = private["turn"]["at"].as_u64().unwrap_or(0);
        let last_micros = private["last_at"].as_u64().unwrap_or(0);
        let ends = private["ended_at"].is_u64() && !before["ended_at"].is_u64();
        match self {
            Self::Misprices if answered => public["total_cost"] = json!(9.5),
            Self::Overlaps if begins => private["turn"]["at"] = json!(micros.saturating_sub(75_000_000)),
            Self::Ignores if begins && !said => private["turn"] = Value::Null,
            Self::Lingers if answered => private["turn"] = before["turn"].clone(),
            Self::OutlastsPerson if answered => public["ai_enabled"] = json!(false),
            Self::OutlastsEnd if ends => private["turn"] = before["turn"].clone(),
            Self::EndsEarly if said => private["last_at"] = json!(0),
            Self::NeverEnds if said => private["last_at"] = json!(last_micros * 2),
            Self::TellsAgain if ends => private["reports"] = json!(0),
            _ => return,
        }
        if let Some(members) = private.as_object_mut().filter(|members| members.get("turn") == Some(&Value::Null)) {
            members.remove("turn");
        }
        (row.public, row.private) = (public.to_string().into_bytes(), private.to_string().into_bytes());
        *bytes = row.to_bytes();
    }
}

/// Keeps the last message again where a turn begins without a new one.
fn keep_twice(output: &mut Output, mirror: &Mirror) {
    if !kept(output).is_empty() {
        return;
    }
    let mut again = None;
    for change in &mut output.changes {
        let Some((at, bytes)) = conversation(change) else { continue };
        let Some(last) = mirror.said.get(&at).and_then(|said| said.last()).filter(|last| last.is_users()) else {
            continue;
        };
        let Ok(mut row) = Row::from_bytes(bytes) else { continue };
        let (mut public, private) = (parsed(&row.public), parsed(&row.private));
        if private["turn"].is_null() {
            continue;
        }
        let place = mirror.said[&at].len() + 1;
        public["message_count"] = json!(place);
        row.public = public.to_string().into_bytes();
        *bytes = row.to_bytes();
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let body = json!({ "role": last.role, "content": last.content, "at": "2026-01-01T00:00:00Z" });
        let at = key::part(Space::Account(at.0), Kind::Conversation, at.1, place);
        again = Some(Change::Put(at, body.to_string().into_bytes()));
    }
    output.changes.extend(again);
}

fn parsed(part: &[u8]) -> Value {
    serde_json::from_slice(part).unwrap_or(Value::Null)
}

fn stored(store: &Memory, at: &Key) -> Option<Row> {
    let found = store.get(std::slice::from_ref(at)).ok()?;
    Row::from_bytes(found.first()?.as_ref()?).ok()
}

fn key_of(change: &Change) -> &Key {
    match change {
        Change::Put(at, _) | Change::Delete(at) => at,
    }
}

fn account_of(change: &Change) -> Option<u32> {
    match key::space_of(key_of(change)) {
        Some(Space::Account(account)) => Some(account),
        _ => None,
    }
}

fn is_row(change: &Change, kind: Kind) -> bool {
    matches!(change, Change::Put(..)) && key::read_row(key_of(change)).is_some_and(|(found, _)| found == kind)
}

fn is_profile(change: &Change) -> bool {
    account_of(change).is_some_and(|account| *key_of(change) == key::profile(account))
}

fn is_event(change: &Change) -> bool {
    matches!(key::topic_of(key_of(change)), Some(Topic::Feed(_)))
}

fn is_end(change: &Change) -> bool {
    let Change::Put(_, bytes) = change else { return false };
    is_event(change) && parsed(bytes)["event"] == "conversation.ended"
}

fn is_idempotency(change: &Change) -> bool {
    let at = key_of(change);
    let digest = at.len().checked_sub(32).and_then(|from| at[from..].try_into().ok());
    let (Some(account), Some(digest)) = (account_of(change), digest) else { return false };
    *at == key::idempotency(Space::Account(account), &digest)
}

/// Returns the conversation whose row is written, with the row.
fn conversation(change: &mut Change) -> Option<(At, &mut Vec<u8>)> {
    let account = account_of(change).filter(|_| is_row(change, Kind::Conversation))?;
    let (_, count) = key::read_row(key_of(change))?;
    let Change::Put(_, bytes) = change else { return None };
    Some(((account, count), bytes))
}

/// Returns the message that is written, with its conversation and place.
fn message(change: &Change) -> Option<(At, u32, Message)> {
    let Change::Put(at, bytes) = change else { return None };
    let account = account_of(change)?;
    let (count, place) = place_of(account, at)?;
    Some(((account, count), place, Message::of(bytes)?))
}

fn kept(output: &Output) -> Vec<(At, u32, Message)> {
    output.changes.iter().filter_map(message).collect()
}

fn each_put(output: &mut Output, is_meant: impl Fn(&Change) -> bool, edit: impl Fn(&mut Vec<u8>)) {
    for change in output.changes.iter_mut().filter(|change| is_meant(change)) {
        if let Change::Put(_, bytes) = change {
            edit(bytes);
        }
    }
}

/// Replaces the answers of the model that are kept.
fn each_answer(output: &mut Output, other: impl Fn(At) -> Option<String>) {
    for change in &mut output.changes {
        let Some((at, place, said)) = message(change).filter(|(_, place, _)| *place > 1) else { continue };
        let (Some(content), Change::Put(_, bytes), false) = (other(at), change, said.is_users() || place < 2) else {
            continue;
        };
        let mut body = parsed(bytes);
        body["content"] = json!(content);
        *bytes = body.to_string().into_bytes();
    }
}

/// Returns an answer that was given before in a conversation.
fn earlier(mirror: &Mirror, at: At) -> Option<String> {
    let said = mirror.said.get(&at)?;
    said.iter().skip(1).find(|message| !message.is_users()).map(|message| message.content.clone())
}

fn charge(profile: &mut Vec<u8>, micros: i64) {
    let Ok(mut row) = Row::from_bytes(profile) else { return };
    if let Some(Ok(balance)) = row.private.get(6..14).map(<[u8; 8]>::try_from) {
        row.private[6..14].copy_from_slice(&(i64::from_le_bytes(balance) - micros).to_le_bytes());
    }
    *profile = row.to_bytes();
}

/// Replaces a word by one of the same length, wherever it stands.
fn replace(bytes: &mut [u8], word: &[u8], by: &[u8]) {
    for at in 0..bytes.len().saturating_sub(word.len()) {
        if bytes[at..].starts_with(word) {
            bytes[at..at + by.len()].copy_from_slice(by);
        }
    }
}
