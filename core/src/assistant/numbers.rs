//! The list of numbers that an assistant can be given.

use alloc::string::String;
use alloc::vec::Vec;

use super::lookups::NumberQuery;
use super::rows::{facet_of_number, facet_of_type};
use super::tables::Direction;
use crate::collection::{Facet, Query, page};
use crate::http::ctx::Ctx;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::key::Kind;
use crate::limits::PLAN_ROWS_MAX;
use crate::number::NumberRow;
use crate::number::tables::{Assignable, NumberType};
use crate::record::Stored;
use crate::view::{Order, Stop};

/// `GET /user/assistants/phone-numbers`
pub fn assignable(ctx: &Ctx<'_>) -> Handled {
    let query: NumberQuery = ctx.asks()?;
    let inbound = query.r#type == Some(Direction::Inbound);
    let mut shown = Vec::new();
    for (count, row) in ctx.account().list(Kind::Number, &Facet::ALL, PLAN_ROWS_MAX)? {
        let stored = NumberRow::read(&row.public)?;
        let is_available = !is_held(ctx, count)?;
        if inbound && (stored.r#type == NumberType::CallerId || !is_available) {
            continue;
        }
        shown.push(Assignable {
            id: ctx.id(count),
            phone_number: stored.phone_number,
            country_code: stored.country_code,
            type_label: String::from(stored.r#type.label()),
            is_available,
        });
    }
    Ok(Reply::ok(&shown))
}

fn is_held(ctx: &Ctx<'_>, number: u32) -> Result<bool, Stop> {
    let facets = [facet_of_number(number), facet_of_type(Direction::Inbound)].to_vec();
    Ok(page(ctx.account(), Kind::Assistant, &Query::of(facets, Order::Ascending, 0, 1))?.total > 0)
}
