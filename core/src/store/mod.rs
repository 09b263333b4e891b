//! Storage as handlers see it: one space at a time, what this step changed included.

mod ledger;
mod row;
mod rows;
mod tx;

pub use ledger::Ledger;
pub use row::Row;
pub use tx::{Change, Scope, Tx};
