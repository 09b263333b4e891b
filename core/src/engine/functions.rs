//! Functions that the model of a call may call, in JSON Schema.

use alloc::string::String;
use alloc::vec::Vec;

use super::calendar::{self, Calendar};
use super::event::TransferMode;
use crate::assistant::built_in::BuiltInTool;
use crate::assistant::tables::{Assistant, KnowledgeMode};
use crate::assistant::visited;
use crate::id;
use crate::json::{self, JsonNumber, Value};
use crate::key::Kind;
use crate::record::{choice, text};
use crate::store::Scope;
use crate::tool::{self, schema_of};
use crate::view::Stop;
use crate::{choice, record};

/// Returns every function that the model may call: the account's tools, then the built-in ones, then the knowledge
/// search. With a visitor of a widget it has the tools that its owner chose for strangers, and can end the call.
pub fn functions(account: Scope<'_>, assistant: &Assistant, is_visited: bool) -> Result<Value, Stop> {
    let mut functions = Vec::new();
    for id in visited::tool_ids(assistant, is_visited) {
        let count = id::local(account.space(), *id).unwrap_or(0);
        if let Some(tool) = tool::find(account, count)? {
            functions.push(with(tool::function(&tool), FunctionKind::Tool, Some(tool.timeout.into())));
        }
    }
    for built_in in assistant.tools.iter().filter(|tool| !is_visited || matches!(tool, BuiltInTool::EndCall(_))) {
        if takes_over(account, built_in)? {
            functions.extend(of_built_in(built_in).into_iter().map(|function| kind_of(function, built_in)));
        }
    }
    if assistant.knowledgebase_mode == KnowledgeMode::FunctionCall && assistant.knowledgebase_id.is_some() {
        let about = "Searches the knowledgebase for what the customer asks about.";
        let search = schema_of("search_knowledgebase", about, &[("query", "string", "What to look for")]);
        functions.push(with(search, FunctionKind::Search, None));
    }
    Ok(Value::List(functions))
}

choice! {
    /// Who carries out a function.
    pub enum FunctionKind {
        /// The service, by the tool's request.
        Tool = "tool",
        /// The engine.
        BuiltIn = "builtin",
        /// The service, by a search of the knowledgebase.
        Search = "search",
    }
}

/// Adds who carries a function out and, for requests, how long that may take, seconds.
fn with(mut function: Value, kind: FunctionKind, timeout: Option<u64>) -> Value {
    if let Value::Object(members) = &mut function {
        members.set("kind", Value::Text(kind.word().into()));
        if let Some(seconds) = timeout {
            members.set("timeout", Value::Number(JsonNumber::Unsigned(seconds)));
        }
    }
    function
}

/// Adds to a built-in function who carries it out, and to a transfer where it goes.
fn kind_of(function: Value, tool: &BuiltInTool) -> Value {
    let target = match tool {
        BuiltInTool::CalendarIntegration(_) => {
            return with(function, FunctionKind::Tool, Some(Calendar::timeout_seconds()));
        }
        BuiltInTool::CallTransfer(tool) => Some(json::members(&TransferTarget {
            to: Some(tool.phone_number.clone()).filter(|_| !tool.custom),
            mode: if tool.warm_transfer { TransferMode::Warm } else { TransferMode::Blind },
            timezone: tool.timezone.clone(),
            message: tool.warm_transfer_message.clone(),
        })),
        BuiltInTool::WarmCallTransfer(tool) => Some(json::members(&TransferTarget {
            to: Some(tool.supervisor_phone.clone()),
            mode: TransferMode::Warm,
            timezone: None,
            message: tool.briefing_initial_message.clone(),
        })),
        _ => None,
    };
    let mut function = with(function, FunctionKind::BuiltIn, None);
    if let (Value::Object(members), Some(target)) = (&mut function, target) {
        members.set("transfer", Value::Object(target));
    }
    function
}

record! {
    /// Where a function transfers the call to.
    pub struct TransferTarget {
        /// A telephone number, or a SIP address; null where the model names it.
        to: Option<String> = text(1, 255),
        /// Whether somebody is told of the call first.
        mode: TransferMode = choice::<TransferMode>().required(),
        /// Time zone in which availability is judged.
        timezone: Option<String> = text(1, 64),
        /// What the person hears first, in a warm transfer.
        message: Option<String> = text(1, 1_000),
    }
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
