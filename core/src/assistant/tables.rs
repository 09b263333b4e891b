//! Tables of assistants: the body of a creation and the stored form (docs/api.md, Assistants).

use alloc::string::String;
use alloc::vec::Vec;

use super::built_in::BuiltInTool;
use crate::catalogue::Mode;
use crate::key::Kind;
use crate::limits::{ENTRIES_MAX, FILLERS_MAX, URL_MAX, WIDGET_ENTRIES_MAX};
use crate::record::{
    Column, ColumnType, DecimalText, Flag, Hundredths, Iso, Literal, Record, Ref, Table, Variables, boolean, choice,
    choices, decimal, fixed, flag, format, hundredths, id, id_or_zero, ids, int, iso, list, number, object, per_page,
    require, tagged, text, texts, variables,
};
use crate::{choice, record};

choice! {
    /// Direction of an assistant's calls.
    pub enum Direction {
        /// Answers the calls to its number.
        Inbound = "inbound",
        /// Places calls; the type that campaigns take.
        Outbound = "outbound",
    }
}

choice! {
    /// Whether an assistant answers calls and serves campaigns.
    pub enum Status {
        /// Answers inbound calls, and campaigns may run with it.
        Active = "active",
        /// Answers no inbound calls.
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
    /// How the end of the customer's turn is detected.
    pub enum EndpointType {
        /// By voice activity detection (VAD).
        Vad = "vad",
        /// By a model that judges whether the customer has finished.
        Ai = "ai",
    }
}

choice! {
    /// Background sound of a call.
    pub enum AmbientSound {
        /// No background sound.
        Off = "off",
        /// Sounds of an office.
        Office = "office",
        /// Sounds of a city.
        City = "city",
        /// Sounds of a forest.
        Forest = "forest",
        /// Sounds of a crowded room.
        CrowdedRoom = "crowded_room",
        /// Sounds of a cafe.
        Cafe = "cafe",
        /// Sounds of nature.
        Nature = "nature",
    }
}

choice! {
    /// JSON type of an extracted value.
    pub enum ExtractType {
        /// Extracted as a JSON string.
        String = "string",
        /// Extracted as a JSON number.
        Number = "number",
        /// Extracted as a JSON boolean.
        Bool = "bool",
    }
}

record! {
    /// A value to extract from the conversation after a call.
    pub struct Extract stored as "an assistant" {
        /// Name of the extracted value among the call's variables.
        name: String = text(3, 16).form(&format::EXTRACT_NAME).required(),
        /// JSON type of the extracted value.
        r#type: ExtractType = choice::<ExtractType>().required(),
        /// Tells the model what to extract.
        description: String = text(3, 255).required(),
    }
}

choice! {
    /// Event of the inbound webhook.
    pub enum InboundEvent {
        /// A call arrives; the answer becomes variables of the call.
        Incoming = "call.incoming",
        /// The call has ended.
        Completed = "call.completed",
    }
}

/// Usual time of inactivity after which a conversation ends, minutes.
pub const INACTIVITY_MINUTES: u32 = 30;

/// The modes with a multimodal model.
const MULTIMODAL: &[&str] = &["multimodal", "dualplex"];

record! {
    /// Body of `POST /user/assistant`.
    pub struct NewAssistant {
        /// Name of the assistant, shown in lists and calls; `{{assistant_name}}` in prompts.
        name: String = text(1, 255).required(),
        /// Voice from the catalogue; its `modes` must include `mode`.
        voice_id: u64 = id().exists(Ref::Voice).required(),
        /// Main language it speaks, from the catalogue.
        language_id: u64 = id().exists(Ref::Language).required(),
        /// Whether it answers calls (`inbound`) or places them (`outbound`).
        r#type: Direction = choice::<Direction>().required(),
        /// How the engine runs a call: STT, LLM and TTS (`pipeline`), or a multimodal model.
        mode: Mode = choice::<Mode>().required(),
        /// IANA time zone, Region/City (`Etc/UTC`, not `UTC`); that of `{{current_date}}` and `{{current_time}}`.
        timezone: String = text(1, 64).form(&format::ZONE).required(),
        /// Greeting spoken when the call starts; may contain `{{variable_name}}`.
        initial_message: String = text(1, 200).required(),
        /// Behaviour and personality, as instructions for the model; may contain `{{variable_name}}`.
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
        /// Id of the account's knowledgebase that it answers from.
        knowledgebase_id: Option<u64> = id().exists(Ref::Row(Kind::Knowledgebase)).clears(),
        /// Whether the model calls a function to search the knowledgebase, or has its text in the prompt.
        knowledgebase_mode: KnowledgeMode = choice::<KnowledgeMode>().or_text("function_call"),
        /// Id of the account's phone number that it calls from or answers.
        phone_number_id: Option<u64> = id().exists(Ref::Row(Kind::Number)).clears(),
        /// Ids of the account's mid-call tools that the model may call; their names must differ.
        tool_ids: Vec<u64> = ids(ENTRIES_MAX).exists(Ref::Row(Kind::Tool)),
        /// Built-in tools: transfers, end of call, keypad tones, calendar.
        tools: Vec<BuiltInTool> = tagged::<BuiltInTool>(ENTRIES_MAX),
        /// Whether the voice shows emotion.
        tts_emotion_enabled: bool = boolean().or_bool(true),
        /// How steady the voice is, from 0 (least) to 1.
        voice_stability: Hundredths = hundredths(0.0, 1.0).or_number(0.7),
        /// How closely the voice follows the original, from 0 (least) to 1.
        voice_similarity: Hundredths = hundredths(0.0, 1.0).or_number(0.5),
        /// How fast it speaks; 1 is normal.
        speech_speed: Hundredths = hundredths(0.7, 1.2).or_number(1.0),
        /// Sampling temperature of the model; 0 is the least random.
        llm_temperature: Hundredths = hundredths(0.0, 1.0).or_number(0.1),
        /// Text to speech; chosen from the language when not given.
        synthesizer_provider_id: Option<u64> = id().exists(Ref::SynthesizerProvider).clears(),
        /// Speech to text, pipeline only; chosen from the language when not given.
        transcriber_provider_id: Option<u64> = id().exists(Ref::TranscriberProvider).clears(),
        /// Whether the customer may interrupt; always true in multimodal and dualplex.
        allow_interruptions: bool = boolean().or_bool(true),
        /// Whether pauses are filled with filler words; pipeline only.
        fillers: bool = boolean().or_bool(false),
        /// Whether calls are recorded; a recording is kept only then.
        record: bool = boolean().or_bool(false),
        /// Whether the engine removes background noise.
        enable_noise_cancellation: bool = boolean().or_bool(true),
        /// Whether it waits for the customer to speak first.
        wait_for_customer: bool = boolean().or_bool(false),
        /// Longest call, seconds; the engine is then told to hang up.
        max_duration: u32 = int(20, 1_200).or_int(600),
        /// Silence before re-engagement, seconds.
        max_silence_duration: u32 = int(1, 360).or_int(40),
        /// Silence at the start of a call after which it ends, seconds.
        max_initial_silence_duration: Option<u32> = int(1, 120).clears(),
        /// How long a call may ring before it ends as `no-answer`, seconds.
        ringing_time: u32 = int(1, 60).or_int(30),
        /// Time between re-engagements, seconds.
        reengagement_interval: u32 = int(7, 600).or_int(30),
        /// How it re-engages a silent customer; may contain `{{variable_name}}`.
        reengagement_prompt: Option<String> = text(1, 1_000).clears(),
        /// Whether it hangs up on voicemail, after leaving `voice_mail_message`.
        end_call_on_voicemail: bool = boolean().or_bool(true),
        /// Message left on voicemail; none when not given; may contain `{{variable_name}}`.
        voice_mail_message: Option<String> = text(1, 1_000).clears(),
        /// How the end of the customer's turn is detected: by voice activity or by a model.
        endpoint_type: EndpointType = choice::<EndpointType>().or_text("vad"),
        /// Sensitivity of end-of-turn detection; the engine interprets it.
        endpoint_sensitivity: f64 = number(0.0, 5.0).or_number(0.5),
        /// Sensitivity to interruptions by the customer; the engine interprets it.
        interrupt_sensitivity: f64 = number(0.0, 5.0).or_number(0.5),
        /// Words that the customer must say before it counts as an interruption.
        min_interrupt_words: Option<u32> = int(0, 10).clears(),
        /// Background sound during calls.
        ambient_sound: AmbientSound = choice::<AmbientSound>().or_text("off"),
        /// Volume of `ambient_sound`, from 0 (silent) to 1.
        ambient_sound_volume: Hundredths = hundredths(0.0, 1.0).or_number(0.5),
        /// Whether the post-call webhook is sent to `webhook_url`.
        is_webhook_active: bool = boolean().or_bool(false),
        /// URL that the post-call webhook is sent to.
        webhook_url: Option<String> = text(1, URL_MAX).form(&format::URL).clears(),
        /// Whether the post-call webhook is sent only for calls that reached `completed`.
        send_webhook_only_on_completed: bool = boolean().or_bool(true),
        /// Whether webhooks carry `recording_url`.
        include_recording_in_webhook: bool = boolean().or_bool(true),
        /// Whether an ended call is evaluated: success, sentiment and summary.
        post_call_evaluation: bool = boolean().or_bool(true),
        /// Values to extract from the conversation after a call.
        post_call_schema: Vec<Extract> = list::<Extract>(ENTRIES_MAX).unique("name"),
        /// Default values of `{{variable_name}}` in prompts; a call's own variables override them.
        variables: Variables = variables(),
        /// Folder that it is in.
        folder_id: Option<u64> = id().exists(Ref::Row(Kind::Folder)).clears(),
        /// Labels that it has.
        label_ids: Vec<u64> = ids(ENTRIES_MAX).exists(Ref::Row(Kind::Label)),
        /// Filler words for pauses, by tone.
        filler_config: Option<FillerConfig> = object::<FillerConfig>(),
        /// Which events the inbound webhook is sent.
        inbound_webhook_events: Vec<InboundEvent> = choices::<InboundEvent>(2).or_words(&["call.completed"]).filled(),
        /// Settings of the widget that a page embeds; an update changes only those that it has.
        widget_settings: Option<WidgetSettings> = object::<WidgetSettings>(),
        /// URL that the webhook of ended conversations is sent to.
        conversation_ended_webhook_url: Option<String> = text(1, URL_MAX).form(&format::URL).clears(),
        /// How long nobody says anything before a conversation ends, minutes.
        conversation_inactivity_timeout: u32 = int(1, 1_440).or_int(INACTIVITY_MINUTES as i64),
        /// Whether a conversation that goes on after its end is reported again when it ends again.
        conversation_ended_retrigger: bool = boolean().or_bool(false),
    } rules {
        require("llm_model_id", "mode", &["pipeline"]),
        require("multimodal_model_id", "mode", MULTIMODAL),
        fixed("knowledgebase_mode", Literal::Text("function_call"), "Only function_call mode is available for multimodal assistants.", "mode", MULTIMODAL),
        fixed("allow_interruptions", Literal::Bool(true), "Interruptions cannot be disabled in multimodal or dualplex mode.", "mode", MULTIMODAL),
        require("webhook_url", "is_webhook_active", &["true"]),
    }
}

record! {
    /// Filler words for pauses, by tone.
    pub struct FillerConfig stored as "an assistant" {
        /// Filler words for neutral moments.
        neutral: Vec<String> = texts(&FILLER, FILLERS_MAX),
        /// Filler words for bad news.
        negative: Vec<String> = texts(&FILLER, FILLERS_MAX),
        /// Filler words for good news.
        positive: Vec<String> = texts(&FILLER, FILLERS_MAX),
        /// Filler words after a question.
        question: Vec<String> = texts(&FILLER, FILLERS_MAX),
    }
}

/// Bounds of one filler word.
static FILLER: ColumnType = ColumnType::Text { min: 1, max: 255, format: None };

choice! {
    /// Side of the page on which the widget stands.
    pub enum WidgetPosition {
        /// The right side.
        Right = "right",
        /// The left side.
        Left = "left",
    }
}

choice! {
    /// Colours of the widget.
    pub enum WidgetTheme {
        /// As the visitor's system has it.
        Auto = "auto",
        /// Dark on light.
        Light = "light",
        /// Light on dark.
        Dark = "dark",
    }
}

record! {
    /// Settings of the widget that a page embeds.
    pub struct WidgetSettings stored as "an assistant" {
        /// Whether strangers may talk to the assistant.
        enabled: bool = boolean().or_bool(false),
        /// Origins of the pages that may embed the widget.
        allowed_origins: Vec<String> = texts(&ORIGIN, WIDGET_ENTRIES_MAX),
        /// Variables of a stranger's conversation; at most 20.
        variables: Variables = variables(),
        /// Mid-call tools that a stranger's conversation may use.
        tool_ids: Vec<u64> = ids(ENTRIES_MAX).exists(Ref::Row(Kind::Tool)),
        /// Whether strangers may speak, not only write.
        voice: bool = boolean().or_bool(false),
        /// Most that strangers may cost a day; null: no limit of its own.
        daily_cost_max: Option<f64> = number(0.0, 1_000_000.0),
        /// Title above the conversation; null: the assistant's name.
        title: Option<String> = text(1, 255),
        /// Colour of the widget, as CSS has it; null: the service's.
        color: Option<String> = text(1, 64),
        /// Side of the page on which it stands.
        position: WidgetPosition = choice::<WidgetPosition>().or_text("right"),
        /// Its colours.
        theme: WidgetTheme = choice::<WidgetTheme>().or_text("auto"),
    }
}

/// An origin: scheme, host and port.
static ORIGIN: ColumnType = ColumnType::Text { min: 1, max: URL_MAX, format: Some(&format::ORIGIN) };

record! {
    /// An assistant: the members of its listing, then the remaining fields of its creation.
    pub struct Assistant stored as "an assistant" {
        /// Id of the assistant; some paths take the `uuid` instead.
        id: u64 = id().required(),
        /// Id of the account that owns it.
        user_id: u64 = id().required(),
        /// Id of the phone number that it calls from or answers; null while it has none.
        phone_number_id: Option<u64> = id(),
        /// Always null; present for clients that expect it.
        engine_id: Option<u64> = id(),
        /// Always null; present for clients that expect it.
        synthesizer_id: Option<u64> = id(),
        /// Always null; present for clients that expect it.
        transcriber_id: Option<u64> = id(),
        /// Voice, by its id in the catalogue.
        voice_id: u64 = id().required(),
        /// Always 1; present for clients that expect it.
        instance_id: u64 = id().required(),
        /// Main language it speaks, by its id in the catalogue.
        language_id: u64 = id().required(),
        /// Always null; present for clients that expect it.
        flows_platform_id: Option<u64> = id(),
        /// Name of the assistant, shown in lists and calls; `{{assistant_name}}` in prompts.
        name: String = text(0, 255).required(),
        /// Behaviour and personality, as instructions for the model; may contain `{{variable_name}}`.
        system_prompt: String = text(0, 255).required(),
        /// Greeting spoken when the call starts; may contain `{{variable_name}}`.
        initial_message: String = text(0, 255).required(),
        /// IANA time zone, Region/City; that of `{{current_date}}` and `{{current_time}}`.
        timezone: String = text(0, 255).required(),
        /// UUID of the assistant; paths take it in place of the id.
        uuid: String = text(0, 36).required(),
        /// Name of the language when the assistant was last saved; null if the catalogue did not have it.
        language: Option<String> = text(0, 255),
        /// Whether it answers calls (`inbound`) or places them (`outbound`).
        r#type: Direction = choice::<Direction>().required(),
        /// Whether it answers calls and serves campaigns.
        status: Status = choice::<Status>().required(),
        /// How the engine runs a call: STT, LLM and TTS (`pipeline`), or a multimodal model.
        mode: Mode = choice::<Mode>().required(),
        /// Default values of `{{variable_name}}` in prompts; a call's own variables override them.
        variables: Variables = variables(),
        /// Whether an ended call is evaluated: success, sentiment and summary.
        post_call_evaluation: bool = boolean().required(),
        /// Whether the post-call webhook is sent to `webhook_url`.
        is_webhook_active: bool = boolean().required(),
        /// Whether calls are recorded; a recording is kept only then.
        record: bool = boolean().required(),
        /// Whether the customer may interrupt; always true in multimodal and dualplex.
        allow_interruptions: bool = boolean().required(),
        /// Whether the engine removes background noise.
        enable_noise_cancellation: bool = boolean().required(),
        /// Whether it waits for the customer to speak first.
        wait_for_customer: bool = boolean().required(),
        /// Whether the post-call webhook is sent only for calls that reached `completed`.
        send_webhook_only_on_completed: bool = boolean().required(),
        /// Whether webhooks carry `recording_url`.
        include_recording_in_webhook: bool = boolean().required(),
        /// Whether pauses are filled with filler words: 1 or 0.
        fillers: Flag = flag().required(),
        /// Whether it hangs up on voicemail, after leaving `voice_mail_message`: 1 or 0.
        end_call_on_voicemail: Flag = flag().required(),
        /// Sampling temperature of the model; a text with two decimals, such as `0.10`.
        llm_temperature: DecimalText = decimal().required(),
        /// How steady the voice is, from 0 (least) to 1; a text with two decimals, such as `0.70`.
        voice_stability: DecimalText = decimal().required(),
        /// How closely the voice follows the original, from 0 (least) to 1; a text with two decimals, such as `0.50`.
        voice_similarity: DecimalText = decimal().required(),
        /// Speed of speech; 1 is normal; a text with two decimals, such as `1.00`.
        speech_speed: DecimalText = decimal().required(),
        /// Volume of `ambient_sound`, from 0 (silent) to 1; a text with two decimals, such as `0.50`.
        ambient_sound_volume: DecimalText = decimal().required(),
        /// Sensitivity of end-of-turn detection; the engine interprets it.
        endpoint_sensitivity: f64 = number(0.0, 5.0).required(),
        /// Sensitivity to interruptions by the customer; the engine interprets it.
        interrupt_sensitivity: f64 = number(0.0, 5.0).required(),
        /// Longest call, seconds; the engine is then told to hang up.
        max_duration: u32 = int(20, 1_200).required(),
        /// Silence before re-engagement, seconds.
        max_silence_duration: u32 = int(1, 360).required(),
        /// Time between re-engagements, seconds.
        reengagement_interval: u32 = int(7, 600).required(),
        /// Words that the customer must say before it counts as an interruption; null: left to the engine.
        min_interrupt_words: Option<u32> = int(0, 10),
        /// How the end of the customer's turn is detected: by voice activity or by a model.
        endpoint_type: EndpointType = choice::<EndpointType>().required(),
        /// Background sound during calls.
        ambient_sound: AmbientSound = choice::<AmbientSound>().required(),
        /// Speech-to-text provider; null: chosen from the language.
        transcriber_provider_id: Option<u64> = id(),
        /// Text-to-speech provider; null: chosen from the language.
        synthesizer_provider_id: Option<u64> = id(),
        /// LLM of a `pipeline` assistant; null in the other modes.
        llm_model_id: Option<u64> = id(),
        /// Model of a `multimodal` or `dualplex` assistant; null in `pipeline`.
        multimodal_model_id: Option<u64> = id(),
        /// Id of the knowledgebase that it answers from; null while it has none.
        knowledgebase_id: Option<u64> = id(),
        /// Whether the model calls a function to search the knowledgebase, or has its text in the prompt.
        knowledgebase_mode: KnowledgeMode = choice::<KnowledgeMode>().required(),
        /// URL that the post-call webhook is sent to; null while there is none.
        webhook_url: Option<String> = text(0, URL_MAX),
        /// URL of the inbound webhook: asked when a call arrives, notified when it has ended; null: none.
        inbound_webhook_url: Option<String> = text(0, URL_MAX),
        /// Values to extract from the conversation after a call.
        post_call_schema: Vec<Extract> = list::<Extract>(ENTRIES_MAX),
        /// Built-in tools; calendar keys are masked to their last four characters.
        tools: Vec<BuiltInTool> = tagged::<BuiltInTool>(ENTRIES_MAX),
        /// Filler words for pauses, by tone.
        filler_config: FillerConfig = object::<FillerConfig>().required(),
        /// Settings of the widget that a page embeds.
        widget_settings: WidgetSettings = object::<WidgetSettings>().required(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
        /// Time of the last change, UTC; that of creation until then.
        updated_at: Iso = iso().required(),
        /// Always null in answers: a deleted assistant is in no list.
        deleted_at: Option<Iso> = iso(),
        /// Ids of the account's mid-call tools that the model may call.
        tool_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Further languages that it detects and switches to.
        secondary_language_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Fallback LLM for tool calls in multimodal and dualplex.
        chat_llm_fallback_id: Option<u64> = id(),
        /// Turn detection of multimodal and dualplex; null: automatic.
        turn_detection_threshold: Option<f64> = number(0.0, 1.0),
        /// Whether the voice shows emotion.
        tts_emotion_enabled: bool = boolean().required(),
        /// Silence at the start of a call after which it ends, seconds.
        max_initial_silence_duration: Option<u32> = int(1, 120),
        /// How long a call may ring before it ends as `no-answer`, seconds.
        ringing_time: u32 = int(1, 60).required(),
        /// How it re-engages a silent customer; null: left to the engine.
        reengagement_prompt: Option<String> = text(0, 1_000),
        /// Message left on voicemail; null: none.
        voice_mail_message: Option<String> = text(0, 1_000),
        /// Id of the folder that it is in; null: none.
        folder_id: Option<u64> = id(),
        /// Ids of its labels.
        label_ids: Vec<u64> = ids(ENTRIES_MAX),
        /// Which events the inbound webhook is sent.
        inbound_webhook_events: Vec<InboundEvent> = choices::<InboundEvent>(2).or_all(),
        /// Whether its first use makes it active: true from its creation until its `status` changes.
        activates_on_use: bool = boolean().or_bool(false),
        /// URL that the webhook of ended conversations is sent to; null while there is none.
        conversation_ended_webhook_url: Option<String> = text(0, URL_MAX),
        /// How long nobody says anything before a conversation ends, minutes.
        conversation_inactivity_timeout: u32 = int(1, 1_440).or_int(INACTIVITY_MINUTES as i64),
        /// Whether a conversation that goes on after its end is reported again when it ends again.
        conversation_ended_retrigger: bool = boolean().or_bool(false),
    }
}

record! {
    /// Answer to the creation or update of an assistant.
    pub struct Summary {
        /// Id of the assistant; some paths take the `uuid` instead.
        id: u64 = id().required(),
        /// Name of the assistant, shown in lists and calls; `{{assistant_name}}` in prompts.
        name: String = text(0, 255).required(),
        /// Whether it answers calls and serves campaigns; `inactive` after a creation.
        status: Status = choice::<Status>().required(),
        /// Whether it answers calls (`inbound`) or places them (`outbound`).
        r#type: Direction = choice::<Direction>().required(),
        /// How the engine runs a call: STT, LLM and TTS (`pipeline`), or a multimodal model.
        mode: Mode = choice::<Mode>().required(),
    }
}

record! {
    /// Short form of an outbound assistant.
    pub struct Outbound {
        /// Id of the assistant; some paths take the `uuid` instead.
        id: u64 = id().required(),
        /// Id of the account that owns it.
        user_id: u64 = id().required(),
        /// Name of the assistant, shown in lists and calls; `{{assistant_name}}` in prompts.
        name: String = text(0, 255).required(),
        /// Always `outbound` in this list.
        r#type: Direction = choice::<Direction>().required(),
        /// How the engine runs a call: STT, LLM and TTS (`pipeline`), or a multimodal model.
        mode: Mode = choice::<Mode>().required(),
        /// Whether it answers calls and serves campaigns.
        status: Status = choice::<Status>().required(),
        /// Voice, by its id in the catalogue.
        voice_id: u64 = id().required(),
        /// Main language it speaks, by its id in the catalogue.
        language_id: u64 = id().required(),
        /// IANA time zone, Region/City; that of `{{current_date}}` and `{{current_time}}`.
        timezone: String = text(0, 255).required(),
        /// Greeting spoken when the call starts; may contain `{{variable_name}}`.
        initial_message: String = text(0, 255).required(),
        /// Behaviour and personality, as instructions for the model; may contain `{{variable_name}}`.
        system_prompt: String = text(0, 255).required(),
        /// Default values of `{{variable_name}}` in prompts; a call's own variables override them.
        variables: Variables = variables(),
        /// URL that the post-call webhook is sent to; null while there is none.
        webhook_url: Option<String> = text(0, URL_MAX),
        /// Whether the post-call webhook is sent to `webhook_url`.
        is_webhook_active: bool = boolean().required(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
        /// Time of the last change, UTC; that of creation until then.
        updated_at: Iso = iso().required(),
    }
}

/// Column `status`, which only an update takes.
const STATUS: Column = choice::<Status>().named("status", " Whether it answers calls and serves campaigns.");

const fn with_status() -> [Column; 60] {
    let mut columns = [STATUS; 60];
    let mut at = 0;
    while at < columns.len() - 1 {
        columns[at] = NewAssistant::TABLE.columns[at];
        at += 1;
    }
    columns
}

static UPDATE_COLUMNS: [Column; 60] = with_status();

/// Body of `PUT /user/assistant/{id}`: the columns of a creation, then `status`.
pub static UPDATE: Table = Table {
    name: "UpdateAssistant",
    doc: " Body of an update: any subset.",
    columns: &UPDATE_COLUMNS,
    rules: NewAssistant::TABLE.rules,
};

record! {
    /// Query of `GET /user/assistants/get`.
    pub struct ListQuery {
        /// Number of rows per page.
        per_page: u32 = per_page(10),
        /// Page number, from 1.
        page: u64 = id().or_int(1),
        /// Only assistants of this type.
        r#type: Option<Direction> = choice::<Direction>(),
        /// Only assistants of this status.
        status: Option<Status> = choice::<Status>(),
        /// Only assistants in this folder; 0: in none.
        folder_id: Option<u64> = id_or_zero(),
        /// Only assistants with this label; given several times, with all of them.
        label_id: Vec<u64> = ids(ENTRIES_MAX),
        /// Only assistants whose name contains this text, whatever the case of its letters.
        search: Option<String> = text(1, 255),
    }
}

record! {
    /// Query of `GET /user/assistants`.
    pub struct AllQuery {
        /// Only assistants of this type.
        r#type: Option<Direction> = choice::<Direction>(),
        /// Only assistants of this status.
        status: Option<Status> = choice::<Status>(),
        /// Only assistants in this folder; 0: in none.
        folder_id: Option<u64> = id_or_zero(),
        /// Only assistants with this label; given several times, with all of them.
        label_id: Vec<u64> = ids(ENTRIES_MAX),
        /// Only assistants whose name contains this text, whatever the case of its letters.
        search: Option<String> = text(1, 255),
    }
}
