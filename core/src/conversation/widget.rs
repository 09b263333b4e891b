//! What the widget of a page needs before anybody has said a word, and its calls by voice (docs/widget.md).

use super::open;
use super::send::NO_BALANCE;
use super::tables::{ConversationType, Widget};
use super::visit;
use crate::account::profile::Profile;
use crate::assistant::{self, visited};
use crate::call::web::{self, AwaitedCall, OpenWebCall};
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::key::Kind;

/// `GET /widgets/{uuid}`. It begins no conversation and counts nothing.
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let uuid = ctx.params.first().copied().unwrap_or_default();
    let (account, talk) = open::named(ctx, uuid, ConversationType::Widget)?;
    let settings = talk.assistant.widget_settings;
    let voice = settings.voice && web::has_door(ctx, account)?;
    Ok(Reply::ok(&Widget {
        status: true,
        title: settings.title.unwrap_or(talk.assistant.name),
        color: settings.color,
        position: settings.position,
        theme: settings.theme,
        voice,
    }))
}

/// `POST /widgets/{uuid}/web_calls`
pub fn call(ctx: &Ctx<'_>) -> Handled {
    let uuid = ctx.params.first().copied().unwrap_or_default();
    let (account, talk) = open::named(ctx, uuid, ConversationType::Widget)?;
    let settings = &talk.assistant.widget_settings;
    let missing = || Refusal::NotFound(assistant::MISSING);
    if ctx.caller.is_none() && !settings.voice {
        return Err(missing().into());
    }
    if Profile::of(account)?.state.is_used_up() {
        return Err(Refusal::Declined(NO_BALANCE.into()).into());
    }
    if ctx.caller.is_none() {
        visit::begin_visit(ctx, account)?;
        visited::call(account, talk.count, settings, ctx.now)?;
    }
    let row = account.find(Kind::Assistant, talk.count)?.ok_or_else(missing)?;
    let awaited = web::await_browser(ctx, account, (talk.count, &row), settings.variables.clone())?;
    let AwaitedCall { token, expires_at, engine_url, .. } = awaited;
    Ok(Reply::ok(&OpenWebCall { status: true, token, expires_at, engine_url }))
}
