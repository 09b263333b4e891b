//! What the tests share: a service in memory that is driven like a server, and generators from its tables.

pub mod cold;
pub mod house;
pub mod line;
pub mod places;
pub mod strategy;
