//! Entry point of the `switchboard` binary; see the command line in `cli`.

mod cli;

use std::process::ExitCode;

/// A list page allocates many small pieces and frees them on whichever core is free: mimalloc handles that well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main()
}
