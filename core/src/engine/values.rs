//! What stands for a name in a prompt, a tool's URL or a header: `{{name}}`.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::assistant::tables::Assistant;
use crate::call::CallRow;
use crate::json::{Members, ToJson, Value};
use crate::limits::ASSISTANT_BYTES_MAX;
use crate::template::{Filled, TooLong, fill};
use crate::time::Timestamp;
use crate::zone::Zone;

/// Variables by name, then what is known of every call.
pub struct Values {
    variables: Members,
    facts: Facts,
}

/// What is known of every call.
#[derive(Default)]
struct Facts {
    customer_phone: String,
    assistant_phone: String,
    assistant_id: String,
    assistant_name: String,
    current_date: String,
    current_time: String,
}

impl Facts {
    fn get(&self, name: &str) -> Option<&String> {
        Some(match name {
            "customer_phone" => &self.customer_phone,
            "assistant_phone" => &self.assistant_phone,
            "assistant_id" => &self.assistant_id,
            "assistant_name" => &self.assistant_name,
            "current_date" => &self.current_date,
            "current_time" => &self.current_time,
            _ => return None,
        })
    }
}

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

impl Values {
    /// The variables of a call over those of its assistant, then what is known of every call.
    pub fn of(assistant: &Assistant, call: &CallRow, now: Timestamp) -> Self {
        let mut variables = assistant.variables.0.clone();
        call.shown.variables.0.0.iter().for_each(|(name, value)| variables.set(name, value.clone()));
        let facts = Facts {
            customer_phone: call.shown.client_phone_number.clone().unwrap_or_default(),
            assistant_phone: call.shown.assistant_phone_number.clone().unwrap_or_default(),
            assistant_id: assistant.id.to_string(),
            assistant_name: assistant.name.clone(),
            ..Facts::of(&assistant.timezone, now)
        };
        Self { variables, facts }
    }

    /// Without a call: for the test of a tool.
    pub fn without_call(zone: &str, now: Timestamp) -> Self {
        Self { variables: Members::default(), facts: Facts::of(zone, now) }
    }

    /// Sets a variable.
    #[cfg(test)]
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.set(name, Value::Text(value.into()));
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(plain).or_else(|| self.facts.get(name).cloned())
    }

    /// Fills in the texts of an assistant, at most [`ASSISTANT_BYTES_MAX`] in all.
    pub fn texts(&self, assistant: &Assistant) -> Result<FilledTexts, TooLong> {
        let (mut unknown, mut known) = (Vec::new(), BTreeSet::new());
        let mut left = ASSISTANT_BYTES_MAX;
        let mut filled = |text: Option<&String>| -> Result<Option<String>, TooLong> {
            let Some(text) = text else { return Ok(None) };
            let as_it_stands = |name: &str| alloc::format!("{{{{{name}}}}}");
            let Filled { text, unknown: missing } = fill(text, left, |name| self.get(name), as_it_stands)?;
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
}

impl Facts {
    fn of(zone: &str, now: Timestamp) -> Self {
        let local = Zone::of(zone).local(now);
        Self { current_date: local.date(), current_time: local.time(), ..Self::default() }
    }
}

/// A variable as text.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => String::from_utf8(other.to_json()).unwrap_or_default(),
    }
}
