//! `cargo xtask fuzz`: feeds targets any number of inputs and prints the results.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Instant;

use switchboard_claims::{Claim, tell};
use switchboard_fuzz::run::{Order, Report, judged, run, run_until_succeeded};
use switchboard_fuzz::town::Town;
use switchboard_fuzz::{corpus, report, target};

/// Inputs of a run when no count is given.
const COUNT: u64 = 1_000_000;
/// Longest input that is kept, bytes.
const KEPT_BYTES_MAX: usize = 4_096;
const USAGE: &str = "usage: cargo xtask fuzz [--count N] [--seed S] [--from NUMBER] [--keep] [TARGET]
  without a target, the inputs are shared among those that take a fixed share; with one, it gets all of them
  --keep adds the first input of each new outcome to the corpus";

/// Options from the command line.
struct Wish {
    count: u64,
    seed: u64,
    from: u64,
    keep: bool,
    target: Option<&'static str>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(wish) = wish(&arguments) else {
        let names: Vec<&str> = target::NAMES.iter().map(|(name, _)| *name).collect();
        eprintln!("{USAGE}\ntargets: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    let began = Instant::now();
    let town = Town::new();
    let shares = wish.target.map_or_else(|| target::shares(wish.count), |name| vec![(name, wish.count)]);
    let done = match wish.target {
        // A single input is run to look at it, whatever the answer.
        Some(name @ "idempotency") if wish.count > 1 => run_until_succeeded(&town, name, wish.count, wish.seed),
        _ => run(&town, &Order { seed: wish.seed, from: wish.from, shares, shrink: true }),
    };
    println!("{}", report::table(&done));
    println!("{} inputs, seed {}, in {:.1} s", done.inputs(), wish.seed, began.elapsed().as_secs_f64());
    done.failures.iter().for_each(|failure| println!("{}", report::failure(failure, wish.seed)));
    if wish.keep {
        keep(&town, &done);
    }
    if tell(&[claim(&wish, &done)]).is_ok_and(|met| met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the claim that the inputs support.
fn claim(wish: &Wish, done: &Report) -> Claim {
    let (text, unit, count) = match wish.target {
        Some("tenancy") => ("Tenants are invisible to each other", "inputs", done.inputs()),
        Some("idempotency") => ("An idempotency key has one effect", "requests that succeed", done.succeeded()),
        _ => ("No input leads to a panic or breaks a promise", "inputs", done.inputs()),
    };
    let met = done.failures.is_empty() && count >= wish.count;
    let figure = format!("{count} {unit}, {} failures", done.failures.len());
    Claim::holds(text, format!("{} {unit}, no failure", wish.count), figure, met)
}

fn wish(arguments: &[String]) -> Option<Wish> {
    let mut wish = Wish { count: COUNT, seed: 1, from: 0, keep: false, target: None };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--count" => wish.count = words.next()?.parse().ok()?,
            "--seed" => wish.seed = words.next()?.parse().ok()?,
            "--from" => wish.from = words.next()?.parse().ok()?,
            "--keep" => wish.keep = true,
            name => wish.target = Some(target::NAMES.iter().find(|(known, _)| *known == name)?.0),
        }
    }
    Some(wish)
}

/// Adds inputs to the corpus whose outcome no file in it produces.
fn keep(town: &Town, done: &Report) {
    for (name, tally) in &done.tallies {
        let target = target::named(town, name);
        let known: BTreeSet<String> =
            corpus::of(name).iter().filter_map(|input| judged(&*target, input).ok()).map(|seen| seen.kind).collect();
        let new = tally.kinds.iter().filter(|(kind, input)| !known.contains(*kind) && input.len() <= KEPT_BYTES_MAX);
        for (kind, input) in new {
            match corpus::keep(name, input) {
                Ok(path) => println!("kept {} ({kind})", path.display()),
                Err(error) => eprintln!("{name}: {error}"),
            }
        }
    }
}
