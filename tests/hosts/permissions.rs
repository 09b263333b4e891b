//! Files that the program writes are accessible to their owner alone, whatever the umask.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::server::{Folder, Server, binary, run};

fn mode(path: &Path) -> u32 {
    let meta = std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    meta.permissions().mode() & 0o7777
}

/// Returns the binary as a command under a umask.
fn under(umask: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]).arg(binary());
    command
}

/// Returns all files and folders below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { [below(&path), vec![path]].concat() } else { vec![path] }).collect()
}

#[test]
fn everything_written_is_its_owners_alone() {
    for umask in ["0000", "0022", "0277", "0777"] {
        let folder = Folder::new();
        let data = folder.path("above/data");
        let server = Server::spawn(under(umask), &data, &["--engine", "none"]).wait();
        let (url, token) = (server.text("url").to_owned(), server.text("admin_token").to_owned());
        let [file, copy, key] = ["backup", "copy", "seal.key"].map(|name| folder.path(name).display().to_string());
        let commands: [&[&str]; 3] = [
            &["backup", &file, "--url", &url, "--admin-token", &token],
            &["restore", &file, &copy],
            &["seal-key", &key],
        ];
        for command in commands {
            let output = under(umask).args(command).output().expect("it runs");
            assert!(output.status.success(), "{umask} {command:?} {}", String::from_utf8_lossy(&output.stderr));
        }
        let written = below(&folder.0);
        assert!(written.len() >= 8, "{written:?}");
        for path in written {
            let wanted = if path.is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(&path), wanted, "umask {umask}: {} has {:o}", path.display(), mode(&path));
        }
        assert_eq!(server.stop(), Some(0));
    }
}

#[test]
fn a_store_that_was_open_to_others_is_closed_at_the_start() {
    let folder = Folder::new();
    let data = folder.path("data");
    assert_eq!(Server::start(&data, &["--engine", "none"]).stop(), Some(0));
    let store = data.join("switchboard.redb");
    std::fs::set_permissions(&data, Permissions::from_mode(0o755)).expect("it is ours");
    std::fs::set_permissions(&store, Permissions::from_mode(0o644)).expect("it is ours");
    let log = folder.path("log");
    let out = std::fs::File::create(&log).expect("a file");
    assert_eq!(Server::start_logging(&data, &["--engine", "none"], &[], out).stop(), Some(0));
    assert_eq!((mode(&data), mode(&store)), (0o700, 0o600));
    let said = std::fs::read_to_string(log).expect("a log");
    assert!(said.contains("mode 755") && said.contains("mode 644"), "{said}");
}

#[test]
fn a_backup_replaces_a_file_only_when_told() {
    let folder = Folder::new();
    let server = Server::start(&folder.path("data"), &["--engine", "none"]);
    let (url, token) = (server.text("url"), server.text("admin_token"));
    let file = folder.path("backup.tar");
    std::fs::write(&file, "mine").expect("a file");
    let backup = |more: &[&str]| -> Output {
        let own = ["backup", file.to_str().expect("a path"), "--url", url, "--admin-token", token];
        run(&[&own[..], more].concat())
    };
    let refused = backup(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("is there already") && said.contains("--force"), "{said}");
    assert_eq!(std::fs::read(&file).expect("it is there"), b"mine");
    // A refused backup leaves the old file as it was, and no partial file beside it.
    let wrong = ["backup", file.to_str().expect("a path"), "--url", url, "--admin-token", "sbo_wrong", "--force"];
    assert!(!run(&wrong).status.success());
    assert_eq!(std::fs::read(&file).expect("it is there"), b"mine");
    assert!(!below(&folder.0).iter().any(|path| path.display().to_string().contains("partial")));
    assert!(backup(&["--force"]).status.success());
    assert!(std::fs::read(&file).expect("it is there").starts_with(b"SWBK1\n"));
    let key = file.to_str().expect("a path");
    assert!(!run(&["seal-key", key]).status.success(), "a key never replaces a file");
}
