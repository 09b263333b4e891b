//! The engine side (API.md, The engine side): the programs that carry a call's audio attach here, claim
//! calls, say what happens in them, and have tools and knowledge asked.

mod arrive;
mod attached;
mod calendar;
mod claim;
mod compiled;
mod events;
mod session;
pub mod tables;
mod tools;

pub use arrive::create;
pub use attached::any as is_attached;
pub use claim::claim;
pub use compiled::{Values, function, plain};
pub use events::report;
pub use session::session;
pub use tools::{knowledge, tool};
