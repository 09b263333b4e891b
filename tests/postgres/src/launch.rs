//! [`Launch`]: how a server's programs are run: as a user without privileges, with a signal that ends them when this
//! process dies, and where the server has a disk of its own, in that one's view of the file system.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{LazyLock, Mutex, PoisonError};

use rustix::process::{getegid, geteuid};

use crate::programs::Programs;

/// Users that root becomes, the first that there is: PostgreSQL refuses to run as root.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// A user by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    /// Returns the user as which servers run: this process's own, unless that is root.
    pub fn of_servers() -> Result<Self, String> {
        let own = Self { uid: geteuid().as_raw(), gid: getegid().as_raw() };
        if own.uid != 0 {
            return Ok(own);
        }
        let users = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
        let found = UNPRIVILEGED.iter().find_map(|name| named(&users, name));
        found.ok_or_else(|| {
            format!("PostgreSQL does not run as root, and there is no user {}", UNPRIVILEGED.join(" or "))
        })
    }
}

/// Returns a user of a password file.
fn named(users: &str, name: &str) -> Option<Account> {
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>()).find(|fields| fields[0] == name)?;
    Some(Account { uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? })
}

/// How the programs of one server are run.
#[derive(Clone, Debug)]
pub struct Launch {
    programs: Programs,
    pub account: Account,
    /// Command and arguments that come first, to enter another view of the file system; mostly none.
    entrance: Vec<String>,
}

impl Launch {
    /// Finds the programs, and tries whether the user can run them.
    pub fn new(entrance: Vec<String>) -> Result<Self, String> {
        let launch = Self { programs: Programs::find()?, account: Account::of_servers()?, entrance };
        let path = launch.programs.path("postgres");
        let why = |why: &dyn std::fmt::Display| {
            let uid = launch.account.uid;
            format!("user {uid} cannot run {} (may it read all folders above?): {why}", path.display())
        };
        launch.run("postgres", &["--version"], &[]).map_err(|error| why(&error))?;
        Ok(launch)
    }

    /// Returns the command of a server program, without its arguments.
    pub fn program(&self, name: &str) -> Command {
        self.command(&self.programs.path(name))
    }

    /// Returns a command that runs a program as the server's user, ended with this process.
    pub fn command(&self, program: &Path) -> Command {
        // `unsafe` code is forbidden, and without it only setpriv can set the signal between fork and exec.
        let mut words = self.entrance.clone();
        words.push("setpriv".into());
        if geteuid().is_root() {
            let Account { uid, gid } = self.account;
            words.extend([format!("--reuid={uid}"), format!("--regid={gid}"), "--clear-groups".into()]);
        }
        words.push("--pdeathsig=KILL".into());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).arg("--").arg(program).current_dir("/").env_clear();
        let kept = std::env::var_os("PATH").map(|path| ("PATH", path));
        let libraries = self.programs.library_path().map(|path| ("LD_LIBRARY_PATH", path));
        command.envs(kept).envs(libraries).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    /// Runs a server program to its end; an error has what it said.
    pub fn run<A: AsRef<OsStr>>(&self, name: &str, arguments: &[A], variables: &[(&str, &str)]) -> Result<(), String> {
        let mut command = self.program(name);
        command.args(arguments).envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let output = spawn(command).and_then(Child::wait_with_output).map_err(|error| missing(&error))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("{name} fails: {}", said.trim())) }
    }
}

/// Says what is missing when a command cannot be started.
pub fn missing(error: &io::Error) -> String {
    format!("setpriv, unshare and nsenter of util-linux are needed: {error}")
}

type Order = (Command, Sender<io::Result<Child>>);

/// Starts processes. The kernel sends the signal of a parent's death when the *thread* that started the process ends,
/// so all are started by one that ends with this process.
static SPAWNER: LazyLock<Mutex<Sender<Order>>> = LazyLock::new(|| {
    let (sender, orders) = channel::<Order>();
    let run = move || {
        for (mut command, reply) in orders {
            // Whoever asked waits for it.
            let _ = reply.send(command.spawn());
        }
    };
    std::thread::Builder::new().name("postgres-spawner".into()).spawn(run).expect("a thread");
    Mutex::new(sender)
});

/// Starts a process that may have asked for a signal when its parent dies.
pub fn spawn(command: Command) -> io::Result<Child> {
    let (reply, child) = channel();
    let orders = SPAWNER.lock().unwrap_or_else(PoisonError::into_inner);
    orders.send((command, reply)).expect("its thread runs as long as the process");
    drop(orders);
    child.recv().expect("its thread answers every order")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_of_the_password_file_has_its_numbers() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\npostgres:x:101:104::/var/lib:/bin/sh\n";
        assert_eq!(named(users, "postgres"), Some(Account { uid: 101, gid: 104 }));
        assert_eq!(named(users, "nobody"), None);
        assert_eq!(named(users, "broken"), None);
    }
}
