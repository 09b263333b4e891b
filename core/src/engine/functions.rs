//! What the model of a call may call, as JSON-Schema functions.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::calendar;
use crate::assistant::tables::{Assistant, BuiltInTool, KnowledgeMode};
use crate::id;
use crate::json::{Members, Value};
use crate::store::Scope;
use crate::tool;
use crate::view::Stop;

/// A JSON-Schema function as models take them.
pub fn function(name: &str, description: &str, parameters: &[(&str, &str, &str)]) -> Value {
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

/// Everything that the model may call: the account's tools, then the built-in ones, then the search.
pub fn functions(account: Scope<'_>, assistant: &Assistant) -> Result<Value, Stop> {
    let mut functions = Vec::new();
    for id in &assistant.tool_ids {
        let count = id::local(account.space(), *id).unwrap_or(0);
        functions.extend(tool::find(account, count)?.as_ref().map(tool::function));
    }
    assistant.tools.iter().for_each(|built_in| functions.extend(of_built_in(built_in)));
    if assistant.knowledgebase_mode == KnowledgeMode::FunctionCall && assistant.knowledgebase_id.is_some() {
        let about = "Searches the knowledgebase for what the customer asks about.";
        functions.push(function("search_knowledgebase", about, &[("query", "string", "What to look for")]));
    }
    Ok(Value::List(functions))
}

fn of_built_in(tool: &BuiltInTool) -> Vec<Value> {
    match tool {
        BuiltInTool::EndCall(tool) => {
            Vec::from([function("end_call", about(tool.description.as_ref(), "Ends the call."), &[])])
        }
        BuiltInTool::DtmfInput(tool) => {
            let about = about(tool.description.as_ref(), "Sends keypad tones, to get through a menu.");
            Vec::from([function("dtmf_input", about, &[("digits", "string", "The keys to press: 0-9, * and #")])])
        }
        BuiltInTool::CallTransfer(tool) => {
            let number = [("phone_number", "string", "Whom to transfer the call to, E.164")];
            let parameters: &[(&str, &str, &str)] = if tool.custom == Some(true) { &number } else { &[] };
            let about = about(tool.description.as_ref(), "Transfers the call to a person.");
            Vec::from([function("call_transfer", about, parameters)])
        }
        BuiltInTool::CalendarIntegration(tool) => {
            let about = tool.description.as_deref().unwrap_or("Schedules an appointment.");
            calendar::functions(about).into()
        }
    }
}

fn about<'a>(description: Option<&'a String>, fallback: &'a str) -> &'a str {
    description.map_or(fallback, |text| if text.is_empty() { fallback } else { text })
}
