//! What the operator looks up: the settings with their sources, and the state of the store.

use serde_json::{Value, json};
use switchboard_tests::server::{Folder, Server, call, run};

fn look(server: &Server, path: &str) -> Value {
    let url = format!("{}{path}", server.text("url"));
    let (status, body) = call("GET", &url, server.text("admin_token"), None);
    assert_eq!(status, 200, "{body}");
    body["data"].clone()
}

#[test]
fn settings_tell_where_they_come_from() {
    let folder = Folder::new();
    let file = folder.path("switchboard.toml");
    let text = "session-seconds = 600\nrate-limit = 5\nllm-url = \"https://me:hidden@llm.example/v1\"\nllm-model = \"m\"\nllm-key = \"hidden\"\n";
    std::fs::write(&file, text).expect("a file");
    let arguments = ["--rate-limit", "900", "--config", file.to_str().expect("a path"), "--engine", "none"];
    let environment =
        [("SWITCHBOARD_MAX_CONNECTIONS", "77"), ("SWITCHBOARD_STORE_TOKEN", "hidden-hidden-hidden-hidden-hidden")];
    let server = Server::start_logging(&folder.path("data"), &arguments, &environment, std::process::Stdio::null());
    let settings = look(&server, "/admin/settings");
    assert!(!settings.to_string().contains("hidden"));
    let of = |name: &str| {
        let all = settings.as_array().expect("a list");
        let found = all.iter().find(|one| one["name"] == name).expect("every setting is shown");
        (found["value"].clone(), found["source"].as_str().expect("a source").to_owned())
    };
    for (name, value, source) in [
        ("rate-limit", json!(900), "flag"),
        ("engine", json!("none"), "flag"),
        ("max-connections", json!(77), "environment"),
        ("store-token", json!("****"), "environment"),
        ("session-seconds", json!(600), "file"),
        ("llm-url", json!("https://****@llm.example/v1"), "file"),
        ("llm-key", json!("****"), "file"),
        ("public-url", Value::Null, "default"),
        ("egress-allow", Value::Null, "default"),
    ] {
        assert_eq!(of(name), (value, source.to_owned()), "{name}");
    }
    let told = |name: &str, member: &str| {
        let found = settings.as_array().and_then(|all| all.iter().find(|one| one["name"] == name));
        found.expect("every setting is shown")[member].clone()
    };
    assert_eq!(told("public-url", "default"), "the request's host");
    assert_eq!(told("public-url", "about"), "Base of absolute URLs in answers");
    assert_eq!(told("store-token", "default"), Value::Null);
    let url = format!("{}/admin/settings", server.text("url"));
    assert_eq!(call("GET", &url, server.text("api_key"), None).0, 401, "only the operator sees them");
}

#[test]
fn the_store_tells_its_last_backup_and_check() {
    let folder = Folder::new();
    let data = folder.path("data");
    let server = Server::start(&data, &["--engine", "none"]);
    let state = look(&server, "/admin/store");
    assert_eq!((&state["last_backup_at"], &state["last_verify"]), (&Value::Null, &Value::Null));
    assert!(state["bytes"].as_u64() > Some(0) && state["free_bytes"].as_u64() > Some(0), "{state}");
    assert_eq!(state["release"], env!("CARGO_PKG_VERSION"));
    let (file, url, token) = (folder.path("backup"), server.text("url"), server.text("admin_token").to_owned());
    let saved = run(&["backup", file.to_str().expect("a path"), "--url", url, "--admin-token", &token]);
    assert!(saved.status.success(), "{}", String::from_utf8_lossy(&saved.stderr));
    let backed_up = look(&server, "/admin/store")["last_backup_at"].clone();
    assert!(backed_up.is_string(), "{backed_up}");
    assert_eq!(server.stop(), Some(0));
    assert!(run(&["verify", data.to_str().expect("a path")]).status.success());
    let server = Server::start(&data, &["--engine", "none"]);
    let url = format!("{}/admin/store", server.text("url"));
    let state = call("GET", &url, &token, None).1["data"].clone();
    assert_eq!((&state["last_verify"]["ok"], &state["last_backup_at"]), (&json!(true), &backed_up));
}

/// A service over a file is one node, which nobody can take over from.
#[test]
fn a_service_that_runs_alone_is_a_node() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let nodes = look(&server, "/admin/nodes");
    let [node] = nodes.as_array().expect("a list").as_slice() else { panic!("{nodes}") };
    assert_eq!((&node["state"], &node["address"], &node["load"]), (&json!("serving"), &Value::Null, &Value::Null));
    assert_eq!(node["lanes"], json!([{ "id": node["id"], "seq": null, "accounts": 1 }]));
    let drain = |id: &str| {
        let url = format!("{}/admin/nodes/{id}/drain", server.text("url"));
        call("POST", &url, server.text("admin_token"), Some(&json!({})))
    };
    let (status, refused) = drain(node["id"].as_str().expect("an id"));
    assert_eq!((status, &refused["message"]), (409, &json!("No other node takes its accounts: start one first.")));
    for id in ["01890a5d-ac96-774b-bcce-b302099a8057", "7"] {
        let (status, refused) = drain(id);
        assert_eq!((status, &refused["message"]), (404, &json!("Node not found")), "{id}");
    }
}
