//! The compiled assistant that an engine gets: every stored member, and behind them all that would need a lookup, at
//! most [`ASSISTANT_BYTES_MAX`] in all.

use alloc::string::String;
use alloc::vec::Vec;

use super::functions::functions;
use super::values::{self, FilledTexts};
use crate::assistant::rows::of_call;
use crate::assistant::tables::{Assistant, EndpointType, KnowledgeMode};
use crate::call::CallRow;
use crate::catalogue::{Catalogue, LanguageEntry, LlmModel, Mode, MultimodalModel, ProviderEntry, VoiceEntry};
use crate::http::ctx::Ctx;
use crate::id;
use crate::json::{Raw, ToJson, joined};
use crate::knowledge::search;
use crate::limits::{ASSISTANT_BYTES_MAX, ENGINE_OBJECT_BYTES_MAX, ENTRIES_MAX, KNOWLEDGE_BYTES_MAX, TURN_STOP_MS_MIN};
use crate::record;
use crate::record::{Json, Stored, any, any_object, choice, count, id, list, number, object, text, texts};
use crate::store::Scope;
use crate::view::Stop;

/// Mark where the knowledge was cut.
const CUT: &str = "\n[The knowledge was cut here.]";

record! {
    /// Members of a compiled assistant behind the stored ones; `knowledge` follows them.
    pub struct Lookups {
        /// The `system_prompt`, filled in.
        prompt: Option<String> = text(0, 0),
        /// The `initial_message`, filled in.
        greeting: Option<String> = text(0, 0),
        /// The `reengagement_prompt`, filled in; null if there is none.
        reengagement: Option<String> = text(0, 0),
        /// The `voice_mail_message`, filled in; null if there is none.
        voicemail: Option<String> = text(0, 0),
        /// Placeholder names in these texts for which there is no value; they stay in the texts.
        unknown_variables: Vec<String> = texts(&NAME, 0),
        /// Voice of the assistant, from the catalogue.
        voice: Option<VoiceEntry> = object::<VoiceEntry>(),
        /// Language that it speaks, from the catalogue.
        spoken_language: Option<LanguageEntry> = object::<LanguageEntry>(),
        /// Languages that it may switch to.
        secondary_languages: Vec<LanguageEntry> = list::<LanguageEntry>(ENTRIES_MAX),
        /// Language model of a `pipeline`.
        llm_model: Option<LlmModel> = object::<LlmModel>(),
        /// Model of the other modes, `multimodal` and `dualplex`.
        multimodal_model: Option<MultimodalModel> = object::<MultimodalModel>(),
        /// Language model that carries out the tool calls of those modes.
        chat_llm_fallback: Option<LlmModel> = object::<LlmModel>(),
        /// Provider of text-to-speech; null where the model itself speaks.
        synthesizer_provider: Option<EngineProvider> = object::<EngineProvider>(),
        /// Provider of speech-to-text; null where the model itself hears.
        transcriber_provider: Option<EngineProvider> = object::<EngineProvider>(),
        /// Time limits of the call, seconds.
        timings: Timings = object::<Timings>().required(),
        /// How turns are taken, from the settings that say so.
        turns: TurnTaking = object::<TurnTaking>().required(),
        /// Functions that the model may call, in JSON Schema, each with its `kind`.
        functions: Option<Json> = any(),
    }
}

record! {
    /// A provider of an assistant, without the languages that it supports.
    pub struct EngineProvider {
        /// Id of the provider.
        id: u64 = id().required(),
        /// Name of the provider, shown to users.
        name: String = text(1, 255).required(),
        /// Short name for programs, in lower case.
        code: String = text(1, 255).required(),
        /// What engines need to reach it, from the catalogue; null: nothing.
        engine: Option<Json> = any_object(ENGINE_OBJECT_BYTES_MAX),
    }
}

/// Bounds of a placeholder's name.
static NAME: record::ColumnType = record::ColumnType::Text { min: 1, max: 0, format: None };

record! {
    /// Time limits of an assistant's calls, seconds.
    pub struct Timings {
        /// Time that a call may ring.
        ringing_time: u32 = count().required(),
        /// Longest duration of a call, from its answer.
        max_duration: u32 = count().required(),
        /// Silence after which the assistant re-engages.
        max_silence_duration: u32 = count().required(),
        /// Silence at the start of a call after which the call ends; null for no limit.
        max_initial_silence_duration: Option<u32> = count(),
        /// Time between two re-engagements.
        reengagement_interval: u32 = count().required(),
    }
}

record! {
    /// How an assistant takes turns.
    pub struct TurnTaking {
        /// What ends the customer's turn: silence, or a model that listens for the end of a thought.
        strategy: EndpointType = choice::<EndpointType>().required(),
        /// Silence that ends the customer's turn, milliseconds.
        stop_ms: u32 = count().required(),
        /// Speech that interrupts the assistant, milliseconds; null: nothing does.
        interrupt_ms: Option<u32> = count(),
        /// Words that interrupt the assistant.
        min_words: u32 = count().required(),
        /// Sensitivity of a multimodal model's own detection, from 0 to 1; null: the model's default.
        threshold: Option<f64> = number(0.0, 1.0),
    }
}

impl TurnTaking {
    /// Sensitivities are seconds: of silence after the customer, and of speech over the assistant.
    fn of(assistant: &Assistant) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 5,000")]
        let ms = |seconds: f64| (seconds * 1_000.0) as u32;
        let interrupts = assistant.allow_interruptions || assistant.mode != Mode::Pipeline;
        Self {
            strategy: assistant.endpoint_type,
            stop_ms: ms(assistant.endpoint_sensitivity).max(TURN_STOP_MS_MIN),
            interrupt_ms: interrupts.then(|| ms(assistant.interrupt_sensitivity)),
            min_words: assistant.min_interrupt_words.unwrap_or(0),
            threshold: assistant.turn_detection_threshold,
        }
    }
}

/// Codes by which the operator's price list names what a call uses.
pub struct Codes<'a> {
    /// Provider of speech-to-text.
    pub stt: Option<&'a str>,
    /// Language model, or multimodal model.
    pub llm: Option<&'a str>,
    /// Provider of text-to-speech.
    pub tts: Option<&'a str>,
}

/// Returns the codes of what the calls of an assistant use.
pub fn codes<'a>(assistant: &Assistant, catalogue: &'a Catalogue) -> Codes<'a> {
    let multimodal =
        assistant.multimodal_model_id.and_then(|id| catalogue.multimodal_models.iter().find(|m| m.id == id));
    let llm = assistant.llm_model_id.and_then(|id| catalogue.llm_models.iter().find(|model| model.id == id));
    Codes {
        stt: transcriber(assistant, catalogue).map(|provider| &*provider.code),
        llm: match assistant.mode {
            Mode::Pipeline => llm.map(LlmModel::price_code),
            Mode::Multimodal | Mode::Dualplex => multimodal.map(|model| &*model.code),
        },
        tts: synthesizer(assistant, catalogue).map(|provider| &*provider.code),
    }
}

/// A compiled assistant, ready for an answer.
pub struct Compiled {
    /// The assistant as JSON.
    pub json: Vec<u8>,
    /// Whether its knowledge was cut to keep the limit.
    pub is_cut: bool,
}

/// Compiles the assistant of a call; `None` if it exceeds the limit even without its knowledge.
pub fn compile(ctx: &Ctx<'_>, account: Scope<'_>, call: &CallRow) -> Result<Option<Compiled>, Stop> {
    let row = of_call(account, call.assistant())?.ok_or(Assistant::DAMAGED)?;
    let assistant = Assistant::read(&row.public)?;
    let values = values::of(&assistant, call, ctx.now);
    let Ok(texts) = values::filled(&values, &assistant) else { return Ok(None) };
    let mut lookups = lookups(&assistant, ctx.setup.catalogue(), texts);
    lookups.functions = Some(Json(functions(account, &assistant, call.is_visited())?));
    let mut json = joined(&Raw(&row.public), &lookups);
    json.pop();
    json.extend_from_slice(br#","knowledge":"#);
    let Some(room) = ASSISTANT_BYTES_MAX.checked_sub(json.len() + "null}".len()) else { return Ok(None) };
    let known = knowledge(account, &assistant)?;
    let fitting = known.as_deref().and_then(|text| fitting(text, room));
    let is_cut = fitting != known;
    fitting.write(&mut json);
    json.push(b'}');
    Ok(Some(Compiled { json, is_cut }))
}

/// Returns as much of a text as fits into `bytes_max` bytes of JSON, with a mark where it was cut; `None` if not even
/// the mark fits.
fn fitting(text: &str, bytes_max: usize) -> Option<String> {
    let quoted = |text: &str| text.to_json().len();
    if quoted(text) <= bytes_max {
        return Some(text.into());
    }
    let mut room = bytes_max.checked_sub(quoted(CUT))?;
    let end = text.char_indices().find_map(|(at, c)| match room.checked_sub(quoted(c.encode_utf8(&mut [0; 4])) - 2) {
        Some(left) => {
            room = left;
            None
        }
        None => Some(at),
    });
    Some([&text[..end.unwrap_or(text.len())], CUT].concat())
}

/// Returns the text of the knowledgebase, if it is part of the prompt.
fn knowledge(account: Scope<'_>, assistant: &Assistant) -> Result<Option<String>, Stop> {
    let base = assistant.knowledgebase_id.and_then(|id| id::local(account.space(), id));
    let Some(base) = base.filter(|_| assistant.knowledgebase_mode == KnowledgeMode::Prompt) else { return Ok(None) };
    search::text(account, base, KNOWLEDGE_BYTES_MAX).map(Some)
}

/// Looks up voice, languages, models and providers. A provider that is not set is chosen by the voice, else by the
/// language.
fn lookups(assistant: &Assistant, catalogue: &Catalogue, texts: FilledTexts) -> Lookups {
    let voice = catalogue.voice(assistant.voice_id);
    let llm = |id: Option<u64>| catalogue.llm_models.iter().find(|model| Some(model.id) == id).cloned();
    let more = assistant.secondary_language_ids.iter().filter_map(|id| catalogue.language(*id));
    Lookups {
        prompt: texts.prompt,
        greeting: texts.greeting,
        reengagement: texts.reengagement,
        voicemail: texts.voicemail,
        unknown_variables: texts.unknown,
        voice: voice.cloned(),
        spoken_language: catalogue.language(assistant.language_id).cloned(),
        secondary_languages: more.cloned().collect(),
        llm_model: llm(assistant.llm_model_id),
        multimodal_model: assistant
            .multimodal_model_id
            .and_then(|id| catalogue.multimodal_models.iter().find(|model| model.id == id).cloned()),
        chat_llm_fallback: llm(assistant.chat_llm_fallback_id),
        synthesizer_provider: synthesizer(assistant, catalogue).map(EngineProvider::of),
        transcriber_provider: transcriber(assistant, catalogue).map(EngineProvider::of),
        turns: TurnTaking::of(assistant),
        timings: Timings {
            ringing_time: assistant.ringing_time,
            max_duration: assistant.max_duration,
            max_silence_duration: assistant.max_silence_duration,
            max_initial_silence_duration: assistant.max_initial_silence_duration,
            reengagement_interval: assistant.reengagement_interval,
        },
        functions: None,
    }
}

/// Returns the provider of text-to-speech; `None` where the model itself speaks.
fn synthesizer<'a>(assistant: &Assistant, catalogue: &'a Catalogue) -> Option<&'a ProviderEntry> {
    let of_voice = || catalogue.voice(assistant.voice_id)?.synthesizer_provider_id;
    let id = assistant.synthesizer_provider_id.or_else(of_voice);
    let speaks = assistant.mode != Mode::Multimodal;
    provider(&catalogue.synthesizer_providers, id, assistant.language_id).filter(|_| speaks)
}

/// Returns the provider of speech-to-text; `None` where the model itself hears.
fn transcriber<'a>(assistant: &Assistant, catalogue: &'a Catalogue) -> Option<&'a ProviderEntry> {
    let hears = assistant.mode == Mode::Pipeline;
    let id = assistant.transcriber_provider_id;
    provider(&catalogue.transcriber_providers, id, assistant.language_id).filter(|_| hears)
}

fn provider(all: &[ProviderEntry], id: Option<u64>, language: u64) -> Option<&ProviderEntry> {
    let named = id.and_then(|id| all.iter().find(|provider| provider.id == id));
    named.or_else(|| all.iter().find(|provider| provider.language_ids.contains(&language)))
}

impl EngineProvider {
    fn of(entry: &ProviderEntry) -> Self {
        Self { id: entry.id, name: entry.name.clone(), code: entry.code.clone(), engine: entry.engine.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{self, Value};
    use crate::record::defaults;

    /// Returns the compiled members as JSON.
    fn compiled(assistant: &Assistant, catalogue: &str) -> Value {
        let catalogue = Catalogue::parse(catalogue.as_bytes()).expect("a catalogue");
        let texts =
            FilledTexts { prompt: None, greeting: None, reengagement: None, voicemail: None, unknown: Vec::new() };
        json::parse(&lookups(assistant, &catalogue, texts).to_json()).expect("it is JSON")
    }

    #[test]
    fn entries_of_the_catalogue_come_with_what_engines_need() {
        let full = r#"{"languages":[{"id":1,"name":"E","iso_2":"en","code":"en-GB"}],
            "voices":[{"id":1,"name":"V","gender":"male","code":"v","engine":{"voice_id":"x"},"synthesizer_provider_id":1}],
            "llm_models":[{"id":1,"name":"L","code":"l","engine":{"model":"m","url":"https://models.example"}}],
            "multimodal_models":[{"id":1,"name":"M","code":"m","engine":{"model":"r"}}],
            "synthesizer_providers":[{"id":1,"name":"S","code":"s","language_ids":[1],"engine":{"vendor":"own"}}],
            "transcriber_providers":[{"id":1,"name":"T","code":"t","language_ids":[1]}]}"#;
        let assistant = Assistant {
            mode: Mode::Pipeline,
            voice_id: 1,
            language_id: 1,
            llm_model_id: Some(1),
            multimodal_model_id: Some(1),
            chat_llm_fallback_id: Some(1),
            ..defaults()
        };
        let compiled = compiled(&assistant, full);
        for (name, code, engine) in [
            ("voice", r#""v""#, r#"{"voice_id":"x"}"#),
            ("spoken_language", r#""en-GB""#, "null"),
            ("llm_model", r#""l""#, r#"{"model":"m","url":"https://models.example"}"#),
            ("multimodal_model", r#""m""#, r#"{"model":"r"}"#),
            ("chat_llm_fallback", r#""l""#, r#"{"model":"m","url":"https://models.example"}"#),
            ("synthesizer_provider", r#""s""#, r#"{"vendor":"own"}"#),
            ("transcriber_provider", r#""t""#, "null"),
        ] {
            let shown = |member| compiled.member(name)?.member(member).map(ToJson::to_json);
            assert_eq!(shown("code").as_deref(), Some(code.as_bytes()), "{name}");
            assert_eq!(shown("engine").as_deref(), Some(engine.as_bytes()), "{name}");
        }
    }

    #[test]
    fn knowledge_is_cut_at_a_character_within_its_bytes() {
        for text in ["plain words", "quotes \" and \n \u{1} control", "ăîșț and 😀"] {
            let long = text.repeat(20);
            let whole = long.to_json().len();
            assert_eq!(fitting(&long, whole).as_deref(), Some(&*long));
            for bytes_max in 0..whole {
                let cut = fitting(&long, bytes_max);
                let Some(cut) = cut else {
                    assert!(bytes_max < CUT.to_json().len(), "{bytes_max}");
                    continue;
                };
                assert!(cut.to_json().len() <= bytes_max, "{bytes_max}");
                let kept = cut.strip_suffix(CUT).expect("it ends with the mark");
                assert!(long.starts_with(kept) && cut.to_json().len() + 6 > bytes_max, "{bytes_max}: {kept}");
            }
        }
    }
}
