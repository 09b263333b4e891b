//! Authentication of engines: from the token to the calls it may see.

use crate::account::caller;
use crate::account::token::TokenKind;
use crate::admin::engine_tokens;
use crate::call::CallRow;
use crate::http::caller::Engine;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::request::Request;
use crate::id;
use crate::key::{Kind, Space};
use crate::root;
use crate::setup::Config;
use crate::store::{Scope, Tx};
use alloc::vec::Vec;

const MISSING: &str = "Call not found";

/// Authenticates the engine of a request; token 0 is the built-in engine.
pub fn session(tx: &Tx<'_>, request: &Request, config: &Config) -> Result<Engine, Halt> {
    let token = caller::bearer(request)?;
    if token.kind != TokenKind::Engine {
        return Err(Refusal::Unauthenticated.into());
    }
    if token.count == 0 {
        let known = config.engine.is_some_and(|engine| token.fits(&engine.digest));
        return if known {
            Ok(Engine { token: 0, accounts: Vec::new(), telephony: false })
        } else {
            Err(Refusal::Unauthenticated.into())
        };
    }
    let row = tx.scope(Space::Root).find(Kind::EngineToken, token.count)?;
    let row = row.filter(|row| token.fits(&row.private)).ok_or(Refusal::Unauthenticated)?;
    Ok(engine_tokens::engine(token.count, &row)?)
}

/// Returns the call that the path names, if this engine has claimed it.
pub(super) fn call<'c>(ctx: &'c Ctx<'_>) -> Result<(Scope<'c>, CallRow), Halt> {
    let id = ctx.params.first().and_then(|text| id::parse_any(text)).ok_or(Refusal::NotFound(MISSING))?;
    let (number, count) = id::split(id);
    let account = root::space_of(ctx.root(), number);
    ctx.works_for(account.space());
    let call = CallRow::find(account, count)?.filter(|call| call.live.engine == Some(ctx.engine().token));
    let call = call.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    Ok((account, call))
}
