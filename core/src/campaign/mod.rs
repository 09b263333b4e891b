//! Campaigns (API.md, Campaigns and leads).

mod operations;
pub mod tables;

pub use operations::{all, create, delete, lose_number, name_of, read, stop_those_of, switch, update};
