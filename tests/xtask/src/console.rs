//! The console: types and format of its modules, and its tests in a real browser, over the binary that was built last.

use std::path::Path;
use std::process::Command;

use crate::chores::{BENCH, Done, root, run as run_of, step, step_in, target, test_files, text};

/// Files of tests that run at once: each starts a service and a browser of its own.
const AT_ONCE: &str = "--test-concurrency=2";
/// Stores over which it is measured: their names, calls and assistants.
const STORES: [(&str, &str, &str); 2] = [("small", "1000", "20"), ("large", "1000000", "1000")];

/// Builds the binary, and runs all checks of the console.
pub fn run() -> Done {
    step("binary that serves the console", "cargo", &["build", "--quiet", "-p", "switchboard"])?;
    looks().and_then(|()| tests())
}

/// Checks types and format; fails where Node or a package is missing.
pub fn looks() -> Done {
    let folder = root().join("console");
    packages(&folder)?;
    step_in(&folder, "types and format of the console", "npm", &["run", "--silent", "check"], &[])
}

/// Runs the tests, which need the packages.
pub fn tests() -> Done {
    let files = test_files("console/test")?;
    let tests = ["--test", AT_ONCE].into_iter().chain(files.iter().map(String::as_str));
    let binary = [("SWITCHBOARD_BIN", text(&target()?.join("debug/switchboard")))];
    step_in(&root(), "tests of the console", "node", &tests.collect::<Vec<_>>(), &binary)
}

/// Fills stores, and returns the command that measures the console over them; a page lives for so many minutes.
pub fn figures(minutes: u32) -> Result<Command, String> {
    packages(&root().join("console"))?;
    step("binary", "cargo", &["build", "--release", "--quiet", "-p", "switchboard"])?;
    let folder = target()?.join("console");
    let _ = std::fs::remove_dir_all(&folder);
    let mut command = Command::new("node");
    command.arg("console/test/tools/figures.js");
    for (name, calls, assistants) in STORES {
        let store = text(&folder.join(name));
        let stock = ["--", "stock", &store, calls, assistants];
        step(name, "cargo", &[&run_of(BENCH)[..], &stock].concat())?;
        command.arg(folder.join(name).join("store"));
    }
    command.arg(minutes.to_string()).env("SWITCHBOARD_BIN", target()?.join("release/switchboard")).current_dir(root());
    Ok(command)
}

/// Returns the path of the browser that the tests run in, which comes with the packages.
pub fn browser() -> Result<String, String> {
    let folder = root().join("console");
    packages(&folder)?;
    let script = "import { options } from './test/tools/chromium.js'; console.log((await options()).executablePath);";
    let shown = Command::new("node").args(["--input-type=module", "--eval", script]).current_dir(&folder).output();
    let shown = shown.map_err(|error| format!("node: {error}"))?;
    if shown.status.success() {
        Ok(String::from_utf8_lossy(&shown.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&shown.stderr).into_owned())
    }
}

/// Installs the locked packages, if others are there.
fn packages(folder: &Path) -> Done {
    let (locked, installed) = (folder.join("package-lock.json"), folder.join("node_modules/.installed.json"));
    let wanted = std::fs::read(&locked).map_err(|error| format!("{}: {error}", locked.display()))?;
    if std::fs::read(&installed).is_ok_and(|known| known == wanted) {
        return Ok(());
    }
    step_in(folder, "packages of the console", "npm", &["ci", "--no-audit", "--no-fund", "--silent"], &[])?;
    std::fs::write(installed, wanted).map_err(|error| error.to_string())
}
