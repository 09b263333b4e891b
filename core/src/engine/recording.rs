//! The recording of a call, from the engine that has it.

use super::report::records;
use super::session;
use crate::call;
use crate::http::ctx::Ctx;
use crate::http::route::Handled;

/// `PUT /engine/calls/{id}/recording`
pub fn recording(ctx: &Ctx<'_>) -> Handled {
    let (account, call) = session::call(ctx)?;
    let records = records(account, &call)?;
    call::recording::take(ctx, account, call, records)
}
