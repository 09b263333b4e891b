//! Server processes: the service and the bare one, with their CPU time and memory.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Failed;

/// A server process.
pub struct Server {
    child: Child,
    /// `host:port`
    pub address: String,
    /// The owner's API key, on a first start.
    pub key: String,
    /// From start to answer.
    pub start: Duration,
}

impl Server {
    /// The service on a store.
    pub fn service(data: &Path) -> Result<Self, Failed> {
        let ready = data.with_extension("ready.json");
        let _ = std::fs::remove_file(&ready);
        let began = Instant::now();
        let child = Command::new(beside("switchboard")?)
            .args(["serve", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--data"])
            .arg(data)
            .arg("--ready-file")
            .arg(&ready)
            .env("SWITCHBOARD_LOG", "warn")
            .stdout(Stdio::null())
            .spawn()?;
        let mut server = Self { child, address: String::new(), key: String::new(), start: Duration::ZERO };
        while !ready.is_file() {
            if began.elapsed() > Duration::from_mins(1) {
                return Err("the service does not answer".into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        server.start = began.elapsed();
        let told: Value = serde_json::from_slice(&std::fs::read(&ready)?)?;
        let text = |name: &str| told[name].as_str().unwrap_or_default().to_owned();
        text("url").trim_start_matches("http://").clone_into(&mut server.address);
        server.key = text("api_key");
        Ok(server)
    }

    /// Bare hyper that answers so many bytes.
    pub fn bare(bytes: usize) -> Result<Self, Failed> {
        let began = Instant::now();
        let mut child =
            Command::new(std::env::current_exe()?).args(["bare", &bytes.to_string()]).stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut address)?;
        Ok(Self { child, address: address.trim().to_owned(), key: String::new(), start: began.elapsed() })
    }

    /// CPU time so far, milliseconds (user and system, ticks of 10 ms).
    pub fn cpu_ms(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0);
        (ticks(11) + ticks(12)) * 10.0
    }

    /// Resident memory, MiB.
    pub fn memory_mib(&self) -> f64 {
        self.status_mib("VmRSS:")
    }

    /// The most resident memory that it ever had, MiB.
    pub fn peak_mib(&self) -> f64 {
        self.status_mib("VmHWM:")
    }

    fn status_mib(&self, name: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn beside(name: &str) -> Result<PathBuf, Failed> {
    let path = std::env::current_exe()?.with_file_name(name);
    if path.is_file() {
        Ok(path)
    } else {
        Err(format!("{} is missing: cargo build --release -p switchboard", path.display()).into())
    }
}
