//! Carries out the functions that a model calls in a turn. Whatever goes wrong is a result that the model is told in
//! words; it never sees URLs, headers or tokens.

use alloc::format;
use alloc::string::{String, ToString};

use super::talk::{SEARCH, Talk};
use crate::engine::Calendar;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::json::{self, Value};
use crate::knowledge;
use crate::knowledge::tables::Question;
use crate::limits::{CONVERSATION_PASSAGES, RESULT_BYTES_MAX};
use crate::llm::FunctionCall;
use crate::outside::{Answer, HttpIn, SendError, Work};
use crate::store::Scope;
use crate::tool::{ToolRequest, Values, fitting, function, plain};

const NO_FUNCTION: &str = "Error: there is no function of this name.";
const NO_JSON: &str = "Error: the arguments are not JSON.";
const NO_QUERY: &str = "Error: the argument query is not given.";
const NOTHING: &str = "Nothing was found.";
const LATE: &str = "Error: it did not answer in time.";
const UNREACHABLE: &str = "Error: it could not be reached.";
const BUSY: &str = "Error: too much is asked at once.";

/// Carries out a call, and returns what the model is told of it; `left_ms` is what the turn has left.
pub fn out(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    talk: &Talk,
    values: &Values,
    call: &FunctionCall,
    left_ms: u64,
) -> Result<String, Halt> {
    let given = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    let Ok(arguments) = json::parse(given.as_bytes()) else { return Ok(NO_JSON.into()) };
    if call.name == SEARCH {
        return search(account, talk, &arguments);
    }
    let known = |name: &str| values.get(name).is_some();
    if let Some(tool) = talk.tools.iter().find(|tool| tool.name == call.name) {
        let arguments = match fitting(&function(tool), &arguments, |_| false) {
            Ok(arguments) => arguments,
            Err(says) => return Ok(format!("Error: {says}")),
        };
        let asked = match ToolRequest::of(tool, &arguments, values) {
            Ok(asked) => asked,
            // The filled-in values make no valid request.
            Err(Halt::Refuse(Refusal::BadGateway(says))) => return Ok(format!("Error: {says}")),
            Err(halt) => return Err(halt),
        };
        let answer = ctx.ask(|| bounded(asked.work(), left_ms))?;
        return Ok(told(&asked, &answer));
    }
    let calendar = match talk.calendar() {
        Some(row) => Calendar::of(row, &call.name)?,
        None => None,
    };
    let Some(calendar) = calendar else { return Ok(NO_FUNCTION.into()) };
    let arguments = match fitting(&calendar.function(), &arguments, known) {
        Ok(arguments) => arguments,
        Err(says) => return Ok(format!("Error: {says}")),
    };
    let (asked, answer) = calendar.ask(ctx, &arguments, values)?;
    Ok(told(&asked, &answer))
}

/// Bounds a tool's request by what a turn has left and can use.
fn bounded(work: Work, left_ms: u64) -> Work {
    match work {
        Work::Http(mut out) => {
            out.timeout_ms = out.timeout_ms.min(left_ms.max(1));
            out.reply_bytes_max = out.reply_bytes_max.min(RESULT_BYTES_MAX);
            Work::Http(out)
        }
        other => other,
    }
}

fn told(asked: &ToolRequest, answer: &Answer) -> String {
    match answer {
        Answer::Http(HttpIn { status, body, .. }) => {
            let text = asked.masked(&String::from_utf8_lossy(body));
            let text = if (200..300).contains(status) { text } else { format!("Error: status {status}. {text}") };
            cut(&text)
        }
        other => match other.send_error() {
            SendError::TimedOut => LATE.into(),
            SendError::ShareUsed | SendError::Busy => BUSY.into(),
            SendError::Refused | SendError::Unreachable => UNREACHABLE.into(),
        },
    }
}

fn search(account: Scope<'_>, talk: &Talk, arguments: &Value) -> Result<String, Halt> {
    let Some(base) = talk.knowledgebase(account).filter(|_| talk.searches()) else { return Ok(NO_FUNCTION.into()) };
    let Some(query) = arguments.member("query").map(plain).filter(|query| !query.trim().is_empty()) else {
        return Ok(NO_QUERY.into());
    };
    Ok(passages(account, base, query)?.unwrap_or_else(|| NOTHING.to_string()))
}

/// Returns the best passages of a knowledgebase for a question; `None` if there are none.
pub fn passages(account: Scope<'_>, base: u32, query: String) -> Result<Option<String>, Halt> {
    let question = Question { query, limit: CONVERSATION_PASSAGES };
    let found = knowledge::found(account, Some(base), &question)?;
    let texts = found.iter().map(|passage| format!("{}: {}", passage.document_name, passage.text));
    Ok((!found.is_empty()).then(|| cut(&texts.collect::<alloc::vec::Vec<_>>().join("\n\n"))))
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(RESULT_BYTES_MAX)].into()
}
