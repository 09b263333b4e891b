//! Calls (docs/api.md, Calls): listed by any combination of filters, read, deleted, placed.

pub mod bundle;
pub mod command;
mod conclude;
pub mod cost;
pub mod days;
pub mod ending;
mod give_back;
mod latency;
pub mod lease;
mod operations;
pub mod partial;
mod payload;
mod place;
pub mod reasons;
pub mod recording;
mod report;
mod rows;
pub mod states;
pub mod tables;
mod watch;
pub mod web;

pub use conclude::{conclude, wish};
pub use give_back::{ReleaseNote, give_back};
pub use operations::{delete, events, hang_up_all, hangup, is_engaged, list, make_call, read};
pub use place::{CallAssistant, CallSpec, place};
pub use rows::{
    CallEventRow, CallRow, Line, Live, answered_webhook, facet_of_engaged, facet_of_line, facet_of_status, formatted,
};
pub use watch::{give_up, plan, watch};
