//! [`Samples`]: how long each of a neighbour's operations took.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What a neighbour does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Reads its account, now and then on a new connection.
    Read,
    /// Changes a tool.
    Write,
    /// Logs in from a new address.
    Login,
    /// Has a tool's request made.
    Tool,
    /// Uploads a small text and waits until it is ready.
    Document,
    /// Imports a file of leads of more than a mebibyte.
    Import,
}

impl Kind {
    /// What every neighbour does.
    pub const USUAL: [Self; 5] = [Self::Read, Self::Write, Self::Login, Self::Tool, Self::Document];

    /// In the table.
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

    /// What it may always take.
    pub const fn floor(self) -> Duration {
        match self {
            Self::Read | Self::Write | Self::Login | Self::Tool => Duration::from_millis(20),
            Self::Document | Self::Import => Duration::from_secs(10),
        }
    }

    /// Between its end and the next one.
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

/// One operation.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What it was.
    pub kind: Kind,
    /// When it began.
    pub began: Instant,
    /// When it was over, or given up.
    pub ended: Instant,
}

/// All operations of a while.
#[derive(Debug, Default)]
pub struct Samples {
    /// Those that succeeded, and those that were under way at the end.
    pub taken: Vec<Sample>,
    /// What failed, and why.
    pub failures: Vec<String>,
}

/// Windows of a while, of whose 99th percentiles the middle one counts.
const WINDOWS: u32 = 3;

impl Samples {
    /// The middle of the windows' 99th percentiles of each kind. An operation counts in every window that it was
    /// under way in, with all of its time: what takes as long as a window is in two of them.
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

/// The 99th percentile; nothing of nothing.
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
