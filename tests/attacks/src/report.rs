//! One row of the table: how a neighbour fared beside an attack.

use std::collections::BTreeMap;
use std::time::Duration;

use switchboard_claims::Claim;

use crate::process::Usage;
use crate::samples::Kind;

/// An operation of the neighbour's may take this many times as long as beside an honest load.
const TIMES_MAX: u32 = 5;
/// Limit of the server's resident memory, MiB.
const MEMORY_MIB_MAX: f64 = 1_024.0;
/// Failures that are kept in full; further ones are only counted.
const FAILURES_MAX: usize = 8;

/// The outcome of one trial.
#[derive(Debug, Default)]
pub struct Row {
    /// Name of the attack; `mixed` for three or more at once.
    pub name: String,
    /// The neighbour's 99th percentiles beside the attack.
    pub beside: BTreeMap<Kind, Duration>,
    /// The neighbour's 99th percentiles beside an honest load.
    pub honest: BTreeMap<Kind, Duration>,
    /// What the server used during the attack, a second.
    pub used: Usage,
    /// What the server used under the honest load, a second.
    pub honestly: Usage,
    /// Peak resident memory of the server, MiB.
    pub peak_mib: f64,
    /// Lines in the server's log.
    pub log_lines: usize,
    /// The neighbour's operations that took longer than allowed, as sentences.
    pub late: Vec<String>,
    /// Everything else that was wrong, as sentences; at most `FAILURES_MAX`.
    pub failures: Vec<String>,
    /// Number of failures beyond `FAILURES_MAX`.
    pub more: usize,
    /// Why the attack could not be run at all; `None` if it was run.
    pub skipped: Option<String>,
    /// Duration of the whole trial, seconds.
    pub seconds: f64,
}

impl Row {
    /// Records a failure.
    pub fn fail(&mut self, why: impl Into<String>) {
        if self.failures.len() < FAILURES_MAX {
            self.failures.push(why.into());
        } else {
            self.more += 1;
        }
    }

    /// Returns how long an operation may take: its floor, or five times its honest time if that is longer.
    fn limit(&self, kind: Kind) -> Duration {
        kind.floor().max(self.honest.get(&kind).copied().unwrap_or_default() * TIMES_MAX)
    }

    /// Records operations and memory over their limits.
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

    /// Whether no failure and no late operation was recorded.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.late.is_empty()
    }

    /// Returns all recorded failures and late operations.
    pub fn faults(&self) -> impl Iterator<Item = &String> {
        self.failures.iter().chain(&self.late)
    }

    /// Prints the row and asserts that everything held.
    ///
    /// # Panics
    /// If anything did not hold.
    pub fn expect(&self) {
        println!("{HEAD}\n{}", self.line());
        let faults: Vec<&String> = self.faults().collect();
        assert!(self.holds(), "{}: {faults:#?} and {} more", self.name, self.more);
    }

    /// Returns the row as a line of the table.
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
            "| {} | {} | {:.2} / {:.2} | {:.0} / {:.0} | {:.0} | {} | {:.0} | {verdict} |",
            self.name,
            kinds.join(" | "),
            self.used.cpu_seconds,
            self.honestly.cpu_seconds,
            self.used.written / 1e6,
            self.honestly.written / 1e6,
            self.peak_mib,
            self.log_lines,
            self.seconds
        )
    }

    /// Returns the claims for the page of figures: the neighbour's, and the peak memory; or why it was not run.
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

/// Head of the table that [`Row::line()`] fills: 99th percentiles beside the attack and beside an honest load, ms;
/// processor time of the server, seconds per second; what it has written to a disk, MB per second; its peak memory.
pub const HEAD: &str = "| attack | read ms | write ms | login ms | tool ms | document ms | CPU | MB/s | MiB | log lines | seconds | |\n|---|---|---|---|---|---|---|---|---|---|---|---|";
