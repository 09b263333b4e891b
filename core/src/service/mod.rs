//! [`Service`]: the step function. Only this folder knows every resource: the route table, the order of checks, the
//! tasks, the `OpenAPI` document and the first start.

pub mod causes;
mod exchange;
mod first_start;
pub mod openapi;
pub mod routes;
mod shown;
mod tasks;

use alloc::string::{String, ToString};

use crate::account::caller;
use crate::http::request::Method;
use crate::http::route::{Route, Who};
use crate::http::router::Router;
use crate::setup::{Config, Setup};
use crate::step::{Input, Output};
use crate::store::Tx;
use crate::view::{Scene, Stop};
pub use exchange::failed;
use routes::ROUTES;

/// The service. It holds configuration only: every decision depends on the arguments of [`Service::step`].
pub struct Service {
    /// The configuration and what is derived from it.
    pub setup: Setup,
    pub(crate) router: Router,
}

impl Service {
    /// Builds a service with this configuration.
    ///
    /// # Panics
    /// If a request could match two rows of the route table, which tests rule out.
    pub fn new(config: Config) -> Self {
        let router = Router::new(ROUTES).expect("each request means one row of the route table");
        Self { setup: Setup::new(config, openapi::text), router }
    }

    /// Runs one step: decides the reply, the changes and the sends for an input.
    ///
    /// Pure: the same arguments return the same result, byte for byte, on every host. A step that stops with
    /// [`Stop::Missing`] has changed nothing and is run again once the reads are loaded; the outcome says whether the
    /// input is finished.
    pub fn step(&self, input: &Input<'_>, scene: &Scene<'_>) -> Result<Output, Stop> {
        match input {
            Input::Http(request, answers) => exchange::run(self, request, answers, scene),
            Input::Tick => tasks::tick(&self.setup, scene),
            Input::Answered(ticket, answer) => tasks::answered(&self.setup, scene, ticket, answer),
            Input::Used(credentials) => {
                let tx = Tx::new(scene.view);
                caller::used(&tx, credentials, scene.now)?;
                Ok(Output { changes: tx.finish()?, ..Output::default() })
            }
            Input::FirstStart(answers) => first_start::run(scene, answers),
        }
    }

    /// Returns the `operationId` of the operation that a request is for, the label of metrics and logs; `unknown` if
    /// there is none.
    pub fn operation(&self, method: Method, target: &str) -> &'static str {
        self.route(method, target).map_or("unknown", |route| route.id)
    }

    /// Returns which token the operation of a request requires; `None` if there is no such operation.
    pub fn who(&self, method: Method, target: &str) -> Option<Who> {
        self.route(method, target).map(|route| route.who)
    }

    fn route(&self, method: Method, target: &str) -> Option<&'static Route> {
        let path = target.split('?').next().unwrap_or_default();
        self.router.find(path)?.route(method)
    }

    /// Returns the version of this release, for example `1.2.3`.
    pub fn version() -> String {
        env!("CARGO_PKG_VERSION").to_string()
    }
}
