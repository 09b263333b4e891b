//! The webhook switches (docs/api.md, Webhook switches).

use alloc::string::String;

use super::operations::{MISSING, named};
use super::rows;
use super::tables::Assistant;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::json::Raw;
use crate::key::Kind;
use crate::limits::URL_MAX;
use crate::record;
use crate::record::{Cell, Record, format, id, text};
use crate::store::Row;

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

record! {
    /// Body of the enable operations whose path names the assistant.
    pub struct EnableThis {
        /// The assistant in the path, again.
        assistant_id: Option<u64> = id(),
        /// URL that the webhook is sent to.
        webhook_url: String = text(1, URL_MAX).form(&format::URL).required(),
    }
}

record! {
    /// Body of the disable operations whose path names the assistant.
    pub struct DisableThis {
        /// The assistant in the path, again.
        assistant_id: Option<u64> = id(),
    }
}

/// A webhook of an assistant.
#[derive(Clone, Copy)]
enum Webhook {
    /// Sent when an inbound call ends.
    Inbound,
    /// Sent after a call.
    PostCall,
    /// Sent when a conversation ends.
    ConversationEnded,
}

impl Webhook {
    fn set(self, assistant: &mut Assistant, url: Option<String>) {
        match self {
            Self::Inbound => assistant.inbound_webhook_url = url,
            Self::PostCall => {
                assistant.is_webhook_active = url.is_some();
                assistant.webhook_url = url;
            }
            Self::ConversationEnded => assistant.conversation_ended_webhook_url = url,
        }
    }

    const fn enabled(self) -> &'static str {
        match self {
            Self::Inbound | Self::PostCall => "Webhook enabled successfully",
            Self::ConversationEnded => "Conversation ended webhook enabled successfully",
        }
    }

    const fn disabled(self) -> &'static str {
        match self {
            Self::Inbound => "Inbound webhook disabled successfully",
            Self::PostCall => "Webhook disabled successfully",
            Self::ConversationEnded => "Conversation ended webhook disabled successfully",
        }
    }
}

/// `POST /user/assistants/enable-inbound-webhook`
pub fn enable_inbound(ctx: &Ctx<'_>) -> Handled {
    enable(ctx, Webhook::Inbound)
}

/// `POST /user/assistants/disable-inbound-webhook`
pub fn disable_inbound(ctx: &Ctx<'_>) -> Handled {
    disable(ctx, Webhook::Inbound)
}

/// `POST /user/assistants/enable-webhook`
pub fn enable_post_call(ctx: &Ctx<'_>) -> Handled {
    enable(ctx, Webhook::PostCall)
}

/// `POST /user/assistants/disable-webhook`
pub fn disable_post_call(ctx: &Ctx<'_>) -> Handled {
    disable(ctx, Webhook::PostCall)
}

/// `POST /user/assistant/{id}/enable-inbound-webhook`
pub fn enable_this_inbound(ctx: &Ctx<'_>) -> Handled {
    enable_this(ctx, Webhook::Inbound)
}

/// `POST /user/assistant/{id}/disable-inbound-webhook`
pub fn disable_this_inbound(ctx: &Ctx<'_>) -> Handled {
    disable_this(ctx, Webhook::Inbound)
}

/// `DELETE /user/assistants/{id}/inbound-webhook`
pub fn remove_inbound(ctx: &Ctx<'_>) -> Handled {
    remove(ctx, Webhook::Inbound)
}

/// `POST /user/assistant/{id}/enable-webhook`
pub fn enable_this_post_call(ctx: &Ctx<'_>) -> Handled {
    enable_this(ctx, Webhook::PostCall)
}

/// `POST /user/assistant/{id}/disable-webhook`
pub fn disable_this_post_call(ctx: &Ctx<'_>) -> Handled {
    disable_this(ctx, Webhook::PostCall)
}

/// `DELETE /user/assistants/{id}/webhook`
pub fn remove_post_call(ctx: &Ctx<'_>) -> Handled {
    remove(ctx, Webhook::PostCall)
}

/// `POST /user/assistants/enable-conversation-ended-webhook`
pub fn enable_conversation_ended(ctx: &Ctx<'_>) -> Handled {
    enable(ctx, Webhook::ConversationEnded)
}

/// `POST /user/assistants/disable-conversation-ended-webhook`
pub fn disable_conversation_ended(ctx: &Ctx<'_>) -> Handled {
    disable(ctx, Webhook::ConversationEnded)
}

/// `POST /user/assistants/{id}/conversation-ended-webhook`
pub fn enable_this_conversation_ended(ctx: &Ctx<'_>) -> Handled {
    enable_this(ctx, Webhook::ConversationEnded)
}

/// `DELETE /user/assistants/{id}/conversation-ended-webhook`
pub fn remove_conversation_ended(ctx: &Ctx<'_>) -> Handled {
    remove(ctx, Webhook::ConversationEnded)
}

fn enable(ctx: &Ctx<'_>, webhook: Webhook) -> Handled {
    let body: Enable = ctx.body()?;
    switch(ctx, webhook, &of_body(ctx, body.assistant_id)?, Some(body.webhook_url))
}

fn disable(ctx: &Ctx<'_>, webhook: Webhook) -> Handled {
    let body: Disable = ctx.body()?;
    switch(ctx, webhook, &of_body(ctx, body.assistant_id)?, None)
}

fn enable_this(ctx: &Ctx<'_>, webhook: Webhook) -> Handled {
    let found = named(ctx)?;
    let body: EnableThis = this(ctx, found.0)?;
    switch(ctx, webhook, &found, Some(body.webhook_url))
}

fn disable_this(ctx: &Ctx<'_>, webhook: Webhook) -> Handled {
    let found = named(ctx)?;
    this::<DisableThis>(ctx, found.0)?;
    switch(ctx, webhook, &found, None)
}

fn remove(ctx: &Ctx<'_>, webhook: Webhook) -> Handled {
    let found = named(ctx)?;
    ctx.if_match(&Raw(&found.1.public))?;
    switch(ctx, webhook, &found, None)
}

fn of_body(ctx: &Ctx<'_>, id: u64) -> Result<(u32, Row), Halt> {
    let count = ctx.own(id).ok_or(Refusal::NotFound(MISSING))?;
    let row = ctx.account().find(Kind::Assistant, count)?.ok_or(Refusal::NotFound(MISSING))?;
    Ok((count, row))
}

/// Returns the body, whose `assistant_id` must be that of the path where it is given.
fn this<T: Record>(ctx: &Ctx<'_>, count: u32) -> Result<T, Halt> {
    let mut checked = ctx.checked::<T>()?;
    if let Cell::Int(id) = *checked.get("assistant_id")
        && u64::try_from(id).ok() != Some(ctx.id(count))
    {
        checked.errors.say("assistant_id", "field must be the assistant in the path.");
    }
    ctx.finish(checked)
}

fn switch(ctx: &Ctx<'_>, webhook: Webhook, (count, row): &(u32, Row), url: Option<String>) -> Handled {
    let says = if url.is_some() { webhook.enabled() } else { webhook.disabled() };
    let changed = rows::changed(row, ctx.now, |assistant| webhook.set(assistant, url))?;
    ctx.account().replace(Kind::Assistant, *count, row, &changed)?;
    let nothing: [u64; 0] = [];
    Ok(Reply::ok(&message_data(says, &nothing[..])))
}
