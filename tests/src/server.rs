//! [`Server`]: the built binary on a free port, with a store in a temporary folder.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::refusals::is_documented;

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A temporary folder, removed on drop.
pub struct Folder(pub PathBuf);

impl Default for Folder {
    fn default() -> Self {
        Self::new()
    }
}

impl Folder {
    /// Creates an empty folder with a name unique to this process.
    pub fn new() -> Self {
        let name = format!("switchboard-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }

    /// Returns the path of an entry in the folder; nothing is created.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the binary under test: the one that `SWITCHBOARD_BINARY` names, else the one built beside this program or in
/// the folder above it.
pub fn binary() -> PathBuf {
    if let Some(named) = std::env::var_os("SWITCHBOARD_BINARY") {
        return named.into();
    }
    let own = std::env::current_exe().expect("this program's path");
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join("switchboard")).find(|path| path.is_file());
    found.expect("build the binary first: cargo build -p switchboard")
}

/// Runs a command of the binary to its end and returns its output.
pub fn run(arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).stdin(Stdio::null()).output().expect("the binary runs")
}

/// Returns what a command that is refused says.
///
/// # Panics
/// If it is not.
pub fn refusal(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A running server, killed on drop.
pub struct Server {
    child: Child,
    /// Contents of its ready file: `url` and, on a first start, the owner's secrets. Null until it is ready.
    pub ready: Value,
}

impl Server {
    /// Starts a server on a store and waits until it answers.
    pub fn start(data: &Path, arguments: &[&str]) -> Self {
        Self::spawn(Command::new(binary()), data, arguments).wait()
    }

    /// Starts a server with extra environment variables and its log sent to `log`, and waits until it answers.
    pub fn start_logging(data: &Path, arguments: &[&str], environment: &[(&str, &str)], log: impl Into<Stdio>) -> Self {
        let mut command = Command::new(binary());
        command.envs(environment.iter().copied()).stderr(log);
        Self::spawn(command, data, arguments).wait()
    }

    /// Starts a server by a command that ends in the binary (a wrapper may come first), without waiting for it.
    ///
    /// # Panics
    /// If the program does not exist.
    pub fn spawn(mut command: Command, data: &Path, arguments: &[&str]) -> Starting {
        let ready_file = data.with_extension("ready.json");
        let _ = std::fs::remove_file(&ready_file);
        if command.get_envs().all(|(name, _)| name != "SWITCHBOARD_LOG") {
            // Expected here: the warning about unencrypted secrets, and the file with those of the first start.
            command.env("SWITCHBOARD_LOG", "warn,switchboard::cli=error");
        }
        let listen: &[&str] = if arguments.contains(&"--listen") { &[] } else { &["--listen", "127.0.0.1:0"] };
        let child = command
            .arg("serve")
            .args(listen)
            .arg("--data")
            .arg(data)
            .arg("--ready-file")
            .arg(&ready_file)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the server starts");
        Starting { server: Self { child, ready: Value::Null }, ready_file }
    }

    /// Process id, for signals and for what the system says of the process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether the process has ended, by itself or by a signal.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_some()
    }

    /// Returns a text member of its ready file, such as `url` or `admin_token`.
    pub fn text(&self, name: &str) -> &str {
        self.ready[name].as_str().unwrap_or_else(|| panic!("no {name} in the ready file"))
    }

    /// Sends a request that is to succeed, to a path of the server; returns its JSON.
    ///
    /// # Panics
    /// If it is refused.
    pub fn ask(&self, method: &str, path: &str, token: &str, body: Option<&Value>) -> Value {
        ask(method, &format!("{}{path}", self.text("url")), token, body)
    }

    /// Creates a second account and returns its API key.
    pub fn second_account(&self) -> String {
        let body = json!({ "name": "Other", "email": "other@example.com" });
        let made = self.ask("POST", "/admin/accounts", self.text("admin_token"), Some(&body));
        made["api_key"].as_str().expect("a key").to_owned()
    }

    /// Kills the process with no chance to clean up, as a power cut would.
    pub fn kill(mut self) {
        self.child.kill().expect("a running child");
        self.child.wait().expect("a child");
    }

    /// Stops the process with SIGTERM and returns its exit code; `None` when a signal ended it.
    pub fn stop(mut self) -> Option<i32> {
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(asked.success());
        self.child.wait().expect("a child").code()
    }
}

/// A server that was started but may not answer yet.
pub struct Starting {
    server: Server,
    ready_file: PathBuf,
}

impl Starting {
    /// Returns the server once it answers.
    ///
    /// # Panics
    /// If the process ends first, or does not answer within a minute.
    pub fn wait(self) -> Server {
        self.outcome().unwrap_or_else(|code| panic!("the server ended before it answered: {code:?}"))
    }

    /// Returns the server once it answers, or its exit code if it ends first.
    pub fn outcome(mut self) -> Result<Server, Option<i32>> {
        let patience = Instant::now() + Duration::from_mins(1);
        while !self.ready_file.is_file() {
            if let Some(status) = self.server.child.try_wait().expect("a child") {
                return Err(status.code());
            }
            assert!(Instant::now() < patience, "the server does not answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        let ready = std::fs::read(&self.ready_file).expect("the ready file");
        self.server.ready = serde_json::from_slice(&ready).expect("JSON");
        Ok(self.server)
    }

    /// Kills the process, whether it answers or not.
    pub fn kill(self) {
        self.server.kill();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends one request that is to succeed on its own connection; returns its JSON.
///
/// # Panics
/// If it is refused.
pub fn ask(method: &str, url: &str, token: &str, body: Option<&Value>) -> Value {
    let (status, found) = call(method, url, token, body);
    assert!((200..300).contains(&status), "{method} {url}: {status} {found}");
    found
}

/// Sends one request on its own connection; returns the status, and the body as JSON or null.
pub fn call(method: &str, url: &str, token: &str, body: Option<&Value>) -> (u16, Value) {
    let (status, _, bytes) = send(method, url, token, &[], body.map(Value::to_string).unwrap_or_default());
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Like [`call`], with extra headers and any body; returns the status, the response headers as text, and the body. An
/// empty token is not sent.
///
/// # Panics
/// If no reply arrives, or its status is one that the document does not name.
pub fn send(
    method_name: &str,
    url: &str,
    token: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> (u16, String, Vec<u8>) {
    let body = body.as_ref();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let client = switchboard::send::client().expect("TLS").build().expect("a client");
        let method = reqwest::Method::from_bytes(method_name.as_bytes()).expect("a method");
        let mut request = client.request(method, url);
        if !token.is_empty() {
            request = request.bearer_auth(token);
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !body.is_empty() {
            if headers.iter().all(|(name, _)| *name != "content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body.to_vec());
        }
        let reply = request.send().await.expect("an answer");
        let (status, head) = (reply.status().as_u16(), format!("{:?}", reply.headers()));
        let target = url.splitn(4, '/').nth(3).map(|rest| format!("/{rest}")).unwrap_or_default();
        assert!(is_documented(method_name, &target, status), "{method_name} {target} ends in {status}");
        (status, head, reply.bytes().await.expect("a body").to_vec())
    })
}
