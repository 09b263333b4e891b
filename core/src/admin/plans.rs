//! The operator's operations on plans.

use alloc::vec::Vec;

use crate::account::plan::{self, Plan};
use crate::collection::{Facet, count};
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, data, message_data};
use crate::http::route::Handled;
use crate::json::ToJson;
use crate::key::Kind;
use crate::record::{Cell, MemberSource, Record, Stored, check};
use crate::view::Stop;

const MISSING: &str = "Plan not found.";
/// Limit of plans in an installation.
const ALL: usize = 1_000;

/// `GET /admin/plans`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let rows = ctx.root().list(Kind::Plan, &Facet::ALL, ALL)?;
    let plans = rows.iter().map(|(_, row)| Plan::read(&row.public)).collect::<Result<Vec<Plan>, Stop>>()?;
    Ok(Reply::ok(&data(&plans)))
}

/// `POST /admin/plans`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let root = ctx.root();
    let mut checked = check(Plan::TABLE, ctx.members()?, MemberSource::Body);
    if let Cell::Text(name) = checked.get("name")
        && plan::load(root, name)?.is_some()
    {
        checked.errors.add("name", "The name has already been taken.");
    }
    let plan: Plan = ctx.finish(checked)?;
    if count(root, Kind::Plan, &Facet::ALL)? >= ALL as u64 {
        return Err(Refusal::Forbidden(alloc::format!("An installation has at most {ALL} plans.")).into());
    }
    plan::save(root, &plan, ctx.now)?;
    Ok(Reply::created(&message_data("Plan created successfully.", &plan)))
}

/// `PUT /admin/plans/{name}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let root = ctx.root();
    let name = ctx.params.first().copied().unwrap_or_default();
    let before = plan::load(root, name)?.ok_or(Refusal::NotFound(MISSING))?;
    let changed: Plan = ctx.update(Plan::members(&before.to_json())?)?;
    // A plan keeps its name, by which accounts refer to it.
    let after = Plan { name: before.name.clone(), rest: before.rest.clone(), ..changed };
    ctx.if_match(&before)?;
    plan::save(root, &after, ctx.now)?;
    Ok(Reply::ok(&message_data("Plan updated successfully.", &after)))
}
