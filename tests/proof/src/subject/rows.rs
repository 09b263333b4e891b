//! Rows in redb, step by step, without the native host around it.

use std::path::Path;

use serde_json::Value;
use switchboard::store::Store;
use switchboard_core::key::{self, Space};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::step::{Output, OwnedInput};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Order, Scene, Stop, View};

use super::service;
use crate::said::Row;
use crate::stage::{Limited, Limits, Steps};

/// Rows in a redb file.
pub struct Redb {
    service: Service,
    store: Store,
}

impl Redb {
    /// Creates a store in a folder.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn new(settings: &Value, folder: &Path) -> Self {
        Self { service: service(settings), store: Store::open(folder).expect("a store opens") }
    }
}

impl Steps for Redb {
    fn step(&mut self, input: &OwnedInput, now: Timestamp, seed: Seed, limits: &Limits) -> Result<Output, Stop> {
        let snapshot = self.store.whole().expect("a snapshot");
        let rows = snapshot.view(None);
        let view = Limited { rows: &rows, limits };
        self.service.step(&input.borrow(), &Scene { now, seed, view: &view, careful: false })
    }

    fn apply(&mut self, changes: &[Change]) {
        if !changes.is_empty() {
            self.store.commit(changes).expect("a commit");
        }
    }

    fn rows(&mut self) -> Vec<Row> {
        rows_of(&self.store)
    }
}

/// Returns every row of a store, those in memory too, sorted by key.
pub fn rows_of(store: &Store) -> Vec<Row> {
    let snapshot = store.whole().expect("a snapshot");
    let ranges = [key::everything(), key::all_of(Space::Memory)];
    let rows = ranges.map(|range| snapshot.view(None).scan(range, Order::Ascending, usize::MAX).expect("a scan"));
    rows.concat()
}
