//! The example keeps every rule of the engine interface.

use std::time::Duration;

use switchboard_engine_check::report::RuleVerdict;
use switchboard_engine_check::rules::EngineRule;
use switchboard_engine_check::{CheckSettings, CheckedEngine, check};

#[tokio::test]
async fn the_example_keeps_every_rule() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/script.txt");
    let program = vec![env!("CARGO_BIN_EXE_switchboard-engine-text").to_owned(), script.to_owned()];
    let settings = CheckSettings { call: Duration::from_secs(20), ..CheckSettings::default() };
    let report = check(&settings, &CheckedEngine::Program(program), |_| {}).await.expect("the check is made");
    assert!(report.is_passed(), "{}", report.to_text());
    let not_shown: Vec<EngineRule> = report
        .rules
        .iter()
        .filter(|result| result.verdict == RuleVerdict::NotShown)
        .map(|result| result.rule)
        .collect();
    // It carries one short call at a time, whose reports renew its lease; it brings none, and gives one back only where a
    // drain meets a claim.
    let never =
        [EngineRule::LeaseRenewed, EngineRule::HeartbeatMembers, EngineRule::BroughtOnce, EngineRule::AfterRelease];
    assert!(not_shown.iter().all(|rule| never.contains(rule)), "{}", report.to_text());
}
