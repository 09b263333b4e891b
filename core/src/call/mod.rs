//! Calls (SPEC.md, Calls; API.md, Calls): listed by any combination of filters, read, deleted, placed.

mod operations;
pub mod tables;

pub use operations::{delete, facets, list, make_call, read};
