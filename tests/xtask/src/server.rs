//! [`Server`]: the real binary with a store of its own, and the Python that programs against it are run with.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::chores::{Done, step, target, text};

/// How long the server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Whether there is a Python that can make a virtual environment.
pub fn has_python() -> bool {
    let asked = Command::new("python3").args(["-c", "import venv, ensurepip"]).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Installs a pinned release from `PyPI` into an environment of its own, unless its program is there; returns the folder
/// of its programs.
pub fn python_tools(folder: &Path, program: &str, release: &str) -> Result<PathBuf, String> {
    let tools = folder.join("bin");
    if !tools.join(program).is_file() {
        step("python", "python3", &["-m", "venv", &text(folder)])?;
        let pip = text(&tools.join("pip"));
        step(&format!("{program} from PyPI"), &pip, &["install", "--quiet", "--disable-pip-version-check", release])?;
    }
    Ok(tools)
}

/// Returns the binary of the debug build.
pub fn binary() -> Result<PathBuf, String> {
    Ok(target()?.join("debug/switchboard"))
}

/// A server with a store in a folder of its own.
pub struct Server {
    child: Child,
    ready: Value,
}

impl Server {
    /// Starts a server that listens on a free port of loopback.
    pub fn start(folder: &Path) -> Result<Self, String> {
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

    /// Returns a member of its ready file: `url`, `api_key`, `admin_token`, `password`.
    pub fn ready(&self, name: &str) -> Result<&str, String> {
        self.ready[name].as_str().ok_or_else(|| format!("the ready file has no {name}"))
    }

    /// Runs a command of the operator and returns what it prints.
    pub fn command(&self, words: &[&str]) -> Result<Value, String> {
        let at = ["--json", "--url", self.ready("url")?, "--admin-token", self.ready("admin_token")?];
        let output = Command::new(binary()?).args(words).args(at).output().map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Stops the server; one that has already ended is a failure.
    pub fn stop(mut self) -> Done {
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
