//! A campaign with its assistant and an engine that takes its calls, for the tests of the dialer and of progress.

use serde_json::{Value, json};
use switchboard_core::time::Timestamp;
use switchboard_tests::house::{House, assistant, lead, with};
use switchboard_tests::line::{Held, Line};

/// Noon in UTC.
pub const MONDAY: &str = "2026-09-21T12:00:00Z";

pub struct Desk {
    pub house: House,
    pub line: Line,
    pub campaign: u64,
    pub assistant: u64,
}

impl Desk {
    pub fn new(changes: &Value) -> Self {
        let mut house = House::default();
        house.now = Timestamp::parse_iso(MONDAY).expect("a time");
        let body = json!({ "post_call_evaluation": false });
        let assistant = house.make("/user/assistant", &with(assistant(), &body));
        house.put(&format!("/user/assistant/{assistant}"), &json!({ "status": "active" })).send().expect(200);
        let body = json!({ "name": "C", "assistant_id": assistant, "timezone": "Etc/UTC", "retry_interval": 10, "max_retries": 1 });
        let campaign = house.make("/user/campaigns", &with(body, changes));
        let line = Line::attach(&mut house);
        Self { house, line, campaign, assistant }
    }

    pub fn lead(&mut self, number: u32) -> u64 {
        let body = lead(self.campaign, &format!("+407000000{number:02}"));
        self.house.make("/user/lead", &body)
    }

    pub fn switch(&mut self, action: &str) -> (u16, Value) {
        let body = json!({ "campaign_id": self.campaign, "action": action });
        let got = self.house.post("/user/campaigns/update-status", &body).send();
        self.house.tick();
        (got.status, got.json)
    }

    pub fn start(&mut self) {
        assert_eq!(self.switch("start").0, 200);
    }

    pub fn claim(&mut self) -> Vec<Held> {
        self.house.tick();
        self.line.claim(&mut self.house, 30)
    }

    pub fn phones(&mut self) -> Vec<String> {
        let calls = self.claim();
        calls
            .iter()
            .map(|held| held.claimed["call"]["client_phone_number"].as_str().expect("a number").to_owned())
            .collect()
    }

    pub fn status(&mut self, lead: u64) -> String {
        self.house.get(&format!("/user/leads/{lead}")).json["status"].as_str().expect("a status").to_owned()
    }

    pub fn campaign(&mut self) -> String {
        self.house.get(&format!("/user/campaigns/{}", self.campaign)).json["status"]
            .as_str()
            .expect("a status")
            .to_owned()
    }

    pub fn fail(&mut self, held: &mut Held) {
        self.line.say(&mut self.house, held, &[json!({ "type": "failed", "reason": "busy" })]).expect(200);
        self.house.tick();
    }

    pub fn finish(&mut self, held: &mut Held, answered_by: &str, variables: &Value) {
        let events = [
            json!({ "type": "answered", "answered_by": answered_by }),
            json!({ "type": "variables", "variables": variables }),
            json!({ "type": "ended", "by": "customer" }),
        ];
        self.line.say(&mut self.house, held, &events).expect(200);
        self.house.tick();
    }

    pub fn wait(&mut self, seconds: u64) {
        self.house.now = self.house.now.plus_seconds(seconds);
        self.house.tick();
    }

    pub fn why(&mut self, lead: u64) -> (bool, Vec<String>, Value) {
        let data = self.house.get(&format!("/user/leads/{lead}/explain")).expect(200).json["data"].clone();
        let codes = data["reasons"].as_array().expect("a list").iter();
        let codes = codes.map(|reason| reason["code"].as_str().expect("a code").to_owned()).collect();
        (data["callable"] == true, codes, data["next_at"].clone())
    }
}
