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

use std::process::ExitCode;

use chores::Build;

const USAGE: &str = "usage: cargo xtask test [--all] | voice | nodes | console | component | edge | openapi | docs | book | js | bench | hosts | clients | schemathesis | sim | fuzz | faults | attacks | pairs | figures";

fn main() -> ExitCode {
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
