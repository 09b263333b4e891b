//! Claiming calls: each goes to one engine, and no account gets more at once than its plan allows.
//!
//! To hand out a call means to compile its assistant, and that may fail to end: the step stops, panics or takes the
//! process with it. A step that stops is rolled back, and the claim goes on with other calls; the try is counted under
//! the queue key of the call. A call with a counted try, and any call on a careful host, is handed out alone, in a step
//! that begins once its count is committed; after [`CLAIM_TRIES_MAX`] tries it fails.

use alloc::string::String;
use alloc::vec::Vec;

use super::compiled::{self, Compiled};
use super::tables::{Claim, ClaimedBy, Unsupported};
use super::{telephony, trunk_checks};
use crate::account::attached::EngineSaying;
use crate::account::profile::Profile;
use crate::account::{attached, plan};
use crate::call::command::{self, Command};
use crate::call::ending::end_call;
use crate::call::reasons::EndedReason;
use crate::call::states::CallEvent;
use crate::call::{CallRow, facet_of_engaged, lease, plan};
use crate::campaign;
use crate::catalogue::Mode;
use crate::collection::{Facet, count};
use crate::http::caller::Engine;
use crate::http::ctx::Ctx;
use crate::http::refusal::Halt;
use crate::http::reply::{ObjectFn, Reply};
use crate::http::route::Handled;
use crate::id;
use crate::json::{Array, Object, Raw, ToJson};
use crate::key::{self, Key, Kind, Space, Topic};
use crate::limits::{
    CLAIM_ACCOUNTS_MAX, CLAIM_LOOKS_MAX, CLAIM_TRIES_MAX, CLAIM_TRY_SECONDS, CLAIMED_BYTES_MAX, CLAIMED_MAX,
    COMMANDED_CALLS_MAX,
};
use crate::number;
use crate::root;
use crate::store::Scope;
use crate::suppression;
use crate::time::Timestamp;
use crate::view::{Order, Stop};

/// `POST /engine/claim`
pub fn claim(ctx: &Ctx<'_>) -> Handled {
    let body: Claim = ctx.body()?;
    telephony::shows_credentials(ctx)?;
    let engine = ctx.engine();
    attached::note(ctx.root(), engine.token, &body.engine, body.protocol, EngineSaying::Claim(body.checks))?;
    let wants_none = body.capacity == 0 || attached::is_drained(ctx.root(), engine.token, &body.engine)?;
    let claimed = if wants_none || yields(ctx, engine)? { Claimed::default() } else { take(ctx, engine, &body)? };
    if let Claimed { suspect: Some(Suspect { at, tries }), .. } = &claimed
        && claimed.calls.is_empty()
    {
        ctx.root().put(at.clone(), Mark { tries: tries + 1, at: ctx.now, by: name_of(ctx) }.to_bytes())?;
        return Err(Halt::Yield);
    }
    let commands = if body.protocol >= 2 { commands(ctx, engine, &body)? } else { Vec::new() };
    let checks = trunk_checks::take(ctx, engine, &body)?;
    let has_nothing = claimed.calls.is_empty() && commands.is_empty() && checks.is_empty();
    if has_nothing && body.wait > 0 && !ctx.has_waited() {
        // A parked exchange is not committed: calls that ended instead of being handed out would wait as long as the
        // claim.
        if claimed.is_settled {
            return Err(Halt::Yield);
        }
        return Err(Halt::Park(Topic::Waiting, ctx.now.plus_seconds(body.wait.into())));
    }
    let claimed = claimed.calls;
    Ok(Reply::ok(&ObjectFn(|o: &mut Object<'_>| {
        let mut array = Array::open(o.name("calls"));
        claimed.iter().for_each(|entry| array.entry(Raw(entry)));
        array.close();
        o.member("commands", &commands);
        o.member("checks", &checks);
    }))
    .header("cache-control", "no-store"))
}

/// Returns the commands of calls that the engine has, of which no claim has told it yet.
fn commands(ctx: &Ctx<'_>, engine: &Engine, body: &Claim) -> Result<Vec<Command>, Stop> {
    let mut commands = Vec::new();
    for (at, _) in ctx.root().scan(key::commanded_of(engine.token), Order::Ascending, COMMANDED_CALLS_MAX)? {
        let Some((number, count)) = key::read_commanded(&at) else { continue };
        let account = root::space_of(ctx.root(), number);
        match CallRow::find(account, count)?.filter(|call| call.live.engine == Some(engine.token)) {
            // Another engine with the same token has the call.
            Some(call) if call.live.engine_name.as_ref().is_some_and(|name| *name != body.engine) => continue,
            Some(call) => commands.extend(command::pending(account, &call, ctx.now)),
            None => {}
        }
        ctx.root().delete(at)?;
        if commands.len() >= CLAIMED_MAX {
            break;
        }
    }
    Ok(commands)
}

/// Returns whether the built-in engine leaves all calls to others: it does so once there is an engine token.
fn yields(ctx: &Ctx<'_>, engine: &Engine) -> Result<bool, Stop> {
    let yields = engine.token == 0 && ctx.setup.config.engine.is_some_and(|engine| engine.yields);
    Ok(yields && count(ctx.root(), Kind::EngineToken, &Facet::ALL)? > 0)
}

/// Result of a claim.
#[derive(Default)]
struct Claimed {
    calls: Vec<Vec<u8>>,
    /// A call that must be handed out alone.
    suspect: Option<Suspect>,
    /// Whether a queued call was settled without being handed out: it ended, or its try was counted.
    is_settled: bool,
}

struct Suspect {
    at: Key,
    tries: u8,
}

impl Claimed {
    fn is_full(&self, most: usize) -> bool {
        let bytes: usize = self.calls.iter().map(Vec::len).sum();
        self.calls.len() == most || bytes >= CLAIMED_BYTES_MAX
    }
}

/// Value under the key of a queued call that was tried and not handed out.
struct Mark {
    tries: u8,
    /// Time of the last try.
    at: Timestamp,
    /// Name of the claim that tries it now; empty if none does.
    by: String,
}

impl Mark {
    fn to_bytes(&self) -> Vec<u8> {
        [&[self.tries][..], &self.at.micros().to_be_bytes(), self.by.as_bytes()].concat()
    }

    /// Parses a value; `None` for a call that was never tried, and for an unreadable value.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (tries, rest) = bytes.split_first()?;
        let (at, by) = rest.split_first_chunk()?;
        let at = Timestamp::from_micros(u64::from_be_bytes(*at));
        Some(Self { tries: *tries, at, by: String::from_utf8_lossy(by).into_owned() })
    }
}

/// Returns the name under which a claim marks a call, the same in each of its runs.
fn name_of(ctx: &Ctx<'_>) -> String {
    ctx.uuid("claim")
}

/// Visits the accounts with queued calls in turn, starting after the last one that was served.
fn take(ctx: &Ctx<'_>, engine: &Engine, body: &Claim) -> Result<Claimed, Stop> {
    let root = ctx.root();
    let (memory, cursor) = (root::memory(root), key::cursor());
    let last = memory.get(cursor.clone())?.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?)));
    let first = last.map_or(0, |account| account.wrapping_add(1));
    let most = (body.capacity as usize).min(CLAIMED_MAX);
    let (mut from, mut wrapped, mut claimed) = (first, first == 0, Claimed::default());
    for _ in 0..CLAIM_ACCOUNTS_MAX {
        let next = root.scan(key::waiting_from(from), Order::Ascending, 1)?;
        let account = next.first().and_then(|(at, _)| key::read_waiting(at)).map(|(account, ..)| account);
        match account {
            Some(account) if !wrapped || account < first || first == 0 => {
                let before = claimed.calls.len();
                take_from(ctx, engine, body, account, most, &mut claimed)?;
                if claimed.calls.len() > before {
                    memory.put(cursor.clone(), account.to_be_bytes().to_vec())?;
                }
                let Some(after) = account.checked_add(1).filter(|_| !claimed.is_full(most)) else { break };
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
    claimed: &mut Claimed,
) -> Result<(), Stop> {
    let root = ctx.root();
    let account = root::space_of(root, number);
    let accounts = body.filter.as_ref().map_or(&[][..], |filter| &filter.account_ids);
    let is_wanted = accounts.is_empty() || accounts.contains(&id::user(number));
    if !engine.serves(number) || !is_wanted || Profile::of(account)?.state.suspended {
        return Ok(());
    }
    let allowed = u64::from(plan::of(account)?.parallel_calls);
    let mut room = allowed.saturating_sub(count(account, Kind::Call, &facet_of_engaged())?);
    let modes =
        if body.modes.is_empty() { &[Mode::Pipeline, Mode::Multimodal, Mode::Dualplex][..] } else { &body.modes };
    for mode in modes {
        let (mut behind, mut looked) = (key::waiting_in(number, *mode as u8), 0);
        while looked < CLAIM_LOOKS_MAX {
            let waiting = root.scan(behind.clone(), Order::Ascending, most)?;
            let Some((last, _)) = waiting.last() else { break };
            behind = key::waiting_after(last);
            looked += waiting.len();
            for (at, mark) in waiting {
                if room == 0 || claimed.is_full(most) {
                    return Ok(());
                }
                let before = claimed.calls.len();
                look_at(ctx, engine, body, account, (at, &mark), claimed)?;
                room -= (claimed.calls.len() - before) as u64;
            }
        }
    }
    Ok(())
}

/// Hands out a queued call, or notes that it must be handed out alone.
fn look_at(
    ctx: &Ctx<'_>,
    engine: &Engine,
    body: &Claim,
    account: Scope<'_>,
    (at, mark): (Key, &[u8]),
    claimed: &mut Claimed,
) -> Result<(), Stop> {
    let root = ctx.root();
    let Some((_, _, call)) = key::read_waiting(&at) else { return root.delete(at) };
    let mark = Mark::read(mark);
    let (tries, is_marked) = mark.as_ref().map_or((0, false), |mark| (mark.tries, true));
    if mark.as_ref().is_none_or(|mark| mark.by != name_of(ctx)) {
        // Another claim may be about to hand it out.
        if mark.is_some_and(|mark| ctx.now < mark.at.plus_seconds(CLAIM_TRY_SECONDS)) {
            return Ok(());
        }
        if tries >= CLAIM_TRIES_MAX {
            claimed.is_settled = true;
            return lose(ctx, account, call, at);
        }
        if tries > 0 || ctx.careful {
            // One exchange marks one call only.
            if !ctx.has_waited() && claimed.suspect.as_ref().is_none_or(|suspect| tries < suspect.tries) {
                claimed.suspect = Some(Suspect { at, tries });
            }
            return Ok(());
        }
    }
    if !is_wanted(engine, body, account, call, is_marked)? {
        return Ok(());
    }
    root.delete(at.clone())?;
    match root.attempt(|| give(ctx, engine, body, account, call))? {
        Ok(Some(entry)) => claimed.calls.push(entry),
        Ok(None) => claimed.is_settled = true,
        Err(_) => {
            claimed.is_settled = true;
            root.put(at, Mark { tries: tries.max(1), at: ctx.now, by: String::new() }.to_bytes())?;
        }
    }
    Ok(())
}

/// Returns whether the engine wants a queued call: its filter does, and it has not given the call back before. One that
/// cannot be read is wanted, so that the claim settles it.
fn is_wanted(engine: &Engine, body: &Claim, account: Scope<'_>, count: u32, is_marked: bool) -> Result<bool, Stop> {
    let (types, trunks) = body.filter.as_ref().map_or((&[][..], &[][..]), |filter| (&filter.types, &filter.trunk_ids));
    if types.is_empty() && trunks.is_empty() && !is_marked {
        return Ok(true);
    }
    let party = engine.party(&body.engine);
    let wants = account.attempt(|| {
        let Some(call) = CallRow::find(account, count)? else { return Ok(true) };
        let fits = types.is_empty() || types.contains(&call.shown.r#type);
        if fits && !trunks.is_empty() {
            let trunk = telephony::trunk_of(account, &call)?.map(|count| id::of(account.space(), count));
            if trunk.is_none_or(|trunk| !trunks.contains(&trunk)) {
                return Ok(false);
            }
        }
        Ok(fits && !call.live.refused_by.contains(&party))
    })?;
    Ok(wants.unwrap_or(true))
}

/// Ends a call that cannot be handed out. One that cannot even be read only leaves the queue; its `Watch` job reports
/// it.
fn lose(ctx: &Ctx<'_>, account: Scope<'_>, count: u32, at: Key) -> Result<(), Stop> {
    ctx.root().delete(at)?;
    let _ = account.attempt(|| match CallRow::find(account, count)? {
        Some(mut call) => end_call(account, &mut call, CallEvent::Fail, EndedReason::InternalError, ctx.now),
        None => Ok(false),
    })?;
    Ok(())
}

/// Hands a queued call to an engine; `None` if the call ended instead, for a reason that has come up since.
fn give(ctx: &Ctx<'_>, engine: &Engine, body: &Claim, account: Scope<'_>, count: u32) -> Result<Option<Vec<u8>>, Stop> {
    let Some(mut call) = CallRow::find(account, count)?.filter(|call| call.status().is_running()) else {
        return Ok(None);
    };
    if let Some(reason) = stopped(ctx, account, &call)? {
        end_call(account, &mut call, CallEvent::Fail, reason, ctx.now)?;
        return Ok(None);
    }
    let Some(compiled) = compiled::compile(ctx, account, &call)? else {
        end_call(account, &mut call, CallEvent::Fail, EndedReason::AssistantTooLarge, ctx.now)?;
        return Ok(None);
    };
    call.live.engine_name = Some(body.engine.clone());
    call.live.protocol = body.protocol;
    lend(ctx, engine, account, &mut call, &ClaimedBy { engine: body.engine.clone() })?;
    entry(ctx, account, &mut call, &compiled).map(Some)
}

/// Returns why a queued call is not placed after all, if so.
fn stopped(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow) -> Result<Option<EndedReason>, Stop> {
    if suppression::has(account, call.shown.client_phone_number.as_deref().unwrap_or_default())? {
        return Ok(Some(EndedReason::DoNotCall));
    }
    // The copy kept of a deleted assistant serves only calls that have begun.
    if account.find(Kind::Assistant, call.assistant())?.is_none() {
        return Ok(Some(EndedReason::AssistantDeleted));
    }
    if let Some(caller_id) = call.shown.assistant_phone_number.as_deref()
        && number::is_unverified(account, caller_id)?
    {
        return Ok(Some(EndedReason::CallerIdUnverified));
    }
    campaign::may_dial(account, call, ctx.now)
}

/// Leases a call to an engine, and records the event `claimed` with the members `said`.
pub fn lend(
    ctx: &Ctx<'_>,
    engine: &Engine,
    account: Scope<'_>,
    call: &mut CallRow,
    said: &impl ToJson,
) -> Result<(), Stop> {
    call.live.engine = Some(engine.token);
    // The time to dial starts here, however long the call was queued.
    call.live.last_at = call.live.last_at.max(ctx.now);
    call.note(account, call.live.last_at, "claimed", said)?;
    call.save(account, ctx.now)?;
    lease::renew(account, call.count, engine.token, ctx.now)?;
    plan(account, call)
}

/// Builds the entry of a call for its engine; what was cut is recorded as an event of the call.
pub fn entry(ctx: &Ctx<'_>, account: Scope<'_>, call: &mut CallRow, compiled: &Compiled) -> Result<Vec<u8>, Stop> {
    let now = ctx.now;
    debug_assert!(account.space() != Space::Root, "a call belongs to an account");
    if compiled.is_cut {
        let said = Unsupported { settings: ["knowledgebase".into()].into() };
        call.note(account, call.live.last_at.max(now), "unsupported", &said)?;
        call.save(account, now)?;
    }
    let mut bytes = Vec::with_capacity(compiled.json.len() + 2_048);
    let mut object = Object::open(&mut bytes);
    object.member("call", &call.shown).member("assistant", Raw(&compiled.json));
    object.member("telephony", telephony::of_call(ctx, account, call)?);
    object.member("lease", lease::of(account, call.count)?.map(|lease| lease.until.iso()));
    object.member("next_seq", call.live.seq + 1);
    object.close();
    Ok(bytes)
}
