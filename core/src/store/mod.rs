//! Storage as handlers see it: one space at a time, what this step changed included.

mod layer;
mod ledger;
mod row;
mod tx;
pub mod usage;

pub use layer::{Change, Layer};
pub use ledger::{Ledger, StoredBytes};
pub use row::Row;
pub use tx::{Scope, Tx};
