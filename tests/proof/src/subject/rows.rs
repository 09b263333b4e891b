//! Rows in a store of the native host, step by step, without what is around it.

use serde_json::Value;
use switchboard::store::Store;
use switchboard_core::key::{self, Space};
use switchboard_core::seed::Seed;
use switchboard_core::service::Service;
use switchboard_core::step::{Output, OwnedInput};
use switchboard_core::store::Change;
use switchboard_core::time::Timestamp;
use switchboard_core::view::{Order, Scene, Stop, View};
use tokio::runtime::Runtime;

use super::service;
use crate::said::Row;
use crate::stage::{Limited, Limits, Steps};

/// Rows in a store.
pub struct Stored {
    service: Service,
    store: Store,
    runtime: Runtime,
}

impl Stored {
    /// Runs steps over an empty store.
    ///
    /// # Panics
    /// If it cannot wait for rows.
    pub fn over(settings: &Value, store: Store) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        Self { service: service(settings), store, runtime }
    }
}

impl Steps for Stored {
    fn step(&mut self, input: &OwnedInput, now: Timestamp, seed: Seed, limits: &Limits) -> Result<Output, Stop> {
        loop {
            // Rows are not read while somebody looks at those at hand.
            let done = {
                let snapshot = self.store.snapshot().expect("a snapshot");
                let rows = snapshot.view(None);
                let view = Limited { rows: &rows, limits };
                self.service.step(&input.borrow(), &Scene { now, seed, view: &view, careful: false })
            };
            match done {
                Err(Stop::Missing(reads)) => self.runtime.block_on(self.store.load(reads)).expect("rows"),
                done => return done,
            }
        }
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
