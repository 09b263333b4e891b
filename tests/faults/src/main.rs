//! `cargo xtask faults`: injects faults and prints the result of each claim.

use std::process::ExitCode;

use switchboard_faults::{FAULTS, command};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    command::run("faults", &FAULTS, &words)
}
