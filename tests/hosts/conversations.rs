//! Conversations over the built binary: a model that breaks off, a host that dies, a script at the command line.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use switchboard_tests::house::assistant;

use crate::outside::read;
use crate::server::{Folder, Server, binary, call, send};

/// What the model streams: its answer in pieces, and the end.
pub const CHUNKS: [&str; 5] = [
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"We \"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"open at \"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"nine.\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    "data: [DONE]\n\n",
];

/// An account that holds conversations, and the operator of its service.
pub struct Owner {
    /// URL of the service.
    pub url: String,
    /// Key of the account.
    pub key: String,
    /// Token of the operator.
    pub operator: String,
}

impl Owner {
    /// Returns the owner of a new store.
    pub fn of(server: &Server) -> Self {
        let [url, key, operator] = ["url", "api_key", "admin_token"].map(|name| server.text(name).to_owned());
        Self { url, key, operator }
    }

    /// Makes something; returns the answer.
    pub fn make(&self, path: &str, body: &Value) -> Value {
        made(path, &self.url, &self.key, body)
    }

    /// Reads something.
    pub fn read(&self, path: &str) -> Value {
        let (status, found) = call("GET", &format!("{}{path}", self.url), &self.key, None);
        assert_eq!(status, 200, "{path} {found}");
        found
    }

    /// Makes an assistant and begins a test conversation with it; returns the path of the conversation.
    pub fn begin(&self, assistant: &Value) -> String {
        let assistant = self.make("/user/assistant", assistant);
        let begin = json!({ "assistant_id": assistant["data"]["id"], "type": "test" });
        let begun = self.make("/conversations", &begin);
        format!("/conversations/{}", begun["conversation_id"].as_str().expect("a UUID"))
    }

    /// Has the operator set the price of an answer, and what the account has left.
    pub fn pays(&self, price: f64, balance: f64) {
        self.operate("/admin/prices", &json!({ "items": [{ "unit": "chat_message", "price": price }] }));
        self.operate("/admin/accounts/1", &json!({ "balance": balance }));
    }

    /// Has the operator replace something.
    pub fn operate(&self, path: &str, body: &Value) {
        let (status, said) = call("PUT", &format!("{}{path}", self.url), &self.operator, Some(body));
        assert_eq!(status, 200, "{path} {said}");
    }

    /// Reads something as the operator.
    pub fn look(&self, path: &str) -> String {
        let (status, _, bytes) = send("GET", &format!("{}{path}", self.url), &self.operator, &[], "");
        assert_eq!(status, 200, "{path}");
        String::from_utf8(bytes).expect("text")
    }

    /// Returns what was said in a conversation, what that cost, and what the account has left.
    pub fn told(&self, talk: &str) -> (Vec<String>, Value, Value) {
        let found = self.read(&format!("/user{talk}"));
        let history = found["history"].as_array().expect("a list");
        let texts = history.iter().map(|said| said["content"].as_str().expect("text").to_owned()).collect();
        (texts, found["total_cost"].clone(), self.read("/user/me")["total_balance"].clone())
    }
}

/// Serves a model that sends as many chunks as `count` says and then breaks off; returns its URL.
pub fn model(count: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if read(&stream).is_some() {
                // The service may have gone away.
                let _ = answer(&stream, count.load(Ordering::SeqCst));
            }
        }
    });
    url
}

fn answer(mut stream: &TcpStream, count: usize) -> std::io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
    )?;
    for chunk in &CHUNKS[..count] {
        write!(stream, "{:x}\r\n{chunk}\r\n", chunk.len())?;
    }
    if count == CHUNKS.len() { stream.write_all(b"0\r\n\r\n") } else { Ok(()) }
}

/// Starts a server whose model is at this URL.
pub fn start(folder: &Folder, model: &str) -> Server {
    let own = ["--egress-allow", "127.0.0.0/8", "--rate-limit", "0", "--engine", "none"];
    Server::start(&folder.path("data"), &[&own[..], &["--llm-url", model, "--llm-model", "m"]].concat())
}

fn made(path: &str, url: &str, key: &str, body: &Value) -> Value {
    let (status, made) = call("POST", &format!("{url}{path}"), key, Some(body));
    assert!((200..300).contains(&status), "{path} {status} {made}");
    made
}

#[test]
fn a_model_that_breaks_off_costs_no_message() {
    let (folder, count) = (Folder::new(), Arc::new(AtomicUsize::new(0)));
    let server = start(&folder, &model(Arc::clone(&count)));
    let (url, key) = (server.text("url"), server.text("api_key"));
    let assistant = made("/user/assistant", url, key, &assistant());
    let begin = json!({ "assistant_id": assistant["data"]["id"], "type": "test" });
    let begun = made("/conversations", url, key, &begin);
    let uuid = begun["conversation_id"].as_str().expect("a UUID");
    let said = |message: &str| {
        let body = json!({ "message": message }).to_string();
        let path = format!("{url}/conversations/{uuid}/messages");
        let (status, _, bytes) = send("POST", &path, key, &[("accept", "text/event-stream")], body);
        (status, String::from_utf8(bytes).expect("text"))
    };
    for chunks in 0..CHUNKS.len() - 1 {
        let message = format!("When do you open, {chunks}?");
        count.store(chunks, Ordering::SeqCst);
        let (status, cut) = said(&message);
        assert!(!cut.contains("event: done"), "{chunks} {status} {cut}");
        assert!(status >= 500 || cut.contains("event: error"), "{chunks} {status} {cut}");
        count.store(CHUNKS.len(), Ordering::SeqCst);
        let (status, whole) = said(&message);
        assert_eq!(status, 200, "{whole}");
        let done = whole.split("event: done\ndata: ").nth(1).unwrap_or_else(|| panic!("{whole}"));
        let done: Value = serde_json::from_str(done.trim()).expect("JSON");
        assert_eq!(done["message"], "We open at nine.", "{whole}");
        assert!(whole.contains("event: delta"), "{whole}");
        let (_, found) = call("GET", &format!("{url}/conversations/{uuid}"), key, None);
        let kept = found["history"].as_array().expect("a list");
        let count = kept.iter().filter(|kept| kept["content"] == message.as_str()).count();
        assert_eq!(count, 1, "{found}");
        assert_eq!(kept.last().expect("an answer")["content"], "We open at nine.");
    }
    // What stands, stands after a power cut.
    let (url, key) = (url.to_owned(), key.to_owned());
    let before = call("GET", &format!("{url}/conversations/{uuid}"), &key, None).1;
    let uuid = uuid.to_owned();
    server.kill();
    let server = start(&folder, "http://127.0.0.1:9/v1");
    let after = call("GET", &format!("{}/conversations/{uuid}", server.text("url")), &key, None).1;
    assert_eq!(after, before);
}

#[test]
fn a_script_holds_a_conversation() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let (url, key) = (server.text("url"), server.text("api_key"));
    let id = made("/user/assistant", url, key, &assistant())["data"]["id"].to_string();
    let chat = |assistant: &str, said: &str| {
        let mut child = Command::new(binary())
            .args(["chat", assistant, "--json", "--url", url, "--key", key])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        // A refusal may end it before it has read anything.
        let _ = child.stdin.take().expect("a pipe").write_all(said.as_bytes());
        child.wait_with_output().expect("an output")
    };
    let output = chat(&id, "When do you open?\n\nAnd on Sunday?\n");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3, "the beginning, and an answer to each message: {text}");
    assert!(lines[0]["conversation_id"].is_string() && lines[2]["message"].is_string(), "{text}");
    let refused = chat("4711", "Hello\n");
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(refused.stdout.is_empty() && !refused.stderr.is_empty(), "{refused:?}");
}
