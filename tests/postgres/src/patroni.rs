//! [`PatroniCluster`]: PostgreSQL servers of which Patroni keeps one the primary, over an etcd of one process.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use rustix::process::geteuid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::configuration::Configuration;
use crate::connections::Login;
use crate::instance::{SUPERUSER, free_port};
use crate::launch::{Launch, missing, spawn};
use crate::packages;
use crate::programs::Programs;
use crate::runtime::wait_until;
use crate::session::SqlSession;

/// What is fetched, with what the first of them needs.
const PACKAGES: [&str; 2] = ["patroni", "etcd-server"];
/// Name under which the members find each other.
const SCOPE: &str = "calls";
/// Seconds after which a primary that was not heard of is replaced: the fewest that Patroni takes.
const TTL: u32 = 20;
/// Seconds between two looks of a member.
const LOOK: u32 = 2;
/// Seconds for which a member tries to reach the etcd or its PostgreSQL again.
const RETRY: u32 = 5;
/// How long a member may take to answer what it is asked; a switch is answered when it is done.
const ANSWERED: Duration = Duration::from_secs(40);

static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let folder = packages::target().join("patroni");
    packages::unpacked(&folder, || Ok(PACKAGES.map(str::to_owned).to_vec()))
        .map_err(|why| format!("the packages of Patroni and etcd cannot be fetched: {why}"))
});

/// PostgreSQL servers with a primary, which others replace when it dies: each commit waits for one of them. Each member is
/// a Patroni with its PostgreSQL, in a space of processes of its own: they die together, as on a machine. It needs root,
/// or a kernel that gives everyone namespaces of users.
pub struct PatroniCluster {
    // Before the folder that they use.
    members: Vec<Member>,
    _etcd: Running,
    /// The login of the superuser.
    superuser: Login,
    _folder: TempDir,
}

struct Member {
    name: String,
    /// Where its PostgreSQL listens.
    address: SocketAddr,
    /// Where it is asked and told what to do.
    desk: SocketAddr,
    launch: Launch,
    configuration: Configuration,
    running: Option<Running>,
}

/// A process that is killed with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl PatroniCluster {
    /// Starts so many members, of which one becomes the primary, and waits until one follows it that commits wait for.
    pub fn start(count: usize) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
        let launch = Launch::new(Vec::new())?;
        Configuration::new(folder.path(), launch.account)?;
        let (etcd, store) = etcd(&launch, &folder.path().join("etcd"))?;
        let (superuser, replicator) = (Login::draw(SUPERUSER), Login::draw("replicator"));
        let member = |number: usize| -> Result<Member, String> {
            let name = format!("member{number}");
            let own = folder.path().join(&name);
            std::fs::create_dir(&own).map_err(|error| format!("{}: {error}", own.display()))?;
            let launch = Launch::new(entrance())?;
            let configuration = Configuration::new(&own, launch.account)?;
            let local = || free_port().map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
            let member = Member { name, address: local()?, desk: local()?, launch, configuration, running: None };
            member.configure(store, &superuser, &replicator)?;
            Ok(member)
        };
        let members = (0..count).map(member).collect::<Result<_, _>>()?;
        let mut cluster = Self { members, _etcd: etcd, superuser, _folder: folder };
        cluster.members.iter_mut().try_for_each(Member::start)?;
        cluster.wait_until_whole()?;
        Ok(cluster)
    }

    /// Returns where the servers listen.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.members.iter().map(|member| member.address).collect()
    }

    /// Makes a role that may log in, with a drawn password, and a database of the same name that it owns.
    pub fn create_database(&self, name: &str) -> Result<Login, String> {
        let login = Login::draw(name);
        let config = self.superuser.config(self.members[self.primary()?].address);
        let session = SqlSession::open(&config).map_err(|error| format!("a session: {error}"))?;
        session.run(&format!("CREATE ROLE \"{name}\" LOGIN PASSWORD '{}'", login.password))?;
        session.run(&format!("CREATE DATABASE \"{name}\" OWNER \"{name}\""))?;
        Ok(login)
    }

    /// Has the member that commits wait for become the primary, in order, and waits until the cluster is whole again.
    pub fn switch_over(&self) -> Result<(), String> {
        let primary = self.primary()?;
        let names = json!({ "leader": self.members[primary].name });
        self.members[primary].ask("POST", "/switchover", Some(&names))?;
        self.wait_for_another(primary)?;
        self.wait_until_whole()
    }

    /// Kills the primary with its PostgreSQL, waits until another member is the primary, starts the one that was killed,
    /// and waits until the cluster is whole again.
    pub fn kill_primary(&mut self) -> Result<(), String> {
        let primary = self.primary()?;
        self.members[primary].running = None;
        self.wait_for_another(primary)?;
        self.members[primary].start()?;
        self.wait_until_whole()
    }

    fn wait_for_another(&self, than: usize) -> Result<(), String> {
        wait_until("another member is the primary", || self.primary().is_ok_and(|primary| primary != than))
    }

    /// Waits until all members run, and commits wait for one of them.
    fn wait_until_whole(&self) -> Result<(), String> {
        let whole = || {
            let members = self.shown();
            let are = |role: &str, state: &str| {
                members.iter().filter(|member| member["role"] == role && member["state"] == state).count()
            };
            let following = are("sync_standby", "running") + are("sync_standby", "streaming");
            let others = are("replica", "running") + are("replica", "streaming");
            are("leader", "running") == 1 && following == 1 && 2 + others == self.members.len()
        };
        wait_until("all members run, and commits wait for one of them", whole)
            .map_err(|why| format!("{why}; they are {}", Value::Array(self.shown())))
    }

    /// Returns the member that takes writes.
    fn primary(&self) -> Result<usize, String> {
        let is_primary = |member: &Member| member.ask("GET", "/primary", None).is_ok();
        self.members.iter().position(is_primary).ok_or_else(|| "no member is the primary".into())
    }

    /// Returns the members as one of them sees them.
    fn shown(&self) -> Vec<Value> {
        let shown = self.members.iter().find_map(|member| member.ask("GET", "/cluster", None).ok());
        let shown = shown.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        shown.and_then(|cluster| cluster["members"].as_array().cloned()).unwrap_or_default()
    }
}

impl Member {
    fn configure(&self, etcd: SocketAddr, superuser: &Login, replicator: &Login) -> Result<(), String> {
        let role = |login: &Login| json!({ "username": login.name, "password": login.password });
        let path = |name: &str| self.configuration.path(name).display().to_string();
        let parameters = json!({
            "dynamic_shared_memory_type": "mmap", "max_connections": 40, "shared_buffers": "16MB", "timezone": "GMT",
            "log_timezone": "GMT", "password_encryption": "scram-sha-256",
        });
        // What is JSON is YAML.
        let text = json!({
            "scope": SCOPE,
            "name": self.name,
            "restapi": { "listen": self.desk.to_string(), "connect_address": self.desk.to_string() },
            "etcd3": { "host": etcd.to_string() },
            "bootstrap": {
                "dcs": {
                    "ttl": TTL, "loop_wait": LOOK, "retry_timeout": RETRY,
                    "synchronous_mode": true, "synchronous_mode_strict": true,
                    "postgresql": { "use_pg_rewind": true, "parameters": parameters },
                },
                "initdb": [{ "encoding": "UTF8" }, "data-checksums"],
            },
            "postgresql": {
                "listen": self.address.to_string(),
                "connect_address": self.address.to_string(),
                "data_dir": path("data"),
                "bin_dir": Programs::find()?.folder().display().to_string(),
                "pgpass": path("pgpass"),
                "authentication": {
                    "superuser": role(superuser), "replication": role(replicator), "rewind": role(superuser),
                },
                "parameters": { "unix_socket_directories": "" },
                "pg_hba": [
                    "host all all 127.0.0.1/32 scram-sha-256", "host replication all 127.0.0.1/32 scram-sha-256",
                ],
            },
        });
        self.configuration.write("patroni.yml", &text.to_string())
    }

    fn start(&mut self) -> Result<(), String> {
        let root = FOUND.clone()?;
        let mut command = self.launch.command(Path::new("/usr/bin/python3"));
        command
            .arg(root.join("usr/bin/patroni"))
            .arg(self.configuration.path("patroni.yml"))
            .env("PYTHONPATH", root.join("usr/lib/python3/dist-packages"))
            .env("HOME", self.configuration.path(""));
        self.running = Some(logged(command, &self.configuration.path("log"))?);
        Ok(())
    }

    /// Asks it, and returns the answer's body; an error is what it says against that.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Result<String, String> {
        let told = |error: std::io::Error| format!("{}: {error}", self.name);
        let body = body.map(Value::to_string).unwrap_or_default();
        let mut stream = TcpStream::connect_timeout(&self.desk, Duration::from_secs(1)).map_err(told)?;
        stream.set_read_timeout(Some(ANSWERED)).map_err(told)?;
        let head = format!("{method} {path} HTTP/1.0\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all((head + &body).as_bytes()).map_err(told)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(told)?;
        let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let is_good = head.split(' ').nth(1).is_some_and(|status| status == "200");
        if is_good { Ok(text.to_owned()) } else { Err(format!("{}: {text}", self.name)) }
    }
}

impl Drop for PatroniCluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for member in &self.members {
                let log = std::fs::read_to_string(member.configuration.path("log")).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                eprintln!("the log of {} ends:\n{}", member.name, lines[lines.len().saturating_sub(30)..].join("\n"));
            }
        }
    }
}

/// Starts the etcd; returns where it is asked.
fn etcd(launch: &Launch, data: &Path) -> Result<(Running, SocketAddr), String> {
    let [asked, peers] = [free_port()?, free_port()?].map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    let (asked_url, peers_url) = (format!("http://{asked}"), format!("http://{peers}"));
    let mut command = launch.command(&FOUND.clone()?.join("usr/bin/etcd"));
    command.arg("--data-dir").arg(data).args([
        "--unsafe-no-fsync",
        "--listen-client-urls",
        &asked_url,
        "--advertise-client-urls",
        &asked_url,
        "--listen-peer-urls",
        &peers_url,
        "--initial-advertise-peer-urls",
        &peers_url,
        "--initial-cluster",
        &format!("default={peers_url}"),
    ]);
    let etcd = logged(command, &data.with_extension("log"))?;
    wait_until("the etcd answers", || TcpStream::connect(asked).is_ok())?;
    Ok((etcd, asked))
}

/// Returns the beginning of the command line of what has a space of processes of its own.
fn entrance() -> Vec<String> {
    let users: &[&str] = if geteuid().is_root() { &[] } else { &["--user", "--map-current-user"] };
    let words = [&["setpriv", "--pdeathsig=KILL", "--", "unshare"], users, &["--fork", "--pid", "--mount-proc", "--"]];
    words.concat().into_iter().map(str::to_owned).collect()
}

fn logged(mut command: Command, log: &Path) -> Result<Running, String> {
    let file = File::options().create(true).append(true).open(log);
    let files = file.and_then(|file| Ok((file.try_clone()?, file))).map_err(|error| format!("a log: {error}"))?;
    command.stdout(Stdio::from(files.0)).stderr(Stdio::from(files.1));
    spawn(command).map(Running).map_err(|error| missing(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "fetches Debian's packages, and takes a minute"]
    fn another_member_takes_over() {
        let mut cluster = PatroniCluster::start(3).expect("a cluster");
        let login = cluster.create_database("things").expect("a database");
        let first = cluster.primary().expect("a primary");
        cluster.switch_over().expect("a switch");
        let second = cluster.primary().expect("a primary");
        assert_ne!(first, second);
        cluster.kill_primary().expect("another one");
        let third = cluster.primary().expect("a primary");
        assert_ne!(second, third);
        let session = SqlSession::open(&login.config(cluster.addresses()[third])).expect("a session");
        session.run("CREATE TABLE one (n int)").expect("it takes writes");
    }
}
