//! Imports of leads, and of numbers not to be called (docs/api.md, Imports): a file is kept whole, and a
//! job reads it in slices, each of which is one commit with what it made.

mod columns;
mod csv;
mod file;
mod operations;
mod records;
mod slice;
mod stored;
pub mod tables;

pub use operations::{MEDIA, read_leads, read_numbers, start_leads, start_numbers};
pub use slice::{give_up, slice};

use crate::record::Errors;

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It was stored.
    Created,
    /// Its number is there already.
    Duplicate,
    /// It is wrong.
    Rejected(Errors),
}
