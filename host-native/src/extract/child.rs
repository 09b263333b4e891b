//! [`Extractor`]: reads files in child processes, which the system stops when they take too much.

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

use super::check::SandboxReport;
use super::confined::{Bounds, Said};
use super::noun;
use crate::room::{Holder, Room};

/// Most bytes of a process's output: the longest text and all links, with JSON escapes.
const SAID_BYTES_MAX: u64 = 32 << 20;
/// Makes mimalloc (`mi_option_arena_reserve`) take memory as it is needed. Otherwise it reserves 1 GiB of address space
/// before the process limits itself, and leaves nothing for the file.
const ARENA_RESERVE: (&str, &str) = ("MIMALLOC_ARENA_RESERVE", "0");
/// Wall-clock limit of a process.
const WALL: Duration = Duration::from_secs(30);

/// Reads files in child processes, as many at once as its room has places; accounts take turns.
pub struct Extractor {
    program: PathBuf,
    bounds: Bounds,
    wall: Duration,
    room: Arc<Room>,
    starter: Starter,
}

/// Thread that starts the processes. The kernel kills each child when the thread that started it ends (not only with
/// the whole program), and threads of the runtime come and go: this one lives as long as the [`Extractor`].
struct Starter(mpsc::Sender<Start>);

/// Request to start a process; `runtime` then handles its pipes and its end.
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
                // If the caller has gone, the child is dropped here and thereby killed.
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

/// Why a process wrote no result.
enum Silence {
    /// It exceeded the wall-clock limit.
    Slow,
    /// It exited or was killed, with this status.
    Ended(ExitStatus),
    /// It could not be started, or its output not parsed: not the file's fault.
    Fault(String),
}

impl From<std::io::Error> for Silence {
    fn from(error: std::io::Error) -> Self {
        Self::Fault(error.to_string())
    }
}

impl Extractor {
    /// Creates an extractor that runs `program extract` with default limits.
    pub fn new(program: PathBuf, room: Arc<Room>) -> std::io::Result<Self> {
        Self::bounded(program, Bounds::default(), WALL, room)
    }

    /// Creates an extractor whose processes have these resource limits and this wall-clock limit.
    pub fn bounded(program: PathBuf, bounds: Bounds, wall: Duration, room: Arc<Room>) -> std::io::Result<Self> {
        Ok(Self { program, bounds, wall, room, starter: Starter::new()? })
    }

    /// Creates an extractor that runs this same program.
    pub fn of_this_program(room: Arc<Room>) -> std::io::Result<Self> {
        // This path leads to the running program even after its file was replaced.
        let own = PathBuf::from("/proc/self/exe");
        Self::new(if own.exists() { own } else { std::env::current_exe()? }, room)
    }

    /// Reads a file. If it cannot be read, the answer is [`Answer::Extracted`] with a sentence; [`Answer::Failed`]
    /// means that reading was not attempted.
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
        // If it still runs, nothing more is wanted of it.
        let _ = child.start_kill();
        let status = child.wait().await?;
        match said {
            Err(_) => Err(Silence::Slow),
            Ok(said) => understand(&said?, status),
        }
    }

    /// Starts a process that inherits only its pipes: its environment is one setting of the allocator, and all other
    /// descriptors of this program are close-on-exec.
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

    /// Runs a process that locks itself and tries what it must not be able to do.
    pub async fn check(&self) -> Result<SandboxReport, String> {
        let output = self.command().arg("--check").stdin(Stdio::null()).output();
        let output = tokio::time::timeout(self.wall, output).await.map_err(|_| "it took too long")?;
        let output = output.map_err(|error| error.to_string())?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{} ({error})", output.status))
    }

    /// Runs the check and logs which locks this kernel lacks; called once at the start.
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

/// Writes the file to a process and reads its output to the end.
async fn talk(child: &mut Child, bytes: Vec<u8>) -> std::io::Result<Vec<u8>> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(std::io::ErrorKind::BrokenPipe.into());
    };
    let give = async move {
        // The process may close its input early; only its output counts.
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

/// Returns the sentence for a process that ended without a result. Running out of memory or stack shows as an abort; a
/// kill from outside is mostly the system reclaiming memory.
fn sentence(form: TextForm, status: ExitStatus) -> String {
    let noun = noun(form);
    match status.signal() {
        Some(signal) if signal == Signal::XCPU.as_raw() => too_long(form),
        Some(_) => format!("The {noun} took too much memory to read."),
        None => format!("The {noun} could not be read."),
    }
}
