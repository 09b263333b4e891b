//! `POST /user/assistant/{id}/duplicate`: a copy that may be changed without a risk for the calls of the original.

use alloc::string::String;

use super::operations::{insert, named};
use super::rows;
use super::tables::{Assistant, NewAssistant};
use crate::http::ctx::Ctx;
use crate::http::reply::{Reply, message_data};
use crate::http::route::Handled;
use crate::record;
use crate::record::{MemberSource, Record, Stored, check, text};

/// Longest name of an assistant, characters.
const NAME_MAX: usize = 255;
const MARK: &str = " (copy)";

record! {
    /// Body of a duplication.
    pub struct Duplicate {
        /// Name of the copy; that of the original with ` (copy)` behind it if not given.
        name: Option<String> = text(1, NAME_MAX),
    }
}

/// Creates a copy: inactive, without number, webhooks, and tools that need a secret.
pub fn duplicate(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = named(ctx)?;
    let body: Duplicate = ctx.body()?;
    let original = Assistant::read(&row.public)?;
    let mut members = rows::members(&row)?;
    for name in ["phone_number_id", "webhook_url", "is_webhook_active", "conversation_ended_webhook_url", "tools"] {
        members.remove(name);
    }
    let mut copy: NewAssistant = ctx.finish(check(NewAssistant::TABLE, members, MemberSource::Body))?;
    copy.name = body.name.unwrap_or_else(|| copy_name(&original.name));
    copy.tools = original.tools.into_iter().filter(|tool| !tool.has_secret()).collect();
    let summary = insert(ctx, &copy)?;
    Ok(Reply::created(&message_data("Assistant created successfully", &summary)))
}

fn copy_name(name: &str) -> String {
    let kept: String = name.chars().take(NAME_MAX - MARK.len()).collect();
    kept + MARK
}
