//! The start of a world: accounts with assistants, numbers, campaigns and leads; then people, engines and faults.

use serde_json::{Value, json};

use crate::agenda::SECOND;
use crate::base::base;
use crate::checks::micros;
use crate::client::Ask;
use crate::draw;
use crate::engine::{Engine, Errand};
use crate::person::Person;
use crate::receiver::Receivers;
use crate::world::{Event, World};

impl World {
    /// Sets everything up without faults, then starts people, engines and faults.
    pub fn set_up(&mut self) {
        let plan = self.plan.clone();
        self.price(0.02);
        for account in 0..plan.accounts {
            let key = base().keys[account].clone();
            let number = u32::try_from(account).unwrap_or(0);
            self.people.push(Person { account: number, key, acts: plan.acts, inbound: Vec::new(), by_hand: 0 });
            self.set_up_account(account);
            if self.random.chance(400) {
                let dollars = self.random.one(&[0.1, 2.0, 50.0]);
                self.meter(number, dollars);
            }
            let soon = self.random.below(3_600);
            self.later(soon * SECOND, Event::Person(account));
        }
        for (at, token) in base().engines.iter().take(plan.engines).enumerate() {
            let engine = Engine::new(token, at, &mut self.random);
            self.engines.push(engine);
            let soon = self.random.below(60);
            self.later(soon * SECOND, Event::Engine(at, Errand::Claim));
        }
        for at in 0..plan.receivers {
            let hours = self.random.within(1..=20);
            self.later(hours * 3_600 * SECOND, Event::Mood(at));
        }
        self.plan_arrivals();
        if self.random.chance(400) {
            let calls = self.random.within(1..=8);
            self.replan(calls);
        }
        self.later(plan.busy_seconds * SECOND, Event::Calm);
        self.strike(plan.faults);
    }

    fn plan_arrivals(&mut self) {
        for _ in 0..self.random.below(6) {
            let engine = usize::try_from(self.random.below(self.engines.len() as u64)).unwrap_or(0);
            let at = self.random.below(self.plan.busy_seconds);
            self.later(at * SECOND, Event::Engine(engine, Errand::Bring));
        }
    }

    fn set_up_account(&mut self, person: usize) {
        let account = self.people[person].account;
        let mut numbers = Vec::new();
        let offered =
            self.owner(person, &Ask::get(format!("/user/phone-numbers/search?country_code=US&contains=21{account}")));
        for at in 0..usize::try_from(self.random.below(4)).unwrap_or(0) {
            let number = offered["data"][at]["phone_number"].as_str().unwrap_or_default().to_owned();
            let bought =
                self.owner(person, &Ask::post("/user/phone-numbers/purchase", json!({ "phone_number": number })));
            numbers.push((bought["data"]["id"].clone(), number));
        }
        let tool = json!({ "name": "look", "description": "Looks it up", "endpoint": format!("{}/{{city}}", Receivers::url(0, 7)),
            "method": "GET", "schema": [{ "name": "city", "type": "string", "description": "The city" }] });
        let tool = self.owner(person, &Ask::post("/user/tools", tool))["data"]["id"].clone();
        let own: Vec<Value> = numbers.iter().map(|(id, _)| id.clone()).collect();
        let outbound: Vec<u64> =
            (0..self.plan.campaigns.min(2)).map(|_| self.new_assistant(person, "outbound", None, &tool)).collect();
        if let Some((number, e164)) = numbers.first().cloned() {
            let id = self.new_assistant(person, "inbound", Some(number), &tool);
            self.people[person].inbound.push((id, e164));
        }
        let mut campaigns = Vec::new();
        for _ in 0..self.plan.campaigns {
            let assistant = self.random.one(&outbound);
            let body = draw::campaign(&mut self.random, assistant, &own);
            let made = self.owner(person, &Ask::post("/user/campaigns", body));
            campaigns.push(made["data"]["id"].as_u64().unwrap_or(0));
        }
        for _ in 0..self.plan.leads {
            let campaign = self.random.one(&campaigns);
            let body = draw::lead(&mut self.random, campaign);
            let key = self.people[person].key.clone();
            // A duplicate number is rejected, which is fine.
            self.must(&Ask::post("/user/lead", body), &key);
        }
        for id in campaigns {
            let start = json!({ "campaign_id": id, "action": "start" });
            self.owner(person, &Ask::post("/user/campaigns/update-status", start));
        }
    }

    fn new_assistant(&mut self, person: usize, kind: &str, number: Option<Value>, tool: &Value) -> u64 {
        let receiver = usize::try_from(self.random.below(self.plan.receivers as u64)).unwrap_or(0);
        let mut body = draw::assistant(&mut self.random, kind, receiver);
        if let Some(number) = number {
            body["phone_number_id"] = number;
        }
        body["tool_ids"] = json!([tool]);
        let tools = if self.random.chance(500) { json!([tool]) } else { json!([]) };
        body["widget_settings"] = json!({ "enabled": self.random.chance(800), "tool_ids": tools });
        let made = self.owner(person, &Ask::post("/user/assistant", body));
        let id = made["data"]["id"].as_u64().unwrap_or(0);
        self.owner(person, &Ask::put(format!("/user/assistants/{id}"), json!({ "status": "active" })));
        if kind == "inbound" && self.random.chance(700) {
            let url = Receivers::url(receiver, 9);
            let body = json!({ "assistant_id": id, "webhook_url": url });
            self.owner(person, &Ask::post("/user/assistants/enable-inbound-webhook", body));
        }
        id
    }

    /// Sets the limit of parallel calls in the plan of all accounts, as the operator.
    pub fn replan(&mut self, calls: u64) {
        let ask = Ask::put("/admin/plans/standard", json!({ "parallel_calls": calls }));
        self.parallel_calls = usize::try_from(calls).unwrap_or(usize::MAX);
        let heard = self.must(&ask, &base().operator);
        debug_assert_eq!(heard.status(), 200, "the operator changes a plan");
    }

    /// Sets the price of an answer in a conversation, as the operator.
    pub fn price(&mut self, dollars: f64) {
        let ask = Ask::put("/admin/prices", json!({ "items": [{ "unit": "chat_message", "price": dollars }] }));
        let heard = self.must(&ask, &base().operator);
        debug_assert_eq!(heard.status(), 200, "the operator sets prices");
        self.chat_price = micros(dollars);
    }

    /// Sets an account's balance, as the operator.
    pub fn meter(&mut self, account: u32, dollars: f64) {
        let ask = Ask::put(format!("/admin/accounts/{}", account + 1), json!({ "balance": dollars }));
        self.checks.money.set(account, dollars);
        let heard = self.must(&ask, &base().operator);
        debug_assert_eq!(heard.status(), 200, "the operator changes an account");
    }

    /// Suspends an account or lifts the suspension, as the operator.
    pub fn suspend(&mut self, account: u32, out: bool) {
        self.suspended.retain(|other| *other != account);
        let ask = Ask::put(format!("/admin/accounts/{}", account + 1), json!({ "suspended": out }));
        let heard = self.must(&ask, &base().operator);
        debug_assert_eq!(heard.status(), 200, "the operator changes an account");
        if out {
            self.suspended.push(account);
        }
    }
}
