//! [`Values`]: what stands for a name in a prompt, a tool's URL or a header.

use alloc::string::String;

use crate::json::{Members, ToJson, Value};
use crate::time::Timestamp;
use crate::zone::Zone;

/// What stands for a name in a prompt, a tool's URL or a header.
pub struct Values {
    /// The variables.
    pub variables: Members,
    /// What is known of every call.
    pub facts: Facts,
}

impl Values {
    /// Without a call: for the test of a tool.
    pub fn without_call(zone: &str, now: Timestamp) -> Self {
        Self { variables: Members::default(), facts: Facts::of(zone, now) }
    }

    /// Sets a variable.
    #[cfg(test)]
    pub fn set(&mut self, name: &str, value: &str) {
        self.variables.set(name, Value::Text(value.into()));
    }

    /// The value of a name: of a variable, else of a fact.
    pub fn get(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(plain).or_else(|| self.facts.get(name).map(String::from))
    }
}

/// What is known of every call.
#[derive(Default)]
pub struct Facts {
    /// The customer's number, E.164; empty where it is not known.
    pub customer_phone: String,
    /// The number that the call shows, or that was called, E.164; empty where there is none.
    pub assistant_phone: String,
    /// The assistant's id.
    pub assistant_id: String,
    /// The assistant's name.
    pub assistant_name: String,
    /// The date in the assistant's time zone.
    pub current_date: String,
    /// The time in the assistant's time zone.
    pub current_time: String,
}

impl Facts {
    /// What is known where there is no call: date and time in a time zone.
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

/// A variable as text.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => String::from_utf8(other.to_json()).unwrap_or_default(),
    }
}
