//! Tests of the search as a whole, over a store in memory.

mod brute_force;
mod evaluation;
mod limits;
mod rows;

use alloc::vec::Vec;

use super::{Added, Hit, IndexLanguage, add, search};
use crate::key::Space;
use crate::limits::search::{SEGMENT_PASSAGES_MAX, SLICE_TERMS};
use crate::memory::Memory;
use crate::store::{Change, Scope, Tx};
use crate::view::Stop;

/// Knowledgebase that the tests fill.
const BASE: u32 = 7;

/// A store whose steps are committed at once.
#[derive(Clone, Default, PartialEq, Debug)]
struct House {
    memory: Memory,
}

impl House {
    /// Runs a step; returns its result and its changes.
    fn step<T>(&mut self, run: impl FnOnce(Scope<'_>) -> Result<T, Stop>) -> (T, Vec<Change>) {
        let tx = Tx::new(&self.memory);
        let told = run(tx.scope(Space::Account(3))).expect("within budget");
        let changes = tx.changes();
        self.memory.apply(&changes);
        (told, changes)
    }

    /// Adds passages to a document, a full segment at a time.
    fn add(&mut self, document: u32, language: IndexLanguage, passages: &[&str]) {
        for segment in passages.chunks(SEGMENT_PASSAGES_MAX) {
            let mut written = 0;
            while let Some(more) = self.add_slice(document, language, segment, written) {
                written = more;
            }
        }
    }

    /// Adds a slice of a segment's terms; returns how many are written, or `None` once it is searchable.
    fn add_slice(&mut self, document: u32, language: IndexLanguage, segment: &[&str], written: u32) -> Option<u32> {
        let (added, changes) = self.step(|account| add(account, BASE, document, language, segment, written));
        assert!(changes.len() <= SLICE_TERMS + SEGMENT_PASSAGES_MAX + 2, "{}", changes.len());
        match added {
            Added::Terms(more) => Some(more),
            added => {
                assert_eq!(added, Added::Stored);
                None
            }
        }
    }

    fn search(&mut self, query: &str, limit: usize) -> Vec<Hit> {
        let (hits, changes) = self.step(|account| search(account, BASE, query, limit));
        assert_eq!(changes, []);
        hits
    }
}

/// Returns the document and text of each hit.
fn seen(hits: &[Hit]) -> Vec<(u32, &str)> {
    hits.iter().map(|hit| (hit.document, hit.text.as_str())).collect()
}
