//! The configuration as one JSON object, for hosts that have no command line.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ipnet::IpNet;

use crate::carrier::Carrier;
use crate::carrier::twilio::Twilio;
use crate::catalogue::Catalogue;
use crate::choice;
use crate::json::{self, Members, Value};
use crate::limits::URL_MAX;
use crate::llm::Llm;
use crate::record;
use crate::record::Kind;
use crate::record::{Errors, Record, Secret, Source, check, choice, format, int, object, text, texts};
use crate::setup::{CALENDAR_URL, Config};

/// An entry of a list: a range of addresses or an origin.
static WORD: Kind = Kind::Text { min: 1, max: 255, format: None };

choice! {
    /// What becomes of a call while no engine is attached.
    pub enum WithoutEngine {
        /// It waits.
        Queue = "queue",
        /// It is refused.
        Refuse = "refuse",
    }
}

record! {
    /// An OpenAI-compatible endpoint that evaluates calls.
    pub struct LlmSettings {
        /// The URL before `/chat/completions`.
        url: String = text(1, URL_MAX).form(&format::URL).required(),
        /// Its key.
        key: Option<Secret> = text(1, 1_024),
        /// Its model.
        model: String = text(1, 255).required(),
    }
}

record! {
    /// An account at Twilio, for numbers and messages.
    pub struct TwilioSettings {
        /// Account SID.
        account_sid: String = text(1, 255).required(),
        /// Token.
        auth_token: Secret = text(1, 255).required(),
        /// Where the API is.
        base_url: String = text(1, URL_MAX).form(&format::URL).or_text(Twilio::PUBLIC),
        /// Monthly price of a number, US cents.
        number_cents: u32 = int(0, 1_000_000).or_int(115),
    }
}

record! {
    /// What an operator decides, with the names that flags have.
    pub struct Settings {
        /// What absolute URLs in answers start with; else the request's host.
        public_url: Option<String> = text(1, URL_MAX).form(&format::URL),
        /// Ranges of proxies whose forwarding headers count.
        trust_proxy: Vec<String> = texts(&WORD, 100),
        /// Origins that browsers may call from; `*` is any.
        cors_origin: Vec<String> = texts(&WORD, 100),
        /// How long a session token lives, seconds.
        session_seconds: u32 = int(60, 31_536_000).or_int(86_400),
        /// Requests a minute of one token; 0: no limit.
        rate_limit: u32 = int(0, 60_000_000).or_int(600),
        /// Address ranges that requests made for users may reach besides the public internet.
        egress_allow: Vec<String> = texts(&WORD, 100),
        /// What becomes of a call while no engine is attached.
        without_engine: Option<WithoutEngine> = choice::<WithoutEngine>(),
        /// Where calendars are asked and booked.
        calendar_url: String = text(1, URL_MAX).form(&format::URL).or_text(CALENDAR_URL),
        /// The model that works on calls after they ended.
        llm: Option<LlmSettings> = object::<LlmSettings>(),
        /// Where numbers and messages come from, rather than from the simulated carrier.
        twilio: Option<TwilioSettings> = object::<TwilioSettings>(),
    }
}

/// What a host works by.
#[derive(Clone, Debug)]
pub struct Configured {
    /// The core's part.
    pub config: Config,
    /// Requests a minute of one token; 0: no limit.
    pub rate_limit: u32,
    /// Address ranges that requests made for users may reach besides the public internet.
    pub egress_allow: Vec<IpNet>,
}

/// Reads [`Settings`], and under `catalogue` languages, voices and models instead of those that come with the
/// program. The sentence says what is wrong.
pub fn parse(bytes: &[u8]) -> Result<Configured, String> {
    let value = json::parse(bytes).map_err(|malformed| format!("It is not valid JSON: {}.", malformed.reason))?;
    let Value::Object(mut members) = value else { return Err("It must be a JSON object.".into()) };
    let catalogue = members.remove("catalogue").map(|value| Catalogue::of(&value)).transpose();
    let catalogue = catalogue.map_err(|error| format!("catalogue: {error}"))?;
    known(&members)?;
    let settings: Settings =
        check(Settings::TABLE, members, Source::Body).finish().map_err(|errors: Errors| errors.first().to_string())?;
    Ok(Configured {
        rate_limit: settings.rate_limit,
        egress_allow: ranges("egress_allow", &settings.egress_allow)?,
        config: settings.config(catalogue)?,
    })
}

impl Settings {
    fn config(self, catalogue: Option<Catalogue>) -> Result<Config, String> {
        Ok(Config {
            catalogue,
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
            lists_in_pieces: false,
        })
    }
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

/// A misspelt setting would silently be none.
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
        assert_eq!(parse(b"{}").expect("defaults").rate_limit, 600);
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
