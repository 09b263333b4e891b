//! The models of the settings' file over the built binary: which endpoint is asked, with which key, what a start
//! refuses, and who answers where the first one fails.

use std::fs::File;
use std::net::TcpListener;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_tests::house::{assistant, with};

use crate::conversations::{CHUNKS, Owner, model};
use crate::conversations_followed::Turn;
use crate::outside::{read, serve};
use crate::server::{Folder, Server, call, run};

const KEYS: [&str; 3] = ["marker-of-the-first-key", "marker-of-the-second-key", "marker-of-the-others-key"];

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

#[test]
fn each_model_is_asked_at_its_own_endpoint_with_its_own_key() {
    let (folder, asked) = (Folder::new(), Asked::default());
    let [first, second, others] = ["first", "second", "others"].map(|name| speaker(name, &asked));
    let text = format!(
        r#"
        llm-url = "{others}/v1"
        llm-model = "any"
        llm-key = "{}"
        [[llm]]
        name = "The first ones"
        url = "{first}/v1"
        key = "{}"
        models = [{{ name = "GPT-4o", as = "gpt-4o-of-ours" }}, {{ name = "GPT-4o mini" }}]
        [[llm]]
        url = "{second}/v1/"
        key = "{}"
        models = [{{ name = "GPT-5" }}]
        "#,
        KEYS[2], KEYS[0], KEYS[1]
    );
    let (log, config) = (folder.path("log"), file(&folder, &text));
    let server = Server::start_logging(
        &folder.path("data"),
        &["--rate-limit", "0", "--config", &config],
        &[("SWITCHBOARD_LOG", "trace")],
        File::create(&log).expect("a log"),
    );
    let owner = Owner::of(&server);
    for (name, who, key, known_as) in [
        ("GPT-4o", "first", KEYS[0], "gpt-4o-of-ours"),
        ("GPT-4o mini", "first", KEYS[0], "GPT-4o mini"),
        ("GPT-5", "second", KEYS[1], "GPT-5"),
        ("GPT-5 mini", "others", KEYS[2], "any"),
    ] {
        let llm = id(&owner, "/user/assistants/models", name);
        let talk = owner.begin(&with(assistant(), &json!({ "llm_model_id": llm })));
        let (status, said) = say(&owner, &talk, "Who are you?");
        assert_eq!((status, &said["message"]), (200, &json!(format!("I am the {who}."))), "{said}");
        let asked = std::mem::take(&mut *asked.lock().expect("a list"));
        assert_eq!(asked, [(format!("Bearer {key}"), json!(known_as))], "{name}");
    }
    let settings: Value = serde_json::from_str(&owner.look("/admin/settings")).expect("JSON");
    let shown = settings["data"].as_array().expect("a list").iter().find(|setting| setting["name"] == "llm");
    let want = json!([
        { "name": "The first ones", "url": format!("{first}/v1"), "key": "****",
          "models": [{ "name": "GPT-4o", "as": "gpt-4o-of-ours" }, { "name": "GPT-4o mini" }] },
        { "url": format!("{second}/v1/"), "key": "****", "models": [{ "name": "GPT-5" }] },
    ]);
    let shown = shown.expect("the table is shown");
    assert_eq!((&shown["value"], &shown["source"]), (&want, &json!("file")));
    assert_eq!(server.stop(), Some(0));
    let logged = std::fs::read_to_string(&log).expect("a log");
    assert!(logged.contains("operation=\"sendMessage\""), "the turns are logged: {logged}");
    let kept = [logged, settings.to_string()];
    assert!(KEYS.iter().all(|key| kept.iter().all(|text| !text.contains(key))), "{kept:?}");
}

#[test]
fn models_that_cannot_be_are_refused_at_the_start() {
    let folder = Folder::new();
    let entry = |more: &str| format!("[[llm]]\nkey = \"{}\"\n{more}\n", KEYS[0]);
    let url = "url = \"https://llm.example/v1\"";
    let serves = |names: &str| entry(&format!("{url}\nmodels = [{names}]"));
    let of = |name: &str| serves(&format!("{{ name = \"{name}\" }}"));
    for (text, says) in [
        (of("GPT-4o") + &of("GPT-4o"), "llm: the model GPT-4o is named twice; name it once."),
        (
            serves("{ name = \"GPT-5\" }, { name = \"GPT-5\", as = \"x\" }"),
            "llm: the model GPT-5 is named twice; name it once.",
        ),
        (of("GPT-0"), "llm: the catalogue has no model GPT-0; it has GPT-4.1, GPT-4.1 mini, "),
        (entry("models = [{ name = \"GPT-4o\" }]"), "missing field `url`"),
        (entry("url = \"nowhere\"\nmodels = [{ name = \"GPT-4o\" }]"), "The llms.0.url field must be a valid URL."),
        (entry(url), "missing field `models`"),
        (serves(""), "The llms.0.models field must have at least 1 item."),
        (
            entry(&format!("{url}\nmodel = \"GPT-4o\"")),
            "unknown field `model`, expected one of `name`, `url`, `key`, `models`",
        ),
        (serves("\"GPT-4o\""), "line 4: expected a table with name"),
        ("llm-url = \"https://llm.example/v1\"\n".to_owned(), "The llm.model field is required."),
    ] {
        let (config, data) = (file(&folder, &text), folder.path("data").display().to_string());
        let output = run(&["serve", "--listen", "127.0.0.1:0", "--data", &data, "--config", &config]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says), "{text}: {said}");
        assert!(!said.contains("marker") && !folder.path("data").exists(), "{text}: {said}");
    }
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
