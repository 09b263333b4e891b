//! [`Service`]: the configuration and the one function.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ipnet::IpNet;
use once_cell::race::OnceBox;

use crate::account::{caller, first_start};
use crate::carrier::Carrier;
use crate::catalogue::Catalogue;
use crate::engine::{BuiltIn, calendar};
use crate::http::pipeline;
use crate::http::request::Method;
use crate::http::route::{Route, Who};
use crate::http::router::Router;
use crate::http::routes::ROUTES;
use crate::job;
use crate::llm::Llm;
use crate::openapi;
use crate::output::{Input, Output};
use crate::store::Tx;
use crate::view::{Scene, Stop};

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
            calendar_url: calendar::PUBLIC.to_string(),
            llm: None,
            lists_in_pieces: false,
        }
    }
}

/// The service: everything it knows is in its arguments.
pub struct Service {
    /// The operator's decisions.
    pub config: Config,
    pub(crate) router: Router,
    shipped: OnceBox<Catalogue>,
    openapi: OnceBox<Vec<u8>>,
}

impl Service {
    /// A service with this configuration.
    ///
    /// # Panics
    /// Where a request could mean two rows of the route table: no host starts with one.
    pub fn new(config: Config) -> Self {
        let router = Router::new(ROUTES).expect("each request means one row of the route table");
        Self { config, router, shipped: OnceBox::new(), openapi: OnceBox::new() }
    }

    /// Decides what an input leads to.
    ///
    /// Pure: the same arguments give the same result, byte for byte, on every host. A step that stops with
    /// [`Stop::Missing`] has done nothing and is run again; an input is finished when its output says so.
    pub fn step(&self, input: &Input<'_>, scene: &Scene<'_>) -> Result<Output, Stop> {
        match input {
            Input::Http(request, answers) => pipeline::run(self, request, answers, scene),
            Input::Tick => job::tick(self, scene),
            Input::Answered(ticket, answer) => job::answered(self, scene, ticket, answer),
            Input::Used(credentials) => {
                let tx = Tx::new(scene.view);
                caller::used(&tx, credentials, scene.now)?;
                Ok(Output { changes: tx.finish()?, ..Output::default() })
            }
            Input::FirstStart(answers) => first_start::run(scene, answers),
        }
    }

    /// What assistants are made of. The shipped catalogue is read when it is first asked for: most requests ask
    /// for none, and some hosts make a service for each.
    pub fn catalogue(&self) -> &Catalogue {
        self.config.catalogue.as_ref().unwrap_or_else(|| self.shipped.get_or_init(|| Box::new(Catalogue::shipped())))
    }

    /// The `OpenAPI` document, made when it is first asked for.
    pub fn openapi(&self) -> &[u8] {
        self.openapi.get_or_init(|| Box::new(openapi::text().into_bytes()))
    }

    /// Which operation a request is for, by its `operationId`: the label of metrics and logs.
    pub fn operation(&self, method: Method, target: &str) -> &'static str {
        self.route(method, target).map_or("unknown", |route| route.id)
    }

    /// Who may call the operation that a request is for; none where there is no such operation.
    pub fn who(&self, method: Method, target: &str) -> Option<Who> {
        self.route(method, target).map(|route| route.who)
    }

    fn route(&self, method: Method, target: &str) -> Option<&'static Route> {
        let path = target.split('?').next().unwrap_or_default();
        self.router.find(path)?.route(method)
    }

    /// The version of this release.
    pub fn version() -> String {
        env!("CARGO_PKG_VERSION").to_string()
    }
}
