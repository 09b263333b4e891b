//! What stands for the names in the texts of a call, and those texts.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::assistant::tables::Assistant;
use crate::call::CallRow;
use crate::limits::ASSISTANT_BYTES_MAX;
use crate::template::{Filled, TooLong, fill};
use crate::time::Timestamp;
use crate::tool::{Facts, Values};

/// The texts of an assistant with their placeholders filled in.
#[derive(Default)]
pub struct FilledTexts {
    /// `system_prompt`
    pub prompt: Option<String>,
    /// `initial_message`
    pub greeting: Option<String>,
    /// `reengagement_prompt`
    pub reengagement: Option<String>,
    /// `voice_mail_message`
    pub voicemail: Option<String>,
    /// Names that are not known, each once: these stay as they stand.
    pub unknown: Vec<String>,
}

/// The variables of a call over those of its assistant, then what is known of every call.
pub fn of(assistant: &Assistant, call: &CallRow, now: Timestamp) -> Values {
    let mut variables = assistant.variables.0.clone();
    call.shown.variables.0.0.iter().for_each(|(name, value)| variables.set(name, value.clone()));
    let facts = Facts {
        customer_phone: call.shown.client_phone_number.clone().unwrap_or_default(),
        assistant_phone: call.shown.assistant_phone_number.clone().unwrap_or_default(),
        assistant_id: assistant.id.to_string(),
        assistant_name: assistant.name.clone(),
        ..Facts::of(&assistant.timezone, now)
    };
    Values { variables, facts }
}

/// Fills in the texts of an assistant, at most [`ASSISTANT_BYTES_MAX`] in all.
pub fn filled(values: &Values, assistant: &Assistant) -> Result<FilledTexts, TooLong> {
    let (mut unknown, mut known) = (Vec::new(), BTreeSet::new());
    let mut left = ASSISTANT_BYTES_MAX;
    let mut filled = |text: Option<&String>| -> Result<Option<String>, TooLong> {
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
