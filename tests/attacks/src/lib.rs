//! Attacks on the real binary, one module each, by one tenant or by strangers. Beside each attack works a neighbour,
//! another account on the same server. Its 99th percentiles may be at most five times those of the same neighbour
//! beside an honest load that has the processor and the disk do as much. The server never has more than a gibibyte of
//! memory, and afterwards it is alive, stops cleanly and starts again.
//!
//! All load goes to loopback, and is bounded in time and count.

pub mod attacks;
pub mod client;
pub mod honest;
pub mod neighbour;
pub mod process;
pub mod report;
pub mod samples;
pub mod target;
pub mod trial;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use target::Target;

/// A boxed future that can move between threads.
pub type Future<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;

/// An attack, ready to begin: it continues for as long as it is polled.
pub type Strike = Future<()>;

/// Creates what an attack needs, such as accounts and rows, before anything is measured.
pub type Prepare = fn(Arc<Target>) -> Future<Result<Strike, String>>;

/// Checks what else must hold once an attack is over.
pub type Check = fn(Arc<Target>) -> Future<Result<(), String>>;

/// The network that the server of an attack runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// This machine's network as it is.
    Usual,
    /// The system's name server never answers. This takes a mount namespace, and so a superuser.
    NoNames,
}

/// An attack, with the server it needs and what it may cause.
#[derive(Clone, Copy)]
pub struct Attack {
    /// Name on the command line and in the table.
    pub name: &'static str,
    /// Description for the page of figures.
    pub what: &'static str,
    /// Duration before each commit.
    pub share: Duration,
    /// Further arguments of its server, as pairs of option and value.
    pub arguments: &'static [&'static str],
    /// Network of its server.
    pub ground: Ground,
    /// Whether the neighbour imports files as well.
    pub imports: bool,
    /// Most lines that the server may have logged by the end.
    pub log_lines_max: usize,
    /// Budgets that it must use up: somebody is refused there, or has to wait.
    pub fills: &'static [&'static str],
    /// Creates what it needs.
    pub prepare: Prepare,
    /// Checks what else must hold at its end.
    pub check: Option<Check>,
}

/// Durations of a trial's phases, and the size of its attacks.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// Duration of the attack; `None`: its `share`, or the longest one of several.
    pub attack: Option<Duration>,
    /// Duration of the honest load.
    pub honest: Duration,
    /// How long the server is watched after its second start.
    pub after: Duration,
    /// Whether attacks prepare as many rows as they can.
    pub long: bool,
}

impl Spans {
    /// Durations before each commit.
    pub const SHARE: Self =
        Self { attack: None, honest: Duration::from_secs(3), after: Duration::from_millis(500), long: false };
    /// Durations for one attack of a long run.
    pub const LONG: Self = Self {
        attack: Some(Duration::from_secs(30)),
        honest: Duration::from_secs(15),
        after: Duration::from_secs(5),
        long: true,
    };
    /// Durations for all attacks at once in a long run.
    pub const MIXED: Self =
        Self { attack: Some(Duration::from_mins(10)), honest: Duration::from_mins(1), ..Self::LONG };
}

/// Returns the attack with this name.
///
/// # Panics
/// If there is none.
pub fn attack(name: &str) -> &'static Attack {
    attacks::ATTACKS.iter().find(|attack| attack.name == name).unwrap_or_else(|| panic!("there is no attack {name}"))
}
