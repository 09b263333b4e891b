//! [`SmallDisk`]: a file system of a given size for a server's data, to be filled and freed.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::launch::{Account, missing, spawn};

/// Mounts the file system where nobody else sees it, and holds it until the input ends.
const HOLD: &str = r#"mount -t tmpfs -o "$1" small "$2" && echo mounted && read -r _"#;
/// Writes a file over all the room but the given number of bytes. Whoever else writes may be faster.
const FILL: &str = r#"room=$(( $(stat -f -c '%a * %S' "$1") - $2 ))
    [ "$room" -le 0 ] || head -c "$room" /dev/zero >> "$1/ballast" 2> /dev/null || true"#;
const FREE: &str = r#"rm -f "$1/ballast""#;

/// A file system in memory, seen by its server alone and gone with this value. It needs root, or a kernel that gives
/// everyone namespaces of users.
pub struct SmallDisk {
    holder: Child,
    folder: TempDir,
    account: Account,
}

impl SmallDisk {
    /// Mounts a file system of this many bytes; PostgreSQL needs some 50 MiB. The error says why none can be had here.
    pub fn new(bytes: u64) -> Result<Self, String> {
        let (folder, account) = (tempfile::tempdir().map_err(|error| error.to_string())?, Account::of_servers()?);
        chown(folder.path(), Some(account.uid), Some(account.gid)).map_err(|error| error.to_string())?;
        let (mut command, mut options) = (Command::new("unshare"), format!("size={bytes},mode=0700"));
        if geteuid().is_root() {
            options = format!("{options},uid={},gid={}", account.uid, account.gid);
        } else {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "sh", "-c", HOLD, "sh", &options]).arg(folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut holder = spawn(command).map_err(|error| missing(&error))?;
        let mut line = String::new();
        let output = holder.stdout.take().map(|output| BufReader::new(output).read_line(&mut line));
        if output.is_some_and(|read| read.is_ok()) && line == "mounted\n" {
            return Ok(Self { holder, folder, account });
        }
        let mut said = String::new();
        let _ = holder.stderr.take().map(|mut errors| errors.read_to_string(&mut said));
        let _ = holder.wait();
        Err(format!("no file system can be mounted here: {}", said.trim()))
    }

    /// Takes all the room but `left` bytes. What the server frees later is room again.
    pub fn fill(&self, left: u64) -> Result<(), String> {
        self.run(FILL, &[&left.to_string()])
    }

    /// Gives back what [`fill`](Self::fill) took.
    pub fn free(&self) -> Result<(), String> {
        self.run(FREE, &[])
    }

    /// Returns the path of the data, which only the server's programs see.
    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns the beginning of the command line of a program that is to see the file system.
    pub(crate) fn entrance(&self) -> Vec<String> {
        let mut words = self.shared_entrance();
        if !geteuid().is_root() {
            // There the user is root, as which PostgreSQL does not run: back to the own number.
            let Account { uid, gid } = self.account;
            words.extend(["unshare", "--user"].map(str::to_owned));
            words.extend([format!("--map-user={uid}"), format!("--map-group={gid}"), "--".into()]);
        }
        words
    }

    fn shared_entrance(&self) -> Vec<String> {
        let holder = self.holder.id();
        let mut words = vec!["nsenter".to_owned(), format!("--mount=/proc/{holder}/ns/mnt")];
        if !geteuid().is_root() {
            words.extend([format!("--user=/proc/{holder}/ns/user"), "--preserve-credentials".into()]);
        }
        words.push("--".into());
        words
    }

    fn run(&self, script: &str, arguments: &[&str]) -> Result<(), String> {
        let entrance = self.shared_entrance();
        let mut command = Command::new(&entrance[0]);
        command.args(&entrance[1..]).args(["sh", "-c", script, "sh"]).arg(self.folder.path()).args(arguments);
        let output = command.stdin(Stdio::null()).output().map_err(|error| missing(&error))?;
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() { Ok(()) } else { Err(format!("the small disk: {}", said.trim())) }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
