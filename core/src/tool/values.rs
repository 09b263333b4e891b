//! [`Values`]: the values of placeholders in prompts, tool URLs and header values.

use alloc::string::String;

use crate::json::{Members, ToJson, Value};
use crate::time::Timestamp;
use crate::zone::Zone;

/// Values of the placeholders in prompts, tool URLs and header values.
pub struct Values {
    /// Variables of the call over those of its assistant; they win over `facts`.
    pub variables: Members,
    /// Names that every call has, such as `customer_phone`.
    pub facts: BuiltinValues,
}

impl Values {
    /// Returns the values without a call, for the test of a tool.
    pub fn without_call(zone: &str, now: Timestamp) -> Self {
        Self { variables: Members::default(), facts: BuiltinValues::of(zone, now) }
    }

    /// Sets a variable.
    #[cfg(test)]
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.set(name, Value::Text(value.into()));
    }

    /// Returns the value of a name: that of the variable, else that of the fact.
    pub fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(plain).or_else(|| self.facts.get(name).map(String::from))
    }
}

/// Names that every call has, besides its variables.
#[derive(Default)]
pub struct BuiltinValues {
    /// The customer's number, E.164; empty if it is not known.
    pub customer_phone: String,
    /// The number that the call shows, or that was called, E.164; empty if there is none.
    pub assistant_phone: String,
    /// Id of the assistant, in decimal; empty without a call.
    pub assistant_id: String,
    /// Name of the assistant; empty without a call.
    pub assistant_name: String,
    /// Date in the assistant's time zone.
    pub current_date: String,
    /// Time of day in the assistant's time zone.
    pub current_time: String,
}

impl BuiltinValues {
    /// Returns the facts without a call: date and time in a time zone, the rest empty.
    pub fn of(zone: &str, now: Timestamp) -> Self {
        let local = Zone::of(zone).local(now);
        Self { current_date: local.date(), current_time: local.time(), ..Self::default() }
    }

    fn get(&self, name: &str) -> Option<&str> {
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

/// Returns a value as text: a string as it is, anything else as JSON.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => String::from_utf8(other.to_json()).unwrap_or_default(),
    }
}
