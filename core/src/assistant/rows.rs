//! Stored assistants: the JSON that the API shows, followed by the tools in clear where these have secrets.

use alloc::string::String;
use alloc::vec::Vec;

use super::built_in::BuiltInTool;
use super::mask;
use super::tables::{Assistant, Direction, NewAssistant, Status};
use crate::collection::{Facet, ids};
use crate::http::ctx::Ctx;
use crate::id;
use crate::json::{self, Members, ToJson};
use crate::key::{self, Kind};
use crate::limits::{DETACHED_BYTES, DETACHED_ROWS, PLAN_ROWS_MAX};
use crate::record::{DecimalText, Field, Flag, Iso, Rest, Stored, defaults};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Tags of the facets under which assistants are indexed.
mod tag {
    pub const TYPE: u8 = 1;
    pub const NUMBER: u8 = 2;
    pub const KNOWLEDGEBASE: u8 = 3;
    pub const TOOL: u8 = 4;
    pub const FOLDER: u8 = 5;
    pub const LABEL: u8 = 6;
}

/// Facet of the assistants of a type.
pub fn facet_of_type(direction: Direction) -> Facet {
    Facet::new(tag::TYPE, direction.word().as_bytes())
}

/// Facet of the assistants that hold a number.
pub fn facet_of_number(count: u32) -> Facet {
    Facet::id(tag::NUMBER, count)
}

/// Facet of the assistants that use a knowledgebase.
pub fn facet_of_knowledgebase(count: u32) -> Facet {
    Facet::id(tag::KNOWLEDGEBASE, count)
}

/// Facet of the assistants to which a tool is attached.
pub fn facet_of_tool(count: u32) -> Facet {
    Facet::id(tag::TOOL, count)
}

/// Facet of the assistants in a folder.
pub fn facet_of_folder(count: u32) -> Facet {
    Facet::id(tag::FOLDER, count)
}

/// Facet of the assistants with a label.
pub fn facet_of_label(count: u32) -> Facet {
    Facet::id(tag::LABEL, count)
}

/// Members of an assistant that its creation body does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Id on the wire.
    pub id: u64,
    /// Id of the account that owns it.
    pub user_id: u64,
    /// UUID that paths take in place of the id.
    pub uuid: String,
    /// Whether it answers calls and serves campaigns.
    pub status: Status,
    /// Whether its first use makes it active: its owner never switched it.
    pub activates_on_use: bool,
    /// URL of the inbound webhook; `None` while it is off.
    pub inbound_webhook_url: Option<String>,
    /// Time of creation, UTC.
    pub created_at: Timestamp,
    /// Time of the last change, UTC; that of creation until then.
    pub updated_at: Timestamp,
    /// Members that only a newer release knows.
    pub rest: Rest,
}

impl Meta {
    /// Takes them from a stored assistant.
    pub fn of(assistant: Assistant) -> Self {
        Self {
            id: assistant.id,
            user_id: assistant.user_id,
            uuid: assistant.uuid,
            status: assistant.status,
            activates_on_use: assistant.activates_on_use,
            inbound_webhook_url: assistant.inbound_webhook_url,
            created_at: assistant.created_at.0,
            updated_at: assistant.updated_at.0,
            rest: assistant.rest,
        }
    }
}

/// Returns the row of a call's assistant; of a deleted one, the copy that was kept for its calls.
pub fn of_call(account: Scope<'_>, count: u32) -> Result<Option<Row>, Stop> {
    match account.find(Kind::Assistant, count)? {
        Some(row) => Ok(Some(row)),
        None => account
            .get(key::part(account.space(), Kind::Assistant, count, 0))?
            .map(|bytes| Row::from_bytes(&bytes))
            .transpose(),
    }
}

/// Reads the built-in tools of a row, secrets in clear.
pub fn tools(row: &Row) -> Result<Vec<BuiltInTool>, Stop> {
    if row.private.is_empty() {
        return Assistant::MEMBERS.tools.read(&row.public);
    }
    let tools = json::parse(&row.private).ok().and_then(Field::from_json);
    tools.ok_or(Assistant::DAMAGED)
}

/// Returns the members that an update is merged into: those of the row, secrets in clear.
pub fn members(row: &Row) -> Result<Members, Stop> {
    let mut members = Assistant::members(&row.public)?;
    if !row.private.is_empty() {
        let tools = json::parse(&row.private).map_err(|_| Assistant::DAMAGED)?;
        members.set(Assistant::MEMBERS.tools.name(), tools);
    }
    let events = Assistant::MEMBERS.inbound_webhook_events;
    if members.get(events.name()).is_none() {
        // Stored by a release that sent both.
        members.set(events.name(), json::parse(&events.read(&row.public)?.to_json()).map_err(|_| Assistant::DAMAGED)?);
    }
    Ok(members)
}

/// Returns the row with `change` applied and a new `updated_at`; secrets stay as they are.
pub fn changed(row: &Row, now: Timestamp, change: impl FnOnce(&mut Assistant)) -> Result<Row, Stop> {
    let mut assistant = Assistant::read(&row.public)?;
    change(&mut assistant);
    assistant.updated_at.0 = assistant.updated_at.0.max(now);
    Ok(Row { facets: facets(&assistant), public: assistant.to_json(), private: row.private.clone() })
}

/// Applies `change` to the assistants of a facet until about [`DETACHED_BYTES`] are rewritten; returns whether all
/// are done.
pub fn detach(scope: Scope<'_>, facet: &Facet, now: Timestamp, change: impl Fn(&mut Assistant)) -> Result<bool, Stop> {
    let all = ids(scope, Kind::Assistant, facet, PLAN_ROWS_MAX)?;
    let (mut left, mut bytes) = (all.as_slice(), 0);
    // Batches double from one row: if rows are large, few are read that this step no longer gets to.
    let mut together = 1;
    while !left.is_empty() && bytes < DETACHED_BYTES {
        let (counts, later) = left.split_at(together.min(left.len()));
        for (count, row) in counts.iter().zip(scope.rows(Kind::Assistant, counts)?) {
            if bytes >= DETACHED_BYTES {
                return Ok(false);
            }
            bytes += row.len();
            let row = Row::from_bytes(&row)?;
            scope.replace(Kind::Assistant, *count, &row, &changed(&row, now, &change)?)?;
        }
        left = later;
        together = (together * 2).min(DETACHED_ROWS);
    }
    Ok(left.is_empty())
}

/// Returns the facets under which an assistant is indexed.
fn facets(assistant: &Assistant) -> Vec<Facet> {
    let mut facets = Vec::from([facet_of_type(assistant.r#type)]);
    facets.extend(assistant.phone_number_id.map(|id| facet_of_number(id::count(id))));
    facets.extend(assistant.knowledgebase_id.map(|id| facet_of_knowledgebase(id::count(id))));
    facets.extend(assistant.tool_ids.iter().map(|id| facet_of_tool(id::count(*id))));
    facets.extend(assistant.folder_id.map(|id| facet_of_folder(id::count(id))));
    facets.extend(assistant.label_ids.iter().map(|id| facet_of_label(id::count(*id))));
    facets
}

/// Builds the row of an assistant; its tools are also stored in clear if one has a secret.
pub fn row(ctx: &Ctx<'_>, new: &NewAssistant, meta: Meta) -> Row {
    let secret = new.tools.iter().any(BuiltInTool::has_secret);
    let private = if secret { new.tools.to_json() } else { Vec::new() };
    let language = ctx.setup.catalogue().language(new.language_id).map(|language| language.name.clone());
    let assistant = form(new, meta, language);
    Row { facets: facets(&assistant), public: assistant.to_json(), private }
}

fn form(new: &NewAssistant, meta: Meta, language: Option<String>) -> Assistant {
    let new = new.clone();
    Assistant {
        id: meta.id,
        user_id: meta.user_id,
        phone_number_id: new.phone_number_id,
        engine_id: None,
        synthesizer_id: None,
        transcriber_id: None,
        voice_id: new.voice_id,
        instance_id: 1,
        language_id: new.language_id,
        flows_platform_id: None,
        name: new.name,
        system_prompt: new.system_prompt,
        initial_message: new.initial_message,
        timezone: new.timezone,
        uuid: meta.uuid,
        language,
        r#type: new.r#type,
        status: meta.status,
        mode: new.mode,
        variables: new.variables,
        post_call_evaluation: new.post_call_evaluation,
        is_webhook_active: new.is_webhook_active,
        record: new.record,
        allow_interruptions: new.allow_interruptions,
        enable_noise_cancellation: new.enable_noise_cancellation,
        wait_for_customer: new.wait_for_customer,
        send_webhook_only_on_completed: new.send_webhook_only_on_completed,
        include_recording_in_webhook: new.include_recording_in_webhook,
        fillers: Flag(new.fillers),
        end_call_on_voicemail: Flag(new.end_call_on_voicemail),
        llm_temperature: DecimalText(new.llm_temperature),
        voice_stability: DecimalText(new.voice_stability),
        voice_similarity: DecimalText(new.voice_similarity),
        speech_speed: DecimalText(new.speech_speed),
        ambient_sound_volume: DecimalText(new.ambient_sound_volume),
        endpoint_sensitivity: new.endpoint_sensitivity,
        interrupt_sensitivity: new.interrupt_sensitivity,
        max_duration: new.max_duration,
        max_silence_duration: new.max_silence_duration,
        reengagement_interval: new.reengagement_interval,
        min_interrupt_words: new.min_interrupt_words,
        endpoint_type: new.endpoint_type,
        ambient_sound: new.ambient_sound,
        transcriber_provider_id: new.transcriber_provider_id,
        synthesizer_provider_id: new.synthesizer_provider_id,
        llm_model_id: new.llm_model_id,
        multimodal_model_id: new.multimodal_model_id,
        knowledgebase_id: new.knowledgebase_id,
        knowledgebase_mode: new.knowledgebase_mode,
        webhook_url: new.webhook_url,
        inbound_webhook_url: meta.inbound_webhook_url,
        post_call_schema: new.post_call_schema,
        tools: mask::tools(new.tools),
        filler_config: new.filler_config.unwrap_or_else(defaults),
        widget_settings: new.widget_settings.unwrap_or_else(defaults),
        created_at: Iso(meta.created_at),
        updated_at: Iso(meta.updated_at),
        deleted_at: None,
        tool_ids: new.tool_ids,
        secondary_language_ids: new.secondary_language_ids,
        chat_llm_fallback_id: new.chat_llm_fallback_id,
        turn_detection_threshold: new.turn_detection_threshold,
        tts_emotion_enabled: new.tts_emotion_enabled,
        max_initial_silence_duration: new.max_initial_silence_duration,
        ringing_time: new.ringing_time,
        reengagement_prompt: new.reengagement_prompt,
        voice_mail_message: new.voice_mail_message,
        folder_id: new.folder_id,
        label_ids: new.label_ids,
        inbound_webhook_events: new.inbound_webhook_events,
        activates_on_use: meta.activates_on_use,
        conversation_ended_webhook_url: new.conversation_ended_webhook_url,
        conversation_inactivity_timeout: new.conversation_inactivity_timeout,
        conversation_ended_retrigger: new.conversation_ended_retrigger,
        rest: meta.rest,
    }
}
