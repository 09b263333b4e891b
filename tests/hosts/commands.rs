//! The command line, as scripts rely on it: JSON output, exit codes, and the order of flags and settings file.

use std::net::TcpListener;

use serde_json::{Value, json};
use switchboard_tests::house::assistant;

use crate::server::{Folder, Server, call, run};

fn json_of(output: &std::process::Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn accounts_and_keys() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let (url, token) = (server.text("url"), server.text("admin_token"));
    let at = ["--url", url, "--admin-token", token, "--json"];
    let with = |words: &[&str]| run(&[words, &at[..]].concat());
    let made = json_of(&with(&["account", "create", "--email", "a@b.example", "--name", "A"]));
    assert_eq!((&made["email"], &made["plan"]), (&json!("a@b.example"), &json!("standard")));
    let key = made["api_key"].as_str().expect("a key");
    assert_eq!(call("GET", &format!("{url}/user/me"), key, None).0, 200);
    assert_eq!(json_of(&with(&["account", "list"])).as_array().map(Vec::len), Some(2));
    let plan = json!({ "name": "small", "tools": 1 });
    assert_eq!(call("POST", &format!("{url}/admin/plans"), token, Some(&plan)).0, 201);
    assert_eq!(json_of(&with(&["account", "set-plan", "2", "small"]))["data"]["plan"], "small");
    let second = json_of(&with(&["key", "create", "--account", "2", "--name", "CI"]));
    let (id, key) = (second["api_key"]["id"].to_string(), second["api_key"]["token"].as_str().expect("a token"));
    assert_eq!(call("GET", &format!("{url}/user/me"), key, None).0, 200);
    let listed = json_of(&with(&["key", "list", "--account", "2"]));
    assert_eq!((&listed[0]["name"], &listed[1]["name"]), (&json!("First key"), &json!("CI")));
    json_of(&with(&["key", "revoke", "--account", "2", &id]));
    assert_eq!(call("GET", &format!("{url}/user/me"), key, None).0, 401);
    let refused = with(&["account", "create", "--email", "a@b.example", "--name", "A"]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("already been taken"));
    assert_eq!(json_of(&with(&["account", "delete", "2"]))["data"]["status"], "deleting");
    let rotated = json_of(&with(&["operator-token", "rotate"]));
    assert!(!with(&["account", "list"]).status.success(), "the old token ended");
    let new = rotated["token"].as_str().expect("a token");
    assert!(run(&["account", "list", "--url", url, "--admin-token", new]).status.success());
}

#[test]
fn a_backup_restores_to_the_same_store() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &[]);
    let (url, key, token) =
        (server.text("url").to_owned(), server.text("api_key").to_owned(), server.text("admin_token"));
    assert_eq!(call("POST", &format!("{url}/user/assistant"), &key, Some(&assistant())).0, 201);
    let (file, copy) = (folder.path("backup"), folder.path("copy"));
    let (file, copy_text) = (file.to_str().expect("a path"), copy.to_str().expect("a path"));
    json_of(&run(&["backup", file, "--url", &url, "--admin-token", token, "--json"]));
    assert_eq!(server.stop(), Some(0));
    json_of(&run(&["restore", file, copy_text, "--json"]));
    assert_eq!(json_of(&run(&["verify", copy_text, "--json"]))["faults"], json!([]));
    let server = Server::start(&copy, &[]);
    assert!(server.ready.get("api_key").is_none(), "secrets are shown once, not on a later start");
    assert_eq!(call("GET", &format!("{}/user/assistant/1", server.text("url")), &key, None).0, 200);
    drop(server);
    assert!(!run(&["restore", file, copy_text]).status.success(), "a folder in use is not overwritten");
    let mut bytes = std::fs::read(file).expect("the backup");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(file, bytes).expect("the backup");
    let third = folder.path("third");
    assert!(!run(&["restore", file, third.to_str().expect("a path")]).status.success(), "a damaged backup is refused");
    assert!(!third.exists());
}

#[test]
fn bad_settings_get_a_sentence() {
    let folder = Folder::new();
    let config = folder.path("bad.toml");
    std::fs::write(&config, "listen = \"127.0.0.1:0\"\nlisten-to = 1\n").expect("a file");
    let catalogue = folder.path("catalogue.json");
    std::fs::write(&catalogue, "{\"languages\":[]}").expect("a file");
    for (arguments, says) in [
        (vec!["serve", "--config", config.to_str().expect("a path")], "listen-to"),
        (vec!["serve", "--catalogue", catalogue.to_str().expect("a path")], "voices must be an array"),
        (vec!["serve", "--carrier", "pigeon"], "[possible values: simulated, twilio]"),
        (vec!["serve", "--carrier", "twilio"], "The twilio.account sid field is required."),
        (vec!["serve", "--session-seconds", "59"], "The session seconds field must be between 60 and 31536000."),
        (vec!["verify", folder.0.to_str().expect("a path")], "holds no store"),
        (vec!["serve", "--data", "/proc/none"], "the data folder cannot be made: /proc/none: "),
    ] {
        let output = run(&arguments);
        assert!(!output.status.success(), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

/// Runs a command that must fail and returns what it says.
fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{arguments:?}: {said}");
    said
}

#[test]
fn an_address_in_use_is_named_with_its_flag() {
    let folder = Folder::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, data) = (taken.local_addr().expect("an address").to_string(), folder.path("data"));
    let data = data.to_str().expect("a path");
    for (flags, flag) in [
        (vec!["--listen", &address], "--listen"),
        (vec!["--listen", "127.0.0.1:0", "--admin-listen", &address], "--admin-listen"),
    ] {
        let said = refusal(&[&["serve", "--engine", "none", "--data", data], &flags[..]].concat());
        let wanted = format!("switchboard: {address} is in use by another program: {flag} chooses another address");
        assert!(said.lines().any(|line| line == wanted), "{said}");
    }
    // The port of 127.0.0.1 alone, and a name.
    let port = taken.local_addr().expect("an address").port();
    for listen in [port.to_string(), format!("localhost:{port}")] {
        assert!(refusal(&["serve", "--data", data, "--listen", &listen]).contains(&address), "{listen}");
    }
    let config = folder.path("settings.toml");
    std::fs::write(&config, format!("listen = {port}\n")).expect("a file");
    let said = refusal(&["serve", "--data", data, "--config", config.to_str().expect("a path")]);
    assert!(said.contains(&address), "{said}");
}

#[test]
fn a_store_that_is_open_is_said_to_be() {
    let folder = Folder::new();
    let data = folder.path("data");
    let _server = Server::start(&data, &["--engine", "none"]);
    let data = data.to_str().expect("a path");
    for arguments in [&["serve", "--listen", "0", "--data", data][..], &["verify", data]] {
        let said = refusal(arguments);
        assert!(said.contains(&format!("another switchboard runs on {data}")), "{said}");
    }
}

#[test]
fn the_address_of_a_service_may_end_as_that_of_a_client() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let (url, key, token) = (server.text("url"), server.text("api_key"), server.text("admin_token"));
    for end in ["/", "/api", "/api/"] {
        let url = format!("{url}{end}");
        let listed = json_of(&run(&["account", "list", "--json", "--url", &url, "--admin-token", token]));
        assert_eq!(listed[0]["email"], "owner@localhost", "{url}");
        assert!(run(&["listen", "--count", "0", "--url", &url, "--key", key]).status.success(), "{url}");
    }
    let said = refusal(&["account", "list", "--url", "localhost:8080", "--admin-token", token]);
    assert!(said.contains("a URL begins with http:// or https://"), "{said}");
}

#[test]
fn a_token_of_another_kind_is_told_and_not_sent() {
    let nowhere = "http://127.0.0.1:1";
    let operators = |token| vec!["account", "list", "--url", nowhere, "--admin-token", token];
    let accounts = |token| vec!["listen", "--url", nowhere, "--key", token];
    for (arguments, says) in [
        (operators("sbk_A"), "--admin-token takes the operator's token, which begins with sbo_; this is an API key"),
        (
            operators("sbs_A"),
            "--admin-token takes the operator's token, which begins with sbo_; this is the token of a session",
        ),
        (
            operators("sbe_A"),
            "--admin-token takes the operator's token, which begins with sbo_; this is the token of an engine",
        ),
        (accounts("sbo_A"), "--key takes an API key, which begins with sbk_; this is the operator's token"),
        (accounts("sbe_A"), "--key takes an API key, which begins with sbk_; this is the token of an engine"),
    ] {
        assert_eq!(refusal(&arguments).trim(), format!("switchboard: {says}"));
    }
    let after = [&accounts("sbk_A")[..], &["--after", "0", "--json"]].concat();
    for arguments in [operators("sbo_A"), accounts("sbk_A"), after] {
        assert!(refusal(&arguments).contains(&format!("no service answers at {nowhere} (--url)")), "{arguments:?}");
    }
    let backup = ["backup", "never", "--url", nowhere, "--admin-token", "sbk_A"];
    assert!(refusal(&backup).contains("this is an API key"));
    for arguments in [operators("sbo_A"), operators("secret"), accounts("sbk_A"), accounts("sbs_A")] {
        assert!(!refusal(&arguments).contains("begins with"), "{arguments:?}");
    }
}

#[test]
fn what_a_command_lacks_is_described() {
    let said = refusal(&["restore"]);
    assert!(said.contains("<FILE>    File written by `backup`"), "{said}");
    assert!(said.contains("<FOLDER>  Folder to create; one that exists must be empty"), "{said}");
    assert!(said.contains("Usage: switchboard restore <FILE> <FOLDER>"), "{said}");
    let said = refusal(&["key", "create", "--account", "1"]);
    assert!(said.contains("Operator token [env: SWITCHBOARD_ADMIN_TOKEN]"), "{said}");
    assert!(said.contains("--name <NAME>") && !said.contains("Id of the account"), "{said}");
    let folder = Folder::new();
    let (file, copy) = (folder.path("none.backup"), folder.path("copy"));
    let (file, copy) = (file.to_str().expect("a path"), copy.to_str().expect("a path"));
    assert!(refusal(&["restore", file, copy]).contains(&format!("{file}: No such file")));
    let inside = folder.path("none/backup");
    let inside = inside.to_str().expect("a path");
    assert!(refusal(&["seal-key", inside]).contains(&format!("{inside}: No such file")));
}

#[test]
fn what_engine_check_plays_and_what_it_refuses() {
    let listed = json_of(&run(&["engine-check", "--list", "--json"]));
    assert!(listed["rules"].as_array().is_some_and(|rules| rules.len() > 25), "{listed}");
    assert_eq!(listed["cases"][0]["case"], "plain");
    for (arguments, says) in [
        (&["--case", "none"][..], "there is no such case; there are plain, tool, "),
        (&["--listen", "0.0.0.0:8099"], "only loopback can be listened on"),
        (&["--listen", "8099"], "an address is IP:PORT, such as 127.0.0.1:8099"),
        (&["--attach", "1", "--case", "plain"], "no engine has claimed a call: nothing can be said of it"),
        (&["--case", "plain", "--", "/none/engine"], "the engine cannot be started: /none/engine: "),
    ] {
        let said = refusal(&[&["engine-check"], arguments].concat());
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

#[test]
fn a_wrong_line_of_the_file_is_named_and_not_shown() {
    let folder = Folder::new();
    let config = folder.path("wrong.toml");
    for (line, says) in [
        ("seal-keys = \"marker-of-a-key\"", "line 2: unknown field `seal-keys`"),
        ("rate-limit = \"marker-of-a-token\"", "line 2: expected u32"),
        ("store-token = \"marker-of-a-token", "line 2: "),
        ("twilio-auth-token = [\"marker-of-a-token\"]", "line 2: expected a string"),
    ] {
        std::fs::write(&config, format!("listen = \"127.0.0.1:0\"\n{line}\n")).expect("a file");
        let output = run(&["serve", "--config", config.to_str().expect("a path")]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(says) && !said.contains("marker"), "{line}: {said}");
    }
}

#[test]
fn a_flag_wins_over_the_file() {
    let folder = Folder::new();
    let config = folder.path("settings.toml");
    std::fs::write(&config, "rate-limit = 60\npublic-url = \"https://voice.example\"\n").expect("a file");
    let server = Server::start(&folder.path("data"), &["--config", config.to_str().expect("a path")]);
    assert_eq!(server.text("url"), "https://voice.example");
    drop(server);
    let flags = ["--config", config.to_str().expect("a path"), "--public-url", "https://other.example"];
    assert_eq!(Server::start(&folder.path("data"), &flags).text("url"), "https://other.example");
}

#[test]
fn shells_and_man_know_every_command() {
    const COMMANDS: [&str; 5] = ["serve", "engine-token", "restore", "completions", "man"];
    for (shell, sign) in [("bash", "complete -F"), ("zsh", "#compdef switchboard"), ("fish", "complete -c switchboard")]
    {
        let output = run(&["completions", shell]);
        let script = String::from_utf8(output.stdout).expect("text");
        assert!(output.status.success() && script.contains(sign), "{shell}");
        assert!(COMMANDS.iter().chain(&["admin-token", "set-plan"]).all(|word| script.contains(word)), "{shell}");
        assert!(!script.contains("extract"), "the service's own command is for nobody else: {shell}");
    }
    let page = String::from_utf8(run(&["man"]).stdout).expect("text");
    assert!(page.starts_with(".ie") && page.contains(".TH switchboard 1"), "{page}");
    let folder = Folder::new();
    let pages = folder.path("man/man1");
    assert!(run(&["man", pages.to_str().expect("a path")]).status.success());
    for name in COMMANDS.iter().copied().chain(["account-create"]) {
        let page = std::fs::read_to_string(pages.join(format!("switchboard-{name}.1"))).expect("a page");
        assert!(page.contains("SYNOPSIS"), "{name}");
    }
    let serve = std::fs::read_to_string(pages.join("switchboard-serve.1")).expect("a page");
    assert!(serve.contains("SWITCHBOARD_LISTEN"), "the variables are named");
    let taken = folder.path("file");
    std::fs::write(&taken, "").expect("a file");
    assert!(refusal(&["man", taken.to_str().expect("a path")]).contains("file"));
}
