//! The operator's operations on accounts.

use super::tables::{AdminQuery, ChangedAccount, GoingAccount, MadeAccount, NewAccount};
use crate::account::create::{self, AccountSpec};
use crate::account::keys::{self, NewKey};
use crate::account::me;
use crate::account::plan;
use crate::account::profile::{Account, AccountStatus, Hidden, Profile, micros};
use crate::collection::Query;
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::job::{self, Task};
use crate::json::{self, Members, ToJson};
use crate::key::{self, Kind, Space};
use crate::number;
use crate::record::{Cell, MemberSource, Record, Secret, check, check_update};
use crate::root;
use crate::view::Order;

const MISSING: &str = "Account not found.";
const TAKEN: &str = "The email has already been taken.";

/// `POST /admin/accounts`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let root = ctx.root();
    let mut checked = check(NewAccount::TABLE, ctx.members()?, MemberSource::Body);
    if let Cell::Text(email) = checked.get("email")
        && root::account_of(root, email)?.is_some()
    {
        checked.errors.add("email", TAKEN);
    }
    if let Cell::Text(name) = checked.get("plan")
        && plan::load(root, name)?.is_none()
    {
        checked.errors.invalid("plan");
    }
    let new: NewAccount = ctx.finish(checked)?;
    if ctx.answered() == 0 {
        create::begin(root)?;
    }
    let made_here = new.password.is_none();
    let password = new.password.unwrap_or_else(|| Secret(ctx.seed.word("password", 20)));
    let digest = me::hash(ctx, &password)?;
    let name = new.name.unwrap_or_else(|| new.email.clone());
    let made = create::account(
        root,
        AccountSpec { email: new.email, name, timezone: new.timezone, plan: new.plan, password: digest },
        ctx.now,
        &ctx.seed,
    )?;
    let profile = made.profile;
    Ok(Reply::created(&MadeAccount {
        id: id::user(profile.number),
        email: profile.own.email,
        name: profile.own.name,
        plan: profile.own.plan,
        api_key: Secret(made.token.text().into()),
        password: made_here.then_some(password),
    }))
}

/// `GET /admin/accounts`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    let query: AdminQuery = ctx.asks()?;
    let root = ctx.root();
    let query = Query::page([].into(), 0..u32::MAX, Order::Ascending, query.per_page, query.page);
    page::list(ctx, root, Kind::Account, &query, |count, _, out| {
        Profile::of(root::space_of(root, count - 1))?.shown().write(out);
        Ok(())
    })
}

/// Returns the account in the path; one that is being deleted is there to be looked at and deleted only.
fn named(ctx: &Ctx<'_>) -> Result<Profile, Halt> {
    let profile = any(ctx)?;
    if profile.state.deleting { Err(Refusal::NotFound(MISSING).into()) } else { Ok(profile) }
}

/// Returns the account in the path, whether or not it is being deleted.
fn any(ctx: &Ctx<'_>) -> Result<Profile, Halt> {
    let count =
        id::parse(Space::Root, ctx.params.first().copied().unwrap_or_default()).ok_or(Refusal::NotFound(MISSING))?;
    Ok(Profile::load(root::space_of(ctx.root(), count - 1))?.ok_or(Refusal::NotFound(MISSING))?)
}

/// `GET /admin/accounts/{id}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    Ok(Reply::ok(&any(ctx)?.shown()))
}

/// `PUT /admin/accounts/{id}`
pub fn update(ctx: &Ctx<'_>) -> Handled {
    let mut profile = named(ctx)?;
    let root = ctx.root();
    let mut checked = check_update(ChangedAccount::TABLE, members(&profile), ctx.members()?);
    if let Cell::Text(name) = checked.get("plan")
        && plan::load(root, name)?.is_none()
    {
        checked.errors.invalid("plan");
    }
    let changed: ChangedAccount = ctx.finish(checked)?;
    ctx.if_match(&profile.shown())?;
    if let Some(password) = &changed.password {
        profile.password = Hidden(me::hash(ctx, password)?);
        profile.state.epoch += 1;
    }
    profile.own.name = changed.name;
    profile.own.timezone = changed.timezone;
    profile.own.plan = changed.plan;
    profile.state.balance = changed.balance.map(micros);
    profile.state.suspended = changed.suspended;
    profile.save(root::space_of(root, profile.number))?;
    Ok(Reply::ok(&message_data("Account updated successfully.", &profile.shown())))
}

/// `DELETE /admin/accounts/{id}`: ends its tokens and its login; a job does the rest, in slices.
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let mut profile = any(ctx)?;
    ctx.unread()?;
    ctx.if_match(&profile.shown())?;
    let scope = root::space_of(ctx.root(), profile.number);
    if !profile.state.deleting {
        // Suspended too: its campaigns stop, no engine is given a call of it or brings one.
        (profile.state.deleting, profile.state.suspended) = (true, true);
        profile.save(scope)?;
        ctx.root().delete(key::email(&profile.own.email))?;
    }
    job::add(scope, ctx.now, Task::EraseAccount)?;
    let going = GoingAccount { id: id::user(profile.number), status: AccountStatus::Deleting };
    Ok(Reply::accepted(&message_data("The account is being deleted.", &going)))
}

/// Returns the members that an update is merged into.
fn members(profile: &Profile) -> Members {
    let Account { name, timezone, plan, balance, suspended, .. } = profile.shown();
    json::members(&ChangedAccount { name, timezone, plan, balance, suspended, password: None })
}

/// `GET /admin/accounts/{id}/api-keys`
pub fn list_keys(ctx: &Ctx<'_>) -> Handled {
    let profile = named(ctx)?;
    keys::all(root::space_of(ctx.root(), profile.number))
}

/// `POST /admin/accounts/{id}/api-keys`
pub fn create_key(ctx: &Ctx<'_>) -> Handled {
    let profile = named(ctx)?;
    let new: NewKey = ctx.body()?;
    let scope = root::space_of(ctx.root(), profile.number);
    keys::room(scope)?;
    let (_, key) = keys::make(scope, &new, None, ctx.now, &ctx.seed)?;
    Ok(keys::created(&key))
}

/// `DELETE /admin/accounts/{id}/api-keys/{key_id}`
pub fn delete_key(ctx: &Ctx<'_>) -> Handled {
    let profile = named(ctx)?;
    keys::remove(ctx, root::space_of(ctx.root(), profile.number), ctx.params.get(1).copied().unwrap_or_default())
}

/// `PUT /admin/accounts/{id}/caller-ids/{number_id}`: sets whether calls may show a caller id.
pub fn verify_caller_id(ctx: &Ctx<'_>) -> Handled {
    let profile = named(ctx)?;
    let scope = root::space_of(ctx.root(), profile.number);
    let count = id::parse(scope.space(), ctx.params.get(1).copied().unwrap_or_default());
    let count = count.ok_or(Refusal::NotFound("Caller id not found."))?;
    number::set_verified(ctx, scope, count)
}
