//! [`Service`]: the step function. Only this folder knows every resource: the route table, the order of checks, the
//! tasks, the `OpenAPI` document and the first start.

mod attention;
pub mod causes;
mod console;
mod erase;
mod exchange;
pub mod figures;
mod first_start;
mod home;
pub mod openapi;
mod overview;
pub mod routes;
mod shown;
mod tasks;

use alloc::string::{String, ToString};

use crate::account::caller;
use crate::http::accept;
use crate::http::csv;
use crate::http::request::{Method, Request};
use crate::http::route::{BodyKind, ReplyForm, Route, Who};
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
        Self::with_document(config, openapi::text)
    }

    /// Builds a service with this configuration that shows a document of the host's.
    ///
    /// # Panics
    /// As [`Service::new`].
    pub fn with_document(config: Config, document: fn() -> String) -> Self {
        let router = Router::new(ROUTES).expect("each request means one row of the route table");
        Self { setup: Setup::new(config, document), router }
    }

    /// Decides what an input leads to. Nothing has happened yet: the host executes the output.
    ///
    /// Pure: the same arguments give the same output, byte for byte, on every host and release build.
    ///
    /// # What the host brings
    /// - [`Scene::view`]: a consistent snapshot of all rows. Either one writer runs all steps that change something, or
    ///   a commit checks that nothing that the step read has changed since ([`crate::remote`]).
    /// - [`Scene::now`]: the time; it never runs backwards, also not across hosts that share a store.
    /// - [`Scene::seed`]: 32 bytes from the system's random source, drawn once for an input and kept while that input
    ///   is run again: ids and tokens are made of it.
    /// - [`Scene::careful`]: true for the first ticks and claims after a start or a panic. The step then marks each
    ///   task as begun before it runs, so that one that ends the process is found and set aside.
    ///
    /// # What the host does with the output, in this order
    /// 1. Commits [`Output::changes`], all or nothing. If that fails the output is dropped, and a request is answered 503.
    /// 2. Acts on [`Output::outcome`] of a request:
    ///    - [`Outcome::Reply`](crate::Outcome::Reply): the answer. No reply leaves before its commit.
    ///    - [`Outcome::ReadBody`](crate::Outcome::ReadBody): reads the body, up to that many bytes, and runs the step again with it.
    ///    - [`Outcome::StoreBody`](crate::Outcome::StoreBody): streams the body into an object, and runs the step again
    ///      with what came of it. Only where [`Config::keeps_recordings`] is set.
    ///    - [`Outcome::Wait`](crate::Outcome::Wait): executes the sends whose ticket is [`Ticket::Exchange`](crate::step::Ticket), and runs
    ///      the step again with all answers so far, in the order of asking.
    ///    - [`Outcome::Park`](crate::Outcome::Park): runs the step again at news of the topic (a commit whose keys
    ///      [`key::topic_of`](crate::key::topic_of) maps to it), or at that time.
    ///    - [`Outcome::Yield`](crate::Outcome::Yield): runs the step again with one more [`Answer::Yielded`](crate::Answer::Yielded), behind whoever waits to write.
    /// 3. Executes [`Output::sends`]: no send before its commit. The answer to one whose ticket names a job comes back
    ///    as [`Input::Answered`]; one that never comes is a lease that lapses, and the job is retried.
    /// 4. Comes back with [`Input::Tick`] at [`Output::wake`], and when a committed key says so
    ///    ([`key::due_of`](crate::key::due_of)). A tick too many changes nothing.
    /// 5. Collects [`Output::used`] and passes it in with [`Input::Used`] now and then; counts [`Output::notice`] or
    ///    logs it.
    ///
    /// On an empty store it begins with [`Input::FirstStart`].
    ///
    /// # Errors
    /// The step changed nothing. [`Stop::Missing`]: the view lacks these reads; load them and run the step again.
    /// [`Stop::Failed`]: the store failed, 503. [`Stop::Corrupt`] and [`Stop::OverBudget`]: 500, and nothing else is
    /// affected ([`failed`] makes the replies). A panic is a bug: the host answers 500 and is careful for a while.
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

    /// Returns whether a request is for a list as CSV, all rows of it: a node leaves that to its region.
    pub fn is_csv(&self, request: &Request) -> bool {
        self.route(request.method, &request.target).is_some_and(|route| csv::is_wanted(route, request))
    }

    /// Returns whether a caller may follow the operation of this request as it goes on, and prefers to.
    pub fn is_followed(&self, request: &Request) -> bool {
        let streams = |route: &Route| matches!(route.shape, ReplyForm::BareOrStream(_));
        self.route(request.method, &request.target).is_some_and(streams)
            && accept::prefers(request, "text/event-stream")
    }

    /// Returns whether the body of a request becomes an object.
    pub fn stores_body(&self, request: &Request) -> bool {
        let body = self.route(request.method, &request.target).map(|route| route.body);
        matches!(body, Some(BodyKind::Object(..)))
    }

    /// Returns whether a request is for bytes of an object: a node leaves that to its region, which keeps objects.
    pub fn is_object(&self, request: &Request) -> bool {
        let shape = self.route(request.method, &request.target).map(|route| route.shape);
        matches!(shape, Some(ReplyForm::Object(_)))
    }

    /// Returns whether a request is a turn of a conversation, in which others are asked: a node leaves that to its region.
    pub fn is_turn(&self, request: &Request) -> bool {
        self.route(request.method, &request.target).is_some_and(|route| route.settles)
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
