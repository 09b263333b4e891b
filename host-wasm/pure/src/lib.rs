//! The core as a component with no imports: anything that runs components can embed it.
//!
//! `wit/` is the interface; this crate only translates between its types and the core's.

mod incoming;
mod outgoing;

use std::cell::RefCell;
use std::rc::Rc;

use switchboard_core::http::request::Method;
use switchboard_core::remote;
use switchboard_core::time::Timestamp;

use bindings::exports::switchboard::core::engine::{Guest, GuestService, GuestSession, Progress, ServiceBorrow};
use bindings::exports::switchboard::core::types::{Answer, Found, Input, Seed, Stop, Work};

mod bindings {
    #![allow(unsafe_code, missing_docs, clippy::pedantic)]
    wit_bindgen::generate!({ world: "pure", path: "../../wit" });
}

struct Engine;

/// A service, shared with its sessions.
struct Service(Rc<switchboard_core::service::Service>);

/// A step in progress.
struct Session {
    service: Rc<switchboard_core::service::Service>,
    step: RefCell<remote::StepRun>,
}

impl Guest for Engine {
    type Service = Service;
    type Session = Session;

    fn perform(work: Work) -> Option<Answer> {
        switchboard_core::work::perform(&incoming::work(work)?).map(outgoing::answer)
    }

    fn version() -> String {
        switchboard_core::service::Service::version()
    }
}

impl GuestService for Service {
    fn open(settings: String) -> Result<bindings::exports::switchboard::core::engine::Service, String> {
        let config = switchboard_core::settings::parse(settings.as_bytes())?.config;
        let service = Self(Rc::new(switchboard_core::service::Service::new(config)));
        Ok(bindings::exports::switchboard::core::engine::Service::new(service))
    }

    fn operation(&self, method: String, target: String) -> String {
        self.0.operation(Method::parse(&method), &target).to_owned()
    }
}

impl GuestSession for Session {
    fn new(service: ServiceBorrow<'_>, input: Input, now: u64, seed: Seed) -> Self {
        let service = Rc::clone(&service.get::<Service>().0);
        let now = Timestamp::from_micros(now);
        Self { service, step: RefCell::new(remote::StepRun::new(incoming::input(input), now, incoming::seed(seed))) }
    }

    fn advance(&self, found: Vec<Found>) -> Result<Progress, Stop> {
        let found = found.into_iter().map(incoming::found).collect();
        match self.step.borrow_mut().advance(&self.service, found) {
            Ok(remote::Progress::Need(reads)) => Ok(Progress::Need(reads.into_iter().map(outgoing::read).collect())),
            Ok(remote::Progress::Done(output)) => Ok(Progress::Done(outgoing::output(output))),
            Err(fault) => Err(outgoing::stop(fault)),
        }
    }
}

bindings::export!(Engine with_types_in bindings);
