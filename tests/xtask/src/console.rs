//! The console: types and format of its modules, and its tests in a real browser, over the binary that was built last.

use std::path::Path;

use crate::chores::{Done, root, step, step_in, target, test_files, text};

/// Files of tests that run at once: each starts a service and a browser of its own.
const AT_ONCE: &str = "--test-concurrency=2";

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
