//! Claiming calls: each goes to one engine, and no account gets more at once than its plan allows.

use alloc::vec::Vec;

use super::compiled::{self, Compiled};
use super::tables::Claim;
use super::{Engine, attached};
use crate::account::profile::Profile;
use crate::account::root;
use crate::call::ending::{by_service, over};
use crate::call::states::CallEvent;
use crate::call::tables::CallStatus;
use crate::call::{Stored, facet_of_engaged};
use crate::campaign;
use crate::catalogue::Mode;
use crate::collection::{Facet, count};
use crate::http::ctx::Ctx;
use crate::http::refusal::Halt;
use crate::http::reply::{Reply, Shape};
use crate::http::route::Handled;
use crate::job::{self, Task};
use crate::json::{Array, Members, Object, Raw, Value};
use crate::key::{self, Kind, Space, Topic};
use crate::limits::{CLAIM_ACCOUNTS_MAX, CLAIMED_BYTES_MAX, CLAIMED_MAX, LEASE_SECONDS};
use crate::store::Scope;
use crate::suppression;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// Why a call fails whose assistant is larger than an engine gets it (API.md, The engine side).
pub const TOO_LARGE: &str = "assistant_too_large";

/// `POST /engine/claim`
pub fn claim(ctx: &Ctx<'_>) -> Handled {
    let body: Claim = ctx.body()?;
    let engine = ctx.engine();
    attached::note(ctx.root(), engine.token, ctx.now)?;
    let claimed = if yields(ctx, engine)? { Vec::new() } else { take(ctx, engine, &body)? };
    if claimed.is_empty() && body.wait > 0 && !ctx.elapsed() {
        return Err(Halt::Park(Topic::Waiting, ctx.now.plus_seconds(body.wait.into())));
    }
    Ok(Reply::ok(&Shape(|o: &mut Object<'_>| {
        let mut array = Array::open(o.name("calls"));
        claimed.iter().for_each(|entry| array.entry(Raw(entry)));
        array.close();
    })))
}

/// The engine inside the program leaves calls to others once there are any.
fn yields(ctx: &Ctx<'_>, engine: &Engine) -> Result<bool, Stop> {
    let yields = engine.token == 0 && ctx.service.config.engine.is_some_and(|engine| engine.yields);
    Ok(yields && count(ctx.root(), Kind::EngineToken, &Facet::ALL)? > 0)
}

/// Goes round the accounts whose calls wait, from the one after the last that got an engine.
fn take(ctx: &Ctx<'_>, engine: &Engine, body: &Claim) -> Result<Vec<Vec<u8>>, Stop> {
    let root = ctx.root();
    let last = root.get(key::cursor())?.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)));
    let first = last.map_or(0, |account| account.wrapping_add(1));
    let most = (body.capacity as usize).min(CLAIMED_MAX);
    let (mut from, mut wrapped, mut claimed) = (first, first == 0, Vec::new());
    for _ in 0..CLAIM_ACCOUNTS_MAX {
        let next = root.scan(key::waiting_from(from), Order::Ascending, 1)?;
        let account = next.first().and_then(|(at, _)| key::read_waiting(at)).map(|(account, ..)| account);
        match account {
            Some(account) if !wrapped || account < first || first == 0 => {
                let before = claimed.len();
                take_from(ctx, engine, body, account, most, &mut claimed)?;
                if claimed.len() > before {
                    root.put(key::cursor(), account.to_be_bytes().to_vec())?;
                }
                let Some(after) = account.checked_add(1).filter(|_| claimed.len() < most) else { break };
                from = after;
            }
            None if !wrapped => (from, wrapped) = (0, true),
            _ => break,
        }
    }
    Ok(claimed)
}

fn take_from(
    ctx: &Ctx<'_>,
    engine: &Engine,
    body: &Claim,
    number: u32,
    most: usize,
    claimed: &mut Vec<Vec<u8>>,
) -> Result<(), Stop> {
    let root = ctx.root();
    let account = root::space_of(root, number);
    if !engine.serves(number) || Profile::of(account)?.state.suspended {
        return Ok(());
    }
    let allowed = u64::from(root::plan(account)?.parallel_calls);
    let mut room = allowed.saturating_sub(count(account, Kind::Call, &facet_of_engaged())?);
    let modes =
        if body.modes.is_empty() { &[Mode::Pipeline, Mode::Multimodal, Mode::Dualplex][..] } else { &body.modes };
    for mode in modes {
        let waiting = root.scan(key::waiting_in(number, *mode as u8), Order::Ascending, most - claimed.len())?;
        for (at, _) in waiting {
            let bytes: usize = claimed.iter().map(Vec::len).sum();
            if room == 0 || claimed.len() == most || bytes >= CLAIMED_BYTES_MAX {
                return Ok(());
            }
            let (_, _, call) = key::read_waiting(&at).ok_or(Stop::Corrupt("a waiting call has an unknown form"))?;
            root.delete(at)?;
            if let Some(entry) = give(ctx, engine, body, account, call)? {
                claimed.push(entry);
                room -= 1;
            }
        }
    }
    Ok(())
}

/// Gives a waiting call to an engine, unless there is a reason by now not to place it.
fn give(ctx: &Ctx<'_>, engine: &Engine, body: &Claim, account: Scope<'_>, count: u32) -> Result<Option<Vec<u8>>, Stop> {
    let Some(mut call) = Stored::find(account, count)?.filter(|call| call.status().is_ok_and(CallStatus::is_running))
    else {
        return Ok(None);
    };
    if let Some(reason) = stopped(ctx, account, &call)? {
        over(ctx.service, account, &mut call, CallEvent::Fail, &by_service(reason), ctx.now)?;
        return Ok(None);
    }
    let Some(compiled) = compiled::compile(ctx, account, &call)? else {
        over(ctx.service, account, &mut call, CallEvent::Fail, &by_service(TOO_LARGE), ctx.now)?;
        return Ok(None);
    };
    let name = Members(Vec::from([("engine".into(), Value::Text(body.engine.clone()))]));
    lend(ctx, engine, account, &mut call, &name)?;
    entry(account, &mut call, &compiled, ctx.now).map(Some)
}

/// Why a waiting call is not placed after all.
fn stopped(ctx: &Ctx<'_>, account: Scope<'_>, call: &Stored) -> Result<Option<&'static str>, Stop> {
    if suppression::has(account, call.text("client_phone_number").unwrap_or_default())? {
        return Ok(Some("do-not-call"));
    }
    // What is kept of a deleted assistant is for calls that it began.
    if account.find(Kind::Assistant, call.assistant())?.is_none() {
        return Ok(Some("assistant_deleted"));
    }
    campaign::may_dial(account, call, ctx.now)
}

/// Lends a call to an engine.
pub fn lend(ctx: &Ctx<'_>, engine: &Engine, account: Scope<'_>, call: &mut Stored, said: &Members) -> Result<(), Stop> {
    let lease = ctx.now.plus_seconds(LEASE_SECONDS);
    call.live.engine = Some(engine.token);
    call.live.lease = Some(lease);
    // From here on the engine has its time to dial, however long the call waited for it.
    call.live.last_at = call.live.last_at.max(ctx.now);
    call.note(account, call.live.last_at, "claimed", said)?;
    call.save(account, ctx.now)?;
    job::add(account, lease, Task::Watch(call.count))
}

/// What an engine gets of a call; the call tells what it does not get.
pub fn entry(account: Scope<'_>, call: &mut Stored, compiled: &Compiled, now: Timestamp) -> Result<Vec<u8>, Stop> {
    debug_assert!(account.space() != Space::Root, "a call belongs to an account");
    if compiled.is_cut {
        let settings = Value::List([Value::Text("knowledgebase".into())].into());
        let said = Members([("settings".into(), settings)].into());
        call.note(account, call.live.last_at.max(now), "unsupported", &said)?;
        call.save(account, now)?;
    }
    let mut bytes = Vec::with_capacity(compiled.json.len() + 2_048);
    let mut object = Object::open(&mut bytes);
    object.member("call", &call.shown).member("assistant", Raw(&compiled.json));
    object.member("lease", call.live.lease.map(crate::time::Timestamp::iso));
    object.close();
    Ok(bytes)
}
