//! The assistant as an engine gets it: every stored member, and beside them all that needs looking up, at most
//! [`ASSISTANT_BYTES_MAX`] in all.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{calendar, values};
use crate::assistant::tables::KnowledgeMode;
use crate::assistant::{self, Kept};
use crate::call::Stored;
use crate::catalogue::{Catalogue, ListedProvider, Mode};
use crate::http::ctx::Ctx;
use crate::id;
use crate::json::{self, Members, ToJson, Value};
use crate::key::Kind;
use crate::knowledge::search;
use crate::limits::{ASSISTANT_BYTES_MAX, KNOWLEDGE_BYTES_MAX};
use crate::store::Scope;
use crate::template::{Filled, TooLong, fill};
use crate::tool::{self, Values, schema_of};
use crate::view::Stop;

const DAMAGED: Stop = Stop::Corrupt("an assistant has an unknown form");

/// What stands where the knowledge was cut.
const CUT: &str = "\n[The knowledge was cut here.]";
/// The texts of an assistant that are filled in: what each is called, and where it stands.
const TEXTS: [(&str, &str); 4] = [
    ("prompt", "system_prompt"),
    ("greeting", "initial_message"),
    ("reengagement", "reengagement_prompt"),
    ("voicemail", "voice_mail_message"),
];

/// A compiled assistant.
pub struct Compiled {
    /// Its JSON.
    pub json: Vec<u8>,
    /// Whether its knowledge was cut to make it fit.
    pub is_cut: bool,
}

/// Compiles the assistant of a call; `None` if it is larger than an engine gets it, its knowledge left out.
pub fn compile(ctx: &Ctx<'_>, account: Scope<'_>, call: &Stored) -> Result<Option<Compiled>, Stop> {
    let assistant = assistant::kept(account, call.assistant())?.ok_or(DAMAGED)?;
    let values = values::of(&assistant, call, ctx.now);
    let mut out = assistant.shown();
    if texts(&values, &assistant, &mut out) == Err(TooLong) {
        return Ok(None);
    }
    chosen(&assistant, ctx.setup.catalogue(), &mut out);
    out.set("timings", Value::Object(timings(&assistant)));
    out.set("functions", Value::List(functions(account, &assistant)?));
    let mut json = out.to_json();
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

/// As much of a text as fits into so many bytes of JSON, with a mark where it was cut; nothing if not even that fits.
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

/// The text of the knowledgebase, where the prompt carries it.
fn knowledge(account: Scope<'_>, assistant: &Kept) -> Result<Option<String>, Stop> {
    let base = assistant.number("knowledgebase_id").and_then(|id| id::local(account.space(), id));
    let Some(base) = base.filter(|_| assistant.text("knowledgebase_mode") == Some(KnowledgeMode::Prompt.word())) else {
        return Ok(None);
    };
    search::text(account, base, KNOWLEDGE_BYTES_MAX).map(Some)
}

/// Sets the filled texts of an assistant, and the names that are not known: these stay as they stand.
fn texts(values: &Values, assistant: &Kept, out: &mut Members) -> Result<(), TooLong> {
    let (mut unknown, mut told): (Vec<Value>, BTreeSet<String>) = Default::default();
    let mut left = ASSISTANT_BYTES_MAX;
    for (name, stored) in TEXTS {
        let mut value = Value::Null;
        if let Some(text) = assistant.text(stored) {
            let kept = |name: &str| alloc::format!("{{{{{name}}}}}");
            let Filled { text, unknown: missing } = fill(text, left, |name| values.get(name), kept)?;
            left -= text.len();
            value = Value::Text(text);
            unknown.extend(missing.into_iter().filter(|name| told.insert(name.clone())).map(Value::Text));
        }
        out.set(name, value);
    }
    out.set("unknown_variables", Value::List(unknown));
    Ok(())
}

/// Voice, language, models and providers; a provider that was left open is chosen by voice, then language.
fn chosen(assistant: &Kept, catalogue: &Catalogue, out: &mut Members) {
    let number = |name: &str| assistant.number(name);
    let voice = number("voice_id").and_then(|id| catalogue.voice(id));
    let language = number("language_id").unwrap_or(0);
    let provider = |all: &[ListedProvider], id: Option<u64>| {
        let named = id.and_then(|id| all.iter().find(|provider| provider.id == id));
        let found = named.or_else(|| all.iter().find(|provider| provider.language_ids.contains(&language)));
        found.map(ToJson::to_json)
    };
    let synthesizer =
        number("synthesizer_provider_id").or_else(|| voice.and_then(|voice| voice.synthesizer_provider_id));
    let speaks = assistant.mode() != Some(Mode::Multimodal);
    let hears = assistant.mode() == Some(Mode::Pipeline);
    let model = number("llm_model_id").and_then(|id| catalogue.llm_models.iter().find(|model| model.id == id));
    let multimodal =
        number("multimodal_model_id").and_then(|id| catalogue.multimodal_models.iter().find(|model| model.id == id));
    let fallback =
        number("chat_llm_fallback_id").and_then(|id| catalogue.llm_models.iter().find(|model| model.id == id));
    let more = assistant.members.get("secondary_language_ids").and_then(Value::as_list).unwrap_or_default();
    let more: Vec<_> = more.iter().filter_map(|id| catalogue.language(id.as_u64()?)).collect();
    for (name, found) in [
        ("voice", voice.map(ToJson::to_json)),
        ("spoken_language", catalogue.language(language).map(ToJson::to_json)),
        ("secondary_languages", Some(more.to_json())),
        ("llm_model", model.map(ToJson::to_json)),
        ("multimodal_model", multimodal.map(ToJson::to_json)),
        ("chat_llm_fallback", fallback.map(ToJson::to_json)),
        ("synthesizer_provider", provider(&catalogue.synthesizer_providers, synthesizer).filter(|_| speaks)),
        (
            "transcriber_provider",
            provider(&catalogue.transcriber_providers, number("transcriber_provider_id")).filter(|_| hears),
        ),
    ] {
        let mut value = found.and_then(|json| json::parse(&json).ok()).unwrap_or(Value::Null);
        if let Value::Object(members) = &mut value {
            members.remove("language_ids");
        }
        out.set(name, value);
    }
}

fn timings(assistant: &Kept) -> Members {
    let names = [
        "ringing_time",
        "max_duration",
        "max_silence_duration",
        "max_initial_silence_duration",
        "reengagement_interval",
    ];
    let value = |name: &&str| assistant.members.get(name).cloned().unwrap_or(Value::Null);
    Members(names.iter().map(|name| ((*name).to_string(), value(name))).collect())
}

/// Everything that the model may call: the account's tools, then the built-in ones, then the search.
fn functions(account: Scope<'_>, assistant: &Kept) -> Result<Vec<Value>, Stop> {
    let mut functions = Vec::new();
    for attached in assistant.members.get("tool_ids").and_then(Value::as_list).unwrap_or_default() {
        let count = attached.as_u64().and_then(|id| id::local(account.space(), id)).unwrap_or(0);
        if let Some(row) = account.find(Kind::Tool, count)? {
            functions.push(tool::function(&row)?);
        }
    }
    for built_in in assistant.members.get("tools").and_then(Value::as_list).unwrap_or_default() {
        functions.extend(built_in_function(built_in));
        if built_in.member("type").and_then(Value::as_text) == Some("calendar_integration") {
            let about = built_in.member("description").and_then(Value::as_text).unwrap_or("Schedules an appointment.");
            functions.extend(calendar::functions(about));
        }
    }
    let searches = assistant.text("knowledgebase_mode") == Some(KnowledgeMode::FunctionCall.word());
    if searches && assistant.number("knowledgebase_id").is_some() {
        let about = "Searches the knowledgebase for what the customer asks about.";
        functions.push(schema_of("search_knowledgebase", about, &[("query", "string", "What to look for")]));
    }
    Ok(functions)
}

fn built_in_function(tool: &Value) -> Option<Value> {
    let text = |name: &str| tool.member(name).and_then(Value::as_text);
    let about =
        |fallback: &'static str| text("description").filter(|text| !text.is_empty()).unwrap_or(fallback).to_string();
    match text("type")? {
        "end_call" => Some(schema_of("end_call", &about("Ends the call."), &[])),
        "dtmf_input" => {
            let parameters = [("digits", "string", "The keys to press: 0-9, * and #")];
            Some(schema_of("dtmf_input", &about("Sends keypad tones, to get through a menu."), &parameters))
        }
        "call_transfer" => {
            let free = tool.member("custom") == Some(&Value::Bool(true));
            let number = [("phone_number", "string", "Whom to transfer the call to, E.164")];
            let parameters: &[(&str, &str, &str)] = if free { &number } else { &[] };
            Some(schema_of("call_transfer", &about("Transfers the call to a person."), parameters))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
