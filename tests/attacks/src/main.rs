//! `cargo xtask attacks`: attacks a server of its own and prints how a neighbour fared.

use std::process::ExitCode;

use switchboard_attacks::attacks::ATTACKS;
use switchboard_attacks::report::{HEAD, Row};
use switchboard_attacks::{Attack, Spans, trial};
use switchboard_claims::{Claim, tell};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (flags, names): (Vec<&str>, Vec<&str>) =
        words.iter().map(String::as_str).partition(|word| word.starts_with("--"));
    let chosen: Option<Vec<&Attack>> =
        names.iter().map(|name| ATTACKS.iter().find(|attack| attack.name == *name)).collect();
    let known = flags.iter().all(|flag| matches!(*flag, "--long" | "--mixed"));
    let (Some(chosen), true) = (chosen, known) else {
        let names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        eprintln!("usage: cargo xtask attacks [--long] [--mixed] [NAME]…\nnames: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    let long = flags.contains(&"--long");
    let spans = if long { Spans::LONG } else { Spans::SHARE };
    println!("{HEAD}");
    let mut claims = Vec::new();
    let mut tell_of = |row: &Row, what: &str| {
        println!("{}", row.line());
        row.faults().for_each(|failure| println!("  {}: {failure}", row.name));
        row.skipped.iter().for_each(|why| println!("  {}: not run: {why}", row.name));
        claims.extend(row.claims(what));
    };
    let attacks: Vec<&'static Attack> =
        ATTACKS.iter().filter(|attack| chosen.is_empty() || chosen.iter().any(|one| one.name == attack.name)).collect();
    if !flags.contains(&"--mixed") {
        attacks.iter().for_each(|attack| tell_of(&trial::run(&[*attack], spans), attack.what));
    }
    if flags.contains(&"--mixed") || (long && chosen.is_empty()) {
        let spans = if long { Spans::MIXED } else { spans };
        tell_of(&trial::run(&attacks, spans), "all attacks at once");
    }
    finish(&claims)
}

fn finish(claims: &[Claim]) -> ExitCode {
    if tell(claims).is_ok_and(|met| met) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
