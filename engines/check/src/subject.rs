//! The engine that is checked: a program that is started for each case, one in this process, or one that somebody else
//! runs.

use std::fmt;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

/// Where an engine attaches.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    /// URL of the service.
    pub url: String,
    /// Token for it.
    pub token: String,
}

/// Leaves the token out.
impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachment").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Starts an engine in this process.
pub type HostEngine = Box<dyn Fn(Attachment) -> HostedEngine + Send + Sync>;

/// An engine in this process.
pub struct HostedEngine {
    /// Has it drain; `None` where it cannot.
    pub drain: Option<Box<dyn FnOnce() + Send>>,
    /// Runs it; aborted at the end of a case.
    pub task: JoinHandle<()>,
}

/// The engine that is checked.
pub enum CheckedEngine {
    /// Somebody else runs it.
    Attached,
    /// A program with its arguments, in which `{url}` and `{token}` are replaced; both are in its environment too, as
    /// `SWITCHBOARD_URL` and `SWITCHBOARD_ENGINE_TOKEN`. SIGTERM has it drain.
    Program(Vec<String>),
    /// It runs in this process.
    Hosted(HostEngine),
}

/// An engine that runs.
pub(crate) enum RunningEngine {
    Attached,
    Program(EngineProgram),
    Hosted(HostedEngine),
}

/// A program in a group of its own, with which all that it has started ends: a worker that outlived its supervisor would
/// take the calls of the next case.
pub(crate) struct EngineProgram {
    child: Child,
    group: Option<Pid>,
}

impl EngineProgram {
    fn start(mut command: Command) -> std::io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let group = pid(&child);
        Ok(Self { child, group })
    }

    fn kill(&self) {
        // Where nothing is left of the group, that is what is wanted.
        let _ = self.group.map(|group| kill_process_group(group, Signal::KILL));
    }
}

impl Drop for EngineProgram {
    fn drop(&mut self) {
        self.kill();
    }
}

impl CheckedEngine {
    /// Starts the engine for a case.
    pub(crate) fn start(&self, at: &Attachment) -> Result<RunningEngine, String> {
        match self {
            Self::Attached => Ok(RunningEngine::Attached),
            Self::Hosted(host) => Ok(RunningEngine::Hosted(host(at.clone()))),
            Self::Program(words) => {
                let filled = |word: &String| word.replace("{url}", &at.url).replace("{token}", &at.token);
                let mut words = words.iter().map(filled);
                let program = words.next().ok_or("the command of the engine is empty")?;
                let mut command = Command::new(&program);
                command.args(words).env("SWITCHBOARD_URL", &at.url).env("SWITCHBOARD_ENGINE_TOKEN", &at.token);
                // Its output is for whoever looks for its faults, beside the report.
                command.stdin(Stdio::null()).stdout(std::io::stderr());
                let started = EngineProgram::start(command).map_err(|error| format!("{program}: {error}"))?;
                Ok(RunningEngine::Program(started))
            }
        }
    }

    /// Returns whether it can be told to drain.
    pub(crate) const fn drains(&self) -> bool {
        !matches!(self, Self::Attached)
    }
}

impl RunningEngine {
    /// Returns whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        match self {
            Self::Attached => false,
            Self::Program(program) => !matches!(program.child.try_wait(), Ok(None)),
            Self::Hosted(engine) => engine.task.is_finished(),
        }
    }

    /// Has it drain; returns whether it can.
    pub(crate) fn drain(&mut self) -> bool {
        match self {
            Self::Attached => false,
            Self::Program(program) => terminate(&program.child),
            Self::Hosted(engine) => engine.drain.take().map(|drain| drain()).is_some(),
        }
    }

    /// Waits until it has ended by itself; returns whether it did in time.
    pub(crate) async fn ends_within(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        match self {
            Self::Attached => false,
            Self::Program(program) => timeout_at(deadline, program.child.wait()).await.is_ok(),
            Self::Hosted(engine) => engine.task.is_finished() || timeout_at(deadline, &mut engine.task).await.is_ok(),
        }
    }

    /// Ends it.
    pub(crate) async fn stop(self) {
        match self {
            Self::Attached => {}
            Self::Program(mut program) => {
                program.kill();
                drop(program.child.wait().await);
            }
            Self::Hosted(engine) if engine.task.is_finished() => {}
            Self::Hosted(engine) => {
                engine.task.abort();
                let _ = engine.task.await;
            }
        }
    }
}

fn terminate(child: &Child) -> bool {
    pid(child).is_some_and(|id| kill_process(id, Signal::TERM).is_ok())
}

/// Returns the id of a process; `None` once it was waited for.
fn pid(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a process still does anything.
    fn runs(id: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
    }

    #[tokio::test]
    async fn what_an_engine_has_started_ends_with_it() {
        let file = std::env::temp_dir().join(format!("switchboard-worker-{}", std::process::id()));
        let shell = format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; exec sleep 600", file.display());
        let engine = CheckedEngine::Program(vec!["sh".into(), "-c".into(), shell]);
        let started = engine.start(&Attachment { url: String::new(), token: String::new() }).expect("a shell");
        while !file.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let worker = std::fs::read_to_string(&file).expect("its number").trim().to_owned();
        assert!(runs(&worker));
        started.stop().await;
        while runs(&worker) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        std::fs::remove_file(file).expect("it was made");
    }
}
