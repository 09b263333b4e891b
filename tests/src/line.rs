//! [`Line`]: a voice engine of a test, attached to a house by the interface that every engine uses.

use serde_json::{Value, json};

use crate::house::{Got, House};

/// An engine with a token.
#[derive(Clone, Debug)]
pub struct Line {
    /// Its token.
    pub token: String,
}

/// A call that an engine has.
#[derive(Clone, Debug)]
pub struct Held {
    /// The call's id.
    pub id: u64,
    /// What the claim gave.
    pub claimed: Value,
    /// The last sequence number.
    pub seq: u64,
}

impl Line {
    /// An engine for every account.
    pub fn attach(house: &mut House) -> Self {
        let operator = house.operator.clone();
        let made = house.post("/admin/engine-tokens", &json!({ "name": "Test" })).token(&operator).send().expect(201);
        Self { token: made.json["token"].as_str().expect("a token").to_owned() }
    }

    /// Claims at most `capacity` calls.
    pub fn claim(&self, house: &mut House, capacity: u32) -> Vec<Held> {
        let body = json!({ "engine": "test", "capacity": capacity });
        let got = house.post("/engine/claim", &body).token(&self.token).send().expect(200);
        let calls = got.json["calls"].as_array().expect("a list").clone();
        calls.into_iter().map(Held::of).collect()
    }

    /// Claims the one call that waits.
    #[track_caller]
    pub fn take(&self, house: &mut House) -> Held {
        let mut calls = self.claim(house, 1);
        assert_eq!(calls.len(), 1, "one call waits");
        calls.remove(0)
    }

    /// Says what happened; events get the sequence numbers that come next.
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

    /// Sends events as they are.
    pub fn send(&self, house: &mut House, id: u64, events: &[Value]) -> Got {
        let path = format!("/engine/calls/{id}/events");
        house.post(&path, &json!({ "events": events })).token(&self.token).send()
    }

    /// Rings, is answered, says a line each and ends.
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
    /// An entry of a claim.
    pub fn of(claimed: Value) -> Self {
        Self { id: claimed["call"]["id"].as_u64().expect("an id"), claimed, seq: 0 }
    }
}

/// A line of the transcript as an event.
pub fn said(sender: &str, text: &str) -> Value {
    json!({ "type": "transcript", "sender": sender, "text": text })
}
