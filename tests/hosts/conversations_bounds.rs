//! What strangers may use of an assistant, over hosts that are killed: whoever reached a limit stays there until its
//! time.

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};

use crate::conversations::Owner;
use crate::server::{Folder, Server, send};

/// Seconds since the Unix epoch, in a morning of the future.
const MORNING: u64 = 4_000_000_000;
const DAY: u64 = 86_400;
/// Seconds until the next day.
const REST: u64 = DAY - MORNING % DAY;

/// Starts a server whose clock stands still: a pace that begins in the future has not begun.
fn start_at(folder: &Folder, second: u64) -> Server {
    let pace = format!("1@{second}");
    let proxy = ["--trust-proxy", "127.0.0.0/8", "--pace", &pace];
    Server::start(&folder.path("data"), &[&["--rate-limit", "0", "--engine", "none"], &proxy[..]].concat())
}

/// An assistant that strangers may talk to, with its owner.
struct Widget {
    folder: Folder,
    server: Server,
    owner: Owner,
    id: Value,
    uuid: Value,
}

impl Widget {
    fn open(settings: &Value) -> Self {
        let folder = Folder::new();
        let server = start_at(&folder, MORNING);
        let owner = Owner::of(&server);
        let widget = json!({ "widget_settings": with(json!({ "enabled": true }), settings) });
        let id = owner.make("/user/assistant", &with(assistant(), &widget))["data"]["id"].clone();
        let path = format!("/user/assistant/{id}");
        let (status, ..) = send("PUT", &format!("{}{path}", owner.url), &owner.key, &[], r#"{"status":"active"}"#);
        assert_eq!(status, 200);
        let uuid = owner.read(&path)["uuid"].clone();
        Self { folder, server, owner, id, uuid }
    }

    /// Kills the server and starts another one, at a second of the morning.
    fn killed(self, second: u64) -> Self {
        let Self { folder, server, mut owner, id, uuid } = self;
        server.kill();
        let server = start_at(&folder, MORNING + second);
        server.text("url").clone_into(&mut owner.url);
        Self { folder, server, owner, id, uuid }
    }

    fn post(&self, path: &str, token: &str, address: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", self.owner.url);
        let (status, _, bytes) = send("POST", &url, token, &[("x-forwarded-for", address)], body.to_string());
        (status, serde_json::from_slice(&bytes).expect("JSON"))
    }

    /// Has a stranger at an address begin a conversation.
    fn visit(&self, address: &str) -> (u16, Value) {
        self.post("/conversations", "", address, &json!({ "assistant_id": self.uuid }))
    }

    /// Begins a conversation as a stranger at an address; returns its path.
    fn begun(&self, address: &str) -> String {
        let (status, begun) = self.visit(address);
        assert_eq!(status, 200, "{begun}");
        format!("/conversations/{}", begun["conversation_id"].as_str().expect("a UUID"))
    }

    fn say(&self, talk: &str) -> (u16, Value) {
        self.post(&format!("{talk}/messages"), "", "198.51.100.1", &json!({ "message": "Hi" }))
    }
}

/// Checks that a stranger was told to come back in so many seconds.
#[track_caller]
fn refused((status, said): (u16, Value), seconds: u64) {
    assert_eq!((status, &said["status"], &said["retry_after"]), (429, &json!(false), &json!(seconds)), "{said}");
}

#[test]
fn an_address_that_began_enough_begins_no_more_after_a_kill() {
    let mut widget = Widget::open(&json!({}));
    for minute in 0..6 {
        widget = widget.killed(60 * minute);
        (0..10).for_each(|_| drop(widget.begun("198.51.100.1")));
        widget = widget.killed(60 * minute);
        refused(widget.visit("198.51.100.1"), if minute < 5 { 6 } else { REST - 300 });
    }
    widget = widget.killed(360);
    refused(widget.visit("198.51.100.1"), REST - 360);
    widget.begun("198.51.100.2");
    widget.killed(REST).begun("198.51.100.1");
}

#[test]
fn an_account_that_began_enough_begins_no_more_after_a_kill() {
    let mut widget = Widget::open(&json!({}));
    widget.owner.operate("/admin/plans/standard", &json!({ "conversations_daily": 3 }));
    (1..4).for_each(|host| drop(widget.begun(&format!("198.51.100.{host}"))));
    widget = widget.killed(0);
    refused(widget.visit("198.51.100.4"), REST);
    let own = json!({ "assistant_id": widget.id, "type": "test" });
    assert_eq!(widget.post("/conversations", &widget.owner.key, "198.51.100.4", &own).0, 403);
    widget.killed(REST).begun("198.51.100.4");
}

#[test]
fn a_conversation_that_had_enough_messages_takes_no_more_after_a_kill() {
    let mut widget = Widget::open(&json!({}));
    let talk = widget.begun("198.51.100.1");
    for _ in 0..20 {
        assert_eq!(widget.say(&talk).0, 200);
    }
    widget = widget.killed(0);
    refused(widget.say(&talk), 3);
    let (status, said) = widget.killed(3).say(&talk);
    assert_eq!(status, 200, "{said}");
}

#[test]
fn an_assistant_that_cost_enough_answers_no_stranger_after_a_kill() {
    let mut widget = Widget::open(&json!({ "daily_cost_max": 1.0 }));
    widget.owner.pays(0.5, 10.0);
    let talks = [1, 2, 3].map(|host| widget.begun(&format!("198.51.100.{host}")));
    for talk in &talks[..2] {
        assert_eq!(widget.say(talk).0, 200);
    }
    widget = widget.killed(0);
    refused(widget.say(&talks[0]), REST);
    refused(widget.say(&talks[2]), REST);
    assert_eq!(widget.owner.read("/user/me")["total_balance"], 9.0, "who was refused paid nothing");
    let own = json!({ "assistant_id": widget.id, "type": "test" });
    let begun = widget.owner.make("/conversations", &own)["conversation_id"].clone();
    let path = format!("/conversations/{}/messages", begun.as_str().expect("a UUID"));
    assert_eq!(widget.post(&path, &widget.owner.key, "198.51.100.1", &json!({ "message": "Hi" })).0, 200);
    widget = widget.killed(REST);
    let talk = widget.begun("198.51.100.1");
    assert_eq!(widget.say(&talk).0, 200);
}
