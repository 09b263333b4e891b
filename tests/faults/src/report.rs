//! One row of the table: a claim, how often it was tested, and where it failed.

use std::time::Instant;

use switchboard_claims::Claim;

/// Failures reported in full.
const FAILURES_MAX: usize = 20;

/// Result of testing a claim.
#[derive(Clone, Debug)]
pub struct Row {
    /// Sentence that must hold in every test.
    pub claim: &'static str,
    /// Tests run so far.
    pub count: u64,
    /// Tests that must be run for the claim to hold.
    pub wanted: u64,
    /// The first failures, each with its seed.
    pub failures: Vec<String>,
    /// Further remarks, printed after the table.
    pub notes: Vec<String>,
    /// Measured figures. They appear on the page of figures, and never fail a test.
    pub figures: Vec<Claim>,
    /// Duration of all tests, seconds.
    pub seconds: f64,
    began: Instant,
}

impl Row {
    /// Begins a claim that is to be tested this many times.
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

    /// Counts one test with its result.
    pub fn count(&mut self, result: Result<(), String>) {
        self.count += 1;
        self.fail_if(result);
    }

    /// Records a failure outside the counted tests.
    pub fn fail_if(&mut self, result: Result<(), String>) {
        if let Err(failure) = result
            && self.failures.len() < FAILURES_MAX
        {
            self.failures.push(failure);
        }
    }

    /// Adds the results of another worker.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        other.failures.into_iter().for_each(|failure| self.fail_if(Err(failure)));
        self.notes.extend(other.notes);
        self.figures.extend(other.figures);
    }

    /// Ends the claim, fixing its duration.
    pub fn end(mut self) -> Self {
        self.seconds = self.began.elapsed().as_secs_f64();
        self
    }

    /// Returns whether the claim was tested often enough and never failed.
    pub fn holds(&self) -> bool {
        self.failures.is_empty() && self.count >= self.wanted
    }

    /// Prints the notes, and panics unless the claim held.
    ///
    /// # Panics
    /// If the claim did not hold.
    pub fn expect(&self) {
        self.notes.iter().for_each(|note| println!("{}: {note}", self.claim));
        assert!(self.holds(), "{}: {} of {}: {:#?}", self.claim, self.count, self.wanted, self.failures);
    }
}

/// Header of the table whose lines [`line()`] writes.
pub const HEAD: &str = "| claim | tests | failures | seconds |\n|---|---|---|---|";

/// Formats a line of the table.
pub fn line(row: &Row) -> String {
    format!("| {} | {} | {} | {:.1} |", row.claim, row.count, row.failures.len(), row.seconds)
}
