//! `GET /widgets/{uuid}`: what the widget of a page needs before anybody has said a word (docs/widget.md). It begins no
//! conversation and counts nothing.

use super::open;
use super::tables::{ConversationType, Widget};
use crate::http::ctx::Ctx;
use crate::http::reply::Reply;
use crate::http::route::Handled;

/// `GET /widgets/{uuid}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let uuid = ctx.params.first().copied().unwrap_or_default();
    let (_, talk) = open::named(ctx, uuid, ConversationType::Widget)?;
    let settings = talk.assistant.widget_settings;
    Ok(Reply::ok(&Widget {
        status: true,
        title: settings.title.unwrap_or(talk.assistant.name),
        color: settings.color,
        position: settings.position,
        theme: settings.theme,
    }))
}
