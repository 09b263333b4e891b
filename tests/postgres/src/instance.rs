//! [`Instance`]: a PostgreSQL server with its data, from `initdb` until the value is dropped.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::process::Signal;
use tempfile::TempDir;
use tokio_postgres::Config;

use crate::authority::Identity;
use crate::configuration::{Configuration, REVISION, Settings, defaults};
use crate::connections::Login;
use crate::disk::SmallDisk;
use crate::launch::{Launch, missing, spawn};
use crate::pause::Pause;
use crate::postmaster::Postmaster;
use crate::runtime::{PATIENCE, wait_until};
use crate::session::{SqlSession, TextRow};

/// The role that may do everything, and the database that every server has.
pub const SUPERUSER: &str = "postgres";
/// Name under which the harness's own connections appear in `pg_stat_activity`.
pub const HARNESS: &str = "harness";
/// Ports of servers and proxies: below those that systems hand out to outgoing connections, so that a server that was
/// killed finds its own free again.
const PORTS: std::ops::Range<u16> = 20_000..32_000;
/// How often another port is tried when somebody else took the one that was free.
const PORT_TRIES: usize = 5;
/// The file system that Linux keeps in memory.
const MEMORY: &str = "/dev/shm";
/// Bytes that are free there if there is room for a server.
const ROOM: u64 = 2 << 30;
/// Lines of its log that an error or a failed test shows.
const LOG_LINES: usize = 40;

/// What a server is started with.
pub struct InstanceOptions {
    settings: Settings,
    identity: Option<Identity>,
    disk: Option<SmallDisk>,
    is_in_memory: bool,
}

impl InstanceOptions {
    /// Gives a setting of `postgresql.conf`, such as `max_connections`. Where the server listens is not for a test.
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.into(), value.to_string());
        self
    }

    /// Presents this certificate. Then all but superusers must come with TLS.
    pub fn tls(mut self, identity: &Identity) -> Self {
        self.identity = Some(identity.clone());
        self
    }

    /// Puts the data on a small disk.
    pub fn on(mut self, disk: SmallDisk) -> Self {
        self.disk = Some(disk);
        self
    }

    /// Keeps the data in the machine's memory, where that has room: a disk that many tests write to stands still for
    /// seconds now and then, and whoever waits for it is refused. What is stored outlives the server, as on a disk.
    pub fn in_memory(mut self) -> Self {
        self.is_in_memory = true;
        self
    }

    /// Makes a new server, and returns when it answers.
    pub fn start(self) -> Result<Instance, String> {
        let superuser = Login::draw(SUPERUSER);
        self.start_from(superuser, |instance| {
            instance.configuration.write("password", &instance.superuser.password)?;
            let password = format!("--pwfile={}", instance.configuration.path("password").display());
            let data = format!("--pgdata={}", instance.data.display());
            // A small disk has no room for sixteen of the usual files of 16 MiB.
            let segment = if instance.disk.is_some() { "--wal-segsize=1" } else { "--wal-segsize=16" };
            let role = format!("--username={SUPERUSER}");
            let arguments = [&data, &role, &password, "--auth=scram-sha-256", "--encoding=UTF8", "--no-sync", segment];
            instance.launch.run("initdb", &arguments, &[])
        })
    }

    /// Makes a server over data that `fill` puts there.
    pub(crate) fn start_from(
        mut self,
        superuser: Login,
        fill: impl FnOnce(&Instance) -> Result<(), String>,
    ) -> Result<Instance, String> {
        let launch = Launch::new(self.disk.as_ref().map(SmallDisk::entrance).unwrap_or_default())?;
        let made = if self.is_in_memory && has_room(Path::new(MEMORY)) {
            TempDir::new_in(MEMORY)
        } else {
            tempfile::tempdir()
        };
        let folder = made.map_err(|error| format!("a temporary folder: {error}"))?;
        let configuration = Configuration::new(folder.path(), launch.account)?;
        if self.identity.is_some() {
            self.settings.extend(configuration.encryption());
        }
        configuration.write_access(self.identity.as_ref())?;
        let instance = Instance {
            postmaster: Mutex::default(),
            data: self.disk.as_ref().map_or_else(|| folder.path().join("data"), SmallDisk::data),
            settings: Mutex::new(self.settings),
            revision: AtomicU64::default(),
            port: Mutex::new(free_port()?),
            superuser,
            identity: self.identity,
            launch,
            configuration,
            disk: self.disk,
            is_in_memory: self.is_in_memory,
            _folder: folder,
        };
        fill(&instance)?;
        for _ in 1..PORT_TRIES {
            match instance.start() {
                Err(why) if why.contains("could not bind") => *lock(&instance.port) = free_port()?,
                other => return other.map(|()| instance),
            }
        }
        instance.start().map(|()| instance)
    }
}

fn has_room(folder: &Path) -> bool {
    rustix::fs::statvfs(folder).is_ok_and(|told| told.f_bavail.saturating_mul(told.f_frsize) >= ROOM)
}

/// A PostgreSQL server on loopback. Its methods may be called from several threads. When it is dropped the server ends
/// and its data go; if that is because a test fails, the end of its log is shown.
pub struct Instance {
    // First, since it must end before its disk goes.
    postmaster: Mutex<Option<Postmaster>>,
    pub(crate) data: PathBuf,
    settings: Mutex<Settings>,
    revision: AtomicU64,
    port: Mutex<u16>,
    /// The login of its superuser.
    pub superuser: Login,
    pub(crate) identity: Option<Identity>,
    pub(crate) launch: Launch,
    configuration: Configuration,
    disk: Option<SmallDisk>,
    pub(crate) is_in_memory: bool,
    _folder: TempDir,
}

impl Instance {
    /// Returns the options of a server that is as its release comes, but for a few connections and little memory.
    pub fn options() -> InstanceOptions {
        InstanceOptions { settings: defaults(), identity: None, disk: None, is_in_memory: false }
    }

    /// Returns where it listens, running or not.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, *lock(&self.port)).into()
    }

    /// Returns the small disk of its data.
    pub fn disk(&self) -> Option<&SmallDisk> {
        self.disk.as_ref()
    }

    /// Starts it again after it was stopped or killed, or ended by itself, and returns when it answers.
    pub fn start(&self) -> Result<(), String> {
        let mut running = lock(&self.postmaster);
        if running.as_mut().is_some_and(Postmaster::is_running) {
            return Err("the server runs already".into());
        }
        *running = None;
        self.write_settings()?;
        let log = File::options().create(true).append(true).open(self.configuration.path("log"));
        let log = log.and_then(|log| Ok((log.try_clone()?, log))).map_err(|error| format!("the log: {error}"))?;
        let mut command = self.launch.program("postgres");
        command.arg("-D").arg(&self.data).stdout(Stdio::from(log.0)).stderr(Stdio::from(log.1));
        for (setting, file) in [("config_file", "postgresql.conf"), ("hba_file", "pg_hba.conf")] {
            command.arg("-c").arg(format!("{setting}={}", self.configuration.path(file).display()));
        }
        let mut postmaster = Postmaster::new(spawn(command).map_err(|error| missing(&error))?);
        if let Err(why) = self.wait_until_it_answers(|| postmaster.is_running()) {
            postmaster.kill();
            return Err(format!("the server does not start ({why}):\n{}", self.log_end()));
        }
        *running = Some(postmaster);
        Ok(())
    }

    /// Brings it back after a crash: waits until it answers, if it recovers by itself, and else starts it again.
    pub fn recover(&self) -> Result<(), String> {
        match self.wait_until_it_answers(|| self.is_running()) {
            Err(_) if !self.is_running() => self.start(),
            waited => waited,
        }
    }

    /// Waits until it takes connections; fails if it ends.
    fn wait_until_it_answers(&self, mut is_running: impl FnMut() -> bool) -> Result<(), String> {
        let mut refused = None;
        let waited = wait_until("the server answers", || {
            refused = SqlSession::open(&self.config()).err();
            refused.is_none() || !is_running()
        });
        match refused {
            // Somebody else may listen there.
            None if is_running() => waited,
            None => Err("it has ended".into()),
            Some(refused) => Err(refused.to_string()),
        }
    }

    /// Stops it in order ("fast"): open transactions are rolled back. It waits for its standbys, so one that is paused
    /// holds it up.
    pub fn stop(&self) -> Result<(), String> {
        let mut postmaster = self.take()?;
        postmaster.signal(Signal::INT);
        if postmaster.ends_within(PATIENCE) {
            Ok(())
        } else {
            Err(format!("the server does not stop:\n{}", self.log_end()))
        }
    }

    /// Stops it in order and starts it again.
    pub fn restart(&self) -> Result<(), String> {
        self.stop()?;
        self.start()
    }

    /// Kills all its processes with `SIGKILL`, as a power cut would, and returns when they are gone.
    pub fn kill(&self) -> Result<(), String> {
        self.take().map(|mut postmaster| postmaster.kill())
    }

    /// Whether its first process runs; it may have ended by itself.
    pub fn is_running(&self) -> bool {
        lock(&self.postmaster).as_mut().is_some_and(Postmaster::is_running)
    }

    /// Returns its processes by their ids, the first one first; none if it does not run.
    pub fn processes(&self) -> Vec<u32> {
        let mut postmaster = lock(&self.postmaster);
        let running = postmaster.as_mut().and_then(|one| one.is_running().then(|| one.processes()));
        running.unwrap_or_default()
    }

    /// Lets all its processes stand still (`SIGSTOP`), until the value is dropped. Connections stay open and new ones
    /// are taken by the kernel, but nobody answers.
    pub fn pause(&self) -> Result<Pause, String> {
        let first: Vec<u32> = self.processes().into_iter().take(1).collect();
        let first = if first.is_empty() { Err("the server does not run".to_owned()) } else { Pause::new(first) }?;
        // Listed only when the first one starts no more.
        let rest = Pause::new(self.processes().split_off(1))?;
        Ok(first.with(rest))
    }

    /// Returns its whole log.
    pub fn log(&self) -> String {
        fs::read(self.configuration.path("log"))
            .map(|log| String::from_utf8_lossy(&log).into_owned())
            .unwrap_or_default()
    }

    /// Returns how a superuser connects.
    pub fn config(&self) -> Config {
        let mut config = self.superuser.config(self.address());
        config.application_name(HARNESS);
        config
    }

    /// Connects as a superuser.
    pub fn session(&self) -> Result<SqlSession, String> {
        SqlSession::open(&self.config()).map_err(|error| format!("a session: {error}"))
    }

    /// Runs statements as a superuser on a connection of their own.
    pub fn run(&self, sql: &str) -> Result<Vec<TextRow>, String> {
        self.session()?.run(sql)
    }

    /// Runs a query as a superuser, and returns the first value of its first row; an empty text if there is none, or
    /// NULL.
    pub fn value(&self, sql: &str) -> Result<String, String> {
        Ok(self.run(sql)?.into_iter().flatten().next().flatten().unwrap_or_default())
    }

    /// Makes a role that may log in, with a drawn password, and a database of the same name that it owns.
    pub fn create_database(&self, name: &str) -> Result<Login, String> {
        let login = Login::draw(name);
        let session = self.session()?;
        session.run(&format!("CREATE ROLE \"{name}\" LOGIN PASSWORD '{}'", login.password))?;
        session.run(&format!("CREATE DATABASE \"{name}\" OWNER \"{name}\""))?;
        Ok(login)
    }

    /// Changes a setting, and returns when all processes have been told and the server decides by it; an error leaves
    /// it as it was. One that needs a restart is refused: stop the server first.
    pub fn set(&self, name: &str, value: &str) -> Result<(), String> {
        let before = lock(&self.settings).insert(name.to_owned(), value.to_string());
        let done = self.write_settings().and_then(|()| if self.is_running() { self.reload(name) } else { Ok(()) });
        if done.is_err() {
            let mut settings = lock(&self.settings);
            settings.remove(name);
            settings.extend(before.map(|before| (name.to_owned(), before)));
            drop(settings);
            self.write_settings()?;
        }
        done
    }

    /// Presents another certificate to connections that come from here on. Only for a server that was started with one.
    pub fn present(&self, identity: &Identity) -> Result<(), String> {
        self.configuration.write_access(Some(identity))?;
        self.write_settings()?;
        self.reload("ssl_cert_file")
    }

    /// Returns the settings that a standby takes over.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        lock(&self.settings).clone()
    }

    fn write_settings(&self) -> Result<(), String> {
        let revision = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        self.configuration.write_settings(&lock(&self.settings), *lock(&self.port), revision)
    }

    /// Has the files read again. A new connection shows the new revision only after all processes got the signal; that
    /// the checkpointer has acted on it, which decides whether commits wait for standbys, a checkpoint shows that began
    /// after another one.
    fn reload(&self, name: &str) -> Result<(), String> {
        lock(&self.postmaster).as_ref().ok_or("the server does not run")?.signal(Signal::HUP);
        let revision = self.revision.load(Ordering::Relaxed).to_string();
        wait_until("the server reads its settings", || {
            self.value(&format!("SHOW {REVISION}")).is_ok_and(|shown| shown == revision)
        })?;
        let faults = format!("SELECT error FROM pg_file_settings WHERE name = '{name}' AND error IS NOT NULL");
        match self.value(&faults)?.as_str() {
            // Two statements: one text would be one transaction, in which no checkpoint may be.
            "" if name == "synchronous_standby_names" => {
                ["CHECKPOINT"; 2].into_iter().try_for_each(|checkpoint| self.run(checkpoint).map(drop))
            }
            "" => Ok(()),
            fault => Err(format!("{name}: {fault}")),
        }
    }

    fn take(&self) -> Result<Postmaster, String> {
        lock(&self.postmaster).take().ok_or_else(|| "the server does not run".into())
    }

    fn log_end(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES)..].join("\n")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the log of the server at {} ends:\n{}", self.address(), self.log_end());
        }
    }
}

/// Returns a free port. Somebody else may take it before it is used.
pub fn free_port() -> Result<u16, String> {
    let drawn = std::iter::repeat_with(|| fastrand::u16(PORTS)).take(1_000);
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    drawn.into_iter().find(is_free).ok_or_else(|| format!("no port of {PORTS:?} is free"))
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
