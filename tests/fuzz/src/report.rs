//! The table of a run, its failures, and the commands that reproduce them.

use crate::run::{Failure, Report, Tally};

/// Bytes of a failing input that are printed.
const SHOWN_MAX: usize = 2_000;

/// Header of the table.
pub const HEAD: &str =
    "| target | inputs | core seconds | slowest, ms (its number) | answers | failures |\n|---|---|---|---|---|---|";

/// Formats the table of a run.
pub fn table(report: &Report) -> String {
    let lines: Vec<String> = report.tallies.iter().map(|(name, tally)| line(name, tally)).collect();
    format!("{HEAD}\n{}", lines.join("\n"))
}

fn line(name: &str, tally: &Tally) -> String {
    let mut said: Vec<(&String, &u64)> = tally.said.iter().collect();
    said.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let said: Vec<String> = said.iter().map(|(said, count)| format!("{said}: {count}")).collect();
    let (slowest, number) = tally.slowest;
    format!(
        "| {name} | {} | {:.1} | {:.1} ({number}) | {} | {} |",
        tally.inputs,
        tally.spent.as_secs_f64(),
        slowest.as_secs_f64() * 1_000.0,
        said.join(", "),
        tally.failed
    )
}

/// Formats a failure with its smallest input and the command that reproduces it.
pub fn failure(failure: &Failure, seed: u64) -> String {
    let Failure { target, number, says, input } = failure;
    let shown = input[..input.len().min(SHOWN_MAX)].escape_ascii();
    format!(
        "{target} {number}: {says}\n  input of {} bytes: {shown}\n  cargo xtask fuzz --seed {seed} --from {number} --count 1 {target}",
        input.len()
    )
}
