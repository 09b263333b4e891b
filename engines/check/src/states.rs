//! The states of a call, and which events they allow (docs/api.md, States).

use serde_json::Value;

use crate::rules::EngineRule;

/// The state of a call, as far as its engine can move it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallPhase {
    /// It is claimed, and nothing was reported.
    Claimed,
    /// It is being dialed.
    Dialing,
    /// It rings.
    Ringing,
    /// Somebody answered.
    Talking,
    /// It was given back.
    Released,
    /// It has ended or failed; the word is its status.
    Over(&'static str),
}

/// Events that belong to a talk.
const IN_TALK: &[&str] =
    &["detected", "transcript", "partial", "variables", "dtmf", "transfer", "hold", "resume", "analysis"];
/// Events that may come at any time while a call runs.
const ANY_TIME: &[&str] = &["recording", "cost", "usage", "quality", "metrics", "unsupported", "command"];
/// Events that may follow the end; `transcript` may too, of what was said before.
const LATE: &[&str] = &["recording", "cost", "usage", "quality", "metrics", "transcript"];
/// All other events that are known.
const OTHERS: &[&str] = &["dialing", "release", "ringing", "answered", "ended", "failed"];

/// Members that an event of a type must have, each a text that is not empty unless said otherwise.
const REQUIRED: &[(&str, &[&str])] = &[
    ("transcript", &["sender", "text"]),
    ("partial", &["text"]),
    ("dtmf", &["digits"]),
    ("transfer", &["to"]),
    ("recording", &["url"]),
    ("command", &["status"]),
    ("detected", &["answered_by"]),
];

/// Words that a member of an event may have.
const WORDS: &[(&str, &str, &[&str])] = &[
    ("transcript", "sender", &["bot", "human"]),
    ("command", "status", &["done", "refused"]),
    ("answered", "answered_by", &["human", "machine", "unknown"]),
    ("detected", "answered_by", &["human", "machine", "unknown"]),
    ("detected", "kind", &["person", "voicemail", "screening", "menu"]),
    ("transfer", "mode", &["blind", "warm", "bridge"]),
    ("transfer", "status", &["started", "accepted", "failed"]),
    ("dtmf", "by", &["customer", "assistant"]),
];

impl CallPhase {
    /// Returns whether the call runs.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Claimed | Self::Dialing | Self::Ringing | Self::Talking)
    }

    /// Returns the status as answers show it.
    pub const fn status(self) -> &'static str {
        match self {
            Self::Claimed | Self::Dialing | Self::Released => "initiated",
            Self::Ringing => "ringing",
            Self::Talking => "in-progress",
            Self::Over(status) => status,
        }
    }

    /// Returns the phase after an event, or the rule that it breaks.
    pub fn after(self, event: &Value) -> Result<Self, EngineRule> {
        let kind = event["type"].as_str().unwrap_or_default();
        match self {
            Self::Over(_) => return if LATE.contains(&kind) { Ok(self) } else { Err(EngineRule::AfterEnd) },
            Self::Released => return Err(EngineRule::AfterRelease),
            _ => {}
        }
        let is_known = [IN_TALK, ANY_TIME, OTHERS].iter().any(|types| types.contains(&kind));
        match (kind, self) {
            ("failed", _) => Ok(Self::Over(match event["reason"].as_str() {
                Some("busy") if self != Self::Talking => "busy",
                Some("no-answer") if self != Self::Talking => "no-answer",
                _ => "failed",
            })),
            ("ended", Self::Talking) => Ok(Self::Over(match event["by"].as_str() {
                Some("customer") => "ended_by_customer",
                Some("assistant") => "ended_by_assistant",
                _ => "ended",
            })),
            ("dialing", Self::Claimed) => Ok(Self::Dialing),
            ("release", Self::Claimed) => Ok(Self::Released),
            ("ringing", Self::Dialing) => Ok(Self::Ringing),
            ("answered", Self::Dialing | Self::Ringing) => Ok(Self::Talking),
            ("ringing" | "answered", Self::Claimed) => Err(EngineRule::DialingFirst),
            (kind, Self::Talking) if IN_TALK.contains(&kind) => Ok(self),
            (kind, _) if ANY_TIME.contains(&kind) || !is_known => Ok(self),
            _ => Err(EngineRule::States),
        }
    }
}

/// Returns what is wrong with the members of an event, if anything is.
pub fn wrong_members(event: &Value) -> Option<String> {
    let Some(kind) = event["type"].as_str().filter(|kind| (1..=64).contains(&kind.len())) else {
        return Some("an event has no type".into());
    };
    if event["seq"].as_u64().is_none_or(|seq| seq == 0) {
        return Some(format!("the number of {kind} is not 1 or more"));
    }
    for time in ["at", "started_at", "ended_at"] {
        let is_time = |text: &Value| text.as_str().is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok());
        if event.get(time).is_some_and(|text| !text.is_null() && !is_time(text)) {
            return Some(format!("{time} of {kind} is no time in RFC 3339"));
        }
    }
    let required = REQUIRED.iter().find(|(known, _)| *known == kind).map_or(&[][..], |(_, members)| members);
    let is_text = |member: &&&str| event[**member].as_str().is_some_and(|text| !text.is_empty());
    if let Some(member) = required.iter().find(|member| !is_text(member)) {
        return Some(format!("{kind} has no {member}"));
    }
    let words = WORDS.iter().filter(|(known, ..)| *known == kind);
    let other = |member: &str, words: &[&str]| event[member].as_str().is_some_and(|word| !words.contains(&word));
    words
        .filter(|(_, member, words)| other(member, words))
        .map(|(_, member, words)| format!("{member} of {kind} is none of {}", words.join(", ")))
        .next()
        .or_else(|| (kind == "command" && event["id"].is_null()).then(|| "command has no id".into()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn which_event_which_phase_allows() {
        use CallPhase::{Claimed, Dialing, Over, Released, Ringing, Talking};
        for (phase, event, expected) in [
            (Claimed, json!({ "type": "dialing" }), Ok(Dialing)),
            (Claimed, json!({ "type": "release" }), Ok(Released)),
            (Claimed, json!({ "type": "ringing" }), Err(EngineRule::DialingFirst)),
            (Claimed, json!({ "type": "answered" }), Err(EngineRule::DialingFirst)),
            (Claimed, json!({ "type": "failed", "reason": "busy" }), Ok(Over("busy"))),
            (Dialing, json!({ "type": "release" }), Err(EngineRule::States)),
            (Dialing, json!({ "type": "answered" }), Ok(Talking)),
            (Ringing, json!({ "type": "failed", "reason": "no-answer" }), Ok(Over("no-answer"))),
            (Ringing, json!({ "type": "transcript" }), Err(EngineRule::States)),
            (Ringing, json!({ "type": "ended" }), Err(EngineRule::States)),
            (Talking, json!({ "type": "failed", "reason": "busy" }), Ok(Over("failed"))),
            (Talking, json!({ "type": "ended", "by": "customer" }), Ok(Over("ended_by_customer"))),
            (Talking, json!({ "type": "ringing" }), Err(EngineRule::States)),
            (Talking, json!({ "type": "of_tomorrow" }), Ok(Talking)),
            (Over("busy"), json!({ "type": "usage" }), Ok(Over("busy"))),
            (Over("busy"), json!({ "type": "command" }), Err(EngineRule::AfterEnd)),
            (Released, json!({ "type": "dialing" }), Err(EngineRule::AfterRelease)),
        ] {
            assert_eq!(phase.after(&event), expected, "{event} while {phase:?}");
        }
    }

    #[test]
    fn which_members_are_wrong() {
        for (event, says) in [
            (json!({ "seq": 1, "type": "dialing" }), None),
            (json!({ "seq": 1, "type": "of_tomorrow", "x": 1 }), None),
            (json!({ "seq": 1, "type": "transcript", "sender": "bot", "text": "Hi", "at": null }), None),
            (json!({ "seq": 0, "type": "dialing" }), Some("the number of dialing is not 1 or more")),
            (json!({ "type": "dialing" }), Some("the number of dialing is not 1 or more")),
            (json!({ "seq": 1 }), Some("an event has no type")),
            (json!({ "seq": 1, "type": "dialing", "at": "noon" }), Some("at of dialing is no time in RFC 3339")),
            (json!({ "seq": 1, "type": "transcript", "sender": "bot", "text": "" }), Some("transcript has no text")),
            (
                json!({ "seq": 1, "type": "transcript", "sender": "me", "text": "Hi" }),
                Some("sender of transcript is none of bot, human"),
            ),
            (json!({ "seq": 1, "type": "command", "status": "done" }), Some("command has no id")),
        ] {
            assert_eq!(wrong_members(&event).as_deref(), says, "{event}");
        }
    }
}
