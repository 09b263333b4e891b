//! Calls of an engine of edition 2: given back, commanded, measured, priced, and with events of tomorrow.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;

use super::Recorder;

impl Recorder {
    pub(super) fn speech(&mut self) {
        let (owner, engine) = (self.owner.clone(), self.engine.clone());
        self.json(Method::Get, "/engine", &engine, None);
        self.json(Method::Get, "/engine", &owner, None);
        let prices = json!({ "items": [{ "unit": "llm_token_in", "price": 0.000_002 }, { "unit": "platform_minute", "price": 0.05 }] });
        self.operate(Method::Put, "/admin/prices", Some(&prices));
        let assistants = self.json(Method::Get, "/user/assistants", &owner, None);
        let assistant = &assistants[0]["id"];
        for number in ["+40700000011", "+40700000012", "+40700000013"] {
            self.ask(
                Method::Post,
                "/user/make_call",
                Some(&json!({ "phone_number": number, "assistant_id": assistant })),
            );
        }
        let ids = self.claim_all("first");
        assert_eq!(ids.len(), 3, "three calls wait");
        self.say(ids[0], 1, &[json!({ "type": "release", "reason": "no trunk" })]);
        self.claim_all("first");
        assert_eq!(self.claim_all("second"), [ids[0]]);
        // The third is never dialed: its lease lapses, and it waits again.
        self.say(ids[0], 1, &[json!({ "type": "dialing" }), json!({ "type": "answered" })]);
        self.say(ids[1], 1, &[json!({ "type": "dialing" }), json!({ "type": "ringing" })]);
        self.wait(20);
        self.beat("second", &ids[..1]);
        self.converse(ids[0]);
        self.say(ids[1], 3, &[json!({ "type": "answered", "answered_by": "machine" })]);
        self.wait(15);
        self.settle();
        self.claim_all("third");
        self.ask(Method::Post, &format!("/user/calls/{}/hangup", ids[1]), None);
        self.claim_all("first");
        self.say(
            ids[1],
            4,
            &[json!({ "type": "command", "id": "hangup", "status": "done" }), json!({ "type": "ended" })],
        );
        self.wait(60);
        self.settle();
        self.web_call("second", assistant);
        for id in ids {
            self.look(&format!("/user/calls/{id}"));
            self.look(&format!("/user/calls/{id}/events"));
            let (owner, bundle) = (self.owner.clone(), format!("/user/calls/{id}/bundle"));
            self.look(&bundle);
            self.send(Method::Get, &bundle, &owner, &[("accept", "application/zip")], None);
        }
        self.operate(Method::Put, "/admin/prices", Some(&json!({ "items": [] })));
    }

    /// Claims all calls that wait, and the commands of those that this engine has, as an engine of edition 2.
    fn claim_all(&mut self, engine: &str) -> Vec<u64> {
        let claimed = self.engine("/engine/claim", &json!({ "engine": engine, "protocol": 2, "capacity": 10 }));
        let calls = claimed["calls"].as_array().expect("calls");
        calls.iter().filter_map(|held| held["call"]["id"].as_u64()).collect()
    }

    /// Renews the leases of calls, and of one that the engine never had; then the operator looks at the engines, and
    /// drains this one for a moment.
    fn beat(&mut self, engine: &str, calls: &[u64]) {
        let calls = [calls, &[7 << 32]].concat();
        let about = json!({ "host": "media-1", "load": 0.5, "legs": ["sip"], "web_url": "https://media-1.example" });
        let body = json!({ "engine": engine, "calls": calls, "protocol": 2 });
        let all = body.as_object().into_iter().chain(about.as_object()).flatten();
        let body: Value =
            all.map(|(name, value)| (name.clone(), value.clone())).collect::<serde_json::Map<_, _>>().into();
        self.engine("/engine/heartbeat", &body);
        self.engine("/engine/heartbeat", &json!({ "engine": engine, "web_url": "http://media-1.example" }));
        let engines = self.operate(Method::Get, "/admin/engines", None);
        let drain = format!("/admin/engines/{}/drain", engines["data"][0]["id"]);
        self.operate(Method::Post, &drain, Some(&json!({ "drain": true })));
        self.engine("/engine/heartbeat", &json!({ "engine": engine }));
        self.operate(Method::Post, &drain, Some(&json!({ "drain": false })));
        self.operate(Method::Post, "/admin/engines/1/drain", Some(&json!({ "drain": false })));
    }

    /// Tells of a registration with a trunk, which its account sees, and asks for a check that no engine can do.
    fn registered(&mut self, engine: &str) {
        let owner = self.owner.clone();
        let trunks = self.json(Method::Get, "/user/phone-numbers/sip-trunks", &owner, None);
        let trunk = trunks["data"][0]["id"].clone();
        let told = json!([{ "id": trunk, "state": "refused", "detail": "The password is wrong." }, { "id": 7, "state": "registered" }]);
        self.engine("/engine/heartbeat", &json!({ "engine": engine, "trunks": told }));
        self.json(Method::Get, "/user/phone-numbers/sip-trunks", &owner, None);
        self.ask(Method::Post, &format!("/user/phone-numbers/sip-trunks/{trunk}/check"), None);
        self.engine(
            "/engine/checks/00000000-0000-4000-8000-000000000000",
            &json!({ "steps": [{ "name": "resolve", "ok": true }] }),
        );
    }

    /// Asks for the trunks, and brings a call from a page: its token opens it once.
    fn web_call(&mut self, engine: &str, assistant: &Value) {
        let (token, owner) = (self.engine.clone(), self.owner.clone());
        self.json(Method::Get, "/engine/trunks", &token, None);
        self.json(Method::Get, "/engine/trunks?after=99", &owner, None);
        self.registered(engine);
        let new = json!({ "assistant_id": assistant });
        self.ask(Method::Post, "/user/web_calls", Some(&new));
        let about = json!({ "engine": engine, "legs": ["web"], "web_url": "https://media-1.example/web" });
        self.engine("/engine/heartbeat", &about);
        let made = self.ask(Method::Post, "/user/web_calls", Some(&new));
        let shown = json!({ "type": "web", "token": made["token"], "engine": engine, "external_id": "page" });
        for _ in 0..2 {
            self.engine("/engine/calls", &shown);
        }
        self.ask(Method::Post, "/user/web_calls", Some(&new));
        self.wait(60);
        self.settle();
    }

    /// A whole conversation, from the third event on.
    fn converse(&mut self, call: u64) {
        let commands = format!("/user/calls/{call}/commands");
        self.ask(Method::Post, &commands, Some(&json!({ "type": "say", "text": "One moment" })));
        self.ask(Method::Post, &commands, Some(&json!({ "type": "say" })));
        self.claim_all("second");
        self.claim_all("second");
        self.say(
            call,
            3,
            &[
                json!({ "type": "detected", "answered_by": "human", "kind": "person" }),
                json!({ "type": "partial", "text": "When" }),
                json!({ "type": "transcript", "sender": "human", "text": "When?", "turn": 1, "confidence": 0.9 }),
                json!({ "type": "mood", "score": 0.7, "of": { "type": "transcript" } }),
                json!({ "type": "metrics", "turn": 1, "llm_ms": 300, "total_ms": 700 }),
                json!({ "type": "usage", "llm_tokens_in": 5_000 }),
                json!({ "type": "dtmf", "digits": "4929" }),
                json!({ "type": "command", "id": "1", "status": "refused", "reason": "busy" }),
            ],
        );
        self.say(call, 11, &[json!({ "type": "tool" })]);
        let asked = json!({ "events": [{ "seq": 11, "type": "hold" }, { "seq": 12, "type": "resume" }] });
        self.engine(&format!("/engine/calls/{call}/tools/none"), &asked);
        self.say(call, 13, &[json!({ "type": "ended", "by": "customer" })]);
        let late: [Value; 2] =
            [json!({ "type": "metrics", "total_ms": 900 }), json!({ "type": "quality", "mos": 4.2 })];
        self.say(call, 14, &late);
        self.say(call, 16, &[json!({ "type": "hold" })]);
    }
}
