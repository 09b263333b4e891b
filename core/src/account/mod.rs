//! Accounts: who calls, with which token, and how much they may have.

pub mod caller;
pub mod create;
pub mod first_start;
pub mod keys;
mod logins;
pub mod plan;
pub mod profile;
pub mod root;
mod rows;
pub mod session;
pub mod storage;
pub mod token;
