//! The command `engine-check`: plays a hostile service to a voice engine.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use switchboard_engine_check::cases::{CASES, EngineCase, case};
use switchboard_engine_check::report::{CheckReport, RuleVerdict};
use switchboard_engine_check::rules::EngineRule;
use switchboard_engine_check::{CheckProgress, CheckSettings, CheckedEngine, check};

use super::{Failed, say};

/// What is checked, and how.
#[derive(Args)]
pub struct EngineCheck {
    /// Address to listen on; a free port of loopback unless given
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS", value_parser = loopback)]
    listen: SocketAddr,
    /// Play only this case; repeatable
    #[arg(long = "case", value_name = "NAME", value_parser = named)]
    cases: Vec<&'static EngineCase>,
    /// List the cases and rules, and play nothing
    #[arg(long)]
    list: bool,
    /// Seed of the ids of calls
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Length of a lease, seconds
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=300))]
    lease: u64,
    /// How long the engine may take to carry out a command, and to end once it has drained, seconds
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=300))]
    patience: u64,
    /// How long the calls of a case may last, seconds
    #[arg(long, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    call: u64,
    /// How long the engine may take to attach, seconds
    #[arg(long, default_value_t = 30, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3_600))]
    attach: u64,
    /// Command that starts the engine, anew for each case; `{url}` and `{token}` are replaced, and `SWITCHBOARD_URL` and
    /// `SWITCHBOARD_ENGINE_TOKEN` are set. Without it, URL and token are printed for an engine that you start
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn named(name: &str) -> Result<&'static EngineCase, String> {
    let names = || CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
    case(name).ok_or_else(|| format!("there is no such case; there are {}", names()))
}

fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| "an address is IP:PORT, such as 127.0.0.1:8099".to_owned())?;
    // Whoever reaches it could be called an engine.
    if address.ip().is_loopback() { Ok(address) } else { Err("only loopback can be listened on".into()) }
}

/// Checks an engine, and fails where it breaks a rule.
pub fn engine_check(given: &EngineCheck, json: bool) -> Result<(), Failed> {
    if given.list {
        return list(json);
    }
    let cases = if given.cases.is_empty() { CASES.iter().collect() } else { given.cases.clone() };
    let settings = CheckSettings {
        listen: given.listen,
        cases,
        seed: given.seed,
        lease: Duration::from_secs(given.lease),
        patience: Duration::from_secs(given.patience),
        call: Duration::from_secs(given.call),
        attach: Duration::from_secs(given.attach),
        ..CheckSettings::default()
    };
    let engine =
        if given.command.is_empty() { CheckedEngine::Attached } else { CheckedEngine::Program(given.command.clone()) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        tokio::select! {
            report = check(&settings, &engine, |progress| told(progress, &engine)) => Ok(report?),
            // The engine ends with the check.
            _ = tokio::signal::ctrl_c() => Err(Failed::from("interrupted")),
        }
    })?;
    say(&if json { report.to_json().to_string() } else { report.to_text() })?;
    judged(&report)
}

/// Says on standard error what goes on, so that standard output has the report alone.
fn told(progress: CheckProgress<'_>, engine: &CheckedEngine) {
    match (progress, engine) {
        (CheckProgress::Listening(at), CheckedEngine::Attached) => {
            eprintln!("Start the engine with\n  SWITCHBOARD_URL={}\n  SWITCHBOARD_ENGINE_TOKEN={}", at.url, at.token);
        }
        (CheckProgress::Listening(at), _) => eprintln!("The service listens on {}", at.url),
        (CheckProgress::Playing(case), _) => eprintln!("{}: {}", case.name, case.about),
    }
}

fn judged(report: &CheckReport) -> Result<(), Failed> {
    match (report.is_passed(), report.count(RuleVerdict::Fail)) {
        (true, _) => Ok(()),
        (false, 0) => Err("the engine kept no rule at all: nothing can be said of it".into()),
        (false, 1) => Err("the engine breaks a rule".into()),
        (false, count) => Err(format!("the engine breaks {count} rules").into()),
    }
}

fn list(json: bool) -> Result<(), Failed> {
    if json {
        let cases = CASES.iter().map(|case| json!({ "case": case.name, "about": case.about }));
        let rules = EngineRule::ALL
            .iter()
            .map(|rule| json!({ "rule": rule.name(), "sentence": rule.sentence(), "section": rule.section() }));
        return say(&json!({ "cases": cases.collect::<Vec<_>>(), "rules": rules.collect::<Vec<_>>() }).to_string());
    }
    say("Cases:")?;
    CASES.iter().try_for_each(|case| say(&format!("  {:<18}  {}", case.name, case.about)))?;
    say("Rules:")?;
    EngineRule::ALL
        .iter()
        .try_for_each(|rule| say(&format!("  {:<18}  {}  [{}]", rule.name(), rule.sentence(), rule.section())))
}
