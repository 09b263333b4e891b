//! Search, listing and renaming of numbers.

use alloc::vec::Vec;

use super::rows::{NumberRow, facet_of_sms};
use super::tables::{Available, Number, Rename, SearchQuery};
use super::{MISSING, shown};
use crate::carrier::{Ask, CarrierAnswer};
use crate::collection::Facet;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message_data};
use crate::http::route::Handled;
use crate::json::{self, Raw};
use crate::key::Kind;
use crate::limits::PLAN_ROWS_MAX;
use crate::record::{Iso, Stored};
use crate::root;
use crate::store::Row;
use crate::view::Stop;

/// `GET /user/phone-numbers/search`
pub fn search(ctx: &Ctx<'_>) -> Handled {
    let query: SearchQuery = ctx.asks()?;
    let digits = query.contains.unwrap_or_default();
    match ctx.carrier(&Ask::Search { country: query.country_code.word(), digits: &digits })? {
        CarrierAnswer::Offers(offers) => {
            let mut shown = Vec::new();
            for offer in &offers {
                // The simulated carrier, and one that serves several installations, may offer numbers taken here.
                if root::owner(ctx.account(), &offer.number)?.is_none() {
                    shown.push(Available::of(offer));
                }
            }
            Ok(Reply::ok(&data(&shown)))
        }
        _ => Err(Refusal::BadGateway("The carrier did not answer the search.".into()).into()),
    }
}

fn numbers(ctx: &Ctx<'_>, facet: &Facet) -> Result<Vec<Number>, Stop> {
    let rows = ctx.account().list(Kind::Number, facet, PLAN_ROWS_MAX)?;
    rows.into_iter().map(|(count, row)| Ok(Number::of(ctx.id(count), &NumberRow::read(&row.public)?))).collect()
}

/// `GET /user/phone-numbers/all`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&data(&numbers(ctx, &Facet::ALL)?)))
}

/// `GET /user/phone-numbers`: those that can send messages.
pub fn sms_capable(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&numbers(ctx, &facet_of_sms())?))
}

/// Returns the number in the path, or a 404 with the message `missing`.
pub(super) fn named(ctx: &Ctx<'_>, missing: &'static str) -> Result<(u32, Row, NumberRow), Halt> {
    let count = ctx.param(0).ok_or(Refusal::NotFound(missing))?;
    let row = ctx.account().find(Kind::Number, count)?.ok_or(Refusal::NotFound(missing))?;
    let stored = NumberRow::read(&row.public)?;
    ctx.unread()?;
    Ok((count, row, stored))
}

/// `GET /user/phone-numbers/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (count, _, stored) = named(ctx, MISSING)?;
    Ok(Reply::ok(&data(&Number::of(ctx.id(count), &stored))))
}

/// `PUT /user/phone-numbers/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let (count, row, mut stored) = named(ctx, MISSING)?;
    let rename: Rename = ctx.update(json::members(&Rename { nickname: stored.nickname.clone() }))?;
    ctx.if_match(&Raw(&shown(ctx.id(count), &stored)))?;
    if let Some(trunk) = &mut stored.trunk {
        trunk.nickname.clone_from(&rename.nickname);
        trunk.updated_at = Some(Iso(ctx.now));
    }
    stored.nickname = rename.nickname;
    ctx.account().replace(Kind::Number, count, &row, &stored.row(&row.private))?;
    Ok(Reply::ok(&message_data("Phone number updated successfully.", &Number::of(ctx.id(count), &stored))))
}
