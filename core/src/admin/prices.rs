//! The operator's operations on the price list.

use crate::account::prices::Prices;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;

/// `GET /admin/prices`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&data(&Prices::load(ctx.root())?)))
}

/// `PUT /admin/prices`: replaces the list.
pub fn replace(ctx: &Ctx<'_>) -> Handled {
    let prices: Prices = ctx.body()?;
    let wrong = prices.wrong();
    if !wrong.is_empty() {
        return Err(Refusal::Invalid(wrong).into());
    }
    let root = ctx.root();
    ctx.if_match(&data(&Prices::load(root)?))?;
    prices.save(root)?;
    Ok(Reply::ok(&data(&prices)))
}
