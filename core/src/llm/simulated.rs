//! The simulated model, which answers where the operator configured none: deterministic, and it says that it is one. It
//! greets, searches and quotes the knowledgebase, and calls a function that is named by its words.

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
    /// Name that a function which searches the knowledgebase has; whether there is one, `functions` says.
    pub search: Option<&'a str>,
    /// Best passages of the knowledgebase for the message.
    pub passage: Option<&'a str>,
    /// Name and result of the last function call of this turn.
    pub made: Option<(&'a str, &'a str)>,
    /// Name of the assistant.
    pub assistant_name: &'a str,
}

/// Answers.
pub fn simulated(heard: &Simulated<'_>) -> ChatAnswer {
    let Simulated { assistant_name, search, passage, made, .. } = heard;
    if made.is_none()
        && let Some(function) = named(heard).or_else(|| function(heard, (*search)?))
        && let Some(call) = call(function, heard.message)
    {
        return ChatAnswer { text: String::new(), calls: Vec::from([call]), is_streamed: false };
    }
    let says = match (made, passage) {
        (Some((name, result)), _) if Some(*name) != *search => format!("The function answered: {}", quoted(result)),
        (_, Some(passage)) => format!("The knowledgebase says: {}", quoted(passage)),
        (_, None) => "Hello! Ask what the knowledgebase knows, or name a function by its words.".into(),
    };
    let text = format!("This is the simulated model of {assistant_name}; it reads no prompt. {says}");
    ChatAnswer { text, calls: Vec::new(), is_streamed: false }
}

fn quoted(text: &str) -> String {
    text.chars().take(QUOTED_CHARS_MAX).collect()
}

/// Returns the function all of whose words the message has: that with the most, the first of several.
fn named<'a>(heard: &Simulated<'a>) -> Option<&'a Value> {
    let said = words(heard.message);
    let mut best: Option<(usize, &Value)> = None;
    for function in heard.functions.as_list().unwrap_or_default() {
        let Some(name) = name(function) else { continue };
        let own = words(&name.replace('_', " "));
        if !own.is_empty() && own.is_subset(&said) && best.is_none_or(|(most, _)| own.len() > most) {
            best = Some((own.len(), function));
        }
    }
    best.map(|(_, function)| function)
}

fn function<'a>(heard: &Simulated<'a>, called: &str) -> Option<&'a Value> {
    heard.functions.as_list()?.iter().find(|function| name(function) == Some(called))
}

fn name(function: &Value) -> Option<&str> {
    function.member("name").and_then(Value::as_text)
}

fn call(function: &Value, message: &str) -> Option<FunctionCall> {
    let arguments = String::from_utf8(arguments(function, message).to_json()).unwrap_or_default();
    Some(FunctionCall { id: "call_0".into(), name: name(function)?.to_string(), arguments })
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
        "properties":{"number":{"type":"number"},"express":{"type":"boolean"},"city":{"type":"string"}}}},{"name":"look_up"},
        {"name":"search","parameters":{"type":"object","required":["query"],"properties":{"query":{"type":"string"}}}}]"#;

    fn said(message: &str, passage: Option<&str>, made: Option<(&str, &str)>) -> ChatAnswer {
        let functions = json::parse(FUNCTIONS).expect("JSON");
        let search = passage.map(|_| "search");
        simulated(&Simulated { message, functions: &functions, search, passage, made, assistant_name: "Anna" })
    }

    #[test]
    fn it_says_what_it_is() {
        let searched = Some(("search", "We open at nine."));
        for answer in [
            said("Hi", None, None),
            said("Hi", Some("We open at nine."), searched),
            said("Hi", None, Some(("look_up", "ok"))),
        ] {
            assert!(answer.text.starts_with("This is the simulated model of Anna"), "{}", answer.text);
        }
        let answer = said("Hi", Some("We open at nine."), searched);
        assert!(answer.text.ends_with("The knowledgebase says: We open at nine."), "{}", answer.text);
        assert!(said("Hi", Some(&"x".repeat(900)), searched).text.chars().count() < 620);
    }

    #[test]
    fn a_function_is_called_by_its_words_and_once() {
        let answer = said("Please LOOK my order up: number=7, city: Iasi", None, None);
        assert_eq!(answer.calls[0].name, "look_up_order");
        assert_eq!(answer.calls[0].arguments, r#"{"number":7,"express":true,"city":"Iasi"}"#);
        assert_eq!(said("look it up", None, None).calls[0].name, "look_up");
        assert!(said("look away", None, None).calls.is_empty());
        let again = said("look up order", None, Some(("look_up_order", "sent")));
        assert!(again.calls.is_empty() && again.text.ends_with("The function answered: sent"));
    }

    #[test]
    fn the_knowledgebase_is_searched_for_what_names_no_function() {
        let answer = said("When do you open?", Some("We open at nine."), None);
        assert_eq!((&*answer.calls[0].name, &*answer.text), ("search", ""));
        assert_eq!(answer.calls[0].arguments, r#"{"query":"When do you open?"}"#);
        assert_eq!(said("look it up", Some("We open at nine."), None).calls[0].name, "look_up");
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
            assert_eq!(said(&format!("look up order{says}"), None, None).calls[0].arguments, arguments, "{says}");
        }
    }
}
