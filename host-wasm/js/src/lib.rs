//! The core for JavaScript hosts: what `npm/host` drives.
//!
//! A [`Service`] holds a host's configuration, a [`Course`] one input in progress. This crate translates between the
//! core's types and plain JavaScript objects (`npm/host/types.d.ts` describes them), and keeps what the core leaves to
//! a host's memory: the rate limits. It has no clock, no randomness and no imports from JavaScript. A panic is a trap,
//! after which an instance must not be used.

mod incoming;
mod outgoing;

use std::cell::RefCell;
use std::net::IpAddr;

use switchboard_core::egress::Filter;
use switchboard_core::http::request::{HEADERS, Method, Request};
use switchboard_core::key;
use switchboard_core::rate::{Buckets, Caller, Rate};
use switchboard_core::remote::{self, Fault, HostEvent, Next};
use switchboard_core::settings;
use switchboard_core::step::OwnedInput;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Found, Read};
use wasm_bindgen::prelude::*;

use incoming::In;
use outgoing::JsObject;

/// A configured service, with its rate limits in memory.
#[wasm_bindgen]
pub struct Service {
    core: switchboard_core::service::Service,
    buckets: RefCell<Buckets>,
    filter: Filter,
}

#[wasm_bindgen]
impl Service {
    /// Creates a service with these settings, a JSON object. The error says what is wrong with them.
    #[wasm_bindgen(constructor)]
    pub fn new(settings: &str) -> Result<Service, JsError> {
        let configured = settings::parse(settings.as_bytes()).map_err(|error| JsError::new(&error))?;
        Ok(Self {
            core: switchboard_core::service::Service::new(configured.config),
            buckets: RefCell::new(Buckets::new(configured.rate_limits)),
            filter: Filter::new(configured.egress_allow),
        })
    }

    /// Returns whether requests made for users may reach an IP address; `None` for text that is not one.
    pub fn allows(&self, address: &str) -> Option<bool> {
        let address: IpAddr = address.parse().ok()?;
        Some(self.filter.allows(address))
    }

    /// Charges one request to a caller's limit, unless this exchange was charged already.
    fn admit(&self, told: &mut Vec<(Caller, Option<Rate>)>, caller: Caller, now: Timestamp) -> Option<Rate> {
        if let Some((_, rate)) = told.iter().find(|(asked, _)| *asked == caller) {
            return *rate;
        }
        let rate = self.buckets.borrow_mut().admit(caller, now);
        told.push((caller, rate));
        rate
    }
}

/// One input from its beginning to its end.
#[wasm_bindgen]
pub struct Course {
    core: remote::InputRun,
    asked: Vec<Asked>,
    told: Vec<(Caller, Option<Rate>)>,
    now: Timestamp,
}

/// A read that the step waits for.
enum Asked {
    /// A value that JavaScript looks up.
    Get,
    /// Rows that JavaScript looks up.
    Scan,
    /// A rate limit decision, made here.
    Told(Option<Rate>),
}

#[wasm_bindgen]
impl Course {
    /// Begins a request: its head as lines of `name: value`, its body as far as it was read, and the answers to its
    /// sends so far.
    pub fn http(request: &In, answers: &In, now: f64, seed: &[u8]) -> Self {
        let answers = incoming::answers(answers);
        Self::of(OwnedInput::Http(incoming::request(request), answers), now, seed)
    }

    /// Begins a tick for durable work that may be due.
    pub fn tick(now: f64, seed: &[u8]) -> Self {
        Self::of(OwnedInput::Tick, now, seed)
    }

    /// Begins with the answer to a job's send.
    pub fn answered(ticket: &In, answer: &In, now: f64, seed: &[u8]) -> Self {
        let input = match incoming::ticket(ticket) {
            Some(ticket) => OwnedInput::Answered(ticket, incoming::answer(answer)),
            // A task of another release is ignored: what it waits for comes due again.
            None => OwnedInput::Tick,
        };
        Self::of(input, now, seed)
    }

    /// Begins with credentials to be recorded as used.
    pub fn used(credentials: &In, now: f64, seed: &[u8]) -> Self {
        Self::of(OwnedInput::Used(incoming::credentials(credentials)), now, seed)
    }

    /// Begins the first start of an empty store, with the answers so far.
    #[wasm_bindgen(js_name = firstStart)]
    pub fn first_start(answers: &In, now: f64, seed: &[u8]) -> Self {
        Self::of(OwnedInput::FirstStart(incoming::answers(answers)), now, seed)
    }

    /// Marks tasks that may never finish in a commit before they begin: for a host that has just started, or whose last
    /// step panicked.
    pub fn careful(&mut self) {
        self.core.set_careful(true);
    }

    /// Continues after `event`, at the time `now`; returns what the host must do next.
    pub fn next(&mut self, service: &Service, event: &JsValue, now: f64) -> JsObject {
        let event = self.event(event);
        if !matches!(event, HostEvent::Found(_) | HostEvent::Committed) {
            // One run of the step sees one time.
            self.now = incoming::time(now);
            self.core.set_now(self.now);
        }
        let mut next = self.core.next(&service.core, event);
        while let Next::Read(reads) = next {
            self.asked = reads.iter().map(|read| self.ask(service, read)).collect();
            if self.asked.iter().any(|asked| !matches!(asked, Asked::Told(_))) {
                return outgoing::reads(reads);
            }
            let told = self.found(None);
            next = self.core.next(&service.core, HostEvent::Found(told));
        }
        match next {
            Next::Failed(fault) => outgoing::failed(&format!("{fault:?}"), self.core.failed(Some(&fault))),
            Next::Contended => outgoing::failed("the store changed each time", self.core.failed(None)),
            next => outgoing::next(next),
        }
    }

    /// Returns the answer to a request when the store fails: 503. `None` for other inputs.
    pub fn unavailable(&self) -> Option<JsObject> {
        self.core.failed(None).map(outgoing::reply)
    }

    /// Returns the answer to a request when its step panicked: 500. `None` for other inputs.
    pub fn broken(&self) -> Option<JsObject> {
        self.core.failed(Some(&Fault::Misread("the step panicked"))).map(outgoing::reply)
    }

    /// Creates a course that repeats the request for the part of its stream after the place `last`.
    pub fn follow(&self, last: f64, now: f64, seed: &[u8]) -> Option<Course> {
        let mut request: Request = self.core.request()?.clone();
        request.headers.retain(|(name, _)| *name != "last-event-id");
        request.headers.push(("last-event-id", last.to_string().into_bytes()));
        let mut course = Self::of(OwnedInput::Http(request, Vec::new()), now, seed);
        course.told.clone_from(&self.told);
        Some(course)
    }

    fn of(input: OwnedInput, now: f64, seed: &[u8]) -> Self {
        let now = incoming::time(now);
        let core = remote::InputRun::new(input, now, incoming::seed(seed));
        Self { core, asked: Vec::new(), told: Vec::new(), now }
    }

    fn event(&mut self, event: &JsValue) -> HostEvent {
        match event.as_string().as_deref() {
            Some("begin") => return HostEvent::Begin,
            Some("changed") => return HostEvent::Changed,
            Some("committed") => return HostEvent::Committed,
            Some("news") => return HostEvent::News,
            Some("elapsed") => return HostEvent::Elapsed,
            Some("yielded") => return HostEvent::Yielded,
            _ => {}
        }
        let event: &In = event.unchecked_ref();
        if let Some(found) = event.found() {
            HostEvent::Found(self.found(Some(&found)))
        } else if let Some(answers) = event.answers() {
            HostEvent::Answered(incoming::answers(&answers))
        } else {
            HostEvent::Body(incoming::body(&event.body()))
        }
    }

    fn ask(&mut self, service: &Service, read: &Read) -> Asked {
        match read {
            Read::Get(_) => Asked::Get,
            Read::Scan(_) => Asked::Scan,
            Read::Admit(caller) => Asked::Told(service.admit(&mut self.told, *caller, self.now)),
        }
    }

    /// Merges JavaScript's results with the decisions made here, in the order of the reads.
    fn found(&mut self, found: Option<&In>) -> Vec<Found> {
        let mut place = 0;
        let mut next = || {
            place += 1;
            found.map(|found| (found, place - 1))
        };
        let asked = std::mem::take(&mut self.asked);
        let one = |asked| match asked {
            Asked::Told(rate) => Some(Found::Rate(rate)),
            Asked::Get => next().map(|(found, at)| Found::Value(found.bytes_at(at))),
            Asked::Scan => next().map(|(found, at)| Found::Rows(incoming::rows(&found.at(at)))),
        };
        asked.into_iter().filter_map(one).collect()
    }
}

/// Returns the names of the headers that the service reads, separated by spaces.
#[wasm_bindgen(js_name = headerNames)]
pub fn header_names() -> String {
    HEADERS.join(" ")
}

/// Returns whether requests of this method may change something: then their body is read.
#[wasm_bindgen(js_name = isWrite)]
pub fn is_write(method: &str) -> bool {
    Method::parse(method).is_write()
}

/// Returns the topic of a changed key.
#[wasm_bindgen(js_name = topicOf)]
pub fn topic_of(key: &[u8]) -> Option<String> {
    key::topic_of(key).map(outgoing::topic)
}

/// Returns when work is due according to a changed key, microseconds.
#[wasm_bindgen(js_name = dueOf)]
pub fn due_of(key: &[u8]) -> Option<f64> {
    key::due_of(key).map(outgoing::micros)
}

/// Hashes a password, or compares one with its digest; `None` for other work.
#[wasm_bindgen]
pub fn perform(work: &In) -> Option<JsObject> {
    switchboard_core::work::perform(&incoming::work(work)?).map(outgoing::answer)
}
