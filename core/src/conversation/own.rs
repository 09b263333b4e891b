//! What the account does with its conversations: read one whole, delete it, take over from its assistant.

use super::open::MISSING;
use super::rows::{ConversationMessage, ConversationRow};
use super::tables::{AiSwitched, Conversation, WholeConversation};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message};
use crate::http::route::Handled;
use crate::job::{self, Task};
use crate::key::Kind;
use crate::view::Stop;
use crate::webhook;

/// `GET /user/conversations/{uuid}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let conversation = named(ctx)?;
    Ok(Reply::ok(&whole(ctx, &conversation)?))
}

/// `DELETE /user/conversations/{uuid}`
pub fn delete(ctx: &Ctx<'_>) -> Handled {
    let conversation = named(ctx)?;
    ctx.if_match(&whole(ctx, &conversation)?)?;
    let (account, count) = (ctx.account(), conversation.count);
    conversation.remove(account)?;
    job::cancel(account, &Task::EndConversation(count))?;
    webhook::erase(account, &[(Kind::Conversation, count)], ctx.now)?;
    // Its messages may have a megabyte: a job deletes them in slices.
    job::add(account, ctx.now, Task::DropParts(Kind::Conversation, count))?;
    Ok(Reply::ok(&message("Conversation deleted successfully")))
}

/// `POST /automate/conversations/{uuid}/enable-ai`
pub fn enable_ai(ctx: &Ctx<'_>) -> Handled {
    switch(ctx, true)
}

/// `POST /automate/conversations/{uuid}/disable-ai`
pub fn disable_ai(ctx: &Ctx<'_>) -> Handled {
    switch(ctx, false)
}

fn switch(ctx: &Ctx<'_>, ai_enabled: bool) -> Handled {
    let mut conversation = named(ctx)?;
    if conversation.shown.ai_enabled != ai_enabled {
        conversation.shown.ai_enabled = ai_enabled;
        conversation.save(ctx.account(), ctx.now)?;
    }
    Ok(Reply::ok(&AiSwitched { status: true, ai_enabled }))
}

fn named(ctx: &Ctx<'_>) -> Result<ConversationRow, Halt> {
    let uuid = ctx.params.first().copied().unwrap_or_default();
    let found = ConversationRow::named(ctx.account(), uuid)?.ok_or(Refusal::NotFound(MISSING))?;
    ctx.unread()?;
    Ok(found)
}

fn whole(ctx: &Ctx<'_>, conversation: &ConversationRow) -> Result<WholeConversation, Stop> {
    let messages = conversation.messages(ctx.account())?;
    let shown: Conversation = conversation.shown.clone();
    Ok(WholeConversation {
        status: true,
        id: shown.id,
        assistant_id: shown.assistant_id,
        assistant_name: shown.assistant_name,
        r#type: shown.r#type,
        variables: shown.variables,
        external_identifier: shown.external_identifier,
        message_count: shown.message_count,
        total_cost: shown.total_cost,
        ai_enabled: shown.ai_enabled,
        created_at: shown.created_at,
        updated_at: shown.updated_at,
        customer: shown.customer,
        evaluation: shown.evaluation,
        history: messages.iter().map(|message: &ConversationMessage| message.shown(true)).collect(),
    })
}
