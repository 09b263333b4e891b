//! Assistants (docs/api.md, Assistants): tables, rules that involve other rows, operations.

pub mod built_in;
pub mod duplicate;
mod filter;
pub mod lookups;
mod mask;
mod numbers;
mod operations;
pub mod rows;
mod rules;
pub mod states;
pub mod tables;
pub mod visited;
pub mod webhooks;

pub use duplicate::duplicate;
pub use numbers::assignable;
pub use operations::{MISSING, all, create, delete, named, outbound, page, read, update};
