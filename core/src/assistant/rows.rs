//! Assistants as they are stored: the JSON that the API shows, and behind it their tools where these have secrets.

use alloc::string::String;
use alloc::vec::Vec;

use super::mask;
use super::tables::{Assistant, BuiltInTool, Direction, FillerConfig, NewAssistant, Status};
use crate::collection::{Facet, ids};
use crate::http::ctx::Ctx;
use crate::id;
use crate::json::{self, Members, ToJson};
use crate::key::{self, Kind};
use crate::limits::{DETACHED_BYTES, DETACHED_ROWS, PLAN_ROWS_MAX};
use crate::record::{DecimalText, Field, Flag, Iso, Rest, Stored, Variables};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// The filters of assistants.
mod tag {
    pub const TYPE: u8 = 1;
    pub const NUMBER: u8 = 2;
    pub const KNOWLEDGEBASE: u8 = 3;
    pub const TOOL: u8 = 4;
}

/// Assistants of a type.
pub fn facet_of_type(direction: Direction) -> Facet {
    Facet::new(tag::TYPE, direction.word().as_bytes())
}

/// Assistants that hold a number.
pub fn facet_of_number(count: u32) -> Facet {
    Facet::id(tag::NUMBER, count)
}

/// Assistants that use a knowledgebase.
pub fn facet_of_knowledgebase(count: u32) -> Facet {
    Facet::id(tag::KNOWLEDGEBASE, count)
}

/// Assistants to which a tool is attached.
pub fn facet_of_tool(count: u32) -> Facet {
    Facet::id(tag::TOOL, count)
}

/// What an assistant has besides what its creation says.
#[derive(Clone, Debug, PartialEq)]
pub struct Meta {
    /// Its id.
    pub id: u64,
    /// Its account's id.
    pub user_id: u64,
    /// Its unique identifier.
    pub uuid: String,
    /// Whether it answers.
    pub status: Status,
    /// Where the inbound webhook goes.
    pub inbound_webhook_url: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Members that only a newer release knows.
    pub rest: Rest,
}

impl Meta {
    /// That of a stored assistant.
    pub fn of(assistant: Assistant) -> Self {
        Self {
            id: assistant.id,
            user_id: assistant.user_id,
            uuid: assistant.uuid,
            status: assistant.status,
            inbound_webhook_url: assistant.inbound_webhook_url,
            created_at: assistant.created_at.0,
            updated_at: assistant.updated_at.0,
            rest: assistant.rest,
        }
    }
}

/// The row of a call's assistant: of a deleted one what was kept for its calls.
pub fn of_call(account: Scope<'_>, count: u32) -> Result<Option<Row>, Stop> {
    match account.find(Kind::Assistant, count)? {
        Some(row) => Ok(Some(row)),
        None => account
            .get(key::part(account.space(), Kind::Assistant, count, 0))?
            .map(|bytes| Row::from_bytes(&bytes))
            .transpose(),
    }
}

/// The built-in tools of a row, secrets in clear.
pub fn tools(row: &Row) -> Result<Vec<BuiltInTool>, Stop> {
    if row.private.is_empty() {
        return Assistant::MEMBERS.tools.read(&row.public);
    }
    let tools = json::parse(&row.private).ok().and_then(Field::from_json);
    tools.ok_or(Assistant::DAMAGED)
}

/// What an update is laid over: the members of a row, secrets in clear.
pub fn members(row: &Row) -> Result<Members, Stop> {
    let mut members = Assistant::members(&row.public)?;
    if !row.private.is_empty() {
        let tools = json::parse(&row.private).map_err(|_| Assistant::DAMAGED)?;
        members.set(Assistant::MEMBERS.tools.name(), tools);
    }
    Ok(members)
}

/// A row with a changed assistant and a new `updated_at`; its secrets stay.
pub fn changed(row: &Row, now: Timestamp, change: impl FnOnce(&mut Assistant)) -> Result<Row, Stop> {
    let mut assistant = Assistant::read(&row.public)?;
    change(&mut assistant);
    assistant.updated_at.0 = assistant.updated_at.0.max(now);
    Ok(Row { facets: facets(&assistant), public: assistant.to_json(), private: row.private.clone() })
}

/// Takes something away from the assistants of a set, as many as one step may; tells whether it was all of them.
pub fn detach(scope: Scope<'_>, facet: &Facet, now: Timestamp, change: impl Fn(&mut Assistant)) -> Result<bool, Stop> {
    let all = ids(scope, Kind::Assistant, facet, PLAN_ROWS_MAX)?;
    let (mut left, mut bytes) = (all.as_slice(), 0);
    // The first row tells whether they are large: then few of the next are read only to be left.
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

/// The filters under which an assistant is filed.
fn facets(assistant: &Assistant) -> Vec<Facet> {
    let mut facets = Vec::from([facet_of_type(assistant.r#type)]);
    facets.extend(assistant.phone_number_id.map(|id| facet_of_number(id::count(id))));
    facets.extend(assistant.knowledgebase_id.map(|id| facet_of_knowledgebase(id::count(id))));
    facets.extend(assistant.tool_ids.iter().map(|id| facet_of_tool(id::count(*id))));
    facets
}

/// The row of an assistant.
pub fn row(ctx: &Ctx<'_>, new: &NewAssistant, meta: Meta) -> Row {
    let secret = new.tools.iter().any(|tool| matches!(tool, BuiltInTool::CalendarIntegration(_)));
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
        filler_config: FillerConfig {
            neutral: Vec::new(),
            negative: Vec::new(),
            positive: Vec::new(),
            question: Vec::new(),
            rest: Rest::default(),
        },
        widget_settings: Variables::default(),
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
        rest: meta.rest,
    }
}
