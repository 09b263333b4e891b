//! Conversations by text: with a stranger on a page, as a test, and with customers of a program.

use serde_json::json;
use switchboard_core::http::request::Method;

use super::Recorder;

/// The page that embeds the assistant.
const PAGE: (&str, &str) = ("origin", "https://shop.example");

impl Recorder {
    pub(super) fn conversations(&mut self) {
        let owner = self.owner.clone();
        self.operate(
            Method::Put,
            "/admin/prices",
            Some(&json!({ "items": [{ "unit": "chat_message", "price": 0.02 }] })),
        );
        self.operate(
            Method::Put,
            "/admin/prices",
            Some(&json!({ "items": [{ "unit": "chat_message", "price": -1 }] })),
        );
        self.operate(Method::Get, "/admin/prices", None);
        let assistants = self.json(Method::Get, "/user/assistants", &owner, None);
        let id = assistants[0]["id"].as_u64().expect("an id");
        let uuid = assistants[0]["uuid"].as_str().expect("a UUID").to_owned();
        let tools = self.json(Method::Get, "/user/tools", &owner, None);
        let widget = json!({ "enabled": true, "allowed_origins": [PAGE.1], "tool_ids": [tools[0]["id"]] });
        let schema = json!([{ "name": "when", "type": "string", "description": "When they come" }]);
        let changes = json!({ "status": "active", "widget_settings": widget, "post_call_schema": schema });
        self.ask(Method::Patch, &format!("/user/assistant/{id}"), Some(&changes));
        let hook = json!({ "assistant_id": id, "webhook_url": "https://hooks.example/talks" });
        for what in ["enable", "disable", "enable"] {
            self.ask(Method::Post, &format!("/user/assistants/{what}-conversation-ended-webhook"), Some(&hook));
        }
        let named = format!("/user/assistants/{id}/conversation-ended-webhook");
        self.ask(Method::Delete, &named, None);
        self.ask(Method::Post, &named, Some(&hook));
        self.visit(&uuid);
        let test = json!({ "assistant_id": id, "type": "test", "variables": { "customer_name": "Ana" } });
        let begun = self.ask(Method::Post, "/conversations", Some(&test));
        let talk = begun["conversation_id"].as_str().expect("a UUID").to_owned();
        for message in ["When do you open?", "When do you open?", ""] {
            self.ask(Method::Post, &format!("/conversations/{talk}/messages"), Some(&json!({ "message": message })));
        }
        self.ask(Method::Get, &format!("/conversations/{talk}"), None);
        self.replies(id);
        for list in ["type=test", "assistant_id=1&per_page=1", "cursor=", "cursor=&per_page=1", "cursor=x", "type=none"]
        {
            self.ask(Method::Get, &format!("/user/conversations?{list}"), None);
        }
        self.look(&format!("/user/conversations/{talk}"));
        // Nobody says anything: all of them end, are analysed and reported.
        self.wait(3_600);
        self.settle();
        self.look(&format!("/user/conversations/{talk}"));
        self.ask(Method::Get, "/user/events?after=0", None);
        self.ask(Method::Delete, &format!("/user/conversations/{talk}"), None);
        self.settle();
        self.ask(Method::Get, "/user/events?after=0", None);
        self.look("/user/conversations");
    }

    /// A stranger talks to the assistant on a page.
    fn visit(&mut self, assistant: &str) {
        let kind = ("content-type", "application/json");
        let body = json!({ "assistant_id": assistant, "variables": { "customer_name": "ignored" } }).to_string();
        for origin in [PAGE, ("origin", "https://other.example")] {
            self.send(
                Method::Options,
                "/conversations",
                "",
                &[origin, ("access-control-request-method", "POST")],
                None,
            );
            self.send(Method::Post, "/conversations", "", &[kind, origin], Some(body.as_bytes()));
        }
        for (target, origin) in [("/widgets/", PAGE), ("/api/widgets/", ("origin", "https://other.example"))] {
            self.send(Method::Get, &format!("{target}{assistant}"), "", &[origin], None);
            self.send(Method::Post, &format!("{target}{assistant}/web_calls"), "", &[origin], None);
        }
        let begun = self.send(Method::Post, "/conversations", "", &[kind], Some(body.as_bytes()));
        let talk = begun["conversation_id"].as_str().unwrap_or_else(|| panic!("{begun}")).to_owned();
        let target = format!("/conversations/{talk}/messages");
        let message = json!({ "message": "When do you open?" }).to_string();
        self.send(Method::Post, &target, "", &[kind, PAGE, ("idempotency-key", "once")], Some(message.as_bytes()));
        self.send(Method::Post, &target, "", &[kind, PAGE, ("idempotency-key", "once")], Some(message.as_bytes()));
        self.send(Method::Get, &format!("/conversations/{talk}"), "", &[PAGE], None);
        self.look(&format!("/conversations/{talk}"));
        // The address begins more than it may.
        for _ in 0..10 {
            self.send(Method::Post, "/conversations", "", &[kind], Some(body.as_bytes()));
        }
        self.wait(86_401);
        self.send(Method::Get, &format!("/conversations/{talk}"), "", &[], None);
        self.settle();
    }

    /// A program has replies generated for its customers, and a person takes over.
    fn replies(&mut self, assistant: u64) {
        let body = |message: &str| json!({ "assistant_id": assistant, "customer_identifier": "+40700000001", "message": message });
        let said = self.ask(Method::Post, "/user/ai/generate-reply", Some(&body("Can I come?")));
        let talk = said["conversation_id"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned();
        self.ask(Method::Post, "/ai-replies/generate", Some(&body("At ten?")));
        self.ask(Method::Post, &format!("/automate/conversations/{talk}/disable-ai"), None);
        self.ask(Method::Post, "/ai/generate-reply", Some(&body("Is anybody there?")));
        self.ask(Method::Post, &format!("/automate/conversations/{talk}/enable-ai"), None);
        self.ask(Method::Post, "/api/ai/generate-reply", Some(&json!({ "assistant_id": "x" })));
        self.ask(Method::Get, &format!("/user/conversations/{talk}"), None);
    }
}
