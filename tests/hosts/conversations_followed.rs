//! A turn of a conversation that its caller follows, frame by frame, over the built binary.

use std::io::Write;
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, tool, with};

use crate::conversations::{Owner, start};
use crate::outside::{read, serve};
use crate::server::{Folder, call, send};

/// What a model says, in pieces.
const WORDS: [&str; 3] = ["We open ", "at ", "nine."];
/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_mins(1);

/// A turn that is followed; whoever drops it breaks off.
pub struct Turn {
    // It holds the connection, and is dropped after the reply that comes from there.
    reply: reqwest::Response,
    runtime: tokio::runtime::Runtime,
    heard: Vec<u8>,
}

impl Turn {
    /// Says something in a conversation, and follows the answer; the reply must be a stream.
    pub fn say(owner: &Owner, talk: &str, message: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let reply = runtime.block_on(async {
            let client = switchboard::send::client().expect("TLS").timeout(PATIENCE).build().expect("a client");
            let request = client.post(format!("{}{talk}/messages", owner.url)).bearer_auth(&owner.key);
            let request = request.header("accept", "text/event-stream").header("content-type", "application/json");
            request.body(json!({ "message": message }).to_string()).send().await.expect("an answer")
        });
        assert_eq!(reply.headers()["content-type"], "text/event-stream", "{}", reply.status());
        Self { reply, runtime, heard: Vec::new() }
    }

    /// Waits for the next frame; `None` once the stream ends.
    pub fn frame(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(end) = self.heard.windows(2).position(|pair| pair == b"\n\n") {
                let frame = String::from_utf8(self.heard.drain(..end + 2).collect()).expect("text");
                let (event, data) = frame.trim_end().split_once('\n').unwrap_or_else(|| panic!("{frame}"));
                let [event, data] = [(event, "event: "), (data, "data: ")]
                    .map(|(line, name)| line.strip_prefix(name).unwrap_or_else(|| panic!("{frame}")));
                return Some((event.to_owned(), serde_json::from_str(data).expect("JSON")));
            }
            let chunk = self.runtime.block_on(self.reply.chunk()).expect("a whole stream")?;
            self.heard.extend_from_slice(&chunk);
        }
    }

    /// Waits for all frames: the text of the deltas together, and the last frame.
    pub fn whole(mut self) -> (String, (String, Value)) {
        let (mut text, mut last) = (String::new(), None);
        while let Some((event, data)) = self.frame() {
            if event == "delta" {
                text.push_str(data["text"].as_str().expect("text"));
            }
            last = Some((event, data));
        }
        (text, last.expect("a frame"))
    }
}

/// Returns an event of a streamed answer.
fn event(delta: &Value) -> String {
    format!("data: {}\n\n", json!({ "choices": [{ "index": 0, "delta": delta }] }))
}

/// Serves a model that sends the first of [`WORDS`], and each other one once it is told to; counts its questions.
fn held(count: &'static AtomicUsize) -> (String, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (go, told) = mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            if read(&stream).is_none() {
                continue;
            }
            count.fetch_add(1, Ordering::SeqCst);
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            // The service may have gone away.
            let _ = stream.write_all([head, &event(&json!({ "content": WORDS[0] }))].concat().as_bytes());
            for word in &WORDS[1..] {
                told.recv().expect("a test that goes on");
                let _ = stream.write_all(event(&json!({ "content": word })).as_bytes());
            }
            let _ = stream.write_all(b"data: [DONE]\n\n");
        }
    });
    (url, go)
}

/// Asks until it is so.
#[track_caller]
fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}");
}

#[test]
fn breaking_off_does_not_stop_a_turn() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let (folder, (model, go)) = (Folder::new(), held(&ASKED));
    let server = start(&folder, &model);
    let owner = Owner::of(&server);
    owner.pays(0.25, 1.0);
    let talk = owner.begin(&assistant());
    let mut turn = Turn::say(&owner, &talk, "When do you open?");
    assert_eq!(turn.frame(), Some(("delta".to_owned(), json!({ "text": WORDS[0] }))));
    drop(turn);
    go.send(()).expect("a model that waits");
    // It writes to nobody; then the connection that asks for the metrics is the only one that is left.
    wait("the service sees that its caller is gone", || {
        owner.look("/metrics").lines().any(|line| line == "switchboard_connections 1")
    });
    assert_eq!(owner.told(&talk), (["Hello", "When do you open?"].map(str::to_owned).to_vec(), json!(0.0), json!(1.0)));
    let again = json!({ "message": "When do you open?" });
    let url = format!("{}{talk}/messages", owner.url);
    assert_eq!(call("POST", &url, &owner.key, Some(&again)).0, 409, "the turn goes on");
    go.send(()).expect("a model that waits");
    wait("the answer is kept", || owner.told(&talk).0.len() == 3);
    let whole =
        (["Hello", "When do you open?", "We open at nine."].map(str::to_owned).to_vec(), json!(0.25), json!(0.75));
    assert_eq!(owner.told(&talk), whole);
    assert_eq!(ASKED.load(Ordering::SeqCst), 1);
    server.kill();
    let server = start(&folder, &model);
    let owner = Owner { url: server.text("url").to_owned(), ..owner };
    assert_eq!(owner.told(&talk), whole, "it was committed");
}

#[test]
fn an_error_of_the_model_is_no_part_of_an_answer() {
    let answer = [&event(&json!({ "content": WORDS[0] })), "data: [DONE]\n\n"].concat();
    let model = serve(move |_| (500, vec![("content-type", "text/event-stream".to_owned())], answer.clone().into()));
    let folder = Folder::new();
    let server = start(&folder, &format!("{model}/v1"));
    let owner = Owner::of(&server);
    let talk = owner.begin(&assistant());
    let says = "The model answered with status 500.";
    let error = json!({ "status": false, "error": says, "message": says });
    assert_eq!(Turn::say(&owner, &talk, "Hi").whole(), (String::new(), ("error".to_owned(), error)));
}

/// Serves a model that calls two functions beside a word, and answers once it has both results; its answers are
/// streamed or not.
fn calling(is_streamed: bool) -> String {
    serve(move |came| {
        let asked: Value = serde_json::from_slice(&came.body).expect("JSON");
        let results =
            asked["messages"].as_array().expect("a list").iter().filter(|said| said["role"] == "tool").count();
        let call = |at: usize, name: &str, arguments: &str| json!({ "index": at, "id": format!("c{at}"), "function": { "name": name, "arguments": arguments } });
        let said = match results {
            0 => {
                json!({ "content": "Let me look.", "tool_calls": [call(0, "look", r#"{"city":"Iasi"}"#), call(1, "book", "{}")] })
            }
            _ => json!({ "content": "Sunny, and booked." }),
        };
        if is_streamed {
            let body = [&event(&said), "data: [DONE]\n\n"].concat();
            return (200, vec![("content-type", "text/event-stream".to_owned())], body.into_bytes());
        }
        (200, vec![], json!({ "choices": [{ "message": said }] }).to_string().into_bytes())
    })
}

/// Serves tools that say which of them was asked, and answer once they are told to.
fn tools() -> (String, Receiver<String>, Sender<&'static str>) {
    let (came, asked) = mpsc::channel();
    let (answer, told) = mpsc::channel();
    let ends = Mutex::new((came, told));
    let url = serve(move |request| {
        let ends = ends.lock().expect("no panic");
        ends.0.send(request.target).expect("a test that listens");
        let answer: &str = ends.1.recv().expect("a test that answers");
        (200, vec![], answer.as_bytes().to_vec())
    });
    (url, asked, answer)
}

#[test]
fn tools_are_told_of_as_they_run() {
    for is_streamed in [true, false] {
        let (folder, (url, asked, answer)) = (Folder::new(), tools());
        let server = start(&folder, &format!("{}/v1", calling(is_streamed)));
        let owner = Owner::of(&server);
        let city = json!([{ "name": "city", "type": "string", "description": "Where" }]);
        let ids = [("look", city), ("book", json!([]))].map(|(name, schema)| {
            let own = json!({ "endpoint": format!("{url}/{name}"), "schema": schema });
            owner.make("/user/tools", &with(tool(name), &own))["data"]["id"].clone()
        });
        let talk = owner.begin(&with(assistant(), &json!({ "tool_ids": ids })));
        let mut turn = Turn::say(&owner, &talk, "What is the weather?");
        let mut next = |event: &str, data: Value| assert_eq!(turn.frame(), Some((event.to_owned(), data)));
        next("delta", json!({ "text": "Let me look." }));
        for (name, target, says) in [("look", "/look?city=Iasi", "sun"), ("book", "/book", "done")] {
            // What runs is told while it runs.
            next("tool", json!({ "name": name, "status": "running" }));
            assert_eq!(asked.recv_timeout(PATIENCE).as_deref(), Ok(target));
            answer.send(says).expect("a tool that waits");
            next("tool", json!({ "name": name, "status": "done" }));
        }
        next("delta", json!({ "text": "Sunny, and booked." }));
        let calls = json!([
            { "name": "look", "arguments": { "city": "Iasi" }, "result": "sun" },
            { "name": "book", "arguments": {}, "result": "done" },
        ]);
        next("done", json!({ "status": true, "message": "Sunny, and booked.", "function_calls": calls }));
        assert_eq!(turn.frame(), None);
        assert_eq!(owner.read(&talk)["history"][2]["function_calls"], calls);
    }
}

#[test]
fn strangers_on_a_page_follow_their_turns() {
    let (folder, url) = (Folder::new(), calling(true));
    let server = start(&folder, &format!("{url}/v1"));
    let owner = Owner::of(&server);
    let open = json!({ "widget_settings": { "enabled": true, "allowed_origins": ["https://shop.example"] } });
    let id = owner.make("/user/assistant", &with(assistant(), &open))["data"]["id"].clone();
    let path = format!("/user/assistant/{id}");
    let (status, said) = call("PUT", &format!("{}{path}", owner.url), &owner.key, Some(&json!({ "status": "active" })));
    assert_eq!(status, 200, "{said}");
    let begin = json!({ "assistant_id": owner.read(&path)["uuid"] }).to_string();
    let page = [("origin", "https://shop.example"), ("accept", "text/event-stream")];
    let (status, _, begun) = send("POST", &format!("{}/conversations", owner.url), "", &page[..1], &begin);
    let begun: Value = serde_json::from_slice(&begun).expect("JSON");
    assert_eq!(status, 200, "{begun}");
    let talk = format!("{}/conversations/{}/messages", owner.url, begun["conversation_id"].as_str().expect("a UUID"));
    let (status, headers, frames) = send("POST", &talk, "", &page, r#"{"message":"What is the weather?"}"#);
    let frames = String::from_utf8(frames).expect("text");
    assert_eq!(status, 200, "{frames}");
    assert!(headers.contains(r#""access-control-allow-origin": "https://shop.example""#), "{headers}");
    let events: Vec<&str> = frames.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!(events, ["delta", "delta", "done"], "{frames}");
    assert!(!frames.contains(r#""name""#), "{frames}");
}
