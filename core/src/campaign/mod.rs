//! Campaigns (docs/api.md, Campaigns): their records, calling hours, and the dialer.

mod dialer;
pub mod explain;
pub mod hours;
mod operations;
mod outcome;
pub mod progress;
mod rows;
pub mod running;
pub mod states;
mod sums;
pub mod tables;

pub use dialer::{dial, may_dial, wake};
pub use explain::explain_lead as explain;
pub use operations::{
    all, call_off, create, delete, halt, lose_number, read, stop_those_of, switch, switch_this, update, wake_those_of,
};
pub use outcome::settle;
pub use rows::{name_of, webhook_json};
pub use sums::{Sums, count_cost, count_lead};

const MISSING: &str = "Campaign not found";
