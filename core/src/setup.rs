//! [`Setup`]: the configuration and what is derived from it once. It is the only part of the service that the layers
//! below use.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ipnet::IpNet;
use once_cell::race::OnceBox;

use crate::carrier::Carrier;
use crate::catalogue::Catalogue;
use crate::llm::Llm;
use crate::record::{Json, any, choice, text};
use crate::time::Timestamp;
use crate::{choice, record};

/// URL of the public calendar service.
pub const CALENDAR_URL: &str = "https://api.cal.com";

/// The engine inside the program, whose token lives as long as the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// SHA-256 of its token.
    pub digest: [u8; 32],
    /// Whether it takes no more calls once another engine has a token.
    pub yields: bool,
}

/// A code that logs the owner in, once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneTimeCode {
    /// SHA-256 of the code.
    pub digest: [u8; 32],
    /// Time until which it counts.
    pub until: Timestamp,
}

choice! {
    /// Where the value of a setting comes from.
    pub enum SettingSource {
        /// A flag of the command line.
        Flag = "flag",
        /// An environment variable.
        Environment = "environment",
        /// The configuration file.
        File = "file",
        /// Nowhere: the default holds.
        Default = "default",
    }
}

record! {
    /// A setting of the service, for its operator to look up.
    pub struct ShownSetting {
        /// Name, spelled as the flag without its dashes.
        name: String = text(0, 64).required(),
        /// Value; null where the default holds, `****` for a secret.
        value: Option<Json> = any(),
        /// Where the value comes from.
        source: SettingSource = choice::<SettingSource>().required(),
        /// What it sets.
        about: String = text(0, 0).required(),
        /// What holds where nothing is set; null if nothing does.
        default: Option<String> = text(0, 0),
    }
}

/// A model of the catalogue and the endpoint that serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedModel {
    /// Name of the model in the catalogue.
    pub name: String,
    /// The endpoint, with the name by which it knows the model.
    pub llm: Llm,
}

/// The operator's configuration, fixed while a service runs.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "settings, not states")]
pub struct Config {
    /// Languages, voices, models and providers; `None`: the shipped catalogue.
    pub catalogue: Option<Catalogue>,
    /// Prefix of absolute URLs; `None`: derived from the request's host.
    pub public_url: Option<String>,
    /// Address ranges of proxies whose forwarding headers are trusted; empty: none.
    pub trust_proxy: Vec<IpNet>,
    /// Origins that browsers may call from; `*` allows any, empty none.
    pub cors_origins: Vec<String>,
    /// Whether operator routes are served only at the separate admin address.
    pub separate_admin: bool,
    /// Lifetime of a session token, seconds; 86,400 by default.
    pub session_seconds: u64,
    /// Carrier that sells numbers and sends messages; simulated by default.
    pub carrier: Carrier,
    /// The built-in engine; `None` if it does not run.
    pub engine: Option<BuiltIn>,
    /// Whether a call is refused while no engine is attached, rather than queued.
    pub refuse_without_engine: bool,
    /// URL of the calendar service, [`CALENDAR_URL`] by default.
    pub calendar_url: String,
    /// Model that evaluates calls after they end, and answers in conversations; `None`: only the analysis sent by the
    /// engine is used, and the simulated model answers.
    pub llm: Option<Llm>,
    /// Models of the catalogue that have an endpoint of their own in conversations.
    pub models: Vec<ServedModel>,
    /// Whether the host sends long lists piece by piece ([`Content::Piece`]); if not, each list is one body.
    ///
    /// [`Content::Piece`]: crate::http::reply::Content::Piece
    pub lists_in_pieces: bool,
    /// Whether the host passes the pieces of a model's streamed answer on to a caller who follows a turn.
    pub passes_pieces: bool,
    /// Whether the host keeps recordings of calls as objects ([`Outcome::StoreBody`], [`Content::Object`]); if not,
    /// uploads of them are refused.
    ///
    /// [`Outcome::StoreBody`]: crate::step::Outcome::StoreBody
    /// [`Content::Object`]: crate::http::reply::Content::Object
    pub keeps_recordings: bool,
    /// Code that logs the owner in from this machine; `None`: there is none.
    pub login_code: Option<OneTimeCode>,
    /// Settings that `GET /admin/settings` shows, as the host took them; empty where it has none to show.
    pub settings: Vec<ShownSetting>,
}

impl Config {
    /// Returns the endpoint that serves a model of the catalogue, by its name; the default one for a model that none
    /// serves. `None`: the simulated model answers.
    pub fn llm_for(&self, model: Option<&str>) -> Option<&Llm> {
        let served = model.and_then(|name| self.models.iter().find(|served| served.name == name));
        served.map(|served| &served.llm).or(self.llm.as_ref())
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            catalogue: None,
            public_url: None,
            trust_proxy: Vec::new(),
            cors_origins: Vec::new(),
            separate_admin: false,
            session_seconds: 86_400,
            carrier: Carrier::Simulated,
            engine: None,
            refuse_without_engine: false,
            calendar_url: CALENDAR_URL.to_string(),
            llm: None,
            models: Vec::new(),
            lists_in_pieces: false,
            passes_pieces: false,
            keeps_recordings: false,
            login_code: None,
            settings: Vec::new(),
        }
    }
}

/// The configuration, the catalogue and the `OpenAPI` document, the last two built on first use.
pub struct Setup {
    /// The operator's configuration.
    pub config: Config,
    shipped: OnceBox<Catalogue>,
    document: fn() -> String,
    openapi: OnceBox<Vec<u8>>,
}

impl Setup {
    /// Builds a setup with this configuration and the function that writes the `OpenAPI` document, which needs the
    /// route table that this module does not know.
    pub fn new(config: Config, document: fn() -> String) -> Self {
        Self { config, shipped: OnceBox::new(), document, openapi: OnceBox::new() }
    }

    /// Returns the catalogue. The shipped one is parsed on first use: most requests need none, and some hosts build a
    /// service for each request.
    pub fn catalogue(&self) -> &Catalogue {
        self.config.catalogue.as_ref().unwrap_or_else(|| self.shipped.get_or_init(|| Box::new(Catalogue::shipped())))
    }

    /// Returns the `OpenAPI` document, built on first use.
    pub fn openapi(&self) -> &[u8] {
        self.openapi.get_or_init(|| Box::new((self.document)().into_bytes()))
    }
}
