//! The command line of Switchboard.

mod cli;

use std::process::ExitCode;

/// A page takes many pieces of memory, and gives them back on whichever core is free.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
