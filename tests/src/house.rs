//! [`House`]: the whole service over an in-memory store, with a clock and outside answers that the test controls. Every
//! reply to a request is judged.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::LazyLock;

use serde_json::{Value, json};
use switchboard::extract;
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::{Body, Door, Method, Request, known_header};
use switchboard_core::key::Key;
use switchboard_core::memory::Memory;
use switchboard_core::object::{ObjectUpload, StoredObject, UploadError};
use switchboard_core::outside::{Answer, HttpIn, HttpOut, SendError, Work};
use switchboard_core::rate::{Caller, Rate};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome, Output, Ticket};
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Bytes, Order, Scene, Stop, View};
use switchboard_core::work;

use crate::cold;
use crate::judge::{Exchange, Judge};

/// Checks every reply that [`Call::send`] receives.
static JUDGE: LazyLock<Judge> = LazyLock::new(Judge::new);

/// Answers the requests that the service sends to carriers, receivers and tool endpoints.
type Outside = Box<dyn FnMut(&HttpOut) -> Result<HttpIn, SendError>>;

/// A service in memory, driven step by step.
pub struct House {
    /// The core under test, with the configuration given to [`House::with`].
    pub service: Service,
    /// In-memory store; every step's changes are applied to it at once.
    pub store: Memory,
    /// Time of the next step. Only the test moves it; it begins at Unix second 1,790,000,000.
    pub now: Timestamp,
    /// API key of the owner account, from the first start.
    pub key: String,
    /// Token for the `/admin` routes, from the first start.
    pub operator: String,
    /// Password of the owner account, from the first start.
    pub password: String,
    /// Whether the store reports a full disk to the next steps.
    pub full: bool,
    /// Whether every request finds its rate limit used up.
    pub crowded: bool,
    /// Objects that the service had stored, by their names.
    pub objects: BTreeMap<String, Vec<u8>>,
    /// Why no object can be stored or deleted, if that is so.
    pub broken: Option<UploadError>,
    outside: Outside,
    steps: u64,
}

/// A reply that passed the [`Judge`].
#[derive(Clone, Debug)]
pub struct Got {
    /// HTTP status code.
    pub status: u16,
    /// Body as JSON; null when it is empty or not JSON.
    pub json: Value,
    /// Body as sent; empty when the reply has none or the host would write it.
    pub bytes: Vec<u8>,
    /// Response headers, names in lower case.
    pub headers: Vec<(&'static str, String)>,
}

impl Got {
    /// Returns the first header with this name, written in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_str())
    }

    /// Returns the id of what was created: `data.id`, `id` or `api_key.id` of the body, whichever comes first.
    pub fn id(&self) -> u64 {
        let id = self.json["data"]["id"].as_u64().or(self.json["id"].as_u64()).or(self.json["api_key"]["id"].as_u64());
        id.unwrap_or_else(|| panic!("no id in {}", self.json))
    }

    /// Asserts the status and returns the reply.
    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.json);
        self
    }

    /// Asserts that the body is `{"message": text}` and nothing else.
    #[track_caller]
    pub fn message(&self, status: u16, text: &str) {
        assert_eq!((self.status, &self.json), (status, &json!({ "message": text })));
    }

    /// Asserts that the body is `{"error": text}` and nothing else.
    #[track_caller]
    pub fn error(&self, status: u16, text: &str) {
        assert_eq!((self.status, &self.json), (status, &json!({ "error": text })));
    }

    /// Asserts status 422 with errors for exactly these fields, in any order.
    #[track_caller]
    pub fn wrong(&self, fields: &[&str]) {
        let named: Vec<&str> = self.json["errors"]
            .as_object()
            .map(|errors| errors.keys().map(String::as_str).collect())
            .unwrap_or_default();
        let mut sorted = fields.to_vec();
        sorted.sort_unstable();
        assert_eq!((self.status, named), (422, sorted), "{}", self.json);
    }
}

/// View of a store whose host is out of room: on its disk, or in the buckets of its rate limits.
struct Strained<'m> {
    store: &'m Memory,
    full: bool,
    crowded: bool,
}

impl View for Strained<'_> {
    fn get(&self, keys: &[Key]) -> Result<Vec<Option<Bytes>>, Stop> {
        self.store.get(keys)
    }

    fn scan(&self, range: Range<Key>, order: Order, limit: usize) -> Result<Vec<(Key, Bytes)>, Stop> {
        self.store.scan(range, order, limit)
    }

    fn admit(&self, _: Caller) -> Result<Option<Rate>, Stop> {
        let empty = Rate { limit: 600, remaining: 0, reset: 60, admitted: false, retry_after: 1 };
        Ok(self.crowded.then_some(empty))
    }

    fn is_full(&self) -> bool {
        self.full
    }
}

/// A request under construction; [`Call::send`] sends it.
pub struct Call<'h> {
    house: &'h mut House,
    request: Request,
}

impl Default for House {
    fn default() -> Self {
        Self::with(Config { keeps_recordings: true, ..Config::default() })
    }
}

impl House {
    /// Creates a service with this configuration and runs its first start.
    pub fn with(config: Config) -> Self {
        let mut house = Self {
            service: Service::new(config),
            store: Memory::default(),
            now: Timestamp::from_seconds(1_790_000_000),
            key: String::new(),
            operator: String::new(),
            password: String::new(),
            full: false,
            crowded: false,
            objects: BTreeMap::new(),
            broken: None,
            outside: Box::new(|_| Err(SendError::Unreachable)),
            steps: 0,
        };
        let (output, _) = house.settle(|answers| Owned::FirstStart(answers.to_vec()));
        let Outcome::Reply(Reply { content: Content::Json(body), .. }) = output.outcome else {
            panic!("no owner was made")
        };
        let secrets: Value = serde_json::from_slice(&body).expect("the secrets are JSON");
        let text = |name: &str| secrets[name].as_str().unwrap_or_default().to_owned();
        (house.key, house.operator, house.password) = (text("api_key"), text("admin_token"), text("password"));
        house
    }

    /// Sets the function that answers the service's outgoing requests from now on. Until then, all fail as unreachable.
    pub fn outside(&mut self, answer: impl FnMut(&HttpOut) -> Result<HttpIn, SendError> + 'static) {
        self.outside = Box::new(answer);
    }

    /// Creates another account and returns its API key.
    pub fn account(&mut self, email: &str) -> String {
        let operator = self.operator.clone();
        let made = self.post("/admin/accounts", &json!({ "email": email })).token(&operator).send().expect(201);
        made.json["api_key"].as_str().expect("a key").to_owned()
    }

    /// Sends a GET as the owner.
    pub fn get(&mut self, target: &str) -> Got {
        self.call(Method::Get, target).send()
    }

    /// Sends a DELETE as the owner.
    pub fn delete(&mut self, target: &str) -> Got {
        self.call(Method::Delete, target).send()
    }

    /// Prepares a POST as the owner, with a JSON body.
    pub fn post(&mut self, target: &str, body: &Value) -> Call<'_> {
        self.call(Method::Post, target).json(body)
    }

    /// Prepares a PUT as the owner, with a JSON body.
    pub fn put(&mut self, target: &str, body: &Value) -> Call<'_> {
        self.call(Method::Put, target).json(body)
    }

    /// Creates a resource with a POST as the owner and returns its id.
    #[track_caller]
    pub fn make(&mut self, target: &str, body: &Value) -> u64 {
        let got = self.post(target, body).send();
        assert!(matches!(got.status, 200 | 201), "{} {}", got.status, got.json);
        got.id()
    }

    /// Places a call by the owner's assistant and returns the call's id.
    #[track_caller]
    pub fn make_call(&mut self, assistant_id: u64) -> u64 {
        let body = json!({ "phone_number": "+40700000001", "assistant_id": assistant_id });
        self.post("/user/make_call", &body).send().expect(200).json["call_id"].as_u64().expect("an id")
    }

    /// Prepares a request as the owner, without a body.
    pub fn call(&mut self, method: Method, target: &str) -> Call<'_> {
        let bearer = format!("Bearer {}", self.key).into_bytes();
        let headers = vec![("authorization", bearer), ("host", b"test".to_vec())];
        let request =
            Request { method, target: target.to_owned(), headers, body: Body::None, peer: None, door: Door::Main };
        Call { house: self, request }
    }

    /// Runs one step and applies its changes. Unless the store is strained, the step also runs over a cold view and
    /// must decide the same.
    pub fn step(&mut self, input: &Input<'_>, seed: Seed) -> Output {
        let strained = Strained { store: &self.store, full: self.full, crowded: self.crowded };
        let is_strained = self.full || self.crowded;
        let view: &dyn View = if is_strained { &strained } else { &self.store };
        let scene = Scene { now: self.now, seed, view, careful: false };
        let output = self.service.step(input, &scene).expect("a store in memory never stops a step");
        if !is_strained {
            let elsewhere = cold::step(&self.service, input, &scene).0;
            assert_eq!(elsewhere, output, "a store that is elsewhere leads to the same");
        }
        self.store.apply(&output.changes);
        output
    }

    /// Returns a fresh seed for each input, the same sequence in every run of a test.
    pub fn seed(&mut self) -> Seed {
        self.steps += 1;
        let mut bytes = [0x5a; 32];
        bytes[..8].copy_from_slice(&self.steps.to_le_bytes());
        Seed::new(bytes)
    }

    /// Runs all due jobs and their follow-ups; returns the time of the next job, or `None` when none is pending.
    pub fn tick(&mut self) -> Option<Timestamp> {
        loop {
            let seed = self.seed();
            let output = self.step(&Input::Tick, seed);
            let mut wake = output.wake;
            let mut sends = VecDeque::from(output.sends);
            while let Some(send) = sends.pop_front() {
                let answer = self.perform(&send.work);
                let seed = self.seed();
                if send.ticket != Ticket::Exchange {
                    // A job that was begun on its own asks now.
                    let output = self.step(&Input::Answered(send.ticket, answer), seed);
                    wake = output.wake;
                    sends.extend(output.sends);
                }
            }
            if wake.is_none_or(|at| at > self.now) {
                return wake;
            }
        }
    }

    /// Steps an input until it is decided; returns the last output and how many outside answers it took.
    fn settle(&mut self, input: impl Fn(&[Answer]) -> Owned) -> (Output, usize) {
        let seed = self.seed();
        let mut answers = Vec::new();
        loop {
            let owned = input(&answers);
            let output = match &owned {
                Owned::Http(request) => self.step(&Input::Http(request, &answers), seed),
                Owned::FirstStart(answers) => self.step(&Input::FirstStart(answers), seed),
            };
            match &output.outcome {
                Outcome::Wait => {}
                // Nothing else happens in this house while a request waits, so its wait times out at once.
                Outcome::Park(..) => answers.push(Answer::Elapsed),
                Outcome::Yield => answers.push(Answer::Yielded),
                Outcome::StoreBody(upload) => {
                    let Owned::Http(request) = &owned else { panic!("only requests have a body") };
                    answers.push(Answer::Stored(self.store_object(upload, &request.body)));
                }
                _ => return (output, answers.len()),
            }
            for send in output.sends {
                answers.push(self.perform(&send.work));
            }
        }
    }

    /// Makes a body an object.
    fn store_object(&mut self, upload: &ObjectUpload, body: &Body) -> Result<StoredObject, UploadError> {
        assert!(!self.objects.contains_key(&upload.name), "no object is stored twice");
        let bytes = match (self.broken, body) {
            (Some(error), _) => return Err(error),
            (None, Body::Full(bytes)) => bytes.clone(),
            (None, Body::TooLarge) => return Err(UploadError::TooLarge),
            (None, Body::Cut) => return Err(UploadError::Cut),
            (None, Body::None | Body::Pending) => Vec::new(),
        };
        let stored = StoredObject { bytes: u32::try_from(bytes.len()).expect("a small body"), sealed: false };
        self.objects.insert(upload.name.clone(), bytes);
        Ok(stored)
    }

    fn perform(&mut self, work: &Work) -> Answer {
        match work {
            Work::DeleteObject(_) if self.broken.is_some() => Answer::Failed(SendError::Unreachable),
            Work::DeleteObject(name) => {
                self.objects.remove(name);
                Answer::ObjectDeleted(name.clone())
            }
            Work::Http(request) => (self.outside)(request).map_or_else(Answer::Failed, Answer::Http),
            Work::Extract { form, bytes } => Answer::Extracted(extract::read(*form, bytes)),
            work => work::perform(work).expect("all other work is pure"),
        }
    }
}

enum Owned {
    Http(Request),
    FirstStart(Vec<Answer>),
}

impl Call<'_> {
    /// Replaces the bearer token.
    pub fn token(self, token: &str) -> Self {
        self.without("authorization").header("authorization", &format!("Bearer {token}"))
    }

    /// Sets a JSON body and its content type.
    pub fn json(self, body: &Value) -> Self {
        self.header("content-type", "application/json").body(body.to_string().into_bytes())
    }

    /// Sets these bytes as the body, without a content type.
    pub fn body(mut self, bytes: Vec<u8>) -> Self {
        self.request.body = Body::Full(bytes);
        self
    }

    /// Sets the body in this state, such as too large or broken off.
    pub fn raw(mut self, body: Body) -> Self {
        self.request.body = body;
        self
    }

    /// Adds a header. The name must be one that the core reads.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let known = known_header(name).unwrap_or_else(|| panic!("the core does not look at {name}"));
        self.request.headers.push((known, value.as_bytes().to_vec()));
        self
    }

    /// Removes every header with this name.
    pub fn without(mut self, name: &str) -> Self {
        self.request.headers.retain(|(known, _)| *known != name);
        self
    }

    /// Sets the listener (door) that the request arrives at; [`Door::Main`] otherwise.
    #[must_use]
    pub fn door(mut self, door: Door) -> Self {
        self.request.door = door;
        self
    }

    /// Sets the peer's IP address; none otherwise.
    pub fn from(mut self, peer: &str) -> Self {
        self.request.peer = Some(peer.parse().expect("an address"));
        self
    }

    /// Returns the request itself, for a test that runs its steps one by one.
    pub fn request(self) -> Request {
        self.request
    }

    /// Sends the request, judges the reply and returns it.
    #[track_caller]
    pub fn send(self) -> Got {
        let Self { house, request } = self;
        let (output, answers) = house.settle(|_| Owned::Http(request.clone()));
        let Outcome::Reply(reply) = output.outcome.clone() else { panic!("no answer but {:?}", output.outcome) };
        // The simulated carrier answers within the step, so its part does not show in `answers`.
        let outside = answers > 0 || JUDGE.asks_outside(&request);
        let exchange = Exchange { request: &request, output: &output, reply: &reply, outside, foreign: None };
        if let Err(broken) = JUDGE.judge(&exchange) {
            panic!("{} {}: {broken}", request.method.name(), request.target);
        }
        let bytes = match reply.content {
            Content::Json(bytes) => bytes,
            Content::Stream(stream) => stream.bytes,
            Content::Piece(piece) => piece.bytes,
            Content::Object(part) => {
                let object = house.objects.get(&part.name).expect("a recording that is kept is an object");
                assert_eq!(object.len() as u64, part.bytes);
                let [from, to] = [part.range.start, part.range.end].map(|at| usize::try_from(at).expect("an offset"));
                object[from..to].to_vec()
            }
            Content::Empty | Content::Host(_) => Vec::new(),
        };
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Got { status: reply.status, json, bytes, headers: reply.headers }
    }
}

/// Returns a valid body for `POST /user/assistant`.
pub fn assistant() -> Value {
    json!({
        "name": "Anna", "voice_id": 1, "language_id": 1, "type": "outbound", "mode": "pipeline", "timezone": "Europe/Bucharest",
        "initial_message": "Hello", "system_prompt": "You are kind.", "llm_model_id": 1,
    })
}

/// Returns a valid body for `POST /user/tools`.
pub fn tool(name: &str) -> Value {
    json!({ "name": name, "description": "Looks it up", "endpoint": "https://tools.example/look", "method": "GET" })
}

/// Returns a valid body for `POST /user/campaigns`.
pub fn campaign(assistant_id: u64) -> Value {
    json!({ "name": "Spring", "assistant_id": assistant_id })
}

/// Returns a valid body for `POST /user/leads`.
pub fn lead(campaign_id: u64, phone_number: &str) -> Value {
    json!({ "campaign_id": campaign_id, "phone_number": phone_number })
}

/// Returns a valid body for `POST /user/phone-numbers/sip-trunks`.
pub fn trunk(phone_number: &str) -> Value {
    json!({
        "phone_number": phone_number, "sip_address": "sip.example:5060", "sip_username": "anna", "sip_password": "secret",
    })
}

/// Returns the body with these members replaced; a null removes its member.
pub fn with(mut body: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().expect("an object") {
        if value.is_null() {
            body.as_object_mut().expect("an object").remove(name);
        } else {
            body[name] = value.clone();
        }
    }
    body
}
