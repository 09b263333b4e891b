//! The catalogue: languages, voices, models and providers that assistants are made of.
//!
//! Data, shipped with the program and replaceable by the operator; its tables are below.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::choice;
use crate::json::{self, Value};
use crate::record;
use crate::record::{Errors, Record, Ref, Source, check, choice, choices, id, ids, text};

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
    /// How a voice sounds.
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
    /// A language that assistants speak.
    pub struct Language {
        /// Its id.
        id: u64 = id().required(),
        /// Its English name.
        name: String = text(1, 255).required(),
        /// Its ISO 639-1 code.
        iso_2: String = text(2, 2).required(),
    }
}

record! {
    /// A voice.
    pub struct Voice {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(1, 255).required(),
        /// The language it speaks; null: several.
        language_id: Option<u64> = id(),
        /// How it sounds.
        gender: Gender = choice::<Gender>().required(),
        /// Where to hear it.
        preview_url: Option<String> = text(1, 2_048),
        /// Its accent.
        accent: Option<String> = text(1, 255),
        /// How old it sounds.
        age: Option<String> = text(1, 255),
        /// Who makes it; null: the multimodal model itself.
        synthesizer_provider_id: Option<u64> = id(),
        /// The modes it fits.
        modes: Vec<Mode> = choices::<Mode>(3),
    }
}

record! {
    /// A model of the `pipeline` mode.
    pub struct LlmModel {
        /// Its id: `llm_model_id`.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(1, 255).required(),
    }
}

record! {
    /// A model of the `multimodal` and `dualplex` modes.
    pub struct MultimodalModel {
        /// Its id: `multimodal_model_id`.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(1, 255).required(),
        /// Its short name.
        code: String = text(1, 255).required(),
    }
}

record! {
    /// Who turns text into speech, or speech into text, with the languages it knows.
    pub struct ListedProvider {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(1, 255).required(),
        /// Its short name.
        code: String = text(1, 255).required(),
        /// The languages it knows.
        language_ids: Vec<u64> = ids(1_000),
    }
}

record! {
    /// Who turns text into speech, or speech into text.
    pub struct Provider {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(1, 255).required(),
        /// Its short name.
        code: String = text(1, 255).required(),
    }
}

/// All that an assistant can be made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// Languages, by id.
    pub languages: Vec<Language>,
    /// Voices, by id.
    pub voices: Vec<Voice>,
    /// LLMs, by id.
    pub llm_models: Vec<LlmModel>,
    /// Multimodal models, by id.
    pub multimodal_models: Vec<MultimodalModel>,
    /// Text to speech, by id.
    pub synthesizer_providers: Vec<ListedProvider>,
    /// Speech to text, by id.
    pub transcriber_providers: Vec<ListedProvider>,
}

impl Catalogue {
    /// The catalogue that comes with the program.
    pub fn shipped() -> Self {
        Self::parse(SHIPPED).expect("a test reads the shipped catalogue")
    }

    /// Reads a catalogue; the sentence says what is wrong with it, and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        Self::of(&json::parse(bytes).map_err(|malformed| format!("It is not valid JSON: {}.", malformed.reason))?)
    }

    /// The catalogue that a JSON object is.
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

    /// Whether an id names something of the catalogue.
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

    /// A language by id.
    pub fn language(&self, id: u64) -> Option<&Language> {
        self.languages.iter().find(|language| language.id == id)
    }

    /// A voice by id.
    pub fn voice(&self, id: u64) -> Option<&Voice> {
        self.voices.iter().find(|voice| voice.id == id)
    }
}

/// A list of the catalogue: every entry fits its table, ids rise.
fn list<T: Record + Identified>(value: &Value, name: &str) -> Result<Vec<T>, String> {
    let entries = value.member(name).and_then(Value::as_list).ok_or_else(|| format!("{name} must be an array"))?;
    let mut list: Vec<T> = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let Value::Object(members) = entry else { return Err(format!("{name}.{at} must be an object")) };
        let said = |errors: Errors| format!("{name}.{at}: {}", errors.first());
        let entry: T = check(T::TABLE, members.clone(), Source::Body).finish().map_err(said)?;
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

identified!(Language, Voice, LlmModel, MultimodalModel, ListedProvider);

#[cfg(test)]
mod tests {
    use super::*;

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
}
