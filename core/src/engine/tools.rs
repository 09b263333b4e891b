//! Function calls of the model during a call: the account's tools over HTTP, the calendar, and the knowledgebase.

use alloc::string::String;

use super::calendar::Calendar;
use super::session;
use super::tables::{ToolAsked, ToolReply};
use super::values;
use crate::assistant::rows::of_call;
use crate::assistant::tables::Assistant;
use crate::call::CallRow;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::knowledge::{self, tables::Question};
use crate::limits::LEASE_SECONDS;
use crate::outside::Answer;
use crate::record::Stored;
use crate::store::{Row, Scope};
use crate::tool::{self, Tool, ToolRequest};
use crate::view::Stop;

const NO_TOOL: &str = "Tool not found";
const OVER: &str = "The call is over.";

/// `POST /engine/calls/{id}/tools/{name}`
pub fn tool(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let arguments = tool::arguments(ctx)?;
    if ctx.answered() == 0 && !call.status().is_running() {
        return Err(Refusal::Conflict(OVER.into()).into());
    }
    let row = assistant_of(account, &call)?;
    let assistant = Assistant::read(&row.public)?;
    let name = ctx.params.get(1).copied().unwrap_or_default();
    let values = values::of(&assistant, &call, ctx.now);
    // The lease is extended by the request's timeout before the request is made.
    let answer = if let Some(tool) = attached(account, &assistant, name)? {
        ToolRequest::of(&tool, &arguments, &values).and_then(|asked| {
            hold_first(ctx, account, &mut call, asked.timeout_seconds())?;
            ctx.ask(|| asked.work())
        })
    } else {
        let calendar = Calendar::of(&row, name)?.ok_or(Refusal::NotFound(NO_TOOL))?;
        hold_first(ctx, account, &mut call, Calendar::timeout_seconds())?;
        calendar.ask(ctx, &arguments, &values)
    };
    let mut said = ToolAsked { name: name.into(), status: None, duration_ms: None, error: None };
    let answer = match answer {
        Ok(Answer::Http(answer)) => {
            (said.status, said.duration_ms) = (Some(answer.status.into()), Some(answer.duration_ms));
            Ok(Answer::Http(answer))
        }
        Ok(answer) => Ok(answer),
        // The filled-in values make no valid request: the reason is recorded in the call.
        Err(Halt::Refuse(Refusal::BadGateway(says))) => {
            said.error = Some(says.clone());
            Err(Refusal::BadGateway(says))
        }
        Err(halt) => return Err(halt),
    };
    if call.status().is_running() {
        call.note(account, ctx.now.max(call.live.last_at), "tool", &said)?;
        hold(ctx, account, &mut call, 0)?;
    }
    match answer.and_then(tool::endpoint_response) {
        Ok(answer) => Ok(Reply::ok(&ToolReply {
            status: answer.status.into(),
            body: String::from_utf8_lossy(&answer.body).into_owned(),
            duration_ms: answer.duration_ms,
        })),
        Err(refusal) => Ok(ctx.refused(refusal)),
    }
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
    let reply = knowledge::found(account, base, &body)?;
    hold(ctx, account, &mut call, 0)?;
    Ok(reply)
}
