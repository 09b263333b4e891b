//! How the registrations of engines with SIP trunks go: heartbeats tell it, and the trunk's account sees it on the trunk.
//! It stands in [`Space::Memory`]: after a restart the next heartbeat tells it again.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::account::attached;
use crate::http::ctx::Ctx;
use crate::id;
use crate::json::ToJson;
use crate::key::{self, Space};
use crate::limits::{PLAN_ROWS_MAX, TRUNKS_MAX};
use crate::record::{Iso, Rest, Stored, choice, count, id as id_column, iso, micros, text};
use crate::root;
use crate::store::Scope;
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use crate::{choice, record};

choice! {
    /// How a registration with a trunk goes.
    pub enum RegistrationState {
        /// The trunk has taken it: calls come.
        Registered = "registered",
        /// The trunk refuses it, such as for a wrong password.
        Refused = "refused",
        /// The trunk does not answer.
        Unreachable = "unreachable",
    }
}

record! {
    /// A registration with a trunk, as an engine tells it.
    pub struct ToldRegistration {
        /// Id of the trunk.
        id: u64 = id_column().required(),
        /// How it goes.
        state: RegistrationState = choice::<RegistrationState>().required(),
        /// Why it goes so, as the engine or the trunk says it: a sentence for people, without a password.
        detail: Option<String> = text(1, 255),
    }
}

record! {
    /// An engine's registration with a trunk.
    pub struct Registration {
        /// How it goes.
        state: RegistrationState = choice::<RegistrationState>().required(),
        /// Why it goes so, as the engine or the trunk says it.
        detail: Option<String> = text(0, 255),
        /// Since when it is so, UTC.
        since: Iso = iso().required(),
    }
}

record! {
    /// What an engine told of a trunk, and which engine.
    pub struct RegistrationRow stored as "a registration with a trunk" {
        /// How it goes.
        state: RegistrationState = choice::<RegistrationState>().required(),
        /// Why it goes so, as the engine or the trunk says it.
        detail: Option<String> = text(0, 255),
        /// Since when it is so.
        since: Timestamp = micros().required(),
        /// Token of the engine.
        token: u32 = count().required(),
        /// Name of the engine.
        engine: String = text(0, 64).required(),
    }
}

/// Notes what an engine tells of its registrations. Trunks that it does not serve, or that there are not, are passed over.
pub fn note(ctx: &Ctx<'_>, engine: &str, told: &[ToldRegistration]) -> Result<(), Stop> {
    if told.is_empty() {
        return Ok(());
    }
    let memory = root::memory(ctx.root());
    let rows = memory.scan(key::registrations(), Order::Ascending, TRUNKS_MAX)?;
    let known: BTreeMap<_, _> = rows.iter().map(|(at, bytes)| (&at[..], bytes)).collect();
    let mut changed = Vec::new();
    for ToldRegistration { id, state, detail } in told {
        let (account, trunk) = id::split(*id);
        let at = key::registration(account, trunk);
        let before = known.get(&at[..]).map(|bytes| RegistrationRow::read(bytes)).transpose()?;
        let token = ctx.engine().token;
        let is_same = |row: &RegistrationRow| {
            (row.state, &row.detail, row.token, &*row.engine) == (*state, detail, token, engine)
        };
        if ctx.engine().serves(account) && !before.is_some_and(|row| is_same(&row)) {
            let (detail, since, engine) = (detail.clone(), ctx.now, engine.into());
            changed.push((
                (account, trunk),
                RegistrationRow { state: *state, detail, since, token, engine, rest: Rest::default() },
            ));
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    let trunks = root::trunks(ctx.root(), TRUNKS_MAX)?;
    for ((account, trunk), row) in changed {
        // The list is in the order of account and count.
        if trunks.binary_search(&(account, trunk)).is_ok() {
            memory.put(key::registration(account, trunk), row.to_json())?;
        }
    }
    Ok(())
}

/// Returns the registrations with the trunks of an account, by count; only what engines tell that are attached.
pub fn of_account(account: Scope<'_>) -> Result<BTreeMap<u32, Registration>, Stop> {
    let Space::Account(number) = account.space() else { return Ok(BTreeMap::new()) };
    let memory = root::memory(account);
    let rows = memory.scan(key::registrations_of(number), Order::Ascending, PLAN_ROWS_MAX)?;
    if rows.is_empty() {
        return Ok(BTreeMap::new());
    }
    let attached: Vec<_> = attached::all_heard_of(account.other(Space::Root))?
        .into_iter()
        .filter(|(_, engine)| engine.is_attached(account.now()))
        .map(|(token, engine)| (token, engine.name))
        .collect();
    let mut shown = BTreeMap::new();
    for (at, bytes) in rows {
        let RegistrationRow { state, detail, since, token, engine, .. } = RegistrationRow::read(&bytes)?;
        if let Some((_, trunk)) = key::read_registration(&at)
            && attached.contains(&(token, engine))
        {
            shown.insert(trunk, Registration { state, detail, since: Iso(since) });
        }
    }
    Ok(shown)
}

/// Forgets what was told of a trunk that was changed or deleted.
pub fn forget(account: Scope<'_>, trunk: u32) -> Result<(), Stop> {
    let Space::Account(number) = account.space() else { return Ok(()) };
    root::memory(account).delete(key::registration(number, trunk))
}
