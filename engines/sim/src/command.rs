//! Commands of the service to a call.

use serde_json::Value;

/// A command.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineCommand {
    /// Id of the call.
    pub call: u64,
    /// Id of the command, which the event that tells its end names as it came.
    pub id: Value,
    /// What to do.
    pub order: CommandOrder,
}

/// What the service wants done in a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOrder {
    /// Hang up at once.
    HangUp,
    /// Say this.
    Say(String),
    /// Transfer the call to this number or address.
    Transfer(String),
    /// Send these keys.
    Dtmf(String),
    /// Have the customer wait.
    Hold,
    /// Go on.
    Resume,
    /// Go on with this in mind.
    Context,
    /// End the call.
    End {
        /// Whether what is being said is said to its end.
        after_sentence: bool,
    },
    /// Something that this engine does not know, or without the members that it needs.
    Unknown,
}

impl EngineCommand {
    /// Reads a command; `None` without the ids of call and command. That of the call is `call` where it is not named.
    pub fn read(from: &Value, call: Option<u64>) -> Option<Self> {
        let id = &from["id"];
        let call = from["call_id"].as_u64().or(call)?;
        (id.is_string() || id.is_u64()).then(|| Self { call, id: id.clone(), order: CommandOrder::read(from) })
    }

    /// Returns whether it ends the call.
    pub const fn ends(&self) -> bool {
        matches!(self.order, CommandOrder::HangUp | CommandOrder::End { .. })
    }

    /// Reads the commands of an answer; what cannot be read is left out.
    pub fn list(answer: &Value, call: Option<u64>) -> Vec<Self> {
        let commands = answer["commands"].as_array().map(Vec::as_slice).unwrap_or_default();
        commands.iter().filter_map(|command| Self::read(command, call)).collect()
    }
}

impl CommandOrder {
    fn read(from: &Value) -> Self {
        let text = |member: &str| from[member].as_str().filter(|text| !text.is_empty()).map(String::from);
        let with = |member: &str, order: fn(String) -> Self| text(member).map_or(Self::Unknown, order);
        match from["type"].as_str().unwrap_or_default() {
            "hangup" => Self::HangUp,
            "say" => with("text", Self::Say),
            "transfer" => with("to", Self::Transfer),
            "dtmf" => with("digits", Self::Dtmf),
            "hold" => Self::Hold,
            "resume" => Self::Resume,
            "context" => Self::Context,
            "end" => Self::End { after_sentence: from["after"] == "sentence" },
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_command_is_read_and_others_are_unknown() {
        let after_sentence = true;
        for (command, expected) in [
            (json!({ "type": "hangup" }), CommandOrder::HangUp),
            (json!({ "type": "say", "text": "Hello" }), CommandOrder::Say("Hello".into())),
            (json!({ "type": "say" }), CommandOrder::Unknown),
            (json!({ "type": "transfer", "to": "+12025550111" }), CommandOrder::Transfer("+12025550111".into())),
            (json!({ "type": "dtmf", "digits": "12#" }), CommandOrder::Dtmf("12#".into())),
            (json!({ "type": "dtmf", "digits": 12 }), CommandOrder::Unknown),
            (json!({ "type": "hold" }), CommandOrder::Hold),
            (json!({ "type": "resume" }), CommandOrder::Resume),
            (json!({ "type": "context", "text": "She is in a hurry." }), CommandOrder::Context),
            (json!({ "type": "end" }), CommandOrder::End { after_sentence: false }),
            (json!({ "type": "end", "after": "sentence" }), CommandOrder::End { after_sentence }),
            (json!({ "type": "whistle", "tune": [1, 2] }), CommandOrder::Unknown),
        ] {
            let mut named = command.clone();
            named["id"] = "4".into();
            let read = EngineCommand::read(&named, Some(7)).expect("it has an id");
            assert_eq!((read.order, read.call), (expected, 7), "{command}");
            assert_eq!(EngineCommand::read(&command, Some(7)), None, "without an id it cannot be answered");
        }
        assert_eq!(EngineCommand::read(&json!({ "id": 4, "type": "hold" }), None), None);
        let answer = json!({ "commands": [{ "id": 1, "call_id": 8, "type": "hold" }, 3, { "type": "hold" }] });
        assert_eq!(EngineCommand::list(&answer, None).len(), 1);
        assert!(EngineCommand::list(&json!({ "commands": "none" }), None).is_empty());
    }
}
