//! [`Pause`]: processes that stand still, as after `kill -STOP`.

use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::launch::spawn;
use crate::postmaster::{process, send};
use crate::runtime::wait_until;

/// Continues processes when its input ends: when the value is dropped, or the test's process dies. A backend that
/// stood still for ever would not notice the death of its server.
const GUARD: &str = r#"read -r _; kill -CONT "$@""#;

/// Processes that stand still as long as this value lives.
#[must_use = "the processes go on when it is dropped"]
pub struct Pause {
    pids: Vec<u32>,
    guards: Vec<Child>,
}

impl Pause {
    /// Stops processes in this order, and returns when all stand still.
    pub(crate) fn new(pids: Vec<u32>) -> Result<Self, String> {
        let mut command = Command::new("sh");
        command.args(["-c", GUARD, "sh"]).args(pids.iter().map(u32::to_string));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let guard = spawn(command).map_err(|error| format!("the guard of a pause: {error}"))?;
        let pause = Self { pids, guards: vec![guard] };
        for pid in &pause.pids {
            send(*pid, Signal::STOP);
            // One that has just ended stands still for good: its server, stopped before it, does not ask how it ended.
            let is_still = || process(*pid).is_none_or(|process| matches!(process.state, 'T' | 'Z'));
            wait_until(&format!("process {pid} stands still"), is_still)?;
        }
        Ok(pause)
    }

    /// Returns a pause of the processes of both.
    pub(crate) fn with(mut self, mut other: Self) -> Self {
        self.pids.append(&mut other.pids);
        self.guards.append(&mut other.guards);
        self
    }

    /// Returns the processes that stand still.
    pub fn pids(&self) -> &[u32] {
        &self.pids
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        for guard in &mut self.guards {
            drop(guard.stdin.take());
            // It ends when it has continued them.
            let _ = guard.wait();
        }
    }
}
