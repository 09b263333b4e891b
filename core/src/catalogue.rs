//! The catalogue: languages, voices, models and providers that assistants can use.
//!
//! It is data, shipped with the program (`core/data/catalogue.json`) and replaceable by the operator; its tables are
//! below. Users see the entries without `engine`, which may name private endpoints.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::choice;
use crate::json::{self, Value};
use crate::limits::ENGINE_OBJECT_BYTES_MAX;
use crate::record;
use crate::record::{Errors, Json, MemberSource, Record, Ref, any_object, check, choice, choices, id, ids, text};

static SHIPPED: &[u8] = include_bytes!("../data/catalogue.json");

choice! {
    /// The engine modes (docs/api.md, Creating an assistant).
    pub enum Mode {
        /// Speech-to-text, LLM, text-to-speech.
        Pipeline = "pipeline",
        /// A real-time multimodal model.
        Multimodal = "multimodal",
        /// A multimodal model with a separate synthesized voice.
        Dualplex = "dualplex",
    }
}

choice! {
    /// Perceived gender of a voice.
    pub enum Gender {
        /// Female.
        Female = "female",
        /// Male.
        Male = "male",
        /// Neither.
        Neutral = "neutral",
    }
}

record! {
    /// A language that assistants can speak.
    pub struct LanguageEntry {
        /// Id of the language, used as `language_id`.
        id: u64 = id().required(),
        /// English name, with a region where needed, for example `English (UK)`.
        name: String = text(1, 255).required(),
        /// ISO 639-1 code, for example `en`; regional variants share one.
        iso_2: String = text(2, 2).required(),
        /// BCP 47 tag, for example `en-GB`; null: not stated.
        code: Option<String> = text(1, 255),
        /// What engines need to reach it, passed to them as it is and never shown to users; null: nothing.
        engine: Option<Json> = any_object(ENGINE_OBJECT_BYTES_MAX),
    }
}

record! {
    /// A voice that assistants can use.
    pub struct VoiceEntry {
        /// Id of the voice, used as `voice_id`.
        id: u64 = id().required(),
        /// Name of the voice, shown to users.
        name: String = text(1, 255).required(),
        /// Language that it speaks; null: several.
        language_id: Option<u64> = id(),
        /// Perceived gender; `neutral` is neither.
        gender: Gender = choice::<Gender>().required(),
        /// URL of a sample recording; null: none.
        preview_url: Option<String> = text(1, 2_048),
        /// Accent, for example `British`; null: not stated.
        accent: Option<String> = text(1, 255),
        /// Perceived age, for example `young`; null: not stated.
        age: Option<String> = text(1, 255),
        /// Provider that synthesizes it; null: the multimodal model itself.
        synthesizer_provider_id: Option<u64> = id(),
        /// Engine modes that can use it.
        modes: Vec<Mode> = choices::<Mode>(3).or_words(&["pipeline", "dualplex"]),
        /// Short name for programs, for example `elevenlabs-rachel`; null: none.
        code: Option<String> = text(1, 255),
        /// What engines need to reach it, passed to them as it is and never shown to users; null: nothing.
        engine: Option<Json> = any_object(ENGINE_OBJECT_BYTES_MAX),
    }
}

record! {
    /// A model of the `pipeline` mode.
    pub struct LlmModel {
        /// Id, used as `llm_model_id`.
        id: u64 = id().required(),
        /// Name of the model, shown to users.
        name: String = text(1, 255).required(),
        /// Short name for programs, for example `gpt-4.1`; null: none.
        code: Option<String> = text(1, 255),
        /// What engines need to reach it, passed to them as it is and never shown to users; null: nothing.
        engine: Option<Json> = any_object(ENGINE_OBJECT_BYTES_MAX),
    }
}

impl LlmModel {
    /// Returns what the price list calls it: its short name, else its name.
    pub fn price_code(&self) -> &str {
        self.code.as_deref().unwrap_or(&self.name)
    }
}

record! {
    /// A model of the `multimodal` and `dualplex` modes.
    pub struct MultimodalModel {
        /// Id, used as `multimodal_model_id`.
        id: u64 = id().required(),
        /// Name of the model, shown to users.
        name: String = text(1, 255).required(),
        /// Short name for programs, for example `gpt-realtime`.
        code: String = text(1, 255).required(),
        /// What engines need to reach it, passed to them as it is and never shown to users; null: nothing.
        engine: Option<Json> = any_object(ENGINE_OBJECT_BYTES_MAX),
    }
}

record! {
    /// A text-to-speech or speech-to-text provider, with the languages it supports.
    pub struct ProviderEntry {
        /// Id of the provider.
        id: u64 = id().required(),
        /// Name of the provider, shown to users.
        name: String = text(1, 255).required(),
        /// Short name for programs, in lower case.
        code: String = text(1, 255).required(),
        /// Ids of the languages it supports.
        language_ids: Vec<u64> = ids(1_000),
        /// What engines need to reach it, passed to them as it is and never shown to users; null: nothing.
        engine: Option<Json> = any_object(ENGINE_OBJECT_BYTES_MAX),
    }
}

/// Everything that an assistant can be configured with.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// Languages, by ascending id.
    pub languages: Vec<LanguageEntry>,
    /// Voices, by ascending id; each names only languages and providers of the catalogue, and at least one mode.
    pub voices: Vec<VoiceEntry>,
    /// Models of the `pipeline` mode, by ascending id.
    pub llm_models: Vec<LlmModel>,
    /// Models of the `multimodal` and `dualplex` modes, by ascending id.
    pub multimodal_models: Vec<MultimodalModel>,
    /// Text-to-speech providers, by ascending id.
    pub synthesizer_providers: Vec<ProviderEntry>,
    /// Speech-to-text providers, by ascending id.
    pub transcriber_providers: Vec<ProviderEntry>,
}

impl Catalogue {
    /// Parses the catalogue shipped with the program.
    pub fn shipped() -> Self {
        Self::parse(SHIPPED).expect("a test reads the shipped catalogue")
    }

    /// Parses a catalogue; the error is a sentence that says what is wrong, and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::of(&json::parse(bytes).map_err(|malformed| format!("It is not valid JSON: {}.", malformed.reason))?)
    }

    /// Reads a catalogue from a JSON object, and checks that all references resolve.
    pub fn of(value: &Value) -> Result<Self, String> {
        let catalogue = Self {
            languages: list(value, "languages")?,
            voices: list(value, "voices")?,
            llm_models: list(value, "llm_models")?,
            multimodal_models: list(value, "multimodal_models")?,
            synthesizer_providers: list(value, "synthesizer_providers")?,
            transcriber_providers: list(value, "transcriber_providers")?,
        };
        catalogue.references()?;
        Ok(catalogue)
    }

    fn references(&self) -> Result<(), String> {
        for voice in &self.voices {
            let language = voice.language_id.is_none_or(|id| self.has(Ref::Language, id));
            let provider = voice.synthesizer_provider_id.is_none_or(|id| self.has(Ref::SynthesizerProvider, id));
            if !language || !provider || voice.modes.is_empty() {
                return Err(format!("voice {} names a language or provider that is not there, or no mode", voice.id));
            }
        }
        for provider in self.synthesizer_providers.iter().chain(&self.transcriber_providers) {
            if let Some(id) = provider.language_ids.iter().find(|id| !self.has(Ref::Language, **id)) {
                return Err(format!("provider {} names language {id}, which is not there", provider.id));
            }
        }
        Ok(())
    }

    /// Returns whether an id names an entry of the catalogue.
    pub fn has(&self, what: Ref, id: u64) -> bool {
        match what {
            Ref::Language => self.language(id).is_some(),
            Ref::Voice => self.voice(id).is_some(),
            Ref::LlmModel => self.llm_models.iter().any(|model| model.id == id),
            Ref::MultimodalModel => self.multimodal_models.iter().any(|model| model.id == id),
            Ref::SynthesizerProvider => self.synthesizer_providers.iter().any(|provider| provider.id == id),
            Ref::TranscriberProvider => self.transcriber_providers.iter().any(|provider| provider.id == id),
            Ref::Row(_) => false,
        }
    }

    /// Returns a language by id.
    pub fn language(&self, id: u64) -> Option<&LanguageEntry> {
        self.languages.iter().find(|language| language.id == id)
    }

    /// Returns a voice by id.
    pub fn voice(&self, id: u64) -> Option<&VoiceEntry> {
        self.voices.iter().find(|voice| voice.id == id)
    }
}

/// Reads a list of the catalogue: every entry must match its table, and ids must ascend.
fn list<T: Record + Identified>(value: &Value, name: &str) -> Result<Vec<T>, String> {
    let entries = value.member(name).and_then(Value::as_list).ok_or_else(|| format!("{name} must be an array"))?;
    let mut list: Vec<T> = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let Value::Object(members) = entry else { return Err(format!("{name}.{at} must be an object")) };
        let said = |errors: Errors| format!("{name}.{at}: {}", errors.first());
        let entry: T = check(T::TABLE, members.clone(), MemberSource::Body).finish().map_err(said)?;
        if list.last().is_some_and(|last| last.identity() >= entry.identity()) {
            return Err(format!("{name}.{at}: ids must rise, {} does not", entry.identity()));
        }
        list.push(entry);
    }
    Ok(list)
}

trait Identified {
    fn identity(&self) -> u64;
}

macro_rules! identified {
    ($($type:ty),*) => {$(
        impl Identified for $type {
            fn identity(&self) -> u64 {
                self.id
            }
        }
    )*};
}

identified!(LanguageEntry, VoiceEntry, LlmModel, MultimodalModel, ProviderEntry);

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned;
    use alloc::collections::BTreeSet;
    use alloc::vec;

    use super::*;
    use crate::json::ToJson;

    #[test]
    fn the_shipped_catalogue_has_what_users_expect() {
        let catalogue = Catalogue::shipped();
        assert!(catalogue.languages.len() >= 40 && catalogue.voices.len() >= 60);
        assert!(catalogue.llm_models.len() >= 12 && catalogue.multimodal_models.len() >= 6);
        for providers in [&catalogue.synthesizer_providers, &catalogue.transcriber_providers] {
            assert!(providers.len() >= 5);
            for language in &catalogue.languages {
                assert!(providers.iter().any(|p| p.language_ids.contains(&language.id)), "{}", language.name);
            }
        }
        for mode in ["pipeline", "multimodal", "dualplex"] {
            assert!(catalogue.voices.iter().any(|voice| voice.modes.iter().any(|m| m.word() == mode)), "{mode}");
        }
    }

    #[test]
    fn a_broken_catalogue_says_where() {
        let broken = |text: &str| Catalogue::parse(text.as_bytes()).expect_err(text);
        assert!(broken("{").contains("line 1"));
        assert_eq!(broken("{}"), "languages must be an array");
        assert!(
            broken(r#"{"languages":[{"id":1,"name":"E","iso_2":"eng"}]}"#).starts_with("languages.0: The iso 2 field")
        );
        assert!(
            broken(r#"{"languages":[{"id":2,"name":"E","iso_2":"en"},{"id":2,"name":"F","iso_2":"fr"}]}"#)
                .contains("ids must rise")
        );
    }

    /// Names of vendors: those of their folders in Pipecat's services, where they have one.
    const VENDORS: &[&str] = &[
        "anthropic",
        "assemblyai",
        "aws",
        "azure",
        "cartesia",
        "cohere",
        "deepgram",
        "elevenlabs",
        "gladia",
        "google",
        "groq",
        "mistral",
        "openai",
        "qwen",
        "soniox",
        "speechmatics",
        "together",
        "ultravox",
        "xai",
    ];

    /// Returns each list of a catalogue with the JSON of its entries.
    fn lists(catalogue: &Catalogue) -> Vec<(&'static str, Vec<Value>)> {
        fn values(entries: &[impl ToJson]) -> Vec<Value> {
            entries.iter().map(|entry| json::parse(&entry.to_json()).expect("an entry is JSON")).collect()
        }
        vec![
            ("languages", values(&catalogue.languages)),
            ("voices", values(&catalogue.voices)),
            ("llm_models", values(&catalogue.llm_models)),
            ("multimodal_models", values(&catalogue.multimodal_models)),
            ("synthesizer_providers", values(&catalogue.synthesizer_providers)),
            ("transcriber_providers", values(&catalogue.transcriber_providers)),
        ]
    }

    #[test]
    fn shipped_entries_have_a_code_of_their_own_and_name_their_vendor() {
        for (name, entries) in lists(&Catalogue::shipped()) {
            let mut codes = BTreeSet::new();
            for entry in &entries {
                let text = |value: &Value, member| value.member(member).and_then(Value::as_text).map(str::to_owned);
                let at = format!("{name}, {:?}", text(entry, "name"));
                assert!(codes.insert(text(entry, "code").expect(&at)), "{at}: the code is another's");
                let engine = entry.member("engine").expect(&at);
                if name == "languages" {
                    assert_eq!(*engine, Value::Null, "{at}");
                    continue;
                }
                let vendor = text(engine, "vendor").expect(&at);
                assert!(VENDORS.contains(&&*vendor), "{at}: {vendor}");
                let id = match name {
                    "voices" => Some("voice_id"),
                    "llm_models" | "multimodal_models" => Some("model"),
                    _ => None,
                };
                assert!(id.is_none_or(|member| text(engine, member).is_some()), "{at}: no id of the vendor");
            }
        }
    }

    #[test]
    fn what_engines_need_is_kept_as_it_is_or_refused_with_its_place() {
        let with = |list: &str, entry: &str| {
            let lists = [
                "languages",
                "voices",
                "llm_models",
                "multimodal_models",
                "synthesizer_providers",
                "transcriber_providers",
            ];
            let members = lists.map(|name| format!("\"{name}\":[{}]", if name == list { entry } else { "" }));
            Catalogue::parse(format!("{{{}}}", members.join(",")).as_bytes())
        };
        for (list, own) in [
            ("languages", r#""iso_2":"en""#),
            ("voices", r#""gender":"female""#),
            ("llm_models", r#""code":"m""#),
            ("multimodal_models", r#""code":"m""#),
            ("synthesizer_providers", r#""code":"p""#),
            ("transcriber_providers", r#""code":"p""#),
        ] {
            let entry = |engine: &str| format!("{{\"id\":1,\"name\":\"N\",{own},\"engine\":{engine}}}");
            let free = r#"{"vendor":"own","url":"https://models.example","n":[1,2.5,{"a":null}],"on":true}"#;
            let kept = with(list, &entry(free)).expect(list);
            let (_, entries) = lists(&kept).into_iter().find(|(name, _)| *name == list).expect(list);
            assert_eq!(entries[0].member("engine").map(ToJson::to_json).as_deref(), Some(free.as_bytes()), "{list}");
            let left_out = with(list, &format!("{{\"id\":1,\"name\":\"N\",{own}}}")).expect(list);
            let (_, entries) = lists(&left_out).into_iter().find(|(name, _)| *name == list).expect(list);
            assert_eq!(entries[0].member("engine"), Some(&Value::Null), "{list}");
            let large = format!("{{\"a\":\"{}\"}}", "x".repeat(ENGINE_OBJECT_BYTES_MAX));
            for (engine, says) in [("[]", "must be an object."), (&*large, "must not be larger than 4096 bytes.")] {
                let refused = with(list, &entry(engine)).expect_err(list);
                assert_eq!(refused, format!("{list}.0: The engine field {says}"));
            }
        }
    }
}
