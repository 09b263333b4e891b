//! Choices for an assistant's settings: models, voices, languages, providers and the account's numbers.
//!
//! Entries of the catalogue are shown without what is for engines alone.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::Direction;
use crate::catalogue::{Gender, LanguageEntry, LlmModel, Mode, MultimodalModel, ProviderEntry, VoiceEntry};
use crate::choice;
use crate::http::ctx::Ctx;
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::json::ToJson;
use crate::record;
use crate::record::{choice, choices, id, text};

choice! {
    /// Which models to list.
    pub enum ModelType {
        /// LLMs, the models of `pipeline`.
        Llm = "llm",
        /// Multimodal models, those of `multimodal`.
        Multimodal = "multimodal",
        /// Multimodal models: `dualplex` takes the same ones.
        Dualplex = "dualplex",
    }
}

record! {
    /// Query of `GET /user/assistants/models`.
    pub struct ModelQuery {
        /// Which models to list; `multimodal` and `dualplex` list the same.
        r#type: ModelType = choice::<ModelType>().or_text("llm"),
    }
}

record! {
    /// A model to choose from.
    pub struct ListedModel {
        /// Id, used as `llm_model_id` or `multimodal_model_id`.
        id: u64 = id().required(),
        /// Name of the model, shown to users.
        name: String = text(1, 255).required(),
        /// Short name for programs, for example `gpt-realtime`; multimodal models only.
        code: Option<String> = text(1, 255).sparse(),
    }
}

record! {
    /// A voice that assistants can use.
    pub struct Voice {
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
        modes: Vec<Mode> = choices::<Mode>(3),
    }
}

record! {
    /// A language that assistants can speak.
    pub struct Language {
        /// Id of the language, used as `language_id`.
        id: u64 = id().required(),
        /// English name, with a region where needed, for example `English (UK)`.
        name: String = text(1, 255).required(),
        /// ISO 639-1 code, for example `en`; regional variants share one.
        iso_2: String = text(2, 2).required(),
    }
}

record! {
    /// A text-to-speech or speech-to-text provider.
    pub struct Provider {
        /// Id of the provider, used as `synthesizer_provider_id` or `transcriber_provider_id`.
        id: u64 = id().required(),
        /// Name of the provider, shown to users.
        name: String = text(1, 255).required(),
        /// Short name for programs, in lower case.
        code: String = text(1, 255).required(),
    }
}

record! {
    /// Query of `GET /user/assistants/voices`.
    pub struct VoiceQuery {
        /// Only voices that fit this mode.
        mode: Option<Mode> = choice::<Mode>(),
        /// Only voices that speak this language; those without a language speak several and match.
        language_id: Option<u64> = id(),
        /// Only voices of this text-to-speech provider.
        synthesizer_provider_id: Option<u64> = id(),
        /// Only voices that sound like this.
        gender: Option<Gender> = choice::<Gender>(),
        /// Only voices whose name contains this; case does not matter.
        search: Option<String> = text(1, 255),
    }
}

record! {
    /// Query of the provider lists.
    pub struct ProviderQuery {
        /// Only providers that support this language.
        language_id: Option<u64> = id(),
    }
}

record! {
    /// Query of `GET /user/assistants/phone-numbers`.
    pub struct NumberQuery {
        /// `inbound` leaves out caller ids and numbers that an inbound assistant holds.
        r#type: Option<Direction> = choice::<Direction>(),
    }
}

impl ListedModel {
    fn of_llm(model: &LlmModel) -> Self {
        Self { id: model.id, name: model.name.clone(), code: None }
    }

    fn of_multimodal(model: &MultimodalModel) -> Self {
        Self { id: model.id, name: model.name.clone(), code: Some(model.code.clone()) }
    }
}

impl Voice {
    fn of(entry: &VoiceEntry) -> Self {
        Self {
            id: entry.id,
            name: entry.name.clone(),
            language_id: entry.language_id,
            gender: entry.gender,
            preview_url: entry.preview_url.clone(),
            accent: entry.accent.clone(),
            age: entry.age.clone(),
            synthesizer_provider_id: entry.synthesizer_provider_id,
            modes: entry.modes.clone(),
        }
    }
}

impl Language {
    fn of(entry: &LanguageEntry) -> Self {
        Self { id: entry.id, name: entry.name.clone(), iso_2: entry.iso_2.clone() }
    }
}

impl Provider {
    fn of(entry: &ProviderEntry) -> Self {
        Self { id: entry.id, name: entry.name.clone(), code: entry.code.clone() }
    }
}

fn list<T: ToJson>(entries: &[T]) -> Handled {
    Ok(Reply::ok(entries))
}

/// `GET /user/assistants/models`
pub fn models(ctx: &Ctx<'_>) -> Handled {
    let query: ModelQuery = ctx.asks()?;
    let catalogue = ctx.setup.catalogue();
    let models: Vec<ListedModel> = match query.r#type {
        ModelType::Llm => catalogue.llm_models.iter().map(ListedModel::of_llm).collect(),
        ModelType::Multimodal | ModelType::Dualplex => {
            catalogue.multimodal_models.iter().map(ListedModel::of_multimodal).collect()
        }
    };
    list(&models)
}

/// `GET /user/assistants/voices`
pub fn voices(ctx: &Ctx<'_>) -> Handled {
    let query: VoiceQuery = ctx.asks()?;
    let search = query.search.map(|text| text.to_lowercase());
    let fits = ctx.setup.catalogue().voices.iter().filter(|voice| {
        query.mode.is_none_or(|mode| voice.modes.contains(&mode))
            // A voice without a language speaks several.
            && query.language_id.is_none_or(|id| voice.language_id.is_none_or(|own| own == id))
            && query.synthesizer_provider_id.is_none_or(|id| voice.synthesizer_provider_id == Some(id))
            && query.gender.is_none_or(|gender| voice.gender == gender)
            && search.as_ref().is_none_or(|text| voice.name.to_lowercase().contains(text))
    });
    list(&fits.map(Voice::of).collect::<Vec<_>>())
}

/// `GET /user/assistants/languages`
pub fn languages(ctx: &Ctx<'_>) -> Handled {
    list(&ctx.setup.catalogue().languages.iter().map(Language::of).collect::<Vec<_>>())
}

/// `GET /user/assistants/synthesizer-providers`
pub fn synthesizers(ctx: &Ctx<'_>) -> Handled {
    providers(ctx, &ctx.setup.catalogue().synthesizer_providers)
}

/// `GET /user/assistants/transcriber-providers`
pub fn transcribers(ctx: &Ctx<'_>) -> Handled {
    providers(ctx, &ctx.setup.catalogue().transcriber_providers)
}

fn providers(ctx: &Ctx<'_>, all: &[ProviderEntry]) -> Handled {
    let query: ProviderQuery = ctx.asks()?;
    let fits = all.iter().filter(|provider| query.language_id.is_none_or(|id| provider.language_ids.contains(&id)));
    list(&fits.map(Provider::of).collect::<Vec<_>>())
}
