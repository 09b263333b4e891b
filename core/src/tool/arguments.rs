//! Arguments of a function as a model gives them, checked against the function's JSON Schema. What does not fit is told
//! in words that the model can act on.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::values::plain;
use crate::json::{JsonNumber, Members, ToJson, Value, parse};
use crate::limits::ARGUMENT_FAULTS_BYTES_MAX;

/// Returns the arguments that the schema of a function names, each of the type that it says: models write numbers as
/// texts, and leave out what is optional by null. A required one that is not given is looked for by `known`.
///
/// # Errors
/// A sentence for each fault, at most [`ARGUMENT_FAULTS_BYTES_MAX`] bytes in all.
pub fn fitting(function: &Value, arguments: &Value, known: impl Fn(&str) -> bool) -> Result<Members, String> {
    let given = match arguments {
        Value::Object(given) => given,
        Value::Null => &Members::default(),
        other => return Err(format!("The arguments must be an object with one member each, not {}.", name_of(other))),
    };
    let schema = function.member("parameters");
    let Some(Value::Object(properties)) = schema.and_then(|schema| schema.member("properties")) else {
        return Ok(Members::default());
    };
    let required = match schema.and_then(|schema| schema.member("required")) {
        Some(Value::List(names)) => names.iter().filter_map(Value::as_text).collect(),
        _ => Vec::new(),
    };
    let (mut fitting, mut faults) = (Members::default(), Vec::new());
    for (name, property) in &properties.0 {
        let value = match given.get(name).filter(|value| **value != Value::Null) {
            Some(value) => one(value, property),
            None if required.contains(&name.as_str()) && !known(name) => Err("is missing".to_string()),
            None => continue,
        };
        match value {
            Ok(value) => fitting.set(name, value),
            Err(fault) => faults.push(format!("The argument {name} {fault}.")),
        }
    }
    if faults.is_empty() {
        return Ok(fitting);
    }
    let mut says = faults.join(" ");
    says.truncate(says.floor_char_boundary(ARGUMENT_FAULTS_BYTES_MAX));
    Err(says)
}

/// Returns a value as its property wants it, or what is wrong with it.
fn one(value: &Value, property: &Value) -> Result<Value, String> {
    let kind = property.member("type").and_then(Value::as_text).unwrap_or("string");
    let fits = match (kind, value) {
        ("string", Value::Text(_)) | ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("string", Value::Number(_) | Value::Bool(_)) => Some(Value::Text(plain(value))),
        ("number", Value::Text(text)) => {
            parse(text.trim().as_bytes()).ok().filter(|read| matches!(read, Value::Number(_)))
        }
        ("boolean", Value::Text(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" => Some(Value::Bool(true)),
            "false" | "no" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    };
    let Some(value) = fits else { return Err(format!("must be a {kind}, not {}", name_of(value))) };
    match property.member("enum") {
        Some(Value::List(options)) if !options.contains(&value) => {
            let options: Vec<_> = options.iter().map(plain).collect();
            Err(format!("must be one of these: {}", options.join(", ")))
        }
        _ => Ok(value),
    }
}

/// Names a value for a model.
fn name_of(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::List(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
        Value::Bool(is) => is.to_string(),
        Value::Number(number) => JsonNumber::to_json(number).iter().map(|byte| char::from(*byte)).collect(),
        Value::Text(text) => format!("the text {}", shown(text)),
    }
}

/// Returns the beginning of a text.
fn shown(text: &str) -> String {
    const SHOWN_BYTES: usize = 32;
    let end = text.floor_char_boundary(SHOWN_BYTES);
    if end < text.len() { format!("\"{}…\"", &text[..end]) } else { format!("\"{text}\"") }
}

#[cfg(test)]
mod tests {
    use super::super::{FunctionParameter, function_of};
    use super::*;
    use crate::json;

    fn function() -> Value {
        let days = ["Monday".to_string(), "Friday".to_string()];
        let optional =
            |name, kind| FunctionParameter { required: false, ..FunctionParameter::required((name, kind, "About it")) };
        let day = FunctionParameter { options: &days, ..optional("day", "string") };
        let all = [FunctionParameter::required(("city", "string", "Where")), optional("seats", "number"), day];
        function_of("book", "Books", all.into_iter().chain([optional("window", "boolean")]))
    }

    fn checked(arguments: &str) -> Result<String, String> {
        let arguments = json::parse(arguments.as_bytes()).expect("JSON");
        let fits = fitting(&function(), &arguments, |_| false)?;
        Ok(String::from_utf8(fits.to_json()).expect("text"))
    }

    #[test]
    fn arguments_are_given_the_types_of_the_schema() {
        for (given, want) in [
            (r#"{"city":"Iasi"}"#, r#"{"city":"Iasi"}"#),
            (r#"{"city":7,"seats":"2.5","window":"No"}"#, r#"{"city":"7","seats":2.5,"window":false}"#),
            (r#"{"city":"Iasi","seats":null,"other":[1],"day":"Friday"}"#, r#"{"city":"Iasi","day":"Friday"}"#),
        ] {
            assert_eq!(checked(given).as_deref(), Ok(want), "{given}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_in_words() {
        for (given, want) in [
            ("[]", "The arguments must be an object with one member each, not a list."),
            ("null", "The argument city is missing."),
            (
                r#"{"city":["Iasi"],"seats":"two"}"#,
                r#"The argument city must be a string, not a list. The argument seats must be a number, not the text "two"."#,
            ),
            (
                r#"{"city":{},"window":3}"#,
                "The argument city must be a string, not an object. The argument window must be a boolean, not 3.",
            ),
            (r#"{"city":"Iasi","day":"Sunday"}"#, "The argument day must be one of these: Monday, Friday."),
        ] {
            assert_eq!(checked(given), Err(want.to_string()), "{given}");
        }
        let long = format!(r#"{{"city":"a","seats":"{}"}}"#, "ă".repeat(1_000));
        assert!(checked(&long).is_err_and(|says| says.contains("ăăă…\"") && says.len() < 200));
    }

    #[test]
    fn what_is_known_is_not_missing() {
        let fits = fitting(&function(), &Value::Null, |name| name == "city");
        assert_eq!(fits, Ok(Members::default()));
    }
}
