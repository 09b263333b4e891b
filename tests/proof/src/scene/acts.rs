//! Contents of the recorded script, resource by resource.

use serde_json::{Value, json};
use switchboard_core::http::request::Method;
use switchboard_tests::house::{assistant, campaign, lead, tool, trunk, with};
use switchboard_tests::line::said;

use super::Recorder;

const CSV: &[(&str, &str)] = &[("content-type", "text/csv")];

fn form(kind: &str, name: &str, file: &str) -> Vec<u8> {
    let part = |name: &str, rest: &str, value: &str| {
        format!("--edge\r\ncontent-disposition: form-data; name=\"{name}\"{rest}\r\n\r\n{value}\r\n")
    };
    let parts = [
        part("name", "", name),
        part("type", "", kind),
        part("file", &format!("; filename=\"{name}\"\r\ncontent-type: application/octet-stream"), file),
        "--edge--\r\n".to_owned(),
    ];
    parts.concat().into_bytes()
}

impl Recorder {
    pub(super) fn conventions(&mut self) {
        let owner = self.owner.clone();
        for target in ["/healthz", "/nowhere", "/user/tools/1/2/3", "/user/assistant/1/2"] {
            self.json(Method::Get, target, "", None);
        }
        self.json(Method::Options, "/user/tools", "", None);
        let preflight = [("origin", "https://app.example"), ("access-control-request-method", "POST")];
        self.send(Method::Options, "/api/user/tools", "", &preflight, None);
        self.send(Method::Get, "/user/me", &owner, &[("origin", "https://app.example")], None);
        self.json(Method::Delete, "/user/me", &owner, None);
        for token in ["sbk_", "nonsense", "sbk_000000010000000100000000000000000000000000000000"] {
            self.json(Method::Get, "/user/me", token, None);
        }
        let json_type = [("content-type", "application/json")];
        for body in [&b"{"[..], b"[]", b"{\"name\":1,\"name\":2}", b"\xff\xfe", b"{\"a\":1e999}"] {
            self.send(Method::Post, "/user/tools", &owner, &json_type, Some(body));
        }
        self.send(Method::Post, "/user/tools", &owner, &[("content-type", "text/plain")], Some(b"x"));
        let long = format!("{{\"name\":\"{}\"}}", "x".repeat(1 << 20));
        self.send(Method::Post, "/user/tools", &owner, &json_type, Some(long.as_bytes()));
        let keyed = [("content-type", "application/json"), ("idempotency-key", "once")];
        let body = tool("said_once").to_string();
        self.send(Method::Post, "/user/tools", &owner, &keyed, Some(body.as_bytes()));
        self.send(Method::Post, "/user/tools", &owner, &keyed, Some(body.as_bytes()));
        self.send(Method::Post, "/user/tools", &owner, &keyed, Some(b"{}"));
        self.wait(90_000);
        self.settle();
        self.send(Method::Post, "/user/tools", &owner, &keyed, Some(body.as_bytes()));
    }

    pub(super) fn accounts(&mut self) {
        self.look("/");
        self.look("/user/me");
        self.json(Method::Post, "/user/login/code", "", Some(&json!({ "code": "of nobody" })));
        self.ask(Method::Put, "/user/me", Some(&json!({ "name": "Owner", "timezone": "Europe/Bucharest" })));
        let wrong = json!({ "password": "a new password", "current_password": "not the one" });
        self.ask(Method::Put, "/user/me", Some(&wrong));
        let key = self.make("/user/api-keys", &json!({ "name": "Reader", "read_only": true }));
        self.look("/user/api-keys");
        self.ask(Method::Delete, &format!("/user/api-keys/{key}"), None);
        let new =
            json!({ "email": "three@example.com", "password": "a long password", "timezone": "Europe/Bucharest" });
        let made = self.operate(Method::Post, "/admin/accounts", Some(&new));
        let third = made["id"].as_u64().expect("an id");
        self.operate(Method::Post, "/admin/accounts", Some(&new));
        for (email, password) in
            [("three@example.com", "a long password"), ("three@example.com", "another"), ("nobody@example.com", "x")]
        {
            // No page of the service's own asks here: it is refused before the password is looked at.
            let body = json!({ "email": email, "password": password, "remember": true });
            self.json(Method::Post, "/user/login", "", Some(&body));
            let body = json!({ "email": email, "password": password });
            let session = self.json(Method::Post, "/user/login", "", Some(&body));
            if let Some(token) = session["token"].as_str().map(str::to_owned) {
                self.json(Method::Get, "/user/me", &token, None);
                self.json(Method::Post, "/user/logout", &token, None);
                self.json(Method::Get, "/user/me", &token, None);
            }
        }
        self.operate(Method::Get, "/admin/accounts?per_page=2", None);
        self.operate(Method::Get, &format!("/admin/accounts/{third}"), None);
        let plan = json!({ "name": "small", "assistants": 3, "tools": 2, "knowledgebases": 1, "campaigns": 1, "numbers": 1, "parallel_calls": 1 });
        self.operate(Method::Post, "/admin/plans", Some(&plan));
        self.operate(Method::Put, "/admin/plans/small", Some(&with(plan, &json!({ "tools": 5 }))));
        self.operate(Method::Get, "/admin/plans", None);
        let changed = json!({ "name": "Three", "timezone": "Asia/Kolkata", "plan": "small", "balance": 5.0 });
        self.operate(Method::Put, &format!("/admin/accounts/{third}"), Some(&changed));
        let key =
            self.operate(Method::Post, &format!("/admin/accounts/{third}/api-keys"), Some(&json!({ "name": "K" })));
        let id = key["api_key"]["id"].as_u64().or(key["id"].as_u64()).expect("an id");
        self.operate(Method::Get, &format!("/admin/accounts/{third}/api-keys"), None);
        self.operate(Method::Delete, &format!("/admin/accounts/{third}/api-keys/{id}"), None);
        let rotated = self.operate(Method::Post, "/admin/operator-token/rotate", None);
        rotated["token"].as_str().expect("a token").clone_into(&mut self.operator);
        let gone = self.operate(Method::Post, "/admin/accounts", Some(&json!({ "email": "gone@example.com" })));
        let gone = gone["id"].as_u64().expect("an id");
        self.operate(Method::Delete, &format!("/admin/accounts/{gone}"), None);
        self.operate(Method::Get, &format!("/admin/accounts/{gone}"), None);
        self.settle();
        self.operate(Method::Get, &format!("/admin/accounts/{gone}"), None);
        self.operate(Method::Get, "/admin/engine-tokens", None);
        let spare = self.operate(Method::Post, "/admin/engine-tokens", Some(&json!({ "name": "Spare" })));
        let spare = spare["id"].as_u64().expect("an id");
        self.operate(Method::Delete, &format!("/admin/engine-tokens/{spare}"), None);
        self.operate(Method::Get, "/admin/jobs?per_page=5", None);
        self.operate(Method::Get, "/admin/queues", None);
        self.operate(Method::Get, "/admin/settings", None);
        self.operate(Method::Post, "/admin/jobs/1/retry", None);
        self.operate(Method::Delete, "/admin/jobs/1", None);
    }

    pub(super) fn assistants(&mut self) {
        let owner = self.owner.clone();
        for what in [
            "models",
            "languages",
            "synthesizer-providers",
            "transcriber-providers",
            "voices?mode=pipeline&search=rachel",
            "voices?mode=none",
        ] {
            self.ask(Method::Get, &format!("/user/assistants/{what}"), None);
        }
        let first = self.make("/user/tools", &tool("look"));
        let second = self.make("/user/tools", &with(tool("fail"), &json!({ "endpoint": "https://tools.example/refuse", "headers": [{ "name": "x-key", "value": "secret" }] })));
        for id in [first, second] {
            self.ask(Method::Post, &format!("/user/tools/{id}/test"), Some(&json!({ "arguments": {} })));
        }
        self.look("/user/tools");
        self.look(&format!("/user/tools/{first}"));
        self.ask(Method::Put, &format!("/user/tools/{first}"), Some(&json!({ "description": "Finds it" })));
        self.ask(Method::Delete, &format!("/user/tools/{second}"), None);
        for name in ["Anna", "Bob", "Cleo", ""] {
            self.ask(
                Method::Post,
                "/user/assistant",
                Some(&with(assistant(), &json!({ "name": name, "tool_ids": [first] }))),
            );
        }
        self.ask(Method::Post, "/user/assistant", Some(&json!({ "mode": "multimodal", "voice_id": "x" })));
        for (path, list) in [("/user/folder", "/user/folders"), ("/user/label", "/user/labels")] {
            for name in ["First", "FIRST", "Second"] {
                self.ask(Method::Post, path, Some(&json!({ "name": name, "color": "teal" })));
            }
            let made = self.json(Method::Get, list, &owner, None);
            let ids: Vec<u64> = (0..2).filter_map(|at| made["data"][at]["id"].as_u64()).collect();
            self.ask(Method::Patch, &format!("{path}/{}", ids[0]), Some(&json!({ "name": "Third" })));
            self.ask(Method::Delete, &format!("{list}/{}", ids[1]), None);
        }
        self.look("/user/assistants?status=inactive&search=a&folder_id=0");
        self.look("/user/assistants/get?per_page=2&page=2");
        self.look("/user/assistants");
        self.look("/user/assistants/outbound");
        let list = self.json(Method::Get, "/user/assistants", &owner, None);
        let ids: Vec<u64> = list.as_array().expect("a list").iter().filter_map(|one| one["id"].as_u64()).collect();
        let id = ids[0];
        self.look(&format!("/user/assistant/{id}"));
        self.ask(
            Method::Patch,
            &format!("/user/assistant/{id}"),
            Some(&json!({ "status": "active", "system_prompt": "Speak to {{customer_name}}." })),
        );
        let (copy, texts) = (json!({ "name": "Copy" }), json!({ "variables": { "customer_name": "Ana" } }));
        self.ask(Method::Post, &format!("/user/assistant/{id}/duplicate"), Some(&copy));
        self.ask(Method::Post, &format!("/user/assistant/{id}/preview"), Some(&texts));
        let hook = json!({ "assistant_id": id, "webhook_url": "https://hooks.example/in" });
        for what in
            ["enable-inbound-webhook", "disable-inbound-webhook", "enable-webhook", "disable-webhook", "enable-webhook"]
        {
            self.ask(Method::Post, &format!("/user/assistants/{what}"), Some(&hook));
        }
        for (method, what) in [
            (Method::Post, "/user/assistant/{id}/enable-inbound-webhook"),
            (Method::Post, "/user/assistant/{id}/disable-inbound-webhook"),
            (Method::Delete, "/user/assistants/{id}/inbound-webhook"),
            (Method::Post, "/user/assistant/{id}/disable-webhook"),
            (Method::Delete, "/user/assistants/{id}/webhook"),
            (Method::Post, "/user/assistant/{id}/enable-webhook"),
        ] {
            let body = (method == Method::Post).then_some(&hook);
            self.ask(method, &what.replace("{id}", &id.to_string()), body);
        }
        self.ask(Method::Get, "/user/assistants/phone-numbers", None);
        self.ask(Method::Delete, &format!("/user/assistant/{}", ids[2]), None);
        self.settle();
    }

    pub(super) fn numbers(&mut self) {
        let owner = self.owner.clone();
        let found = self.ask(Method::Get, "/user/phone-numbers/search?country_code=US&contains=212", None);
        let number = found["data"][0]["phone_number"].as_str().expect("an offer").to_owned();
        let bought = self.ask(Method::Post, "/user/phone-numbers/purchase", Some(&json!({ "phone_number": number })));
        let id = bought["data"]["id"].as_u64().unwrap_or_else(|| panic!("{bought}"));
        self.look("/user/phone-numbers/all");
        self.look("/user/phone-numbers");
        self.ask(Method::Put, &format!("/user/phone-numbers/{id}"), Some(&json!({ "label": "Main", "name": "Main" })));
        self.ask(
            Method::Post,
            "/user/sms",
            Some(&json!({ "from": id, "to": "+40700000001", "body": "Hello {name}", "variables": { "name": "Ana" } })),
        );
        let shown = self.make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000009" }));
        self.operate(Method::Put, &format!("/admin/accounts/1/caller-ids/{shown}"), Some(&json!({ "verified": true })));
        let trunk_id = self.make("/user/phone-numbers/sip-trunks", &trunk("+40700000010"));
        self.look("/user/phone-numbers/sip-trunks");
        self.look(&format!("/user/phone-numbers/sip-trunks/{trunk_id}"));
        self.ask(
            Method::Put,
            &format!("/user/phone-numbers/sip-trunks/{trunk_id}"),
            Some(&json!({ "sip_address": "other.example" })),
        );
        self.json(Method::Get, "/user/assistants/phone-numbers?type=outbound", &owner, None);
        self.settle();
    }

    pub(super) fn knowledge(&mut self) {
        let owner = self.owner.clone();
        let base = self.make("/user/knowledgebases", &json!({ "name": "Hours", "description": "When" }));
        let documents = format!("/user/knowledgebases/{base}/documents");
        let multipart = [("content-type", "multipart/form-data; boundary=edge")];
        for (kind, name) in [("txt", "hours.txt"), ("pdf", "bad.pdf"), ("docx", "hours.docx"), ("none", "x")] {
            let body = form(kind, name, "We open at nine. We close at five.");
            self.send(Method::Post, &documents, &owner, &multipart, Some(&body));
        }
        self.send(Method::Post, &documents, &owner, &multipart, Some(b"--edge\r\nbroken"));
        let site =
            json!({ "name": "Site", "type": "website", "url": "https://site.example/", "relative_links_limit": 2 });
        self.ask(Method::Post, &documents, Some(&site));
        self.ask(Method::Get, &documents, None);
        self.settle();
        self.look(&documents);
        let list = self.json(Method::Get, &documents, &owner, None);
        let first = list["data"][0]["id"].as_u64().expect("an id");
        self.look(&format!("{documents}/{first}"));
        self.ask(Method::Put, &format!("{documents}/{first}"), Some(&json!({ "name": "Opening" })));
        for query in ["when do you open?", "", "zzz"] {
            self.ask(
                Method::Post,
                &format!("/user/knowledgebases/{base}/search"),
                Some(&json!({ "query": query, "limit": 3 })),
            );
        }
        self.look("/user/knowledgebases");
        self.look(&format!("/user/knowledgebases/{base}"));
        self.ask(Method::Put, &format!("/user/knowledgebases/{base}"), Some(&json!({ "name": "Opening hours" })));
        let assistants = self.json(Method::Get, "/user/assistants", &owner, None);
        let id = assistants[0]["id"].as_u64().expect("an id");
        self.ask(Method::Put, &format!("/user/assistant/{id}"), Some(&json!({ "knowledgebase_id": base })));
        self.ask(Method::Delete, &format!("{documents}/{first}"), None);
        self.settle();
    }

    pub(super) fn calls(&mut self) {
        let assistants = {
            let owner = self.owner.clone();
            self.json(Method::Get, "/user/assistants", &owner, None)
        };
        let assistant = assistants[0]["id"].as_u64().expect("an id");
        let call = |number: &str| json!({ "phone_number": number, "assistant_id": assistant, "variables": { "customer_name": "Ana" } });
        let claim = json!({ "engine": "proof", "capacity": 10 });
        self.engine("/engine/claim", &claim);
        for number in ["+40700000001", "+40700000002", "+40700000003", "+40700000004"] {
            self.ask(Method::Post, "/user/make_call", Some(&call(number)));
        }
        let claimed = self.engine("/engine/claim", &claim);
        let ids: Vec<u64> =
            claimed["calls"].as_array().expect("calls").iter().filter_map(|held| held["call"]["id"].as_u64()).collect();
        assert!(ids.len() >= 3, "{claimed}");
        self.talk(ids[0]);
        self.say(
            ids[1],
            1,
            &[json!({ "type": "ringing" }), json!({ "type": "ended", "reason": "busy", "by": "customer" })],
        );
        self.ask(Method::Post, &format!("/user/calls/{}/hangup", ids[2]), None);
        self.say(ids[2], 1, &[json!({ "type": "ringing" }), json!({ "type": "answered" })]);
        // The rest is never reported: leases lapse.
        self.wait(120);
        self.settle();
        let arrival = json!({ "type": "web", "assistant_id": assistant, "mode": "pipeline" });
        self.engine("/engine/calls", &arrival);
        self.engine("/engine/calls", &json!({ "type": "inbound", "from": "+40700000001", "to": "+12120000000" }));
        self.look("/user/calls?per_page=3");
        self.look("/user/calls?status=completed&per_page=1&page=1");
        self.look(&format!("/user/calls/{}", ids[0]));
        self.look(&format!("/user/calls/{}/events?after=2", ids[0]));
        self.wait(700);
        self.settle();
        self.ask(Method::Delete, &format!("/user/calls/{}", ids[1]), None);
        self.settle();
    }

    pub(super) fn say(&mut self, call: u64, seq: u64, events: &[Value]) {
        let numbered: Vec<Value> =
            events.iter().zip(seq..).map(|(event, seq)| with(event.clone(), &json!({ "seq": seq }))).collect();
        self.engine(&format!("/engine/calls/{call}/events"), &json!({ "events": numbered }));
    }

    fn talk(&mut self, call: u64) {
        self.say(call, 1, &[json!({ "type": "ringing" })]);
        self.wait(3);
        self.say(
            call,
            2,
            &[json!({ "type": "answered", "answered_by": "human" }), said("bot", "Hello"), said("human", "Hi")],
        );
        self.engine(&format!("/engine/calls/{call}/tools/look"), &json!({ "arguments": {} }));
        self.engine(&format!("/engine/calls/{call}/tools/none"), &json!({ "arguments": {} }));
        self.engine(&format!("/engine/calls/{call}/knowledge"), &json!({ "query": "when do you open?" }));
        self.recording(call);
        self.say(call, 9, &[json!({ "type": "dtmf", "digits": "1" })]);
        self.wait(20);
        let cost = json!({ "type": "cost", "carrier_cost": 0.01, "total_cost": 0.05 });
        self.say(call, 5, &[json!({ "type": "ended", "by": "customer" }), cost]);
        self.settle();
    }

    /// None of these hosts keeps recordings: each says so in the same words.
    fn recording(&mut self, call: u64) {
        let (engine, owner) = (self.engine.clone(), self.owner.clone());
        let assistant = self.json(Method::Get, &format!("/user/calls/{call}"), &owner, None)["assistant_id"].clone();
        let target = format!("/engine/calls/{call}/recording");
        for records in [false, true] {
            self.ask(Method::Put, &format!("/user/assistant/{assistant}"), Some(&json!({ "record": records })));
            for media in ["audio/ogg", "text/csv"] {
                self.send(Method::Put, &target, &engine, &[("content-type", media)], Some(b"OggS"));
            }
        }
        self.send(Method::Put, &target, &engine, &[], None);
        self.ask(Method::Delete, &format!("/user/calls/{call}/recording"), None);
        self.json(Method::Get, &format!("/recordings/{call}/2026-09-22/unsigned"), "", None);
    }

    pub(super) fn campaigns(&mut self) {
        let owner = self.owner.clone();
        let assistants = self.json(Method::Get, "/user/assistants", &owner, None);
        let assistant = assistants[0]["id"].as_u64().expect("an id");
        let id = self.make("/user/campaigns", &with(campaign(assistant), &json!({ "max_calls_in_parallel": 2 })));
        self.look("/user/campaigns");
        self.look("/user/overview");
        self.look(&format!("/user/campaigns/{id}"));
        self.look(&format!("/user/campaigns/{id}/progress"));
        self.ask(Method::Put, &format!("/user/campaigns/{id}"), Some(&json!({ "name": "Autumn" })));
        let mut leads = Vec::new();
        for last in 1..6 {
            leads.push(self.make("/user/leads", &lead(id, &format!("+4070000010{last}"))));
        }
        let file = b"phone_number,customer_name\n+40700000201,Ana\nbad,Bob\n+40700000201,Ana\n";
        let started = self.send(Method::Post, &format!("/user/leads/import?campaign_id={id}"), &owner, CSV, Some(file));
        let import = started["data"]["id"].as_u64().unwrap_or_else(|| panic!("{started}"));
        let blocked = self.make("/user/do-not-call", &json!({ "phone_number": "+40700000105" }));
        let started =
            self.send(Method::Post, "/user/do-not-call/import", &owner, CSV, Some(b"phone_number\n+40700000104\n"));
        let numbers = started["data"]["id"].as_u64().unwrap_or_else(|| panic!("{started}"));
        // A file that needs more than one turn, nearly all of it one overlong record.
        let large = format!("phone_number,note\n+1,\"{}\"\n", "line\n".repeat(220_000));
        let target = "/user/do-not-call/import";
        let started = self.send(Method::Post, target, &owner, CSV, Some(large.as_bytes()));
        let large = started["data"]["id"].as_u64().unwrap_or_else(|| panic!("{started}"));
        let form = b"--edge\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n\
            phone_number\n0700 000 106\n\r\n--edge--\r\n";
        let multipart = [("content-type", "multipart/form-data; boundary=edge")];
        self.send(Method::Post, &format!("{target}?default_country=RO"), &owner, &multipart, Some(form));
        self.settle();
        self.look(&format!("/user/do-not-call/imports/{large}"));
        self.look(&format!("/user/leads/imports/{import}"));
        self.look(&format!("/user/do-not-call/imports/{numbers}"));
        self.look("/user/do-not-call");
        self.look("/user/leads?per_page=2&page=2");
        self.look("/user/leads?phone_number=0010&status=created");
        self.look(&format!("/user/leads/{}", leads[0]));
        self.ask(
            Method::Put,
            &format!("/user/leads/{}", leads[0]),
            Some(&json!({ "phone_number": "+40700000101", "variables": { "customer_name": "Zoe" } })),
        );
        self.ask(Method::Get, &format!("/user/leads/{}/explain", leads[1]), None);
        for action in ["start", "start", "none"] {
            self.ask(
                Method::Post,
                "/user/campaigns/update-status",
                Some(&json!({ "campaign_id": id, "action": action })),
            );
        }
        self.settle();
        let claimed = self.engine("/engine/claim", &json!({ "engine": "proof", "capacity": 5 }));
        let ids: Vec<u64> =
            claimed["calls"].as_array().expect("calls").iter().filter_map(|held| held["call"]["id"].as_u64()).collect();
        for call in ids {
            self.talk(call);
        }
        self.wait(3_600);
        self.settle();
        self.ask(Method::Delete, &format!("/user/do-not-call/{blocked}"), None);
        self.ask(Method::Delete, &format!("/user/leads/{}", leads[4]), None);
        let paused = json!({ "status": "paused" });
        self.ask(Method::Patch, &format!("/user/campaigns/{id}/status"), Some(&paused));
        self.ask(Method::Post, "/user/campaigns/update-status", Some(&json!({ "campaign_id": id, "action": "stop" })));
        self.look("/user/leads");
        self.sheets("/user/leads");
        self.sheets("/user/calls");
        self.ask(Method::Delete, &format!("/user/campaigns/{id}"), None);
        self.settle();
    }

    pub(super) fn webhooks(&mut self) {
        let owner = self.owner.clone();
        self.look("/user/webhook-deliveries?per_page=5");
        self.sheets("/user/webhook-deliveries");
        let list = self.json(Method::Get, "/user/webhook-deliveries", &owner, None);
        let id = list["data"][0]["id"].as_u64().expect("a delivery");
        self.ask(Method::Post, &format!("/user/webhook-deliveries/{id}/resend"), None);
        self.look("/user/whatsapp/senders");
        self.ask(Method::Get, "/user/webhook-secrets", None);
        self.ask(Method::Post, "/user/webhook-secrets/rotate", None);
        self.settle();
        self.ask(Method::Get, "/user/events?after=0", None);
    }

    pub(super) fn farewell(&mut self) {
        let owner = self.owner.clone();
        let numbers = self.json(Method::Get, "/user/phone-numbers/all", &owner, None);
        for number in numbers["data"].as_array().expect("a list") {
            self.ask(Method::Get, &format!("/user/phone-numbers/{}", number["id"]), None);
            self.ask(Method::Delete, &format!("/user/phone-numbers/{}", number["id"]), None);
        }
        let bases = self.json(Method::Get, "/user/knowledgebases", &owner, None);
        for base in bases["data"].as_array().expect("a list") {
            self.ask(Method::Delete, &format!("/user/knowledgebases/{}", base["id"]), None);
        }
        self.settle();
        // After a month, everything kept for a limited time is gone.
        self.wait(31 * 86_400);
        self.settle();
        self.ask(Method::Get, "/user/events?after=0", None);
        self.look("/user/me");
        self.look("/user/overview");
    }
}
