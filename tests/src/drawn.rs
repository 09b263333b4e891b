//! Property tests with reproducible cases, and more of them on request.

use std::hash::{BuildHasher, RandomState};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};

/// Environment variable: the factor by which the number of drawn cases grows; 1 when unset, as before a commit.
const TIMES: &str = "SWITCHBOARD_TIMES";

/// Runs a test on `cases` drawn cases, times `SWITCHBOARD_TIMES`. A failure names its seed: with it in
/// `PROPTEST_RNG_SEED`, the same cases are drawn again.
///
/// # Panics
/// If the test fails, with the smallest failing case found.
#[track_caller]
pub fn for_all<S: Strategy>(cases: u32, drawn: &S, test: impl Fn(S::Value) -> TestCaseResult) {
    let times = std::env::var(TIMES).ok().and_then(|times| times.parse().ok()).unwrap_or(1);
    let config = Config::default();
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => RandomState::new().hash_one(0),
    };
    let config = Config { cases: cases * times, failure_persistence: None, rng_seed: RngSeed::Fixed(seed), ..config };
    if let Err(error) = TestRunner::new(config).run(drawn, test) {
        panic!("PROPTEST_RNG_SEED={seed}: {error}");
    }
}
