//! [`Programs`]: where PostgreSQL's server programs are, and how they are fetched where none is installed.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

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
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let lock = File::create(folder.join("lock")).map_err(|error| format!("the lock of packages: {error}"))?;
        // Another process may be fetching.
        lock.lock().map_err(|error| format!("the lock of packages: {error}"))?;
        let root = folder.join("root");
        if !root.exists() {
            unpack(folder, &root)?;
        }
        let programs = newest(&root.join(DEBIAN.trim_start_matches('/')))
            .ok_or_else(|| format!("the packages in {} have no server programs", root.display()))?;
        Ok(Self { libraries: libraries(&root), ..programs })
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
                Self::fetch(&target().join("postgresql")).map_err(|why| {
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

/// Returns cargo's target folder, which it tags, or else the folder of this program.
fn target() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    let tagged = own.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    tagged.or(own.parent()).unwrap_or(Path::new(".")).to_owned()
}

/// Returns the folders of libraries below the root of unpacked packages.
fn libraries(root: &Path) -> Vec<PathBuf> {
    let folders = [root.join("usr/lib"), root.join("lib")];
    let inside = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let inside = inside.map(|entry| entry.path()).filter(|path| path.is_dir());
    inside.filter(|path| path.to_string_lossy().ends_with("-linux-gnu")).collect()
}

/// Downloads the newest server of this machine's Debian, with what it needs and the machine lacks.
fn unpack(folder: &Path, root: &Path) -> Result<(), String> {
    let names = run(folder, "apt-cache", &["search", "--names-only", "^postgresql-[0-9]+$"])?;
    let releases = names.lines().filter_map(|line| line.split_whitespace().next()?.rsplit('-').next()?.parse().ok());
    let release: u32 = releases.max().ok_or("apt knows no package of it: run `apt-get update`")?;
    let server = format!("postgresql-{release}");
    let plan = run(folder, "apt-get", &["install", "--simulate", "--no-install-recommends", &server])?;
    let mut packages = vec![server, format!("postgresql-client-{release}"), "libpq5".into()];
    packages.extend(plan.lines().filter_map(|line| line.strip_prefix("Inst ")?.split(' ').next()).map(str::to_owned));
    packages.sort();
    packages.dedup();
    let work = tempfile::tempdir_in(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let arguments: Vec<&str> = ["download"].into_iter().chain(packages.iter().map(String::as_str)).collect();
    run(work.path(), "apt-get", &arguments)?;
    let unpacked = work.path().join("root");
    let files = fs::read_dir(work.path()).map_err(|error| error.to_string())?.flatten().map(|entry| entry.path());
    for file in files.filter(|path| path.extension() == Some(OsStr::new("deb"))) {
        run(folder, "dpkg-deb", &["--extract", &file.to_string_lossy(), &unpacked.to_string_lossy()])?;
    }
    // Whole, or not at all.
    fs::rename(&unpacked, root).map_err(|error| format!("{}: {error}", root.display()))
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).current_dir(folder).env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!("`{program} {}` fails: {}", arguments.join(" "), said.trim()))
    }
}

#[cfg(test)]
mod tests {
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
