//! What a check came to, for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::findings::{Findings, RuleBreach};
use crate::rules::EngineRule;

/// What a check says of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleVerdict {
    /// The engine keeps it.
    Pass,
    /// The engine breaks it.
    Fail,
    /// The engine was never in a position to break it.
    NotShown,
}

impl RuleVerdict {
    /// Returns the word in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::NotShown => "not shown",
        }
    }
}

/// A rule with what was found.
#[derive(Clone, Debug)]
pub struct RuleResult {
    /// The rule.
    pub rule: EngineRule,
    /// The verdict.
    pub verdict: RuleVerdict,
    /// How often the engine was in a position to break it.
    pub times: u32,
    /// The first breaches.
    pub breaches: Vec<RuleBreach>,
}

/// The report of a check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Every rule, in the order of the page.
    pub rules: Vec<RuleResult>,
    /// Cases that were played.
    pub cases: Vec<String>,
    /// Cases that could not be played, each with its reason.
    pub skipped: Vec<(String, String)>,
    /// Seed of the ids.
    pub seed: u64,
}

impl CheckReport {
    /// Makes a report of what was found.
    pub(crate) fn of(findings: &Findings, cases: Vec<String>, skipped: Vec<(String, String)>, seed: u64) -> Self {
        let result = |rule: &EngineRule| {
            let (times, breaches) = (findings.times(*rule), findings.breaches(*rule).to_vec());
            let verdict = match (breaches.is_empty(), times) {
                (false, _) => RuleVerdict::Fail,
                (true, 0) => RuleVerdict::NotShown,
                (true, _) => RuleVerdict::Pass,
            };
            RuleResult { rule: *rule, verdict, times, breaches }
        };
        Self { rules: EngineRule::ALL.iter().map(result).collect(), cases, skipped, seed }
    }

    /// Returns whether no rule was broken, and one at least was kept.
    pub fn is_passed(&self) -> bool {
        self.count(RuleVerdict::Fail) == 0 && self.count(RuleVerdict::Pass) > 0
    }

    /// Returns how many rules have a verdict.
    pub fn count(&self, verdict: RuleVerdict) -> usize {
        self.rules.iter().filter(|result| result.verdict == verdict).count()
    }

    /// Returns the report as text.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for RuleResult { rule, verdict, breaches, .. } in &self.rules {
            let _ =
                writeln!(text, "{:<9}  {:<18}  {}  [{}]", verdict.word(), rule.name(), rule.sentence(), rule.section());
            for RuleBreach { case, what, request } in breaches {
                let _ = writeln!(text, "           in {case}: {what}");
                if !request.is_empty() {
                    let _ = writeln!(text, "             {request}");
                }
            }
        }
        for (case, why) in &self.skipped {
            let _ = writeln!(text, "The case {case} was not played: {why}");
        }
        let count = |verdict| self.count(verdict);
        let _ = write!(
            text,
            "{} rules kept, {} broken, {} not shown by this engine; {} cases, seed {}",
            count(RuleVerdict::Pass),
            count(RuleVerdict::Fail),
            count(RuleVerdict::NotShown),
            self.cases.len(),
            self.seed
        );
        text
    }

    /// Returns the report as JSON.
    pub fn to_json(&self) -> Value {
        let breach =
            |breach: &RuleBreach| json!({ "case": breach.case, "what": breach.what, "request": breach.request });
        let rule = |result: &RuleResult| {
            json!({
                "rule": result.rule.name(), "verdict": result.verdict.word(), "sentence": result.rule.sentence(),
                "section": result.rule.section(), "times": result.times,
                "breaches": result.breaches.iter().map(breach).collect::<Vec<_>>(),
            })
        };
        let skipped: Vec<Value> =
            self.skipped.iter().map(|(case, why)| json!({ "case": case, "reason": why })).collect();
        json!({
            "passed": self.is_passed(), "seed": self.seed, "cases": self.cases, "skipped": skipped,
            "rules": self.rules.iter().map(rule).collect::<Vec<_>>(),
        })
    }
}
