//! The caller's own account: shown, and changed by its owner (docs/api.md, Account and keys).

use alloc::string::String;

use super::caller::StoredToken;
use super::logins::Logins;
use super::profile::{Hidden, Profile, dollars};
use super::rows::CredentialRow;
use super::session::{admit_pair, network, note_failure};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::json;
use crate::key::Kind;
use crate::limits::BUSY_SECONDS;
use crate::outside::{Answer, Work};
use crate::record;
use crate::record::{Cell, Errors, Record, Secret, Stored, check_update, format, id as id_column, number, text};
use crate::store::{Row, Scope};
use crate::view::Stop;

record! {
    /// The account of the caller.
    pub struct Me {
        /// Id of the account; `user_id` elsewhere.
        id: u64 = id_column().required(),
        /// Display name of the account.
        name: String = text(0, 255).required(),
        /// E-mail address that logs in, in lower case.
        email: String = text(0, 255).required(),
        /// IANA time zone, Region/City; that of its campaigns unless they have their own.
        timezone: String = text(0, 64).required(),
        /// Name of the plan that bounds the account.
        plan: String = text(0, 64).required(),
        /// Remaining balance, USD; 0 while the account is unmetered.
        total_balance: f64 = number(0.0, 0.0).required(),
    }
}

record! {
    /// Body of `PUT /user/me`.
    pub struct ChangedMe {
        /// Display name of the account.
        name: String = text(1, 255).required(),
        /// IANA time zone of the account, Region/City.
        timezone: String = text(1, 64).form(&format::ZONE).required(),
        /// New password; setting it ends all sessions but the one that sets it.
        password: Option<Secret> = text(8, 1_024),
        /// The password so far; required with a new one.
        current_password: Option<Secret> = text(1, 1_024),
    }
}

const UPDATED: &str = "Profile updated successfully";

impl Me {
    fn of(profile: &Profile) -> Self {
        Self {
            id: id::user(profile.number),
            name: profile.own.name.clone(),
            email: profile.own.email.clone(),
            timezone: profile.own.timezone.clone(),
            plan: profile.own.plan.clone(),
            total_balance: profile.state.balance.map_or(0.0, dollars),
        }
    }
}

/// `GET /user/me`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&Me::of(&Profile::of(ctx.account())?)))
}

/// `PUT /user/me`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let account = ctx.account();
    let mut profile = Profile::of(account)?;
    let stored = ChangedMe {
        name: profile.own.name.clone(),
        timezone: profile.own.timezone.clone(),
        password: None,
        current_password: None,
    };
    let mut checked = check_update(ChangedMe::TABLE, json::members(&stored), ctx.members()?);
    let is_given = |name| !matches!(checked.get(name), Cell::None) || checked.errors.has(name);
    if is_given("password") && !is_given("current_password") {
        checked.errors.say("current_password", "field is required when password is given.");
    }
    let changed: ChangedMe = ctx.finish(checked)?;
    ctx.if_match(&Me::of(&profile))?;
    if let (Some(password), Some(current)) = (&changed.password, &changed.current_password) {
        if !knows_password(ctx, &profile, current)? {
            let mut errors = Errors::default();
            errors.say("current_password", "is incorrect.");
            return Ok(ctx.refused(Refusal::Invalid(errors)));
        }
        profile.password = Hidden(hash(ctx, password)?);
        profile.state.epoch += 1;
        keep_session(ctx, account, profile.state.epoch)?;
    }
    profile.own.name = changed.name;
    profile.own.timezone = changed.timezone;
    profile.save(account)?;
    Ok(Reply::ok(&message_data(UPDATED, &Me::of(&profile))))
}

/// Returns whether the caller knows the account's password; a wrong one is kept as a failed login, and is refused like
/// one where logins are guarded: a token that leaked is no way around that.
fn knows_password(ctx: &Ctx<'_>, profile: &Profile, current: &Secret) -> Result<bool, Halt> {
    let (account, network) = (ctx.account(), network(ctx));
    if ctx.answered() == 0 {
        admit_pair(ctx, &profile.own.email, network)?;
    }
    let stored = profile.password.0.clone();
    let answer = ctx.ask(|| Work::VerifyPassword { password: current.clone(), stored })?;
    let Answer::Verified(fits) = answer else { return Err(Refusal::Busy(BUSY_SECONDS).into()) };
    let logins = Logins::load(account)?;
    let knows = fits && logins.admits(network, ctx.now);
    if !knows {
        note_failure(ctx, account, logins, network)?;
    }
    Ok(knows)
}

/// Asks the host for salt and digest of a new password.
pub fn hash(ctx: &Ctx<'_>, password: &Secret) -> Result<alloc::vec::Vec<u8>, Halt> {
    match ctx.ask(|| Work::HashPassword { password: password.clone(), salt: ctx.seed.uuid("salt") })? {
        Answer::Hashed(digest) => Ok(digest),
        _ => Err(Stop::Failed.into()),
    }
}

/// Lets the session of the caller, if it is one, outlive the change of the password.
fn keep_session(ctx: &Ctx<'_>, account: Scope<'_>, epoch: u32) -> Result<(), Stop> {
    let caller = ctx.caller();
    let Some(row) = (if caller.session { account.find(Kind::Session, caller.count)? } else { None }) else {
        return Ok(());
    };
    let kept = StoredToken::from_bytes(&row.private).ok_or(CredentialRow::DAMAGED)?;
    let private = StoredToken { epoch, ..kept }.to_bytes();
    let new = Row { facets: row.facets.clone(), public: row.public.clone(), private };
    account.replace(Kind::Session, caller.count, &row, &new)
}
