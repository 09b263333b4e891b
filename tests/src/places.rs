//! [`Places`]: one resource of each kind, so that every path of the route table can be requested.

use serde_json::{Value, json};
use switchboard_core::account::attached;
use switchboard_core::http::request::Method;
use switchboard_core::job::{Task, id_of};

use crate::house::{House, assistant, campaign, lead, tool, trunk, with};

/// Values for the `{…}` placeholders of paths.
#[derive(Clone, Debug)]
pub struct Places {
    /// Path prefix, placeholder and value; the first match wins.
    ids: Vec<(&'static str, &'static str, String)>,
    /// Engine token for this account alone; empty for [`Places::all`].
    pub engine: String,
}

impl Places {
    /// Creates one resource of each kind with an account's token.
    ///
    /// # Panics
    /// If one cannot be created.
    pub fn of(house: &mut House, token: &str) -> Self {
        let mut make = |path: &str, body: &Value| {
            let got = house.post(path, body).token(token).send();
            assert!(matches!(got.status, 200 | 201), "{path}: {}", got.json);
            got.json["call_id"].as_u64().unwrap_or_else(|| got.id())
        };
        let key = make("/user/api-keys", &json!({ "name": "Walk" }));
        let tool = make("/user/tools", &tool("look"));
        let folder = make("/user/folder", &json!({ "name": "Sales" }));
        let label = make("/user/label", &json!({ "name": "Trial" }));
        let told = json!({
            "is_webhook_active": true, "webhook_url": "https://a.example", "send_webhook_only_on_completed": false,
            "tool_ids": [tool],
            "folder_id": folder,
            "label_ids": [label],
        });
        let assistant = make("/user/assistant", &with(assistant(), &told));
        let number = make("/user/phone-numbers/caller-ids", &json!({ "phone_number": "+40700000001" }));
        let trunk_number = format!("+4070000{:04}", assistant >> 32);
        let trunk = make("/user/phone-numbers/sip-trunks", &trunk(&trunk_number));
        let base = make("/user/knowledgebases", &json!({ "name": "Hours" }));
        let site = json!({ "name": "Site", "type": "website", "url": "https://a.example" });
        let document = make(&format!("/user/knowledgebases/{base}/documents"), &site);
        let call = make("/user/make_call", &json!({ "phone_number": "+40700000002", "assistant_id": assistant }));
        let campaign = make("/user/campaigns", &campaign(assistant));
        let lead = make("/user/leads", &lead(campaign, "+40700000003"));
        let suppressed = make("/user/do-not-call", &json!({ "phone_number": "+40700000004" }));
        let over = make("/user/make_call", &json!({ "phone_number": "+40700000005", "assistant_id": assistant }));
        let mut import = |path: &str| {
            let file = house.call(Method::Post, path).header("content-type", "text/csv").token(token);
            file.body(b"phone_number\n+40700000006\n".to_vec()).send().expect(202).id()
        };
        let leads = import(&format!("/user/leads/import?campaign_id={campaign}"));
        let numbers = import("/user/do-not-call/import");
        house.post(&format!("/user/calls/{over}/hangup"), &json!({})).token(token).send().expect(200);
        let deliveries = house.call(Method::Get, "/user/webhook-deliveries").token(token).send().expect(200);
        let delivery = deliveries.json["data"][0]["id"].as_u64().expect("a delivery");
        let operator = house.operator.clone();
        let account = json!({ "name": "E", "account_ids": [(assistant >> 32) + 1] });
        let made = house.post("/admin/engine-tokens", &account).token(&operator).send().expect(201);
        let engine_token = made.json["token"].as_str().expect("a token").to_owned();
        let engine = made.id();
        let about = json!({ "engine": "E", "legs": ["web"], "web_url": "https://media.example" });
        house.post("/engine/heartbeat", &about).token(&engine_token).send().expect(200);
        let claim = json!({ "engine": "E", "protocol": 2 });
        let claimed = house.post("/engine/claim", &claim).token(&engine_token).send().expect(200);
        assert_eq!(claimed.json["calls"][0]["call"]["id"], call, "{}", claimed.json);
        let answered = json!({ "events": [{ "seq": 1, "type": "answered" }] });
        house.post(&format!("/engine/calls/{call}/events"), &answered).token(&engine_token).send().expect(200);
        let talk = json!({ "assistant_id": assistant, "type": "test" });
        let talk = house.post("/conversations", &talk).token(token).send().expect(200);
        let conversation = talk.json["conversation_id"].as_str().expect("a UUID").to_owned();
        let shown = house.call(Method::Get, &format!("/user/assistant/{assistant}")).token(token).send().expect(200);
        let uuid = shown.json["uuid"].as_str().expect("a UUID").to_owned();
        let ids = [
            ("/user/api-keys", "{id}", key),
            ("/user/assistant", "{id}", assistant),
            ("/user/folder", "{id}", folder),
            ("/user/label", "{id}", label),
            ("/user/tools", "{id}", tool),
            ("/user/mid-call-tools", "{id}", tool),
            ("/user/phone-numbers/sip-trunks", "{id}", trunk),
            ("/user/phone-numbers", "{id}", number),
            ("/user/knowledgebases", "{id}", base),
            ("/user/knowledgebases", "{document_id}", document),
            ("/user/calls", "{id}", call),
            ("/engine/calls", "{id}", call),
            // Of a check that was never asked for: a row of it lives for seconds.
            ("/engine/checks", "{id}", 1),
            ("/user/do-not-call/imports", "{id}", numbers),
            ("/user/do-not-call", "{id}", suppressed),
            ("/user/webhook-deliveries", "{id}", delivery),
            ("/user/campaign", "{id}", campaign),
            ("/user/leads/imports", "{id}", leads),
            ("/user/leads", "{id}", lead),
            ("/leads", "{id}", lead),
            ("/admin/accounts", "{id}", (key >> 32) + 1),
            ("/admin/accounts", "{key_id}", key),
            ("/admin/accounts", "{number_id}", number),
            ("/admin/engine-tokens", "{id}", engine),
            ("/admin/engines", "{id}", attached::id_of(u32::try_from(engine).expect("a small id"), "E")),
        ];
        let mut places: Vec<_> = ids.map(|(start, name, id)| (start, name, id.to_string())).into();
        places.push(("/admin/plans", "{name}", "standard".into()));
        // The node of a service that runs alone.
        places.push(("/admin/nodes", "{id}", "00000000-0000-0000-0000-000000000000".into()));
        // The call's time limit is a pending job.
        let [account, count] =
            [call >> 32, call & u64::from(u32::MAX)].map(|half| u32::try_from(half).expect("32 bits"));
        places.push(("/admin/jobs", "{id}", id_of(account, &Task::Watch(count).to_bytes()).to_string()));
        for start in ["/conversations", "/user/conversations", "/automate"] {
            places.push((start, "{uuid}", conversation.clone()));
        }
        places.push(("/widgets", "{uuid}", uuid));
        places.push(("/docs", "{file}", "index.html".into()));
        places.push(("/console", "{*path}", "calls/1".into()));
        places.push(("/engine/calls", "{name}", "look".into()));
        // A link that nobody signed.
        for (name, value) in [("{call}", &*call.to_string()), ("{day}", "2026-09-22"), ("{signature}", "unsigned")] {
            places.push(("/recordings", name, value.into()));
        }
        Self { ids: places, engine: engine_token }
    }

    /// Uses the same text for every id.
    pub fn all(text: &str) -> Self {
        let names = ["{id}", "{document_id}", "{uuid}", "{call}", "{day}", "{signature}"];
        Self { ids: names.map(|name| ("/", name, text.to_owned())).into(), engine: String::new() }
    }

    /// Returns the path of a route's pattern, placeholders replaced.
    ///
    /// # Panics
    /// If a placeholder has no value.
    pub fn path(&self, pattern: &str) -> String {
        let fits = self.ids.iter().filter(|(start, ..)| pattern.starts_with(start));
        let path = fits.fold(pattern.to_owned(), |path, (_, name, value)| path.replace(name, value));
        assert!(!path.contains('{'), "nothing stands for a part of {path}");
        path
    }

    /// Returns the id listed first under exactly this path prefix.
    ///
    /// # Panics
    /// If there is none.
    pub fn id(&self, start: &str) -> u64 {
        let (.., id) = self.ids.iter().find(|place| place.0 == start).expect("a place");
        id.parse().expect("an id")
    }

    /// Returns the first value of a placeholder, whatever its path.
    ///
    /// # Panics
    /// If there is none.
    pub fn value(&self, placeholder: &str) -> &str {
        &self.ids.iter().find(|place| place.1 == placeholder).expect("a place").2
    }
}
