//! What stands for the names in the texts of a call.

use alloc::string::ToString;

use crate::assistant::Kept;
use crate::call::Stored;
use crate::json::Value;
use crate::time::Timestamp;
use crate::tool::{Facts, Values};
use crate::zone::Zone;

/// The variables of a call over those of its assistant, then what is known of every call.
pub fn of(assistant: &Kept, call: &Stored, now: Timestamp) -> Values {
    let mut variables = assistant.members.get("variables").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(own) = call.shown.get("variables").and_then(Value::as_object) {
        own.0.iter().for_each(|(name, value)| variables.set(name, value.clone()));
    }
    let text = |name: &str| call.text(name).unwrap_or_default().to_string();
    let local = Zone::of(assistant.text("timezone").unwrap_or_default()).local(now);
    let facts = Facts {
        customer_phone: text("client_phone_number"),
        assistant_phone: text("assistant_phone_number"),
        assistant_id: assistant.number("id").unwrap_or(0).to_string(),
        assistant_name: assistant.text("name").unwrap_or_default().to_string(),
        current_date: local.date(),
        current_time: local.time(),
    };
    Values { variables, facts }
}
