//! Feeds targets on all cores, and counts the results.

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

/// Most inputs that a thread takes at once.
const CHUNK: u64 = 128;
/// Failures reported per target; more would add nothing.
const FAILURES_MAX: usize = 3;
/// Kinds of outcome distinguished per target.
const KINDS_MAX: usize = 20_000;

/// Parameters of a run.
#[derive(Clone, Debug)]
pub struct Order {
    /// Seed of all inputs.
    pub seed: u64,
    /// Number of the first input of each target.
    pub from: u64,
    /// Targets with their number of inputs.
    pub shares: Vec<(&'static str, u64)>,
    /// Whether failing inputs are shrunk.
    pub shrink: bool,
}

/// A broken promise, with the input that shows it.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Name of the target.
    pub target: &'static str,
    /// Number of the input.
    pub number: u64,
    /// Message that says what is wrong.
    pub says: String,
    /// Smallest failing input found.
    pub input: Vec<u8>,
}

/// Counts of a target's inputs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Number of inputs that were run.
    pub inputs: u64,
    /// Number of inputs by the word of their outcome.
    pub said: BTreeMap<String, u64>,
    /// Number of inputs that broke a promise.
    pub failed: u64,
    /// Total time on one core.
    pub spent: Duration,
    /// Time and number of the slowest input.
    pub slowest: (Duration, u64),
    /// First input of each kind of outcome.
    pub kinds: BTreeMap<String, Vec<u8>>,
}

/// Results of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Counts by target, in the order of the targets.
    pub tallies: Vec<(&'static str, Tally)>,
    /// The first failures of each target.
    pub failures: Vec<Failure>,
}

impl Report {
    /// Returns the number of inputs of all targets.
    pub fn inputs(&self) -> u64 {
        self.tallies.iter().map(|(_, tally)| tally.inputs).sum()
    }

    /// Returns the number of inputs that were answered with success.
    pub fn succeeded(&self) -> u64 {
        let said = self.tallies.iter().flat_map(|(_, tally)| &tally.said);
        said.filter(|(said, _)| said.starts_with('2')).map(|(_, count)| count).sum()
    }
}

/// Runs a target until `count` inputs were answered with success: rejected ones prove little.
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

/// A chunk of work: index of the share, and the range of input numbers.
struct Chunk(usize, u64, u64);

/// Runs all shares against a town.
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

/// Splits all shares into chunks, expensive ones first, so that no thread is left alone with them at the end.
fn chunks(order: &Order) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut shares: Vec<usize> = (0..order.shares.len()).collect();
    shares.sort_by_key(|share| order.shares[*share].1);
    for share in shares {
        let end = order.from + order.shares[share].1;
        // Expensive targets have few inputs, so their chunks are small.
        let size = (order.shares[share].1 / 64).clamp(1, CHUNK);
        let mut at = order.from;
        while at < end {
            chunks.push(Chunk(share, at, (at + size).min(end)));
            at += size;
        }
    }
    chunks
}

/// Returns the generator of one input, which depends on seed, target and number only.
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

/// Runs one input; a panic is a failure like any other.
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
