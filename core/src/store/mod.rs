//! Storage as handlers see it: one space at a time, with this step's own changes visible.

mod layer;
mod ledger;
mod row;
mod tx;
pub mod usage;

pub use layer::{Change, Layer};
pub use ledger::{Ledger, StoredBytes};
pub use row::Row;
pub use tx::{Scope, Tx};
