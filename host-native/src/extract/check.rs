//! `extract --check`: a process locks itself as it would for a file, tries what must then be impossible, and reports
//! the results. The service runs it at its start to learn which locks the kernel has.

use std::fs::File;
use std::io::{self, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

use super::confined::{Bounds, confine};
use super::lock::{self, Locks};

/// Results of a locked process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxReport {
    /// The locks in force.
    pub locks: Locks,
    /// What it tried with all locks in force, and the `errno` of each attempt; `None`: it succeeded, -1: no number.
    pub tried: Vec<(String, Option<i32>)>,
    /// `errno` of opening a file with the first locks only, before system calls were blocked; `None`: it succeeded.
    pub opened: Option<i32>,
}

/// Locks this process, makes the attempts and writes [`SandboxReport`] as JSON.
pub fn run(bounds: Bounds, output: &mut impl Write) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // A loopback address with a free port: any failure but the lock's shows in its `errno`.
    let udp = || UdpSocket::bind("127.0.0.1:0");
    let files = lock::close_files();
    let opened = number(File::open("/proc/self/status"));
    let locks = Locks { calls: confine(bounds)?, ..files };
    let init = Pid::INIT;
    let tried = [
        ("open", number(File::open("/proc/self/status"))),
        ("create", number(File::create("/tmp/switchboard-check"))),
        ("connect", number(TcpStream::connect("127.0.0.1:9"))),
        ("socket", number(udp())),
        ("unix socket", number(UnixListener::bind("\0switchboard-check"))),
        ("start", number(Command::new("/bin/true").spawn())),
        ("become", Command::new("/bin/true").exec().raw_os_error()),
        ("thread", number(std::thread::Builder::new().spawn(|| ()))),
        ("signal", number(test_kill_process(init).map_err(io::Error::from))),
        ("limits", number(rustix::process::setpriority_process(Some(init), 0).map_err(io::Error::from))),
        ("folder", number(std::env::set_current_dir("/tmp"))),
    ];
    let tried = tried.into_iter().map(|(what, number)| (what.to_owned(), number)).collect();
    serde_json::to_writer(&mut *output, &SandboxReport { locks, tried, opened })?;
    Ok(output.flush()?)
}

/// Returns the `errno` of a failure, -1 if it has none; `None` on success.
fn number<T>(result: io::Result<T>) -> Option<i32> {
    result.err().map(|error| error.raw_os_error().unwrap_or(-1))
}
