//! Search in knowledgebases: text in, passages out, best first. It compares words, not meaning: BM25 over stems.
//!
//! ```text
//! text ── Passages ──▶ passages ── add, in slices ──▶ rows ── search ──▶ hits
//!         passages.rs              index.rs, stored.rs        rank.rs
//!                                  └ words and stems: the crate `switchboard-stemmers`
//! ```
//!
//! A document is read in slices: [`Passages::resume`], take up to [`SEGMENT_PASSAGES_MAX`] of its passages, detect
//! their [`IndexLanguage::of`], and [`add`] them until that returns that they are searchable. Short slices waste segments,
//! of which a knowledgebase has a limited number. To delete a document, call [`hide`] in the same commit, then
//! [`drop_slice`] until it returns that nothing is left; nothing may be added to a document once it is hidden.
//!
//! [`SEGMENT_PASSAGES_MAX`]: crate::limits::search::SEGMENT_PASSAGES_MAX

mod index;
mod passages;
mod rank;
mod stored;
#[cfg(test)]
mod tests;

pub use index::{Added, add, count, drop_slice, hide, text};
pub use passages::Passages;
pub use rank::{Hit, search};
pub use switchboard_stemmers::IndexLanguage;
