//! Web calls: a page talks to the web leg of an engine. The account's own program makes the call and gets a token, or a
//! visitor of its widget does, with which the browser proves itself there, once and within a minute (docs/api.md, Web
//! calls).

use alloc::string::{String, ToString};

use base64ct::{Base64UrlUnpadded, Encoding};

use super::place::{CallAssistant, CallSpec, place};
use super::rows::CallRow;
use super::tables::CallType;
use super::watch::plan;
use crate::account::attached::{self, AttachedEngine};
use crate::account::profile::Profile;
use crate::account::token::{Token, TokenKind};
use crate::admin::engine_tokens;
use crate::assistant;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::key::{Kind, Space};
use crate::limits::WEB_TOKEN_SECONDS;
use crate::number::CallerNumber;
use crate::record;
use crate::record::{Iso, Rest, Secret, Variables, boolean, id as id_column, iso, micros, text, variables};
use crate::root;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const LOST: Stop = Stop::Corrupt("a web call was not stored");
const NO_DOOR: &str = "No voice engine that takes browsers is attached.";
const UNKNOWN: &str = "Web call not found";
const USED: &str = "The token was used, or its time is over.";
const ELSEWHERE: &str = "The token is for a page of another origin.";
/// Name of the leg by which browsers talk.
const WEB_LEG: &str = "web";

record! {
    /// Body of `POST /user/web_calls`.
    pub struct NewWebCall {
        /// Id of the assistant that the visitor talks to.
        assistant_id: u64 = id_column().required(),
        /// Variables for this call, filled into the assistant's prompts.
        variables: Variables = variables(),
    }
}

record! {
    /// A web call that was made, and the token that lets a browser into it. It is shown here and never again.
    pub struct MadeWebCall {
        /// Id of the call.
        call_id: u64 = id_column().required(),
        /// The token, which the browser shows to the engine.
        token: Secret = text(0, 64).required(),
        /// Time until which it can be shown, UTC.
        expires_at: Iso = iso().required(),
        /// Where the browser reaches the engine.
        engine_url: String = text(0, 255).required(),
    }
}

record! {
    /// Answer of `POST /widgets/{uuid}/web_calls`: what lets the browser of a visitor into its call. It is shown here and
    /// never again.
    pub struct OpenWebCall {
        /// Always true.
        status: bool = boolean().required(),
        /// The token, which the browser shows to the engine.
        token: Secret = text(0, 64).required(),
        /// Time until which it can be shown, UTC.
        expires_at: Iso = iso().required(),
        /// Where the browser reaches the engine.
        engine_url: String = text(0, 255).required(),
    }
}

record! {
    /// What the browser of a web call shows.
    pub struct WebPass stored as "a call" {
        /// Digest of the token, Base64url.
        digest: String = text(0, 64).required(),
        /// Time until which it can be shown.
        until: Timestamp = micros().required(),
        /// Origin of the page, if the one that asked for the call said so.
        origin: Option<String> = text(0, 255).sparse(),
        /// Whether a visitor of the widget asked for the call.
        visited: Option<bool> = boolean().sparse(),
    }
}

/// A call that waits for its browser.
pub struct AwaitedCall {
    /// Its local id.
    pub count: u32,
    /// The token that the browser shows.
    pub token: Secret,
    /// Time until which it can be shown.
    pub expires_at: Iso,
    /// Where the browser reaches the engine.
    pub engine_url: String,
}

/// `POST /user/web_calls`
pub fn make(ctx: &Ctx<'_>) -> Handled {
    let new: NewWebCall = ctx.body()?;
    let account = ctx.account();
    let count = ctx.own(new.assistant_id).ok_or(Refusal::NotFound(assistant::MISSING))?;
    let row = account.find(Kind::Assistant, count)?.ok_or(Refusal::NotFound(assistant::MISSING))?;
    if Profile::of(account)?.state.is_used_up() {
        return Err(Refusal::Payment("Insufficient balance.".into()).into());
    }
    let AwaitedCall { count, token, expires_at, engine_url } =
        await_browser(ctx, account, (count, &row), new.variables)?;
    Ok(Reply::created(&MadeWebCall { call_id: ctx.id(count), token, expires_at, engine_url }))
}

/// Returns whether any engine with a web leg takes browsers of an account now.
pub fn has_door(ctx: &Ctx<'_>, account: Scope<'_>) -> Result<bool, Stop> {
    Ok(door(ctx, account.account_number()?)?.is_some())
}

/// Makes a call between an assistant and whoever shows its token; 503 if no engine takes browsers.
pub fn await_browser(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    (count, row): (u32, &Row),
    variables: Variables,
) -> Result<AwaitedCall, Halt> {
    let number = account.account_number()?;
    let engine_url = door(ctx, number)?.ok_or(Refusal::NoEngine(NO_DOOR))?;
    let mut caller = CallAssistant::of(account, count, row)?;
    caller.number = CallerNumber::Shown(None);
    let spec = CallSpec {
        kind: CallType::Web,
        caller,
        client_phone_number: None,
        variables: variables.0,
        campaign: None,
        lead: None,
        main: None,
    };
    let (count, _) = place(account, spec, ctx.now)?;
    let token = Token::new(TokenKind::Web, number, count, &ctx.seed.derive("web-call"));
    let until = ctx.now.plus_seconds(WEB_TOKEN_SECONDS);
    let mut call = CallRow::find(account, count)?.ok_or(LOST)?;
    call.live.pass = Some(WebPass {
        digest: Base64UrlUnpadded::encode_string(&token.digest()),
        until,
        origin: ctx.request.header("origin").map(ToString::to_string).filter(|origin| origin.len() <= 255),
        visited: ctx.caller.is_none().then_some(true),
        rest: Rest::default(),
    });
    call.save(account, ctx.now)?;
    plan(account, &call)?;
    Ok(AwaitedCall { count, token: Secret(token.text().into()), expires_at: Iso(until), engine_url })
}

/// Returns where the least loaded engine with a web leg takes browsers of an account.
fn door(ctx: &Ctx<'_>, account: u32) -> Result<Option<String>, Stop> {
    let mut best: Option<(f64, String)> = None;
    for (token, engine) in attached::all_heard_of(ctx.root())? {
        let Some(url) = web_url(&engine) else { continue };
        let is_there = engine.is_attached(ctx.now) && !attached::is_drained(ctx.root(), token, &engine.name)?;
        // The built-in engine has no token, and no page.
        let Some(its) = engine_tokens::engine_of(ctx.root(), token)?.filter(|_| is_there) else { continue };
        if !its.serves(account) {
            continue;
        }
        let load = load_of(&engine);
        if load < 1.0 && best.as_ref().is_none_or(|(least, _)| load < *least) {
            best = Some((load, url));
        }
    }
    Ok(best.map(|(_, url)| url))
}

fn web_url(engine: &AttachedEngine) -> Option<String> {
    let about = engine.about.as_ref()?;
    about.web_url.clone().filter(|_| about.legs.iter().any(|leg| leg == WEB_LEG))
}

/// Returns how full an engine is, from 0 to 1: of its places, or of its machine if that is fuller.
fn load_of(engine: &AttachedEngine) -> f64 {
    let Some(about) = &engine.about else { return 0.0 };
    let places = about
        .running
        .zip(about.capacity)
        .map_or(0.0, |(running, capacity)| if capacity == 0 { 1.0 } else { f64::from(running) / f64::from(capacity) });
    places.max(about.load.unwrap_or(0.0))
}

/// Returns the call that a token is for, which has no engine yet: 404 if there is none, 409 if the token was used or came
/// too late, 403 if it was made for a page elsewhere.
pub fn shown<'c>(ctx: &'c Ctx<'_>, text: &str, origin: Option<&str>) -> Result<(Scope<'c>, CallRow), Halt> {
    let missing = || Halt::from(Refusal::NotFound(UNKNOWN));
    let token = Token::parse(text).filter(|token| token.kind == TokenKind::Web).ok_or_else(missing)?;
    if !ctx.engine().serves(token.account) {
        return Err(missing());
    }
    let account = root::space_of(ctx.root(), token.account);
    debug_assert!(account.space() != Space::Root, "a call belongs to an account");
    let call = CallRow::find(account, token.count)?.ok_or_else(missing)?;
    let pass = call.live.pass.as_ref().ok_or_else(missing)?;
    let digest = Base64UrlUnpadded::decode_vec(&pass.digest).map_err(|_| LOST)?;
    if !token.fits(&digest) {
        return Err(missing());
    }
    if call.live.engine.is_some() || !call.status().is_running() || pass.until <= ctx.now {
        return Err(Refusal::Conflict(USED.into()).into());
    }
    if pass.origin.as_deref().zip(origin).is_some_and(|(own, other)| own != other) {
        return Err(Refusal::Forbidden(ELSEWHERE.into()).into());
    }
    Ok((account, call))
}
