//! The engine side (API.md, The engine side): the programs that carry a call's audio attach here, claim
//! calls, say what happens in them, and have tools and knowledge asked.

mod arrive;
mod attached;
pub mod calendar;
mod claim;
mod compiled;
mod events;
mod functions;
mod session;
pub mod tables;
mod tools;
mod values;

pub use arrive::create;
pub use attached::any as is_attached;
pub use claim::claim;
pub use events::report;
pub use functions::function;
pub use session::{BuiltIn, Engine, session};
pub use tools::{knowledge, tool};
pub use values::{Values, plain};
