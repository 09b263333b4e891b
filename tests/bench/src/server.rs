//! Server processes: the service, the bare server and others, with their CPU time, memory and bytes written.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Failed;

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_mins(1);

/// Bytes of a sector, in which Linux counts for every disk.
const SECTOR: f64 = 512.0;

/// A server process, killed on drop.
pub struct Server {
    child: Child,
    /// Address of its listener, `host:port`.
    pub address: String,
    /// The owner's API key; empty unless this was the store's first start.
    pub key: String,
    /// The operator's token; empty unless this was the store's first start.
    pub admin: String,
    /// Time from the start of the process until it answers.
    pub start: Duration,
    /// Counters of the disk that its store is on.
    disk: Option<PathBuf>,
}

impl Server {
    /// Starts the service on a store, without an engine.
    pub fn service(data: &Path) -> Result<Self, Failed> {
        Self::service_with(data, &["--engine", "none"])
    }

    /// Starts the service on a store with further arguments.
    pub fn service_with(data: &Path, arguments: &[&str]) -> Result<Self, Failed> {
        Self::of_binary(&beside("switchboard")?, data, arguments)
    }

    /// Starts another build of the service on a store.
    pub fn of_binary(binary: &Path, data: &Path, arguments: &[&str]) -> Result<Self, Failed> {
        let ready = data.with_extension("ready.json");
        let _ = std::fs::remove_file(&ready);
        let began = Instant::now();
        let child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--data"])
            .arg(data)
            .arg("--ready-file")
            .arg(&ready)
            .args(arguments)
            .env("SWITCHBOARD_LOG", std::env::var("SWITCHBOARD_LOG").unwrap_or_else(|_| "error".into()))
            .stdout(Stdio::null())
            .spawn()?;
        let mut server = Self::of(child);
        while !ready.is_file() {
            if began.elapsed() > PATIENCE {
                return Err("the service does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        server.start = began.elapsed();
        server.disk = disk_of(data);
        let told: Value = serde_json::from_slice(&std::fs::read(&ready)?)?;
        let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        text("url").trim_start_matches("http://").clone_into(&mut server.address);
        (server.key, server.admin) = (text("api_key"), text("admin_token"));
        Ok(server)
    }

    /// Starts bare hyper, which sends the given response, head and body, to every request.
    pub fn bare(answer: &[u8]) -> Result<Self, Failed> {
        let mut child =
            Command::new(std::env::current_exe()?).arg("bare").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        child.stdin.take().ok_or("no input")?.write_all(answer)?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut address)?;
        let mut server = Self::of(child);
        address.trim().clone_into(&mut server.address);
        Ok(server)
    }

    /// Starts another program; `command` must make it listen on the given port of 127.0.0.1.
    pub fn other(command: impl FnOnce(u16) -> Command) -> Result<Self, Failed> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let began = Instant::now();
        let mut server = Self::of(command(port).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?);
        server.address = format!("127.0.0.1:{port}");
        while TcpStream::connect(&server.address).is_err() {
            if began.elapsed() > PATIENCE || server.child.try_wait()?.is_some() {
                return Err("the other server does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        server.start = began.elapsed();
        Ok(server)
    }

    fn of(child: Child) -> Self {
        Self {
            child,
            address: String::new(),
            key: String::new(),
            admin: String::new(),
            start: Duration::ZERO,
            disk: None,
        }
    }

    /// Sends a request with curl as the owner; returns the JSON of a successful response.
    pub fn curl(&self, method: &str, target: &str, arguments: &[&str]) -> Result<Value, Failed> {
        self.curl_as(&self.key, method, target, arguments)
    }

    /// Sends a request with curl and the given token; returns the JSON of a successful response.
    pub fn curl_as(&self, token: &str, method: &str, target: &str, arguments: &[&str]) -> Result<Value, Failed> {
        let output = Command::new("curl")
            .args(["-fsS", "-X", method, "-H", &format!("Authorization: Bearer {token}")])
            .args(arguments)
            .arg(format!("http://{}{target}", self.address))
            .output()?;
        if !output.status.success() {
            return Err(format!("{target}: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Sends a JSON body with curl as the owner; returns the JSON of a successful response.
    pub fn send(&self, method: &str, target: &str, body: &Value) -> Result<Value, Failed> {
        self.curl(method, target, &["-H", "Content-Type: application/json", "-d", &body.to_string()])
    }

    /// Returns the CPU time so far, milliseconds (user and system, in ticks of 10 ms).
    pub fn cpu_ms(&self) -> f64 {
        cpu_ms(self.child.id())
    }

    /// Returns the processor time of each of its threads so far, nanoseconds, by thread id.
    pub fn thread_cpu(&self) -> BTreeMap<String, u64> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        let of = |path: PathBuf| {
            let line = std::fs::read_to_string(path.join("schedstat")).ok()?;
            Some((path.file_name()?.to_string_lossy().into_owned(), line.split(' ').next()?.parse().ok()?))
        };
        tasks.filter_map(|task| of(task.path())).collect()
    }

    /// Stops the process with SIGTERM and waits for a clean exit.
    pub fn stop(mut self) -> Result<(), Failed> {
        let asked = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        let ended = self.child.wait()?;
        if asked.success() && ended.success() { Ok(()) } else { Err("the service does not stop well".into()) }
    }

    /// Returns the bytes that it has caused to be written to disks so far, as the system counts them when it marks
    /// memory as changed: too many where a file stands in memory in large pieces.
    pub fn written(&self) -> f64 {
        number(&self.proc("io"), "write_bytes:")
    }

    /// Returns the bytes that were written so far to the disk that its store is on, by whomever; where no disk tells,
    /// those of [`Self::written`].
    pub fn written_to_disk(&self) -> f64 {
        let counters = self.disk.as_deref().and_then(|file| std::fs::read_to_string(file).ok());
        let sectors = counters.and_then(|line| line.split_whitespace().nth(6)?.parse::<f64>().ok());
        sectors.map_or_else(|| self.written(), |sectors| sectors * SECTOR)
    }

    /// Returns the resident memory, MiB.
    pub fn memory_mib(&self) -> f64 {
        number(&self.proc("status"), "VmRSS:") / 1024.0
    }

    /// Returns the peak resident memory, MiB.
    pub fn peak_mib(&self) -> f64 {
        number(&self.proc("status"), "VmHWM:") / 1024.0
    }

    fn proc(&self, name: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{name}", self.child.id())).unwrap_or_default()
    }
}

/// Returns the CPU time of a process so far, milliseconds (user and system, in ticks of 10 ms); 0 if it is gone.
pub fn cpu_ms(process: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) * 10.0
}

fn number(lines: &str, name: &str) -> f64 {
    let line = lines.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|value| value.parse().ok()).unwrap_or(0.0)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the file with the counters of the disk that a folder is on.
fn disk_of(folder: &Path) -> Option<PathBuf> {
    let device = std::fs::metadata(folder).ok()?.dev();
    let file =
        PathBuf::from(format!("/sys/dev/block/{}:{}/stat", rustix::fs::major(device), rustix::fs::minor(device)));
    file.is_file().then_some(file)
}

/// Returns the path of a program that was built beside this one.
pub fn beside(name: &str) -> Result<PathBuf, Failed> {
    let path = std::env::current_exe()?.with_file_name(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} is missing: cargo build --release -p switchboard", path.display()).into())
    }
}
