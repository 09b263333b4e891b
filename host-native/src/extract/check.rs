//! `extract --check`: a process locks itself as it would for a file, tries what must then be impossible, and says
//! what came of it. The service asks at its start which locks its kernel has.

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

/// What a locked process found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The locks that hold.
    pub locks: Locks,
    /// What it tried with all of them, and the system's error number; none: it succeeded.
    pub tried: Vec<(String, Option<i32>)>,
    /// What opening a file came to with the first locks alone, before system calls were taken.
    pub opened: Option<i32>,
}

/// Locks this process, tries, and says so as JSON.
pub fn run(bounds: Bounds, output: &mut impl Write) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // A place that is known to be free: a send that fails for another reason shows in its number.
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
    serde_json::to_writer(&mut *output, &Checked { locks, tried, opened })?;
    Ok(output.flush()?)
}

/// The system's error number; none where it succeeded.
fn number<T>(result: io::Result<T>) -> Option<i32> {
    result.err().map(|error| error.raw_os_error().unwrap_or(-1))
}
