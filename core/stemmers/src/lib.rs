//! Turns text into the words that a search compares: [`tokens`] splits and folds, [`IndexLanguage`] detects the language,
//! and [`stem`] removes inflection.
//!
//! Used for an index and for its queries, so that both see the same words. The results are stored: after a change of
//! any rule every index must be rebuilt. `tests/evaluation.rs` compares the stemmers with Snowball's.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod endings;
mod english;
mod fold;
mod language;
mod stem;
pub mod tokens;

pub use language::IndexLanguage;
pub use stem::stem;
