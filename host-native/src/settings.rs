//! Settings: flags win over the environment, the environment over a TOML file, the file over defaults.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, ValueEnum};
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use switchboard_core::json::parse;
use switchboard_core::record::{Choice, Json};
use switchboard_core::settings::{self, Configured, WithoutEngine};
use switchboard_core::setup::{SettingSource, ShownSetting};

use crate::address;
use crate::clock::Pace;

/// What is shown of a secret.
const MASK: &str = "****";

/// Settings of `serve` and `dev`; the keys of a TOML file have the same names. Some are secret: there is no `Debug`.
#[derive(Args, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ServeSettings {
    /// Address to listen on, HOST:PORT or a port of 127.0.0.1; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, env = "SWITCHBOARD_LISTEN", value_name = "ADDR", value_parser = address::parse)]
    #[serde(deserialize_with = "address::deserialize")]
    pub listen: Option<SocketAddr>,
    /// Data folder of the store [default: ./switchboard-data]
    #[arg(long, env = "SWITCHBOARD_DATA", value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// URL of a PostgreSQL that keeps the store instead of a file in the data folder:
    /// `postgres://USER:PASSWORD@HOST/DATABASE`
    #[arg(long, env = "SWITCHBOARD_STORE", value_name = "URL", hide_env_values = true)]
    pub store: Option<String>,
    /// Address at which other nodes of the same PostgreSQL pass requests on to this one [default: a free port of the
    /// host of `--listen`]
    #[arg(long, env = "SWITCHBOARD_NODE_LISTEN", value_name = "ADDR", value_parser = address::parse)]
    #[serde(deserialize_with = "address::deserialize")]
    pub node_listen: Option<SocketAddr>,
    /// Where other nodes reach that address, HOST:PORT [default: the address itself]
    #[arg(long, env = "SWITCHBOARD_NODE_ADDRESS", value_name = "HOST:PORT")]
    pub node_address: Option<String>,
    /// How a node makes sure that what it read is true [default: leased]
    #[arg(long, env = "SWITCHBOARD_READS", value_name = "HOW")]
    pub reads: Option<ReadsName>,
    /// TOML file with settings of the same names
    #[arg(long, env = "SWITCHBOARD_CONFIG", value_name = "FILE")]
    #[serde(skip_deserializing)]
    pub config: Option<PathBuf>,
    /// JSON file written once the server answers: its URL and process id, and the secrets on the first start
    #[arg(long, env = "SWITCHBOARD_READY_FILE", value_name = "FILE")]
    pub ready_file: Option<PathBuf>,
    /// Address range that requests made for users may reach besides the public internet
    #[arg(long, env = "SWITCHBOARD_EGRESS_ALLOW", value_name = "CIDR", value_delimiter = ',')]
    pub egress_allow: Vec<IpNet>,
    /// Requests a minute of one token; 0: no limit [default: 600]
    #[arg(long, env = "SWITCHBOARD_RATE_LIMIT", value_name = "PER_MINUTE")]
    pub rate_limit: Option<u32>,
    /// Replies that one token may have generated a minute; 0: no limit [default: 5]
    #[arg(long, env = "SWITCHBOARD_REPLY_RATE_LIMIT", value_name = "PER_MINUTE")]
    pub reply_rate_limit: Option<u32>,
    /// JSON file with languages, voices and models that replaces the built-in catalogue
    #[arg(long, env = "SWITCHBOARD_CATALOGUE", value_name = "FILE")]
    pub catalogue: Option<PathBuf>,
    /// Base of absolute URLs in answers [default: the request's host]
    #[arg(long, env = "SWITCHBOARD_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Address range of proxies whose forwarding headers are trusted
    #[arg(long, env = "SWITCHBOARD_TRUST_PROXY", value_name = "CIDR", value_delimiter = ',')]
    pub trust_proxy: Vec<IpNet>,
    /// Origin that browsers may call from
    #[arg(long, env = "SWITCHBOARD_CORS_ORIGIN", value_name = "ORIGIN", value_delimiter = ',')]
    pub cors_origin: Vec<String>,
    /// Separate address for the operator's API and metrics
    #[arg(long, env = "SWITCHBOARD_ADMIN_LISTEN", value_name = "ADDR", value_parser = address::parse)]
    #[serde(deserialize_with = "address::deserialize")]
    pub admin_listen: Option<SocketAddr>,
    /// Most connections at once; more are turned away with 503 [default: 16384]
    #[arg(long, env = "SWITCHBOARD_MAX_CONNECTIONS", value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_connections: Option<u32>,
    /// Lifetime of a session token, seconds [default: 86400]
    #[arg(long, env = "SWITCHBOARD_SESSION_SECONDS", value_name = "SECONDS")]
    pub session_seconds: Option<u64>,
    /// Carrier of numbers and messages [default: simulated]
    #[arg(long, env = "SWITCHBOARD_CARRIER", value_name = "NAME")]
    pub carrier: Option<CarrierName>,
    /// Account SID at Twilio
    #[arg(long, env = "SWITCHBOARD_TWILIO_ACCOUNT_SID", value_name = "SID")]
    pub twilio_account_sid: Option<String>,
    /// Auth token at Twilio; better set in the environment or the file than as a flag
    #[arg(long, env = "SWITCHBOARD_TWILIO_AUTH_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub twilio_auth_token: Option<String>,
    /// Base URL of Twilio's API [default: the public one]
    #[arg(long, env = "SWITCHBOARD_TWILIO_BASE_URL", value_name = "URL")]
    pub twilio_base_url: Option<String>,
    /// Monthly price of a number bought at Twilio, US cents [default: 115]
    #[arg(long, env = "SWITCHBOARD_TWILIO_NUMBER_CENTS", value_name = "CENTS")]
    pub twilio_number_cents: Option<u32>,
    /// Where recordings of calls are kept: a folder, `s3://BUCKET/PREFIX` (with the usual `AWS_…` variables), or `off`
    /// [default: the folder `recordings` of the data folder]
    #[arg(long, env = "SWITCHBOARD_RECORDINGS", value_name = "PLACE")]
    pub recordings: Option<String>,
    /// Token with which edge nodes reach the store, at least 32 characters; without one, the store is closed to them
    #[arg(long, env = "SWITCHBOARD_STORE_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    pub store_token: Option<String>,
    /// File with the keys that seal secrets in the store: base64 of 32 bytes a line, the current key first, then
    /// earlier ones; without keys, secrets are stored in clear
    #[arg(long, env = "SWITCHBOARD_SEAL_KEY_FILE", value_name = "FILE")]
    pub seal_key_file: Option<PathBuf>,
    /// The keys themselves, instead of a file; better set in the environment than as a flag
    #[arg(long, env = "SWITCHBOARD_SEAL_KEYS", value_name = "KEYS", hide_env_values = true)]
    #[serde(skip_deserializing)]
    pub seal_keys: Option<String>,
    /// Format of the log [default: text]
    #[arg(long, env = "SWITCHBOARD_LOG_FORMAT", value_name = "FORM")]
    pub log_format: Option<LogFormat>,
    /// Built-in engine that carries calls; the simulated one plays scripts and asks no model [default: simulated, until
    /// an engine token is made]
    #[arg(long, env = "SWITCHBOARD_ENGINE", value_name = "NAME")]
    pub engine: Option<EngineName>,
    /// Speed of the simulated engine, as a multiple of real time [default: 50]
    #[arg(long, env = "SWITCHBOARD_ENGINE_SPEED", value_name = "FACTOR")]
    pub engine_speed: Option<f64>,
    /// Seed from which the simulated engine draws its conversations [default: 0]
    #[arg(long, env = "SWITCHBOARD_ENGINE_SEED", value_name = "NUMBER")]
    pub engine_seed: Option<u64>,
    /// Handling of a call while no engine is attached [default: queue]
    #[arg(long, env = "SWITCHBOARD_WITHOUT_ENGINE", value_name = "WHAT", value_parser = WithoutEngine::WORDS.to_vec())]
    pub without_engine: Option<String>,
    /// Base URL of the Cal.com installation for calendars [default: the public one]
    #[arg(long, env = "SWITCHBOARD_CALENDAR_URL", value_name = "URL")]
    pub calendar_url: Option<String>,
    /// For rehearsals: time passes faster, `SPEED@SECONDS`, from that second since 1970
    #[arg(long, env = "SWITCHBOARD_PACE", value_name = "SPEED@SECONDS", hide = true)]
    #[serde(skip)]
    pub pace: Option<Pace>,
    /// OpenAI-compatible endpoint that evaluates calls, the URL before /chat/completions
    #[arg(long, env = "SWITCHBOARD_LLM_URL", value_name = "URL")]
    pub llm_url: Option<String>,
    /// API key for the endpoint that evaluates calls
    #[arg(long, env = "SWITCHBOARD_LLM_KEY", value_name = "KEY", hide_env_values = true)]
    pub llm_key: Option<String>,
    /// Model that evaluates calls; required with `--llm-url`
    #[arg(long, env = "SWITCHBOARD_LLM_MODEL", value_name = "NAME")]
    pub llm_model: Option<String>,
    /// Endpoints of models in conversations; only in the file
    #[arg(skip)]
    #[serde(default)]
    pub llm: Vec<LlmEndpoint>,
    /// Source of each setting, by name; [`Self::load`] fills it
    #[arg(skip)]
    #[serde(skip)]
    pub sources: BTreeMap<String, SettingSource>,
}

/// Describes a TOML error by line number and message, without quoting the line: it may hold a secret.
fn without_text(error: &toml::de::Error, text: &str) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    let message = match error.message().split_once(", expected") {
        Some((wrong, expected)) if wrong.starts_with("invalid") => format!("expected{expected}"),
        _ => error.message().to_owned(),
    };
    format!("line {}: {message}", before.matches('\n').count() + 1)
}

/// An endpoint for some models of the catalogue: a table `[[llm]]` of the file.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "a table with url and models")]
pub struct LlmEndpoint {
    /// Name of the endpoint, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The URL before /chat/completions.
    pub url: String,
    /// API key of the endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The models that it serves.
    pub models: Vec<ServedName>,
}

/// A model that an endpoint serves.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, expecting = "a table with name")]
pub struct ServedName {
    /// Name of the model in the catalogue.
    pub name: String,
    /// Name of the model, as the endpoint knows it; the same if not given.
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    pub known_as: Option<String>,
}

/// Carrier of numbers and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CarrierName {
    /// Sells numbers of its own and delivers every message, without a network.
    Simulated,
    /// Twilio, with `twilio-account-sid` and `twilio-auth-token`.
    Twilio,
}

/// How a node makes sure that what it read is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadsName {
    /// By signs of life each second: the clocks of two machines must not run at rates that differ by half.
    Leased,
    /// By a sign of life after the read: no clock takes part.
    Confirmed,
}

/// Built-in engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Carries calls without audio, from a script for each.
    Simulated,
    /// Calls wait for an engine that attaches.
    None,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// A line of text for each event.
    #[default]
    Text,
    /// A JSON object for each event.
    Json,
}

/// Whether the simulated engine stops taking calls once another engine has a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yields(pub bool);

/// Error in the settings: a sentence for the operator.
pub type Refused = String;

impl ServeSettings {
    /// Merges these settings, which were parsed from `given`, over those of the TOML file that they name, if any.
    pub fn load(self, given: &ArgMatches) -> Result<Self, Refused> {
        let mut file = Self::default();
        if let Some(path) = &self.config {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            file = toml::from_str(&text)
                .map_err(|error| format!("{}: {}", path.display(), without_text(&error, &text)))?;
        }
        let of_file = values(&file);
        let source = |(name, id): (String, String)| {
            let source = match given.value_source(&id) {
                Some(ValueSource::CommandLine) => SettingSource::Flag,
                Some(ValueSource::EnvVariable) => SettingSource::Environment,
                _ if of_file.contains_key(&name) => SettingSource::File,
                _ => SettingSource::Default,
            };
            (name, source)
        };
        let sources = arguments().filter_map(|arg| Some((arg.get_long()?.to_owned(), arg.get_id().to_string())));
        Ok(Self { sources: sources.map(source).collect(), ..self.over(file) })
    }

    /// Returns the settings as `GET /admin/settings` shows them: secrets masked, and URLs without user and password.
    pub fn shown(&self) -> Vec<ShownSetting> {
        let values = values(self);
        let shown = arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| {
            let name = arg.get_long()?.to_owned();
            let value = values.get(&name).map(|value| match value {
                _ if arg.is_hide_env_values_set() => Value::from(MASK),
                Value::String(text) => Value::from(without_user(text)),
                other => other.clone(),
            });
            let value = value.and_then(|value| parse(value.to_string().as_bytes()).ok()).map(Json);
            let source = self.sources.get(&name).copied().unwrap_or(SettingSource::Default);
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            // As people read it in the help.
            let (about, default) = match help.strip_suffix(']').and_then(|help| help.split_once(" [default: ")) {
                Some((about, default)) => (about.to_owned(), Some(default.to_owned())),
                None => (help, None),
            };
            Some(ShownSetting { name, value, source, about, default })
        });
        let tables = (!self.llm.is_empty()).then(|| self.endpoints());
        shown.chain(tables).collect()
    }

    /// Returns the endpoints of models, keys masked.
    fn endpoints(&self) -> ShownSetting {
        let mut endpoints = self.llm.clone();
        for endpoint in &mut endpoints {
            endpoint.url = without_user(&endpoint.url);
            endpoint.key = endpoint.key.as_ref().map(|_| MASK.to_owned());
        }
        let value = parse(json!(endpoints).to_string().as_bytes()).ok().map(Json);
        let about = "Endpoints of single models of the catalogue".to_owned();
        ShownSetting { name: "llm".to_owned(), value, source: SettingSource::File, about, default: None }
    }

    fn over(self, file: Self) -> Self {
        let list = |own: Vec<IpNet>, file: Vec<IpNet>| if own.is_empty() { file } else { own };
        Self {
            listen: self.listen.or(file.listen),
            data: self.data.or(file.data),
            store: self.store.or(file.store),
            node_listen: self.node_listen.or(file.node_listen),
            node_address: self.node_address.or(file.node_address),
            reads: self.reads.or(file.reads),
            config: self.config,
            ready_file: self.ready_file.or(file.ready_file),
            egress_allow: list(self.egress_allow, file.egress_allow),
            rate_limit: self.rate_limit.or(file.rate_limit),
            reply_rate_limit: self.reply_rate_limit.or(file.reply_rate_limit),
            catalogue: self.catalogue.or(file.catalogue),
            public_url: self.public_url.or(file.public_url),
            trust_proxy: list(self.trust_proxy, file.trust_proxy),
            cors_origin: if self.cors_origin.is_empty() { file.cors_origin } else { self.cors_origin },
            admin_listen: self.admin_listen.or(file.admin_listen),
            max_connections: self.max_connections.or(file.max_connections),
            session_seconds: self.session_seconds.or(file.session_seconds),
            carrier: self.carrier.or(file.carrier),
            twilio_account_sid: self.twilio_account_sid.or(file.twilio_account_sid),
            twilio_auth_token: self.twilio_auth_token.or(file.twilio_auth_token),
            twilio_base_url: self.twilio_base_url.or(file.twilio_base_url),
            twilio_number_cents: self.twilio_number_cents.or(file.twilio_number_cents),
            recordings: self.recordings.or(file.recordings),
            store_token: self.store_token.or(file.store_token),
            seal_key_file: self.seal_key_file.or(file.seal_key_file),
            seal_keys: self.seal_keys,
            log_format: self.log_format.or(file.log_format),
            engine: self.engine.or(file.engine),
            engine_speed: self.engine_speed.or(file.engine_speed),
            engine_seed: self.engine_seed.or(file.engine_seed),
            without_engine: self.without_engine.or(file.without_engine),
            calendar_url: self.calendar_url.or(file.calendar_url),
            pace: self.pace,
            llm: file.llm,
            llm_url: self.llm_url.or(file.llm_url),
            llm_key: self.llm_key.or(file.llm_key),
            llm_model: self.llm_model.or(file.llm_model),
            sources: self.sources,
        }
    }

    /// Returns the settings for `dev`: loopback is reachable and, unless a limit was given, requests are not
    /// rate-limited.
    pub fn for_development(mut self) -> Self {
        self.egress_allow.extend(["127.0.0.0/8", "::1/128"].iter().filter_map(|net| net.parse::<IpNet>().ok()));
        self.rate_limit = self.rate_limit.or(Some(0));
        self.reply_rate_limit = self.reply_rate_limit.or(Some(0));
        self
    }

    /// Checks the settings that all hosts share by the core's table, which has their bounds and defaults, and builds the
    /// configuration from them; reads the catalogue file if one is set.
    pub fn service(&self) -> Result<Configured, Refused> {
        let mut shared = self.shared();
        if let Some(path) = &self.catalogue {
            let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let catalogue: Value =
                serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", path.display()))?;
            shared["catalogue"] = catalogue;
        }
        let mut configured = settings::parse(shared.to_string().as_bytes())?;
        configured.config.separate_admin = self.admin_listen.is_some();
        Ok(configured)
    }

    /// Returns the settings of `switchboard_core::settings`, without those that are not set.
    fn shared(&self) -> Value {
        let twilio = (self.carrier == Some(CarrierName::Twilio)).then(|| {
            set(json!({
                "account_sid": self.twilio_account_sid,
                "auth_token": self.twilio_auth_token,
                "base_url": self.twilio_base_url,
                "number_cents": self.twilio_number_cents,
            }))
        });
        let llm = set(json!({ "url": self.llm_url, "key": self.llm_key, "model": self.llm_model }));
        set(json!({
            "public_url": self.public_url,
            "trust_proxy": self.trust_proxy,
            "cors_origin": self.cors_origin,
            "session_seconds": self.session_seconds,
            "rate_limit": self.rate_limit,
            "reply_rate_limit": self.reply_rate_limit,
            "egress_allow": self.egress_allow,
            "without_engine": self.without_engine,
            "calendar_url": self.calendar_url,
            "llm": llm.as_object().filter(|llm| !llm.is_empty()),
            "llms": Some(&self.llm).filter(|llms| !llms.is_empty()),
            "twilio": twilio,
        }))
    }

    /// Returns whether the simulated engine runs, `None` if not, and whether it yields once another engine has a token.
    pub fn simulated_engine(&self) -> Option<Yields> {
        match self.engine {
            None => Some(Yields(true)),
            Some(EngineName::Simulated) => Some(Yields(false)),
            Some(EngineName::None) => None,
        }
    }
}

/// Returns the arguments of `serve` and `dev`.
fn arguments() -> impl Iterator<Item = Arg> {
    let command = ServeSettings::augment_args(Command::new("serve"));
    command.get_arguments().cloned().collect::<Vec<_>>().into_iter()
}

/// Returns the settings that are set, by their names.
fn values(settings: &ServeSettings) -> Map<String, Value> {
    let Ok(Value::Object(mut values)) = serde_json::to_value(settings) else { return Map::new() };
    values.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
    values
}

/// Returns a URL with its user and password masked, and any other text as it is.
fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match host.rsplit_once('@') {
        Some((user, _)) => format!("{scheme}://{MASK}{}", &rest[user.len()..]),
        None => text.to_owned(),
    }
}

/// Drops the members of an object that are null.
fn set(mut members: Value) -> Value {
    if let Value::Object(members) = &mut members {
        members.retain(|_, value| !value.is_null());
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown() {
        let secret = |name: &str| {
            let words: Vec<&str> = name.split('-').collect();
            // The URL of a database has a password in it.
            ["token", "key", "keys", "password", "secret", "store"].iter().any(|word| words.last() == Some(word))
        };
        for arg in arguments() {
            let name = arg.get_long().expect("every setting has a name");
            assert_eq!(arg.is_hide_env_values_set(), secret(name), "{name}");
        }
        let settings = ServeSettings {
            llm_key: Some("secret".into()),
            llm_url: Some("https://me:secret@a.example/v1".into()),
            rate_limit: Some(5),
            ..ServeSettings::default()
        };
        let shown: BTreeMap<String, Option<Json>> =
            settings.shown().into_iter().map(|setting| (setting.name, setting.value)).collect();
        let text = |text: &str| Some(Json(switchboard_core::json::Value::Text(text.into())));
        assert_eq!((&shown["llm-key"], &shown["data"]), (&text("****"), &None));
        assert_eq!(shown["llm-url"], text("https://****@a.example/v1"));
        assert!(!shown.contains_key("pace"));
    }
}
