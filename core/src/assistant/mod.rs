//! Assistants (docs/api.md, Assistants): tables, rules between them, operations.

pub mod lookups;
mod mask;
mod numbers;
mod operations;
pub mod rows;
mod rules;
pub mod states;
pub mod tables;
pub mod webhooks;

pub use numbers::assignable;
pub use operations::{ListQuery, MISSING, all, create, delete, outbound, page, read, update};
