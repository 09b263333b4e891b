//! [`Line`]: a test's voice engine, attached to a house through the interface that every engine uses.

use serde_json::{Value, json};

use crate::house::{Got, House};

/// A voice engine with a token of its own.
#[derive(Clone, Debug)]
pub struct Line {
    /// Engine token, sent as the bearer token.
    pub token: String,
}

/// A call that an engine has claimed.
#[derive(Clone, Debug)]
pub struct Held {
    /// Id of the call.
    pub id: u64,
    /// The call's entry in the answer to the claim.
    pub claimed: Value,
    /// Sequence number of the last event sent; 0 before the first.
    pub seq: u64,
}

impl Line {
    /// Creates an engine token for all accounts.
    pub fn attach(house: &mut House) -> Self {
        let operator = house.operator.clone();
        let made = house.post("/admin/engine-tokens", &json!({ "name": "Test" })).token(&operator).send().expect(201);
        Self { token: made.json["token"].as_str().expect("a token").to_owned() }
    }

    /// Creates a token with which an engine gets credentials, and says that it checks trunks.
    pub fn checking(house: &mut House) -> Self {
        let (operator, new) = (house.operator.clone(), json!({ "name": "Test", "telephony": true }));
        let made = house.post("/admin/engine-tokens", &new).token(&operator).send().expect(201);
        let line = Self { token: made.json["token"].as_str().expect("a token").to_owned() };
        let claim = json!({ "engine": "test", "protocol": 2, "capacity": 0, "checks": true });
        house.post("/engine/claim", &claim).token(&line.token).from("127.0.0.1").send().expect(200);
        line
    }

    /// Claims up to `capacity` calls.
    pub fn claim(&self, house: &mut House, capacity: u32) -> Vec<Held> {
        let body = json!({ "engine": "test", "capacity": capacity });
        let got = house.post("/engine/claim", &body).token(&self.token).send().expect(200);
        let calls = got.json["calls"].as_array().expect("a list").clone();
        calls.into_iter().map(Held::of).collect()
    }

    /// Claims exactly one call, which must be waiting.
    #[track_caller]
    pub fn take(&self, house: &mut House) -> Held {
        let mut calls = self.claim(house, 1);
        assert_eq!(calls.len(), 1, "one call waits");
        calls.remove(0)
    }

    /// Sends events, numbered from the next sequence number.
    pub fn say(&self, house: &mut House, held: &mut Held, events: &[Value]) -> Got {
        let numbered: Vec<Value> = events
            .iter()
            .map(|event| {
                held.seq += 1;
                let mut event = event.clone();
                event["seq"] = json!(held.seq);
                event
            })
            .collect();
        self.send(house, held.id, &numbered)
    }

    /// Sends events as they are, with whatever `seq` they have.
    pub fn send(&self, house: &mut House, id: u64, events: &[Value]) -> Got {
        let path = format!("/engine/calls/{id}/events");
        house.post(&path, &json!({ "events": events })).token(&self.token).send()
    }

    /// Plays a whole call: ringing, answered after 3 seconds, one line by each side, ended by the customer.
    pub fn talk(&self, house: &mut House, held: &mut Held) {
        self.say(house, held, &[json!({ "type": "ringing" })]).expect(200);
        house.now = house.now.plus_seconds(3);
        self.say(house, held, &[json!({ "type": "answered", "answered_by": "human" })]).expect(200);
        house.now = house.now.plus_seconds(5);
        self.say(house, held, &[said("bot", "Hello"), said("human", "Hi")]).expect(200);
        house.now = house.now.plus_seconds(20);
        self.say(house, held, &[json!({ "type": "ended", "by": "customer" })]).expect(200);
    }
}

impl Held {
    /// Reads an entry of a claim's answer.
    pub fn of(claimed: Value) -> Self {
        Self { id: claimed["call"]["id"].as_u64().expect("an id"), claimed, seq: 0 }
    }
}

/// Returns a transcript event; `sender` is `bot` or `human`.
pub fn said(sender: &str, text: &str) -> Value {
    json!({ "type": "transcript", "sender": sender, "text": text })
}
