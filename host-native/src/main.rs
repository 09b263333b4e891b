//! The command line of Switchboard.

mod cli;

use std::process::ExitCode;

/// Half of what a page costs beside its socket is memory taken and given back, on whichever core is free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
