//! Engine tokens, with which voice engines attach.

use alloc::vec::Vec;

use super::tables::{EngineToken, NewEngineToken, ShownEngineToken};
use crate::account::attached;
use crate::account::token::{Token, TokenKind};
use crate::collection::{Facet, count};
use crate::http::caller::Engine;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, data, message};
use crate::http::route::Handled;
use crate::id;
use crate::json::{Raw, ToJson};
use crate::key::{self, Kind, Space};
use crate::record::{Cell, Iso, MemberSource, MemberTuple, Record, Rest, Secret, check};
use crate::store::{Row, Scope};
use crate::view::Stop;

const MISSING: &str = "Engine token not found.";
/// Limit of engine tokens in an installation.
const ALL: usize = 1_000;

/// Returns the engine whose token has this count; `None` for the built-in engine and for a token that was deleted.
pub fn engine_of(root: Scope<'_>, token: u32) -> Result<Option<Engine>, Stop> {
    root.find(Kind::EngineToken, token)?.map(|row| engine(token, &row)).transpose()
}

/// Returns the engine of a token's row.
pub fn engine(token: u32, row: &Row) -> Result<Engine, Stop> {
    let its = EngineToken::MEMBERS;
    let (accounts, telephony) = (its.account_ids, its.telephony).read(&row.public)?;
    Ok(Engine { token, accounts, telephony })
}

/// `GET /admin/engine-tokens`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let rows = ctx.root().list(Kind::EngineToken, &Facet::ALL, ALL)?;
    let shown: Vec<Raw<'_>> = rows.iter().map(|(_, row)| Raw(&row.public)).collect();
    Ok(Reply::ok(&data(&shown)))
}

/// `POST /admin/engine-tokens`
pub fn create(ctx: &Ctx<'_>) -> Handled {
    let root = ctx.root();
    let mut checked = check(NewEngineToken::TABLE, ctx.members()?, MemberSource::Body);
    for at in strangers(ctx, checked.get("account_ids"))? {
        checked.errors.invalid(&alloc::format!("account_ids.{at}"));
    }
    let new: NewEngineToken = ctx.finish(checked)?;
    if count(root, Kind::EngineToken, &Facet::ALL)? >= ALL as u64 {
        return Err(Refusal::Forbidden(alloc::format!("An installation has at most {ALL} engine tokens.")).into());
    }
    let (count, at) = root.allot(Kind::EngineToken, ctx.now)?;
    let token = Token::new(TokenKind::Engine, 0, count, &ctx.seed.derive("engine-token"));
    let kept = EngineToken {
        id: id::of(Space::Root, count),
        name: new.name,
        account_ids: new.account_ids,
        telephony: new.telephony,
        created_at: Iso(at),
        rest: Rest::default(),
    };
    root.insert(
        Kind::EngineToken,
        count,
        at,
        &Row { facets: Vec::new(), public: kept.to_json(), private: token.digest().to_vec() },
    )?;
    Ok(Reply::created(&ShownEngineToken {
        id: kept.id,
        name: kept.name,
        token: Secret(token.text().into()),
        telephony: kept.telephony,
        created_at: Iso(at),
    }))
}

/// Returns the indexes of the ids that belong to no account.
fn strangers(ctx: &Ctx<'_>, ids: &Cell) -> Result<Vec<usize>, Stop> {
    let Cell::List(cells) = ids else { return Ok(Vec::new()) };
    let mut wrong = Vec::new();
    for (at, cell) in cells.iter().enumerate() {
        let Cell::Int(id) = cell else { continue };
        let count = id::local(Space::Root, id.unsigned_abs());
        let there = match count {
            Some(count) => ctx.root().get(key::row(Space::Root, Kind::Account, count))?.is_some(),
            None => false,
        };
        if !there {
            wrong.push(at);
        }
    }
    Ok(wrong)
}

/// `DELETE /admin/engine-tokens/{id}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let root = ctx.root();
    let count =
        id::parse(Space::Root, ctx.params.first().copied().unwrap_or_default()).ok_or(Refusal::NotFound(MISSING))?;
    let row = root.find(Kind::EngineToken, count)?.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    ctx.if_match(&Raw(&row.public))?;
    root.remove(Kind::EngineToken, count, &row)?;
    attached::forget(root, count)?;
    Ok(Reply::ok(&message("Engine token deleted successfully.")))
}
