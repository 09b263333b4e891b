//! Creating, reading, changing and deleting assistants, in the order of docs/api.md.

use super::built_in::{self, SentForm};
use super::filter::AssistantFilter;
use super::rows::{self, Meta, facet_of_type};
use super::states::{AssistantEvent, FIRST, MOVES};
use super::tables::{AllQuery, Assistant, Direction, ListQuery, NewAssistant, Outbound, Status, Summary, UPDATE};
use super::{mask, rules};
use crate::account::plan;
use crate::collection::{Facet, Page, Query};
use crate::http::ctx::Ctx;
use crate::http::list::{self, List};
use crate::http::page;
use crate::http::refs;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::json::{Raw, ToJson};
use crate::key::{self, Kind, Unique};
use crate::limits::PLAN_ROWS_MAX;
use crate::record::{
    Cell, Checked, Choice, Iso, MemberSource, Record, Rest, Stored, StoredValues, check, check_update,
};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Message of a 404: another account's assistant is as missing as an unknown one.
pub const MISSING: &str = "Assistant not found";

/// `POST /user/assistant`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let mut supplied = ctx.members()?;
    let form = built_in::flatten(&mut supplied, &[]);
    let masked = mask::restore(&mut supplied, &[]);
    let mut checked = check(NewAssistant::TABLE, supplied, MemberSource::Body);
    wrong_tools(&mut checked, &form, &masked);
    refs::check(ctx, &mut checked, None)?;
    rules::check(ctx, &mut checked, None)?;
    let mut new = rules::fit(ctx.finish::<NewAssistant>(checked)?);
    form.mark(&mut new.tools, &mut []);
    let summary = insert(ctx, &new)?;
    Ok(Reply::created(&message_data("Assistant created successfully", &summary)))
}

/// Stores a new assistant: inactive, without an inbound webhook.
pub(super) fn insert(ctx: &Ctx<'_>, new: &NewAssistant) -> Result<Summary, Halt> {
    let account = ctx.account();
    let plan = plan::of(account)?;
    ctx.plan_room(Kind::Assistant, "assistants", plan.assistants.into(), Refusal::Forbidden)?;
    let (count, at) = account.allot(Kind::Assistant, ctx.now)?;
    // A UUID that leads to the account: strangers find the assistant by it.
    let uuid = crate::id::uuid_of_account(ctx.caller().account, ctx.seed.uuid("assistant"));
    let meta = Meta {
        id: ctx.id(count),
        user_id: crate::id::user(ctx.caller().account),
        uuid,
        status: FIRST,
        activates_on_use: true,
        inbound_webhook_url: None,
        created_at: at,
        updated_at: at,
        rest: Rest::default(),
    };
    account
        .put(key::unique(account.space(), Unique::AssistantUuid, meta.uuid.as_bytes()), count.to_be_bytes().to_vec())?;
    let summary = summary(new, &meta);
    account.insert(Kind::Assistant, count, at, &rows::row(ctx, new, meta))?;
    Ok(summary)
}

/// Adds the errors of the form in which tools were sent, and one for each masked calendar key that matches no stored
/// one.
fn wrong_tools(checked: &mut Checked, form: &SentForm, masked: &[usize]) {
    form.errors.iter().for_each(|(field, sentence)| checked.errors.add(field, sentence.clone()));
    masked.iter().for_each(|at| checked.errors.invalid(&alloc::format!("tools.{at}.calendar_api_key")));
}

fn summary(new: &NewAssistant, meta: &Meta) -> Summary {
    Summary { id: meta.id, name: new.name.clone(), status: meta.status, r#type: new.r#type, mode: new.mode }
}

/// Returns the assistant in the path, given by id or by uuid.
pub fn named(ctx: &Ctx<'_>) -> Result<(u32, Row), Halt> {
    let account = ctx.account();
    let text = ctx.params.first().copied().unwrap_or_default();
    let count = match ctx.param(0) {
        Some(count) => Some(count),
        None if text.len() == 36 => {
            let found = account.get(key::unique(account.space(), Unique::AssistantUuid, text.as_bytes()))?;
            found.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)))
        }
        None => None,
    };
    let count = count.ok_or(Refusal::NotFound(MISSING))?;
    let row = account.find(Kind::Assistant, count)?.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    Ok((count, row))
}

/// Callback after a change to the assistant with this count, for the campaigns that run with it.
pub type Follow = fn(Scope<'_>, u32, Timestamp) -> Result<(), Stop>;

/// `PUT`, `PATCH /user/assistant/{id}`; `wake` makes its campaigns check again whether they may call.
pub fn update(ctx: &Ctx<'_>, wake: Follow) -> Handled {
    let (count, row) = named(ctx)?;
    let mut supplied = ctx.members()?;
    let mut members = rows::members(&row)?;
    let mut tools = rows::tools(&row)?;
    let form = built_in::flatten(&mut supplied, &tools);
    let masked = mask::restore(&mut supplied, &tools);
    let before = Assistant::read(&row.public)?;
    rules::merge_widget(&before, &mut supplied);
    let kept = rules::references(&before);
    let leads = crate::id::account_of_uuid(&before.uuid).is_some();
    let changed_mode = rules::change_mode(before.mode, &mut members, &supplied);
    let meta = Meta::of(before);
    let mut checked = check_update(&UPDATE, members, supplied.clone());
    wrong_tools(&mut checked, &form, &masked);
    refs::check(ctx, &mut checked, Some(&supplied))?;
    rules::check(ctx, &mut checked, Some(&rules::UpdateContext { count, changed_mode, leads, kept }))?;
    let asked = match checked.get("status") {
        Cell::Text(word) => Status::of(word),
        _ => None,
    };
    let switched = asked.and_then(|asked| MOVES.next(meta.status, AssistantEvent::to(asked)));
    let mut new = rules::fit(ctx.finish::<NewAssistant>(checked)?);
    form.mark(&mut new.tools, &mut tools);
    ctx.if_match(&Raw(&row.public))?;
    let meta = Meta {
        status: switched.unwrap_or(meta.status),
        activates_on_use: meta.activates_on_use && switched.is_none(),
        updated_at: ctx.now.max(meta.updated_at),
        ..meta
    };
    let summary = summary(&new, &meta);
    ctx.account().replace(Kind::Assistant, count, &row, &rows::row(ctx, &new, meta))?;
    wake(ctx.account(), count, ctx.now)?;
    Ok(Reply::ok(&message_data("Assistant updated successfully", &summary)))
}

/// `GET /user/assistant/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = named(ctx)?;
    Ok(Reply::ok_raw(row.public))
}

/// `DELETE /user/assistant/{id}`: the row leaves every list but is kept, with its `deleted_at`, for its calls;
/// `stop` stops the campaigns that run with it.
pub fn delete(ctx: &Ctx<'_>, stop: Follow) -> Handled {
    let (count, row) = named(ctx)?;
    ctx.if_match(&Raw(&row.public))?;
    let account = ctx.account();
    let deleted = rows::changed(&row, ctx.now, |assistant| assistant.deleted_at = Some(Iso(ctx.now)))?;
    account.remove(Kind::Assistant, count, &row)?;
    let uuid = Assistant::MEMBERS.uuid.read(&row.public)?;
    account.delete(key::unique(account.space(), Unique::AssistantUuid, uuid.as_bytes()))?;
    account.put(key::part(account.space(), Kind::Assistant, count, 0), deleted.to_bytes())?;
    stop(account, count, ctx.now)?;
    Ok(Reply::ok(&message("Assistant deleted successfully")))
}

/// `GET /user/assistants/get`
pub fn page(ctx: &Ctx<'_>) -> Handled {
    let query: ListQuery = ctx.asks()?;
    let filter = AssistantFilter {
        r#type: query.r#type,
        status: query.status,
        folder: query.folder_id,
        labels: query.label_id,
        search: query.search,
    };
    let account = ctx.account();
    let query = Query::page(filter.facets(ctx), 0..u32::MAX, Order::Ascending, query.per_page, query.page);
    if !filter.reads_rows() {
        return page::list(ctx, account, Kind::Assistant, &query, page::public);
    }
    let find = || {
        let ids = filter.select(account, &query.facets)?;
        let skip = usize::try_from(query.offset).unwrap_or(usize::MAX);
        let total = ids.len() as u64;
        Ok(Page { ids: ids.into_iter().skip(skip).take(query.limit).collect(), total })
    };
    page::of(ctx, account, Kind::Assistant, &query, find, page::public)
}

/// `GET /user/assistants`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let query: AllQuery = ctx.asks()?;
    let filter = AssistantFilter {
        r#type: query.r#type,
        status: query.status,
        folder: query.folder_id,
        labels: query.label_id,
        search: query.search,
    };
    let account = ctx.account();
    let found = || Ok(list::array(filter.select(account, &filter.facets(ctx))?));
    list::reply(ctx, account, Kind::Assistant, found, page::public)
}

/// `GET /user/assistants/outbound`
pub fn outbound(ctx: &Ctx<'_>) -> Handled {
    let outbound = || array(ctx, &facet_of_type(Direction::Outbound));
    list::reply(ctx, ctx.account(), Kind::Assistant, outbound, |_, row, out| {
        let outbound = StoredValues::parse(Outbound::TABLE, Row::public_of(row)?);
        let outbound = outbound.and_then(Outbound::from_values).ok_or(Assistant::DAMAGED)?;
        outbound.write(out);
        Ok(())
    })
}

/// Returns the assistants of a facet as an array.
fn array(ctx: &Ctx<'_>, facet: &Facet) -> Result<List, Halt> {
    Ok(list::array(crate::collection::ids(ctx.account(), Kind::Assistant, facet, PLAN_ROWS_MAX)?))
}
