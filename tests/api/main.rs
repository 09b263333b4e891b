//! The wire contract, in the order of API.md: one file a section.

mod account;
mod tables;
