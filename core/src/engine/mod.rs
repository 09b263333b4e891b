//! The engine interface (docs/api.md, The engine interface): programs that carry the audio of calls attach here, claim
//! calls, report their events, and use tools and knowledge.

mod arrive;
mod calendar;
mod claim;
mod compiled;
pub mod event;
mod functions;
mod heartbeat;
mod incoming;
mod interface;
pub mod parts;
mod preview;
mod recording;
mod report;
mod session;
pub mod tables;
pub mod telephony;
mod tools;
pub mod trunk_checks;
mod usage;
mod values;

/// Edition of the interface that this release speaks; it understands engines of earlier ones.
pub const PROTOCOL: u32 = 2;

pub use arrive::create;
pub use calendar::{Calendar, functions as calendar_functions};
pub use claim::claim;
pub use compiled::codes;
pub use heartbeat::heartbeat;
pub use interface::interface;
pub use preview::{Preview, PreviewBody, preview};
pub use recording::recording;
pub use report::report;
pub use session::session;
pub use telephony::trunks;
pub use tools::{knowledge, tool};
pub use trunk_checks::{answer_check, check_trunk};
pub use values::{filled, without_call};
