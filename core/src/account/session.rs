//! Login and logout (docs/api.md, Account and keys).

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv6Addr};

use sha2::{Digest, Sha256};

use super::caller::StoredToken;
use super::cookie;
use super::logins::Logins;
use super::profile::Profile;
use super::rows::CredentialRow;
use super::token::{self, Token, TokenKind};
use crate::collection::Facet;
use crate::http::base;
use crate::http::ctx::Ctx;
use crate::http::notice::Notice;
use crate::http::own;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::id;
use crate::json::ToJson;
use crate::key::{self, Kind, Space};
use crate::limits::BUSY_SECONDS;
use crate::outside::{Answer, Work};
use crate::rate::Caller;
use crate::record;
use crate::record::{Errors, Iso, Rest, Secret, boolean, format, id, iso, object, text};
use crate::root;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;
use crate::work;

record! {
    /// Body of `POST /user/login`.
    pub struct Login {
        /// E-mail address of the account; case does not matter.
        email: String = text(1, 255).form(&format::EMAIL).required(),
        /// Password of the account.
        password: Secret = text(1, 1_024).required(),
        /// Label of the session; only stored.
        token_name: Option<String> = text(1, 255),
        /// Whether the browser is to keep the session as a cookie; only for the service's own pages.
        remember: Option<bool> = boolean(),
    }
}

record! {
    /// The account that logged in.
    pub struct User {
        /// Id of the account; `user_id` elsewhere.
        id: u64 = id().required(),
        /// Display name of the account.
        name: String = text(0, 255).required(),
        /// E-mail address that logs in, in lower case.
        email: String = text(0, 255).required(),
    }
}

record! {
    /// A session. The token is shown here and never again.
    pub struct LoggedIn {
        /// Always `Login successful.`
        message: String = text(0, 255).required(),
        /// The session token: the value of `Authorization: Bearer`.
        token: Secret = text(0, 64).required(),
        /// Always `Bearer`, the scheme to send the token with.
        token_type: String = text(0, 16).required(),
        /// Time at which the session ends.
        expires_at: Iso = iso().required(),
        /// Account that logged in.
        user: User = object::<User>().required(),
        /// What each write by the session's cookie shows in `X-CSRF-Token`; null without `remember`.
        csrf: Option<String> = text(0, 64),
    }
}

record! {
    /// Body of `POST /user/login/code`.
    pub struct CodeLogin {
        /// The code, from the fragment of the URL that `switchboard dev` shows.
        code: Secret = text(1, 64).required(),
        /// Whether the browser is to keep the session as a cookie; only for the service's own pages.
        remember: Option<bool> = boolean(),
    }
}

/// Sessions that a login checks, to remove those that ended: more than the one it adds.
const SWEPT: usize = 8;
/// Number of the account that the first start makes.
const OWNER: u32 = 0;
const NO_CODE: &str = "Code not found.";

/// `POST /user/login`
///
/// The rate limit of the address is checked before the body is read.
pub fn login(ctx: &Ctx<'_>) -> Handled {
    let network = network(ctx);
    admit(ctx, Caller::LoginAddress(short(&alloc::format!("{network}"))))?;
    let login: Login = ctx.body()?;
    let remembers = remembers(ctx, login.remember)?;
    admit_pair(ctx, &login.email, network)?;
    let root = ctx.root();
    let scope = root::account_of(root, &login.email)?.map_or(root, |account| root::space_of(root, account));
    let profile = Profile::load(scope)?;
    let stored = profile.as_ref().map_or_else(work::nobody, |profile| profile.password.0.clone());
    let answer = ctx.ask(|| Work::VerifyPassword { password: login.password.clone(), stored })?;
    let Answer::Verified(fits) = answer else { return Err(Refusal::Busy(BUSY_SECONDS).into()) };
    let mut logins = Logins::load(scope)?;
    // Uses the failures up to now, not up to when the password was sent: many passwords may be compared at once.
    let (Some(profile), true, true) = (profile, fits, logins.admits(network, ctx.now)) else {
        return failed(ctx, scope, logins, network);
    };
    if profile.state.suspended {
        return Err(Refusal::Suspended.into());
    }
    logins.succeeded(network, ctx.now);
    logins.save(scope)?;
    logged_in(ctx, scope, profile, login.token_name.as_deref(), remembers)
}

/// `POST /user/login/code`
///
/// Whatever is wrong with a code, the answer is the same.
pub fn login_by_code(ctx: &Ctx<'_>) -> Handled {
    admit(ctx, Caller::LoginAddress(short(&alloc::format!("{}", network(ctx)))))?;
    let CodeLogin { code, remember } = ctx.body()?;
    let remembers = remembers(ctx, remember)?;
    let unknown = || Halt::from(Refusal::NotFound(NO_CODE));
    let (config, digest) = (&ctx.setup.config, <[u8; 32]>::from(Sha256::digest(code.0.as_bytes())));
    let known = config.login_code.filter(|known| token::same(&digest, &known.digest) && ctx.now < known.until);
    let is_here = own::is_local(config, ctx.request) && own::is_host(config, ctx.request);
    known.filter(|_| is_here).ok_or_else(unknown)?;
    let memory = root::memory(ctx.root());
    if memory.get(key::login_code())?.is_some_and(|used| token::same(&digest, &used)) {
        return Err(unknown());
    }
    memory.put(key::login_code(), digest.to_vec())?;
    let owner = root::space_of(ctx.root(), OWNER);
    let profile = Profile::load(owner)?.filter(|profile| !profile.state.suspended).ok_or_else(unknown)?;
    logged_in(ctx, owner, profile, None, remembers)
}

/// Returns whether a session is to be remembered by a cookie; 422 where a page elsewhere asks for that.
fn remembers(ctx: &Ctx<'_>, asked: Option<bool>) -> Result<bool, Halt> {
    let is_asked = asked == Some(true);
    if is_asked && !cookie::is_from_here(&ctx.setup.config, ctx.request) {
        let mut errors = Errors::default();
        errors.say("remember", "field can be true only for the service's own pages.");
        return Err(Refusal::Invalid(errors).into());
    }
    Ok(is_asked)
}

/// Begins a session and shows its token.
fn logged_in(ctx: &Ctx<'_>, scope: Scope<'_>, profile: Profile, name: Option<&str>, remembers: bool) -> Handled {
    sweep(scope, ctx.now)?;
    let (token, expires) = begin(ctx, scope, &profile, name)?;
    let user = User { id: id::user(profile.number), name: profile.own.name, email: profile.own.email };
    let reply = Reply::ok(&LoggedIn {
        message: "Login successful.".into(),
        token: Secret(token.text().into()),
        token_type: "Bearer".into(),
        expires_at: Iso(expires),
        user,
        csrf: remembers.then(|| cookie::csrf(&token)),
    });
    let config = &ctx.setup.config;
    let set = || cookie::set(config, ctx.request, &token, config.session_seconds);
    Ok(if remembers { reply.header("set-cookie", set()) } else { reply })
}

/// Refuses a wrong pair, and one whose address is not admitted: both write a row, so that they take the same time.
fn failed(ctx: &Ctx<'_>, scope: Scope<'_>, logins: Logins, network: IpAddr) -> Handled {
    note_failure(ctx, scope, logins, network)?;
    Ok(ctx.refused(Refusal::WrongPassword))
}

/// Stores a failure of whoever was still admitted; the log tells the one from which on logins are guarded.
pub(super) fn note_failure(ctx: &Ctx<'_>, scope: Scope<'_>, mut logins: Logins, network: IpAddr) -> Result<(), Stop> {
    if logins.admits(network, ctx.now)
        && logins.failed(ctx.now)
        && let Space::Account(account) = scope.space()
    {
        ctx.notice(Notice::LoginsGuarded(account));
    }
    logins.save(scope)
}

/// Returns the network that a login counts for; on a host that knows no client addresses, all clients share one.
pub(super) fn network(ctx: &Ctx<'_>) -> IpAddr {
    base::client(&ctx.setup.config, ctx.request).map_or(Ipv6Addr::UNSPECIFIED.into(), base::network)
}

/// Applies the rate limit of tries for an e-mail address from a network.
pub(super) fn admit_pair(ctx: &Ctx<'_>, email: &str, network: IpAddr) -> Result<(), Halt> {
    admit(ctx, Caller::LoginPair(short(&alloc::format!("{} {network}", email.to_lowercase()))))
}

/// Applies the rate limits of logins: five tries a minute per pair of e-mail and address, twenty per address.
fn admit(ctx: &Ctx<'_>, caller: Caller) -> Result<(), Halt> {
    match ctx.view_admit(caller)? {
        Some(rate) if !rate.admitted => Err(Refusal::TooMany(rate.retry_after).into()),
        _ => Ok(()),
    }
}

fn short(text: &str) -> u64 {
    let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
    u64::from_be_bytes([digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7]])
}

fn begin(ctx: &Ctx<'_>, scope: Scope<'_>, profile: &Profile, name: Option<&str>) -> Result<(Token, Timestamp), Stop> {
    let (count, created_at) = scope.allot(Kind::Session, ctx.now)?;
    let token = Token::new(TokenKind::Session, profile.number, count, &ctx.seed.derive("session"));
    let expires = ctx.now.plus_seconds(ctx.setup.config.session_seconds);
    let kept =
        StoredToken { digest: token.digest(), expires: Some(expires), epoch: profile.state.epoch, read_only: false };
    let own = CredentialRow { name: name.map(String::from), created_at: Iso(created_at), rest: Rest::default() };
    let row = Row { facets: Vec::new(), public: own.to_json(), private: kept.to_bytes() };
    scope.insert(Kind::Session, count, created_at, &row)?;
    Ok((token, expires))
}

fn sweep(scope: Scope<'_>, now: Timestamp) -> Result<(), Stop> {
    for (count, row) in scope.list(Kind::Session, &Facet::ALL, SWEPT)? {
        if StoredToken::from_bytes(&row.private).is_none_or(|kept| kept.expires.is_none_or(|at| at <= now)) {
            scope.remove(Kind::Session, count, &row)?;
        }
    }
    Ok(())
}

/// `POST /user/logout`
pub fn logout(ctx: &Ctx<'_>) -> Handled {
    ctx.unread()?;
    let caller = ctx.caller();
    if !caller.session {
        return Err(Refusal::Forbidden("An API key cannot log out; delete it instead.".into()).into());
    }
    let account = ctx.account();
    let row = account.find(Kind::Session, caller.count)?.ok_or(Refusal::Unauthenticated)?;
    account.remove(Kind::Session, caller.count, &row)?;
    let reply = Reply::ok(&message("Logged out successfully."));
    let is_by_cookie = ctx.request.count("authorization") == 0;
    Ok(if is_by_cookie { reply.header("set-cookie", cookie::unset(&ctx.setup.config, ctx.request)) } else { reply })
}
