//! A thousand worlds, and a week of one large campaign. `cargo xtask sim` runs more of them.

use switchboard_sim::plan::Scale;
use switchboard_sim::report::Tally;
use switchboard_sim::tamper::Tampering;
use switchboard_sim::{Outcome, run, scenario};

/// Seeds per test: there are four, so that they share the cores.
const SEEDS: u64 = 250;
/// Days of conversations.
const TALKS: u64 = 100;
/// Most of them in which a defect must show.
const DEFECT_SEEDS: u64 = 200;

fn all_hold(from: u64) {
    let failures: Vec<String> = (from..from + SEEDS)
        .filter_map(|seed| {
            let fault = run(seed, Scale::Small).fault?;
            Some(format!("{fault}\n  cargo xtask sim --seed {seed} --scale small"))
        })
        .collect();
    assert!(failures.is_empty(), "{} of {SEEDS} worlds failed:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_claims_hold_in_the_first_worlds() {
    all_hold(1);
}

#[test]
fn the_claims_hold_in_the_second_worlds() {
    all_hold(1 + SEEDS);
}

#[test]
fn the_claims_hold_in_the_third_worlds() {
    all_hold(1 + 2 * SEEDS);
}

#[test]
fn the_claims_hold_in_the_fourth_worlds() {
    all_hold(1 + 3 * SEEDS);
}

#[test]
fn steps_come_to_no_end_jobs_are_set_aside_and_calls_go_back_in_some_worlds() {
    let (mut endless, mut stuck, mut set_aside, mut given_back) = (0, 0, 0, 0);
    for tally in (1..=SEEDS).map(|seed| run(seed, Scale::Small).tally) {
        endless += tally.endless;
        stuck += tally.stuck;
        set_aside += tally.set_aside;
        given_back += tally.given_back;
    }
    assert!(given_back > 100, "{given_back} calls went back to the queue");
    assert!(
        endless > 100 && stuck > 20 && set_aside > 0,
        "{endless} steps without an end, {stuck} rows, {set_aside} jobs"
    );
}

#[test]
fn a_seed_gives_the_same_world_each_time() {
    for seed in [3, 17, 42] {
        let Outcome { tally, fault } = run(seed, Scale::Small);
        assert_eq!(run(seed, Scale::Small), Outcome { tally, fault }, "seed {seed}");
        assert_ne!(run(seed + 1, Scale::Small).tally, tally, "seed {seed}");
    }
}

#[test]
fn a_thousand_leads_are_called_within_a_week() {
    let Outcome { tally, fault } = scenario::week(1, 1_000);
    assert_eq!(fault, None);
    assert!(tally.dialed > 1_000 && tally.delivered > 1_000, "{tally:?}");
}

#[test]
fn conversations_hold_on_hosts_that_often_fail() {
    let (mut failures, mut met) = (Vec::new(), Tally::default());
    for seed in 1..=TALKS {
        let Outcome { tally, fault } = scenario::talks(seed, None);
        failures.extend(fault.map(|fault| format!("seed {seed}: {fault}")));
        met += tally;
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let rare = [met.model_lies, met.model_silences, met.turns_died, met.turns_stood, met.ends];
    assert!(met.answers > 1_000 && rare.iter().all(|times| *times > 50), "{met:?}");
}

#[test]
fn each_claim_about_conversations_fails_where_the_service_has_its_defect() {
    for (tampering, claim) in Tampering::ALL {
        let mut faults = (1..=DEFECT_SEEDS).filter_map(|seed| scenario::talks(seed, Some(tampering)).fault);
        assert!(faults.any(|fault| fault.starts_with(claim)), "{tampering:?} is not noticed: {claim}");
    }
}
