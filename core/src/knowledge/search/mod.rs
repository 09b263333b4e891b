//! Search in knowledgebases: text in, passages out, best first. Words only, no meaning: BM25 over stems.
//!
//! ```text
//! text ── Passages ──▶ passages ── add, in slices ──▶ rows ── search ──▶ hits
//!         passages.rs              index.rs, stored.rs        rank.rs
//!                                  └ words and stems: the crate `switchboard-stemmers`
//! ```
//!
//! A document is read in slices: [`Passages::resume`], up to [`SEGMENT_PASSAGES_MAX`] of its passages,
//! [`Language::of`] them, [`add`] until that says that they are searchable. Short slices waste segments, of which a
//! knowledgebase has a bounded number. Deleting it calls [`hide`] in the same commit, then [`drop_slice`] until that
//! says that it is done; nothing may be added to a document once it is hidden.
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
pub use switchboard_stemmers::Language;
