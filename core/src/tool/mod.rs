//! Mid-call tools (docs/api.md, Mid-call tools).

mod arguments;
mod function;
mod request;
mod rows;
pub mod tables;
mod values;

use alloc::string::String;
use alloc::vec::Vec;

pub use arguments::fitting;
pub use function::{FunctionParameter, function_of, schema_of};
pub use request::ToolRequest;
pub use rows::{find, function, name_of};
pub use tables::{NewTool, Parameter, ParameterType, Tool, ToolHeader, ToolMethod};
pub use values::{BuiltinValues, Values, plain};

use crate::account::plan;
use crate::account::profile::Profile;
use crate::assistant::rows::{detach, facet_of_tool};
use crate::collection::{Facet, Query, ids, page};
use crate::http::ctx::Ctx;
use crate::http::list;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::json::{Members, Raw, Value};
use crate::key::Kind;
use crate::limits::PLAN_ROWS_MAX;
use crate::record::{Cell, Checked, Json, MemberSource, Record, Stored, check, check_update};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use rows::{facet_of_name, shown};
use tables::{Arguments, ToolTest};

const MISSING: &str = "Tool not found";
const SAME_NAME: &str = "An assistant has another tool of this name attached.";

/// `GET /user/tools`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    let rows = || Ok(list::array(ids(account, Kind::Tool, &Facet::ALL, PLAN_ROWS_MAX)?));
    list::reply(ctx, account, Kind::Tool, rows, |_, row, out| {
        out.extend_from_slice(&shown(ctx, Row::public_of(row)?)?);
        Ok(())
    })
}

/// `POST /user/tools`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let mut checked = check(NewTool::TABLE, ctx.members()?, MemberSource::Body);
    check_fields(&mut checked);
    let new: NewTool = ctx.finish(checked)?;
    let account = ctx.account();
    ctx.plan_room(Kind::Tool, "mid call tools", plan::of(account)?.tools.into(), Refusal::Unprocessable)?;
    let (count, at) = account.allot(Kind::Tool, ctx.now)?;
    let row = rows::row(&Tool::new(new, ctx.id(count), at));
    account.insert(Kind::Tool, count, at, &row)?;
    Ok(Reply::created(&message_data("Tool created successfully", &Raw(&row.public))))
}

/// `GET /user/tools/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = ctx.named(Kind::Tool, MISSING)?;
    Ok(Reply::ok_raw(shown(ctx, &row.public)?))
}

/// `PUT`, `PATCH /user/tools/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::Tool, MISSING)?;
    let before = Tool::read(&row.public)?;
    let mut checked = check_update(NewTool::TABLE, Tool::members(&row.public)?, ctx.members()?);
    if let Cell::Text(name) = checked.get("name")
        && *name != before.name
        && meets(ctx.account(), count, name)?
    {
        checked.errors.add("name", SAME_NAME);
    }
    check_fields(&mut checked);
    let new: NewTool = ctx.finish(checked)?;
    ctx.if_match(&Raw(&row.public))?;
    let changed = rows::row(&before.changed(new, ctx.now));
    ctx.account().replace(Kind::Tool, count, &row, &changed)?;
    Ok(Reply::ok(&message_data("Tool updated successfully", &Raw(&changed.public))))
}

/// Refuses static fields that are called like a parameter: it would not be clear which of both is sent.
fn check_fields(checked: &mut Checked) {
    let names = |cell: &Cell| -> Vec<String> {
        let Cell::List(entries) = cell else { return Vec::new() };
        let name = |entry: &Cell| match entry {
            Cell::Record(cells) => match cells.first() {
                Some(Cell::Text(name)) => name.clone(),
                _ => String::new(),
            },
            _ => String::new(),
        };
        entries.iter().map(name).collect()
    };
    let parameters = names(checked.get("schema"));
    for (at, key) in names(checked.get("static_fields")).iter().enumerate() {
        if !key.is_empty() && parameters.contains(key) {
            checked.errors.say(&alloc::format!("static_fields.{at}.key"), "field is the name of a parameter.");
        }
    }
}

/// Returns whether some assistant has this tool attached together with another one of that name.
fn meets(account: Scope<'_>, count: u32, name: &str) -> Result<bool, Stop> {
    for other in ids(account, Kind::Tool, &facet_of_name(name), PLAN_ROWS_MAX)? {
        let both = [facet_of_tool(count), facet_of_tool(other)].to_vec();
        if other != count && page(account, Kind::Assistant, &Query::of(both, Order::Ascending, 0, 1))?.total > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `DELETE /user/tools/{id}`: detaches it from every assistant in the same commit or, where these are large, in
/// earlier ones.
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    if ctx.answered() == 0 {
        let (_, row) = ctx.named(Kind::Tool, MISSING)?;
        ctx.if_match(&Raw(&row.public))?;
    }
    let count = ctx.param(0).ok_or(Refusal::NotFound(MISSING))?;
    ctx.detached(Kind::Tool, count, detach_all(ctx.account(), count, ctx.now)?)?;
    Ok(Reply::ok(&message("Tool deleted successfully")))
}

/// Detaches a tool from some of its assistants, and deletes it once none has it; returns whether it is deleted.
pub fn detach_all(account: Scope<'_>, count: u32, now: Timestamp) -> Result<bool, Stop> {
    let Some(row) = account.find(Kind::Tool, count)? else { return Ok(true) };
    let id = crate::id::of(account.space(), count);
    let done =
        detach(account, &facet_of_tool(count), now, |assistant| assistant.tool_ids.retain(|attached| *attached != id))?;
    if done {
        account.remove(Kind::Tool, count, &row)?;
    }
    Ok(done)
}

/// Returns a body with arguments: texts, numbers and booleans by parameter name, as a tool's schema has them.
pub fn with_arguments<T: Record>(ctx: &Ctx<'_>) -> Result<T, Halt> {
    let mut checked = ctx.checked::<T>()?;
    let mut nested = Vec::new();
    if let Cell::Object(members) = checked.get("arguments") {
        let is_nested = |value: &Value| matches!(value, Value::List(_) | Value::Object(_));
        let names = members.0.iter().filter(|(_, value)| is_nested(value)).map(|(name, _)| name);
        nested.extend(names.map(|name| alloc::format!("arguments.{name}")));
    }
    nested
        .iter()
        .for_each(|field: &String| checked.errors.say(field, "field must be a string, a number or a boolean."));
    ctx.finish(checked)
}

/// `POST /user/tools/{id}/test`: makes the real request, with samples for the arguments that are not given.
pub fn test(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = ctx.named(Kind::Tool, MISSING)?;
    let tool = Tool::read(&row.public)?;
    let given = with_arguments::<Arguments>(ctx)?.arguments;
    let zone = Profile::of(ctx.account())?.own.timezone;
    let arguments = request::samples(&tool, &given.0);
    let asked = ToolRequest::of(&tool, &arguments, &Values::without_call(&zone, ctx.now))?;
    let answer = asked.response(ctx.ask(|| asked.work())?)?;
    Ok(Reply::ok(&ToolTest {
        status: answer.status.into(),
        duration_ms: answer.duration_ms,
        headers: Some(by_name(answer.headers)),
        body: String::from_utf8_lossy(&answer.body).into_owned(),
        request: asked.shown(),
    }))
}

/// Returns headers as an object, by name.
fn by_name(headers: impl IntoIterator<Item = (String, String)>) -> Json {
    Json(Value::Object(Members(headers.into_iter().map(|(name, value)| (name, Value::Text(value))).collect())))
}
