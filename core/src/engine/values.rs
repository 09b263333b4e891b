//! Values of the placeholders in a call's texts, and those texts filled in.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::assistant::tables::Assistant;
use crate::call::CallRow;
use crate::json::Members;
use crate::limits::ASSISTANT_BYTES_MAX;
use crate::template::{Filled, FilledTooLong, fill};
use crate::time::Timestamp;
use crate::tool::{BuiltinValues, Values};

/// Texts of an assistant with their placeholders filled in.
#[derive(Default)]
pub struct FilledTexts {
    /// The `system_prompt`, filled in.
    pub prompt: Option<String>,
    /// The `initial_message`, filled in.
    pub greeting: Option<String>,
    /// The `reengagement_prompt`, filled in.
    pub reengagement: Option<String>,
    /// The `voice_mail_message`, filled in.
    pub voicemail: Option<String>,
    /// Placeholder names without a value, each once: these stay in the texts unchanged.
    pub unknown: Vec<String>,
}

/// Returns the values for a call: its variables laid over the assistant's, and the facts that every call has.
pub fn of(assistant: &Assistant, call: &CallRow, now: Timestamp) -> Values {
    let mut values = without_call(assistant, &call.shown.variables.0, now);
    values.facts.customer_phone = call.shown.client_phone_number.clone().unwrap_or_default();
    values.facts.assistant_phone = call.shown.assistant_phone_number.clone().unwrap_or_default();
    values
}

/// Returns the values without a call: variables laid over the assistant's, and what is known of it.
pub fn without_call(assistant: &Assistant, given: &Members, now: Timestamp) -> Values {
    let mut variables = assistant.variables.0.clone();
    given.0.iter().for_each(|(name, value)| variables.set(name, value.clone()));
    let facts = BuiltinValues {
        assistant_id: assistant.id.to_string(),
        assistant_name: assistant.name.clone(),
        ..BuiltinValues::of(&assistant.timezone, now)
    };
    Values { variables, facts }
}

/// Fills in the texts of an assistant, limited to [`ASSISTANT_BYTES_MAX`] in all.
pub fn filled(values: &Values, assistant: &Assistant) -> Result<FilledTexts, FilledTooLong> {
    let (mut unknown, mut known) = (Vec::new(), BTreeSet::new());
    let mut left = ASSISTANT_BYTES_MAX;
    let mut filled = |text: Option<&String>| -> Result<Option<String>, FilledTooLong> {
        let Some(text) = text else { return Ok(None) };
        let as_it_stands = |name: &str| alloc::format!("{{{{{name}}}}}");
        let Filled { text, unknown: missing } = fill(text, left, |name| values.get(name), as_it_stands)?;
        left -= text.len();
        unknown.extend(missing.into_iter().filter(|name| known.insert(name.clone())));
        Ok(Some(text))
    };
    let prompt = filled(Some(&assistant.system_prompt))?;
    let greeting = filled(Some(&assistant.initial_message))?;
    let reengagement = filled(assistant.reengagement_prompt.as_ref())?;
    let voicemail = filled(assistant.voice_mail_message.as_ref())?;
    Ok(FilledTexts { prompt, greeting, reengagement, voicemail, unknown })
}
