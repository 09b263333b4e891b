//! What was found: which rules were shown, and which requests broke them.

use std::collections::BTreeMap;

use crate::rules::EngineRule;

/// Breaches of a rule that are kept.
const BREACHES_MAX: usize = 3;
/// Characters of a request that are kept.
const REQUEST_CHARS: usize = 700;

/// A request, or its absence, that broke a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleBreach {
    /// Case in which it happened.
    pub case: String,
    /// What was wrong, as a sentence.
    pub what: String,
    /// The request that broke it; empty where one was missing.
    pub request: String,
}

/// Shown and broken rules.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    shown: BTreeMap<EngineRule, u32>,
    broken: BTreeMap<EngineRule, Vec<RuleBreach>>,
    /// Name of the case that is played.
    pub case: String,
}

impl Findings {
    /// Notes that an engine was in a position to break a rule.
    pub fn show(&mut self, rule: EngineRule) {
        *self.shown.entry(rule).or_default() += 1;
    }

    /// Notes that a rule was broken.
    pub fn broke(&mut self, rule: EngineRule, what: impl Into<String>, request: &str) {
        let breaches = self.broken.entry(rule).or_default();
        if breaches.len() < BREACHES_MAX {
            let request = request.chars().take(REQUEST_CHARS).collect();
            breaches.push(RuleBreach { case: self.case.clone(), what: what.into(), request });
        }
    }

    /// Notes that a rule was kept or, for a reason, broken.
    pub fn judge(&mut self, rule: EngineRule, request: &str, broken: Option<String>) {
        self.show(rule);
        if let Some(what) = broken {
            self.broke(rule, what, request);
        }
    }

    /// Returns how often a rule was shown.
    pub fn times(&self, rule: EngineRule) -> u32 {
        self.shown.get(&rule).copied().unwrap_or_default()
    }

    /// Returns the first breaches of a rule.
    pub fn breaches(&self, rule: EngineRule) -> &[RuleBreach] {
        self.broken.get(&rule).map(Vec::as_slice).unwrap_or_default()
    }
}
