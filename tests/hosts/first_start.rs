//! The first start's secrets: printed on a terminal, else in a file of their own; and colors on a terminal alone.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;

use crate::server::{Folder, binary, call};

/// Members of a first start that nobody else may read.
const SECRET: [&str; 3] = ["password", "api_key", "admin_token"];

/// A service started as an operator would, killed on drop.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Folder, arguments: &[&str], out: Stdio, err: Stdio) -> Started {
    let mut command = Command::new(binary());
    command.args(["serve", "--listen", "127.0.0.1:0", "--engine", "none", "--data"]).arg(folder.path("data"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("SWITCHBOARD_LOG");
    Started(command.stdin(Stdio::null()).stdout(out).stderr(err).spawn().expect("it starts"))
}

/// Reads until a text appears.
fn read_until(from: &mut impl Read, wanted: &str) -> String {
    let mut said = Vec::new();
    let mut byte = [0];
    while !String::from_utf8_lossy(&said).contains(wanted) {
        assert!(from.read(&mut byte).unwrap_or(0) != 0, "it ended: {}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
    String::from_utf8(said).expect("text")
}

/// Opens a pseudoterminal; returns its two ends.
fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("it is ours");
    unlockpt(&master).expect("it is ours");
    let name = ptsname(&master, Vec::new()).expect("a name").into_string().expect("a path");
    let end = File::options().read(true).write(true).open(name).expect("its other end");
    (File::from(master), end)
}

#[test]
fn on_a_terminal_they_are_printed_and_kept_nowhere() {
    let folder = Folder::new();
    let (mut screen, end) = terminal();
    let err = end.try_clone().expect("a copy");
    let _service = start(&folder, &[], end.into(), err.into());
    let said = read_until(&mut screen, "/docs)");
    assert!(said.contains("These are shown once") && said.contains("sbk_") && said.contains("sbo_"), "{said}");
    assert!(said.contains("\u{1b}["), "a log on a terminal is colored: {said}");
    assert!(!folder.path("data/first-start.json").exists());
}

#[test]
fn elsewhere_they_stand_in_a_file_that_the_log_names() {
    for arguments in [&[][..], &["--json"], &["--log-format", "json"]] {
        let folder = Folder::new();
        let log = folder.path("log");
        let mut service = start(&folder, arguments, Stdio::piped(), File::create(&log).expect("a log").into());
        let mut out = service.0.stdout.take().expect("an output");
        let said = read_until(&mut out, "\n");
        let logged = std::fs::read_to_string(&log).expect("a log");
        let file = folder.path("data/first-start.json");
        assert!(logged.contains(&file.display().to_string()), "{arguments:?}: {logged}");
        assert!(!logged.contains('\u{1b}'), "{logged}");
        assert_eq!(std::fs::metadata(&file).expect("the file").permissions().mode() & 0o777, 0o600);
        let kept: Value = serde_json::from_slice(&std::fs::read(&file).expect("the file")).expect("JSON");
        for name in SECRET {
            let secret = kept[name].as_str().expect("a text");
            assert!(!said.contains(secret) && !logged.contains(secret), "{arguments:?}: {name}");
        }
        if arguments == ["--json"] {
            let line: Value = serde_json::from_str(&said).expect("JSON");
            assert_eq!(line["secrets_file"], file.display().to_string());
            let me = format!("{}/user/me", line["url"].as_str().expect("a text"));
            assert_eq!(call("GET", &me, kept["api_key"].as_str().expect("a text"), None).0, 200);
        }
    }
}

#[test]
fn dev_shows_a_link_that_logs_in_once() {
    let folder = Folder::new();
    let (mut screen, end) = terminal();
    let ready = folder.path("ready.json");
    let mut command = Command::new(binary());
    command.args(["dev", "--listen", "127.0.0.1:0", "--engine", "none", "--data"]).arg(folder.path("data"));
    command.arg("--ready-file").arg(&ready).stdin(Stdio::null()).stdout(end).stderr(Stdio::null());
    let _service = Started(command.spawn().expect("it starts"));
    let said = read_until(&mut screen, "#code=");
    let kept: Value = serde_json::from_slice(&std::fs::read(&ready).expect("the file")).expect("JSON");
    let link = kept["console_url"].as_str().expect("a link");
    let (page, code) = link.split_once("#code=").expect("a code");
    let url = kept["url"].as_str().expect("a text");
    assert_eq!(page, format!("{url}/console/"));
    assert!(said.contains(page) && read_until(&mut screen, "\n").trim() == code, "{said}");
    let body = serde_json::json!({ "code": code });
    let target = format!("{url}/user/login/code");
    let (status, got) = call("POST", &target, "", Some(&body));
    assert_eq!((status, &got["user"]["email"]), (200, &Value::from("owner@localhost")), "{got}");
    assert_eq!(call("POST", &target, "", Some(&body)).0, 404);
}

#[test]
fn a_link_that_logs_in_is_not_printed_where_it_may_be_kept() {
    let folder = Folder::new();
    let mut command = Command::new(binary());
    command.args(["dev", "--listen", "127.0.0.1:0", "--engine", "none", "--json", "--data"]).arg(folder.path("data"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut service = Started(command.spawn().expect("it starts"));
    let said = read_until(service.0.stdout.as_mut().expect("an output"), "\n");
    assert!(said.contains("\"url\"") && !said.contains("#code="), "{said}");
}
