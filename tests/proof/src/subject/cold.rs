//! Rows in memory, read cold: the first read of a row reports it as missing.

use serde_json::Value;
use switchboard_core::memory::Memory;
use switchboard_core::remote::{Fault, Progress, StepRun, region};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::step::{Output, OwnedInput};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::Stop;

use super::service;
use crate::said::Row;
use crate::stage::{Limited, Limits, Steps};

/// Rows in memory that a step must ask for.
pub struct Cold {
    service: Service,
    rows: Memory,
}

impl Cold {
    /// Creates a host without rows.
    pub fn new(settings: &Value) -> Self {
        Self { service: service(settings), rows: Memory::default() }
    }
}

impl Steps for Cold {
    fn step(&mut self, input: &OwnedInput, now: Timestamp, seed: Seed, limits: &Limits) -> Result<Output, Stop> {
        let view = Limited { rows: &self.rows, limits };
        let mut session = StepRun::new(input.clone(), now, seed);
        let mut found = Vec::new();
        loop {
            match session.advance(&self.service, found) {
                Ok(Progress::Done(output)) => return Ok(output),
                Ok(Progress::Need(reads)) => found = region::carry_out(&view, &reads)?,
                Err(Fault::Stopped(stop)) => return Err(stop),
                Err(Fault::Misread(what)) => unreachable!("every read is carried out: {what}"),
            }
        }
    }

    fn apply(&mut self, changes: &[Change]) {
        self.rows.apply(changes);
    }

    fn rows(&mut self) -> Vec<Row> {
        super::all(&self.rows)
    }
}
