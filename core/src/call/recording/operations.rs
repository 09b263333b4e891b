//! Playing a recording by its link, and deleting it.

use alloc::format;

use super::link::is_signed;
use super::range::{WantedRange, wanted};
use super::rows::{CallObject, ObjectState, RecordingAccount};
use super::sweep::plan;
use crate::account::profile::Profile;
use crate::call::CallRow;
use crate::call::operations::MISSING as NO_CALL;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::id;
use crate::key::{Kind, Space};
use crate::object::ObjectRead;
use crate::store::Scope;
use crate::time::Day;

const MISSING: &str = "Recording not found";

/// `GET /recordings/{call}/{day}/{signature}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let (account, count) = linked(ctx)?;
    let is_open = Profile::load(account)?.is_some_and(|profile| !profile.state.suspended);
    let call = account.find(Kind::Call, count)?.filter(|_| is_open);
    let object = if call.is_some() { CallObject::kept(account, count)? } else { None };
    let object = object.ok_or(Refusal::NotFound(MISSING))?;
    if !ctx.setup.config.keeps_recordings {
        return Err(Refusal::NotKept.into());
    }
    part(ctx, account, &object)
}

/// Returns the call that the link of a request is for, by account and count; 403 unless the link is signed and of a day
/// that is not over.
fn linked<'c>(ctx: &'c Ctx<'_>) -> Result<(Scope<'c>, u32), Halt> {
    let [id, day, signature] = ctx.params else { unreachable!("the path has three parameters") };
    let (Some(id), Some(day)) = (id::parse_any(id), Day::parse(day)) else { return Err(Refusal::Link.into()) };
    let (number, count) = id::split(id);
    let account = ctx.space_of(number);
    let own = RecordingAccount::load(account)?.ok_or(Refusal::Link)?;
    if !is_signed(&own.signing_key()?, id, day, signature) || day < ctx.now.day() {
        return Err(Refusal::Link.into());
    }
    Ok((account, count))
}

/// Replies with what a request wants of an object. Its tag is that of the upload: an object never changes.
fn part(ctx: &Ctx<'_>, account: Scope<'_>, object: &CallObject) -> Handled {
    let (bytes, tag) = (u64::from(object.row.bytes), format!("\"{:016x}\"", object.upload));
    let is_same = ctx.request.header("if-range").is_none_or(|named| named == tag);
    let range = match wanted(ctx.request.header("range").filter(|_| is_same), bytes) {
        WantedRange::Whole => 0..bytes,
        WantedRange::Part(range) => range,
        WantedRange::Outside => return Err(Refusal::Range(bytes).into()),
    };
    let Space::Account(number) = account.space() else { return Err(Refusal::NotFound(MISSING).into()) };
    let key = if object.row.sealed { Some(object.key()?) } else { None };
    let (first, length) = (range.start, range.end - range.start);
    let name = object.name(account.space());
    let reply = Reply::object(ObjectRead { name, key, account: number, bytes, range })
        .header("content-type", object.row.media.word())
        .header("content-length", format!("{length}"))
        .header("accept-ranges", "bytes")
        .header("etag", tag)
        .header("cache-control", "no-store");
    if reply.status == 200 {
        return Ok(reply);
    }
    Ok(reply.header("content-range", format!("bytes {first}-{}/{bytes}", first + length - 1)))
}

/// `DELETE /user/calls/{id}/recording`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let (count, _) = ctx.named(Kind::Call, NO_CALL)?;
    let account = ctx.account();
    let mut call = CallRow::find(account, count)?.ok_or(Refusal::NotFound(NO_CALL))?;
    if call.status().is_running() {
        return Err(Refusal::Conflict("The call is still running.".into()).into());
    }
    call.shown.recording_url.take().ok_or(Refusal::NotFound(MISSING))?;
    call.live.unrecorded = Some(true);
    call.save(account, ctx.now)?;
    if let Some(mut object) = CallObject::kept(account, count)? {
        object.row.state = ObjectState::Dropped;
        object.save(account)?;
        plan(account, count, ctx.now)?;
    }
    Ok(Reply::ok(&message("Recording deleted successfully.")))
}
