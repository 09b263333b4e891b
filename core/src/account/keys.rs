//! API keys (docs/api.md, API keys).

use alloc::string::String;
use alloc::vec::Vec;

use super::caller::{self, StoredToken};
use super::rows::CredentialRow;
use super::token::{Token, TokenKind};
use crate::collection::{Facet, count};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{ObjectFn, Reply, message};
use crate::http::route::Handled;
use crate::id;
use crate::json::{Object, ToJson};
use crate::key::{self, Kind};
use crate::limits::UNPAGED_ROWS_MAX;
use crate::record;
use crate::record::{Iso, Rest, Secret, Stored, boolean, format, id, iso, text};
use crate::seed::Seed;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

record! {
    /// Body of `POST /user/api-keys`.
    pub struct NewKey {
        /// Label of the key, shown in lists.
        name: String = text(1, 255).required(),
        /// Time at which the key expires; never, when not given. No later than the key it is made with.
        expires_at: Option<String> = text(1, 32).form(&format::INSTANT),
        /// Whether the key may only call `GET` and `HEAD`.
        read_only: bool = boolean().or_bool(false),
    }
}

record! {
    /// A new API key. The token is shown here and never again.
    pub struct ShownKey {
        /// Id of the key, to delete it by.
        id: u64 = id().required(),
        /// Label of the key, shown in lists.
        name: String = text(0, 255).required(),
        /// The token: the value of `Authorization: Bearer`.
        token: Secret = text(0, 64).required(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
        /// Time at which the key expires; null: never.
        expires_at: Option<Iso> = iso(),
        /// Whether the key may only call `GET` and `HEAD`.
        read_only: bool = boolean().required(),
    }
}

record! {
    /// An API key in the list, without its token.
    pub struct ApiKey {
        /// Id of the key, to delete it by.
        id: u64 = id().required(),
        /// Label of the key, shown in lists.
        name: String = text(0, 255).required(),
        /// Time of the last use, to the minute; null until the first.
        last_used_at: Option<Iso> = iso(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
        /// Time at which the key expires; null: never.
        expires_at: Option<Iso> = iso(),
        /// Whether the key may only call `GET` and `HEAD`.
        read_only: bool = boolean().required(),
    }
}

const MISSING: &str = "API key not found.";

/// `POST /user/api-keys`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let new: NewKey = ctx.body()?;
    let account = ctx.account();
    room(account)?;
    let caller = ctx.caller();
    let ends = if caller.session { None } else { caller.expires };
    let (_, key) = make(account, &new, ends, ctx.now, &ctx.seed)?;
    Ok(created(&key))
}

/// Refuses with 403 if the account already has [`UNPAGED_ROWS_MAX`] keys.
pub fn room(account: Scope<'_>) -> Result<(), Halt> {
    if count(account, Kind::ApiKey, &Facet::ALL)? < UNPAGED_ROWS_MAX {
        return Ok(());
    }
    Err(Refusal::Forbidden(alloc::format!("An account has at most {UNPAGED_ROWS_MAX} API keys.")).into())
}

/// Returns the 201 that shows a new key.
pub fn created(key: &ShownKey) -> Reply {
    Reply::created(&ObjectFn(|o: &mut Object<'_>| {
        o.member("message", "API key created successfully.").member("api_key", key);
    }))
}

/// Creates a key that expires no later than `ends`, the expiry of the key that it is made with.
pub fn make(
    scope: Scope<'_>,
    new: &NewKey,
    ends: Option<Timestamp>,
    now: Timestamp,
    seed: &Seed,
) -> Result<(Token, ShownKey), Stop> {
    let number = scope.account_number()?;
    let (count, created_at) = scope.allot(Kind::ApiKey, now)?;
    let token = Token::new(TokenKind::ApiKey, number, count, &seed.derive("api-key"));
    let asked = new.expires_at.as_deref().and_then(Timestamp::parse_iso);
    let expires = match (asked, ends) {
        (Some(asked), Some(ends)) => Some(asked.min(ends)),
        (asked, ends) => asked.or(ends),
    };
    let shown = ShownKey {
        id: id::of(scope.space(), count),
        name: new.name.clone(),
        token: Secret(token.text().into()),
        created_at: Iso(created_at),
        expires_at: expires.map(Iso),
        read_only: new.read_only,
    };
    let kept = StoredToken { digest: token.digest(), expires, epoch: 0, read_only: new.read_only };
    let own = CredentialRow { name: Some(new.name.clone()), created_at: Iso(created_at), rest: Rest::default() };
    let row = Row { facets: Vec::new(), public: own.to_json(), private: kept.to_bytes() };
    scope.insert(Kind::ApiKey, count, created_at, &row)?;
    Ok((token, shown))
}

/// `GET /user/api-keys`
pub fn list(ctx: &Ctx<'_>) -> Handled {
    all(ctx.account())
}

/// Returns the 200 that lists the keys of an account, without their tokens.
pub fn all(account: Scope<'_>) -> Handled {
    let limit = usize::try_from(UNPAGED_ROWS_MAX).unwrap_or(usize::MAX);
    let keys: Vec<ApiKey> = account
        .list(Kind::ApiKey, &Facet::ALL, limit)?
        .into_iter()
        .map(|(count, row)| show(account, count, &row))
        .collect::<Result<_, Stop>>()?;
    Ok(Reply::ok(&ObjectFn(|o: &mut Object<'_>| {
        o.member("api_keys", &keys);
    })))
}

fn show(scope: Scope<'_>, count: u32, row: &Row) -> Result<ApiKey, Stop> {
    let own = CredentialRow::read(&row.public)?;
    let kept = StoredToken::from_bytes(&row.private).ok_or(CredentialRow::DAMAGED)?;
    Ok(ApiKey {
        id: id::of(scope.space(), count),
        name: own.name.ok_or(CredentialRow::DAMAGED)?,
        last_used_at: caller::last_used(scope, Kind::ApiKey, count)?.map(Iso),
        created_at: own.created_at,
        expires_at: kept.expires.map(Iso),
        read_only: kept.read_only,
    })
}

/// `DELETE /user/api-keys/{id}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    remove(ctx, ctx.account(), ctx.params.first().copied().unwrap_or_default())
}

/// Deletes a key of an account; its token fails from the next request on.
pub fn remove(ctx: &Ctx<'_>, account: Scope<'_>, id: &str) -> Handled {
    let count = id::parse(account.space(), id).ok_or(Refusal::NotFound(MISSING))?;
    let row = account.find(Kind::ApiKey, count)?.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    ctx.if_match(&show(account, count, &row)?)?;
    account.remove(Kind::ApiKey, count, &row)?;
    account.delete(key::used(account.space(), Kind::ApiKey, count))?;
    Ok(Reply::ok(&message("API key deleted successfully.")))
}
