//! The configuration as one JSON object, for hosts without a command line.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ipnet::IpNet;

use crate::carrier::Carrier;
use crate::carrier::twilio::Twilio;
use crate::catalogue::Catalogue;
use crate::choice;
use crate::json::{self, Members, Value};
use crate::limits::{REPLIES_A_MINUTE, URL_MAX};
use crate::llm::Llm;
use crate::rate::RateLimits;
use crate::record;
use crate::record::ColumnType;
use crate::record::{Errors, MemberSource, Record, Secret, check, choice, format, int, list, object, text, texts};
use crate::setup::{CALENDAR_URL, Config, ServedModel};

/// List entry: an address range or an origin.
static WORD: ColumnType = ColumnType::Text { min: 1, max: 255, format: None };

choice! {
    /// What happens to a call while no engine is attached.
    pub enum WithoutEngine {
        /// It waits for an engine.
        Queue = "queue",
        /// It is refused with 503.
        Refuse = "refuse",
    }
}

record! {
    /// An OpenAI-compatible endpoint that evaluates calls.
    pub struct LlmSettings {
        /// The URL before `/chat/completions`.
        url: String = text(1, URL_MAX).form(&format::URL).required(),
        /// Key of the endpoint, sent as a bearer token; null: none is sent.
        key: Option<Secret> = text(1, 1_024),
        /// Name of the model, as the endpoint knows it.
        model: String = text(1, 255).required(),
    }
}

record! {
    /// A model of the catalogue that an endpoint serves.
    pub struct ServedSettings {
        /// Name of the model in the catalogue.
        name: String = text(1, 255).required(),
        /// Name of the model, as the endpoint knows it; the same if not given.
        r#as: Option<String> = text(1, 255),
    }
}

record! {
    /// An OpenAI-compatible endpoint for some models of the catalogue.
    pub struct EndpointSettings {
        /// Name of the endpoint, for people.
        name: Option<String> = text(1, 255),
        /// The URL before `/chat/completions`.
        url: String = text(1, URL_MAX).form(&format::URL).required(),
        /// Key of the endpoint, sent as a bearer token; null: none is sent.
        key: Option<Secret> = text(1, 1_024),
        /// The models that it serves.
        models: Vec<ServedSettings> = list::<ServedSettings>(100).filled(),
    }
}

record! {
    /// An account at Twilio, for numbers and messages.
    pub struct TwilioSettings {
        /// Account SID of the Twilio account.
        account_sid: String = text(1, 255).required(),
        /// Auth token of the Twilio account.
        auth_token: Secret = text(1, 255).required(),
        /// URL of the API, up to its version.
        base_url: String = text(1, URL_MAX).form(&format::URL).or_text(Twilio::PUBLIC),
        /// Monthly price charged for a number, US cents: the API does not report it with a search.
        number_cents: u32 = int(0, 1_000_000).or_int(115),
    }
}

record! {
    /// The operator's settings, named like the command-line flags.
    pub struct Settings {
        /// Prefix of absolute URLs in answers; null: derived from the request's host.
        public_url: Option<String> = text(1, URL_MAX).form(&format::URL),
        /// Address ranges of proxies whose forwarding headers are trusted.
        trust_proxy: Vec<String> = texts(&WORD, 100),
        /// Origins that browsers may call from; `*` allows any.
        cors_origin: Vec<String> = texts(&WORD, 100),
        /// Lifetime of a session token, seconds.
        session_seconds: u32 = int(60, 31_536_000).or_int(86_400),
        /// Requests per minute and token; 0: no limit.
        rate_limit: u32 = int(0, 60_000_000).or_int(600),
        /// Replies that a token may have generated a minute; 0: no limit.
        reply_rate_limit: u32 = int(0, 60_000_000).or_int(REPLIES_A_MINUTE as i64),
        /// Address ranges that requests made for users may reach in addition to the public internet.
        egress_allow: Vec<String> = texts(&WORD, 100),
        /// What happens to a call while no engine is attached; null: it waits.
        without_engine: Option<WithoutEngine> = choice::<WithoutEngine>(),
        /// URL of the calendar service.
        calendar_url: String = text(1, URL_MAX).form(&format::URL).or_text(CALENDAR_URL),
        /// Model that evaluates calls after they end; null: only the analysis sent by the engine is used.
        llm: Option<LlmSettings> = object::<LlmSettings>(),
        /// Endpoints of models in conversations; of a model that is in none, `llm`.
        llms: Vec<EndpointSettings> = list::<EndpointSettings>(100),
        /// Account that sells numbers and sends messages; null: the simulated carrier.
        twilio: Option<TwilioSettings> = object::<TwilioSettings>(),
    }
}

/// Parsed settings of a host.
#[derive(Clone, Debug)]
pub struct Configured {
    /// Configuration of the core.
    pub config: Config,
    /// Requests, and generated replies, per minute and token.
    pub rate_limits: RateLimits,
    /// Address ranges that requests made for users may reach in addition to the public internet.
    pub egress_allow: Vec<IpNet>,
}

/// Parses [`Settings`], with an optional `catalogue` that replaces the shipped languages, voices and models. The error
/// is a sentence for the operator.
pub fn parse(bytes: &[u8]) -> Result<Configured, String> {
    let value = json::parse(bytes).map_err(|malformed| format!("It is not valid JSON: {}.", malformed.reason))?;
    let Value::Object(mut members) = value else { return Err("It must be a JSON object.".into()) };
    let catalogue = members.remove("catalogue").map(|value| Catalogue::of(&value)).transpose();
    let catalogue = catalogue.map_err(|error| format!("catalogue: {error}"))?;
    known(&members)?;
    let settings: Settings = check(Settings::TABLE, members, MemberSource::Body)
        .finish()
        .map_err(|errors: Errors| errors.first().to_string())?;
    Ok(Configured {
        rate_limits: RateLimits { per_minute: settings.rate_limit, replies: settings.reply_rate_limit },
        egress_allow: ranges("egress_allow", &settings.egress_allow)?,
        config: settings.config(catalogue)?,
    })
}

impl Settings {
    fn config(self, catalogue: Option<Catalogue>) -> Result<Config, String> {
        let models = models(self.llms, catalogue.as_ref())?;
        Ok(Config {
            catalogue,
            models,
            public_url: self.public_url,
            trust_proxy: ranges("trust_proxy", &self.trust_proxy)?,
            cors_origins: self.cors_origin,
            separate_admin: false,
            session_seconds: u64::from(self.session_seconds),
            carrier: self.twilio.map_or(Carrier::Simulated, |twilio| Carrier::Twilio(twilio.carrier())),
            engine: None,
            refuse_without_engine: self.without_engine == Some(WithoutEngine::Refuse),
            calendar_url: self.calendar_url,
            llm: self.llm.map(|LlmSettings { url, key, model }| Llm { url, key, model }),
            settings: Vec::new(),
            lists_in_pieces: false,
            passes_pieces: false,
            keeps_recordings: false,
            login_code: None,
        })
    }
}

/// Returns the models that have an endpoint of their own; the error names one that the catalogue lacks, or that is
/// named twice.
fn models(endpoints: Vec<EndpointSettings>, catalogue: Option<&Catalogue>) -> Result<Vec<ServedModel>, String> {
    let mut models: Vec<ServedModel> = Vec::new();
    if endpoints.is_empty() {
        return Ok(models);
    }
    let shipped = Catalogue::shipped();
    let catalogue = catalogue.unwrap_or(&shipped);
    let llms = catalogue.llm_models.iter().map(|model| model.name.as_str());
    let known: Vec<&str> = llms.chain(catalogue.multimodal_models.iter().map(|model| model.name.as_str())).collect();
    for EndpointSettings { url, key, models: served, .. } in endpoints {
        for ServedSettings { name, r#as } in served {
            if !known.contains(&&*name) {
                return Err(format!("llm: the catalogue has no model {name}; it has {}.", known.join(", ")));
            }
            if models.iter().any(|other| other.name == name) {
                return Err(format!("llm: the model {name} is named twice; name it once."));
            }
            let llm = Llm { url: url.clone(), key: key.clone(), model: r#as.unwrap_or_else(|| name.clone()) };
            models.push(ServedModel { name, llm });
        }
    }
    Ok(models)
}

impl TwilioSettings {
    fn carrier(self) -> Twilio {
        Twilio {
            base_url: self.base_url,
            account_sid: self.account_sid,
            auth_token: self.auth_token,
            number_price_cents: self.number_cents,
        }
    }
}

/// Rejects unknown members: a misspelt setting would be ignored silently.
fn known(members: &Members) -> Result<(), String> {
    let unknown = members.0.iter().find(|(name, _)| !Settings::TABLE.columns.iter().any(|column| column.name == name));
    unknown.map_or(Ok(()), |(name, _)| Err(format!("There is no setting {name}.")))
}

fn ranges(setting: &str, texts: &[String]) -> Result<Vec<IpNet>, String> {
    let range = |text: &String| text.parse().map_err(|_| format!("{setting}: {text} is no address range."));
    texts.iter().map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_read_and_say_what_is_wrong() {
        let text = br#"{"public_url":"https://api.example","trust_proxy":["10.0.0.0/8"],"without_engine":"refuse",
            "llm":{"url":"https://llm.example/v1","model":"m"},"twilio":{"account_sid":"AC1","auth_token":"t"}}"#;
        let config = parse(text).expect("settings").config;
        assert!(config.refuse_without_engine && config.llm.is_some() && config.trust_proxy.len() == 1);
        assert!(matches!(config.carrier, Carrier::Twilio(ref twilio) if twilio.number_price_cents == 115));
        assert_eq!(parse(b"{}").expect("defaults").rate_limits, RateLimits::from(600));
        for (text, said) in [
            ("[]", "It must be a JSON object."),
            (r#"{"rate_limits":1}"#, "There is no setting rate_limits."),
            (r#"{"public_url":"nowhere"}"#, "The public url field must be a valid URL."),
            (r#"{"twilio":{}}"#, "The twilio.account sid field is required."),
            (r#"{"trust_proxy":["ten"]}"#, "trust_proxy: ten is no address range."),
            (r#"{"egress_allow":["::/129"]}"#, "egress_allow: ::/129 is no address range."),
            (r#"{"catalogue":{}}"#, "catalogue: languages must be an array"),
        ] {
            assert_eq!(parse(text.as_bytes()).expect_err(text), said);
        }
    }
}
