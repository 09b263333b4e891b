//! What a model calls in the middle of a call: the account's tools over HTTP, and the
//! knowledgebase.

use alloc::string::String;

use super::calendar::Calendar;
use super::session;
use super::tables::ToolReply;
use super::values;
use crate::assistant::{self, Kept};
use crate::call::Stored;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::json::{Members, Value};
use crate::key::Kind;
use crate::knowledge::{self, tables::Question};
use crate::limits::LEASE_SECONDS;
use crate::outside::Answer;
use crate::store::{Row, Scope};
use crate::tool::tables::Arguments;
use crate::tool::{self, Asked};
use crate::view::Stop;

const NO_TOOL: &str = "Tool not found";
const OVER: &str = "The call is over.";

/// `POST /engine/calls/{id}/tools/{name}`
pub fn tool(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let body: Arguments = ctx.body()?;
    if ctx.answered() == 0 && !call.status()?.is_running() {
        return Err(Refusal::Conflict(OVER.into()).into());
    }
    let assistant = assistant_of(account, &call)?;
    let name = ctx.params.get(1).copied().unwrap_or_default();
    let values = values::of(&assistant, &call, ctx.now);
    // A request holds the lease for as long as it may run.
    let answer = if let Some(row) = attached(account, &assistant, name)? {
        Asked::of(&row, &body.arguments.0, &values).and_then(|asked| {
            hold_first(ctx, account, &mut call, asked.timeout_seconds())?;
            ctx.ask(|| asked.work())
        })
    } else {
        let calendar = Calendar::of(&assistant, name).ok_or(Refusal::NotFound(NO_TOOL))?;
        hold_first(ctx, account, &mut call, Calendar::timeout_seconds())?;
        calendar.ask(ctx, &body.arguments.0, &values)
    };
    let mut said = Members::default();
    said.set("name", Value::Text(name.into()));
    let answer = match answer {
        Ok(Answer::Http(answer)) => {
            said.set("status", crate::call::whole(answer.status.into()));
            said.set("duration_ms", crate::call::whole(answer.duration_ms));
            Ok(Answer::Http(answer))
        }
        Ok(answer) => Ok(answer),
        // What was filled in makes no request: the call tells why.
        Err(Halt::Refuse(Refusal::BadGateway(says))) => {
            said.set("error", Value::Text(says.clone()));
            Err(Refusal::BadGateway(says))
        }
        Err(halt) => return Err(halt),
    };
    if call.status()?.is_running() {
        call.note(account, ctx.now.max(call.live.last_at), "tool", &said)?;
        hold(ctx, account, &mut call, 0)?;
    }
    match answer.and_then(tool::told) {
        Ok(answer) => Ok(Reply::ok(&ToolReply {
            status: answer.status.into(),
            body: String::from_utf8_lossy(&answer.body).into_owned(),
            duration_ms: answer.duration_ms,
        })),
        Err(refusal) => Ok(ctx.refused(refusal)),
    }
}

fn hold_first(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut Stored, seconds: u64) -> Result<(), Halt> {
    if ctx.answered() == 0 { hold(ctx, account, call, seconds) } else { Ok(()) }
}

fn hold(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut Stored, more_seconds: u64) -> Result<(), Halt> {
    call.live.lease = Some(ctx.now.plus_seconds(LEASE_SECONDS + more_seconds));
    Ok(call.save(account, ctx.now)?)
}

fn assistant_of(account: Scope<'_>, call: &Stored) -> Result<Kept, Halt> {
    Ok(assistant::kept(account, call.assistant())?.ok_or(Refusal::NotFound(NO_TOOL))?)
}

/// The tool of this name that is attached to the assistant.
fn attached(account: Scope<'_>, assistant: &Kept, name: &str) -> Result<Option<Row>, Stop> {
    for attached in assistant.members.get("tool_ids").and_then(Value::as_list).unwrap_or_default() {
        let count = attached.as_u64().and_then(|id| id::local(account.space(), id)).unwrap_or(0);
        if let Some(row) = account.find(Kind::Tool, count)?
            && tool::name(&row)? == name
        {
            return Ok(Some(row));
        }
    }
    Ok(None)
}

/// `POST /engine/calls/{id}/knowledge`
pub fn knowledge(ctx: &Ctx<'_>) -> Handled {
    let (account, mut call) = session::call(ctx)?;
    let body: Question = ctx.body()?;
    if !call.status()?.is_running() {
        return Err(Refusal::Conflict(OVER.into()).into());
    }
    let assistant = assistant_of(account, &call)?;
    let base = assistant.number("knowledgebase_id").and_then(|id| id::local(account.space(), id));
    let reply = knowledge::found(account, base, &body)?;
    hold(ctx, account, &mut call, 0)?;
    Ok(reply)
}
