//! What the system reports of a server's process, and a guard that kills it before it takes the machine's memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, getrlimit, kill_process, setrlimit};

/// Resident memory at which a server is killed, MiB: three times what is allowed.
const MEMORY_MIB_MAX: f64 = 3.0 * 1_024.0;
/// Sampling interval of a process's processor time.
const LOOK: Duration = Duration::from_millis(50);
/// How long a server may take to stop before it is killed.
const STOP_PATIENCE: Duration = Duration::from_secs(45);

/// A running server's process, by its id.
#[derive(Clone, Copy, Debug)]
pub struct Process(pub u32);

impl Process {
    /// Returns the processor time so far, children included, seconds.
    pub fn cpu_seconds(self) -> f64 {
        let [own, system, reaped, reaped_system] = ticks(self.0);
        let children = std::fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten().flatten();
        let children: f64 = children
            .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
            .flat_map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
            .map(|pid| ticks(pid)[..2].iter().sum::<f64>())
            .sum();
        (own + system + reaped + reaped_system + children) / 100.0
    }

    /// Returns what it has used so far.
    pub fn usage(self) -> Usage {
        Usage { cpu_seconds: self.cpu_seconds(), written: self.written() }
    }

    /// Returns the bytes that it has had written to a disk so far.
    fn written(self) -> f64 {
        let lines = std::fs::read_to_string(format!("/proc/{}/io", self.0)).unwrap_or_default();
        let bytes = lines.lines().find_map(|line| line.strip_prefix("write_bytes: "));
        bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0.0)
    }

    /// Returns the peak resident memory, MiB; 0 once the process is gone.
    pub fn peak_mib(self) -> f64 {
        self.status("VmHWM:") / 1_024.0
    }

    /// Returns the current resident memory, MiB; 0 once the process is gone.
    pub fn memory_mib(self) -> f64 {
        self.status("VmRSS:") / 1_024.0
    }

    fn status(self, name: &str) -> f64 {
        let lines = std::fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap_or_default();
        let line = lines.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).unwrap_or(0.0)
    }

    fn kill(self) {
        if let Some(pid) = i32::try_from(self.0).ok().and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// What a process has used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Processor time, seconds.
    pub cpu_seconds: f64,
    /// Bytes written to a disk.
    pub written: f64,
}

impl Usage {
    /// Returns what was used since an earlier moment.
    pub fn since(self, before: Self) -> Self {
        Self { cpu_seconds: self.cpu_seconds - before.cpu_seconds, written: self.written - before.written }
    }
}

/// How a process used the processor and the disk over a span.
#[derive(Clone, Debug)]
pub struct Course {
    /// What was used at equally spaced moments; the first is nothing.
    taken: Vec<Usage>,
    span: Duration,
}

impl Course {
    /// Samples a process for `span`.
    pub fn watch(process: Process, span: Duration) -> Self {
        let (began, before) = (Instant::now(), process.usage());
        let mut taken = vec![Usage::default()];
        while began.elapsed() < span {
            std::thread::sleep(LOOK);
            taken.push(process.usage().since(before));
        }
        Self { taken, span }
    }

    /// Returns what was used at `after` if the course were stretched to `span`.
    pub fn taken(&self, after: Duration, span: Duration) -> Usage {
        let last = self.taken.len() - 1;
        let at = after.as_millis() * last as u128 / span.as_millis();
        let taken = self.taken[usize::try_from(at).map_or(last, |at| at.min(last))];
        let stretch = span.as_secs_f64() / self.span.as_secs_f64();
        Usage { cpu_seconds: taken.cpu_seconds * stretch, written: taken.written * stretch }
    }

    /// Returns what was used per second of the whole span.
    pub fn rate(&self) -> Usage {
        self.taken(self.span, Duration::from_secs(1))
    }
}

/// Returns ticks of a process (10 ms each): user, system, and both of its reaped children.
fn ticks(pid: u32) -> [f64; 4] {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    [11, 12, 13, 14].map(|at| fields.get(at).and_then(|field| field.parse().ok()).unwrap_or(0.0))
}

/// A thread that kills a server which takes too much memory, or too long to stop.
pub struct Guard {
    process: Process,
    over: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<f64>>,
}

impl Guard {
    /// Starts watching a process.
    pub fn new(process: Process) -> Self {
        let (over, ended) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (is_over, has_ended) = (Arc::clone(&over), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let (mut peak_mib, mut stopping) = (0.0_f64, None);
            loop {
                peak_mib = peak_mib.max(process.peak_mib());
                if process.memory_mib() > MEMORY_MIB_MAX {
                    process.kill();
                    has_ended.store(true, Ordering::Relaxed);
                    return peak_mib;
                }
                if is_over.load(Ordering::Relaxed) {
                    let since = *stopping.get_or_insert_with(Instant::now);
                    if process.memory_mib() == 0.0 {
                        return peak_mib;
                    }
                    if since.elapsed() > STOP_PATIENCE {
                        process.kill();
                        has_ended.store(true, Ordering::Relaxed);
                        return peak_mib;
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        Self { process, over, ended, thread: Some(thread) }
    }

    /// Returns the peak resident memory so far, MiB.
    pub fn peak_mib(&self) -> f64 {
        self.process.peak_mib()
    }

    /// From now on the server must stop within `STOP_PATIENCE`.
    pub fn expect_end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Waits until the process is gone; returns whether it had to be killed, and its peak memory, MiB.
    pub fn outcome(mut self) -> (bool, f64) {
        self.expect_end();
        let peak = self.thread.take().and_then(|thread| thread.join().ok()).unwrap_or(f64::NAN);
        (self.ended.load(Ordering::Relaxed), peak)
    }
}

/// Raises this process's limit of open files to its maximum; servers that it starts inherit it.
pub fn raise_limits() {
    let limit = getrlimit(Resource::Nofile);
    // If it cannot be raised, the present limit has to do.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
