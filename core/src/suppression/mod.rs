//! Numbers that must not be called: a list per account, checked at the moment of dialing (docs/api.md, Numbers not to
//! be called).
//!
//! The do-not-call list. Asked by `call/operations.rs`, `campaign/dialer.rs` and, at the moment of dialing,
//! `engine/claim.rs`.

mod tables;

use alloc::vec::Vec;

use crate::collection::{Facet, Query};
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::query;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::json::{Raw, ToJson};
use crate::key::{self, Kind, Unique};
use crate::record::{Errors, Iso, Rest};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};
pub use tables::{NewSuppressed, Suppressed, SuppressedQuery};

const MISSING: &str = "Number not found";
const THERE: &str = "field is already on the list.";

fn facet_of_number(phone: &str) -> Facet {
    Facet::new(1, phone.as_bytes())
}

/// Returns whether a number is on the list.
pub fn has(account: Scope<'_>, phone: &str) -> Result<bool, Stop> {
    Ok(account.get(key::unique(account.space(), Unique::DoNotCall, phone.as_bytes()))?.is_some())
}

/// Adds a number; the caller has checked that it is not on the list.
pub fn insert(account: Scope<'_>, new: NewSuppressed, now: Timestamp) -> Result<Row, Stop> {
    let (count, at) = account.allot(Kind::DoNotCall, now)?;
    account.put(
        key::unique(account.space(), Unique::DoNotCall, new.phone_number.as_bytes()),
        count.to_be_bytes().to_vec(),
    )?;
    let facets = [facet_of_number(&new.phone_number)].into();
    let shown = Suppressed {
        id: id::of(account.space(), count),
        phone_number: new.phone_number,
        reason: new.reason,
        created_at: Iso(at),
        rest: Rest::default(),
    };
    let row = Row::open(facets, shown.to_json());
    account.insert(Kind::DoNotCall, count, at, &row)?;
    Ok(row)
}

/// `GET /user/do-not-call`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: SuppressedQuery = ctx.asks()?;
    let facets: Vec<Facet> =
        query.phone_number.map(|phone| facet_of_number(&query::phone_number(&phone))).into_iter().collect();
    let query = Query::page(facets, 0..u32::MAX, Order::Ascending, query.per_page, query.page);
    page::list(ctx, ctx.account(), Kind::DoNotCall, &query, page::public)
}

/// `POST /user/do-not-call`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let new: NewSuppressed = ctx.body()?;
    let account = ctx.account();
    if has(account, &new.phone_number)? {
        let mut errors = Errors::default();
        errors.say("phone_number", THERE);
        return Err(Refusal::Invalid(errors).into());
    }
    let row = insert(account, new, ctx.now)?;
    Ok(Reply::created(&message_data("Number added successfully.", &Raw(&row.public))))
}

/// `DELETE /user/do-not-call/{id}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (count, row) = ctx.named(Kind::DoNotCall, MISSING)?;
    ctx.if_match(&Raw(&row.public))?;
    let phone = Suppressed::MEMBERS.phone_number.read(&row.public)?;
    let account = ctx.account();
    account.delete(key::unique(account.space(), Unique::DoNotCall, phone.as_bytes()))?;
    account.remove(Kind::DoNotCall, count, &row)?;
    Ok(Reply::ok(&message("Number removed successfully.")))
}
