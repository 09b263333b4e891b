//! Operations on knowledgebases, whose state is derived from their documents.

use alloc::vec::Vec;

use super::documents;
use super::rows::BaseRow;
use super::states::DERIVED;
use super::tables::{Base, BaseStatus, NewBase};
use crate::account::plan;
use crate::assistant::rows::{detach, facet_of_knowledgebase};
use crate::collection::{Facet, count};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::key::Kind;
use crate::limits::PLAN_ROWS_MAX;
use crate::record::{Iso, Rest, Stored};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const MISSING: &str = "Knowledgebase not found.";

fn show(account: Scope<'_>, number: u32, row: &Row) -> Result<Base, Stop> {
    let base = BaseRow::read(&row.public)?;
    let status = status(account, number)?;
    Ok(Base {
        id: id::of(account.space(), number),
        name: base.name,
        description: base.description,
        status,
        status_label: status.label().into(),
        documents_count: count(account, Kind::Document, &documents::facet_of_base(number))?,
        assistants_count: count(account, Kind::Assistant, &facet_of_knowledgebase(number))?,
        created_at: base.created_at,
        updated_at: base.updated_at,
    })
}

/// Derives the state: any processing, else any failed, else active; empty without documents (docs/api.md, States).
fn status(account: Scope<'_>, base: u32) -> Result<BaseStatus, Stop> {
    let some = |status| Ok(count(account, Kind::Document, &documents::facet_of_status(base, status))? > 0);
    for (document, shown) in DERIVED {
        if some(document)? {
            return Ok(shown);
        }
    }
    Ok(BaseStatus::Empty)
}

/// Returns the knowledgebase in the path of one of its documents.
pub(super) fn above(ctx: &Ctx<'_>) -> Result<u32, Halt> {
    let number = ctx.param(0).ok_or(Refusal::NotFound(MISSING))?;
    ctx.account().find(Kind::Knowledgebase, number)?.ok_or(Refusal::NotFound(MISSING))?;
    Ok(number)
}

/// `GET /user/knowledgebases`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    let rows = account.list(Kind::Knowledgebase, &Facet::ALL, PLAN_ROWS_MAX)?;
    let shown = rows.iter().map(|(number, row)| show(account, *number, row)).collect::<Result<Vec<_>, Stop>>()?;
    Ok(Reply::ok(&data(&shown)))
}

/// `POST /user/knowledgebases`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let new: NewBase = ctx.body()?;
    let account = ctx.account();
    ctx.plan_room(Kind::Knowledgebase, "knowledgebases", plan::of(account)?.knowledgebases.into(), Refusal::Forbidden)?;
    let (number, at) = account.allot(Kind::Knowledgebase, ctx.now)?;
    let NewBase { name, description, .. } = new;
    let row = BaseRow { name, description, created_at: Iso(at), updated_at: Iso(at), rest: Rest::default() }.row();
    account.insert(Kind::Knowledgebase, number, at, &row)?;
    Ok(Reply::created(&message_data("Knowledgebase created successfully.", &show(account, number, &row)?)))
}

/// `GET /user/knowledgebases/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (number, row) = ctx.named(Kind::Knowledgebase, MISSING)?;
    Ok(Reply::ok(&data(&show(ctx.account(), number, &row)?)))
}

/// `PUT /user/knowledgebases/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (number, before) = ctx.named(Kind::Knowledgebase, MISSING)?;
    let account = ctx.account();
    let old = BaseRow::read(&before.public)?;
    let new: NewBase = ctx.update(BaseRow::members(&before.public)?)?;
    ctx.if_match(&data(&show(account, number, &before)?))?;
    let updated_at = Iso(ctx.now.max(old.updated_at.0));
    let after = old.with(new, updated_at).row();
    account.replace(Kind::Knowledgebase, number, &before, &after)?;
    Ok(Reply::ok(&message_data("Knowledgebase updated successfully.", &show(account, number, &after)?)))
}

/// `DELETE /user/knowledgebases/{id}`: also deletes its documents, and clears the assistants' references.
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    if ctx.answered() == 0 {
        let (number, row) = ctx.named(Kind::Knowledgebase, MISSING)?;
        ctx.if_match(&data(&show(account, number, &row)?))?;
    }
    let number = ctx.param(0).ok_or(Refusal::NotFound(MISSING))?;
    ctx.detached(Kind::Knowledgebase, number, detach_all(account, number, ctx.now)?)?;
    Ok(Reply::ok(&message("Knowledgebase deleted successfully.")))
}

/// Detaches a knowledgebase from a slice of its assistants, and deletes it once none is left; returns whether that is
/// done.
pub fn detach_all(account: Scope<'_>, number: u32, now: Timestamp) -> Result<bool, Stop> {
    let Some(row) = account.find(Kind::Knowledgebase, number)? else { return Ok(true) };
    let done = detach(account, &facet_of_knowledgebase(number), now, |assistant| {
        assistant.knowledgebase_id = None;
    })?;
    if done {
        documents::remove_all(account, number, now)?;
        account.remove(Kind::Knowledgebase, number, &row)?;
    }
    Ok(done)
}
