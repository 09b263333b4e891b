//! Runs the tests of the workspace: cargo builds them, then two programs run at a time, since many of them wait more than
//! they compute; what measures runs alone after them.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::chores::{Done, root, step};

/// Programs that run at once.
const AT_ONCE: usize = 2;
/// Programs that take longest: they begin first, so that none is left alone at the end.
const LONG: [&str; 5] = ["faults", "api", "hosts", "agree", "engines"];
/// Folder of the package whose programs run alone: they measure how a neighbour fares beside an attack.
const MEASURES: &str = "tests/attacks";

/// A program of tests, as cargo built it.
struct Program {
    name: String,
    file: PathBuf,
    /// The folder of its package, in which it runs.
    folder: PathBuf,
}

/// Builds and runs all tests of the selected packages, and the examples in their documentation.
pub fn test(selection: &[&str]) -> Done {
    let (alone, beside) = build(selection)?.into_iter().partition(|program| program.folder.ends_with(MEASURES));
    let failed = [run_all(beside, AT_ONCE), run_all(alone, 1)].concat().join(", ");
    if failed.is_empty() {
        step("examples in documentation", "cargo", &[&["test", "--doc", "--quiet"], selection].concat())
    } else {
        Err(format!("tests failed: {failed}"))
    }
}

/// Runs programs, so many at once, the last one first; returns which failed.
fn run_all(programs: Vec<Program>, at_once: usize) -> Vec<String> {
    let (queue, failed) = (Mutex::new(programs), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                while let Some(program) = next(&queue) {
                    if let Err(error) = run(&program) {
                        locked(&failed).push(error);
                    }
                }
            });
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the next program; the lock ends with the call, not with what its caller does about it.
fn next(queue: &Mutex<Vec<Program>>) -> Option<Program> {
    locked(queue).pop()
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Builds the programs; the last one is the first to run.
fn build(selection: &[&str]) -> Result<Vec<Program>, String> {
    let began = Instant::now();
    let build = ["test", "--no-run", "--quiet", "--message-format=json-render-diagnostics"];
    println!("== build of the tests: cargo {} {}", build.join(" "), selection.join(" "));
    let output =
        Command::new("cargo").args(build).args(selection).current_dir(root()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cargo: {error}"))?;
    if !output.status.success() {
        return Err("build of the tests failed".into());
    }
    println!("== build of the tests: passed in {:.0} s", began.elapsed().as_secs_f64());
    let messages = output.stdout.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    let mut programs: Vec<Program> = messages.filter_map(|message: Value| program(&message)).collect();
    if programs.is_empty() {
        return Err("cargo built no tests".into());
    }
    programs.sort_by_key(|program| {
        std::cmp::Reverse(LONG.iter().position(|name| *name == program.name).unwrap_or(LONG.len()))
    });
    Ok(programs)
}

/// Returns the program of tests that a message of cargo tells of.
fn program(message: &Value) -> Option<Program> {
    let is_test = message["profile"]["test"].as_bool()?;
    let folder = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned();
    let (name, file) = (message["target"]["name"].as_str()?, message["executable"].as_str()?);
    is_test.then(|| Program { name: name.to_owned(), file: file.into(), folder })
}

/// Runs a program; what it prints is shown at once when it has ended, so that no two are mixed.
fn run(Program { name, file, folder }: &Program) -> Done {
    let began = Instant::now();
    let output = Command::new(file).arg("--quiet").current_dir(folder).output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    let seconds = began.elapsed().as_secs_f64();
    if output.status.success() {
        println!("== tests of {name}: passed in {seconds:.0} s");
        return Ok(());
    }
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    println!("{out}{err}== tests of {name}: failed in {seconds:.0} s");
    Err(name.clone())
}
