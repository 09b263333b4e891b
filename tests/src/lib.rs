//! Shared parts of the tests: a service in memory that is driven like a server, the real server, and generators from
//! the service's tables.

pub mod cold;
pub mod document;
pub mod drawn;
pub mod edge;
pub mod examples;
pub mod house;
pub mod judge;
pub mod line;
pub mod outside;
pub mod places;
pub mod refusals;
pub mod server;
pub mod sheet;
pub mod strategy;
