//! [`Service`]: the one function, and in this folder alone what knows every resource: the route table, the order of
//! checks, the tasks, the document and the first start.

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

/// The service: everything it knows is in its arguments.
pub struct Service {
    /// The operator's decisions, and what is made from them.
    pub setup: Setup,
    pub(crate) router: Router,
}

impl Service {
    /// A service with this configuration.
    ///
    /// # Panics
    /// Where a request could mean two rows of the route table: no host starts with one.
    pub fn new(config: Config) -> Self {
        let router = Router::new(ROUTES).expect("each request means one row of the route table");
        Self { setup: Setup::new(config, openapi::text), router }
    }

    /// Decides what an input leads to.
    ///
    /// Pure: the same arguments give the same result, byte for byte, on every host. A step that stops with
    /// [`Stop::Missing`] has done nothing and is run again; an input is finished when its output says so.
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
