//! The engine interface (docs/api.md, The engine interface): the programs that carry a call's audio attach here, claim
//! calls, say what happens in them, and have tools and knowledge asked.

mod arrive;
mod calendar;
mod claim;
mod compiled;
mod events;
mod functions;
mod incoming;
mod session;
pub mod tables;
mod tools;
mod values;

pub use arrive::create;
pub use claim::claim;
pub use events::report;
pub use session::session;
pub use tools::{knowledge, tool};
