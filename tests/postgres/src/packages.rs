//! Debian's packages, fetched by apt and unpacked into a folder: nothing is installed.

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the root of packages that were unpacked below a folder, with what the first of them needs and the machine
/// lacks; later calls find it there.
pub(crate) fn unpacked(folder: &Path, names: impl FnOnce() -> Result<Vec<String>, String>) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let lock = File::create(folder.join("lock")).map_err(|error| format!("the lock of packages: {error}"))?;
    // Another process may be fetching.
    lock.lock().map_err(|error| format!("the lock of packages: {error}"))?;
    let root = folder.join("root");
    if !root.exists() {
        unpack(folder, &root, names()?)?;
    }
    Ok(root)
}

/// Returns cargo's target folder, which it tags, or else the folder of this program.
pub(crate) fn target() -> PathBuf {
    let own = env::current_exe().unwrap_or_default();
    let tagged = own.ancestors().find(|folder| folder.join("CACHEDIR.TAG").is_file());
    tagged.or(own.parent()).unwrap_or(Path::new(".")).to_owned()
}

/// Returns the folders of libraries below the root of unpacked packages.
pub(crate) fn libraries(root: &Path) -> Vec<PathBuf> {
    let folders = [root.join("usr/lib"), root.join("lib")];
    let inside = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let inside = inside.map(|entry| entry.path()).filter(|path| path.is_dir());
    inside.filter(|path| path.to_string_lossy().ends_with("-linux-gnu")).collect()
}

fn unpack(folder: &Path, root: &Path, mut packages: Vec<String>) -> Result<(), String> {
    let first = packages.first().ok_or("no package is named")?;
    let plan = run(folder, "apt-get", &["install", "--simulate", "--no-install-recommends", first])?;
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

pub(crate) fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, String> {
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
