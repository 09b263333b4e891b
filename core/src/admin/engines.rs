//! Engines, as the operator sees them.

use super::tables::{Draining, ShownEngine};
use crate::account::attached::{self, AttachedEngine};
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, data, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::record::Iso;
use crate::view::Stop;

const MISSING: &str = "Engine not found";

/// `GET /admin/engines`
pub fn all(ctx: &Ctx<'_>) -> Handled {
    let heard_of = attached::all_heard_of(ctx.root())?;
    let shown: Result<alloc::vec::Vec<_>, Stop> =
        heard_of.into_iter().map(|(token, engine)| shown(ctx, token, engine)).collect();
    Ok(Reply::ok(&data(&shown?)))
}

/// `POST /admin/engines/{id}/drain`
pub fn drain(ctx: &Ctx<'_>) -> Handled {
    let id = ctx.params.first().and_then(|text| id::parse_any(text)).ok_or(Refusal::NotFound(MISSING))?;
    let heard_of = attached::all_heard_of(ctx.root())?;
    let found = heard_of.into_iter().find(|(token, engine)| attached::id_of(*token, &engine.name) == id);
    let (token, engine) = found.ok_or(Refusal::NotFound(MISSING))?;
    let body: Draining = ctx.body()?;
    attached::drain(ctx.root(), token, &engine.name, body.drain)?;
    let said = if body.drain { "The engine gets no more calls." } else { "The engine gets calls again." };
    Ok(Reply::accepted(&message_data(said, &shown(ctx, token, engine)?)))
}

fn shown(ctx: &Ctx<'_>, token: u32, engine: AttachedEngine) -> Result<ShownEngine, Stop> {
    let AttachedEngine { name, protocol, about, seen_at, .. } = engine;
    let about = about.unwrap_or_default();
    Ok(ShownEngine {
        id: attached::id_of(token, &name),
        token_id: token.into(),
        draining: attached::is_drained(ctx.root(), token, &name)?,
        name,
        version: about.version,
        host: about.host,
        protocol,
        legs: about.legs,
        capacity: about.capacity,
        running: about.running,
        load: about.load,
        web_url: about.web_url,
        seen_at: Iso(seen_at),
    })
}
