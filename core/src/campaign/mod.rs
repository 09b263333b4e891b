//! Campaigns (docs/api.md, Campaigns): their records, calling hours, and the dialer.

mod dialer;
pub mod explain;
pub mod hours;
mod operations;
mod outcome;
mod rows;
pub mod running;
pub mod states;
pub mod tables;

pub use dialer::{dial, may_dial, wake};
pub use explain::explain_lead as explain;
pub use operations::{
    all, create, delete, halt, lose_number, read, stop_those_of, switch, switch_this, update, wake_those_of,
};
pub use outcome::settle;
pub use rows::{name_of, webhook_json};
