//! [`Postmaster`]: the first process of a running server, and through it all others.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::launch::spawn;

/// How long a server that is dropped may take to clean up, before it is killed.
const CLEANING: Duration = Duration::from_secs(5);

/// A running server's first process. It never outlives this value.
pub struct Postmaster {
    child: Child,
}

impl Postmaster {
    pub fn new(child: Child) -> Self {
        Self { child }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Returns its process and those that it started and that have not ended; the first comes first.
    pub fn processes(&self) -> Vec<u32> {
        let own = self.pid();
        let started = everyone().filter(|(_, process)| process.parent == own && process.state != 'Z');
        std::iter::once(own).chain(started.map(|(pid, _)| pid)).collect()
    }

    /// Sends a signal to the first process.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Waits until it has ended; false if it runs longer than that.
    pub fn ends_within(&mut self, bound: Duration) -> bool {
        let began = Instant::now();
        while self.is_running() {
            if began.elapsed() > bound {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Kills all its processes at once, and returns when they are gone.
    pub fn kill(&mut self) {
        if self.is_running() {
            // Stopped, it starts no further ones meanwhile.
            self.signal(Signal::STOP);
            let processes = self.processes();
            processes.iter().for_each(|pid| send(*pid, Signal::KILL));
            let _ = self.child.wait();
            let is_left = |pid: &u32| process(*pid).is_some_and(|process| process.state != 'Z');
            while processes[1..].iter().any(is_left) {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        sweep(self.pid());
    }
}

impl Drop for Postmaster {
    fn drop(&mut self) {
        if self.is_running() {
            let others = self.processes().split_off(1);
            // An immediate shutdown: it takes its own children along, unless they stand still.
            self.signal(Signal::QUIT);
            self.signal(Signal::CONT);
            others.into_iter().for_each(|pid| send(pid, Signal::CONT));
            self.ends_within(CLEANING);
        }
        self.kill();
    }
}

/// What the system says of a process.
#[derive(Clone, Copy)]
pub struct Process {
    /// `T` if it is stopped, `Z` if it has ended and nobody has asked how.
    pub state: char,
    pub parent: u32,
}

/// Returns what the system says of a process; `None` if there is none.
pub fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    Some(Process { state: fields.next()?.chars().next()?, parent: fields.next()?.parse().ok()? })
}

fn everyone() -> impl Iterator<Item = (u32, Process)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, process(pid)?))
    })
}

/// Sends a signal; a process that has ended has no use for it.
pub fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Removes the shared memory of a server that could not do so itself: the system would keep it.
fn sweep(postmaster: u32) {
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    for line in segments.lines().skip(1) {
        // Key, number, permissions, bytes, creator, last user, attached processes.
        let fields: Vec<&str> = line.split_whitespace().take(7).collect();
        if let [_, segment, _, _, creator, _, "0"] = fields[..]
            && creator == postmaster.to_string()
        {
            let mut command = Command::new("ipcrm");
            command.args(["-m", segment]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            // Where it cannot be removed, a few bytes stay.
            let _ = spawn(command).and_then(|mut child| child.wait());
        }
    }
}
