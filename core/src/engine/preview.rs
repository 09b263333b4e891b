//! `POST /user/assistant/{id}/preview`: the texts of a call before one is placed.

use alloc::string::String;
use alloc::vec::Vec;

use super::values::{self, filled};
use crate::assistant::named;
use crate::assistant::tables::Assistant;
use crate::http::ctx::Ctx;
use crate::http::refusal::Refusal;
use crate::http::reply::{Reply, data};
use crate::http::route::Handled;
use crate::record;
use crate::record::{Stored, Variables, int, text, texts, variables};

const LARGE: &str = "The filled texts of the assistant are larger than 1 MiB.";

record! {
    /// Body of a preview.
    pub struct PreviewBody {
        /// Variables of the call, laid over those of the assistant.
        variables: Variables = variables(),
    }
}

record! {
    /// The texts of an assistant as a call would have them.
    pub struct Preview {
        /// The prompt, filled in.
        system_prompt: String = text(0, 255).required(),
        /// The greeting, filled in.
        initial_message: String = text(0, 255).required(),
        /// Size of prompt and greeting together, bytes.
        bytes: u32 = int(0, 4_294_967_295).required(),
        /// Names of placeholders without a value; they stay in the texts as they are.
        unknown: Vec<String> = texts(&NAME, 0),
    }
}

/// Bounds of a placeholder's name.
static NAME: record::ColumnType = record::ColumnType::Text { min: 1, max: 255, format: None };

/// Fills in the texts with the variables of a call that nobody is on.
pub fn preview(ctx: &Ctx<'_>) -> Handled {
    let (_, row) = named(ctx)?;
    let body: PreviewBody = ctx.body()?;
    let assistant = Assistant::read(&row.public)?;
    let values = values::without_call(&assistant, &body.variables.0, ctx.now);
    let filled = filled(&values, &assistant).map_err(|_| Refusal::Unprocessable(LARGE.into()))?;
    let (system_prompt, initial_message) = (filled.prompt.unwrap_or_default(), filled.greeting.unwrap_or_default());
    let bytes = u32::try_from(system_prompt.len() + initial_message.len()).unwrap_or(u32::MAX);
    Ok(Reply::ok(&data(&Preview { system_prompt, initial_message, bytes, unknown: filled.unknown })))
}
