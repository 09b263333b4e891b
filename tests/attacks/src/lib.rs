//! Attacks on the real binary, one module each, by one tenant or by strangers. Beside each of them works a neighbour,
//! another account on the same server, whose 99th percentiles are held against the same neighbour's next to an honest
//! load of equal processor time: at most five times as long. The server never has more than a gibibyte of memory, and
//! afterwards it is alive, stops well and starts again.
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

/// What is done in its own time.
pub type Future<T> = Pin<Box<dyn std::future::Future<Output = T> + Send>>;

/// An attack, ready to begin: it goes on for as long as it is polled.
pub type Strike = Future<()>;

/// Makes what an attack needs.
pub type Prepare = fn(Arc<Target>) -> Future<Result<Strike, String>>;

/// What else must hold when an attack is over.
pub type Check = fn(Arc<Target>) -> Future<Result<(), String>>;

/// Where the server of an attack runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ground {
    /// As any other.
    Usual,
    /// Where the system's name server never answers: in a mount namespace of its own, which takes a superuser.
    NoNames,
}

/// An attack.
#[derive(Clone, Copy)]
pub struct Attack {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// How long it goes on before each commit.
    pub share: Duration,
    /// What its server is told besides.
    pub arguments: &'static [&'static str],
    /// Where its server runs.
    pub ground: Ground,
    /// Whether the neighbour imports a file as well.
    pub imports: bool,
    /// Lines that the log may have at the end.
    pub log_lines_max: usize,
    /// Budgets that it uses up: somebody is refused there, or has to wait.
    pub fills: &'static [&'static str],
    /// Makes what it needs.
    pub prepare: Prepare,
    /// What else must hold at its end.
    pub check: Option<Check>,
}

/// How long everything takes.
#[derive(Clone, Copy, Debug)]
pub struct Spans {
    /// The attack; none: its share.
    pub attack: Option<Duration>,
    /// The honest load.
    pub honest: Duration,
    /// How long the server is watched after its second start.
    pub after: Duration,
    /// Whether attacks prepare as much as they can.
    pub long: bool,
}

impl Spans {
    /// Before each commit.
    pub const SHARE: Self =
        Self { attack: None, honest: Duration::from_secs(3), after: Duration::from_millis(500), long: false };
    /// One attack in a long run.
    pub const LONG: Self = Self {
        attack: Some(Duration::from_secs(30)),
        honest: Duration::from_secs(15),
        after: Duration::from_secs(5),
        long: true,
    };
    /// All attacks at once.
    pub const MIXED: Self =
        Self { attack: Some(Duration::from_mins(10)), honest: Duration::from_mins(1), ..Self::LONG };
}

/// An attack by its name.
///
/// # Panics
/// Where there is none.
pub fn attack(name: &str) -> &'static Attack {
    attacks::ATTACKS.iter().find(|attack| attack.name == name).unwrap_or_else(|| panic!("there is no attack {name}"))
}
