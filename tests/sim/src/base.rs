//! What every world starts from: the service itself, and a store after its first start with two accounts and a few
//! engine tokens. It is built once per process, since hashing passwords is slow.

use std::sync::OnceLock;

use serde_json::{Value, json};
use switchboard_core::http::reply::{Content, Reply};
use switchboard_core::http::request::Request;
use switchboard_core::llm::Llm;
use switchboard_core::memory::Memory;
use switchboard_core::outside::{Answer, SendError};
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::step::{Input, Outcome};
use switchboard_core::time::Timestamp;
use switchboard_core::view::Scene;
use switchboard_core::work;

use crate::client::Ask;
use crate::random::Random;

/// Engine tokens in the store.
pub const ENGINES: usize = 4;
/// Base URL of the language model.
pub const MODEL: &str = "https://model.example/v1";

/// A store after its first start.
pub struct Base {
    /// Rows of the store.
    pub store: Memory,
    /// The operator's admin token.
    pub operator: String,
    /// API keys, one per account.
    pub keys: Vec<String>,
    /// Engine tokens: the first for all accounts, the next ones for one account each, then for all again.
    pub engines: Vec<String>,
}

/// Returns the service, with or without a language model.
pub fn service(model: bool) -> &'static Service {
    static PLAIN: OnceLock<Service> = OnceLock::new();
    static MODELLED: OnceLock<Service> = OnceLock::new();
    if !model {
        return PLAIN.get_or_init(|| Service::new(Config::default()));
    }
    let llm = Llm { url: MODEL.into(), key: None, model: "simulated".into() };
    MODELLED.get_or_init(|| Service::new(Config { llm: Some(llm), ..Config::default() }))
}

/// Returns the store to start from, built on the first call.
pub fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(make)
}

fn make() -> Base {
    let mut store = Memory::default();
    let mut random = Random::new(0);
    let first = settle(&mut store, &mut random, None);
    let text = |value: &Value, name: &str| value[name].as_str().expect("a secret that is shown once").to_owned();
    let operator = text(&first, "admin_token");
    let mut ask = |target: &str, body: Value| {
        let request = Ask::post(target, body).by(&operator);
        settle(&mut store, &mut random, Some(&request))
    };
    let second = ask("/admin/accounts", json!({ "email": "second@example.com" }));
    let named = [json!([]), json!([1]), json!([2]), json!([])];
    let engines = named.map(|accounts| text(&ask("/admin/engine-tokens", engine(&accounts)), "token"));
    let keys = vec![text(&first, "api_key"), text(&second, "api_key")];
    Base { store, operator, keys, engines: engines.to_vec() }
}

fn engine(accounts: &Value) -> Value {
    if accounts == &json!([]) { json!({ "name": "All" }) } else { json!({ "name": "Some", "account_ids": accounts }) }
}

/// Runs a request, or the first start without one, to its answer.
fn settle(store: &mut Memory, random: &mut Random, request: Option<&Request>) -> Value {
    let (seed, now) = (random.seed(), Timestamp::from_seconds(1_760_000_000));
    let mut answers: Vec<Answer> = Vec::new();
    loop {
        let input = request.map_or(Input::FirstStart(&answers), |request| Input::Http(request, &answers));
        let output = service(false)
            .step(&input, &Scene { now, seed, view: store, careful: false })
            .expect("a sound store stops no step");
        store.apply(&output.changes);
        if let Outcome::Reply(Reply { content: Content::Json(body), .. }) = output.outcome {
            return serde_json::from_slice(&body).expect("replies are JSON");
        }
        let done = output.sends.iter().map(|send| work::perform(&send.work));
        answers.extend(done.map(|answer| answer.unwrap_or(Answer::Failed(SendError::Unreachable))));
    }
}
