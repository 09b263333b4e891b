//! Function calls of the model during a call: the account's tools over HTTP, the calendar, and the knowledgebase.

use alloc::string::String;

use super::calendar::Calendar;
use super::tables::{KnowledgeAsked, PassageScore, TakenEvents, ToolAsked, ToolCall, ToolReply};
use super::values;
use super::{report, session};
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::call::CallRow;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::id;
use crate::json::ToJson;
use crate::knowledge::{self, tables::Question};
use crate::limits::{LEASE_SECONDS, TOOL_EVENT_BODY_BYTES_MAX};
use crate::outside::HttpIn;
use crate::record::{Stored, Variables};
use crate::store::{Row, Scope};
use crate::tool::{self, Tool, ToolRequest};
use crate::view::Stop;

const NO_TOOL: &str = "Tool not found";
const OVER: &str = "The call is over.";

/// `POST /engine/calls/{id}/tools/{name}`
pub fn tool(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let ToolCall { arguments, events } = tool::with_arguments(ctx)?;
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
fn run(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, arguments: &Variables) -> Handled {
    if ctx.answered() == 0 && (!call.status().is_running() || call.live.engine.is_none()) {
        return Err(Refusal::Conflict(OVER.into()).into());
    }
    let row = assistant_of(account, call)?;
    let assistant = Assistant::read(&row.public)?;
    let name = ctx.params.get(1).copied().unwrap_or_default();
    let values = values::of(&assistant, call, ctx.now);
    // The lease is extended by the request's timeout before the request is made.
    let asked = if let Some(tool) = attached(account, &assistant, name)? {
        ToolRequest::of(&tool, &arguments.0, &values).and_then(|asked| {
            hold_first(ctx, account, call, asked.timeout_seconds())?;
            let answer = ctx.ask(|| asked.work())?;
            Ok((asked, answer))
        })
    } else {
        let calendar = Calendar::of(&row, name)?.ok_or(Refusal::NotFound(NO_TOOL))?;
        hold_first(ctx, account, call, Calendar::timeout_seconds())?;
        calendar.ask(ctx, &arguments.0, &values)
    };
    let (asked, answer) = match asked {
        Ok((asked, answer)) => {
            let answer = asked.response(answer);
            (Some(asked), answer)
        }
        // The filled-in values make no valid request.
        Err(Halt::Refuse(refusal @ Refusal::BadGateway(_))) => (None, Err(refusal)),
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

/// Builds the event of a request; `asked` is `None` if its values made none.
fn event(
    name: &str,
    arguments: &Variables,
    asked: Option<&ToolRequest>,
    answer: &Result<HttpIn, Refusal>,
) -> ToolAsked {
    let error = match answer {
        Err(Refusal::BadGateway(says) | Refusal::GatewayTimeout(says)) => Some(says.clone()),
        _ => None,
    };
    let answer = answer.as_ref().ok();
    ToolAsked {
        name: name.into(),
        arguments: arguments.clone(),
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
    if call.status().is_running() { hold(ctx, account, call, 0) } else { Ok(call.save(account, ctx.now)?) }
}

fn hold_first(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, seconds: u64) -> Result<(), Halt> {
    if ctx.answered() == 0 { hold(ctx, account, call, seconds) } else { Ok(()) }
}

fn hold(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, more_seconds: u64) -> Result<(), Halt> {
    call.live.lease = Some(ctx.now.plus_seconds(LEASE_SECONDS + more_seconds));
    Ok(call.save(account, ctx.now)?)
}

fn assistant_of(account: Scope<'_>, call: &CallRow) -> Result<Row, Halt> {
    Ok(of_call(account, call.assistant())?.ok_or(Refusal::NotFound(NO_TOOL))?)
}

/// Finds the tool of this name that is attached to the assistant.
fn attached(account: Scope<'_>, assistant: &Assistant, name: &str) -> Result<Option<Tool>, Stop> {
    for id in &assistant.tool_ids {
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
