//! Figures of one run on one machine: the service beside a bare hyper server that sends the same bytes, a bare redb
//! loop that commits the same bytes, `SQLite`, and a peer. Ratios are what counts: machines are noisy.

mod bare;
mod commits;
mod day;
mod edge;
mod engines;
mod fill;
mod growth;
mod imports;
mod inside;
#[cfg(feature = "beside")]
mod lists;
mod load;
mod nodes;
mod pairs;
mod peer;
mod pressure;
mod reads;
mod search;
mod server;
#[cfg(feature = "beside")]
mod steps;
mod talks;
mod turns;
mod writes;

use std::path::Path;
use std::process::ExitCode;

/// The service's allocator, so that steps measured in this process cost what they cost in the server.
#[cfg(not(feature = "beside"))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Default number of pairs for `pairs`.
const PAIRS: usize = 15;
/// Calls in the stores that are compared.
const SIZES: [u32; 3] = [10_000, 1_000_000, 10_000_000];
const USAGE: &str = "usage: cargo xtask bench NAME
  reads            reads and pages beside bare hyper
  load             reads as more connections ask
  creates          durable creates beside bare redb
  growth [CALLS…]  pages, start and memory as the data grows
  imports [LINES]  what an import costs, and who waits for it
  search           a knowledgebase's index
  day [SECONDS [RATE]]  reads, writes and webhooks, at half the peak or so many requests a second
  talks            turns of conversations, and reads beside a thousand of them
  engines          a thousand calls in which nothing happens, and hang-ups
  nodes            nodes over PostgreSQL
  lists            pages beside SQLite
  steps            what a step consists of
  edge WASMTIME COMPONENTS  nodes at the edge
  stock DIR CALLS [ASSISTANTS]  makes a store to look at, and prints its key
  pairs BINARY [PAIRS]  processor time beside another build of the service, in alternating pairs
  commits BINARY [CALLS…]  commits beside another build of the service, whose bench stands beside it
  peer PROGRAM     openvox-core, whose command that is, on the same operations";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match carry_out(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the numbers of calls that are named, or all that claims are made for.
fn numbers(sizes: &[&str]) -> Result<Vec<u32>, Failed> {
    if sizes.is_empty() {
        Ok(SIZES.to_vec())
    } else {
        Ok(sizes.iter().map(|size| size.parse()).collect::<Result<_, _>>()?)
    }
}

fn stock(folder: &str, assistants: u32, calls: u32) -> Result<bool, Failed> {
    let stock = fill::Stock::new(Path::new(folder), "store", assistants, calls)?;
    println!("{}", stock.key);
    Ok(true)
}

/// Runs the named benchmark; returns whether every claim was met.
fn carry_out(words: &[&str]) -> Result<bool, Failed> {
    match words {
        // The bare server runs as a process of its own, so that its CPU time can be measured.
        ["bare"] => bare::serve(std::io::stdin()).map(|()| true),
        ["reads"] => reads::print(),
        ["load"] => pressure::print(),
        ["creates"] => writes::print(),
        ["growth", sizes @ ..] => growth::print(&numbers(sizes)?),
        ["imports"] => imports::print(50_000),
        ["imports", lines] => imports::print(lines.parse()?),
        ["stock", folder, calls] => stock(folder, fill::ASSISTANTS, calls.parse()?),
        ["stock", folder, calls, assistants] => stock(folder, assistants.parse()?, calls.parse()?),
        ["search"] => search::print(),
        ["day"] => day::print(300, None),
        ["day", seconds] => day::print(seconds.parse()?, None),
        ["day", seconds, rate] => day::print(seconds.parse()?, Some(rate.parse()?)),
        ["talks"] => talks::print(),
        ["engines"] => engines::print(),
        ["nodes"] => nodes::print(),
        #[cfg(feature = "beside")]
        ["lists"] => lists::print(),
        #[cfg(feature = "beside")]
        ["steps"] => steps::print(),
        ["edge", wasmtime, components] => edge::print(Path::new(wasmtime), Path::new(components)),
        ["commits", base, sizes @ ..] => commits::print(Path::new(base), &numbers(sizes)?),
        ["pairs", base] => pairs::print(Path::new(base), PAIRS),
        ["pairs", base, pairs] => pairs::print(Path::new(base), pairs.parse::<usize>()?.max(1)),
        ["peer", program] => peer::print(Path::new(program)),
        _ => Err(USAGE.into()),
    }
}
