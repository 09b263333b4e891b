//! The command line of a program that injects faults: which ones, how often, from which seed.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use switchboard_claims::{Claim, tell};

use crate::Fault;
use crate::report::{HEAD, line};

/// Options from the command line.
struct Wish {
    seed: u64,
    faults: Vec<(&'static Fault, u64)>,
}

/// Injects the faults that the words name, or all, and prints a table of the claims. `chore` is the command's name.
pub fn run(chore: &str, all: &'static [Fault], words: &[String]) -> ExitCode {
    let Some(wish) = wish(all, words) else {
        let names: Vec<&str> = all.iter().map(|fault| fault.name).collect();
        eprintln!("usage: cargo xtask {chore} [--long] [--seed S] [NAME [N]]…\nnames: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    println!("seed {}\n\n{HEAD}", wish.seed);
    let rows: Vec<_> = wish
        .faults
        .iter()
        .map(|(fault, count)| {
            let row = (fault.run)(*count, wish.seed);
            println!("{}", line(&row));
            (fault.name, row)
        })
        .collect();
    println!();
    for (name, row) in &rows {
        row.notes.iter().for_each(|note| println!("{name}: {note}"));
        row.failures.iter().for_each(|failure| println!("{name} FAILED: {failure}"));
        if row.count < row.wanted {
            println!("{name} FELL SHORT: {} of {}", row.count, row.wanted);
        }
    }
    let claims: Vec<Claim> = rows
        .iter()
        .flat_map(|(_, row)| {
            let figure = format!("{} tests, {} failures", row.count, row.failures.len());
            let held = Claim::holds(row.claim, format!("{} tests, no failure", row.wanted), figure, row.holds());
            [held].into_iter().chain(row.figures.iter().cloned())
        })
        .collect();
    if tell(&claims).is_ok_and(|met| met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn wish(all: &'static [Fault], words: &[String]) -> Option<Wish> {
    let long = words.iter().any(|word| word == "--long");
    let often = |fault: &Fault| if long { fault.long } else { fault.share };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut wish = Wish { seed: u64::from(now.subsec_nanos()) ^ now.as_secs(), faults: Vec::new() };
    let mut words = words.iter().filter(|word| *word != "--long").peekable();
    while let Some(word) = words.next() {
        if word == "--seed" {
            wish.seed = words.next()?.parse().ok()?;
            continue;
        }
        let fault = all.iter().find(|fault| fault.name == word)?;
        let count = words.next_if(|next| next.parse::<u64>().is_ok()).and_then(|count| count.parse().ok());
        wish.faults.push((fault, count.unwrap_or_else(|| often(fault))));
    }
    if wish.faults.is_empty() {
        wish.faults = all.iter().map(|fault| (fault, often(fault))).collect();
    }
    Some(wish)
}
