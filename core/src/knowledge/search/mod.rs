//! Search in knowledgebases: text in, passages out, best first. Words only, no meaning: BM25 over stems.
//!
//! ```text
//! text ── Passages ──▶ passages ── add, in slices ──▶ rows ── search ──▶ hits
//!         passages.rs              index.rs, stored.rs        rank.rs
//!                                  │ tokens.rs (words), fold.rs (letters)
//!                                  └ language.rs, stem.rs (english.rs, endings.rs)
//! ```
//!
//! A document is read in slices: [`Passages::resume`], up to [`SEGMENT_PASSAGES_MAX`] of its passages,
//! [`Language::of`] them, [`add`] until that says that they are searchable. Short slices waste segments, of which a
//! knowledgebase has a bounded number. Deleting it calls [`hide`] in the same commit, then [`drop_slice`] until that
//! says that it is done; nothing may be added to a document once it is hidden.
//!
//! [`SEGMENT_PASSAGES_MAX`]: crate::limits::search::SEGMENT_PASSAGES_MAX

mod endings;
mod english;
mod fold;
mod index;
mod language;
mod passages;
mod rank;
mod stem;
mod stored;
#[cfg(test)]
mod tests;
mod tokens;

pub use index::{Added, add, count, drop_slice, hide, text};
pub use language::Language;
pub use passages::Passages;
pub use rank::{Hit, search};
