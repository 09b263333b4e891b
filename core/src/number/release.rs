//! Giving a number back: marked in one commit, given back at the carrier, removed in the next.

use super::operations::named;
use super::tables::NumberType;
use super::{MISSING, Stored, remove, shown};
use crate::account::root;
use crate::assistant::stored::{change_all, facet_of_number};
use crate::carrier::{Ask, Told};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Form, Invalid, Refusal};
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::job::{self, Progress, Task, Work};
use crate::json::{Raw, Value};
use crate::key::Kind;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const RELEASING: &str = "The carrier is still releasing this phone number.";
const SILENT: &str = "The carrier did not confirm the release. It is asked again until it does.";
const RELEASED: &str = "Phone number released successfully.";
/// When the carrier is asked again, seconds after the first time.
const AGAIN_SECONDS: u64 = 60;

/// `DELETE /user/phone-numbers/{id}`
pub fn release(ctx: &Ctx<'_>) -> Handled {
    let (count, row, stored) = named(ctx, MISSING)?;
    let account = ctx.account();
    if ctx.answered() == 0 {
        ctx.if_match(&Raw(&shown(ctx.id(count), &stored)))?;
        if stored.releasing {
            return Err(Refusal::Declined(RELEASING.into()).into());
        }
    }
    let Some(carrier_id) = stored.carrier_id.clone().filter(|_| stored.kind == NumberType::Normal) else {
        gone(account, ctx.id(count), count, &row, &stored, ctx.now)?;
        return Ok(Reply::ok(&message(RELEASED)));
    };
    if ctx.answered() == 0 {
        let marked = Stored { releasing: true, ..stored.clone() };
        account.replace(Kind::Number, count, &row, &marked.row(&row.private))?;
        job::add(account, ctx.now.plus_seconds(AGAIN_SECONDS), Task::Release(count))?;
    }
    match ctx.carrier(&Ask::Release(&carrier_id))? {
        Told::Released => {
            let row = account.find(Kind::Number, count)?.unwrap_or(row);
            gone(account, ctx.id(count), count, &row, &stored, ctx.now)?;
            Ok(Reply::ok(&message(RELEASED)))
        }
        _ => Ok(Refusal::BadGateway(SILENT.into()).reply(Form::Error, Invalid::First)),
    }
}

/// Takes a number away: assistants and campaigns lose it, the history of calls keeps it.
fn gone(account: Scope<'_>, id: u64, count: u32, row: &Row, stored: &Stored, now: Timestamp) -> Result<(), Stop> {
    change_all(account, &facet_of_number(count), now, |members| members.set("phone_number_id", Value::Null))?;
    crate::campaign::lose_number(account, id, now)?;
    if stored.kind != NumberType::CallerId {
        root::disown(account, &stored.phone_number)?;
    }
    remove(account, count, row, stored)
}

/// Asks the carrier again for a release that it did not confirm.
pub fn settle(work: &Work<'_>, count: u32) -> Result<Progress, Stop> {
    let Some(row) = work.account.find(Kind::Number, count)? else { return Ok(Progress::Done) };
    let stored = Stored::of(&row.public)?;
    let Some(carrier_id) = stored.carrier_id.as_deref().filter(|_| stored.releasing) else { return Ok(Progress::Done) };
    match work.service.config.carrier.ask(work.asks, &work.seed, &Ask::Release(carrier_id)) {
        None => Ok(Progress::Waits),
        Some(Told::Released) => {
            gone(work.account, crate::id::of(work.account.space(), count), count, &row, &stored, work.now)?;
            Ok(Progress::Done)
        }
        Some(_) => Ok(Progress::Later),
    }
}
