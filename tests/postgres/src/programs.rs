//! [`Programs`]: where PostgreSQL's server programs are, and how they are fetched where none is installed.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::packages::{self, run};

/// Where Debian and what descends from it install the server programs, a folder a release.
const DEBIAN: &str = "/usr/lib/postgresql";
/// What a folder of programs must have.
const NEEDED: [&str; 3] = ["postgres", "initdb", "pg_basebackup"];
/// What a person can do where nothing is found.
const HINT: &str = "install it (Debian, Ubuntu: `apt-get install postgresql`; Fedora: `dnf install postgresql-server`), \
    or name the folder of its programs in SWITCHBOARD_POSTGRES";

static FOUND: LazyLock<Result<Programs, String>> = LazyLock::new(Programs::look);

/// The server programs of one release of PostgreSQL.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    /// Folders of the libraries that came with them; none where they are installed.
    libraries: Vec<PathBuf>,
}

impl Programs {
    /// Finds the programs: in the folder that `SWITCHBOARD_POSTGRES` names, else the newest that Debian's packages
    /// installed, else those of `PATH`, else Debian's packages, fetched and unpacked below the target folder. Looks
    /// once a process.
    pub fn find() -> Result<Self, String> {
        FOUND.clone()
    }

    /// Takes the programs of a folder.
    pub fn of_folder(folder: &Path) -> Result<Self, String> {
        let missing: Vec<_> = NEEDED.into_iter().filter(|name| !folder.join(name).is_file()).collect();
        if missing.is_empty() {
            Ok(Self { folder: folder.to_owned(), libraries: Vec::new() })
        } else {
            Err(format!("{} has no {}", folder.display(), missing.join(", no ")))
        }
    }

    /// Fetches Debian's packages by apt, and unpacks them into a folder; later calls find them there.
    pub fn fetch(folder: &Path) -> Result<Self, String> {
        let root = packages::unpacked(folder, || {
            let names = run(folder, "apt-cache", &["search", "--names-only", "^postgresql-[0-9]+$"])?;
            let release = |line: &str| line.split_whitespace().next()?.rsplit('-').next()?.parse::<u32>().ok();
            let newest = names.lines().filter_map(release).max();
            let newest = newest.ok_or("apt knows no package of it: run `apt-get update`")?;
            Ok(vec![format!("postgresql-{newest}"), format!("postgresql-client-{newest}"), "libpq5".into()])
        })?;
        let programs = newest(&root.join(DEBIAN.trim_start_matches('/')))
            .ok_or_else(|| format!("the packages in {} have no server programs", root.display()))?;
        Ok(Self { libraries: packages::libraries(&root), ..programs })
    }

    /// Returns the folder of the programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of a program, such as `initdb`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns the search path of the libraries that came with the programs; `None` where they are installed.
    pub(crate) fn library_path(&self) -> Option<std::ffi::OsString> {
        (!self.libraries.is_empty()).then(|| env::join_paths(&self.libraries).ok()).flatten()
    }

    fn look() -> Result<Self, String> {
        if let Some(named) = env::var_os("SWITCHBOARD_POSTGRES") {
            return Self::of_folder(Path::new(&named)).map_err(|why| format!("SWITCHBOARD_POSTGRES: {why}"));
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let installed = newest(Path::new(DEBIAN));
        let installed = installed.or_else(|| env::split_paths(&path).find_map(|folder| Self::of_folder(&folder).ok()));
        installed.map_or_else(
            || {
                Self::fetch(&packages::target().join("postgresql")).map_err(|why| {
                    format!("PostgreSQL is not installed, and its packages cannot be fetched ({why}): {HINT}")
                })
            },
            Ok,
        )
    }
}

/// Returns the newest release below a folder of releases.
fn newest(folder: &Path) -> Option<Programs> {
    let releases = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let number = |path: &Path| path.file_name().and_then(OsStr::to_str).and_then(|name| name.parse::<u32>().ok());
    let mut releases: Vec<_> = releases.filter_map(|path| Some((number(&path)?, path))).collect();
    releases.sort();
    releases.into_iter().rev().find_map(|(_, path)| Programs::of_folder(&path.join("bin")).ok())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_folder_without_the_programs_is_told_what_it_lacks() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("initdb"), "").expect("a file");
        let why = Programs::of_folder(folder.path()).expect_err("two are missing");
        assert!(why.ends_with("has no postgres, no pg_basebackup"), "{why}");
    }

    #[test]
    fn the_newest_release_that_is_whole_is_taken() {
        let folder = tempfile::tempdir().expect("a folder");
        for (release, programs) in [("9", &NEEDED[..]), ("15", &NEEDED), ("17", &NEEDED[..1]), ("old", &NEEDED)] {
            let bin = folder.path().join(release).join("bin");
            fs::create_dir_all(&bin).expect("a folder");
            programs.iter().for_each(|name| fs::write(bin.join(name), "").expect("a file"));
        }
        assert_eq!(newest(folder.path()).expect("a release").folder, folder.path().join("15/bin"));
    }

    #[test]
    #[ignore = "fetches Debian's packages"]
    fn fetched_programs_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let programs = Programs::fetch(folder.path()).expect("packages");
        let mut command = Command::new(programs.path("postgres"));
        command.arg("--version").envs(programs.library_path().map(|path| ("LD_LIBRARY_PATH", path)));
        let output = command.output().expect("it runs");
        assert!(String::from_utf8_lossy(&output.stdout).starts_with("postgres (PostgreSQL)"), "{output:?}");
    }
}
