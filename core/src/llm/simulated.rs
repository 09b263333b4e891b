//! The simulated model, which answers where the operator configured none: deterministic, and it says that it is one. It
//! greets, quotes the knowledgebase, and calls a function that is named by its words.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::chat::{ChatAnswer, FunctionCall};
use crate::json::{self, JsonNumber, Members, ToJson, Value};

/// Most characters that it quotes.
const QUOTED_CHARS_MAX: usize = 500;

/// What the simulated model goes by.
#[derive(Clone, Copy, Debug)]
pub struct Simulated<'a> {
    /// The person's last message.
    pub message: &'a str,
    /// Functions that it may call, as a model has them.
    pub functions: &'a Value,
    /// Best passages of the knowledgebase for the message.
    pub passage: Option<&'a str>,
    /// Results of the function calls of this turn, oldest first.
    pub results: &'a [String],
    /// Name of the assistant.
    pub assistant_name: &'a str,
}

/// Answers.
pub fn simulated(heard: &Simulated<'_>) -> ChatAnswer {
    let Simulated { assistant_name, results, passage, .. } = heard;
    if results.is_empty()
        && let Some(call) = call(heard)
    {
        return ChatAnswer { text: String::new(), calls: Vec::from([call]), is_streamed: false };
    }
    let says = match (results.last(), passage) {
        (Some(result), _) => format!("The function answered: {}", quoted(result)),
        (None, Some(passage)) => format!("The knowledgebase says: {}", quoted(passage)),
        (None, None) => "Hello! Ask what the knowledgebase knows, or name a function by its words.".into(),
    };
    let text = format!("This is the simulated model of {assistant_name}; it reads no prompt. {says}");
    ChatAnswer { text, calls: Vec::new(), is_streamed: false }
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTED_CHARS_MAX).collect()
}

/// Returns the call of the function all of whose words the message has: that with the most, the first of several.
fn call(heard: &Simulated<'_>) -> Option<FunctionCall> {
    let said = words(heard.message);
    let mut best: Option<(usize, &Value)> = None;
    for function in heard.functions.as_list().unwrap_or_default() {
        let Some(name) = function.member("name").and_then(Value::as_text) else { continue };
        let own = words(&name.replace('_', " "));
        if !own.is_empty() && own.is_subset(&said) && best.is_none_or(|(most, _)| own.len() > most) {
            best = Some((own.len(), function));
        }
    }
    let (_, function) = best?;
    let name = function.member("name")?.as_text()?.to_string();
    let arguments = String::from_utf8(arguments(function, heard.message).to_json()).unwrap_or_default();
    Some(FunctionCall { id: "call_0".into(), name, arguments })
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Returns an argument for each required parameter: what the message says of it (`name=value`), else a sample.
fn arguments(function: &Value, message: &str) -> Members {
    let schema = function.member("parameters");
    let required = schema.and_then(|schema| schema.member("required")).and_then(Value::as_list).unwrap_or_default();
    let argument = |name: &str| {
        let property = schema.and_then(|schema| schema.member("properties")?.member(name));
        let kind = property.and_then(|property| property.member("type")?.as_text()).unwrap_or("string");
        let said = told(message, name);
        match kind {
            "number" => {
                let number = said.and_then(|said| json::parse(said.as_bytes()).ok());
                number.filter(|said| matches!(said, Value::Number(_))).unwrap_or(Value::Number(JsonNumber::Unsigned(1)))
            }
            "boolean" => Value::Bool(said != Some("false")),
            // A search is for what was asked.
            _ if name == "query" => Value::Text(said.unwrap_or(message).into()),
            _ => Value::Text(said.unwrap_or("test").into()),
        }
    };
    Members(required.iter().filter_map(Value::as_text).map(|name| (name.to_string(), argument(name))).collect())
}

/// Returns the word behind `name=` or `name:` in the message, without the end of a sentence.
fn told<'m>(message: &'m str, name: &str) -> Option<&'m str> {
    message.match_indices(name).find_map(|(at, _)| {
        if message[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let value = message[at + name.len()..].strip_prefix(['=', ':'])?.trim_start();
        let value = value.split(|c: char| c.is_whitespace() || c == ',' || c == ';').next()?;
        Some(value.trim_end_matches(['.', '!', '?'])).filter(|value| !value.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    const FUNCTIONS: &[u8] = br#"[{"name":"look_up_order","description":"d","parameters":{"type":"object","required":["number","express","city"],
        "properties":{"number":{"type":"number"},"express":{"type":"boolean"},"city":{"type":"string"}}}},{"name":"look_up"}]"#;

    fn said(message: &str, passage: Option<&str>, results: &[String]) -> ChatAnswer {
        let functions = json::parse(FUNCTIONS).expect("JSON");
        simulated(&Simulated { message, functions: &functions, passage, results, assistant_name: "Anna" })
    }

    #[test]
    fn it_says_what_it_is() {
        for answer in
            [said("Hi", None, &[]), said("Hi", Some("We open at nine."), &[]), said("Hi", None, &["ok".into()])]
        {
            assert!(answer.text.starts_with("This is the simulated model of Anna"), "{}", answer.text);
        }
        assert!(said("Hi", Some("We open at nine."), &[]).text.ends_with("We open at nine."));
        assert!(said("Hi", Some(&"x".repeat(900)), &[]).text.chars().count() < 620);
    }

    #[test]
    fn a_function_is_called_by_its_words_and_once() {
        let answer = said("Please LOOK my order up: number=7, city: Iasi", None, &[]);
        assert_eq!(answer.calls[0].name, "look_up_order");
        assert_eq!(answer.calls[0].arguments, r#"{"number":7,"express":true,"city":"Iasi"}"#);
        assert_eq!(said("look it up", None, &[]).calls[0].name, "look_up");
        assert!(said("look away", None, &[]).calls.is_empty());
        let again = said("look up order", None, &["sent".into()]);
        assert!(again.calls.is_empty() && again.text.ends_with("The function answered: sent"));
    }

    #[test]
    fn an_argument_is_what_the_message_says_of_it() {
        for (says, arguments) in [
            ("", r#"{"number":1,"express":true,"city":"test"}"#),
            (" by its number: 7.", r#"{"number":7,"express":true,"city":"test"}"#),
            (" whose number I forgot, number=9.5, express=false", r#"{"number":9.5,"express":false,"city":"test"}"#),
            (", phone_number=5 capacity: 8 number=-3", r#"{"number":-3,"express":true,"city":"test"}"#),
            (" number=many express=perhaps city=", r#"{"number":1,"express":true,"city":"test"}"#),
        ] {
            assert_eq!(said(&format!("look up order{says}"), None, &[]).calls[0].arguments, arguments, "{says}");
        }
    }
}
