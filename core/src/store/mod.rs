//! Storage as handlers see it: one space at a time, what this step changed included.

mod layer;
mod ledger;
mod row;
mod rows;
mod tx;

pub use layer::{Change, Layer};
pub use ledger::Ledger;
pub use row::Row;
pub use tx::{Scope, Tx};
