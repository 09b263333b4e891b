//! [`Setup`]: what the operator decided, and what is made from it once. Everything below the service works with it, and
//! with nothing else of the service.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ipnet::IpNet;
use once_cell::race::OnceBox;

use crate::carrier::Carrier;
use crate::catalogue::Catalogue;
use crate::llm::Llm;

/// The public calendar service.
pub const CALENDAR_URL: &str = "https://api.cal.com";

/// The engine inside the program: its token lives as long as the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BuiltIn {
    /// SHA-256 of its token.
    pub digest: [u8; 32],
    /// Whether it takes no more calls once another engine has a token.
    pub yields: bool,
}

/// What the operator decides; it does not change while a service runs.
#[derive(Clone, Debug)]
pub struct Config {
    /// Languages, voices, models and providers; none: those that come with the program.
    pub catalogue: Option<Catalogue>,
    /// What absolute URLs start with; else the request's host.
    pub public_url: Option<String>,
    /// Proxies whose forwarding headers count.
    pub trust_proxy: Vec<IpNet>,
    /// Origins that browsers may call from; `*` is any.
    pub cors_origins: Vec<String>,
    /// Whether operator rows answer at their own address only.
    pub separate_admin: bool,
    /// How long a session token lives, seconds.
    pub session_seconds: u64,
    /// Where numbers and messages come from.
    pub carrier: Carrier,
    /// The engine inside the program, where it runs.
    pub engine: Option<BuiltIn>,
    /// Whether a call is refused while no engine is attached, rather than left waiting.
    pub refuse_without_engine: bool,
    /// Where the calendar service is.
    pub calendar_url: String,
    /// The model that works on calls after they ended.
    pub llm: Option<Llm>,
    /// Whether the host passes long lists on piece by piece ([`Content::Piece`]); else they come whole.
    ///
    /// [`Content::Piece`]: crate::http::reply::Content::Piece
    pub lists_in_pieces: bool,
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
            lists_in_pieces: false,
        }
    }
}

/// The configuration, the catalogue and the `OpenAPI` document.
pub struct Setup {
    /// The operator's decisions.
    pub config: Config,
    shipped: OnceBox<Catalogue>,
    document: fn() -> String,
    openapi: OnceBox<Vec<u8>>,
}

impl Setup {
    /// With this configuration, and the function that writes the document: it is made from the route table, which
    /// nothing here knows.
    pub fn new(config: Config, document: fn() -> String) -> Self {
        Self { config, shipped: OnceBox::new(), document, openapi: OnceBox::new() }
    }

    /// What assistants are made of. The shipped catalogue is read when it is first asked for: most requests ask
    /// for none, and some hosts make a service for each.
    pub fn catalogue(&self) -> &Catalogue {
        self.config.catalogue.as_ref().unwrap_or_else(|| self.shipped.get_or_init(|| Box::new(Catalogue::shipped())))
    }

    /// The `OpenAPI` document, made when it is first asked for.
    pub fn openapi(&self) -> &[u8] {
        self.openapi.get_or_init(|| Box::new((self.document)().into_bytes()))
    }
}
