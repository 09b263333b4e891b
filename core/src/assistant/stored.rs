//! The stored form: from what was checked to the JSON that the list shows, and back.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::mask;
use super::tables::{Assistant, BuiltInTool, Direction, FillerConfig, NewAssistant, Status};
use crate::collection::{Facet, ids};
use crate::http::ctx::Ctx;
use crate::id;
use crate::json::{self, Members, ToJson, Value};
use crate::key::Kind;
use crate::limits::{DETACHED_BYTES, DETACHED_ROWS, PLAN_ROWS_MAX};
use crate::record::{DecimalText, Flag, Iso, Variables};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("an assistant has an unknown form");

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
}

impl Meta {
    /// Reads it from the stored members.
    pub fn of(members: &Members) -> Result<Self, Stop> {
        let text = |name: &str| members.get(name).and_then(Value::as_text).ok_or(DAMAGED);
        let time = |name: &str| members.time(name).ok_or(DAMAGED);
        let number = |name: &str| members.get(name).and_then(Value::as_u64).ok_or(DAMAGED);
        let status = if text("status")? == Status::Active.word() { Status::Active } else { Status::Inactive };
        Ok(Self {
            id: number("id")?,
            user_id: number("user_id")?,
            uuid: text("uuid")?.to_string(),
            status,
            inbound_webhook_url: members.get("inbound_webhook_url").and_then(Value::as_text).map(ToString::to_string),
            created_at: time("created_at")?,
            updated_at: time("updated_at")?,
        })
    }
}

/// The members of a stored row, secrets in clear: the creation table reads them back.
pub fn members(row: &Row) -> Result<Members, Stop> {
    let mut members = row.members(DAMAGED)?;
    if !row.private.is_empty() {
        members.set("tools", json::parse(&row.private).map_err(|_| DAMAGED)?);
    }
    Ok(members)
}

/// A stored row with some members changed and a new `updated_at`.
pub fn changed(row: &Row, now: Timestamp, change: impl FnOnce(&mut Members)) -> Result<Row, Stop> {
    let mut members = row.members(DAMAGED)?;
    change(&mut members);
    let updated_at = Meta::of(&members)?.updated_at.max(now);
    members.set("updated_at", Value::Text(updated_at.iso()));
    Ok(Row { facets: facets(&members)?, public: members.to_json(), private: row.private.clone() })
}

/// Takes something away from the assistants of a set, as many as one step may; tells whether it was all of them.
pub fn detach(scope: Scope<'_>, facet: &Facet, now: Timestamp, change: impl Fn(&mut Members)) -> Result<bool, Stop> {
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

/// The filters under which stored members are filed.
fn facets(members: &Members) -> Result<Vec<Facet>, Stop> {
    let count = |value: &Value| value.as_u64().map(id::count).ok_or(DAMAGED);
    let kind = members.get("type").and_then(Value::as_text).ok_or(DAMAGED)?;
    let mut facets = Vec::from([Facet::new(tag::TYPE, kind.as_bytes())]);
    for (name, facet) in
        [("phone_number_id", facet_of_number as fn(u32) -> Facet), ("knowledgebase_id", facet_of_knowledgebase)]
    {
        if let Some(value) = members.get(name).filter(|value| **value != Value::Null) {
            facets.push(facet(count(value)?));
        }
    }
    for value in members.get("tool_ids").and_then(Value::as_list).unwrap_or_default() {
        facets.push(facet_of_tool(count(value)?));
    }
    Ok(facets)
}

/// The row of an assistant.
pub fn row(ctx: &Ctx<'_>, new: &NewAssistant, meta: Meta) -> Row {
    let local = |id: u64| id::local(ctx.account().space(), id).unwrap_or(0);
    let mut facets = Vec::from([facet_of_type(new.r#type)]);
    facets.extend(new.phone_number_id.map(|id| facet_of_number(local(id))));
    facets.extend(new.knowledgebase_id.map(|id| facet_of_knowledgebase(local(id))));
    facets.extend(new.tool_ids.iter().map(|id| facet_of_tool(local(*id))));
    let secret = new.tools.iter().any(|tool| matches!(tool, BuiltInTool::CalendarIntegration(_)));
    let private = if secret { new.tools.to_json() } else { Vec::new() };
    let language = ctx.setup.catalogue().language(new.language_id).map(|language| language.name.clone());
    Row { facets, public: form(new, meta, language).to_json(), private }
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
    }
}
