//! Calls (SPEC.md, Calls; API.md, Calls): listed by any combination of filters, read, deleted, placed.

mod conclude;
pub mod ending;
mod operations;
mod payload;
mod place;
mod report;
pub mod states;
mod stored;
pub mod tables;
mod watch;

pub use conclude::conclude;
pub use operations::{EventsQuery, delete, events, hangup, list, make_call, read};
pub use place::{Caller, New, place};
pub use stored::{Line, Live, Stored, answered_webhook, facet_of_engaged, facet_of_line, formatted, whole};
pub use watch::{give_up, watch};
