//! [`Samples`]: how long each of a neighbour's operations took.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// An operation of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reads its account, now and then on a new connection.
    Read,
    /// Changes a tool.
    Write,
    /// Logs in from a new address.
    Login,
    /// Has a tool's endpoint requested.
    Tool,
    /// Uploads a small text, waits until it is ready and deletes it.
    Document,
    /// Imports a file of leads of more than a mebibyte.
    Import,
}

impl Kind {
    /// Operations of every neighbour.
    pub const USUAL: [Self; 5] = [Self::Read, Self::Write, Self::Login, Self::Tool, Self::Document];

    /// Returns the word for it in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Login => "login",
            Self::Tool => "tool",
            Self::Document => "document",
            Self::Import => "import",
        }
    }

    /// Returns the duration that is allowed in any case.
    pub const fn floor(self) -> Duration {
        match self {
            Self::Read | Self::Write | Self::Login | Self::Tool => Duration::from_millis(20),
            Self::Document | Self::Import => Duration::from_secs(10),
        }
    }

    /// Returns the pause between its end and the next one.
    pub const fn pause(self) -> Duration {
        Duration::from_millis(match self {
            Self::Read => 4,
            Self::Write => 15,
            Self::Tool => 25,
            Self::Login => 150,
            Self::Document => 300,
            Self::Import => 700,
        })
    }
}

/// One operation with its times.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Kind of operation.
    pub kind: Kind,
    /// Start of the operation.
    pub began: Instant,
    /// End of the operation, or when it was abandoned.
    pub ended: Instant,
}

/// All operations of one phase.
#[derive(Debug, Default)]
pub struct Samples {
    /// Operations that succeeded, and those under way at the end.
    pub taken: Vec<Sample>,
    /// Failed operations, as sentences: the kind and why.
    pub failures: Vec<String>,
}

/// Equal windows of a phase; the median of their 99th percentiles counts.
const WINDOWS: u32 = 3;

impl Samples {
    /// Returns the median of the windows' 99th percentiles for each kind. An operation counts in every window that it
    /// overlaps, with its whole duration: one as long as a window is in two of them.
    pub fn p99(&self, began: Instant, ended: Instant) -> BTreeMap<Kind, Duration> {
        let window = ended.duration_since(began) / WINDOWS;
        let kinds: std::collections::BTreeSet<Kind> = self.taken.iter().map(|sample| sample.kind).collect();
        let middle = |kind: Kind| {
            let mut each: Vec<Duration> = (0..WINDOWS)
                .map(|number| {
                    let (from, until) = (began + window * number, began + window * (number + 1));
                    let within = self
                        .taken
                        .iter()
                        .filter(|sample| sample.kind == kind && sample.began < until && sample.ended >= from);
                    percentile(within.map(|sample| sample.ended - sample.began).collect())
                })
                .collect();
            each.sort_unstable();
            each[each.len() / 2]
        };
        kinds.into_iter().map(|kind| (kind, middle(kind))).collect()
    }
}

/// Returns the 99th percentile; zero without any.
fn percentile(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get((times.len() * 99 / 100).min(times.len().saturating_sub(1))).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_window_counts_and_what_is_long_is_in_two() {
        let began = Instant::now();
        let at = |ms: u64| began + Duration::from_millis(ms);
        let sample = |from, until| Sample { kind: Kind::Read, began: at(from), ended: at(until) };
        let p99 = |taken| Samples { taken, failures: vec![] }.p99(began, at(300))[&Kind::Read];
        let short = vec![sample(0, 1), sample(100, 102), sample(200, 203)];
        assert_eq!(p99(short.clone()), Duration::from_millis(2));
        let once = [short.clone(), vec![sample(110, 190)]].concat();
        assert_eq!(p99(once), Duration::from_millis(3), "one window of three");
        let over = [short, vec![sample(110, 290)]].concat();
        assert_eq!(p99(over), Duration::from_millis(180));
    }
}
