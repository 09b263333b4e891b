//! One row of the table: a claim, how often it was put to the test, and where it fell short.

use std::time::Instant;

use switchboard_claims::Claim;

/// Failures that are told in full.
const FAILURES_MAX: usize = 20;

/// What came of a claim.
#[derive(Clone, Debug)]
pub struct Row {
    /// What must hold.
    pub claim: &'static str,
    /// How often it was put to the test.
    pub count: u64,
    /// How often it should have been.
    pub wanted: u64,
    /// Where it did not hold, the first few, each with its seed.
    pub failures: Vec<String>,
    /// What else is worth knowing.
    pub notes: Vec<String>,
    /// What was measured meanwhile. A test does not fail by it, the page does.
    pub figures: Vec<Claim>,
    /// How long it took, seconds.
    pub seconds: f64,
    began: Instant,
}

impl Row {
    /// A claim that is now put to the test so many times.
    pub fn begin(claim: &'static str, wanted: u64) -> Self {
        Self {
            claim,
            count: 0,
            wanted,
            failures: Vec::new(),
            notes: Vec::new(),
            figures: Vec::new(),
            seconds: 0.0,
            began: Instant::now(),
        }
    }

    /// One more test, and what came of it.
    pub fn count(&mut self, result: Result<(), String>) {
        self.count += 1;
        self.fail_if(result);
    }

    /// What came of something that is no test of its own.
    pub fn fail_if(&mut self, result: Result<(), String>) {
        if let Err(failure) = result
            && self.failures.len() < FAILURES_MAX
        {
            self.failures.push(failure);
        }
    }

    /// Adds what another worker found.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        other.failures.into_iter().for_each(|failure| self.fail_if(Err(failure)));
        self.notes.extend(other.notes);
        self.figures.extend(other.figures);
    }

    /// It is over.
    pub fn end(mut self) -> Self {
        self.seconds = self.began.elapsed().as_secs_f64();
        self
    }

    /// Whether the claim held as often as it should have.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.count >= self.wanted
    }

    /// Fails a test unless the claim held.
    ///
    /// # Panics
    /// Where it did not.
    pub fn expect(&self) {
        self.notes.iter().for_each(|note| println!("{}: {note}", self.claim));
        assert!(self.holds(), "{}: {} of {}: {:#?}", self.claim, self.count, self.wanted, self.failures);
    }
}

/// The head of the table that [`line()`] fills.
pub const HEAD: &str = "| claim | tests | failures | seconds |\n|---|---|---|---|";

/// A line of the table.
pub fn line(row: &Row) -> String {
    format!("| {} | {} | {} | {:.1} |", row.claim, row.count, row.failures.len(), row.seconds)
}
