//! Steps over a store that is elsewhere: at the other end of a connection, behind an asynchronous interface,
//! or in the hands of a caller of a component.
//!
//! [`Session`] runs one step as often as it misses reads; [`Course`] carries one input from its beginning to
//! its end, over commits, answers and conflicts. [`Visit`] is a request at a node at the edge, and [`region`]
//! what it finds at the other end; [`wire`] writes down as bytes what they say to each other. Nothing here does
//! anything: the host loads, commits, sends and waits.

mod cold;
mod course;
mod foresight;
pub mod region;
mod session;
#[cfg(test)]
mod tests;
pub mod version;
mod visit;
pub mod wire;

pub use cold::Cold;
pub use course::{Course, Event, Next};
pub use session::{Fault, Progress, Session};
pub use visit::{Answered, Came, Do, Visit};
