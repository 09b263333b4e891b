//! The check against engines that keep every rule, and against engines each of which breaks one.

mod mini;

use std::time::Duration;

use mini::{Flaw, host};
use switchboard_engine_check::cases::{CASES, case};
use switchboard_engine_check::report::RuleVerdict;
use switchboard_engine_check::rules::EngineRule;
use switchboard_engine_check::subject::HostedEngine;
use switchboard_engine_check::{CheckReport, CheckSettings, CheckedEngine, check};
use switchboard_engine_sim::{EngineSettings, EngineSignals, run_until};
use tokio::sync::watch;

/// Short leases and short patience: every engine here is quick.
fn settings(cases: &[&str]) -> CheckSettings {
    CheckSettings {
        cases: cases.iter().map(|name| case(name).expect("a case of this name")).collect(),
        lease: Duration::from_secs(1),
        patience: Duration::from_secs(6),
        call: Duration::from_secs(12),
        attach: Duration::from_secs(5),
        ..CheckSettings::default()
    }
}

async fn checked(flaw: Flaw, cases: &[&str]) -> CheckReport {
    let engine = CheckedEngine::Hosted(Box::new(host(flaw)));
    check(&settings(cases), &engine, |_| {}).await.expect("the check is made")
}

fn with(report: &CheckReport, verdict: RuleVerdict) -> Vec<EngineRule> {
    report.rules.iter().filter(|result| result.verdict == verdict).map(|result| result.rule).collect()
}

/// Returns what the report says of broken rules.
fn breaches(report: &CheckReport) -> String {
    let kept = |line: &&str| !line.starts_with("pass") && !line.starts_with("not shown");
    report.to_text().lines().filter(kept).collect::<Vec<_>>().join("\n")
}

fn all() -> Vec<&'static str> {
    CASES.iter().map(|case| case.name).collect()
}

#[tokio::test]
async fn an_engine_that_keeps_every_rule_passes() {
    let report = checked(Flaw::Brings, &all()).await;
    assert!(report.is_passed(), "{}", breaches(&report));
    assert_eq!(with(&report, RuleVerdict::NotShown), [], "every rule can be shown: {}", report.to_text());
    assert_eq!(report.to_json()["passed"], true);
}

/// Each engine breaks this rule, in these cases, and no other.
const FLAWS: &[(Flaw, EngineRule, &[&str])] = &[
    (Flaw::NoToken, EngineRule::Token, &["long"]),
    (Flaw::OldProtocol, EngineRule::ClaimMembers, &["plain"]),
    (Flaw::TakesNothing, EngineRule::TakesCalls, &["plain"]),
    (Flaw::OverCapacity, EngineRule::Capacity, &["crowd"]),
    (Flaw::Polls, EngineRule::NoPolling, &["empty"]),
    (Flaw::EndsOnTrouble, EngineRule::StaysUp, &["plain", "unavailable"]),
    (Flaw::WrongTime, EngineRule::EventMembers, &["plain"]),
    (Flaw::LosesEvents, EngineRule::NoGaps, &["lost-before"]),
    (Flaw::ChangesEvents, EngineRule::SameEvent, &["lost-after"]),
    (Flaw::GoesOnAfterConflict, EngineRule::ResumesAt, &["forgets"]),
    (Flaw::NoDialing, EngineRule::DialingFirst, &["plain"]),
    (Flaw::TalksBeforeAnswer, EngineRule::States, &["plain"]),
    (Flaw::NeverEnds, EngineRule::EveryCallEnds, &["plain"]),
    (Flaw::TalksAfterEnd, EngineRule::AfterEnd, &["plain"]),
    (Flaw::RingsAfterRelease, EngineRule::AfterRelease, &["release"]),
    (Flaw::NeverRenews, EngineRule::LeaseRenewed, &["long"]),
    (Flaw::WrongHeartbeat, EngineRule::HeartbeatMembers, &["long"]),
    (Flaw::IgnoresLost, EngineRule::LostLeft, &["lost"]),
    (Flaw::IgnoresCommands, EngineRule::CommandEnds, &["commands"]),
    (Flaw::EndsCommandsTwice, EngineRule::CommandOnce, &["commands"]),
    (Flaw::TalksOn, EngineRule::HangUpObeyed, &["hang-up-answered"]),
    (Flaw::ToolFirst, EngineRule::EventsBeforeTool, &["tool"]),
    (Flaw::ToolTwice, EngineRule::ToolOnce, &["tool-lost"]),
    (Flaw::ToolWithoutArguments, EngineRule::ToolMembers, &["tool"]),
    (Flaw::Hammers, EngineRule::BacksOff, &["unavailable"]),
    (Flaw::Impatient, EngineRule::RetryAfter, &["retry-after"]),
    (Flaw::GivesUp, EngineRule::Outlives, &["lost-after"]),
    (Flaw::HammersToken, EngineRule::TokenRefused, &["token-refused"]),
    (Flaw::FearsTheUnknown, EngineRule::Tolerates, &["tomorrow"]),
    (Flaw::MixesCalls, EngineRule::CallsApart, &["accounts"]),
    (Flaw::BringsAnew, EngineRule::BroughtOnce, &["plain"]),
    (Flaw::DrainsNot, EngineRule::DrainTakesNone, &["drain"]),
    (Flaw::DrainsAtOnce, EngineRule::DrainEnds, &["drain"]),
];

/// What an engine with a flaw may break besides, since one follows from the other.
const BESIDES: &[(Flaw, EngineRule)] = &[
    (Flaw::TakesNothing, EngineRule::NoPolling),
    (Flaw::TalksBeforeAnswer, EngineRule::LeaseRenewed),
    (Flaw::NoDialing, EngineRule::LeaseRenewed),
    (Flaw::WrongTime, EngineRule::LeaseRenewed),
    (Flaw::LosesEvents, EngineRule::Outlives),
    (Flaw::EndsOnTrouble, EngineRule::Outlives),
    (Flaw::BringsAnew, EngineRule::LeaseRenewed),
    (Flaw::GoesOnAfterConflict, EngineRule::Outlives),
    (Flaw::GoesOnAfterConflict, EngineRule::NoGaps),
    (Flaw::DrainsNot, EngineRule::DrainEnds),
];

#[tokio::test]
async fn every_rule_can_be_broken() {
    for rule in EngineRule::ALL {
        assert!(FLAWS.iter().any(|(_, broken, _)| broken == rule), "no engine breaks {}", rule.name());
    }
    let mut engines = tokio::task::JoinSet::new();
    // A few at a time: one that is to be too quick needs a processor for it.
    let turns = std::sync::Arc::new(tokio::sync::Semaphore::new(6));
    for (flaw, rule, cases) in FLAWS {
        let turns = std::sync::Arc::clone(&turns);
        engines.spawn(async move {
            let _turn = turns.acquire().await;
            (*flaw, *rule, checked(*flaw, cases).await)
        });
    }
    let mut wrong = Vec::new();
    while let Some(done) = engines.join_next().await {
        let (flaw, rule, report) = done.expect("no engine panics the test");
        let failed = with(&report, RuleVerdict::Fail);
        let strays = failed.iter().any(|broken| *broken != rule && !BESIDES.contains(&(flaw, *broken)));
        if !failed.contains(&rule) || strays {
            wrong.push(format!("{flaw:?} should break {}, and broke {failed:?}:\n{}", rule.name(), breaches(&report)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn the_simulated_engine_passes() {
    let engine = CheckedEngine::Hosted(Box::new(|at| {
        let ((stop, stops), (drain, drains)) = (watch::channel(false), watch::channel(false));
        let settings = EngineSettings { speed: 150.0, capacity: 3, ..EngineSettings::new(at.url, at.token) };
        let task = tokio::spawn(async move {
            let _stop = stop;
            let signals = EngineSignals { drain: drains, stop: stops };
            run_until(settings, mini::client(), signals).await.expect("its settings fit");
        });
        HostedEngine { drain: Some(Box::new(move || _ = drain.send(true))), task }
    }));
    let settings =
        CheckSettings { lease: Duration::from_secs(30), patience: Duration::from_secs(10), ..settings(&all()) };
    let report = check(&settings, &engine, |_| {}).await.expect("the check is made");
    assert!(report.is_passed(), "{}", breaches(&report));
    // It brings no calls, and none of its own lasts for a lease.
    let not_shown = with(&report, RuleVerdict::NotShown);
    assert_eq!(not_shown, [EngineRule::LeaseRenewed, EngineRule::BroughtOnce], "{}", report.to_text());
}
