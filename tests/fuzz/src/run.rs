//! Gives targets their inputs, on all cores, and keeps count of what came of them.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

use switchboard_sim::random::Random;

use crate::catch::quietly;
use crate::corpus;
use crate::shrink::shrink;
use crate::target::{self, Seen, Target};
use crate::town::Town;

/// Inputs that a thread takes at once.
const CHUNK: u64 = 128;
/// Failures of a target that are told: more of them tell no more.
const FAILURES_MAX: usize = 3;
/// Kinds of outcome that are told apart of a target.
const KINDS_MAX: usize = 20_000;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Order {
    /// Where all chance comes from.
    pub seed: u64,
    /// The number of the first input of each target.
    pub from: u64,
    /// Targets, and how many inputs each gets.
    pub shares: Vec<(&'static str, u64)>,
    /// Whether failing inputs are made small.
    pub shrink: bool,
}

/// A broken promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The target.
    pub target: &'static str,
    /// The input's number.
    pub number: u64,
    /// What is wrong.
    pub says: String,
    /// The smallest input found that fails.
    pub input: Vec<u8>,
}

/// What came of a target's inputs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Inputs.
    pub inputs: u64,
    /// How many were answered how.
    pub said: BTreeMap<String, u64>,
    /// How many failed.
    pub failed: u64,
    /// The time of all of them, on one core.
    pub spent: Duration,
    /// The time of the slowest, and its number.
    pub slowest: (Duration, u64),
    /// The first input of each kind of outcome.
    pub kinds: BTreeMap<String, Vec<u8>>,
}

/// What came of an order.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By target, in their order.
    pub tallies: Vec<(&'static str, Tally)>,
    /// The first few of each target.
    pub failures: Vec<Failure>,
}

impl Report {
    /// Inputs of all targets.
    pub fn inputs(&self) -> u64 {
        self.tallies.iter().map(|(_, tally)| tally.inputs).sum()
    }

    /// Inputs that were answered with success.
    pub fn succeeded(&self) -> u64 {
        let said = self.tallies.iter().flat_map(|(_, tally)| &tally.said);
        said.filter(|(said, _)| said.starts_with('2')).map(|(_, count)| count).sum()
    }
}

/// Runs a target until so many inputs were answered with success: what is refused shows little.
pub fn run_until_succeeded(town: &Town, target: &'static str, count: u64, seed: u64) -> Report {
    let mut total = Report { tallies: vec![(target, Tally::default())], failures: Vec::new() };
    while total.succeeded() < count && total.failures.is_empty() {
        let missing = count - total.succeeded();
        let order = Order { seed, from: total.inputs(), shares: vec![(target, missing + CHUNK)], shrink: true };
        let next = run(town, &order);
        next.tallies.into_iter().for_each(|(_, tally)| total.tallies[0].1.add(tally));
        total.failures = next.failures;
    }
    total
}

/// One piece of an order: which share, and which numbers.
struct Chunk(usize, u64, u64);

/// Runs an order in a town.
pub fn run(town: &Town, order: &Order) -> Report {
    let chunks = chunks(order);
    let next = AtomicUsize::new(0);
    let empty = order.shares.iter().map(|(name, _)| (*name, Tally::default())).collect();
    let report = Mutex::new(Report { tallies: empty, failures: Vec::new() });
    scope(|scope| {
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let targets: Vec<Box<dyn Target + '_>> =
                    order.shares.iter().map(|(name, _)| target::named(town, name)).collect();
                while let Some(chunk) = chunks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    give(&*targets[chunk.0], order, chunk, &report);
                }
            });
        }
    });
    let mut report = report.into_inner().expect("no thread panics while it holds the report");
    report.failures.sort_by_key(|failure| (failure.target, failure.number));
    report
}

/// All shares in chunks, the costly ones first, so that no thread is left alone with them at the end.
fn chunks(order: &Order) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut shares: Vec<usize> = (0..order.shares.len()).collect();
    shares.sort_by_key(|share| order.shares[*share].1);
    for share in shares {
        let end = order.from + order.shares[share].1;
        // What is costly has few inputs: its chunks are small.
        let size = (order.shares[share].1 / 64).clamp(1, CHUNK);
        let mut at = order.from;
        while at < end {
            chunks.push(Chunk(share, at, (at + size).min(end)));
            at += size;
        }
    }
    chunks
}

/// The chance of one input: of seed, target and number alone.
pub fn chance(seed: u64, target: &str, number: u64) -> Random {
    let salt = corpus::digest(target.as_bytes()) ^ number.wrapping_mul(0xd134_2543_de82_ef95);
    Random::new(seed ^ salt).fork()
}

fn give(target: &dyn Target, order: &Order, chunk: &Chunk, report: &Mutex<Report>) {
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    for number in chunk.1..chunk.2 {
        let input = target.draw(&mut chance(order.seed, target.name(), number));
        let began = Instant::now();
        let outcome = judged(target, &input);
        let spent = began.elapsed();
        tally.inputs += 1;
        tally.spent += spent;
        tally.slowest = tally.slowest.max((spent, number));
        match outcome {
            Ok(seen) => {
                tally.kinds.entry(seen.kind).or_insert(input);
                *tally.said.entry(seen.said).or_default() += 1;
            }
            Err(says) => {
                tally.failed += 1;
                failures.push(Failure { target: target.name(), number, says, input });
            }
        }
    }
    enter(target, order, chunk.0, tally, failures, report);
}

fn enter(
    target: &dyn Target,
    order: &Order,
    share: usize,
    tally: Tally,
    failures: Vec<Failure>,
    report: &Mutex<Report>,
) {
    let known = {
        let mut report = report.lock().expect("no thread panics while it holds the report");
        report.tallies[share].1.add(tally);
        report.failures.iter().filter(|failure| failure.target == target.name()).count()
    };
    for mut failure in failures.into_iter().take(FAILURES_MAX.saturating_sub(known)) {
        if order.shrink {
            failure.input = shrink(&failure.input, |input| judged(target, input).is_err());
        }
        report.lock().expect("no thread panics while it holds the report").failures.push(failure);
    }
}

/// What came of one input; a panic is a failure like others.
pub fn judged(target: &dyn Target, input: &[u8]) -> Result<Seen, String> {
    quietly(|| target.run(input)).unwrap_or_else(|panic| Err(format!("a panic: {panic}")))
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.inputs += other.inputs;
        self.failed += other.failed;
        self.spent += other.spent;
        self.slowest = self.slowest.max(other.slowest);
        for (said, count) in other.said {
            *self.said.entry(said).or_default() += count;
        }
        for (kind, input) in other.kinds {
            if self.kinds.len() < KINDS_MAX {
                self.kinds.entry(kind).or_insert(input);
            }
        }
    }
}
