//! Accounts: authentication, logins, API keys, and the limits of plans.

pub mod attached;
pub mod caller;
pub mod cookie;
pub mod create;
pub mod keys;
mod logins;
pub mod me;
pub mod plan;
pub mod prices;
pub mod profile;
mod rows;
pub mod session;
pub mod signing;
pub mod storage;
pub mod token;
