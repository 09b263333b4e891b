//! Rows in memory, read directly: the plainest host, with which all others are compared.

use serde_json::Value;
use switchboard_core::memory::Memory;
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::step::{Output, OwnedInput};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Scene, Stop};

use super::service;
use crate::said::Row;
use crate::stage::{Limited, Limits, Steps};

/// Rows in memory that every step reads directly.
pub struct Warm {
    service: Service,
    rows: Memory,
}

impl Warm {
    /// Creates a host without rows.
    pub fn new(settings: &Value) -> Self {
        Self { service: service(settings), rows: Memory::default() }
    }
}

impl Steps for Warm {
    fn step(&mut self, input: &OwnedInput, now: Timestamp, seed: Seed, limits: &Limits) -> Result<Output, Stop> {
        let view = Limited { rows: &self.rows, limits };
        self.service.step(&input.borrow(), &Scene { now, seed, view: &view, careful: false })
    }

    fn apply(&mut self, changes: &[Change]) {
        self.rows.apply(changes);
    }

    fn rows(&mut self) -> Vec<Row> {
        super::all(&self.rows)
    }
}
