//! `cargo xtask CHORE`: runs the chore of that name.

mod book;
mod chores;
mod clients;
mod console;
mod figures;
mod programs;
mod schemathesis;
mod server;
#[cfg(test)]
mod tidy;
mod voice;

use std::process::{Command, ExitCode};

use chores::Build;

const USAGE: &str = "usage: cargo xtask test [--all] | voice | nodes | console | component | edge | openapi | docs | book | js | bench | hosts | clients | schemathesis | sim | fuzz | faults | attacks | pairs | figures";

fn main() -> ExitCode {
    if std::env::vars().any(|(name, _)| is_of_cargo(&name)) {
        return again();
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => chores::test(chores::Share::Rust),
        ["test", "--all"] => chores::test(chores::Share::All),
        ["voice"] => voice::run(),
        ["nodes", rest @ ..] => chores::nodes(rest),
        ["console"] => console::run(),
        ["component"] => chores::component(Build::Shipped),
        ["edge"] => chores::edges(Build::Shipped),
        ["openapi"] => chores::openapi(),
        ["docs"] => chores::docs(),
        ["book"] => book::run(),
        ["js"] => chores::js(Build::Shipped),
        ["bench", rest @ ..] => chores::bench(rest),
        ["hosts", rest @ ..] => chores::hosts(rest),
        ["clients"] => clients::run(),
        ["schemathesis"] => schemathesis::run(schemathesis::LONG_SECONDS),
        ["schemathesis", seconds] => {
            seconds.parse().map_err(|_| "how many seconds?".into()).and_then(schemathesis::run)
        }
        ["sim", rest @ ..] => chores::sim(rest),
        ["fuzz", rest @ ..] => chores::fuzz(rest),
        ["faults", rest @ ..] => chores::faults(rest),
        ["attacks", rest @ ..] => chores::attacks(rest),
        ["pairs", rest @ ..] => chores::bench(&[&["pairs"], rest].concat()),
        ["figures", rest @ ..] => figures::run(rest),
        _ => Err(USAGE.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether cargo tells by this variable which package it runs. Build scripts look at them too: what a chore has built with
/// ours would be built anew by hand, and the other way around.
fn is_of_cargo(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|known| name.starts_with(known))
}

/// Runs this program without these variables.
fn again() -> ExitCode {
    let run = std::env::current_exe().and_then(|program| {
        let mut command = Command::new(program);
        command.args(std::env::args_os().skip(1));
        for (name, _) in std::env::vars().filter(|(name, _)| is_of_cargo(name)) {
            command.env_remove(name);
        }
        command.status()
    });
    match run {
        Ok(status) => ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)),
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}
