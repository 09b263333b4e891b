//! Mid-call tools (docs/api.md, Mid-call tools).

mod function;
mod request;
mod rows;
pub mod tables;
mod values;

use alloc::string::String;
use alloc::vec::Vec;

pub use function::schema_of;
pub use request::{Asked, told};
pub use rows::{find, function, name_of};
pub use values::{Facts, Values, plain};

use crate::account::plan;
use crate::account::profile::Profile;
use crate::assistant::rows::{detach, facet_of_tool};
use crate::collection::{Facet, Query, ids, page};
use crate::http::ctx::Ctx;
use crate::http::list;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::json::{Raw, Value};
use crate::key::Kind;
use crate::limits::{ENTRIES_MAX, PLAN_ROWS_MAX, URL_MAX};
use crate::record::{
    Iso, Json, Record, Secret, Source, Stored, check, check_update, choice, format, id, int, iso, list, text,
};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use crate::{choice, record};
use rows::{facet_of_name, shown};
use tables::{Arguments, ToolTest};

choice! {
    /// The method of the request to a tool's endpoint.
    pub enum ToolMethod {
        /// `GET`, parameters in the query.
        Get = "GET",
        /// `POST`, parameters in a JSON body.
        Post = "POST",
        /// `PUT`, parameters in a JSON body.
        Put = "PUT",
        /// `PATCH`, parameters in a JSON body.
        Patch = "PATCH",
        /// `DELETE`, parameters in the query.
        Delete = "DELETE",
    }
}

impl ToolMethod {
    /// Returns whether parameters go into a JSON body rather than into the query.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

choice! {
    /// The type of a tool's parameter.
    pub enum ParameterType {
        /// A JSON string; `"test"` in a test.
        String = "string",
        /// A JSON number; `1` in a test.
        Number = "number",
        /// A JSON boolean; `true` in a test.
        Boolean = "boolean",
    }
}

record! {
    /// A header of the request to a tool's endpoint.
    pub struct ToolHeader stored as "a tool" {
        /// Name of the header; not one that the service sets itself, such as `Host`.
        name: String = text(1, 128).form(&format::HEADER_NAME).required(),
        /// Value of the header; `{{variable}}` in it is filled in.
        value: Secret = text(1, 2_048).form(&format::HEADER_VALUE).required(),
    }
}

record! {
    /// A parameter that the model extracts from the conversation.
    pub struct Parameter stored as "a tool" {
        /// Name of the parameter, in the request and as `{name}` in the endpoint.
        name: String = text(2, 32).form(&format::PARAMETER_NAME).required(),
        /// JSON type of the parameter.
        r#type: ParameterType = choice::<ParameterType>().required(),
        /// Tells the model what to pass.
        description: String = text(3, 255).required(),
    }
}

record! {
    /// Body of `POST /user/tools`.
    pub struct NewTool {
        /// Name by which the model calls it.
        name: String = text(1, 64).form(&format::TOOL_NAME).required(),
        /// Tells the model when and how to use it.
        description: String = text(1, 255).required(),
        /// URL to request; `{parameter}` and `{{variable}}` in it are filled in.
        endpoint: String = text(1, URL_MAX).form(&format::ENDPOINT).required(),
        /// HTTP method of the request.
        method: ToolMethod = choice::<ToolMethod>().required(),
        /// Time the endpoint has to answer, seconds.
        timeout: u32 = int(1, 30).or_int(10),
        /// Headers of the request; `{{variable}}` in their values is filled in.
        headers: Vec<ToolHeader> = list::<ToolHeader>(ENTRIES_MAX),
        /// Parameters that the model extracts from the conversation and that are sent.
        schema: Vec<Parameter> = list::<Parameter>(ENTRIES_MAX).unique("name"),
    }
}

record! {
    /// A mid-call tool: an HTTP request that the model can have made during a call.
    pub struct Tool stored as "a tool" {
        /// Id of the tool, as in `tool_ids`.
        id: u64 = id().required(),
        /// Name by which the model calls it.
        name: String = text(0, 64).required(),
        /// Tells the model when and how to use it.
        description: String = text(0, 255).required(),
        /// URL to request; `{parameter}` and `{{variable}}` in it are filled in.
        endpoint: String = text(0, URL_MAX).required(),
        /// HTTP method of the request.
        method: ToolMethod = choice::<ToolMethod>().required(),
        /// Time the endpoint has to answer, seconds.
        timeout: u32 = int(1, 30).required(),
        /// Headers of the request; values are masked for a read-only key.
        headers: Vec<ToolHeader> = list::<ToolHeader>(ENTRIES_MAX),
        /// Parameters that the model extracts from the conversation and that are sent.
        schema: Vec<Parameter> = list::<Parameter>(ENTRIES_MAX),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
        /// Time of the last change, UTC; that of creation until then.
        updated_at: Iso = iso().required(),
    }
}

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
    let new: NewTool = ctx.finish(check(NewTool::TABLE, ctx.members()?, Source::Body))?;
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
    if let crate::record::Cell::Text(name) = checked.get("name")
        && *name != before.name
        && meets(ctx.account(), count, name)?
    {
        checked.errors.add("name", SAME_NAME);
    }
    let new: NewTool = ctx.finish(checked)?;
    ctx.if_match(&Raw(&row.public))?;
    let changed = rows::row(&before.changed(new, ctx.now));
    ctx.account().replace(Kind::Tool, count, &row, &changed)?;
    Ok(Reply::ok(&message_data("Tool updated successfully", &Raw(&changed.public))))
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

/// `POST /user/tools/{id}/test`: makes the real request, with samples for the arguments that are not given.
pub fn test(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = ctx.named(Kind::Tool, MISSING)?;
    let tool = Tool::read(&row.public)?;
    let body: Arguments = ctx.body()?;
    let zone = Profile::of(ctx.account())?.own.timezone;
    let arguments = request::samples(&tool, &body.arguments.0);
    let asked = Asked::of(&tool, &arguments, &Values::without_call(&zone, ctx.now))?;
    let answer = told(ctx.ask(|| asked.work())?)?;
    let headers = answer.headers.into_iter().map(|(name, value)| (name, Value::Text(value))).collect();
    Ok(Reply::ok(&ToolTest {
        status: answer.status.into(),
        duration_ms: answer.duration_ms,
        headers: Some(Json(Value::Object(crate::json::Members(headers)))),
        body: String::from_utf8_lossy(&answer.body).into_owned(),
    }))
}
