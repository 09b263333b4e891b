//! `cargo xtask nodes`: hurts nodes and databases under load, and prints the result of each claim.

use std::process::ExitCode;

use switchboard_faults::command;
use switchboard_nodes::faults::FAULTS;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    command::run("nodes", &FAULTS, &words)
}
