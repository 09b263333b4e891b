//! `cargo xtask sim`: runs worlds and prints what happened in them.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use switchboard_claims::Claim;
use switchboard_sim::plan::Scale;
use switchboard_sim::report::{HEAD, Tally};
use switchboard_sim::{Outcome, live, run, scenario, world};

/// Worlds per line of the table.
const LINE: u64 = 1_000;
const USAGE: &str = "usage: cargo xtask sim [--seeds N] [--from S] [--scale small|large]
       cargo xtask sim --seed S [--scale small|large]    one world, told as it happens
       cargo xtask sim --week LEADS                      a week of one large campaign";

/// Options from the command line.
struct Wish {
    seeds: u64,
    from: u64,
    one: Option<u64>,
    week: Option<u64>,
    scale: Scale,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(wish) = wish(&arguments) else {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    };
    let good = match (wish.one, wish.week) {
        (Some(seed), _) => tell(seed, wish.scale),
        (None, Some(leads)) => week(leads),
        (None, None) => many(&wish),
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn wish(arguments: &[String]) -> Option<Wish> {
    let mut wish = Wish { seeds: LINE, from: 1, one: None, week: None, scale: Scale::Small };
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return None };
        match name.as_str() {
            "--seeds" => wish.seeds = value.parse().ok()?,
            "--from" => wish.from = value.parse().ok()?,
            "--seed" => wish.one = Some(value.parse().ok()?),
            "--week" => wish.week = Some(value.parse().ok()?),
            "--scale" => wish.scale = Scale::of(value)?,
            _ => return None,
        }
    }
    Some(wish)
}

fn tell(seed: u64, scale: Scale) -> bool {
    let mut world = world(seed, scale);
    world.told = true;
    println!("{:?}", world.plan);
    let Outcome { tally, fault } = live(world);
    println!("{HEAD}");
    println!("{}", tally.line(&seed.to_string(), u64::from(fault.is_some())));
    fault.iter().for_each(|fault| println!("seed {seed} failed: {fault}"));
    fault.is_none()
}

fn week(leads: u64) -> bool {
    let began = Instant::now();
    let Outcome { tally, fault } = scenario::week(1, leads);
    println!("{HEAD}");
    println!("{}", tally.line("week", u64::from(fault.is_some())));
    println!("{leads} leads, {} steps in {:.1} s", tally.steps, began.elapsed().as_secs_f64());
    fault.iter().for_each(|fault| println!("failed: {fault}"));
    fault.is_none()
}

/// Runs the worlds of a range of seeds on all cores; returns the outcomes in the order of their seeds.
fn lives(from: u64, until: u64, scale: Scale) -> Vec<(u64, Outcome)> {
    let (next, done) = (AtomicU64::new(from), Mutex::new(Vec::new()));
    scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= until {
                        return;
                    }
                    let outcome = run(seed, scale);
                    done.lock().expect("no world panics out of its run").push((seed, outcome));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no world panics out of its run");
    done.sort_by_key(|(seed, _)| *seed);
    done
}

fn many(wish: &Wish) -> bool {
    let began = Instant::now();
    println!("{HEAD}");
    let (mut total, mut failures) = (Tally::default(), Vec::new());
    let end = wish.from.saturating_add(wish.seeds);
    let mut from = wish.from;
    while from < end {
        let until = from.saturating_add(LINE).min(end);
        let (mut part, before) = (Tally::default(), failures.len());
        for (seed, Outcome { tally, fault }) in lives(from, until, wish.scale) {
            part += tally;
            failures.extend(fault.map(|fault| (seed, fault)));
        }
        println!("{}", part.line(&format!("{from}..{}", until - 1), (failures.len() - before) as u64));
        total += part;
        from = until;
    }
    println!("{}", total.line("all", failures.len() as u64));
    println!("{} worlds ({}) in {:.0} s", wish.seeds, wish.scale.word(), began.elapsed().as_secs_f64());
    for (seed, fault) in &failures {
        println!("seed {seed} failed: {fault}");
        println!("  cargo xtask sim --seed {seed} --scale {}", wish.scale.word());
    }
    let held = |text: &str| {
        Claim::holds(
            text,
            format!("{} worlds, no failure", wish.seeds),
            format!("{} worlds, {} failures", wish.seeds, failures.len()),
            failures.is_empty(),
        )
    };
    let claims = [
        held("Every due webhook is delivered or recorded as exhausted, and no call is dialed twice"),
        held("No answer in a conversation is charged twice or lost, and every answer that was heard stands once"),
    ];
    switchboard_claims::tell(&claims).is_ok_and(|met| met)
}
