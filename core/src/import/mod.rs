//! Imports of leads, and of numbers not to be called (docs/api.md, Imports): a file is stored whole, and a job reads it
//! in slices, each of which is one commit together with what it created.

mod columns;
mod csv;
mod dry_run;
mod file;
mod found;
mod numbers;
mod operations;
mod records;
mod rows;
mod slice;
pub mod tables;
mod taken;

pub use operations::{MEDIA, read_leads, read_numbers, start_leads, start_numbers};
pub use slice::{give_up, slice};
