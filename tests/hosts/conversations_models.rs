//! The models of the settings' file over the built binary: who answers where the first one fails.

use std::net::TcpListener;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};

use crate::conversations::{CHUNKS, Owner, model};
use crate::conversations_followed::Turn;
use crate::outside::{read, serve};
use crate::server::{Folder, Server, call};

/// What models were asked: the key, and the model's name.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// Serves a model that says who it is; returns its URL.
fn speaker(name: &'static str, asked: &Asked) -> String {
    let asked = Arc::clone(asked);
    serve(move |came| {
        let key = came.headers.iter().find(|(name, _)| name == "authorization").map(|(_, value)| value.clone());
        let question: Value = serde_json::from_slice(&came.body).expect("JSON");
        asked.lock().expect("a list").push((key.unwrap_or_default(), question["model"].clone()));
        let body = json!({ "choices": [{ "message": { "content": format!("I am the {name}.") } }] });
        (200, vec![], body.to_string().into_bytes())
    })
}

/// Writes a settings' file; returns its path.
fn file(folder: &Folder, text: &str) -> String {
    let path = folder.path("settings.toml");
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

fn say(owner: &Owner, talk: &str, message: &str) -> (u16, Value) {
    call("POST", &format!("{}{talk}/messages", owner.url), &owner.key, Some(&json!({ "message": message })))
}

/// Returns the id of a model of the catalogue.
fn id(owner: &Owner, path: &str, name: &str) -> Value {
    let models = owner.read(path);
    let found = models.as_array().expect("a list").iter().find(|model| model["name"] == name);
    found.unwrap_or_else(|| panic!("{name} in {models}"))["id"].clone()
}

/// Serves a model that answers nothing at all.
fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(read(&stream))));
    url
}

/// Serves a model that answers with an error, in the form of an answer.
fn broken() -> String {
    let url = serve(|_| (500, vec![("content-type", "text/event-stream".to_owned())], CHUNKS.concat().into_bytes()));
    format!("{url}/v1")
}

#[test]
fn where_a_model_fails_its_fallback_answers_and_is_paid_once() {
    let asked = Asked::default();
    let second = speaker("second", &asked);
    for first in [broken(), silent(), model(Arc::new(AtomicUsize::new(0))), model(Arc::new(AtomicUsize::new(2)))] {
        let folder = Folder::new();
        let text = format!(
            r#"
            [[llm]]
            url = "{first}"
            models = [{{ name = "GPT Realtime" }}]
            [[llm]]
            url = "{second}/v1"
            models = [{{ name = "GPT-4o" }}]
            "#
        );
        let server = Server::start(&folder.path("data"), &["--rate-limit", "0", "--config", &file(&folder, &text)]);
        let owner = Owner::of(&server);
        owner.pays(0.25, 1.0);
        let spoken = json!({
            "mode": "multimodal", "llm_model_id": null,
            "multimodal_model_id": id(&owner, "/user/assistants/models?type=multimodal", "GPT Realtime"),
            "chat_llm_fallback_id": id(&owner, "/user/assistants/models", "GPT-4o"),
            "voice_id": owner.read("/user/assistants/voices?mode=multimodal")[0]["id"],
        });
        let talk = owner.begin(&with(assistant(), &spoken));
        let (status, said) = say(&owner, &talk, "Who are you?");
        let answer = json!({ "status": true, "message": "I am the second.", "function_calls": [] });
        assert_eq!((status, &said), (200, &answer));
        assert_eq!(
            Turn::say(&owner, &talk, "And now?").whole(),
            ("I am the second.".to_owned(), ("done".to_owned(), answer))
        );
        let texts = ["Hello", "Who are you?", "I am the second.", "And now?", "I am the second."];
        assert_eq!(owner.told(&talk), (texts.map(str::to_owned).to_vec(), json!(0.5), json!(0.5)));
        assert_eq!(std::mem::take(&mut *asked.lock().expect("a list")).len(), 2);
    }
}
