//! The search as a whole, over a store in memory.

mod brute_force;
mod evaluation;
mod limits;
mod rows;

use alloc::vec::Vec;

use super::{Added, Hit, Language, add, search};
use crate::key::Space;
use crate::limits::search::SEGMENT_PASSAGES_MAX;
use crate::memory::Memory;
use crate::store::{Change, Scope, Tx};
use crate::view::Stop;

/// The knowledgebase that tests fill.
const BASE: u32 = 7;

/// A store whose steps are carried out at once.
#[derive(Clone, Default, PartialEq, Debug)]
struct House {
    memory: Memory,
}

impl House {
    /// A step; gives what it told and what it changed.
    fn step<T>(&mut self, run: impl FnOnce(Scope<'_>) -> Result<T, Stop>) -> (T, Vec<Change>) {
        let tx = Tx::new(&self.memory);
        let told = run(tx.scope(Space::Account(3))).expect("within budget");
        let changes = tx.changes();
        self.memory.apply(&changes);
        (told, changes)
    }

    /// Adds passages to a document, as many a step as a segment takes.
    fn add(&mut self, document: u32, language: Language, passages: &[&str]) {
        for slice in passages.chunks(SEGMENT_PASSAGES_MAX) {
            let (added, _) = self.step(|account| add(account, BASE, document, language, slice));
            assert_eq!(added, Added::Stored);
        }
    }

    fn search(&mut self, query: &str, limit: usize) -> Vec<Hit> {
        let (hits, changes) = self.step(|account| search(account, BASE, query, limit));
        assert_eq!(changes, []);
        hits
    }
}

/// What a hit is worth showing in a test: its document and text.
fn seen(hits: &[Hit]) -> Vec<(u32, &str)> {
    hits.iter().map(|hit| (hit.document, hit.text.as_str())).collect()
}
