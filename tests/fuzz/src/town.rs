//! [`Town`]: the store against which inputs run, with two accounts that have something of everything, calls in every
//! state and due jobs; and the questions that its service asks of the outside.

use std::sync::Arc;

use serde_json::{Value, json};
use switchboard_core::carrier::Carrier;
use switchboard_core::carrier::twilio::Twilio;
use switchboard_core::http::request::Method;
use switchboard_core::llm::Llm;
use switchboard_core::memory::Memory;
use switchboard_core::outside::HttpIn;
use switchboard_core::record::Secret;
use switchboard_core::service::Service;
use switchboard_core::setup::Config;
use switchboard_core::time::Timestamp;
use switchboard_tests::house::{House, assistant, campaign, lead, tool, with};
use switchboard_tests::judge::Judge;
use switchboard_tests::line::{Line, said};
use switchboard_tests::places::Places;

use crate::answer::{self, Question};
use crate::body::Bodies;
use crate::http::Text;

/// A word in everything of the second account, which must not appear in a reply to the first.
pub const MARKER: &str = "STRANGER";

/// A store with its service, and what is known about both.
pub struct Town {
    /// Service whose numbers come from a carrier and whose calls are analysed by a model.
    pub service: Service,
    /// Rows of the store.
    pub store: Arc<Memory>,
    /// Time at which inputs run.
    pub now: Timestamp,
    /// Tokens, by the names that stand for them in an input.
    pub tokens: Vec<(&'static str, String)>,
    /// Resources of the first account.
    pub owner: Places,
    /// Resources of the second account.
    pub stranger: Places,
    /// Valid bodies of the tables.
    pub bodies: Bodies,
    /// Checker of every reply, by the documented statuses and schemas.
    pub judge: Judge,
    /// Questions that the service asks of the outside.
    pub questions: Vec<Question>,
}

/// Returns the configuration of the town's service.
pub fn config() -> Config {
    let twilio = Twilio {
        base_url: "https://carrier.test/".into(),
        account_sid: "AC1".into(),
        auth_token: Secret("token".into()),
        number_price_cents: 115,
    };
    Config {
        carrier: Carrier::Twilio(twilio),
        llm: Some(Llm { url: "https://llm.example/v1".into(), key: None, model: "m".into() }),
        cors_origins: vec!["https://app.example".into()],
        trust_proxy: vec!["127.0.0.0/8".parse().expect("a range")],
        ..Config::default()
    }
}

impl Default for Town {
    fn default() -> Self {
        Self::new()
    }
}

impl Town {
    /// Creates the town, the same every time.
    pub fn new() -> Self {
        let mut house = House::default();
        house.outside(|_| Ok(HttpIn { status: 200, body: b"{}".to_vec(), ..HttpIn::default() }));
        let (key, other) = (house.key.clone(), house.account("stranger@example.com"));
        let mut tokens = tokens(&mut house);
        let owner = Places::of(&mut house, &key);
        let stranger = Places::of(&mut house, &other);
        mark(&mut house, &stranger, &other);
        live(&mut house, &owner);
        tokens.extend([("owner", key), ("stranger", other), ("engine", owner.engine.clone())]);
        tokens.push(("theirs", stranger.engine.clone()));
        let mut town = Self {
            service: Service::new(config()),
            store: Arc::new(house.store),
            now: house.now,
            tokens,
            owner,
            stranger,
            bodies: Bodies::new(),
            judge: Judge::new(),
            questions: Vec::new(),
        };
        town.questions = answer::questions(&town);
        town
    }

    /// Returns the token of a name.
    ///
    /// # Panics
    /// If there is no such token.
    pub fn token(&self, name: &str) -> &str {
        &self.tokens.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no token {name}")).1
    }

    /// Builds a request with a token and an optional JSON body.
    pub fn request(&self, method: Method, target: &str, token: &str, body: Option<&Value>) -> Text {
        let mut text = Text::new(method, target).bearer(token);
        if let Some(body) = body {
            text = text.json(body.to_string());
        }
        text
    }
}

/// Creates further tokens: read-only, session, operator, a suspended account's, and a revoked one.
fn tokens(house: &mut House) -> Vec<(&'static str, String)> {
    let operator = house.operator.clone();
    let text = |value: &Value| value.as_str().expect("a token").to_owned();
    let reader = house.post("/user/api-keys", &json!({ "name": "R", "read_only": true })).send().expect(201);
    let old = house.post("/user/api-keys", &json!({ "name": "Old" })).send().expect(201);
    house.delete(&format!("/user/api-keys/{}", old.id())).expect(200);
    let login = json!({ "email": "owner@localhost", "password": house.password });
    let session = house.post("/user/login", &login).without("authorization").send().expect(200);
    let suspended = house.account("suspended@example.com");
    house.put("/admin/accounts/3", &json!({ "suspended": true })).token(&operator).send().expect(200);
    vec![
        ("operator", operator),
        ("reader", text(&reader.json["api_key"]["token"])),
        ("revoked", text(&old.json["api_key"]["token"])),
        ("session", text(&session.json["token"])),
        ("suspended", suspended),
    ]
}

/// Writes the marker into the resources of the second account.
fn mark(house: &mut House, places: &Places, token: &str) {
    let named = json!({ "name": MARKER });
    for path in ["/user/assistant/{id}", "/user/knowledgebases/{id}", "/user/campaign/{id}"] {
        house.put(&places.path(path), &named).token(token).send().expect(200);
    }
    let described = json!({ "description": MARKER });
    house.put(&places.path("/user/tools/{id}"), &described).token(token).send().expect(200);
    house.put(&places.path("/user/phone-numbers/{id}"), &json!({ "nickname": MARKER })).token(token).send().expect(200);
    // Its campaign runs, so that it has a call placed by a campaign.
    let active = json!({ "status": "active" });
    house.put(&places.path("/user/assistant/{id}"), &active).token(token).send().expect(200);
    let start = json!({ "campaign_id": places.id("/user/campaign"), "action": "start" });
    house.post("/user/campaigns/update-status", &start).token(token).send().expect(200);
}

/// Creates activity in the first account.
fn live(house: &mut House, places: &Places) {
    let asked = json!({
        "endpoint": "https://tools.example/{city}?q={{customer_phone}}", "method": "POST", "timeout": 3,
        "headers": [{ "name": "X-Key", "value": "secret {{assistant_id}}" }],
        "schema": [
            { "name": "city", "type": "string", "description": "Which city" },
            { "name": "days", "type": "number", "description": "How many days" },
        ],
    });
    let asking = house.make("/user/tools", &with(tool("forecast"), &asked));
    let base = places.id("/user/knowledgebases");
    upload(house, base);
    let rich = json!({
        "name": "Rich", "tool_ids": [asking], "knowledgebase_id": base, "knowledgebase_mode": "prompt",
        "system_prompt": "Speak to {{customer_name}} in {{ city }} on {{current_date}}.",
        "variables": { "customer_name": "Ana", "city": "Cluj", "n": 3, "vip": true },
        "is_webhook_active": true, "webhook_url": "https://hook.example/x", "send_webhook_only_on_completed": false,
        "post_call_schema": [{ "name": "city", "type": "string", "description": "The city" }],
        "tools": [
            { "type": "end_call" },
            { "type": "calendar_integration", "calendar_api_key": "cal_live_abcdefgh", "calendar_event_slug": "visit" },
        ],
    });
    let id = house.make("/user/assistant", &with(assistant(), &rich));
    house.put(&format!("/user/assistant/{id}"), &json!({ "status": "active" })).send().expect(200);
    let line = Line { token: places.engine.clone() };
    for turn in 0..4_u8 {
        house.make_call(id);
        let mut held = line.take(house);
        match turn {
            0 => line.talk(house, &mut held),
            1 => drop(line.say(house, &mut held, &[json!({ "type": "ringing" })]).expect(200)),
            2 => {
                let events = [json!({ "type": "answered" }), said("bot", "Hello"), said("human", "Hi {{x}}")];
                line.say(house, &mut held, &events).expect(200);
            }
            _ => {}
        }
    }
    let started = house.make("/user/campaigns", &campaign(id));
    for n in 0..4_u8 {
        house.make("/user/leads", &lead(started, &format!("+4070000010{n}")));
    }
    house.make_call(id);
    house.tick();
    due(house, base, id, started);
}

fn upload(house: &mut House, base: u64) {
    let part =
        |name: &str, value: &str| format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
    let text = "We open at nine in the morning. We close at five. Parking is free.";
    let body = [part("name", "Hours"), part("type", "txt"), part("file", text), "--b--\r\n".into()].concat();
    let call = house.call(Method::Post, &format!("/user/knowledgebases/{base}/documents"));
    call.header("content-type", "multipart/form-data; boundary=b").body(body.into_bytes()).send().expect(201);
}

/// Creates due work: pages to read, a file, a call to analyse, a webhook, a dialer.
fn due(house: &mut House, base: u64, assistant: u64, campaign: u64) {
    let documents = format!("/user/knowledgebases/{base}/documents");
    let site = json!({ "name": "Site", "type": "website", "url": "https://site.example/", "relative_links_limit": 3 });
    house.make(&documents, &site);
    upload(house, base);
    let action = json!({ "campaign_id": campaign, "action": "start" });
    house.post("/user/campaigns/update-status", &action).send().expect(200);
    let call = house.make_call(assistant);
    house.post(&format!("/user/calls/{call}/hangup"), &json!({})).send().expect(200);
}
