//! Runs one of these tests again, in a process of its own: as another user, or to be killed.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// User of no files.
const NOBODY: u32 = 65_534;

/// Returns a command that runs an ignored test, and a folder that must live as long. What the test leaves behind when it
/// is killed lies there too.
pub fn command(test: &str) -> (Command, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    // Not everyone may enter the folder of this program, or write to this one.
    let [copy, temporary] = ["tests", "temporary"].map(|name| folder.path().join(name));
    // Copied by a program of its own: what this one writes is open for writing in each process that another test starts
    // meanwhile, until that one runs its program, and what is open for writing cannot be run.
    let copied = Command::new("cp").arg(std::env::current_exe().expect("a program")).arg(&copy).status();
    assert!(copied.expect("cp runs").success(), "no copy at {}", copy.display());
    fs::create_dir(&temporary).expect("an own folder");
    for (path, mode) in [(folder.path(), 0o755), (&temporary, 0o777)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("an own folder");
    }
    let mut command = Command::new(copy);
    command.args(["--exact", test, "--ignored", "--nocapture"]).stdin(Stdio::null());
    command.env("TMPDIR", temporary).current_dir("/");
    (command, folder)
}

/// Has a command run as a user without privileges. Only root can do so.
pub fn as_nobody(command: &mut Command) {
    command.uid(NOBODY).gid(NOBODY);
}
