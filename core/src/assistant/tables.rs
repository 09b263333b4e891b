//! The assistant's tables: the body of a creation, and the stored form (docs/api.md, Assistants).

use alloc::string::String;
use alloc::vec::Vec;

use crate::catalogue::Mode;
use crate::key::Kind;
use crate::limits::{ENTRIES_MAX, URL_MAX};
use crate::record::{
    Column, DecimalText, Flag, Hundredths, Iso, Literal, Record, Ref, Secret, Table, Variables, boolean, choice,
    decimal, fixed, flag, form_unless, format, hundredths, id, ids, int, iso, list, number, require, tagged, text,
    texts, variables,
};
use crate::{choice, record, tagged};

choice! {
    /// Which way an assistant's calls go.
    pub enum Direction {
        /// It takes calls.
        Inbound = "inbound",
        /// It places calls.
        Outbound = "outbound",
    }
}

choice! {
    /// Whether an assistant answers calls and serves campaigns.
    pub enum Status {
        /// It does.
        Active = "active",
        /// It does not.
        Inactive = "inactive",
    }
}

choice! {
    /// How a knowledgebase reaches the model.
    pub enum KnowledgeMode {
        /// The AI calls a function to search.
        FunctionCall = "function_call",
        /// Knowledge is injected into the prompt; pipeline only.
        Prompt = "prompt",
    }
}

choice! {
    /// How the end of a turn is found.
    pub enum EndpointType {
        /// By voice activity.
        Vad = "vad",
        /// By a model.
        Ai = "ai",
    }
}

choice! {
    /// Background sounds.
    pub enum AmbientSound {
        /// None.
        Off = "off",
        /// An office.
        Office = "office",
        /// A city.
        City = "city",
        /// A forest.
        Forest = "forest",
        /// A crowded room.
        CrowdedRoom = "crowded_room",
        /// A cafe.
        Cafe = "cafe",
        /// Nature.
        Nature = "nature",
    }
}

choice! {
    /// Types of extracted fields.
    pub enum ExtractType {
        /// Text.
        String = "string",
        /// A number.
        Number = "number",
        /// True or false.
        Bool = "bool",
    }
}

record! {
    /// A field to extract after a call.
    pub struct Extract stored as "an assistant" {
        /// Its name.
        name: String = text(3, 16).form(&format::EXTRACT_NAME).required(),
        /// Its type.
        r#type: ExtractType = choice::<ExtractType>().required(),
        /// What it means.
        description: String = text(3, 255).required(),
    }
}

record! {
    /// Hands the call to a person.
    pub struct CallTransfer stored as "an assistant" {
        /// The number to transfer to, E.164; any text when `custom`.
        phone_number: String = text(1, 64).required(),
        /// When to transfer.
        description: Option<String> = text(1, 1_000).sparse(),
        /// Whether the AI may choose the number.
        custom: Option<bool> = boolean().sparse(),
        /// The zone of its availability.
        timezone: Option<String> = text(1, 64).form(&format::ZONE).sparse(),
    } rules {
        form_unless("phone_number", &format::E164, "custom", &["true"]),
    }
}

record! {
    /// Ends the call.
    pub struct EndCall stored as "an assistant" {
        /// When the AI ends the call.
        description: Option<String> = text(1, 1_000).sparse(),
    }
}

record! {
    /// Sends keypad tones.
    pub struct DtmfInput stored as "an assistant" {
        /// When to send them.
        description: Option<String> = text(1, 1_000).sparse(),
    }
}

record! {
    /// Offers times and books them through an external calendar service.
    pub struct CalendarIntegration stored as "an assistant" {
        /// The key of the calendar service; shown masked.
        calendar_api_key: Secret = text(1, 255).alias(&["calcom_api_key"]).required(),
        /// The event to book.
        calendar_event_slug: String = text(1, 255).alias(&["calcom_event_slug"]).required(),
        /// When to offer scheduling.
        description: Option<String> = text(1, 1_000).sparse(),
    }
}

tagged! {
    /// A built-in tool.
    pub enum BuiltInTool {
        /// Hands the call to a person.
        CallTransfer(CallTransfer) = "call_transfer",
        /// Ends the call.
        EndCall(EndCall) = "end_call",
        /// Sends keypad tones.
        DtmfInput(DtmfInput) = "dtmf_input",
        /// Books through a calendar service.
        CalendarIntegration(CalendarIntegration) = "calendar_integration",
    }
}

/// The modes with a multimodal model.
const MULTIMODAL: &[&str] = &["multimodal", "dualplex"];

record! {
    /// Body of `POST /user/assistant`.
    pub struct NewAssistant {
        /// Its name.
        name: String = text(1, 255).required(),
        /// A voice that fits the mode.
        voice_id: u64 = id().exists(Ref::Voice).required(),
        /// The language it speaks.
        language_id: u64 = id().exists(Ref::Language).required(),
        /// Which way its calls go.
        r#type: Direction = choice::<Direction>().required(),
        /// The engine mode.
        mode: Mode = choice::<Mode>().required(),
        /// An IANA time zone, Region/City.
        timezone: String = text(1, 64).form(&format::ZONE).required(),
        /// Spoken when the call starts.
        initial_message: String = text(1, 200).required(),
        /// Behaviour and personality.
        system_prompt: String = text(1, 1_000_000).required(),
        /// The LLM; required for `pipeline`.
        llm_model_id: Option<u64> = id().exists(Ref::LlmModel),
        /// The multimodal model; required for `multimodal` and `dualplex`.
        multimodal_model_id: Option<u64> = id().exists(Ref::MultimodalModel),
        /// Fallback LLM for tool calls in multimodal and dualplex.
        chat_llm_fallback_id: Option<u64> = id().exists(Ref::LlmModel).clears(),
        /// Turn detection of multimodal and dualplex; automatic when not given.
        turn_detection_threshold: Option<f64> = number(0.0, 1.0).clears(),
        /// Further languages that it detects and switches to.
        secondary_language_ids: Vec<u64> = ids(ENTRIES_MAX).exists(Ref::Language),
        /// The knowledgebase it uses.
        knowledgebase_id: Option<u64> = id().exists(Ref::Row(Kind::Knowledgebase)).clears(),
        /// How the knowledge reaches the model.
        knowledgebase_mode: KnowledgeMode = choice::<KnowledgeMode>().or_text("function_call"),
        /// The account's number it calls from or answers.
        phone_number_id: Option<u64> = id().exists(Ref::Row(Kind::Number)).clears(),
        /// The account's mid-call tools.
        tool_ids: Vec<u64> = ids(ENTRIES_MAX).exists(Ref::Row(Kind::Tool)),
        /// Built-in tools.
        tools: Vec<BuiltInTool> = tagged::<BuiltInTool>(ENTRIES_MAX),
        /// Whether the voice shows emotion.
        tts_emotion_enabled: bool = boolean().or_bool(true),
        /// How steady the voice is.
        voice_stability: Hundredths = hundredths(0.0, 1.0).or_number(0.7),
        /// How near to the original the voice is.
        voice_similarity: Hundredths = hundredths(0.0, 1.0).or_number(0.5),
        /// How fast it speaks; 1 is normal.
        speech_speed: Hundredths = hundredths(0.7, 1.2).or_number(1.0),
        /// The model's temperature.
        llm_temperature: Hundredths = hundredths(0.0, 1.0).or_number(0.1),
        /// Text to speech; chosen from the language when not given.
        synthesizer_provider_id: Option<u64> = id().exists(Ref::SynthesizerProvider).clears(),
        /// Speech to text, pipeline only; chosen from the language when not given.
        transcriber_provider_id: Option<u64> = id().exists(Ref::TranscriberProvider).clears(),
        /// Whether the customer may interrupt; always so in multimodal and dualplex.
        allow_interruptions: bool = boolean().or_bool(true),
        /// Filler words, pipeline only.
        fillers: bool = boolean().or_bool(false),
        /// Whether calls are recorded.
        record: bool = boolean().or_bool(false),
        /// Whether noise is removed.
        enable_noise_cancellation: bool = boolean().or_bool(true),
        /// Whether the customer speaks first.
        wait_for_customer: bool = boolean().or_bool(false),
        /// Longest call, seconds.
        max_duration: u32 = int(20, 1_200).or_int(600),
        /// Silence before re-engagement, seconds.
        max_silence_duration: u32 = int(1, 360).or_int(40),
        /// Silence at the start before the call ends, seconds.
        max_initial_silence_duration: Option<u32> = int(1, 120).clears(),
        /// How long it rings, seconds.
        ringing_time: u32 = int(1, 60).or_int(30),
        /// Between re-engagements, seconds.
        reengagement_interval: u32 = int(7, 600).or_int(30),
        /// How it re-engages.
        reengagement_prompt: Option<String> = text(1, 1_000).clears(),
        /// Whether voicemail ends the call.
        end_call_on_voicemail: bool = boolean().or_bool(true),
        /// Left on voicemail before hanging up.
        voice_mail_message: Option<String> = text(1, 1_000).clears(),
        /// How the end of a turn is found.
        endpoint_type: EndpointType = choice::<EndpointType>().or_text("vad"),
        /// How soon a turn counts as ended.
        endpoint_sensitivity: f64 = number(0.0, 5.0).or_number(0.5),
        /// How easily it is interrupted.
        interrupt_sensitivity: f64 = number(0.0, 5.0).or_number(0.5),
        /// Words that make an interruption.
        min_interrupt_words: Option<u32> = int(0, 10).clears(),
        /// Background sound.
        ambient_sound: AmbientSound = choice::<AmbientSound>().or_text("off"),
        /// How loud that is.
        ambient_sound_volume: Hundredths = hundredths(0.0, 1.0).or_number(0.5),
        /// Whether the post-call webhook is on.
        is_webhook_active: bool = boolean().or_bool(false),
        /// Where the post-call webhook goes.
        webhook_url: Option<String> = text(1, URL_MAX).form(&format::URL).clears(),
        /// Whether it is only sent for completed calls.
        send_webhook_only_on_completed: bool = boolean().or_bool(true),
        /// Whether it carries the recording's URL.
        include_recording_in_webhook: bool = boolean().or_bool(true),
        /// Whether calls are evaluated.
        post_call_evaluation: bool = boolean().or_bool(true),
        /// Fields to extract after a call.
        post_call_schema: Vec<Extract> = list::<Extract>(ENTRIES_MAX).unique("name"),
        /// Referenced in prompts as `{{variable_name}}`.
        variables: Variables = variables(),
    } rules {
        require("llm_model_id", "mode", &["pipeline"]),
        require("multimodal_model_id", "mode", MULTIMODAL),
        fixed("knowledgebase_mode", Literal::Text("function_call"), "Only function_call mode is available for multimodal assistants.", "mode", MULTIMODAL),
        fixed("allow_interruptions", Literal::Bool(true), "Interruptions cannot be disabled in multimodal or dualplex mode.", "mode", MULTIMODAL),
        require("webhook_url", "is_webhook_active", &["true"]),
    }
}

record! {
    /// Words for pauses; the service has none of its own.
    pub struct FillerConfig stored as "an assistant" {
        /// When it is neither here nor there.
        neutral: Vec<String> = texts(&FILLER, 0),
        /// When the news is bad.
        negative: Vec<String> = texts(&FILLER, 0),
        /// When the news is good.
        positive: Vec<String> = texts(&FILLER, 0),
        /// When a question was asked.
        question: Vec<String> = texts(&FILLER, 0),
    }
}

/// A filler.
static FILLER: crate::record::Kind = crate::record::Kind::Text { min: 1, max: 255, format: None };

record! {
    /// An assistant, and behind that the creation fields it leaves out.
    pub struct Assistant stored as "an assistant" {
        /// Its id.
        id: u64 = id().required(),
        /// Its account.
        user_id: u64 = id().required(),
        /// Its number.
        phone_number_id: Option<u64> = id(),
        /// Always null here.
        engine_id: Option<u64> = id(),
        /// Always null here.
        synthesizer_id: Option<u64> = id(),
        /// Always null here.
        transcriber_id: Option<u64> = id(),
        /// Its voice.
        voice_id: u64 = id().required(),
        /// Always 1 here.
        instance_id: u64 = id().required(),
        /// Its language.
        language_id: u64 = id().required(),
        /// Always null here.
        flows_platform_id: Option<u64> = id(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// Behaviour and personality.
        system_prompt: String = text(0, 255).required(),
        /// Spoken when the call starts.
        initial_message: String = text(0, 255).required(),
        /// Its time zone.
        timezone: String = text(0, 255).required(),
        /// A unique identifier.
        uuid: String = text(0, 36).required(),
        /// Its language's name.
        language: Option<String> = text(0, 255),
        /// Which way its calls go.
        r#type: Direction = choice::<Direction>().required(),
        /// Whether it answers.
        status: Status = choice::<Status>().required(),
        /// The engine mode.
        mode: Mode = choice::<Mode>().required(),
        /// Its variables.
        variables: Variables = variables(),
        /// Whether calls are evaluated.
        post_call_evaluation: bool = boolean().required(),
        /// Whether the post-call webhook is on.
        is_webhook_active: bool = boolean().required(),
        /// Whether calls are recorded.
        record: bool = boolean().required(),
        /// Whether the customer may interrupt.
        allow_interruptions: bool = boolean().required(),
        /// Whether noise is removed.
        enable_noise_cancellation: bool = boolean().required(),
        /// Whether the customer speaks first.
        wait_for_customer: bool = boolean().required(),
        /// Whether the webhook is only sent for completed calls.
        send_webhook_only_on_completed: bool = boolean().required(),
        /// Whether the webhook carries the recording's URL.
        include_recording_in_webhook: bool = boolean().required(),
        /// Filler words: 1 or 0.
        fillers: Flag = flag().required(),
        /// Whether voicemail ends the call: 1 or 0.
        end_call_on_voicemail: Flag = flag().required(),
        /// The model's temperature.
        llm_temperature: DecimalText = decimal().required(),
        /// How steady the voice is.
        voice_stability: DecimalText = decimal().required(),
        /// How near to the original the voice is.
        voice_similarity: DecimalText = decimal().required(),
        /// How fast it speaks.
        speech_speed: DecimalText = decimal().required(),
        /// How loud the background is.
        ambient_sound_volume: DecimalText = decimal().required(),
        /// How soon a turn counts as ended.
        endpoint_sensitivity: f64 = number(0.0, 5.0).required(),
        /// How easily it is interrupted.
        interrupt_sensitivity: f64 = number(0.0, 5.0).required(),
        /// Longest call, seconds.
        max_duration: u32 = int(20, 1_200).required(),
        /// Silence before re-engagement, seconds.
        max_silence_duration: u32 = int(1, 360).required(),
        /// Between re-engagements, seconds.
        reengagement_interval: u32 = int(7, 600).required(),
        /// Words that make an interruption.
        min_interrupt_words: Option<u32> = int(0, 10),
        /// How the end of a turn is found.
        endpoint_type: EndpointType = choice::<EndpointType>().required(),
        /// Background sound.
        ambient_sound: AmbientSound = choice::<AmbientSound>().required(),
        /// Speech to text.
        transcriber_provider_id: Option<u64> = id(),
        /// Text to speech.
        synthesizer_provider_id: Option<u64> = id(),
        /// The LLM.
        llm_model_id: Option<u64> = id(),
        /// The multimodal model.
        multimodal_model_id: Option<u64> = id(),
        /// Its knowledgebase.
        knowledgebase_id: Option<u64> = id(),
        /// How the knowledge reaches the model.
        knowledgebase_mode: KnowledgeMode = choice::<KnowledgeMode>().required(),
        /// Where the post-call webhook goes.
        webhook_url: Option<String> = text(0, URL_MAX),
        /// Where the inbound webhook goes.
        inbound_webhook_url: Option<String> = text(0, URL_MAX),
        /// Fields to extract after a call.
        post_call_schema: Vec<Extract> = list::<Extract>(ENTRIES_MAX),
        /// Built-in tools, a calendar key masked.
        tools: Vec<BuiltInTool> = tagged::<BuiltInTool>(ENTRIES_MAX),
        /// Words for pauses.
        filler_config: FillerConfig = crate::record::object::<FillerConfig>().required(),
        /// Settings for a web widget.
        widget_settings: Variables = variables(),
        /// When it was made.
        created_at: Iso = iso().required(),
        /// When it last changed.
        updated_at: Iso = iso().required(),
        /// Null: a deleted assistant is in no list.
        deleted_at: Option<Iso> = iso(),
        /// The account's mid-call tools.
        tool_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Further languages.
        secondary_language_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Fallback LLM for tool calls.
        chat_llm_fallback_id: Option<u64> = id(),
        /// Turn detection.
        turn_detection_threshold: Option<f64> = number(0.0, 1.0),
        /// Whether the voice shows emotion.
        tts_emotion_enabled: bool = boolean().required(),
        /// Silence at the start before the call ends, seconds.
        max_initial_silence_duration: Option<u32> = int(1, 120),
        /// How long it rings, seconds.
        ringing_time: u32 = int(1, 60).required(),
        /// How it re-engages.
        reengagement_prompt: Option<String> = text(0, 1_000),
        /// Left on voicemail.
        voice_mail_message: Option<String> = text(0, 1_000),
    }
}

record! {
    /// What a creation or update of an assistant answers.
    pub struct Summary {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// Whether it answers.
        status: Status = choice::<Status>().required(),
        /// Which way its calls go.
        r#type: Direction = choice::<Direction>().required(),
        /// The engine mode.
        mode: Mode = choice::<Mode>().required(),
    }
}

record! {
    /// An outbound assistant, in short.
    pub struct Outbound {
        /// Its id.
        id: u64 = id().required(),
        /// Its account.
        user_id: u64 = id().required(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// Always `outbound`.
        r#type: Direction = choice::<Direction>().required(),
        /// The engine mode.
        mode: Mode = choice::<Mode>().required(),
        /// Whether it answers.
        status: Status = choice::<Status>().required(),
        /// Its voice.
        voice_id: u64 = id().required(),
        /// Its language.
        language_id: u64 = id().required(),
        /// Its time zone.
        timezone: String = text(0, 255).required(),
        /// Spoken when the call starts.
        initial_message: String = text(0, 255).required(),
        /// Behaviour and personality.
        system_prompt: String = text(0, 255).required(),
        /// Its variables.
        variables: Variables = variables(),
        /// Where the post-call webhook goes.
        webhook_url: Option<String> = text(0, URL_MAX),
        /// Whether the post-call webhook is on.
        is_webhook_active: bool = boolean().required(),
        /// When it was made.
        created_at: Iso = iso().required(),
        /// When it last changed.
        updated_at: Iso = iso().required(),
    }
}

/// The status of an assistant as an update may set it.
const STATUS: Column = choice::<Status>().named("status", " Whether it answers calls and serves campaigns.");

const fn with_status() -> [Column; 52] {
    let mut columns = [STATUS; 52];
    let mut at = 0;
    while at < columns.len() - 1 {
        columns[at] = NewAssistant::TABLE.columns[at];
        at += 1;
    }
    columns
}

static UPDATE_COLUMNS: [Column; 52] = with_status();

/// Body of `PUT /user/assistant/{id}`: the columns of a creation, and `status` behind them.
pub static UPDATE: Table = Table {
    name: "UpdateAssistant",
    doc: " Body of an update: any subset.",
    columns: &UPDATE_COLUMNS,
    rules: NewAssistant::TABLE.rules,
};
