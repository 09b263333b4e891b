//! Figures of one run on one machine: the service beside a bare hyper server that sends the same bytes, and
//! beside a bare redb loop that commits the same bytes. Ratios are what counts: machines are noisy.

mod bare;
mod fill;
mod imports;
mod load;
mod reads;
mod report;
mod search;
mod server;
mod writes;

type Failed = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        // The bare server runs as a process of its own, so that its CPU time can be told.
        ["bare", bytes] => bare::serve(bytes.parse()?),
        [] => report::print(1_000_000),
        ["--calls", calls] => report::print(calls.parse()?),
        ["search"] => [10_000, 50_000].into_iter().try_for_each(search::print),
        ["--import", lines] => imports::print(lines.parse()?),
        _ => Err("usage: cargo xtask bench [--calls N | search | --import LINES]".into()),
    }
}
