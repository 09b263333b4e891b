//! The command line of Switchboard.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
