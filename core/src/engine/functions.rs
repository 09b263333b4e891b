//! Functions that the model of a call may call, in JSON Schema.

use alloc::string::String;
use alloc::vec::Vec;

use super::calendar;
use crate::assistant::built_in::BuiltInTool;
use crate::assistant::tables::{Assistant, KnowledgeMode};
use crate::id;
use crate::json::Value;
use crate::key::Kind;
use crate::store::Scope;
use crate::tool::{self, schema_of};
use crate::view::Stop;

/// Returns every function that the model may call: the account's tools, then the built-in ones, then the knowledge
/// search.
pub fn functions(account: Scope<'_>, assistant: &Assistant) -> Result<Value, Stop> {
    let mut functions = Vec::new();
    for id in &assistant.tool_ids {
        let count = id::local(account.space(), *id).unwrap_or(0);
        functions.extend(tool::find(account, count)?.as_ref().map(tool::function));
    }
    for built_in in &assistant.tools {
        if takes_over(account, built_in)? {
            functions.extend(of_built_in(built_in));
        }
    }
    if assistant.knowledgebase_mode == KnowledgeMode::FunctionCall && assistant.knowledgebase_id.is_some() {
        let about = "Searches the knowledgebase for what the customer asks about.";
        functions.push(schema_of("search_knowledgebase", about, &[("query", "string", "What to look for")]));
    }
    Ok(Value::List(functions))
}

/// Returns whether there is still an assistant that a tool hands calls to; true for tools of other kinds.
fn takes_over(account: Scope<'_>, tool: &BuiltInTool) -> Result<bool, Stop> {
    let BuiltInTool::AssistantTransfer(tool) = tool else { return Ok(true) };
    let count = id::local(account.space(), tool.assistant_id).unwrap_or(0);
    Ok(account.find(Kind::Assistant, count)?.is_some())
}

fn of_built_in(tool: &BuiltInTool) -> Vec<Value> {
    match tool {
        BuiltInTool::EndCall(tool) => {
            Vec::from([schema_of("end_call", about(tool.description.as_ref(), "Ends the call."), &[])])
        }
        BuiltInTool::DtmfInput(tool) => {
            let about = about(tool.description.as_ref(), "Sends keypad tones, to get through a menu.");
            Vec::from([schema_of("dtmf_input", about, &[("digits", "string", "The keys to press: 0-9, * and #")])])
        }
        BuiltInTool::CallTransfer(tool) => {
            let number = [("phone_number", "string", "Whom to transfer the call to, E.164")];
            let parameters: &[(&str, &str, &str)] = if tool.custom { &number } else { &[] };
            let about = about(tool.description.as_ref(), "Transfers the call to a person.");
            Vec::from([schema_of("call_transfer", about, parameters)])
        }
        BuiltInTool::WarmCallTransfer(tool) => {
            let about = about(tool.description.as_ref(), "Calls a person, explains the call, and connects both.");
            Vec::from([schema_of("warm_call_transfer", about, &[])])
        }
        BuiltInTool::AssistantTransfer(tool) => {
            let about = about(tool.description.as_ref(), "Hands the call to another assistant.");
            Vec::from([schema_of("assistant_transfer", about, &[])])
        }
        BuiltInTool::CollectKeypad(tool) => {
            let about = about(tool.description.as_ref(), "Collects digits that the customer types.");
            Vec::from([schema_of("collect_keypad", about, &[])])
        }
        BuiltInTool::CalendarIntegration(tool) => calendar::functions(tool).into(),
    }
}

fn about<'a>(description: Option<&'a String>, fallback: &'a str) -> &'a str {
    description.map_or(fallback, |text| if text.is_empty() { fallback } else { text })
}
