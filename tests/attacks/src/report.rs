//! One row of the table: how a neighbour fared beside an attack.

use std::collections::BTreeMap;
use std::time::Duration;

use switchboard_claims::Claim;

use crate::samples::Kind;

/// How many times as long as next to an honest load an operation of the neighbour's may take.
const TIMES_MAX: u32 = 5;
/// What the server's memory may come to, MiB.
const MEMORY_MIB_MAX: f64 = 1_024.0;
/// Failures that are told in full.
const FAILURES_MAX: usize = 8;

/// What came of an attack.
#[derive(Debug, Default)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The neighbour's 99th percentiles beside the attack.
    pub beside: BTreeMap<Kind, Duration>,
    /// The same next to an honest load.
    pub honest: BTreeMap<Kind, Duration>,
    /// Processor time of the server, seconds a second.
    pub cpu: f64,
    /// The same under the honest load.
    pub honest_cpu: f64,
    /// The server's most resident memory, MiB.
    pub peak_mib: f64,
    /// Lines of the server's log.
    pub log_lines: usize,
    /// What of the neighbour's took longer than it may.
    pub late: Vec<String>,
    /// What else should not have come.
    pub failures: Vec<String>,
    /// How many failures there are besides.
    pub more: usize,
    /// Why it could not be done at all.
    pub skipped: Option<String>,
    /// How long all of it took, seconds.
    pub seconds: f64,
}

impl Row {
    /// Notes what should not have come.
    pub fn fail(&mut self, why: impl Into<String>) {
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(why.into());
        } else {
            self.more += 1;
        }
    }

    /// What an operation may take.
    fn limit(&self, kind: Kind) -> Duration {
        kind.floor().max(self.honest.get(&kind).copied().unwrap_or_default() * TIMES_MAX)
    }

    /// Notes where the figures are beyond what is allowed.
    pub fn judge(&mut self) {
        let late = self.beside.iter().filter(|(kind, took)| **took > self.limit(**kind));
        let told = |(kind, took): (&Kind, &Duration)| {
            format!("{}: {took:.1?}, allowed {:.1?}", kind.word(), self.limit(*kind))
        };
        self.late = late.map(told).collect();
        if self.peak_mib.is_nan() || self.peak_mib > MEMORY_MIB_MAX {
            self.fail(format!("{:.0} MiB of memory, allowed {MEMORY_MIB_MAX:.0}", self.peak_mib));
        }
    }

    /// Whether everything held.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.late.is_empty()
    }

    /// All that did not hold.
    pub fn faults(&self) -> impl Iterator<Item = &String> {
        self.failures.iter().chain(&self.late)
    }

    /// Fails a test unless everything held.
    ///
    /// # Panics
    /// Where it did not.
    pub fn expect(&self) {
        println!("{HEAD}\n{}", self.line());
        let faults: Vec<&String> = self.faults().collect();
        assert!(self.holds(), "{}: {faults:#?} and {} more", self.name, self.more);
    }

    /// Its line of the table.
    pub fn line(&self) -> String {
        let cells = |kind: &Kind| {
            let ms = |of: &BTreeMap<Kind, Duration>| {
                of.get(kind).map_or_else(|| "–".into(), |took| format!("{:.0}", took.as_secs_f64() * 1e3))
            };
            format!("{} / {}", ms(&self.beside), ms(&self.honest))
        };
        let kinds: Vec<String> = Kind::USUAL.iter().map(cells).collect();
        let verdict = match &self.skipped {
            Some(_) => "not run".to_owned(),
            None if self.holds() => "held".to_owned(),
            None => format!("{} FAILED", self.faults().count() + self.more),
        };
        format!(
            "| {} | {} | {:.2} / {:.2} | {:.0} | {} | {:.0} | {verdict} |",
            self.name,
            kinds.join(" | "),
            self.cpu,
            self.honest_cpu,
            self.peak_mib,
            self.log_lines,
            self.seconds
        )
    }

    /// What the page of figures says of it.
    pub fn claims(&self, what: &str) -> Vec<Claim> {
        if let Some(why) = &self.skipped {
            return vec![Claim::stated(format!("{}: {what}", self.name), format!("not run: {why}"))];
        }
        let worst =
            self.beside.iter().map(|(kind, took)| (took.as_secs_f64() / self.limit(*kind).as_secs_f64(), *kind));
        let worst = worst.max_by(|one, other| one.0.total_cmp(&other.0));
        let shown = worst.map_or_else(String::new, |(share, kind)| {
            let took = self.beside.get(&kind).copied().unwrap_or_default();
            format!("{} {took:.1?}, {:.0} % of it", kind.word(), share * 1e2)
        });
        let memory = Claim::at_most(format!("Peak memory: {}", self.name), MEMORY_MIB_MAX, self.peak_mib, "MiB");
        let aim = "a neighbour within 5 times, alive, starts again";
        vec![Claim::holds(format!("{}: {what}", self.name), aim, shown, self.holds()), memory]
    }
}

/// The head of the table that [`Row::line()`] fills: 99th percentiles beside the attack and next to an honest load, ms;
/// processor time of the server, seconds a second; its peak memory.
pub const HEAD: &str = "| attack | read ms | write ms | login ms | tool ms | document ms | CPU | MiB | log lines | seconds | |\n|---|---|---|---|---|---|---|---|---|---|---|";
