//! The `OpenAPI` document as the tests read it.

use std::sync::OnceLock;

use serde_json::Value;
use switchboard_core::service::openapi;

/// Returns the document with every `$ref` replaced by what it refers to, and what stands beside it.
///
/// # Panics
/// If a reference leads nowhere.
pub fn resolved() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let document: Value = serde_json::from_str(&openapi::text()).expect("the document is JSON");
        resolve(&document, &document)
    })
}

fn resolve(value: &Value, document: &Value) -> Value {
    match value {
        Value::Array(entries) => entries.iter().map(|entry| resolve(entry, document)).collect(),
        Value::Object(members) => {
            let mut out = match members.get("$ref").and_then(Value::as_str) {
                Some(reference) => named(reference, document).as_object().expect("a component is an object").clone(),
                None => serde_json::Map::new(),
            };
            let beside = members.iter().filter(|(name, _)| *name != "$ref");
            out.extend(beside.map(|(name, member)| (name.clone(), resolve(member, document))));
            Value::Object(out)
        }
        other => other.clone(),
    }
}

fn named(reference: &str, document: &Value) -> Value {
    let place = reference.strip_prefix('#').and_then(|place| document.pointer(place));
    resolve(place.unwrap_or_else(|| panic!("{reference} leads nowhere")), document)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Array(entries) => entries.iter().for_each(|entry| references(entry, found)),
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|member| references(member, found));
            }
            _ => {}
        }
    }

    #[test]
    fn every_component_is_referred_to() {
        let document: Value = serde_json::from_str(&openapi::text()).expect("JSON");
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        let mut count = 0;
        for (section, components) in document["components"].as_object().expect("components") {
            for name in components.as_object().expect("a section").keys().filter(|_| section != "securitySchemes") {
                let reference = format!("#/components/{section}/{name}");
                assert!(found.contains(&reference), "nothing refers to {reference}");
                count += 1;
            }
        }
        assert_eq!(count, found.len());
        assert!(resolved()["paths"]["/user/login"]["post"]["responses"]["429"]["description"].is_string());
    }
}
