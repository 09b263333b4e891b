//! Function calls of the model during a call: the account's tools over HTTP, the calendar, and the knowledgebase.

use alloc::string::String;

use super::calendar::Calendar;
use super::tables::{KnowledgeAsked, PassageScore, TakenEvents, ToolAsked, ToolCall, ToolReply};
use super::values;
use super::{report, session};
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::assistant::visited;
use crate::call::{CallRow, lease};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::id;
use crate::json::{Members, ToJson, Value};
use crate::knowledge::{self, tables::Question};
use crate::limits::TOOL_EVENT_BODY_BYTES_MAX;
use crate::outside::HttpIn;
use crate::record::{Json, Stored};
use crate::store::{Row, Scope};
use crate::tool::{self, Tool, ToolRequest, fitting};
use crate::view::Stop;

const NO_TOOL: &str = "Tool not found";
const OVER: &str = "The call is over.";

/// `POST /engine/calls/{id}/tools/{name}`
pub fn tool(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let ToolCall { arguments, events } = ctx.body()?;
    let arguments = arguments.map_or(Value::Null, |Json(arguments)| arguments);
    if events.is_empty() {
        return run(ctx, account, &mut call, &arguments);
    }
    if ctx.answered() == 0 {
        report::take_all(ctx, account, &mut call, &events)?;
    }
    match run(ctx, account, &mut call, &arguments) {
        // The events were taken: the engine goes on behind them.
        Err(Halt::Refuse(refusal)) => {
            let state = TakenEvents { call_status: call.status(), next_seq: call.live.seq + 1 };
            Ok(ctx.refused(refusal).with_members(&state))
        }
        handled => handled,
    }
}

/// Makes the request of a tool, or of a built-in one.
fn run(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, arguments: &Value) -> Handled {
    if ctx.answered() == 0 && (!call.status().is_running() || call.live.engine.is_none()) {
        return Err(Refusal::Conflict(OVER.into()).into());
    }
    let row = assistant_of(account, call)?;
    let assistant = Assistant::read(&row.public)?;
    let name = ctx.params.get(1).copied().unwrap_or_default();
    let values = values::of(&assistant, call, ctx.now);
    // The lease is extended by the request's timeout before the request is made.
    let offered = visited::tool_ids(&assistant, call.is_visited());
    let asked = if let Some(tool) = attached(account, offered, name)? {
        let arguments = fitted(&tool::function(&tool), arguments, |_| false);
        arguments.and_then(|arguments| ToolRequest::of(&tool, &arguments, &values)).and_then(|asked| {
            hold_first(ctx, account, call, asked.timeout_seconds())?;
            let answer = ctx.ask(|| asked.work())?;
            Ok((asked, answer))
        })
    } else {
        let calendar = Calendar::of(&row, name)?.filter(|_| !call.is_visited()).ok_or(Refusal::NotFound(NO_TOOL))?;
        let known = |name: &str| values.get(name).is_some();
        fitted(&calendar.function(), arguments, known).and_then(|arguments| {
            hold_first(ctx, account, call, Calendar::timeout_seconds())?;
            calendar.ask(ctx, &arguments, &values)
        })
    };
    let (asked, answer) = match asked {
        Ok((asked, answer)) => {
            let answer = asked.response(answer);
            (Some(asked), answer)
        }
        // The arguments do not fit, or the filled-in values make no valid request.
        Err(Halt::Refuse(refusal @ (Refusal::BadGateway(_) | Refusal::Unprocessable(_)))) => (None, Err(refusal)),
        Err(halt) => return Err(halt),
    };
    note(ctx, account, call, "tool", &event(name, arguments, asked.as_ref(), &answer))?;
    match answer {
        Ok(answer) => Ok(Reply::ok(&ToolReply {
            status: answer.status.into(),
            body: String::from_utf8_lossy(&answer.body).into_owned(),
            duration_ms: answer.duration_ms,
        })),
        Err(refusal) => Ok(ctx.refused(refusal)),
    }
}

/// Returns the arguments that a function takes; 422 if they do not fit it.
fn fitted(function: &Value, arguments: &Value, known: impl Fn(&str) -> bool) -> Result<Members, Halt> {
    fitting(function, arguments, known).map_err(|says| Refusal::Unprocessable(says).into())
}

/// Builds the event of a request; `asked` is `None` if its values made none.
fn event(name: &str, arguments: &Value, asked: Option<&ToolRequest>, answer: &Result<HttpIn, Refusal>) -> ToolAsked {
    let error = match answer {
        Err(Refusal::BadGateway(says) | Refusal::GatewayTimeout(says) | Refusal::Unprocessable(says)) => {
            Some(says.clone())
        }
        _ => None,
    };
    let answer = answer.as_ref().ok();
    ToolAsked {
        name: name.into(),
        arguments: Some(Json(arguments.clone())),
        status: answer.map(|answer| answer.status.into()),
        body: asked.zip(answer).map(|(asked, answer)| excerpt(&asked.masked(&String::from_utf8_lossy(&answer.body)))),
        error,
        duration_ms: answer.map(|answer| answer.duration_ms),
    }
}

fn excerpt(text: &str) -> String {
    text[..text.floor_char_boundary(TOOL_EVENT_BODY_BYTES_MAX)].into()
}

/// Stores an event of the call, and renews the lease. A call that ended while its tool was asked has the event too.
fn note(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, name: &str, said: &impl ToJson) -> Result<(), Halt> {
    call.note_within(account, ctx.now.max(call.live.last_at), name, said)?;
    call.save(account, ctx.now)?;
    if call.status().is_running() {
        lease::renew(account, call.count, ctx.engine().token, ctx.now)?;
        lease::release(account, call.count, ctx.now)?;
    }
    Ok(())
}

/// Holds the lease while the request runs, before it is made.
fn hold_first(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow, seconds: u64) -> Result<(), Halt> {
    if ctx.answered() == 0 {
        lease::hold(account, call.count, ctx.engine().token, ctx.now, seconds)?;
    }
    Ok(())
}

fn assistant_of(account: Scope<'_>, call: &CallRow) -> Result<Row, Halt> {
    Ok(of_call(account, call.assistant())?.ok_or(Refusal::NotFound(NO_TOOL))?)
}

/// Finds the tool of this name among those with these ids.
fn attached(account: Scope<'_>, ids: &[u64], name: &str) -> Result<Option<Tool>, Stop> {
    for id in ids {
        let count = id::local(account.space(), *id).unwrap_or(0);
        if let Some(tool) = tool::find(account, count)?.filter(|tool| tool.name == name) {
            return Ok(Some(tool));
        }
    }
    Ok(None)
}

/// `POST /engine/calls/{id}/knowledge`
pub fn knowledge(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let body: Question = ctx.body()?;
    if !call.status().is_running() {
        return Err(Refusal::Conflict(OVER.into()).into());
    }
    let assistant = assistant_of(account, &call)?;
    let base = Assistant::MEMBERS.knowledgebase_id.read(&assistant.public)?;
    let base = base.and_then(|id| id::local(account.space(), id));
    let found = knowledge::found(account, base, &body)?;
    let passages = found.iter().map(|passage| PassageScore { document_id: passage.document_id, score: passage.score });
    let said = KnowledgeAsked { query: body.query, passages: passages.collect(), duration_ms: None };
    note(ctx, account, &mut call, "knowledge", &said)?;
    Ok(Reply::ok(&data(&found)))
}
