//! Text as the words that a search compares: [`tokens`] cuts and folds them, [`Language`] tells whose they are, and
//! [`stem`] takes their inflection off.
//!
//! For an index and its queries alike, so that both see the same. What a word becomes is stored: a change of any rule
//! means that every index is made anew. `tests/evaluation.rs` holds the stemmers against Snowball's.

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

pub use language::Language;
pub use stem::stem;
