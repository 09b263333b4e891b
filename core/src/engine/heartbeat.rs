//! `POST /engine/heartbeat`: renews the leases of an engine's calls, all with one request that writes nothing to disk.

use alloc::vec::Vec;

use super::tables::{Heartbeat, RenewedLeases};
use crate::account::attached::{self, About, EngineSaying};
use crate::call::lease::{self, Lease};
use crate::call::{CallRow, command};
use crate::http::ctx::Ctx;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::limits::LEASE_SECONDS;
use crate::number::registration;
use crate::record::Iso;
use crate::root;
use crate::view::Stop;

/// `POST /engine/heartbeat`
pub fn heartbeat(ctx: &Ctx<'_>) -> Handled {
    let Heartbeat { engine, protocol, calls, version, host, capacity, running, load, legs, web_url, trunks } =
        ctx.body()?;
    let about = About { version, host, capacity, running, load, legs, web_url };
    let token = ctx.engine().token;
    attached::note(ctx.root(), token, &engine, protocol, EngineSaying::Heartbeat(about))?;
    registration::note(ctx, &engine, &trunks)?;
    let (mut lost, mut commands) = (Vec::new(), Vec::new());
    let places: Vec<_> = calls.iter().map(|call| id::split(*call)).collect();
    let leases = lease::of_all(ctx.root(), &places)?;
    // A lease alone says whose the call is, and whether there is more to read.
    let is_known = |lease: &Option<Lease>| lease.is_some_and(|it| it.token == Some(token) && !it.has_commands);
    let unknown = places.iter().zip(&leases).filter(|(_, lease)| !is_known(lease)).map(|(place, _)| *place);
    let mut read = rows(ctx, &unknown.collect::<Vec<_>>())?.into_iter();
    for ((call, (number, count)), lease) in calls.iter().zip(places).zip(leases) {
        let account = root::space_of(ctx.root(), number);
        let mut has_commands = false;
        if !is_known(&lease) {
            let is_own = |call: &CallRow| call.status().is_running() && call.live.engine == Some(token);
            let Some(row) = read.next().flatten().filter(is_own) else {
                lost.push(*call);
                continue;
            };
            let told = command::pending(account, &row, ctx.now);
            has_commands = !told.is_empty();
            commands.extend(told);
        }
        lease::renew_read(account, count, lease, token, has_commands)?;
    }
    Ok(Reply::ok(&RenewedLeases {
        lease: Iso(ctx.now.plus_seconds(LEASE_SECONDS)),
        lost,
        commands,
        drain: attached::is_drained(ctx.root(), token, &engine)?,
    }))
}

/// Reads calls by number of the account and count, in their order: those of an account that stand side by side with one
/// read.
fn rows(ctx: &Ctx<'_>, calls: &[(u32, u32)]) -> Result<Vec<Option<CallRow>>, Stop> {
    let mut found = Vec::with_capacity(calls.len());
    for own in calls.chunk_by(|one, next| one.0 == next.0) {
        let counts: Vec<u32> = own.iter().map(|(_, count)| *count).collect();
        found.extend(CallRow::find_all(root::space_of(ctx.root(), own[0].0), &counts)?);
    }
    Ok(found)
}
