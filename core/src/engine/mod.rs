//! The engine interface (docs/api.md, The engine interface): programs that carry the audio of calls attach here, claim
//! calls, report their events, and use tools and knowledge.

mod arrive;
mod calendar;
mod claim;
mod compiled;
mod events;
mod functions;
mod incoming;
mod preview;
mod session;
pub mod tables;
mod tools;
mod values;

pub use arrive::create;
pub use calendar::{Calendar, functions as calendar_functions};
pub use claim::claim;
pub use events::report;
pub use preview::{Preview, PreviewBody, preview};
pub use session::session;
pub use tools::{knowledge, tool};
pub use values::{filled, without_call};
