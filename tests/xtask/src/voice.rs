//! The voice engine, a Python package: its tests, types and lints, in a virtual environment with the locked versions.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::chores::{Done, root, step, step_in, target, text};

/// Locked versions, with their hashes.
const LOCK: &str = "requirements/dev.txt";
/// Minutes of each of the two soaks.
const SOAK_MINUTES: &str = "45";

/// Builds the binary, and runs all checks of the package.
pub fn run() -> Done {
    step("binary that checks engines", "cargo", &["build", "--quiet", "-p", "switchboard"])?;
    looks().and_then(|()| tests())
}

/// Checks types, lints and format; fails where Python or a package is missing.
pub fn looks() -> Done {
    python("lints of the voice engine", &["ruff", "check", "--quiet"])?;
    python("format of the voice engine", &["ruff", "format", "--check", "--quiet"])?;
    python("types of the voice engine", &["mypy"])
}

/// Runs the tests with the binary that was built last, which checks engines.
pub fn tests() -> Done {
    // Most of a test is waiting: two processes share them.
    let tests = ["pytest", "-q", "-n", "2", "--dist", "worksteal", "-m", "not long", "-p", "no:cacheprovider"];
    python("tests of the voice engine", &tests)
}

/// Runs a module with the locked versions in the package's folder.
fn python(name: &str, module: &[&str]) -> Done {
    let package = root().join("engines/voice");
    let home = target()?.join("voice");
    let python = text(&programs(&home, &package.join(LOCK))?.join("python"));
    let caches = text(&home.join("cache"));
    let environment = [
        ("SWITCHBOARD_BINARY", text(&target()?.join("debug/switchboard"))),
        ("PYTHONDONTWRITEBYTECODE", "1".into()),
        ("HYPOTHESIS_STORAGE_DIRECTORY", caches.clone()),
        ("MYPY_CACHE_DIR", caches.clone()),
        ("RUFF_CACHE_DIR", caches),
    ];
    step_in(&package, name, &python, &[&["-m"][..], module].concat(), &environment)
}

/// Returns the command that holds latency against its aims, and in a long run soaks the engine twice.
pub fn figures(short: bool) -> Result<Command, String> {
    let package = root().join("engines/voice");
    let home = target()?.join("voice");
    let soak: &[&str] = if short { &[] } else { &["tests/conversation/test_soak.py"] };
    let mut command = Command::new(programs(&home, &package.join(LOCK))?.join("python"));
    command
        .args(["-m", "pytest", "--no-header", "-q", "-s", "-m", "long", "-p", "no:cacheprovider", "--show-capture=no"])
        .arg("tests/conversation/test_sip.py")
        .args(soak)
        .env("SWITCHBOARD_SOAK_MINUTES", SOAK_MINUTES)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(package);
    Ok(command)
}

/// Returns the programs of a virtual environment with the locked versions; makes it anew when they have changed.
fn programs(home: &Path, lock: &Path) -> Result<PathBuf, String> {
    let (folder, installed) = (home.join("tools"), home.join("installed.txt"));
    let wanted = std::fs::read(lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    let bin = folder.join("bin");
    if std::fs::read(&installed).is_ok_and(|known| known == wanted) {
        return Ok(bin);
    }
    step("python", "python3", &["-m", "venv", "--clear", &text(&folder)])?;
    let install = ["install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", &text(lock)];
    step("packages of the voice engine", &text(&bin.join("pip")), &install)?;
    std::fs::write(installed, wanted).map_err(|error| error.to_string())?;
    Ok(bin)
}
