//! Assistants (SPEC.md, Assistants; API.md, Assistants): tables, rules between them, operations.

mod kept;
pub mod lookups;
mod mask;
mod numbers;
mod operations;
mod rules;
pub mod states;
pub mod stored;
pub mod tables;
pub mod webhooks;

pub use kept::{Kept, kept};
pub use numbers::assignable;
pub use operations::{ListQuery, MISSING, all, create, delete, outbound, page, read, update};
