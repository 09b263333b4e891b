//! Rules between an assistant and other rows (docs/api.md, Creating an assistant).

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::built_in::BuiltInTool;
use super::rows::{facet_of_number, facet_of_type};
use super::tables::{Assistant, Direction, KnowledgeMode, NewAssistant};
use crate::catalogue::Mode;
use crate::collection::{Query, page};
use crate::http::ctx::Ctx;
use crate::http::refs;
use crate::json::{self, Members, ToJson, Value};
use crate::key::{self, Kind};
use crate::limits::WIDGET_ENTRIES_MAX;
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
    /// Whether its UUID leads to its account.
    pub leads: bool,
    /// Ids that its tools and widget named before; what they name may have been deleted since.
    pub kept: BTreeSet<u64>,
}

/// Adds the errors that depend on the catalogue or on other rows; `before` is `None` on creation.
pub fn check(ctx: &Ctx<'_>, checked: &mut Checked, before: Option<&UpdateContext>) -> Result<(), Stop> {
    voice(ctx, checked, before);
    number(ctx, checked, before)?;
    tools(ctx, checked)?;
    widget(checked);
    leads(checked, before);
    let kept = before.map_or(&EMPTY, |before| &before.kept);
    refs::check_inside(ctx, checked, &["tools", "widget_settings"], kept)?;
    itself(ctx, checked, before);
    Ok(())
}

static EMPTY: BTreeSet<u64> = BTreeSet::new();

/// Returns the ids that the tools and the widget of an assistant name.
pub fn references(assistant: &Assistant) -> BTreeSet<u64> {
    let tools = assistant.tools.iter().filter_map(BuiltInTool::reference);
    tools.chain(assistant.widget_settings.tool_ids.iter().copied()).collect()
}

/// Lays the supplied settings of the widget over the stored ones.
pub fn merge_widget(before: &Assistant, supplied: &mut Members) {
    let Some((_, Value::Object(settings))) = supplied.0.iter_mut().find(|(name, _)| name == "widget_settings") else {
        return;
    };
    let Ok(Value::Object(mut merged)) = json::parse(&before.widget_settings.to_json()) else { return };
    core::mem::take(settings).0.into_iter().for_each(|(name, value)| merged.set(&name, value));
    *settings = merged;
}

/// A widget has fewer variables than a call.
fn widget(checked: &mut Checked) {
    let Cell::Record(cells) = checked.get("widget_settings") else { return };
    let variables = cells.iter().find_map(|cell| match cell {
        Cell::Object(members) => Some(members.0.len()),
        _ => None,
    });
    if variables.is_some_and(|count| count > WIDGET_ENTRIES_MAX) {
        let says = format!("field must not have more than {WIDGET_ENTRIES_MAX} items.");
        checked.errors.say("widget_settings.variables", &says);
    }
}

/// Strangers find an assistant by a UUID that leads to its account, which those of earlier releases do not.
fn leads(checked: &mut Checked, before: Option<&UpdateContext>) {
    let Some(UpdateContext { leads: false, .. }) = before else { return };
    let Cell::Record(cells) = checked.get("widget_settings") else { return };
    if cells.first() == Some(&Cell::Bool(true)) {
        let says = "field must be false for an assistant of an earlier release; a duplicate of it may be opened.";
        checked.errors.say("widget_settings.enabled", says);
    }
}

/// An assistant hands no call to itself.
fn itself(ctx: &Ctx<'_>, checked: &mut Checked, before: Option<&UpdateContext>) {
    let (Some(before), Cell::List(cells)) = (before, checked.get("tools")) else { return };
    let own = Cell::Int(i64::try_from(ctx.id(before.count)).unwrap_or_default());
    let is_own = |cell: &Cell| matches!(cell, Cell::Tagged("assistant_transfer", cells) if cells.first() == Some(&own));
    let fields: Vec<_> = cells.iter().enumerate().filter(|(_, cell)| is_own(cell)).map(|(at, _)| at).collect();
    for at in fields {
        checked.errors.say(&format!("tools.{at}.assistant_id"), "field must name another assistant.");
    }
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
