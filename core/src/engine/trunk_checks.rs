//! Checks of trunks (docs/api.md, Checking a trunk): a user asks, an engine that speaks SIP tries the trunk, and its answer
//! is the user's. What is under way stands in [`Space::Memory`](crate::key::Space::Memory): nobody misses it after a
//! restart.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::{AskedTrunkCheck, Claim};
use super::telephony;
use crate::account::attached;
use crate::admin::engine_tokens;
use crate::http::caller::Engine;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, data, message};
use crate::http::route::Handled;
use crate::id;
use crate::key::{self, Topic};
use crate::limits::{TRUNK_CHECK_SECONDS, TRUNK_CHECK_STEPS_MAX, TRUNK_CHECKS_MAX, TRUNK_CHECKS_OF_ACCOUNT_MAX};
use crate::number::{self, named_trunk};
use crate::record::{Rest, Stored, boolean, choice, count, list, micros, text};
use crate::root;
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use crate::{choice, json::ToJson, record};

const NO_CHECKER: &str = "No voice engine that checks SIP trunks is attached.";
const RUNNING: &str = "The trunk is being checked.";
const LATE: &str = "The engine has not answered in time.";
const MISSING: &str = "Check not found";
const TAKEN: &str = "The steps of the check were taken.";

choice! {
    /// Step of a trunk's check.
    pub enum TrunkCheckName {
        /// The trunk's address has an IP address.
        Resolve = "resolve",
        /// Somebody answers there, by the trunk's transport.
        Reach = "reach",
        /// The trunk takes the user name and password.
        Register = "register",
    }
}

record! {
    /// A step of a trunk's check.
    pub struct TrunkCheckStep stored as "a check of a trunk" {
        /// What was tried.
        name: TrunkCheckName = choice::<TrunkCheckName>().required(),
        /// Whether it worked; one that was not tried has not.
        ok: bool = boolean().required(),
        /// What came of it, a sentence for people.
        detail: Option<String> = text(1, 255),
    }
}

record! {
    /// What came of a trunk's check.
    pub struct TrunkCheckSteps {
        /// The steps in their order; a trunk without a registration has no step `register`.
        steps: Vec<TrunkCheckStep> = list::<TrunkCheckStep>(TRUNK_CHECK_STEPS_MAX).filled().required(),
    }
}

record! {
    /// A check that is under way.
    pub struct TrunkCheck stored as "a check of a trunk" {
        /// Id of the check.
        id: String = text(0, 36).required(),
        /// Until when its answer is waited for.
        until: Timestamp = micros().required(),
        /// Token of the engine that carries it out; 0 while there is none.
        engine: u32 = count().or_int(0),
        /// What came of it; empty before.
        steps: Vec<TrunkCheckStep> = list::<TrunkCheckStep>(TRUNK_CHECK_STEPS_MAX),
    }
}

/// `POST /user/phone-numbers/sip-trunks/{id}/check`
pub fn check_trunk(ctx: &Ctx<'_>) -> Handled {
    let trunk = named_trunk(ctx)?;
    if !ctx.has_waited() {
        begin(ctx, trunk)?;
        // The check is committed before it is waited for.
        return Err(Halt::Yield);
    }
    let (memory, at) = (root::memory(ctx.root()), key::trunk_check(ctx.caller().account, trunk));
    let known = memory.get(at.clone())?.map(|bytes| TrunkCheck::read(&bytes)).transpose()?;
    let Some(check) = known.filter(|check| check.id == ctx.uuid("check")) else { return Err(late()) };
    if check.steps.is_empty() {
        let is_over = ctx.has_elapsed() || check.until <= ctx.now;
        return Err(if is_over { late() } else { Halt::Park(Topic::Waiting, check.until) });
    }
    memory.delete(at)?;
    Ok(Reply::ok(&data(&TrunkCheckSteps { steps: check.steps })))
}

fn late() -> Halt {
    Refusal::GatewayTimeout(LATE.into()).into()
}

/// Asks the engines for the check of a trunk.
fn begin(ctx: &Ctx<'_>, trunk: u32) -> Result<(), Halt> {
    let own = ctx.caller().account;
    if !has_checker(ctx, own)? {
        return Err(Refusal::NoEngine(NO_CHECKER).into());
    }
    let memory = root::memory(ctx.root());
    let (mut all, mut of_account) = (0, 0);
    for ((account, count), check) in all_under_way(ctx)? {
        if check.until <= ctx.now {
            memory.delete(key::trunk_check(account, count))?;
            continue;
        }
        if (account, count) == (own, trunk) {
            return Err(Refusal::Conflict(RUNNING.into()).into());
        }
        all += 1;
        of_account += usize::from(account == own);
    }
    if of_account >= TRUNK_CHECKS_OF_ACCOUNT_MAX {
        return Err(Refusal::ShareUsed(TRUNK_CHECK_SECONDS).into());
    }
    if all >= TRUNK_CHECKS_MAX {
        return Err(Refusal::Busy(TRUNK_CHECK_SECONDS).into());
    }
    let check = TrunkCheck {
        id: ctx.uuid("check"),
        until: ctx.now.plus_seconds(TRUNK_CHECK_SECONDS),
        engine: 0,
        steps: Vec::new(),
        rest: Rest::default(),
    };
    Ok(memory.put(key::trunk_check(own, trunk), check.to_json())?)
}

/// Returns whether an engine is attached that checks trunks of an account.
fn has_checker(ctx: &Ctx<'_>, account: u32) -> Result<bool, Stop> {
    for (token, engine) in attached::all_heard_of(ctx.root())? {
        if engine.checks && engine.is_attached(ctx.now) {
            let its = engine_tokens::engine_of(ctx.root(), token)?;
            if its.is_some_and(|its| its.telephony && its.serves(account)) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Account and count of a trunk.
type TrunkPlace = (u32, u32);

/// Returns all checks and whose they are.
fn all_under_way(ctx: &Ctx<'_>) -> Result<Vec<(TrunkPlace, TrunkCheck)>, Stop> {
    let rows = root::memory(ctx.root()).scan(key::trunk_checks(), Order::Ascending, TRUNK_CHECKS_MAX)?;
    rows.iter()
        .map(|(at, bytes)| Ok((key::read_trunk_check(at).unwrap_or_default(), TrunkCheck::read(bytes)?)))
        .collect()
}

/// Hands those checks to an engine that no other has, if it is one that checks trunks.
pub fn take(ctx: &Ctx<'_>, engine: &Engine, body: &Claim) -> Result<Vec<AskedTrunkCheck>, Stop> {
    let mut taken = Vec::new();
    if !body.checks || !engine.telephony {
        return Ok(taken);
    }
    let filter = body.filter.as_ref();
    let is_wanted = |ids: &[u64], id: u64| ids.is_empty() || ids.contains(&id);
    for ((number, count), mut check) in all_under_way(ctx)? {
        let account = root::space_of(ctx.root(), number);
        let accounts = filter.is_none_or(|filter| is_wanted(&filter.account_ids, id::user(number)));
        let trunks = filter.is_none_or(|filter| is_wanted(&filter.trunk_ids, id::of(account.space(), count)));
        if check.engine != 0 || check.until <= ctx.now || !engine.serves(number) || !accounts || !trunks {
            continue;
        }
        let Some((row, stored)) = number::find(account, count)? else { continue };
        let Some(trunk) = &stored.trunk else { continue };
        taken.push(AskedTrunkCheck {
            id: check.id.clone(),
            trunk: telephony::sip(account, count, trunk, Some(&row.private)),
        });
        check.engine = engine.token;
        root::memory(ctx.root()).put(key::trunk_check(number, count), check.to_json())?;
    }
    Ok(taken)
}

/// `POST /engine/checks/{id}`
pub fn answer_check(ctx: &Ctx<'_>) -> Handled {
    let TrunkCheckSteps { steps } = ctx.body()?;
    let id = ctx.params.first().copied().unwrap_or_default();
    let own = |check: &TrunkCheck| check.id == id && check.engine == ctx.engine().token && check.until > ctx.now;
    let found = all_under_way(ctx)?.into_iter().find(|(_, check)| own(check));
    let ((account, trunk), mut check) = found.ok_or(Refusal::NotFound(MISSING))?;
    check.steps = steps;
    root::memory(ctx.root()).put(key::trunk_check(account, trunk), check.to_json())?;
    Ok(Reply::ok(&message(TAKEN)))
}
