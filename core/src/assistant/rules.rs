//! Rules between an assistant and other rows (docs/api.md, Creating an assistant).

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::rows::{facet_of_number, facet_of_type};
use super::tables::{Assistant, Direction, KnowledgeMode, NewAssistant};
use crate::catalogue::Mode;
use crate::collection::{Query, page};
use crate::http::ctx::Ctx;
use crate::json::{Members, Value};
use crate::key::{self, Kind};
use crate::number;
use crate::record::{Cell, Checked, Choice};
use crate::store::Row;
use crate::view::{Order, Stop};

const VOICE: &str = "The selected voice is not compatible with the chosen engine type.";
const CALLER_ID: &str = "The selected phone number cannot receive calls.";
const TAKEN: &str = "The selected phone number is already assigned to another inbound assistant.";
const SAME_NAME: &str = "The selected tool has the same name as another attached tool.";

/// Members that only `pipeline` has.
const PIPELINE_ONLY: [&str; 3] = [
    Assistant::MEMBERS.fillers.name(),
    Assistant::MEMBERS.transcriber_provider_id.name(),
    Assistant::MEMBERS.llm_model_id.name(),
];
/// Members that only `multimodal` and `dualplex` have.
const MULTIMODAL_ONLY: [&str; 3] = [
    Assistant::MEMBERS.multimodal_model_id.name(),
    Assistant::MEMBERS.chat_llm_fallback_id.name(),
    Assistant::MEMBERS.turn_detection_threshold.name(),
];

/// The assistant before an update.
pub struct UpdateContext {
    /// Count of the assistant, which may keep its own number.
    pub count: u32,
    /// Whether the update changes the mode.
    pub changed_mode: bool,
}

/// Adds the errors that depend on the catalogue or on other rows; `before` is `None` on creation.
pub fn check(ctx: &Ctx<'_>, checked: &mut Checked, before: Option<&UpdateContext>) -> Result<(), Stop> {
    voice(ctx, checked, before);
    number(ctx, checked, before)?;
    tools(ctx, checked)
}

fn voice(ctx: &Ctx<'_>, checked: &mut Checked, before: Option<&UpdateContext>) {
    let (Cell::Int(id), Cell::Text(mode)) = (checked.get("voice_id"), checked.get("mode")) else { return };
    if checked.errors.has("voice_id") {
        return;
    }
    let fits = match ctx.setup.catalogue().voice(id.unsigned_abs()) {
        Some(voice) => voice.modes.iter().any(|fit| fit.word() == mode),
        // A voice that has left the catalogue stays until voice or mode change.
        None => before.is_some_and(|before| !before.changed_mode),
    };
    if !fits {
        checked.errors.add("voice_id", VOICE);
    }
}

fn number(ctx: &Ctx<'_>, checked: &mut Checked, before: Option<&UpdateContext>) -> Result<(), Stop> {
    let (Cell::Int(id), Cell::Text(direction)) = (checked.get("phone_number_id"), checked.get("type")) else {
        return Ok(());
    };
    if checked.errors.has("phone_number_id") || direction != Direction::Inbound.word() {
        return Ok(());
    }
    let Some(count) = ctx.own(id.unsigned_abs()) else { return Ok(()) };
    let own = before.map(|before| before.count);
    let says = if number::is_caller_id(ctx.account(), count)? { CALLER_ID } else { TAKEN };
    if says == CALLER_ID || holder(ctx, count)?.into_iter().any(|holder| Some(holder) != own) {
        checked.errors.add("phone_number_id", says);
    }
    Ok(())
}

/// Returns the inbound assistants that hold a number: at most one, as this very rule ensures.
fn holder(ctx: &Ctx<'_>, number: u32) -> Result<Vec<u32>, Stop> {
    let facets = [facet_of_number(number), facet_of_type(Direction::Inbound)].to_vec();
    Ok(page(ctx.account(), Kind::Assistant, &Query::of(facets, Order::Ascending, 0, 2))?.ids)
}

fn tools(ctx: &Ctx<'_>, checked: &mut Checked) -> Result<(), Stop> {
    let Cell::List(cells) = checked.get("tool_ids") else { return Ok(()) };
    let counts: Vec<Option<u32>> = cells
        .iter()
        .map(|cell| match cell {
            Cell::Int(id) => ctx.own(id.unsigned_abs()),
            _ => None,
        })
        .collect();
    let space = ctx.account().space();
    let keys: Vec<_> = counts.iter().map(|count| key::row(space, Kind::Tool, count.unwrap_or(0))).collect();
    let mut seen = BTreeSet::new();
    for (at, row) in ctx.account().get_many(&keys)?.into_iter().enumerate() {
        let Some(row) = row else { continue };
        // A tool is filed under its name, and under nothing else.
        if !seen.insert(Row::from_bytes(&row)?.facets) {
            checked.errors.add(&format!("tool_ids.{at}"), SAME_NAME);
        }
    }
    Ok(())
}

/// Removes the stored members that the new mode does not have, and those that return to its defaults (docs/api.md,
/// Updating an assistant). Returns whether the mode changes.
pub fn change_mode(old: Mode, stored: &mut Members, supplied: &Members) -> bool {
    let new = supplied.get(Assistant::MEMBERS.mode.name()).and_then(Value::as_text);
    let Some(new) = new.and_then(Mode::of) else { return false };
    if old == new {
        return false;
    }
    let gone: &[&str] = if new == Mode::Pipeline { &MULTIMODAL_ONLY } else { &PIPELINE_ONLY };
    gone.iter().for_each(|name| drop(stored.remove(name)));
    stored.remove(Assistant::MEMBERS.allow_interruptions.name());
    stored.remove(Assistant::MEMBERS.knowledgebase_mode.name());
    true
}

/// Resets the members that apply to other modes only; they were checked like the rest.
pub fn fit(mut new: NewAssistant) -> NewAssistant {
    if new.mode == Mode::Pipeline {
        new.multimodal_model_id = None;
        new.chat_llm_fallback_id = None;
        new.turn_detection_threshold = None;
    } else {
        new.llm_model_id = None;
        new.transcriber_provider_id = None;
        new.fillers = false;
        new.allow_interruptions = true;
        new.knowledgebase_mode = KnowledgeMode::FunctionCall;
    }
    new
}
