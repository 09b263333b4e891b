//! [`Extractor`]: reads files in processes of their own, which the system stops when they take too much.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use switchboard_core::outside::{Answer, SendError, TextForm};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::check::Checked;
use super::confined::{Bounds, Said};
use super::noun;
use crate::room::{Holder, Room};

/// What a process may say, bytes: the longest text and all links, with their escapes.
const SAID_BYTES_MAX: u64 = 32 << 20;
/// Has mimalloc (`mi_option_arena_reserve`) take memory as it is needed. It would reserve 1 GiB of addresses
/// before a process bounds itself, and leave the file nothing.
const ARENA_RESERVE: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "0");
/// How long a process may take, whatever it waits for.
const WALL: Duration = Duration::from_secs(30);

/// Reads files, as many at once as its room has places; accounts take turns.
pub struct Extractor {
    program: PathBuf,
    bounds: Bounds,
    wall: Duration,
    room: Arc<Room>,
    starter: Starter,
}

/// The thread that starts processes. The system ends each of them with the thread that started it, not with the whole
/// program, and threads of the runtime come and go: this one lives as long as the [`Extractor`].
struct Starter(mpsc::Sender<Start>);

/// A process to be started, in a runtime that then looks after it.
struct Start {
    command: Command,
    runtime: Handle,
    started: oneshot::Sender<std::io::Result<Child>>,
}

impl Starter {
    fn new() -> std::io::Result<Self> {
        let (orders, ordered) = mpsc::channel::<Start>();
        thread::Builder::new().name("starts-readers".into()).spawn(move || {
            while let Ok(Start { mut command, runtime, started }) = ordered.recv() {
                let _runtime = runtime.enter();
                // Whoever asked may have gone: then the process is ended as it is dropped.
                let _ = started.send(command.spawn());
            }
        })?;
        Ok(Self(orders))
    }

    async fn start(&self, command: Command) -> std::io::Result<Child> {
        let (started, child) = oneshot::channel();
        let gone = || std::io::Error::other("the thread that starts processes has ended");
        self.0.send(Start { command, runtime: Handle::current(), started }).map_err(|_| gone())?;
        child.await.map_err(|_| gone())?
    }
}

/// Why a process said nothing.
enum Silence {
    /// It took too long.
    Slow,
    /// It ended by itself, or was ended.
    Ended(ExitStatus),
    /// It could not be started or understood: no fault of the file.
    Fault(String),
}

impl From<std::io::Error> for Silence {
    fn from(error: std::io::Error) -> Self {
        Self::Fault(error.to_string())
    }
}

impl Extractor {
    /// One that runs `program extract`.
    pub fn new(program: PathBuf, room: Arc<Room>) -> std::io::Result<Self> {
        Self::bounded(program, Bounds::default(), WALL, room)
    }

    /// One whose processes may use this much, for this long.
    pub fn bounded(program: PathBuf, bounds: Bounds, wall: Duration, room: Arc<Room>) -> std::io::Result<Self> {
        Ok(Self { program, bounds, wall, room, starter: Starter::new()? })
    }

    /// One that runs this very program.
    pub fn of_this_program(room: Arc<Room>) -> std::io::Result<Self> {
        // This name leads to the running program even when another was put in its place.
        let own = PathBuf::from("/proc/self/exe");
        Self::new(if own.exists() { own } else { std::env::current_exe()? }, room)
    }

    /// Reads a file. That it cannot be read is an answer with a sentence; [`Answer::Failed`] says that
    /// nobody tried.
    pub async fn extract(&self, form: TextForm, bytes: Vec<u8>, holder: Holder) -> Answer {
        let _place = match self.room.take(holder).await {
            Ok(place) => place,
            Err(full) => return Answer::Failed(full.into()),
        };
        match self.run(form, bytes).await {
            Ok(Said::Read(found)) => Answer::Extracted(Ok(found.into())),
            Ok(Said::Failed(sentence)) => Answer::Extracted(Err(sentence)),
            Err(Silence::Slow) => Answer::Extracted(Err(too_long(form))),
            Err(Silence::Ended(status)) => Answer::Extracted(Err(sentence(form, status))),
            Err(Silence::Fault(error)) => {
                tracing::error!(%error, "a file could not be given to a process that reads it");
                Answer::Failed(SendError::Unreachable)
            }
        }
    }

    async fn run(&self, form: TextForm, bytes: Vec<u8>) -> Result<Said, Silence> {
        let mut child = self.spawn(form).await?;
        let said = tokio::time::timeout(self.wall, talk(&mut child, bytes)).await;
        // What is still running has said all that is wanted of it.
        let _ = child.start_kill();
        let status = child.wait().await?;
        match said {
            Err(_) => Err(Silence::Slow),
            Ok(said) => understand(&said?, status),
        }
    }

    /// Starts a process without anything of this one but the pipes: of the environment only a word to the
    /// allocator, and all descriptors of this program close by themselves.
    async fn spawn(&self, form: TextForm) -> std::io::Result<Child> {
        let mut command = self.command();
        command.args(["--form", form.word()]).stdin(Stdio::piped());
        self.starter.start(command).await
    }

    fn command(&self) -> Command {
        let number = |n: u64| OsString::from(n.to_string());
        let mut command = Command::new(&self.program);
        command
            .args(["extract", "--parent"])
            .arg(number(std::process::id().into()))
            .arg("--memory-bytes")
            .arg(number(self.bounds.memory_bytes))
            .arg("--cpu-seconds")
            .arg(number(self.bounds.cpu_seconds))
            .env_clear()
            .env(ARENA_RESERVE.0, ARENA_RESERVE.1)
            .current_dir("/")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        command
    }

    /// Has a process lock itself and try what it must not do.
    pub async fn check(&self) -> Result<Checked, String> {
        let output = self.command().arg("--check").stdin(Stdio::null()).output();
        let output = tokio::time::timeout(self.wall, output).await.map_err(|_| "it took too long")?;
        let output = output.map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{} ({error})", output.status))
    }

    /// Tells the operator once what the kernel does not lock.
    pub async fn tell_of_locks(&self) {
        match self.check().await.map(|checked| checked.locks.missing()) {
            Ok(missing) if missing.is_empty() => {}
            Ok(missing) => tracing::warn!(
                missing = missing.join(", "),
                "processes that read files are locked less tightly: this kernel has not all that they use"
            ),
            Err(error) => tracing::error!(error, "files will not be read: the process for it does not run"),
        }
    }
}

/// Gives a process its file and takes what it says, to its end.
async fn talk(child: &mut Child, bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::ErrorKind::BrokenPipe.into());
    };
    let give = async move {
        // One that has read enough may close: what it says is what counts.
        let _ = input.write_all(&bytes).await;
    };
    let mut said = Vec::new();
    let mut output = output.take(SAID_BYTES_MAX);
    let (read, ()) = tokio::join!(output.read_to_end(&mut said), give);
    read?;
    Ok(said)
}

fn understand(said: &[u8], status: ExitStatus) -> Result<Said, Silence> {
    if let Ok(said) = serde_json::from_slice(said) {
        return Ok(said);
    }
    if status.success() { Err(Silence::Fault("it was not understood".into())) } else { Err(Silence::Ended(status)) }
}

fn too_long(form: TextForm) -> String {
    format!("The {} took too long to read.", noun(form))
}

/// What an end says of the file. The memory's end shows as an abort, as does the stack's; whatever kills
/// from outside is mostly the system that needs memory.
fn sentence(form: TextForm, status: ExitStatus) -> String {
    let noun = noun(form);
    match status.signal() {
        Some(signal) if signal == Signal::XCPU.as_raw() => too_long(form),
        Some(_) => format!("The {noun} took too much memory to read."),
        None => format!("The {noun} could not be read."),
    }
}
