//! Schemathesis from `PyPI` against a running server with four users: all checks, all phases. `tests/schemathesis`
//! holds the findings that are allowed, each with its reason, and the inputs that the checks must not count as invalid.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chores::{Done, root, step, step_in, target, text};

/// Pinned release: the allow-list is made for its checks.
const RELEASE: &str = "schemathesis==4.32.5";
/// Run time before each commit, seconds.
pub const EACH_COMMIT_SECONDS: u32 = 120;
/// Run time of a long run, seconds.
pub const LONG_SECONDS: u32 = 3_600;
/// How long the server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs before each commit; without Python, prints that it is skipped.
pub fn each_commit() -> Done {
    let version = Command::new("python3").args(["-c", "import venv, ensurepip"]).stderr(Stdio::null()).status();
    if version.is_ok_and(|status| status.success()) {
        // The same inputs each time: a new finding is due to the commit.
        against(EACH_COMMIT_SECONDS, &["--generation-deterministic"])
    } else {
        println!("== schemathesis: not run, there is no python3 with venv in PATH");
        Ok(())
    }
}

/// Builds the binary and runs for `seconds`.
pub fn run(seconds: u32) -> Done {
    step("binary", "cargo", &["build", "--quiet", "-p", "switchboard"])?;
    against(seconds, &[])
}

fn against(seconds: u32, how: &[&str]) -> Done {
    let home = target()?.join("schemathesis");
    let tools = home.join("tools/bin");
    if !tools.join("schemathesis").is_file() {
        step("python", "python3", &["-m", "venv", &text(&home.join("tools"))])?;
        let pip = text(&tools.join("pip"));
        step("schemathesis from PyPI", &pip, &["install", "--quiet", "--disable-pip-version-check", RELEASE])?;
    }
    let folder = home.join("run");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let server = Server::start(&folder)?;
    let users = folder.join("users.json");
    std::fs::write(&users, server.users()?.to_string()).map_err(|error| error.to_string())?;
    let [config, lenient] =
        ["schemathesis.toml", "lenient.py"].map(|name| text(&root().join("tests/schemathesis").join(name)));
    let environment = [
        ("SWITCHBOARD_USERS", text(&users)),
        ("SCHEMATHESIS_HOOKS", lenient.clone()),
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
    ];
    let doctest = ["-m", "doctest", &lenient];
    step_in(&folder, "what is lenient", &text(&tools.join("python")), &doctest, &environment)?;
    let (schema, seconds) = (format!("{}/openapi.json", server.ready("url")?), seconds.to_string());
    // Another path of an operation is the same row of the route table.
    let others = ["--exclude-operation-id-regex", "Alias$"];
    let arguments = ["--config-file", &config, "--no-color", "run", &schema, "--max-time", &seconds];
    let arguments = [&arguments[..], &others].concat();
    step_in(
        &folder,
        "schemathesis",
        &text(&tools.join("schemathesis")),
        &[&arguments[..], how].concat(),
        &environment,
    )?;
    server.stop()?;
    step("the store it leaves behind", &text(&binary()?), &["verify", &text(&folder.join("data"))])
}

fn binary() -> Result<std::path::PathBuf, String> {
    Ok(target()?.join("debug/switchboard"))
}

/// A server with a store in a folder of its own.
struct Server {
    child: Child,
    ready: Value,
}

impl Server {
    fn start(folder: &Path) -> Result<Self, String> {
        let ready = folder.join("ready.json");
        let mut command = Command::new(binary()?);
        command.args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--data"]).arg(folder.join("data"));
        command.arg("--ready-file").arg(&ready).env("SWITCHBOARD_LOG", "error");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let mut server = Self { child, ready: Value::Null };
        let began = Instant::now();
        while !ready.is_file() {
            if began.elapsed() > PATIENCE || server.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                return Err("the server does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let bytes = std::fs::read(ready).map_err(|error| error.to_string())?;
        server.ready = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        Ok(server)
    }

    fn ready(&self, name: &str) -> Result<&str, String> {
        self.ready[name].as_str().ok_or_else(|| format!("the ready file has no {name}"))
    }

    /// Returns two accounts, the operator and an engine as a Web Fuzzing Commons document.
    fn users(&self) -> Result<Value, String> {
        let stranger = self.command(&["account", "create", "--email", "stranger@localhost", "--name", "Stranger"])?;
        let engine = self.command(&["engine-token", "create", "--name", "Engine"])?;
        let tokens = [
            ("owner", &self.ready["api_key"]),
            ("stranger", &stranger["api_key"]),
            ("operator", &self.ready["admin_token"]),
            ("engine", &engine["token"]),
        ];
        let users = tokens.map(|(name, token)| {
            let bearer = format!("Bearer {}", token.as_str().unwrap_or_default());
            json!({ "name": name, "fixedHeaders": [{ "name": "Authorization", "value": bearer }] })
        });
        Ok(json!({ "auth": users }))
    }

    fn command(&self, words: &[&str]) -> Result<Value, String> {
        let at = ["--json", "--url", self.ready("url")?, "--admin-token", self.ready("admin_token")?];
        let output = Command::new(binary()?).args(words).args(at).output().map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Stops the server; one that has already ended is a failure.
    fn stop(mut self) -> Done {
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return Err("the server ended by itself".into());
        }
        let id = self.child.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().is_ok_and(|status| status.success());
        let ended = self.child.wait().map_err(|error| error.to_string())?;
        if asked && ended.success() { Ok(()) } else { Err("the server did not stop well".into()) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Size of the allow-list: operations and statuses named by its entries, and checks switched off. It may only
    /// shrink.
    const ALLOWED: usize = 104;

    #[test]
    fn the_allow_list_only_shrinks() {
        let list = std::fs::read_to_string(root().join("tests/schemathesis/schemathesis.toml")).expect("the list");
        let lists = ["include-operation-id = [", "expected-statuses = ["].map(|opens| {
            let named = list.split(opens).skip(1).filter_map(|rest| rest.split(']').next());
            named.map(|names| names.matches('"').count() / 2).sum::<usize>()
        });
        let switched_off = list.matches("enabled = false").count();
        assert_eq!(
            lists.iter().sum::<usize>() + switched_off,
            ALLOWED,
            "fewer: lower the number; more: no schema can say it?"
        );
    }
}
