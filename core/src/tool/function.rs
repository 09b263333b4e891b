//! Function definitions for models.

use alloc::string::ToString;
use alloc::vec::Vec;

use crate::json::{Members, Value};

/// Builds a function definition with a JSON Schema; `parameters` are name, type and description, all required.
pub fn schema_of(name: &str, description: &str, parameters: &[(&str, &str, &str)]) -> Value {
    let text = |text: &str| Value::Text(text.into());
    let object = |members: Vec<(&str, Value)>| {
        Value::Object(Members(members.into_iter().map(|(name, value)| (name.to_string(), value)).collect()))
    };
    let properties = parameters
        .iter()
        .map(|(name, kind, about)| (*name, object(Vec::from([("type", text(kind)), ("description", text(about))]))));
    let required = parameters.iter().map(|(name, ..)| text(name)).collect();
    let schema = object(Vec::from([
        ("type", text("object")),
        ("properties", object(properties.collect())),
        ("required", Value::List(required)),
    ]));
    object(Vec::from([("name", text(name)), ("description", text(description)), ("parameters", schema)]))
}
