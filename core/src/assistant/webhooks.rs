//! The webhook switches (docs/api.md, Webhook switches).

use alloc::string::String;

use super::operations::MISSING;
use super::rows;
use super::tables::Assistant;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::key::Kind;
use crate::limits::URL_MAX;
use crate::record;
use crate::record::{format, id, text};

record! {
    /// Body of the enable operations.
    pub struct Enable {
        /// Assistant whose webhook is switched on.
        assistant_id: u64 = id().required(),
        /// URL that the webhook is sent to.
        webhook_url: String = text(1, URL_MAX).form(&format::URL).required(),
    }
}

record! {
    /// Body of the disable operations.
    pub struct Disable {
        /// Assistant whose webhook is switched off.
        assistant_id: u64 = id().required(),
    }
}

/// `POST /user/assistants/enable-inbound-webhook`
pub fn enable_inbound(ctx: &Ctx<'_>) -> Handled {
    let body: Enable = ctx.body()?;
    switch(ctx, body.assistant_id, "Webhook enabled successfully", |assistant| {
        assistant.inbound_webhook_url = Some(body.webhook_url.clone());
    })
}

/// `POST /user/assistants/disable-inbound-webhook`
pub fn disable_inbound(ctx: &Ctx<'_>) -> Handled {
    let body: Disable = ctx.body()?;
    switch(ctx, body.assistant_id, "Inbound webhook disabled successfully", |assistant| {
        assistant.inbound_webhook_url = None;
    })
}

/// `POST /user/assistants/enable-webhook`
pub fn enable(ctx: &Ctx<'_>) -> Handled {
    let body: Enable = ctx.body()?;
    switch(ctx, body.assistant_id, "Webhook enabled successfully", |assistant| {
        assistant.webhook_url = Some(body.webhook_url.clone());
        assistant.is_webhook_active = true;
    })
}

/// `POST /user/assistants/disable-webhook`
pub fn disable(ctx: &Ctx<'_>) -> Handled {
    let body: Disable = ctx.body()?;
    switch(ctx, body.assistant_id, "Webhook disabled successfully", |assistant| {
        assistant.webhook_url = None;
        assistant.is_webhook_active = false;
    })
}

fn switch(ctx: &Ctx<'_>, id: u64, says: &str, change: impl FnOnce(&mut Assistant)) -> Handled {
    let account = ctx.account();
    let count = ctx.own(id).ok_or(Refusal::NotFound(MISSING))?;
    let row = account.find(Kind::Assistant, count)?.ok_or(Refusal::NotFound(MISSING))?;
    account.replace(Kind::Assistant, count, &row, &rows::changed(&row, ctx.now, change)?)?;
    let nothing: [u64; 0] = [];
    Ok(Reply::ok(&message_data(says, &nothing[..])))
}
